"""Private files: paths, versions, limits, and edits that are safe to repeat."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.session.files import (
    FILE_BYTES,
    FILES,
    NAMESPACE_BYTES,
    PATH_BYTES,
    FileChange,
    FileRefused,
    PrivateFiles,
    apply,
    checked_path,
    fold,
)


def wrote(files: PrivateFiles, path: str, content: str) -> PrivateFiles:
    change = files.write(path, content)
    assert change is not None
    return apply(files, change)


def edited(files: PrivateFiles, path: str, old: str, new: str) -> PrivateFiles:
    change = files.edit(path, old, new)
    assert change is not None
    return apply(files, change)


def one(content: str, path: str = "notes.md") -> PrivateFiles:
    return wrote(PrivateFiles(), path, content)


# Paths


@pytest.mark.parametrize(
    "path",
    [
        "MEMORY.md",
        "notes/pricing.md",
        "a",
        ".hidden",
        "a..b",
        "...",
        "a b.txt",
        "prix é.md",
        "日本",
    ],
)
def test_names_that_can_be_used(path: str) -> None:
    assert checked_path(path) == path


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "1..200 bytes"),
        ("/etc/passwd", "relative"),
        ("//x", "relative"),
        ("~/x", "relative"),
        ("C:/x", "relative"),
        ("C:x", "relative"),
        ("..", "must not contain .."),
        ("../x", "must not contain .."),
        ("a/../../x", "must not contain .."),
        ("a/..", "must not contain .."),
        ("./a", "normalized"),
        (".", "normalized"),
        ("a/./b", "normalized"),
        ("a//b", "normalized"),
        ("a/", "normalized"),
        ("a\\b", "backslash"),
        ("..\\x", "backslash"),
        ("a\0b", "NUL"),
        ("a\nb", "control"),
        ("a\x1bb", "control"),
        ("a\x7fb", "control"),
        ("a\x85b", "control"),
        ("a\u2028b", "line separators"),
        ("a\ud800b", "surrogates"),
        (" a", "blanks"),
        ("a /b", "blanks"),
        ("a/ b", "blanks"),
        ("e\u0301", "normalization form C"),
        ("a" * (PATH_BYTES + 1), "1..200 bytes"),
        ("é" * 101, "1..200 bytes"),
    ],
)
def test_names_that_cannot(path: str, reason: str) -> None:
    files = one("text")
    with pytest.raises(FileRefused, match=reason) as refused:
        files.write(path, "text")
    assert str(refused.value).startswith("path: ")
    assert str(refused.value).isascii()
    for reading in (files.read, lambda path: files.edit(path, "t", "u")):
        with pytest.raises(FileRefused, match=reason):
            reading(path)


@given(st.text(max_size=60))
def test_a_name_that_is_taken_cannot_leave_a_folder(path: str) -> None:
    try:
        checked_path(path)
    except FileRefused:
        return
    parts = path.split("/")
    assert ".." not in parts
    assert "." not in parts
    assert "" not in parts
    assert path.isprintable() or not any(ord(character) < 32 for character in path)
    path.encode()


# Writes and versions


def test_each_write_makes_a_version() -> None:
    first = one("one")
    second = wrote(first, "notes.md", "two")
    assert first.read("notes.md").content == "one"
    assert [first.read("notes.md").version, second.read("notes.md").version] == [1, 2]
    assert wrote(second, "other.md", "x").read("other.md").version == 1


def test_writing_the_same_text_again_is_no_write() -> None:
    assert one("one").write("notes.md", "one") is None


def test_an_empty_file_is_a_file() -> None:
    files = one("")
    assert files.read("notes.md").lines == []
    assert files.write("notes.md", "") is None


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ("a", ["a"]),
        ("a\n", ["a"]),
        ("a\n\n", ["a", ""]),
        ("\n", [""]),
        ("a\u2028b\r\nc\x0bd", ["a\u2028b\r", "c\x0bd"]),
    ],
)
def test_only_a_line_feed_ends_a_line(content: str, lines: list[str]) -> None:
    assert one(content).read("notes.md").lines == lines


def test_a_missing_file_names_those_that_exist() -> None:
    files = one("x", "b.md")
    with pytest.raises(FileRefused, match=r"no file 'a\.md'; files: b\.md$"):
        files.read("a.md")
    with pytest.raises(FileRefused, match="there are no files yet"):
        PrivateFiles().read("a.md")


def test_stored_contents_are_files_again() -> None:
    files = PrivateFiles.of({"a": ("é", 4), "b": ("xyz", 1)})
    assert files.read("a").version == 4
    assert files.size == 5
    assert wrote(files, "a", "").size == 3


# Limits


def test_the_limit_of_a_file_is_in_bytes() -> None:
    assert one("é" * (FILE_BYTES // 2)).size == FILE_BYTES
    with pytest.raises(FileRefused, match=rf"content: .* {FILE_BYTES} bytes .* {FILE_BYTES + 1}$"):
        PrivateFiles().write("notes.md", "é" * (FILE_BYTES // 2) + "x")
    full = one("x" * (FILE_BYTES - 1) + "y")
    with pytest.raises(FileRefused, match="new_string: a file may have"):
        full.edit("notes.md", "y", "zz")


def test_the_limit_of_all_files() -> None:
    content = "x" * FILE_BYTES
    files = fold(FileChange(f"f{number}", 1, content) for number in range(16))
    assert files.size == NAMESPACE_BYTES
    with pytest.raises(FileRefused, match=f"all files together .* {NAMESPACE_BYTES} bytes"):
        files.write("more", "x")
    shorter = wrote(files, "f0", content[1:])
    assert wrote(shorter, "more", "x").size == NAMESPACE_BYTES


def test_the_limit_of_the_number_of_files() -> None:
    files = PrivateFiles.of({f"f{number}": ("", 1) for number in range(FILES)})
    with pytest.raises(FileRefused, match=f"at most {FILES} files"):
        files.write("more", "")
    assert wrote(files, "f0", "text").read("f0").version == 2


# Edits


def test_an_edit_replaces_the_one_occurrence() -> None:
    files = edited(one("price 40\ncost 26\n"), "notes.md", "40", "42")
    assert files.read("notes.md").content == "price 42\ncost 26\n"
    assert files.read("notes.md").version == 2
    assert files.size == 17


@pytest.mark.parametrize(
    ("content", "old", "new", "reason"),
    [
        ("abc", "x", "y", "does not occur"),
        ("x\nax", "x", "y", "occurs 2 times .*on lines 1, 2"),
        ("aaa", "aa", "b", "occurs 2 times"),
        ("x" * 1000, "x", "b", "occurs many times"),
        ("abc", "b", "b", "must differ"),
        ("done", "open", "done", "does not occur"),
    ],
)
def test_edits_that_are_refused(content: str, old: str, new: str, reason: str) -> None:
    with pytest.raises(FileRefused, match=reason):
        one(content).edit("notes.md", old, new)


REPEATED = [
    ("open", "open", "done"),
    ("- a", "- a", "- a\n- b"),  # the new text holds the old one once
    ("x", "x", "x x x"),  # and several times
    ("x" * 5, "x" * 5, "x" * 9),
    ("abb", "ab", "a"),  # the old text comes back where the edit meets what follows
    ("aabb", "ab", ""),
    ("a b c", " b ", ""),
]


@pytest.mark.parametrize(("content", "old", "new"), REPEATED)
def test_repeating_an_edit_does_no_harm(content: str, old: str, new: str) -> None:
    files = edited(one(f"<{content}>"), "notes.md", old, new)
    assert files.edit("notes.md", old, new) is None
    # Nor later, after edits around it that move its text.
    files = edited(edited(files, "notes.md", "<", "<<<"), "notes.md", ">", "!")
    assert files.edit("notes.md", old, new) is None
    assert files.read("notes.md").content == f"<<<{content.replace(old, new)}!"


def test_an_edit_can_be_made_again_when_its_old_text_is_there_again() -> None:
    files = edited(one("open"), "notes.md", "open", "done")
    files = edited(files, "notes.md", "done", "done, open")
    assert edited(files, "notes.md", "open", "done").read("notes.md").content == "done, done"


def test_an_edit_that_was_taken_back_can_be_made_again() -> None:
    files = one("a")
    for old, new in [("a", "ab"), ("ab", "a"), ("a", "ab")]:
        files = edited(files, "notes.md", old, new)
    assert files.read("notes.md").content == "ab"


def test_a_text_that_an_edit_would_make_is_no_edit() -> None:
    # Nobody made this edit: that its outcome stands there already says nothing.
    with pytest.raises(FileRefused, match="does not occur"):
        one("done").edit("notes.md", "open", "done")
    assert edited(one("x x"), "notes.md", "x x", "x x x").read("notes.md").content == "x x x"


def test_a_whole_write_forgets_edits() -> None:
    files = wrote(edited(one("open"), "notes.md", "open", "done"), "notes.md", "done.")
    with pytest.raises(FileRefused, match="does not occur"):
        files.edit("notes.md", "open", "done")


def test_repeats_are_known_from_journaled_changes() -> None:
    start = one("x")
    change = start.edit("notes.md", "x", "x x")
    assert change is not None
    journaled = msgspec.msgpack.decode(msgspec.msgpack.encode(change), type=FileChange)
    assert apply(start, journaled).edit("notes.md", "x", "x x") is None


def test_a_hostile_repetition_is_counted_no_further_than_needed() -> None:
    content = "a" * FILE_BYTES
    with pytest.raises(FileRefused, match="many times"):
        one(content).edit("notes.md", "a" * 100_000, "b")


texts = st.text("ab\n", max_size=8)


@given(texts, st.lists(st.tuples(st.text("ab\n", min_size=1, max_size=3), texts), max_size=6))
def test_every_edit_can_be_repeated_at_once(content: str, edits: list[tuple[str, str]]) -> None:
    files = one(content) if content else PrivateFiles.of({"notes.md": ("", 1)})
    changes: list[FileChange] = []
    for old, new in edits:
        before = files.read("notes.md").content
        try:
            change = files.edit("notes.md", old, new)
        except FileRefused:
            continue
        if change is None:
            continue
        assert before.count(old) == 1
        assert change.content == before.replace(old, new)
        files = apply(files, change)
        changes.append(change)
        assert files.edit("notes.md", old, new) is None
    stored = files.read("notes.md")
    assert files.size == len(stored.content.encode())
    assert fold([FileChange("notes.md", 1, content), *changes]) == files
