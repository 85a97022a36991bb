"""Line patterns against Python's own, and name patterns."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.session.tools.searching import LinePattern, NamePattern, PatternRefused


def lines(pattern: str, content: str) -> list[tuple[int, str]]:
    return [(match.number, match.text) for match in LinePattern(pattern).matches(content)]


@pytest.mark.parametrize(
    ("pattern", "content", "expected"),
    [
        ("a", "", []),
        ("", "a\n\nb\n", [(1, "a"), (2, ""), (3, "b")]),
        ("^", "a\nb", [(1, "a"), (2, "b")]),
        ("$", "a\nb\n", [(1, "a"), (2, "b")]),
        ("^$", "a\n\nb\n\n", [(2, ""), (4, "")]),
        ("b$", "ab\nba\nb", [(1, "ab"), (3, "b")]),
        ("a|^b", "xb\nb\nxa", [(2, "b"), (3, "xa")]),
        ("[^x]+", "x\nxx\nxy", [(3, "xy")]),
        ("(?s)a.*b", "a\nb", []),
        ("\\s", "a\nb c", [(2, "b c")]),
        ("a\nb", "a\nb", []),
        ("é", "e\né日\n", [(2, "é日")]),
        ("日", "é日é\n日", [(1, "é日é"), (2, "日")]),
        ("a", "aaa aaa", [(1, "aaa aaa")]),
        ("\\.", "a.b\nab", [(1, "a.b")]),
    ],
)
def test_lines_in_which_a_pattern_occurs(
    pattern: str, content: str, expected: list[tuple[int, str]]
) -> None:
    assert lines(pattern, content) == expected


def test_a_long_line_is_shown_around_its_match() -> None:
    ((number, text),) = lines("needle", "é" * 1000 + "needle" + "é" * 1000)
    assert number == 1
    assert len(text) == 506
    assert text.startswith("...")
    assert text.endswith("...")
    assert "needle" in text
    ((_, start),) = lines("needle", "needle" + "é" * 1000)
    assert start.startswith("needle")
    ((_, middle),) = lines("\\C\\C\\Cx", "é" * 1000 + "x")
    assert middle.endswith("éx")
    ((_, end),) = lines("needle", "é" * 1000 + "needle")
    assert end.endswith("needle")


@given(
    st.sampled_from(["a", "^a", "b$", "a+b", "[^a]", "a|b", "^$", ".", "(ab)*c"]),
    st.text("abc\né", max_size=30),
)
def test_the_same_lines_as_a_loop_finds(pattern: str, content: str) -> None:
    every = content.split("\n")
    every = every[:-1] if every[-1] == "" else every
    expected = [
        (number, line) for number, line in enumerate(every, start=1) if re.search(pattern, line)
    ]
    assert lines(pattern, content) == expected


@given(st.text(max_size=40))
def test_any_text_is_a_name_pattern_or_refused(pattern: str) -> None:
    try:
        selected = NamePattern(pattern).select(["MEMORY.md", "notes/a.md"])
    except PatternRefused:
        return
    assert set(selected) <= {"MEMORY.md", "notes/a.md"}


@given(st.text("ab.+(|)\\$^{}/", min_size=1, max_size=10))
def test_a_name_without_wildcards_selects_itself_alone(name: str) -> None:
    paths = [name, f"{name}x", f"x{name}"]
    last = name.rsplit("/", 1)[-1]
    expected = [name] if "/" in name else [path for path in paths if path == last]
    assert NamePattern(name).select(paths) == expected


def test_a_name_pattern_is_bounded_too() -> None:
    paths = [f"{number:03d}" + "a" * 190 for number in range(1000)]
    with pytest.raises(PatternRefused, match="could take too long"):
        NamePattern("*a" * 500).select(paths)
