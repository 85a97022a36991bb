"""Journals of model sessions in a run's database: events, heartbeats, private files, late replies.

An event and what it writes to the private files are one transaction, which the run's lease fences.
The bytes of an event are the session's business; the store keeps them in order, as blobs.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    BigInteger,
    Connection,
    Insert,
    LargeBinary,
    Text,
    Update,
    bindparam,
    case,
    func,
    insert,
    select,
    update,
)

from manifests.errors import GO_ON, IntegrityError
from orchestrator.store.attempt_keys import ATTEMPT, PLACE, AttemptKey, at, place_of
from orchestrator.store.blobs import Blob
from orchestrator.store.connection import CommitPoint, DatabaseNow, repeated
from orchestrator.store.leases import Lease
from orchestrator.store.runs import RunStore
from orchestrator.store.schema import (
    fresh_attempts,
    late_replies,
    private_files,
    request_costs,
    session_events,
    session_heartbeats,
)
from orchestrator.store.session_reader import FileVersion, SessionReader

# Built once: they run with every event, and building costs more than running.
_EVENTS: Final = at(session_events, *ATTEMPT)
_LATER_ATTEMPT: Final = select(fresh_attempts.c.attempt).where(
    *at(fresh_attempts, "run", "version", "seat"), fresh_attempts.c.attempt > PLACE["attempt"]
)
_LAST_EVENT: Final = (
    select(session_events.c.ordinal, session_events.c.blob)
    .where(*_EVENTS)
    .order_by(session_events.c.ordinal.desc())
    .limit(1)
)
_VALUES: Final[dict[str, Any]] = {
    **PLACE,
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
            == PLACE["ordinal"],
        ),
    )
    .execution_options(preserve_rowcount=True)
)
_FILE: Final = insert(private_files).values(
    {column.name: bindparam(column.name) for column in private_files.columns}
)


class Price(NamedTuple):
    """What request number ``request`` may cost at most, with its intent, or did cost, with its end,
    in micro-dollars.
    """

    request: int
    microdollars: int
    is_intent: bool


class SessionStore(SessionReader):
    """The sessions of one run, written by its owner: every write but one shows the run's lease."""

    def __init__(self, run: RunStore) -> None:
        super().__init__(run)
        self._run: RunStore = run

    @repeated
    def append(
        self,
        lease: Lease,
        key: AttemptKey,
        ordinal: int,
        kind: str,
        body: bytes,
        file: FileVersion | None,
        price: Price | None = None,
    ) -> None:
        """Commit one event, the file that it wrote, and what it says of a request's price; the very
        event again changes nothing.

        Raises LeaseLost, and IntegrityError when the attempt has another event of this ordinal.
        """
        blob = Blob.of(body)
        written = None if file is None else Blob.of(file.content.encode())
        with self._run.fenced(lease, CommitPoint.APPEND_EVENT) as (connection, held):
            event = place_of(held, key) | {
                "of_ordinal": ordinal,
                "of_kind": kind,
                "of_epoch": lease.epoch,
                "of_blob": blob.digest,
            }
            if connection.execute(_FOLLOWING_EVENT, event).rowcount != 1:
                self._check_is_last(connection, event, key)
                return
            blob.keep(connection, held.run)
            if price is not None:
                connection.execute(*_priced(held.run, lease, key, price))
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
                    .where(*at(session_heartbeats, *ATTEMPT))
                    .values(active_milliseconds=more)
                )
                if connection.execute(again, place_of(held, key)).rowcount == 0:
                    row = {"run": held.run, **key._asdict(), "active_milliseconds": milliseconds}
                    connection.execute(insert(session_heartbeats).values(row))

    def _check_is_last(
        self, connection: Connection, event: Mapping[str, Any], key: AttemptKey
    ) -> None:
        """Of an event that did not follow: a commit whose end was unknown had succeeded.

        Raises IntegrityError: the attempt is archived, or stands elsewhere.
        """
        if connection.execute(_LATER_ATTEMPT, event).first() is not None:
            raise IntegrityError(
                f"Attempt {key.attempt} of company-{key.seat} at world version {key.version} is "
                f"archived in the {self._run.key}: a fresh one has taken its place.",
                GO_ON,
            )
        last = connection.execute(_LAST_EVENT, event).one_or_none()
        ordinal = event["of_ordinal"]
        if last is not None and (last.ordinal, last.blob) == (ordinal, event["of_blob"]):
            return
        raise IntegrityError(
            f"The {self._run.key} has {0 if last is None else last.ordinal + 1} events of "
            f"company-{key.seat} at world version {key.version}, and number {ordinal} was to come.",
            GO_ON,
        )


def _priced(
    run: int, lease: Lease, key: AttemptKey, price: Price
) -> tuple[Insert | Update, dict[str, Any]]:
    """The statement that notes the price of a request, with its parameters."""
    of = {"run": run, **key._asdict(), "request": price.request}
    if price.is_intent:
        return insert(request_costs), of | {
            "epoch": lease.epoch,
            "at_most_microdollars": price.microdollars,
        }
    where = (request_costs.c[name] == value for name, value in of.items())
    return update(request_costs).where(*where), {"microdollars": price.microdollars}
