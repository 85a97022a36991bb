"""The commands about the store itself, and what they say of passwords."""

import zipfile
from pathlib import Path

import pytest

from orchestrator.store import open_store
from orchestrator.store.schema import REVISION
from tests.orchestrator.cli.commands import ceo_arena
from tests.orchestrator.store import samples
from tests.orchestrator.store.test_upgrades import OLD
from tests.postgresql import PASSWORD, Server

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    with open_store(str(tmp_path / "store"), create=True) as opened:
        samples.create_campaign(opened)
        run = opened.run(samples.KEY)
        run.release(samples.start(run))
    return tmp_path / "store"


def test_a_backup_goes_where_the_command_is_given(
    capsys: Capture, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert ceo_arena(capsys, "backup", "tuesday", "--store", store).code == 0
    with open_store(str(tmp_path / "tuesday")) as copied:
        assert copied.run(samples.KEY).status().status == "running"


def test_a_backup_is_a_store(capsys: Capture, store: Path, tmp_path: Path) -> None:
    answer = ceo_arena(capsys, "backup", tmp_path / "monday", "--store", store)
    assert (answer.code, answer.out) == (0, "")
    assert f"{tmp_path / 'monday'} has 2 databases of {store}." in answer.err
    with open_store(str(tmp_path / "monday")) as copy:
        assert copy.run(samples.KEY).status().status == "running"
    answer = ceo_arena(capsys, "backup", tmp_path / "monday", "--store", store)
    assert answer.code == 2
    assert "There is something at" in answer.err
    tuesday = tmp_path / "tuesday"
    answer = ceo_arena(capsys, "backup", tuesday, "--store", store, "--json")
    assert answer.data == {"directory": str(tuesday), "databases": 2}


def test_a_copy_says_where_to_go_on(capsys: Capture, store: Path, postgresql: Server) -> None:
    url = postgresql.url(postgresql.new_database())
    answer = ceo_arena(capsys, "copy", url, "--store", store)
    assert (answer.code, answer.out) == (0, "")
    assert "It has got 1 run with " in answer.err
    assert f"Go on with: --store {url}" in answer.err
    answer = ceo_arena(capsys, "copy", url, "--store", store, "--json")
    assert answer.data == {"runs": 1, "rows": answer.data["rows"], "was_there": True}
    with open_store(url) as opened:
        assert [row.name for row in opened.catalogue.campaigns()] == [samples.CAMPAIGN]


def test_an_older_store_that_another_package_is_to_finish_is_left_to_it(
    capsys: Capture, tmp_path: Path
) -> None:
    with zipfile.ZipFile(OLD) as archive:
        archive.extractall(tmp_path)
    answer = ceo_arena(capsys, "status", "--store", tmp_path)
    assert (answer.code, answer.out) == (3, "")
    assert "`ceo-arena upgrade --store COPY`" in answer.err
    answer = ceo_arena(capsys, "upgrade", "--store", tmp_path, "--json")
    assert answer.data == {"revision": REVISION, "runs": 2}
    answer = ceo_arena(capsys, "upgrade", "--store", tmp_path)
    assert (answer.code, answer.out) == (0, "")
    assert f"has the tables of this version, revision {REVISION}." in answer.err
    copy = tmp_path / "copy"
    assert ceo_arena(capsys, "backup", copy, "--store", tmp_path).code == 0


def test_a_password_is_not_taken_as_an_argument(capsys: Capture, postgresql: Server) -> None:
    url = postgresql.network_url("postgres", PASSWORD)
    for command in ("status", "audit"):
        answer = ceo_arena(capsys, command, "--store", url)
        assert answer.code == 2
        assert "PGPASSWORD" in answer.err
        assert PASSWORD not in answer.err + answer.out


def test_a_password_of_the_environment_is_not_shown(
    capsys: Capture, postgresql: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = postgresql.new_database()
    open_store(postgresql.url(database), create=True).close()
    monkeypatch.setenv("PGPASSWORD", "replaced by that of the URL")
    monkeypatch.setenv("CEO_ARENA_STORE", postgresql.network_url(database, PASSWORD))
    answer = ceo_arena(capsys, "audit", "--json")
    assert answer.code == 0
    assert answer.data["clean"]
    assert PASSWORD not in answer.err + answer.out


def test_more_hosts_than_the_server_has_connections_for_are_refused(
    capsys: Capture, postgresql: Server
) -> None:
    url = postgresql.url(postgresql.new_database())
    answer = ceo_arena(capsys, "launch", "rehearsal", "--hosts", "99", "--store", url)
    assert answer.code == 2
    assert "too few connections for 99 hosts: they suffice for 11" in answer.err
    assert "Use --hosts 11" in answer.err


def test_a_server_that_does_not_answer_is_named(capsys: Capture) -> None:
    answer = ceo_arena(capsys, "status", "--store", "postgresql://ana@127.0.0.1:1/arena")
    assert answer.code == 3
    assert "cannot be reached at postgresql://ana@127.0.0.1:1/arena" in answer.err
    assert "Traceback" not in answer.err
