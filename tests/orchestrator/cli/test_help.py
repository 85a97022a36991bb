"""What `--help` says of all commands: nothing is missing, and one thing has one name."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from manifests.fingerprints import PACKAGES, package_version, source_fingerprint
from orchestrator.cli.contents import HEADINGS
from orchestrator.cli.main import app
from tests.orchestrator.cli.commands import ceo_arena

ROOT = Path(__file__).parents[3]

# What they print is a document already, or lines that a program reads, or nothing.
WITHOUT_JSON = {"gateway", "schemas", "scenario show"}


def commands(group: TyperGroup, *above: str) -> Iterator[tuple[str, TyperCommand]]:
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from commands(command, *above, name)
        else:
            assert isinstance(command, TyperCommand)
            yield " ".join((*above, name)), command


def contents() -> TyperGroup:
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    return group


ALL = dict(commands(contents()))


def options(command: TyperCommand) -> dict[str, TyperOption]:
    found = [each for each in command.params if isinstance(each, TyperOption)]
    return {name: each for each in found for name in each.opts}


def test_every_command_stands_under_one_heading() -> None:
    placed = [name for names in HEADINGS.values() for name in names]
    assert placed == list(contents().commands)


def test_the_list_of_commands_has_the_headings_and_the_exit_codes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    answer = ceo_arena(capsys, "--help")
    assert answer.code == 0
    places = [answer.out.index(heading) for heading in (*HEADINGS, "Exit codes")]
    assert places == sorted(places)


def test_the_version_comes_with_the_digest_that_manifests_bind(
    capsys: pytest.CaptureFixture[str],
) -> None:
    answer = ceo_arena(capsys, "--version")
    digest = source_fingerprint(PACKAGES).overall
    assert answer == (0, f"ceo-arena {package_version()}\nSource {digest}\n", "")


@pytest.mark.parametrize("name", ALL)
def test_a_command_explains_itself_and_all_that_it_takes(name: str) -> None:
    command = ALL[name]
    assert (command.help or "").splitlines()[0].endswith((".", "?"))
    for each in command.params:
        assert isinstance(each, TyperArgument | TyperOption)
        assert each.help, each.name


@pytest.mark.parametrize("name", [name for name in ALL if name not in WITHOUT_JSON])
def test_a_command_that_prints_data_prints_it_as_json_and_says_what_is_in_it(name: str) -> None:
    assert "--json" in options(ALL[name])
    assert "JSON:" in (ALL[name].help or "")


@pytest.mark.parametrize(
    "option",
    ["--store", "--run", "--seat", "--day", "--reason", "--candidate", "--hosts", "--port"],
)
def test_what_an_option_takes_is_called_the_same_everywhere(option: str) -> None:
    taken = {
        options(command)[option].metavar for command in ALL.values() if option in options(command)
    }
    assert len(taken) == 1
    assert None not in taken


def shown() -> Iterator[tuple[str, str]]:
    """Every command that a document shows, with the document's name."""
    for document in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        text = document.read_text(encoding="utf-8")
        for command in re.findall(r"ceo-arena ([a-z][^\n#|`]*)", text):
            yield document.name, command


def test_what_the_documents_show_can_be_given() -> None:
    commands_shown = list(shown())
    assert len(commands_shown) > 50
    for document, text in commands_shown:
        first, *others = text.split()
        name = first if first in ALL else " ".join((first, *others[:1]))
        assert name in ALL, (document, text)
        unknown = [
            word
            for word in others
            if word.startswith("--") and word.rstrip(";,.)") not in options(ALL[name])
        ]
        assert unknown == [], (document, text)


def test_every_variable_that_the_code_reads_is_in_the_readme() -> None:
    packages = ("manifests", "engine", "providers", "campaigns", "orchestrator")
    sources = [path for package in packages for path in (ROOT / package).rglob("*.py")]
    read = {
        name
        for path in sources
        for name in re.findall(r"\bCEO_ARENA_[A-Z_]+\b", path.read_text(encoding="utf-8"))
    }
    told = re.findall(r"`(CEO_ARENA_[A-Z_]+)`", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(read) > 4
    assert read <= set(told)
