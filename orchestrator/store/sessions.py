"""Journals of model sessions in a run's database: events, heartbeats, private files, late replies.

An event and what it writes to the private files are one transaction, which the run's lease fences.
The bytes of an event are the session's business; the store keeps them in order, as blobs.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    LargeBinary,
    Table,
    Text,
    bindparam,
    case,
    func,
    insert,
    select,
    update,
)

from manifests.errors import IntegrityError
from orchestrator.store.blobs import Blob, content_of, referred
from orchestrator.store.connection import CommitPoint, DatabaseNow, repeated
from orchestrator.store.homes import HeldRun
from orchestrator.store.leases import Lease
from orchestrator.store.runs import RunStore
from orchestrator.store.schema import (
    blobs,
    fresh_attempts,
    late_replies,
    private_files,
    run_states,
    session_events,
    session_heartbeats,
)

# Built once: they run with every event, and building costs more than running.
_PLACE: Final = {
    name: bindparam(f"of_{name}", type_=BigInteger())
    for name in ("run", "version", "seat", "attempt", "ordinal")
}


def _at(table: Table, *names: str) -> tuple[ColumnElement[bool], ...]:
    return tuple(table.c[name] == _PLACE[name] for name in names)


_LATER_ATTEMPT: Final = select(fresh_attempts.c.attempt).where(
    *_at(fresh_attempts, "run", "version", "seat"), fresh_attempts.c.attempt > _PLACE["attempt"]
)
_EVENTS: Final = _at(session_events, "run", "version", "seat", "attempt")
_LAST_EVENT: Final = (
    select(session_events.c.ordinal, session_events.c.blob)
    .where(*_EVENTS)
    .order_by(session_events.c.ordinal.desc())
    .limit(1)
)
_ALL_EVENTS: Final = (
    select(session_events.c.ordinal, session_events.c.blob, blobs.c.content)
    .outerjoin(blobs, (blobs.c.run == _PLACE["run"]) & (blobs.c.digest == session_events.c.blob))
    .where(*_EVENTS)
    .order_by(session_events.c.ordinal)
)
_BEATEN: Final = select(session_heartbeats.c.active_milliseconds).where(
    *_at(session_heartbeats, "run", "version", "seat", "attempt")
)
_VALUES: Final[dict[str, Any]] = {
    **_PLACE,
    "kind": bindparam("of_kind", type_=Text()),
    "epoch": bindparam("of_epoch", type_=BigInteger()),
    "committed_at": DatabaseNow(),
    "blob": bindparam("of_blob", type_=LargeBinary()),
}
# Of the present attempt, after all that it has: one statement finds out and does it.
_FOLLOWING_EVENT: Final = (
    insert(session_events)
    .from_select(
        list(_VALUES),
        select(*_VALUES.values()).where(
            ~_LATER_ATTEMPT.exists(),
            select(func.coalesce(func.max(session_events.c.ordinal) + 1, 0))
            .where(*_EVENTS)
            .scalar_subquery()
            == _PLACE["ordinal"],
        ),
    )
    .execution_options(preserve_rowcount=True)
)
_FILE: Final = insert(private_files).values(
    {column.name: bindparam(column.name) for column in private_files.columns}
)


class AttemptKey(NamedTuple):
    """One attempt at a company-window; ``version`` is the world version of the window."""

    version: int
    seat: int
    attempt: int


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


class Latest(NamedTuple):
    """The last event of an attempt; `open_seconds` have gone by since its first event, and
    `seconds` since this one, by the database's clock.
    """

    key: AttemptKey
    kind: str
    body: bytes
    open_seconds: float
    seconds: float


class SessionStore:
    """The sessions of one run. Reading is free for all; every write shows the run's lease."""

    def __init__(self, run: RunStore) -> None:
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
            rows = connection.execute(_ALL_EVENTS, _place(held, key)).all()
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
    def append(
        self,
        lease: Lease,
        key: AttemptKey,
        ordinal: int,
        kind: str,
        body: bytes,
        file: FileVersion | None,
    ) -> None:
        """Commit one event, and the file that it wrote; the very event again changes nothing.

        Raises LeaseLost, and IntegrityError when the attempt has another event of this ordinal.
        """
        blob = Blob.of(body)
        written = None if file is None else Blob.of(file.content.encode())
        with self._run.fenced(lease, CommitPoint.APPEND_EVENT) as (connection, held):
            event = _place(held, key) | {
                "of_ordinal": ordinal,
                "of_kind": kind,
                "of_epoch": lease.epoch,
                "of_blob": blob.digest,
            }
            if connection.execute(_FOLLOWING_EVENT, event).rowcount != 1:
                self._check_is_last(connection, event, key)
                return
            blob.keep(connection, held.run)
            if file is not None and written is not None:
                written.keep(connection, held.run)
                connection.execute(
                    _FILE,
                    {
                        "run": held.run,
                        **key._asdict(),
                        "path": file.path,
                        "file_version": file.file_version,
                        "blob": written.digest,
                    },
                )

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
            .where(*_of(session_events, held, key), session_events.c.ordinal == ordinal)
        )
        with held.database.read() as connection:
            return bool(connection.scalar(query))

    @repeated
    def keep_late_reply(self, lease: Lease, key: AttemptKey, request: int, body: bytes) -> None:
        """Add a reply to the ledger of those that came under a lost lease, once. The one write that
        shows no present lease: it adds a row and changes nothing that a run goes by.
        """
        held = self._run.held()
        if held is None:
            return
        blob = Blob.of(body)
        reply = {
            "run": held.run,
            **key._asdict(),
            "request": request,
            "owner": lease.owner,
            "epoch": lease.epoch,
            "blob": blob.digest,
        }
        there = (late_replies.c[name] == value for name, value in reply.items())
        with held.database.write(CommitPoint.KEEP_LATE_REPLY) as connection:
            if connection.execute(select(late_replies.c.number).where(*there)).first() is None:
                blob.keep(connection, held.run)
                connection.execute(insert(late_replies).values(**reply, committed_at=DatabaseNow()))

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
    def beat(self, lease: Lease, active_milliseconds: Mapping[AttemptKey, int]) -> None:
        """Note how much active time the open attempts have used; it never becomes less. Raises
        LeaseLost.
        """
        if not active_milliseconds:
            return
        with self._run.fenced(lease, CommitPoint.BEAT) as (connection, held):
            for key, milliseconds in active_milliseconds.items():
                known = session_heartbeats.c.active_milliseconds
                more = case((known > milliseconds, known), else_=milliseconds)
                again = (
                    update(session_heartbeats)
                    .where(*_of(session_heartbeats, held, key))
                    .values(active_milliseconds=more)
                )
                if connection.execute(again).rowcount == 0:
                    row = {"run": held.run, **key._asdict(), "active_milliseconds": milliseconds}
                    connection.execute(insert(session_heartbeats).values(row))

    @repeated
    def beaten_milliseconds(self, key: AttemptKey) -> int:
        """The active time of an attempt at its last heartbeat; 0 before the first."""
        held = self._run.held()
        if held is None:
            return 0
        with held.database.read() as connection:
            return connection.scalar(_BEATEN, _place(held, key)) or 0

    def _check_is_last(
        self, connection: Connection, event: Mapping[str, Any], key: AttemptKey
    ) -> None:
        """Of an event that did not follow: a commit whose end was unknown had succeeded.

        Raises IntegrityError: the attempt is archived, or stands elsewhere.
        """
        if connection.execute(_LATER_ATTEMPT, event).first() is not None:
            raise IntegrityError(
                f"Attempt {key.attempt} of company-{key.seat} at world version {key.version} is "
                f"archived in the {self._run.key}: a fresh one has taken its place."
            )
        last = connection.execute(_LAST_EVENT, event).one_or_none()
        ordinal = event["of_ordinal"]
        if last is not None and (last.ordinal, last.blob) == (ordinal, event["of_blob"]):
            return
        raise IntegrityError(
            f"The {self._run.key} has {0 if last is None else last.ordinal + 1} events of "
            f"company-{key.seat} at world version {key.version}, and event {ordinal} was to follow."
        )


def _place(held: HeldRun, key: AttemptKey) -> dict[str, Any]:
    """What binds the parameters of `_PLACE`, the ordinal apart."""
    return {"of_run": held.run} | {f"of_{name}": part for name, part in key._asdict().items()}


def _of(table: Table, held: HeldRun, key: AttemptKey) -> tuple[ColumnElement[bool], ...]:
    return (
        table.c.run == held.run,
        table.c.version == key.version,
        table.c.seat == key.seat,
        table.c.attempt == key.attempt,
    )
