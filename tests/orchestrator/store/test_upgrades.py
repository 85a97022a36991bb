"""A store that an older version wrote: migrated whole when it is opened, or left as it is."""

import json
import sqlite3
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from sqlalchemy import make_url

from manifests.errors import IntegrityError, StoreError
from manifests.fingerprints import PACKAGES, source_fingerprint
from orchestrator.lifecycle import RunState
from orchestrator.owners import own_name
from orchestrator.store import AttemptKey, DesiredState, SessionStore, Store, open_store
from orchestrator.store.directory import run_path
from orchestrator.store.migrations import configuration
from orchestrator.store.postgresql import postgresql_engine
from orchestrator.store.schema import REVISION
from tests.orchestrator.store import raw, samples
from tests.orchestrator.store.test_location import ordinary_user
from tests.postgresql import Server

OLD = Path(__file__).parents[2] / "data" / "store-0002.zip"
"""A campaign of `samples` at revision 0002, whose first run stands at its second boundary and has
a session of three events. It was written by the code of that revision."""

# Journals may be encoded anew.
SETTLED = (
    *("campaigns", "runs", "acts", "campaign_controls", "run_states", "run_leases"),
    *("checkpoints", "company_windows", "receipts", "days", "company_days", "company_exits"),
)

KEY = AttemptKey(0, 1, 0)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    with zipfile.ZipFile(OLD) as archive:
        archive.extractall(tmp_path / "store")
    return tmp_path / "store"


def revision(place: Path, *, of_run: bool = False) -> str:
    key = samples.KEY if of_run else None
    ((found,),) = raw.execute(str(place), "SELECT version_num FROM alembic_version", key)
    return str(found)


def rows(path: Path) -> dict[str, list[object]]:
    """All rows by table."""
    with sqlite3.connect(path) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        found = {name: connection.execute(f"SELECT * FROM {name}").fetchall() for (name,) in names}
    connection.close()
    return found


def brought_up(place: Path | str) -> Store:
    """The store, though the campaign in it can then not be finished."""
    return open_store(str(place), upgrade=True)


def manifest_of_old(place: Path) -> dict[str, Any]:
    ((content,),) = raw.execute(str(place), "SELECT manifest FROM campaigns")
    found: dict[str, Any] = json.loads(content)
    return found


def rewind_server(location: str, to: str) -> None:
    engine = postgresql_engine(make_url(location))
    with engine.begin() as connection:
        command.downgrade(configuration(connection), to)
    engine.dispose()


def test_it_is_what_it_says(old: Path) -> None:
    assert (revision(old), revision(old, of_run=True)) == ("0002", "0002")


def test_everything_in_it_is_there_and_goes_on(old: Path) -> None:
    with brought_up(old) as store:
        campaign = store.catalogue.campaign(samples.CAMPAIGN)
        assert (campaign.desired, campaign.reason) == (DesiredState.PAUSED, "lunch")
        assert [run.planned for run in store.catalogue.runs(samples.CAMPAIGN)] == list(samples.RUNS)
        assert [act.act for act in store.catalogue.acts(samples.CAMPAIGN)] == ["create", "pause"]
        run = store.run(samples.KEY)
        assert (run.status().world_version, run.status().lease.epoch) == (2, 1)
        sessions = SessionStore(run)
        assert sessions.events(KEY) == [b"event 0", b"event 1", b"event 2"]
        assert sessions.files_before(1, 1) == {"MEMORY.md": ("text 2", 2)}
        assert [reply.body for reply in sessions.late_replies()] == [b"reply"]
        samples.play(run, run.acquire("host-2", 60))
        assert run.status().status is RunState.COMPLETED
        records = [day for version in range(3) for day in samples.window(version).days]
        assert list(run.day_records()) == records
    assert (revision(old), revision(old, of_run=True)) == (REVISION, REVISION)


def test_nothing_that_was_settled_changes_by_it(old: Path) -> None:
    files = [old / "catalogue.db", run_path(old, samples.KEY)]
    before = [rows(path) for path in files]
    with brought_up(old) as store:
        store.run(samples.KEY).status()
    for path, earlier in zip(files, before, strict=True):
        later = rows(path)
        for table in SETTLED:
            content = earlier[table]
            width = len(content[0]) if content else 0  # type: ignore[arg-type]
            assert [row[:width] for row in later[table]] == content  # type: ignore[index]


def test_of_many_that_open_it_at_once_one_migrates(old: Path) -> None:
    together = threading.Barrier(6)

    def look(_number: int) -> int:
        together.wait()
        with brought_up(old) as store:
            return store.run(samples.KEY).status().world_version

    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(look, range(6))) == [2] * 6
    assert (revision(old), revision(old, of_run=True)) == (REVISION, REVISION)


def test_what_breaks_off_leaves_it_as_it_was(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = rows(old / "catalogue.db")
    upgrade = command.upgrade

    def fail_at_the_end(*arguments: object) -> None:
        upgrade(*arguments)  # type: ignore[arg-type]
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(command, "upgrade", fail_at_the_end)
        with pytest.raises(ZeroDivisionError):
            brought_up(old)
    assert rows(old / "catalogue.db") == before
    brought_up(old).close()


@pytest.mark.parametrize("of_run", [False, True])
def test_it_is_not_changed_under_who_works_with_it(old: Path, of_run: bool) -> None:
    table, where = ("run_leases", samples.KEY) if of_run else ("campaign_leases", None)
    lease = f"UPDATE {table} SET owner = '{own_name()}', expires_at = 9000000000000"
    raw.execute(str(old), lease, where)
    with (
        pytest.raises(StoreError, match="an older version, with which"),
        brought_up(old) as store,
    ):
        store.run(samples.KEY).status()
    assert revision(old, of_run=of_run) == "0002"
    raw.execute(str(old), f"UPDATE {table} SET expires_at = 1", where)
    with brought_up(old) as store:
        assert store.run(samples.KEY).status().world_version == 2


def test_an_owner_that_has_ended_is_not_waited_for(old: Path) -> None:
    gone = own_name().rpartition(".")[0] + ".1]"
    raw.execute(
        str(old), f"UPDATE campaign_leases SET owner = '{gone}', expires_at = 9000000000000"
    )
    brought_up(old).close()
    assert revision(old) == REVISION


def test_it_is_left_alone_while_only_another_package_can_finish_what_is_in_it(old: Path) -> None:
    campaign = rf"{samples.CAMPAIGN} \(source sha256:41c6"
    with pytest.raises(StoreError, match=rf"froze a campaign can finish it: {campaign}"):
        open_store(str(old))
    assert (revision(old), revision(old, of_run=True)) == ("0002", "0002")
    brought_up(old).close()
    with open_store(str(old)) as store:
        assert store.run(samples.KEY).status().world_version == 2


def test_the_same_without_its_catalogue(old: Path) -> None:
    (old / "catalogue.db").unlink()
    with pytest.raises(StoreError, match="can finish it"):
        open_store(str(old))
    assert revision(old, of_run=True) == "0002"
    assert not list(old.glob("*.db*"))
    brought_up(old).close()
    assert revision(old, of_run=True) == REVISION


def test_what_is_completed_needs_nobody_to_finish_it(old: Path) -> None:
    other = f"DELETE FROM runs WHERE run_id = '{samples.OTHER_KEY.run_id}'"
    raw.execute(str(old), other)
    with pytest.raises(StoreError, match="can finish it"):
        open_store(str(old))
    raw.execute(str(old), "UPDATE run_states SET status = 'completed'", samples.KEY)
    open_store(str(old)).close()
    assert revision(old) == REVISION


def test_what_this_package_froze_goes_on_with_it(old: Path) -> None:
    bound = manifest_of_old(old)["decisive"]["sources"]["overall"]
    own = source_fingerprint(PACKAGES).overall
    raw.execute(
        str(old),
        f"UPDATE campaigns SET manifest = CAST(replace(manifest, '{bound}', '{own}') AS BLOB)",
    )
    open_store(str(old)).close()
    assert revision(old) == REVISION


@pytest.mark.parametrize("content", ["{}", "[]", '{"decisive":{"sources":null}}'])
def test_a_damaged_manifest_is_named(old: Path, content: str) -> None:
    raw.execute(str(old), f"UPDATE campaigns SET manifest = CAST('{content}' AS BLOB)")
    with pytest.raises(IntegrityError, match="manifest of campaign trial names no sources"):
        open_store(str(old))
    assert revision(old) == "0002"


def test_a_server_is_left_alone_as_well(postgresql: Server) -> None:
    location = postgresql.url(postgresql.new_database())
    with open_store(location, create=True) as store:
        samples.create_campaign(store)
        run = store.run(samples.KEY)
        run.release(samples.start(run))
    before = "0010"
    rewind_server(location, before)
    with pytest.raises(StoreError, match="can finish it"):
        open_store(location)
    assert raw.execute(location, "SELECT version_num FROM alembic_version") == [(before,)]
    brought_up(location).close()
    assert raw.execute(location, "SELECT version_num FROM alembic_version") == [(REVISION,)]


@pytest.fixture
def locked() -> Iterator[Path]:
    """The store in a place that all can reach, and where only the administrator may write."""
    with tempfile.TemporaryDirectory() as place, zipfile.ZipFile(OLD) as archive:
        archive.extractall(place)
        for path in (Path(place), *Path(place).rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        yield Path(place)
        for path in (Path(place), *Path(place).rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)


def test_a_read_only_one_is_refused(locked: Path) -> None:
    with ordinary_user(), pytest.raises(StoreError, match=r"catalogue.db: it is read-only"):
        brought_up(locked)
    assert revision(locked) == "0002"
