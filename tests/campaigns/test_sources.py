"""Campaign files that cannot be read, and names that mean none."""

import errno
import os
from pathlib import Path

import pytest

from campaigns.definition import load_definition
from campaigns.sources import library_names
from manifests.errors import InputError


def refused_file(path: Path, content: str | bytes) -> str:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as caught:
        load_definition(path)
    assert caught.value.remedy
    assert "Traceback" not in str(caught.value)
    return str(caught.value)


def test_bad_toml_names_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"

    message = refused_file(path, 'name = "a"\nseeds = [1,, 2]\n')

    assert message.startswith(f"{path}: not valid TOML: ")
    assert "line 2, column 12" in message


def test_a_key_written_twice_is_bad_toml(tmp_path: Path) -> None:
    message = refused_file(tmp_path / "bad.toml", 'name = "a"\nname = "b"\n')

    assert "not valid TOML" in message
    assert "line 2" in message


@pytest.mark.parametrize(
    "content",
    ["x = " + "[" * 5_000 + "]" * 5_000, "seeds = [" + "9" * 5_000 + "]"],
    ids=["deep", "huge"],
)
def test_hostile_toml_is_refused_like_any_other(tmp_path: Path, content: str) -> None:
    assert "bad.toml" in refused_file(tmp_path / "bad.toml", content)


def test_a_date_is_no_value_of_a_campaign(tmp_path: Path) -> None:
    message = refused_file(tmp_path / "bad.toml", "name = 2026-01-02\n")

    assert "name: received a date (2026-01-02), which has no JSON form. Write a string." in message


def test_text_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    message = refused_file(tmp_path / "bad.toml", b'name = "\xff"')

    assert "byte 8 is not UTF-8 text" in message
    assert "Save the campaign file as UTF-8." in message


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_definition(tmp_path / "absent.toml")

    assert f"{tmp_path / 'absent.toml'}: the campaign file cannot be read: No such file" in str(
        caught.value
    )
    assert "library campaign: main, no-action" in caught.value.remedy


def test_a_directory_is_no_campaign_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        load_definition(tmp_path)


def test_a_file_without_permission_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    # Root reads every file, so the refusal of the system is acted.
    def refuse(_: Path) -> bytes:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "read_bytes", refuse)

    with pytest.raises(InputError, match=r"closed.toml: .*cannot be read: Permission denied"):
        load_definition("closed.toml")


def test_an_unknown_library_campaign_lists_the_known_ones() -> None:
    with pytest.raises(InputError) as caught:
        load_definition("rehersal")

    message = str(caught.value)
    assert 'There is no campaign "rehersal"' in message
    assert 'Did you mean "rehearsal"?' in message
    assert "./rehersal.toml" in message
    for name in library_names():
        assert name in message


def test_a_text_with_a_slash_or_an_ending_is_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    for reference in ("main.toml", "./main"):
        with pytest.raises(InputError, match=f"{Path(reference)}: the campaign file cannot"):
            load_definition(reference)
