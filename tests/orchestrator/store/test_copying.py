"""Copies of whole stores: made while the store is used, or brought to a server and compared."""

import sqlite3
import threading
from pathlib import Path

import pytest
from sqlalchemy import Connection

from manifests.errors import InputError, IntegrityError, StoreError
from orchestrator.lifecycle import RunState
from orchestrator.store import AttemptKey, SessionStore, copying, open_store
from orchestrator.store.copying import Copied, backup, copy_to_server
from orchestrator.store.schema import CATALOGUE_TABLES, RUN_TABLES
from tests.orchestrator.store import crash_points, raw, samples
from tests.postgresql import Server


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A store in a directory, whose first run stands in the middle."""
    with open_store(str(tmp_path / "store"), create=True) as store:
        samples.create_campaign(store)
        run = store.run(samples.KEY)
        lease = samples.start(run)
        samples.play(run, lease, 2)
        run.release(lease)
    return tmp_path / "store"


class TestBackup:
    def test_a_copy_goes_on_where_the_store_stood(self, place: Path, tmp_path: Path) -> None:
        with open_store(str(place)) as store:
            run = store.run(samples.KEY)
            lease = run.acquire("host-1", 60)
            store.catalogue.acquire_campaign(samples.CAMPAIGN, "driver", 60)
            assert backup(str(place), tmp_path / "copy") == 2
            samples.play(run, lease)
            assert run.status().status is RunState.COMPLETED
        with open_store(str(tmp_path / "copy")) as copy:
            assert copy.catalogue.campaign(samples.CAMPAIGN).lease.owner is None
            run = copy.run(samples.KEY)
            assert (run.status().world_version, run.status().lease.owner) == (2, None)
            samples.play(run, run.acquire("host-2", 60))
            assert run.outcomes() == samples.outcomes()

    def test_it_is_of_one_moment_while_a_run_is_written(self, place: Path, tmp_path: Path) -> None:
        key, stopped = AttemptKey(2, 1, 0), threading.Event()
        with open_store(str(place)) as store:
            run = store.run(samples.KEY)
            lease = run.acquire("host-1", 60)
            sessions = SessionStore(run)

            def write() -> None:
                for ordinal in range(100_000):
                    if stopped.is_set():
                        return
                    sessions.append(lease, key, ordinal, "kind", b"x" * 2_000, None)

            writer = threading.Thread(target=write)
            writer.start()
            for number in range(5):
                backup(str(place), tmp_path / f"copy-{number}")
            stopped.set()
            writer.join()
        for number in range(5):
            copied = tmp_path / f"copy-{number}"
            checked = raw.execute(str(copied), "PRAGMA integrity_check", samples.KEY)
            assert checked == [("ok",)]
            with open_store(str(copied)) as copy:
                found = SessionStore(copy.run(samples.KEY)).events(key)
                assert found == [b"x" * 2_000] * len(found)

    def test_nothing_is_overwritten_or_half_made(
        self, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "there").mkdir()
        with pytest.raises(InputError, match="There is something at"):
            backup(str(place), tmp_path / "there")
        (tmp_path / ".new-copy-0000").mkdir()

        def fail(_source: Path, _to: Path) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(copying, "_copy_file", fail)
            with pytest.raises(StoreError, match="the disk is full"):
                backup(str(place), tmp_path / "copy")
        assert not (tmp_path / "copy").exists()
        backup(str(place), tmp_path / "copy")
        assert {path.name for path in tmp_path.iterdir()} == {"store", "there", "copy"}

    def test_a_server_has_its_own_program(self, postgresql: Server, tmp_path: Path) -> None:
        with pytest.raises(InputError) as caught:
            backup(postgresql.url("postgres"), tmp_path / "copy")
        assert "pg_dump" in caught.value.remedy


class TestToServer:
    @pytest.fixture
    def url(self, postgresql: Server) -> str:
        return postgresql.url(postgresql.new_database())

    def test_everything_arrives(self, tmp_path: Path, url: str) -> None:
        """A store in which everything was done that can be."""
        place = tmp_path / "lived"
        open_store(str(place), create=True).close()
        crash_points.live(str(place), str(place / "another"))
        copied = copy_to_server(str(place), url)
        assert (copied.runs, copied.was_there) == (1, False)
        filled = [
            table.name
            for table in (*CATALOGUE_TABLES, *RUN_TABLES)
            if raw.execute(url, f"SELECT 1 FROM {table.name} LIMIT 1")
        ]
        here = [
            table.name
            for tables, key in ((CATALOGUE_TABLES, None), (RUN_TABLES, samples.KEY))
            for table in tables
            if raw.execute(str(place), f"SELECT 1 FROM {table.name} LIMIT 1", key)
        ]
        assert filled == here
        with open_store(str(place)) as one, open_store(url) as other:
            for read in ("days", "company_days", "receipts", "company_windows", "checkpoints"):
                of_one = list(getattr(one.run(samples.KEY), read)())
                assert of_one == list(getattr(other.run(samples.KEY), read)())
                assert of_one
            assert one.catalogue.acts(samples.CAMPAIGN) == other.catalogue.acts(samples.CAMPAIGN)
            assert one.outcomes(samples.CAMPAIGN) == other.outcomes(samples.CAMPAIGN)

    def test_no_row_stands_in_the_wrong_file(self, tmp_path: Path) -> None:
        place = tmp_path / "lived"
        open_store(str(place), create=True).close()
        crash_points.live(str(place), str(place / "another"))
        for table in RUN_TABLES:
            assert raw.execute(str(place), f"SELECT * FROM {table.name}") == []
        for table in CATALOGUE_TABLES:
            if table.name not in {"campaigns", "runs", "endpoint_keys", "past_plans"}:
                assert raw.execute(str(place), f"SELECT * FROM {table.name}", samples.KEY) == []

    def test_a_copy_goes_on_and_grows(self, place: Path, url: str) -> None:
        copy_to_server(str(place), url)
        with open_store(url) as store:
            run = store.run(samples.KEY)
            samples.play(run, run.acquire("host-2", 60))
            assert run.outcomes() == samples.outcomes()
            store.run(samples.OTHER_KEY).acquire("host-2", 60)
            samples.create_campaign(store, "another")
            key = samples.KEY._replace(campaign="another")
            samples.start(store.run(key))
            assert len(store.catalogue.campaigns()) == 2

    def test_copying_again_changes_nothing(self, place: Path, url: str) -> None:
        first = copy_to_server(str(place), url)
        again = copy_to_server(str(place), url)
        assert again == Copied(first.runs, first.rows, was_there=True)
        with open_store(str(place)) as store:
            run = store.run(samples.KEY)
            lease = run.acquire("host-1", 60)
            samples.play(run, lease)
            run.release(lease)
        with pytest.raises(StoreError, match="holds another store, or one that has gone on"):
            copy_to_server(str(place), url)

    def test_a_campaign_that_is_carried_out_is_not_copied(self, place: Path, url: str) -> None:
        with open_store(str(place)) as store:
            lease = store.catalogue.acquire_campaign(samples.CAMPAIGN, "a driver", 60)
            with pytest.raises(StoreError, match="carried out by a driver"):
                copy_to_server(str(place), url)
            store.catalogue.release(lease)
            of_run = store.run(samples.KEY).acquire("a host", 60)
            with pytest.raises(StoreError, match="carried out by a host"):
                copy_to_server(str(place), url)
            store.run(samples.KEY).release(of_run)
        assert not copy_to_server(str(place), url).was_there

    def test_what_arrives_otherwise_is_not_kept(
        self, place: Path, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        send = copying._send  # noqa: SLF001

        def changed(source: Connection, to: Connection, table: object) -> None:
            send(source, to, table)  # type: ignore[arg-type]
            to.exec_driver_sql("UPDATE days SET state_digest = 'sha256:0' WHERE day = 3")

        with monkeypatch.context() as patch:
            patch.setattr(copying, "_send", changed)
            with pytest.raises(IntegrityError, match="table days did not arrive"):
                copy_to_server(str(place), url)
        assert raw.execute(url, "SELECT * FROM campaigns") == []
        assert not copy_to_server(str(place), url).was_there

    def test_places_that_will_not_do(self, place: Path, url: str) -> None:
        for source, target in ((url, url), (str(place), str(place)), (url, str(place))):
            with pytest.raises(InputError, match="from a directory to a database"):
                copy_to_server(source, target)


def test_the_source_is_only_read(place: Path, postgresql: Server) -> None:
    def content() -> list[str]:
        found = []
        for path in sorted(place.rglob("*.db")):
            with sqlite3.connect(path) as connection:
                found += list(connection.iterdump())
            connection.close()
        return found

    before = content()
    copy_to_server(str(place), postgresql.url(postgresql.new_database()))
    assert content() == before
