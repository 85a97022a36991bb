"""The tools for private files."""

import json
from typing import Any

import pytest

from orchestrator.session.files import FILE_BYTES, FileChange, PrivateFiles, fold
from orchestrator.session.tools.files import (
    MOST_FILES_SEARCHED,
    MOST_MATCHES,
    MOST_PATHS,
    READ_CHARACTERS,
)
from tests.orchestrator.session.tools.desk import Desk, context, problems


def desk_with(**contents: str) -> Desk:
    """A desk with files; in their names, __ stands for / and _ for a dot."""
    return stocked({name.replace("__", "/").replace("_", "."): contents[name] for name in contents})


def stocked(contents: dict[str, str]) -> Desk:
    files = PrivateFiles.of({path: (content, 1) for path, content in contents.items()})
    return Desk(context()._replace(files=files))


# Read


def test_a_file_is_read_with_line_numbers() -> None:
    shown = desk_with(MEMORY_md="one\n\ttwo\n\nfour\n").call("read_file", path="MEMORY.md")
    assert shown == {
        "status": "read",
        "path": "MEMORY.md",
        "version": 1,
        "bytes": 15,
        "total_lines": 4,
        "text": "1\tone\n2\t\ttwo\n3\t\n4\tfour",
    }


@pytest.mark.parametrize(
    ("arguments", "text", "note"),
    [
        ({"offset": 3}, "3\tc\n4\td", None),
        ({"limit": 2}, "1\ta\n2\tb", "Lines up to 2 of 4; go on with offset 3."),
        ({"offset": 2, "limit": 1}, "2\tb", "Lines up to 2 of 4; go on with offset 3."),
        ({"offset": 4, "limit": 9}, "4\td", None),
    ],
)
def test_a_part_of_a_file(arguments: dict[str, int], text: str, note: str | None) -> None:
    shown = desk_with(a="a\nb\nc\nd").call("read_file", path="a", **arguments)
    assert (shown["text"], shown.get("note")) == (text, note)


def test_an_offset_behind_the_end() -> None:
    assert problems(desk_with(a="a\nb").call("read_file", path="a", offset=3)) == (
        "offset: must be an integer from 1 to 2, because the file has 2 lines; received 3"
    )
    empty = desk_with(a="")
    assert empty.call("read_file", path="a")["text"] == ""
    assert "from 1 to 1" in problems(empty.call("read_file", path="a", offset=2))


def test_a_long_file_can_be_read_whole_in_parts() -> None:
    lines = [f"{number} " + "x" * 300 for number in range(3000)]
    desk = desk_with(a="\n".join(lines))
    read: list[str] = []
    while len(read) < len(lines):
        shown = desk.call("read_file", path="a", offset=len(read) + 1)
        assert len(shown["text"]) < READ_CHARACTERS + 20_000
        read += [line.split("\t")[1] for line in shown["text"].split("\n")]
    assert read == lines


def test_a_single_line_is_read_whole_however_long() -> None:
    line = "x" * (READ_CHARACTERS * 2)
    shown = desk_with(a=f"{line}\nb").call("read_file", path="a")
    assert shown["text"] == f"1\t{line}"
    assert "offset 2" in shown["note"]


def test_a_file_that_does_not_exist() -> None:
    assert problems(desk_with(b="").call("read_file", path="a")) == (
        "path: there is no file 'a'; files: b"
    )


@pytest.mark.parametrize("path", ["../a", "/a", "a/../../b", "a\nb", "C:/a", "./a", "a//b", "~/a"])
@pytest.mark.parametrize(
    ("tool", "more"),
    [
        ("read_file", {}),
        ("write_file", {"content": "x"}),
        ("edit_file", {"old_string": "a", "new_string": "b"}),
        ("search_files", {"pattern": "a"}),
    ],
)
def test_no_tool_takes_a_path_that_leads_elsewhere(
    tool: str, more: dict[str, str], path: str
) -> None:
    desk = desk_with(a="a")
    assert problems(desk.call(tool, path=path, **more)).startswith("path: must ")
    assert desk.context.files == desk_with(a="a").context.files


# Write and edit


def test_a_write_is_a_change_to_be_journaled() -> None:
    desk = Desk()
    shown = desk.call("write_file", path="notes/a.md", content="é\n")
    assert shown == {"status": "written", "path": "notes/a.md", "version": 1, "bytes": 3}
    assert desk.last.file_change == FileChange("notes/a.md", 1, "é\n")
    assert desk.last.draft_change is None
    again = desk.call("write_file", path="notes/a.md", content="é\n")
    assert (again["status"], again["version"]) == ("unchanged", 1)
    assert desk.last.ok
    assert desk.last.file_change is None


def test_a_file_that_is_too_large() -> None:
    content = "é" * (FILE_BYTES // 2 + 1)
    found = problems(Desk().call("write_file", path="a", content=content))
    assert found.startswith(f"content: a file may have at most {FILE_BYTES} bytes of UTF-8")
    assert found.endswith(f"would have {FILE_BYTES + 2}")


def test_a_full_file_fits_into_a_call() -> None:
    # Escaped, this text takes three times its size.
    content = "日本\n" * (FILE_BYTES // 7)
    desk = Desk()
    text = json.dumps({"path": "a", "content": content})
    assert desk.write("write_file", text)["status"] == "written"


def test_an_edit_and_the_same_edit_again() -> None:
    desk = desk_with(a="price 40\n")
    arguments = {"path": "a", "old_string": "price 40", "new_string": "price 40, was 39"}
    assert desk.call("edit_file", **arguments)["version"] == 2
    again = desk.call("edit_file", **arguments)
    assert (again["status"], again["version"]) == ("unchanged", 2)
    assert desk.last.ok
    assert "already" in again["note"]
    assert desk.context.files.read("a").content == "price 40, was 39\n"


def test_an_edit_that_cannot_be_made() -> None:
    desk = desk_with(a="x\nx\n")
    found = problems(desk.call("edit_file", path="a", old_string="x", new_string="y"))
    assert found == (
        "old_string: must occur exactly once in 'a', and occurs 2 times (first on lines 1, 2); "
        "include more of the text around the one you mean"
    )
    found = problems(desk.call("edit_file", path="a", old_string="1\tx", new_string="y"))
    assert "does not occur" in found
    assert "must be a string of 1 to" in problems(
        desk.call("edit_file", path="a", old_string="", new_string="y")
    )
    assert problems(desk.call("edit_file", path="b", old_string="x", new_string="y")).startswith(
        "path: there is no file 'b'"
    )


def test_journaled_changes_build_the_same_files() -> None:
    desk = Desk()
    desk.call("write_file", path="a", content="one")
    desk.call("write_file", path="b", content="one")
    desk.call("edit_file", path="a", old_string="one", new_string="one two")
    desk.call("edit_file", path="a", old_string="one", new_string="one two")
    desk.call("edit_file", path="a", old_string="missing", new_string="x")
    desk.call("write_file", path="b", content="two")
    changes = [outcome.file_change for outcome in desk.outcomes if outcome.file_change is not None]
    assert len(changes) == 4
    assert fold(changes) == desk.context.files


def test_memory_is_a_file_like_any_other() -> None:
    desk = Desk()
    desk.call("write_file", path="MEMORY.md", content="x" * 50_000)
    desk.call("edit_file", path="MEMORY.md", old_string="x" * 50_000, new_string="")
    assert desk.context.files.read("MEMORY.md").content == ""


# Search


def found(shown: dict[str, Any]) -> list[tuple[str, int, str]]:
    assert shown["status"] == "searched", shown
    return [(match["path"], match["line"], match["text"]) for match in shown["matches"]]


NOTES = {"MEMORY.md": "Price A 40\nplan\n", "notes/b.md": "price B 75\n", "notes/c.txt": "Plan"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"pattern": "Price"}, [("MEMORY.md", 1, "Price A 40")]),
        (
            {"pattern": "(?i)price|PLAN"},
            [
                ("MEMORY.md", 1, "Price A 40"),
                ("MEMORY.md", 2, "plan"),
                ("notes/b.md", 1, "price B 75"),
                ("notes/c.txt", 1, "Plan"),
            ],
        ),
        ({"pattern": "lan$", "path": "notes"}, [("notes/c.txt", 1, "Plan")]),
        ({"pattern": "lan", "path": "MEMORY.md"}, [("MEMORY.md", 2, "plan")]),
        ({"pattern": "rice", "glob": "*.md", "path": "notes"}, [("notes/b.md", 1, "price B 75")]),
        ({"pattern": "lan", "glob": "notes/*"}, [("notes/c.txt", 1, "Plan")]),
        ({"pattern": "nothing"}, []),
        ({"pattern": "lan", "glob": "*.csv"}, []),
    ],
)
def test_a_search(arguments: dict[str, str], expected: list[tuple[str, int, str]]) -> None:
    assert found(stocked(NOTES).call("search_files", **arguments)) == expected


def test_where_nothing_can_be_found() -> None:
    assert problems(stocked(NOTES).call("search_files", pattern="a", path="note")) == (
        'path: there is no file "note" and none below it; files: MEMORY.md, notes/b.md, notes/c.txt'
    )
    assert found(Desk().call("search_files", pattern="a")) == []


def test_at_most_so_many_matches() -> None:
    exactly = stocked({"a": "x\n" * MOST_MATCHES}).call("search_files", pattern="x")
    assert len(exactly["matches"]) == MOST_MATCHES
    assert "note" not in exactly
    more = stocked({"a": "x\n" * 150, "b": "x\n" * 51}).call("search_files", pattern="x")
    assert len(more["matches"]) == MOST_MATCHES
    assert more["matches"][-1] == {"path": "b", "line": 50, "text": "x"}
    assert "cut after 200 matching lines" in more["note"]


def test_at_most_so_many_files() -> None:
    contents = {f"{number:03d}": "x" for number in range(MOST_FILES_SEARCHED + 1)}
    shown = stocked(contents).call("search_files", pattern="x")
    assert shown["files_searched"] == len(shown["matches"]) == MOST_FILES_SEARCHED
    assert "only the first 100 of 101 files were searched" in shown["note"]
    selected = stocked(contents).call("search_files", pattern="x", glob="1*")
    assert "note" not in selected


@pytest.mark.parametrize("pattern", ["(a", "[z-a]", "a{5000}", "(?<=a)b", "(a)\\1", "*", "a**"])
def test_a_pattern_that_cannot_be_used_is_shown_as_written(pattern: str) -> None:
    text = problems(stocked(NOTES).call("search_files", pattern=pattern))
    assert text.startswith("pattern: must be a usable pattern; received one with ")
    assert "(?m)" not in text


@pytest.mark.parametrize(
    "pattern", ["(?:a?){900}a{900}c", "[ab]{0,1000}c", "((a{0,30}){0,30})c$", ".*a.{300}c"]
)
def test_a_search_that_could_take_too_long_is_refused(pattern: str) -> None:
    desk = stocked({"a": "ab" * (FILE_BYTES // 2), "small": "ab"})
    assert "it could take too long on 1048578 bytes" in problems(
        desk.call("search_files", pattern=pattern)
    )
    assert found(desk.call("search_files", pattern=pattern, path="small")) == []


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(a|aa)+c", "(.*)*x", "(?:a*)*b"])
def test_patterns_that_would_stop_a_backtracking_search(pattern: str) -> None:
    desk = stocked({"a": "a" * FILE_BYTES + "!"})
    assert desk.call("search_files", pattern=pattern)["status"] == "searched"


# Glob


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("**", ["MEMORY.md", "notes/b.md", "notes/c.txt"]),
        ("*", ["MEMORY.md", "notes/b.md", "notes/c.txt"]),
        ("*.md", ["MEMORY.md", "notes/b.md"]),
        ("**/*.md", ["MEMORY.md", "notes/b.md"]),
        ("notes/*", ["notes/b.md", "notes/c.txt"]),
        ("notes/**", ["notes/b.md", "notes/c.txt"]),
        ("notes/?.md", ["notes/b.md"]),
        ("[bc].*", ["notes/b.md", "notes/c.txt"]),
        ("[!b].*", ["notes/c.txt"]),
        ("MEMORY.md", ["MEMORY.md"]),
        ("MEMORY?md", ["MEMORY.md"]),
        ("EMORY.md", []),
        ("*.m", []),
        ("(M|n).*", []),
        ("notes", []),
    ],
)
def test_a_glob(pattern: str, paths: list[str]) -> None:
    shown = stocked(NOTES).call("glob_files", pattern=pattern)
    assert [entry["path"] for entry in shown["files"]] == paths
    assert (shown["matching_files"], shown["all_files"]) == (len(paths), 3)


def test_a_glob_shows_versions_and_sizes() -> None:
    desk = Desk()
    desk.call("write_file", path="a", content="é")
    desk.call("write_file", path="a", content="éé")
    assert desk.call("glob_files", pattern="a")["files"] == [
        {"path": "a", "version": 2, "bytes": 4}
    ]


def test_at_most_so_many_paths() -> None:
    contents = {f"{number:03d}": "" for number in range(MOST_PATHS + 1)}
    shown = stocked(contents).call("glob_files", pattern="*")
    assert len(shown["files"]) == MOST_PATHS
    assert (shown["matching_files"], shown["note"]) == (
        MOST_PATHS + 1,
        "Cut after 200 paths. Narrow the pattern.",
    )


@pytest.mark.parametrize("pattern", ["[a", "[", "[]", "[z-a]", "a[!"])
def test_a_glob_that_cannot_be_used(pattern: str) -> None:
    for tool, arguments in (
        ("glob_files", {"pattern": pattern}),
        ("search_files", {"pattern": "a", "glob": pattern}),
    ):
        field = "pattern" if tool == "glob_files" else "glob"
        assert problems(stocked(NOTES).call(tool, **arguments)).startswith(f"{field}: must ")
