"""The sessions of a run as anybody may read them: journals, private files, late replies."""

from collections.abc import Collection
from typing import Final, NamedTuple

from sqlalchemy import (
    func,
    select,
)

from manifests.errors import IntegrityError
from orchestrator.store.attempt_keys import ATTEMPT, PLACE, AttemptKey, at, place_of
from orchestrator.store.blobs import content_of, referred
from orchestrator.store.connection import DatabaseNow, repeated
from orchestrator.store.run_reader import RunReader
from orchestrator.store.schema import (
    blobs,
    late_replies,
    private_files,
    request_costs,
    run_states,
    session_events,
    session_heartbeats,
)

# Built once: building them costs more than running them.
_EVENTS: Final = at(session_events, *ATTEMPT)
_ALL_EVENTS: Final = (
    select(session_events.c.ordinal, session_events.c.blob, blobs.c.content)
    .outerjoin(blobs, (blobs.c.run == PLACE["run"]) & (blobs.c.digest == session_events.c.blob))
    .where(*_EVENTS)
    .order_by(session_events.c.ordinal)
)
_COSTS: Final = select(request_costs).where(*at(request_costs, *ATTEMPT))
_BEATEN: Final = select(session_heartbeats.c.active_milliseconds).where(
    *at(session_heartbeats, *ATTEMPT)
)


class FileVersion(NamedTuple):
    """A private file as one write left it."""

    path: str
    file_version: int
    content: str


class LateReply(NamedTuple):
    """A reply that came for an owner that had lost the run; ``request`` is the ordinal of what was
    asked, ``body`` the event that it would have been.
    """

    key: AttemptKey
    request: int
    owner: str
    epoch: int
    body: bytes


class RequestCost(NamedTuple):
    """What a request of a route with prices may cost at most, and did cost, in micro-dollars; None
    while, or where, nobody knows. ``epoch`` is that of who asked.
    """

    epoch: int
    at_most: int
    cost: int | None


class Latest(NamedTuple):
    """The last event of an attempt; `open_seconds` have gone by since its first event, and
    `seconds` since this one, by the database's clock.
    """

    key: AttemptKey
    kind: str
    body: bytes
    open_seconds: float
    seconds: float


class SessionReader:
    """The sessions of one run, read. Reading is free for all."""

    def __init__(self, run: RunReader) -> None:
        self._run = run

    def name_of(self, key: AttemptKey) -> str:
        """A name of the attempt that no other one of the store has, in printable ASCII."""
        place = f"version-{key.version}/company-{key.seat}/attempt-{key.attempt}"
        return f"{self._run.key.campaign}/{self._run.key.run_id}/{place}"

    @repeated
    def events(self, key: AttemptKey) -> list[bytes]:
        """The events of an attempt, in order. Raises IntegrityError when one is missing."""
        held = self._run.held()
        if held is None:
            return []
        with held.database.read() as connection:
            rows = connection.execute(_ALL_EVENTS, place_of(held, key)).all()
        if [row.ordinal for row in rows] != list(range(len(rows))):
            raise IntegrityError(
                f"The {self._run.key} lacks events of company-{key.seat} at world version "
                f"{key.version}.",
                "Put back the database that belongs to the run.",
            )
        place = f"an event of company-{key.seat} at world version {key.version}"
        return [content_of(row.blob, row.content, place) for row in rows]

    @repeated
    def of_kinds(
        self, kinds: Collection[str], version: int | None = None, seat: int | None = None
    ) -> dict[AttemptKey, list[bytes]]:
        """The events of these kinds, in order, of all attempts that have some, in one reading; of
        one world version or seat alone if wanted.
        """
        held = self._run.held()
        if held is None:
            return {}
        table = session_events.c
        key = (table.version, table.seat, table.attempt)
        query = (
            select(*key, table.blob, blobs.c.content)
            .outerjoin(blobs, referred(held.run, table.blob))
            .where(table.run == held.run, table.kind.in_(kinds))
        )
        if version is not None:
            query = query.where(table.version == version)
        if seat is not None:
            query = query.where(table.seat == seat)
        found: dict[AttemptKey, list[bytes]] = {}
        with held.database.read() as connection:
            for *place, digest, packed in connection.execute(query.order_by(*key, table.ordinal)):
                of = AttemptKey(*place)
                where = f"an event of company-{of.seat} at world version {of.version}"
                found.setdefault(of, []).append(content_of(digest, packed, where))
        return found

    @repeated
    def request_costs(self, key: AttemptKey) -> dict[int, RequestCost]:
        """What the requests of an attempt cost, by their numbers."""
        held = self._run.held()
        if held is None:
            return {}
        with held.database.read() as connection:
            rows = connection.execute(_COSTS, place_of(held, key))
            return {
                row.request: RequestCost(row.epoch, row.at_most_microdollars, row.microdollars)
                for row in rows
            }

    @repeated
    def attempts(self) -> list[AttemptKey]:
        """All attempts that have begun, by world version, seat and number."""
        held = self._run.held()
        if held is None:
            return []
        columns = (session_events.c.version, session_events.c.seat, session_events.c.attempt)
        query = select(*columns).where(session_events.c.run == held.run).distinct()
        with held.database.read() as connection:
            return [AttemptKey(*row) for row in connection.execute(query.order_by(*columns))]

    @repeated
    def wall_seconds(
        self, version: int | None = None, seat: int | None = None
    ) -> dict[tuple[int, int], float]:
        """How much time went by, by world version and seat, from the first event of the first
        attempt to the last event of the last one; of one version or seat alone if wanted.
        """
        held = self._run.held()
        if held is None:
            return {}
        table = session_events.c
        took = func.max(table.committed_at) - func.min(table.committed_at)
        query = select(table.version, table.seat, took.label("took"))
        query = query.where(table.run == held.run).group_by(table.version, table.seat)
        if version is not None:
            query = query.where(table.version == version)
        if seat is not None:
            query = query.where(table.seat == seat)
        with held.database.read() as connection:
            rows = connection.execute(query)
            return {(row.version, row.seat): row.took / 1000 for row in rows}

    @repeated
    def latest(self, version: int) -> list[Latest]:
        """The last event of every attempt at a world version, by seat and number."""
        held = self._run.held()
        if held is None:
            return []
        table = session_events.c
        ends = (
            select(
                table.seat,
                table.attempt,
                func.max(table.ordinal).label("ordinal"),
                func.min(table.committed_at).label("opened_at"),
            )
            .where(table.run == held.run, table.version == version)
            .group_by(table.seat, table.attempt)
            .subquery()
        )
        query = (
            select(
                table.seat,
                table.attempt,
                table.kind,
                table.blob,
                blobs.c.content,
                (DatabaseNow() - ends.c.opened_at).label("open_for"),
                (DatabaseNow() - table.committed_at).label("since"),
            )
            .join(
                ends,
                (table.seat == ends.c.seat)
                & (table.attempt == ends.c.attempt)
                & (table.ordinal == ends.c.ordinal),
            )
            .outerjoin(blobs, referred(held.run, table.blob))
            .where(table.run == held.run, table.version == version)
            .order_by(table.seat, table.attempt)
        )
        with held.database.read() as connection:
            return [
                Latest(
                    AttemptKey(version, row.seat, row.attempt),
                    row.kind,
                    content_of(row.blob, row.content, f"an event of company-{row.seat}"),
                    row.open_for / 1000,
                    row.since / 1000,
                )
                for row in connection.execute(query)
            ]

    @repeated
    def files_before(self, seat: int, version: int) -> dict[str, tuple[str, int]]:
        """A company's files as they were when the window of ``version`` opened: (text, version of
        the file) by path.
        """
        held = self._run.held()
        if held is None or version == 0:
            return {}
        table, events = private_files.c, session_events.c
        # What an attempt wrote that was given up for another one is not the company's any more.
        counted = (
            select(events.version, func.max(events.attempt).label("attempt"))
            .where(events.run == held.run, events.seat == seat, events.version < version)
            .group_by(events.version)
            .subquery()
        )
        written = (
            select(table.path, table.file_version, table.blob)
            .join(
                counted,
                (table.version == counted.c.version) & (table.attempt == counted.c.attempt),
            )
            .where(table.run == held.run, table.seat == seat)
            .subquery()
        )
        latest = (
            select(written.c.path, func.max(written.c.file_version).label("file_version"))
            .group_by(written.c.path)
            .subquery()
        )
        query = (
            select(written, blobs.c.content)
            .join(
                latest,
                (written.c.path == latest.c.path)
                & (written.c.file_version == latest.c.file_version),
            )
            .outerjoin(blobs, referred(held.run, written.c.blob))
        )
        with held.database.read() as connection:
            rows = sorted(connection.execute(query), key=lambda row: str(row.path))
            return {
                row.path: (
                    content_of(row.blob, row.content, f"company-{seat}'s file {row.path}").decode(),
                    row.file_version,
                )
                for row in rows
            }

    @repeated
    def file_versions(self) -> dict[AttemptKey, list[FileVersion]]:
        """Every version of every file, by the attempt that wrote it."""
        held = self._run.held()
        if held is None:
            return {}
        query = (
            select(private_files, blobs.c.content)
            .outerjoin(blobs, referred(held.run, private_files.c.blob))
            .where(private_files.c.run == held.run)
        )
        found: dict[AttemptKey, list[FileVersion]] = {}
        with held.database.read() as connection:
            for row in connection.execute(query):
                key = AttemptKey(row.version, row.seat, row.attempt)
                place = f"company-{key.seat}'s file {row.path}"
                content = content_of(row.blob, row.content, place).decode()
                found.setdefault(key, []).append(FileVersion(row.path, row.file_version, content))
        return found

    @repeated
    def has_rested_since(self, key: AttemptKey, ordinal: int) -> bool:
        """Whether the run's status has changed since an event: a run that only changed hands goes
        on as it was, and one that rested was set going again by a person.
        """
        held = self._run.held()
        if held is None:
            return False
        query = (
            select(run_states.c.updated_at >= session_events.c.committed_at)
            .join(session_events, session_events.c.run == run_states.c.run)
            .where(*at(session_events, *ATTEMPT, "ordinal"))
        )
        with held.database.read() as connection:
            return bool(connection.scalar(query, place_of(held, key) | {"of_ordinal": ordinal}))

    @repeated
    def late_replies(self) -> list[LateReply]:
        """The ledger, in the order in which the replies came."""
        held = self._run.held()
        if held is None:
            return []
        query = (
            select(late_replies, blobs.c.content)
            .outerjoin(blobs, referred(held.run, late_replies.c.blob))
            .where(late_replies.c.run == held.run)
        )
        with held.database.read() as connection:
            return [
                LateReply(
                    AttemptKey(row.version, row.seat, row.attempt),
                    row.request,
                    row.owner,
                    row.epoch,
                    content_of(row.blob, row.content, f"a late reply for company-{row.seat}"),
                )
                for row in connection.execute(query.order_by(late_replies.c.number))
            ]

    @repeated
    def beaten_milliseconds(self, key: AttemptKey) -> int:
        """The active time of an attempt at its last heartbeat; 0 before the first."""
        held = self._run.held()
        if held is None:
            return 0
        with held.database.read() as connection:
            return connection.scalar(_BEATEN, place_of(held, key)) or 0
