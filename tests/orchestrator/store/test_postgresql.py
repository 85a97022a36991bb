"""What only a server can do: be reached or not, lose a connection, be shared by many hosts."""

import os
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, event, text

from manifests.errors import InputError, StoreError
from orchestrator.cli.output import STORE_VARIABLE, keep_password_apart
from orchestrator.lifecycle import RunState
from orchestrator.store import (
    AttemptKey,
    CommitPoint,
    LeaseHeld,
    LeaseLost,
    SessionStore,
    Store,
    is_shared,
    open_store,
)
from orchestrator.store import postgresql as adapter
from orchestrator.store.connection import Database, repeated
from tests.orchestrator.store import raw, samples
from tests.postgresql import PASSWORD, Server, running_server

ATTEMPT = AttemptKey(0, 1, 0)


@pytest.fixture
def location(postgresql: Server) -> Iterator[str]:
    """The place of a store that does not exist yet."""
    name = postgresql.new_database()
    yield postgresql.url(name)
    postgresql.drop(name)


def database_of(store: Store) -> Database:
    held = store.run(samples.KEY).held()
    assert held is not None
    return held.database


@contextmanager
def before_commit(point: CommitPoint, do: Callable[[Connection], None]) -> Iterator[None]:
    """Do something once, when the next transaction of this kind is about to commit."""
    done = False

    def listen(connection: Connection) -> None:
        nonlocal done
        if not done and connection.get_execution_options().get("commit_point") is point:
            done = True
            do(connection)

    event.listen(Engine, "commit", listen)
    try:
        yield
    finally:
        event.remove(Engine, "commit", listen)
    assert done


class TestMaking:
    def test_many_may_make_it_at_once(self, location: str) -> None:
        def make(_number: int) -> str:
            with open_store(location, create=True) as store:
                samples.create_campaign(store)
                return store.location

        with ThreadPoolExecutor(8) as threads:
            assert set(threads.map(make, range(8))) == {location}
        with open_store(location) as store:
            assert [row.name for row in store.catalogue.campaigns()] == [samples.CAMPAIGN]

    def test_it_is_not_made_by_looking(self, location: str) -> None:
        with pytest.raises(StoreError, match="There is no store at postgresql://"):
            open_store(location)
        assert raw.execute(location, "SELECT 1 FROM pg_tables WHERE schemaname = 'public'") == []

    def test_a_database_of_something_else_is_left_alone(self, location: str) -> None:
        raw.execute(location, "CREATE TABLE customers (name TEXT)")
        with pytest.raises(StoreError, match="holds tables of something else: customers"):
            open_store(location, create=True)

    def test_a_database_that_cannot_hold_all_text_is_refused(self, postgresql: Server) -> None:
        name = postgresql.new_database("template0", "LATIN1")
        with pytest.raises(StoreError, match="keeps text as LATIN1"):
            open_store(postgresql.url(name), create=True)
        postgresql.drop(name)

    def test_a_missing_database_is_named(self, postgresql: Server) -> None:
        with pytest.raises(StoreError, match='database "nowhere" does not exist'):
            open_store(postgresql.url("nowhere"), create=True)

    def test_the_names_of_its_scheme(self, postgresql: Server, location: str) -> None:
        rest = location.removeprefix("postgresql")
        for scheme in ("postgresql+psycopg", "postgres"):
            with open_store(scheme + rest, create=True) as store:
                assert store.location == location
        assert is_shared(location)
        assert not is_shared("/some/directory")
        assert not is_shared("sqlite:////some/directory")
        assert postgresql.execute("SELECT 1") == [(1,)]


class TestSecrets:
    def test_a_password_moves_to_where_it_is_looked_for(self) -> None:
        variables = {STORE_VARIABLE: "postgresql://ana:s%40cret@host:5433/arena?sslmode=require"}
        keep_password_apart(variables)
        assert variables == {
            STORE_VARIABLE: "postgresql://ana@host:5433/arena?sslmode=require",
            "PGPASSWORD": "s@cret",
        }
        for place in ("somewhere", "postgresql://ana@host/arena"):
            variables = {STORE_VARIABLE: place}
            keep_password_apart(variables)
            assert variables == {STORE_VARIABLE: place}

    def test_it_opens_the_store(
        self, postgresql: Server, location: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        database = raw.execute(location, "SELECT current_database()")[0][0]
        monkeypatch.setenv(STORE_VARIABLE, postgresql.network_url(database, PASSWORD))
        monkeypatch.setenv("PGPASSWORD", "another")
        keep_password_apart(os.environ)
        with open_store(os.environ[STORE_VARIABLE], create=True) as store:
            assert store.location == postgresql.network_url(database)
            assert PASSWORD not in repr(vars(store)) + repr(store.catalogue)

    def test_a_wrong_one_is_refused_without_being_told(
        self, postgresql: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PGPASSWORD", "wrong-word")
        with pytest.raises(StoreError, match="password authentication failed") as caught:
            open_store(postgresql.network_url("postgres"))
        told = caught.value
        while told is not None:
            assert "wrong-word" not in str(told)
            told = told.__cause__  # type: ignore[assignment]

    def test_an_argument_with_a_password_is_refused(self, postgresql: Server) -> None:
        with pytest.raises(InputError) as caught:
            open_store(postgresql.network_url("postgres", PASSWORD))
        assert PASSWORD not in str(caught.value)
        assert "PGPASSWORD" in caught.value.remedy


class TestLostConnections:
    def kill(self, server: Server) -> Callable[[Connection], None]:
        def kill(connection: Connection) -> None:
            backend = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
            server.execute(f"SELECT pg_terminate_backend({backend}, 5000)")

        return kill

    def test_a_window_whose_transaction_was_cut_off_is_committed_again(
        self, postgresql: Server, location: str
    ) -> None:
        with open_store(location, create=True) as store:
            samples.create_campaign(store)
            run = store.run(samples.KEY)
            lease = samples.start(run)
            with before_commit(CommitPoint.COMMIT_WINDOW, self.kill(postgresql)):
                run.commit_window(lease, samples.window(0))
            with before_commit(CommitPoint.COMPLETE_RUN, self.kill(postgresql)):
                samples.play(run, lease)
            assert run.status().status is RunState.COMPLETED
            records = [day for version in range(3) for day in samples.window(version).days]
            assert list(run.day_records()) == records

    def test_every_other_write_is_done_again_too(self, postgresql: Server, location: str) -> None:
        with open_store(location, create=True) as store:
            for point in (CommitPoint.CREATE_CAMPAIGN, CommitPoint.CREATE_RUN):
                with before_commit(point, self.kill(postgresql)):
                    samples.create_campaign(store, point.replace(" ", "-"))
                    store.run(samples.KEY._replace(campaign=point.replace(" ", "-"))).acquire(
                        "host-1", 60
                    )
            samples.create_campaign(store)
            run = store.run(samples.KEY)
            lease = samples.start(run)
            sessions = SessionStore(run)
            with before_commit(CommitPoint.APPEND_EVENT, self.kill(postgresql)):
                sessions.append(lease, ATTEMPT, 0, "kind", b"reply", None)
            with before_commit(CommitPoint.RENEW_RUN, self.kill(postgresql)):
                run.renew(lease)
            assert sessions.events(ATTEMPT) == [b"reply"]

    def test_a_reader_looks_again(self, postgresql: Server, location: str) -> None:
        with open_store(location, create=True) as store:
            samples.create_campaign(store)
            backends = "SELECT pid FROM pg_stat_activity WHERE application_name = 'ceo-arena'"
            for (backend,) in postgresql.execute(backends):
                postgresql.execute(f"SELECT pg_terminate_backend({backend}, 5000)")
            assert store.catalogue.campaign(samples.CAMPAIGN).runs == 2

    def test_a_server_that_restarts_is_waited_for(self) -> None:
        with running_server() as server:
            location = server.url(server.new_database())
            with open_store(location, create=True) as store:
                samples.create_campaign(store)
                run = store.run(samples.KEY)
                lease = samples.start(run)
                server.kill()
                again = threading.Timer(0.5, server.start)
                again.start()
                samples.play(run, lease)
                again.join()
                assert run.status().status is RunState.COMPLETED

    def test_a_server_that_stays_away_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with running_server() as server:
            location = server.url(server.new_database())
            with open_store(location, create=True) as store:
                samples.create_campaign(store)
                server.kill()
                monkeypatch.setattr(store.catalogue.campaigns.retry, "stop", lambda _state: True)
                with pytest.raises(StoreError, match="cannot be reached at postgresql://"):
                    store.catalogue.campaigns()
                with pytest.raises(StoreError, match="cannot be reached at postgresql://"):
                    open_store(location)
                server.start()


class TestUnknownEnd:
    """The server commits, and its answer never comes: the proxy cuts the connection at COMMIT."""

    @pytest.fixture
    def store(self, postgresql: Server, location: str, tmp_path: Path) -> Iterator[Store]:
        open_store(location, create=True).close()
        self.proxy = Proxy(tmp_path, postgresql.directory / f".s.PGSQL.{postgresql.port}")
        database = location.partition("@/")[2].partition("?")[0]
        place = f"postgresql://arena@/{database}?host={tmp_path}&port={Proxy.PORT}"
        with open_store(place) as store:
            samples.create_campaign(store)
            yield store
        self.proxy.close()

    def test_a_window_is_there_once(self, store: Store) -> None:
        run = store.run(samples.KEY)
        lease = samples.start(run)
        self.proxy.cut = True
        with suppress(Exception):
            run.commit_window(lease, samples.window(0))
        assert self.proxy.cuts == 1
        assert run.status().world_version == 1
        assert [day.day for day in run.days()] == list(range(1, 8))
        samples.play(run, lease)
        assert run.outcomes() == samples.outcomes()

    def test_an_event_is_there_once(self, store: Store) -> None:
        run = store.run(samples.KEY)
        lease = samples.start(run)
        sessions = SessionStore(run)
        self.proxy.cut = True
        sessions.append(lease, ATTEMPT, 0, "kind", b"reply", None)
        sessions.append(lease, ATTEMPT, 1, "kind", b"next", None)
        self.proxy.cut = True
        sessions.keep_late_reply(lease, ATTEMPT, 0, b"late")
        assert self.proxy.cuts == 2
        assert sessions.events(ATTEMPT) == [b"reply", b"next"]
        assert [reply.body for reply in sessions.late_replies()] == [b"late"]

    def test_a_status_and_a_lease_are_as_if_nothing_had_happened(self, store: Store) -> None:
        run = store.run(samples.KEY)
        self.proxy.cut = True
        lease = run.acquire("host-1", 60)
        self.proxy.cut = True
        run.set_status(lease, RunState.QUEUED, "")
        assert self.proxy.cuts == 2
        assert run.status().status is RunState.QUEUED
        run.release(lease)


class Proxy:
    """A socket before the server's, which passes everything on until it is to `cut` a commit."""

    PORT = 5432

    def __init__(self, directory: Path, server: Path) -> None:
        self.cut = False
        self.cuts = 0
        self._server = server
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(directory / f".s.PGSQL.{self.PORT}"))
        self._listening.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(self._server))
                for work in (self._ask, self._answer):
                    threading.Thread(target=work, args=(client, server), daemon=True).start()

    def _ask(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(65_536):
                if self.cut and b"COMMIT" in data:
                    self.cut = False
                    self.cuts += 1
                    # Nobody hears the answer, which says that it is done.
                    client.shutdown(socket.SHUT_RDWR)
                    server.sendall(data)
                    server.recv(65_536)
                    break
                server.sendall(data)
        server.close()

    def _answer(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(65_536):
                client.sendall(data)
        client.close()


class TestMany:
    def test_of_two_that_lock_each_other_out_both_come_through(self, location: str) -> None:
        both = threading.Barrier(2)
        tries: list[int] = []

        @repeated
        def lock(store: Store, first: int) -> None:
            tries.append(first)
            with database_of(store).write(CommitPoint.BEAT) as connection:
                for number in (first, 1 - first):
                    query = text("SELECT 1 FROM runs WHERE position = :at FOR UPDATE")
                    connection.execute(query, {"at": number})
                    if number == first and tries.count(first) == 1:
                        with suppress(threading.BrokenBarrierError):
                            both.wait(5)

        with open_store(location, create=True) as store:
            samples.create_campaign(store)
            store.run(samples.KEY).acquire("host-1", 60)
            with ThreadPoolExecutor(2) as threads:
                list(threads.map(lambda first: lock(store, first), (0, 1)))
        assert len(tries) == 3

    def test_a_process_that_stops_in_a_transaction_holds_nobody_up(
        self, location: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        brief = [
            statement.replace(f"{adapter._IDLE_SECONDS:g}s", "50ms")  # noqa: SLF001
            for statement in adapter._SESSION  # noqa: SLF001
        ]
        with open_store(location, create=True) as store:
            samples.create_campaign(store)
        with monkeypatch.context() as patch:
            patch.setattr(adapter, "_SESSION", brief)
            stopped = open_store(location)
            run = stopped.run(samples.KEY)
            lease = samples.start(run, "host-1", 0)

        def write_late() -> None:
            with run.fenced(lease, CommitPoint.SET_STATUS) as (late, _):
                with open_store(location) as store:
                    store.run(samples.KEY).acquire("host-2", 60)
                late.execute(text("UPDATE run_states SET reason = 'late'"))

        with pytest.raises(StoreError):
            write_late()
        with pytest.raises(LeaseLost):
            run.set_status(lease, RunState.PAUSED, "late")
        assert run.status().reason == ""
        stopped.close()

    def test_one_lease_among_many_processes(self, location: str) -> None:
        with open_store(location, create=True) as store:
            samples.create_campaign(store)

        def take(number: int) -> str | None:
            with open_store(location) as own:
                with suppress(LeaseHeld):
                    return own.run(samples.KEY).acquire(f"host-{number}", 60).owner
                return None

        with ThreadPoolExecutor(8) as threads:
            owners = [owner for owner in threads.map(take, range(8)) if owner is not None]
        assert len(owners) == 1

    def test_threads_take_turns_on_few_connections(self, location: str) -> None:
        with open_store(location, create=True) as store:
            samples.create_campaign(store)
            with ThreadPoolExecutor(24) as threads:
                asked = [threads.submit(store.catalogue.campaigns) for _ in range(48)]
                assert {len(each.result()) for each in asked} == {1}
            used = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            assert raw.execute(location, used)[0][0] <= adapter.CONNECTIONS + 1

    def test_hosts_are_as_many_as_it_has_connections_for(self, location: str) -> None:
        with open_store(location, create=True) as store:
            assert store.most_hosts() == (60 - 3) // adapter.CONNECTIONS - 3
