"""Arguments that no command can use: what they would leak, break or start by mistake."""

from collections.abc import Iterator
from pathlib import Path
from typing import get_type_hints

import pytest
import typer

from orchestrator.cli.main import app
from orchestrator.cli.output import MOST_HOSTS
from tests.orchestrator.cli.commands import Answer, ceo_arena
from tests.orchestrator.trial import NAME, REFERENCE, Trial

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a campaign that nobody has begun."""
    place = tmp_path_factory.mktemp("arguments") / "store"
    Trial.new(place).store.close()
    return place


def refused(capsys: Capture, *arguments: str | Path) -> Answer:
    answer = ceo_arena(capsys, *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert "Traceback" not in answer.err
    return answer


@pytest.mark.parametrize(
    "arguments",
    [
        ("status", "postgresql://me:s3cret@host/db"),
        ("status", "--store", "mysql://me:s3cret@host/db"),
        ("plan", "https://me:s3cret@host/file.toml"),
        ("scenario", "check", "https:/me:s3cret@host/market.json"),
        ("report", "--out", "https://:s3cret@host/page"),
        ("pause", "--reason", "see https://me:s3cret@host/ticket"),
        ("launch", "rehearsal", "--address", "ray://me:s3cret@host:1"),
        ("no-command", "https://me:s3cret@host"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_password_in_an_argument_is_refused_and_not_repeated(
    arguments: tuple[str, ...], capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = refused(capsys, *arguments).err
    assert "has a password in it" in told
    assert "s3cret" not in told
    assert list(tmp_path.iterdir()) == []


URL = "https://host/place"
WITH_A_PATH: list[tuple[str, ...]] = [
    ("run", "--scenario", URL),
    ("scenario", "check", URL),
    ("search-rule", "--scenario", URL),
    ("launch", "rehearsal-llm", "--faults", URL),
    ("resume", "--faults", URL),
    ("gateway", "--faults", URL),
    ("gateway", "--ledger", URL),
    ("analyze", "--out", URL),
    ("analyze", "--scores", URL),
    ("analyze", "--bundle", URL),
    ("analyze", "--key", URL),
    ("report", "--out", URL),
    ("report", "--scores", URL),
    ("report", "--bundle", URL),
    ("report", "--key", URL),
    ("replay", "--bundle", URL),
    ("replay", "--bundle", "absent", "--key", URL),
    ("export", "--out", URL),
    ("export", "--key", URL),
    ("verify", URL),
    ("verify", "absent", "--key", URL),
    ("sign", URL, "--with", "absent"),
    ("sign", "absent", "--with", URL),
    ("sign", "absent", "--with", "absent", "--key", URL),
    ("keys", "generate", URL),
    ("keys", "show", URL),
    ("schemas", URL),
    ("backup", URL),
]


@pytest.mark.parametrize(
    "arguments",
    [*WITH_A_PATH, *((verb, URL) for verb in ("plan", "launch", "doctor"))],
    ids=lambda arguments: " ".join(argument for argument in arguments if argument != URL),
)
def test_a_url_is_no_path(
    arguments: tuple[str, ...], capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = refused(capsys, *arguments).err
    assert "is a URL, and a path on this machine is meant" in told
    assert "./https:/host/place" in told.replace("//", "/")
    assert list(tmp_path.iterdir()) == []


def test_every_path_of_every_command_was_tried() -> None:
    def paths(group: typer.Typer, *before: str) -> Iterator[tuple[str, ...]]:
        for command in group.registered_commands:
            assert command.callback is not None
            name = command.name or command.callback.__name__
            for parameter, hint in get_type_hints(command.callback).items():
                if ".Path" in repr(hint):
                    yield (*before, name, parameter)
        for below in group.registered_groups:
            assert below.typer_instance is not None
            named = [below.name] if isinstance(below.name, str) else []
            yield from paths(below.typer_instance, *before, *named)

    assert len(set(paths(app))) == len(WITH_A_PATH)


def test_a_campaign_file_names_no_url(capsys: Capture, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    for key in ("scenario", "extends"):
        file.write_text(f'{key} = "{URL}"', encoding="utf-8")
        told = refused(capsys, "plan", file).err
        assert f"{file}: {key}: {URL} is a URL" in told


def test_a_user_without_a_password_is_none(capsys: Capture) -> None:
    answer = ceo_arena(capsys, "status", "--store", "postgresql://me@127.0.0.1:1/db")
    assert answer.code == 3


@pytest.mark.parametrize("name", ["\x1b[31mred", "bell\x07", "\udcff"])
def test_what_a_terminal_would_obey_is_written_out(name: str, capsys: Capture) -> None:
    told = refused(capsys, "plan", name).err
    assert all(letter.isprintable() or letter == "\n" for letter in told)


@pytest.mark.parametrize("name", ["x" * 5_000, "a/" * 3_000 + "b"])
def test_a_very_long_name_is_not_repeated_to_its_end(name: str, capsys: Capture) -> None:
    assert len(refused(capsys, "plan", name).err) < 1_500


@pytest.mark.parametrize("name", ["", "/", "x" * 300])
def test_a_key_needs_a_name_that_a_file_can_have(
    name: str, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused(capsys, "keys", "generate", name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("retry", "--run", "absent"), "no run absent"),
        (("retry", "--seat", "4"), "There is no seat 4"),
        (("retry", "--candidate", "absent"), 'No run seats a candidate "absent"'),
        (("failures", "--run", "absent"), "no run absent"),
        (("failures", "--seat", "4"), "Seats are 1 to 3"),
        (("windows", "--run", "absent"), f"Its runs: {REFERENCE}"),
        (("windows", "--seat", "99"), "Seats are 1 to 3"),
        (("windows", "--seat", "4", "--run", REFERENCE), "a seat from 1 to 3"),
        (("windows", "--day", "21"), "the last on day 14"),
        (("pause", "--run", REFERENCE, "--seat", "1", "--day", "21"), "the last on day 14"),
        (("retry", "--run", REFERENCE, "--seat", "1", "--day", "21"), "the last on day 14"),
        (("why", "--run", "absent"), f"Its runs: {REFERENCE}"),
        (("replay", "--run", "absent"), f"Its runs: {REFERENCE}"),
        (("spending", "--candidate", "absent", "--cap", "1"), "There are: none"),
        (("replay", "--key", "signer.pub.pem"), "--key is for a bundle"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_there_is_not_is_named(
    arguments: tuple[str, ...], told: str, capsys: Capture, store: Path
) -> None:
    command, *options = arguments
    assert told in refused(capsys, command, NAME, *options, "--store", store).err


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (("launch", "rehearsal"), "--hosts"),
        (("resume",), "--hosts"),
        (("search-rule",), "--hosts"),
        (("replay",), "--jobs"),
    ],
)
def test_more_processes_than_any_machine_takes_are_a_mistake(
    command: tuple[str, ...], option: str, capsys: Capture
) -> None:
    assert option in refused(capsys, *command, option, str(MOST_HOSTS + 1)).err


def test_a_file_that_stands_there_is_pointed_out(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.txt").write_text("name = 'mine'")
    assert "such as ./mine.txt." in refused(capsys, "plan", "mine.txt").err
