"""Opening stores in good and bad places: nothing half-made, and one clear message for each."""

import os
import resource
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine, event
from sqlalchemy.pool import Pool

from manifests.errors import InputError, IntegrityError, StoreError
from orchestrator.lifecycle import RunState
from orchestrator.store import DesiredState, Store, open_store
from orchestrator.store.connection import CommitPoint
from tests.orchestrator.store import samples
from tests.small_disk import CannotMount
from tests.small_disk import small_disk as mounted

NOBODY = 65_534


def run_path(place: Path) -> Path:
    return place / "runs" / samples.CAMPAIGN / f"{samples.KEY.run_id}.db"


def test_a_store_is_made_with_its_directories(tmp_path: Path) -> None:
    place = tmp_path / "a" / "b"
    with open_store(str(place), create=True) as store:
        assert store.location == str(place)
    assert [path.name for path in place.iterdir()] == ["catalogue.db"]
    open_store(f"sqlite:///{place}", create=True).close()


def test_a_relative_place_stays_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with open_store("sqlite:///here", create=True) as store:
        monkeypatch.chdir("/")
        assert store.location == str(tmp_path / "here")
        samples.create_campaign(store)
        samples.start(store.run(samples.KEY))


@pytest.mark.parametrize("name", ["a store", "100%", "q?mode=memory#x", "größe"])
def test_any_name_of_a_directory_will_do(tmp_path: Path, name: str) -> None:
    with open_store(str(tmp_path / name), create=True) as store:
        samples.create_campaign(store)
        samples.start(store.run(samples.KEY))
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_closed_store_is_whole_in_its_files(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "one"), create=True) as store:
        samples.create_campaign(store)
        run = store.run(samples.KEY)
        samples.play(run, samples.start(run))
    names = sorted(path.name for path in (tmp_path / "one").rglob("*") if path.is_file())
    assert names == ["catalogue.db", f"{samples.KEY.run_id}.db"]
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    with open_store(str(tmp_path / "two")) as copy:
        assert copy.outcomes(samples.CAMPAIGN) == samples.outcomes()


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("mysql://me:secret@host/db", "cannot be kept at a URL of mysql"),
        ("postgresql://me:secret@host", "names no database"),
        ("postgresql://me:secret@host/db", "has a password in it"),
        ("postgresql://me@host/db?password=secret", "has a password in it"),
        ("postgresql://me:secret@host:port/db", "cannot be read"),
        ("", "is empty"),
        ("sqlite:///", "is empty"),
    ],
)
def test_other_locations_are_refused(location: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        open_store(location, create=True)
    assert "secret" not in str(caught.value)


def test_a_store_is_not_made_by_looking(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="There is no store at"):
        open_store(str(tmp_path / "none"))
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    with pytest.raises(StoreError, match="is a file; a store is a directory"):
        open_store(str(tmp_path / "file"), create=True)
    with pytest.raises(StoreError, match="not a directory"):
        open_store(str(tmp_path / "file" / "store"), create=True)


def test_another_database_is_no_store(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "catalogue.db") as connection:
        connection.execute("CREATE TABLE customers (name TEXT)")
    connection.close()
    with pytest.raises(StoreError, match="not one of a CEO Arena store"):
        open_store(str(tmp_path), create=True)


def test_text_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "catalogue.db").write_text("dear diary, " * 1_000)
    with pytest.raises(StoreError, match="it is not an SQLite database"):
        open_store(str(tmp_path))


def test_a_damaged_database_is_named(tmp_path: Path) -> None:
    with open_store(str(tmp_path), create=True) as store:
        samples.create_campaign(store)
    content = bytearray((tmp_path / "catalogue.db").read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    (tmp_path / "catalogue.db").write_bytes(content)
    with (
        pytest.raises(StoreError, match=r"catalogue.db: its content is damaged"),
        open_store(str(tmp_path)) as store,
    ):
        store.catalogue.campaigns()


def test_a_run_database_under_another_name_is_noticed(tmp_path: Path) -> None:
    with open_store(str(tmp_path), create=True) as store:
        samples.create_campaign(store)
        samples.start(store.run(samples.KEY))
    run_path(tmp_path).rename(run_path(tmp_path).with_name("trial-s11-without-talker.db"))
    with (
        open_store(str(tmp_path)) as store,
        pytest.raises(IntegrityError, match="is not the database of run trial-s11-without"),
    ):
        store.run(samples.OTHER_KEY).status()


def test_a_run_whose_database_is_gone_does_not_begin_anew(tmp_path: Path) -> None:
    with open_store(str(tmp_path), create=True) as store:
        samples.create_campaign(store)
        samples.start(store.run(samples.KEY))
    path = run_path(tmp_path)
    path.unlink()
    with open_store(str(tmp_path)) as store:
        with pytest.raises(IntegrityError, match=f"is not at {path} any more"):
            store.statuses(samples.CAMPAIGN)
        with pytest.raises(IntegrityError, match="Put it back"):
            store.run(samples.KEY).acquire("host-2", 60)
    assert not path.exists()


def test_a_run_that_is_made_while_it_is_looked_for_is_not_taken_for_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exists = Path.exists

    def made_afterwards(path: Path) -> bool:
        found = exists(path)
        if path == run_path(tmp_path):
            monkeypatch.setattr(Path, "exists", exists)
            with open_store(str(tmp_path)) as other:
                other.run(samples.KEY).acquire("host-1", 60)
        return found

    with open_store(str(tmp_path), create=True) as store:
        samples.create_campaign(store)
        monkeypatch.setattr(Path, "exists", made_afterwards)
        assert store.run(samples.KEY).status().lease.owner == "host-1"


def test_a_run_of_another_plan_is_refused(tmp_path: Path) -> None:
    for name, release in (("one", "spring"), ("two", "autumn")):
        with open_store(str(tmp_path / name), create=True) as store:
            store.catalogue.create_campaign(samples.manifest_of(release=release), samples.RUNS)
            store.run(samples.KEY).acquire("host-1", 60)
    shutil.copy(run_path(tmp_path / "one"), run_path(tmp_path / "two"))
    with (
        open_store(str(tmp_path / "two")) as store,
        pytest.raises(IntegrityError, match="was written under plan sha256:"),
    ):
        store.run(samples.KEY).acquire("host-1", 60)


class TestLostCatalogue:
    def lose(self, place: Path) -> None:
        with open_store(str(place), create=True) as store:
            for campaign in (samples.CAMPAIGN, "second"):
                samples.create_campaign(store, campaign)
                run = store.run(samples.KEY._replace(campaign=campaign))
                samples.start(run)
        (place / "catalogue.db").unlink()

    def test_it_is_built_again_from_the_runs(self, tmp_path: Path) -> None:
        self.lose(tmp_path)
        with open_store(str(tmp_path)) as store:
            rows = store.catalogue.campaigns()
            assert sorted(row.name for row in rows) == ["second", samples.CAMPAIGN]
            assert {row.desired for row in rows} == {DesiredState.PAUSED}
            assert [run.planned for run in store.catalogue.runs("second")] == list(samples.RUNS)
            assert store.catalogue.manifest("second") == samples.manifest_of(campaign="second")
            (act,) = store.catalogue.acts("second")
            assert "built again" in act.reason
            run = store.run(samples.KEY)
            samples.play(run, run.acquire("host-1", 60))
            assert run.status().status is RunState.COMPLETED
            store.run(samples.OTHER_KEY).acquire("host-1", 60)

    def test_the_key_of_the_endpoints_is_not_lost(self, tmp_path: Path) -> None:
        with open_store(str(tmp_path), create=True) as store:
            store.catalogue.create_campaign(samples.manifest_of(), samples.RUNS, b"key")
            store.run(samples.KEY).acquire("host-1", 60)
        (tmp_path / "catalogue.db").unlink()
        with open_store(str(tmp_path)) as store:
            assert store.catalogue.endpoint_key(samples.CAMPAIGN) == b"key"

    def test_unfinished_files_are_passed_over(self, tmp_path: Path) -> None:
        self.lose(tmp_path)
        run_path(tmp_path).with_name(".new-0123456789abcdef.db").write_bytes(b"half")
        with open_store(str(tmp_path)) as store:
            assert len(store.catalogue.campaigns()) == 2


@pytest.fixture
def public() -> Iterator[Path]:
    """A directory that an ordinary user can reach."""
    place = Path(tempfile.mkdtemp())
    place.chmod(0o755)
    yield place
    shutil.rmtree(place)


@contextmanager
def ordinary_user() -> Iterator[None]:
    """Give up the rights of the administrator, before whom no file is read-only."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)


def test_a_read_only_directory(public: Path) -> None:
    place = public / "locked"
    place.mkdir(mode=0o555)
    for name in ("", "store", "some/store"):
        with ordinary_user(), pytest.raises(StoreError, match="this user may not open it"):
            open_store(str(place / name), create=True)
    assert list(place.iterdir()) == []
    place.chmod(0o777)
    with ordinary_user():
        open_store(str(place / "store"), create=True).close()


def test_a_read_only_store(public: Path) -> None:
    place = public / "store"
    open_store(str(place), create=True).close()
    place.chmod(0o555)
    (place / "catalogue.db").chmod(0o444)
    with ordinary_user(), pytest.raises(StoreError, match=r"catalogue.db: it is read-only"):
        open_store(str(place))


def test_a_store_whose_runs_are_forbidden(public: Path) -> None:
    with open_store(str(public), create=True) as store:
        public.chmod(0o777)
        (public / "catalogue.db").chmod(0o666)
        samples.create_campaign(store)
        samples.start(store.run(samples.KEY))
    (public / "runs").chmod(0o000)
    with (
        ordinary_user(),
        open_store(str(public)) as store,
        pytest.raises(StoreError, match="this user may not open it"),
    ):
        store.run(samples.KEY).status()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one MiB."""
    try:
        with mounted(tmp_path / "disk", megabytes=1) as disk:
            yield disk.place
    except CannotMount as error:
        pytest.skip(str(error))


def fill(place: Path, leave: int) -> Path:
    """Fill a file system up to `leave` bytes."""
    ballast = place / "ballast"
    ballast.write_bytes(b"x" * (shutil.disk_usage(place).free - leave))
    return ballast


@pytest.mark.parametrize("leave", [0, 4_096, 32_768, 65_536, 131_072])
def test_a_full_disk_leaves_no_half_store(small_disk: Path, leave: int) -> None:
    ballast = fill(small_disk, leave)
    with pytest.raises(StoreError, match="the disk is full"):
        open_store(str(small_disk / "store"), create=True)
    assert list(small_disk.iterdir()) == [ballast]
    ballast.unlink()
    open_store(str(small_disk / "store"), create=True).close()


def test_a_full_disk_leaves_no_half_run(small_disk: Path) -> None:
    with open_store(str(small_disk / "store"), create=True) as store:
        samples.create_campaign(store)
        ballast = fill(small_disk, 65_536)
        with pytest.raises(StoreError, match="the disk is full"):
            store.run(samples.KEY).acquire("host-1", 60)
        assert not (small_disk / "store" / "runs").exists()
        assert store.run(samples.KEY).status().status is RunState.PLANNED
        ballast.unlink()
        samples.start(store.run(samples.KEY))


def test_a_disk_that_fills_up_loses_no_window(small_disk: Path) -> None:
    with open_store(str(small_disk / "store"), create=True) as store:
        samples.create_campaign(store)
        run = store.run(samples.KEY)
        lease = samples.start(run)
        run.commit_window(lease, samples.window(0))
        ballast = fill(small_disk, 4_096)
        with pytest.raises(StoreError, match=r"\.db: the disk is full"):
            run.commit_window(lease, samples.window(1))
        assert run.status().world_version == 1
        assert list(run.day_records()) == list(samples.window(0).days)
        ballast.unlink()
        samples.play(run, lease)
        assert run.status().status is RunState.COMPLETED


def test_a_quota_on_pages_loses_no_window(tmp_path: Path) -> None:
    """As above where no disk can be mounted: SQLite itself refuses to grow the file."""
    with open_store(str(tmp_path), create=True) as store:
        samples.create_campaign(store)
        run = store.run(samples.KEY)
        lease = samples.start(run)

        def tighten(connection: sqlite3.Connection, _entry: object) -> None:
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            connection.execute(f"PRAGMA max_page_count={pages}").fetchone()

        run.close()
        event.listen(Pool, "connect", tighten)
        try:
            with pytest.raises(StoreError, match="the disk is full"):
                samples.play(run, lease)
        finally:
            event.remove(Pool, "connect", tighten)
            run.close()
        settled = range(run.status().world_version)
        records = [day for version in settled for day in samples.window(version).days]
        assert list(run.day_records()) == records
        samples.play(run, lease)
        assert run.status().status is RunState.COMPLETED


def test_a_process_without_handles_says_so(tmp_path: Path) -> None:
    with open_store(str(tmp_path), create=True) as store:
        samples.create_campaign(store)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        handle = os.open("/", os.O_RDONLY)
        os.close(handle)
        resource.setrlimit(resource.RLIMIT_NOFILE, (handle, hard))
        try:
            with pytest.raises(StoreError, match=r"too many files|cannot be opened"):
                store.run(samples.KEY).acquire("host-1", 60)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        samples.start(store.run(samples.KEY))


def test_of_two_that_make_a_store_one_wins(tmp_path: Path) -> None:
    """Another process finishes the same store while this one is about to commit its own."""
    others: list[Store] = []

    def overtake(_connection: object) -> None:
        others.append(open_store(str(tmp_path / "store"), create=True))
        samples.create_campaign(others[0])

    event.listen(Engine, "commit", overtake, once=True)
    with open_store(str(tmp_path / "store"), create=True) as store:
        assert [row.name for row in store.catalogue.campaigns()] == [samples.CAMPAIGN]
    others[0].close()
    assert [path.name for path in (tmp_path / "store").iterdir()] == ["catalogue.db"]


def test_a_failed_creation_spares_what_another_process_made(tmp_path: Path) -> None:
    def overtake(_connection: object) -> None:
        open_store(str(tmp_path / "store"), create=True).close()
        raise sqlite3.OperationalError("disk I/O error")

    event.listen(Engine, "commit", overtake, once=True)
    with pytest.raises(sqlite3.OperationalError):
        open_store(str(tmp_path / "store"), create=True)
    open_store(str(tmp_path / "store")).close()
    assert [path.name for path in (tmp_path / "store").iterdir()] == ["catalogue.db"]


def test_every_commit_point_has_its_own_name() -> None:
    assert len({point.value for point in CommitPoint}) == len(CommitPoint)
