"""Fresh attempts at failed company-windows, as the supervisor decides them (runtime.md section 4).

What the supervisor sees of a company-window is read from the run's journal; what it decides is one
transaction, by whoever holds the run's lease. Nothing is moved or deleted for a fresh attempt: the
one before it keeps its events, its draft and its files under its own number, and an archive that is
stored with the fresh one holds their digests. The files at the start of the window are made again
from the receipts that wrote them, and have to be, to the last byte, those with which the failed
attempt began.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from campaigns.definition import RecoveryPolicy
from manifests.canonical import canonical_json, digest_bytes
from manifests.errors import IntegrityError
from orchestrator.lifecycle import CompanyWindowStatus
from orchestrator.session import files as private_files
from orchestrator.session.allowance import NOTHING, Use, spent_reason
from orchestrator.session.events import ToolReceipt, WindowOpened, decode_event
from orchestrator.session.files import PrivateFiles
from orchestrator.session.state import SessionState, fold
from orchestrator.store import (
    SUPERVISOR,
    AttemptFailure,
    AttemptKey,
    AttemptStore,
    FreshGrant,
    Lease,
    RunStore,
    SessionReader,
    StoredAttempt,
)
from orchestrator.supervisor import (
    FAILED,
    Failure,
    FreshAttempt,
    Standing,
    Verdict,
    WaitForPerson,
    supervise,
)

_RECEIPT: Final = "tool_receipt"

RESUME_HELPS: Final = "`ceo-arena resume` lets this attempt go on where it failed"
"""What helps where no fresh attempt follows a provider error, which does not close its attempt."""


class FilesUnproven(Exception):
    """The files at the start of a window cannot be restored; the text says why."""


@dataclass(frozen=True, slots=True)
class Considered:
    """A company-window as its journal has it, with what the supervisor says.

    `key` is its present attempt, `fresh` the grant of that if it is a fresh one, `bodies` its
    events. `files` are those at the start of the window, where they were needed and could be
    proven.
    """

    key: AttemptKey
    fresh: StoredAttempt | None
    bodies: Sequence[bytes]
    state: SessionState
    standing: Standing
    verdict: Verdict
    files: PrivateFiles | None


class Recovery:
    """The supervisor's hand in one run, under the campaign's recovery policy."""

    def __init__(self, run: RunStore, policy: RecoveryPolicy) -> None:
        self._run = run
        self._policy = policy
        self._sessions = SessionReader(run)
        self._attempts = AttemptStore(run)

    def present(self, version: int, seat: int) -> tuple[AttemptKey, StoredAttempt | None]:
        """The attempt at a company-window that stands now, and its grant if it is a fresh one."""
        fresh = self._attempts.present(version, seat)
        return AttemptKey(version, seat, 0) if fresh is None else fresh.key, fresh

    def waiting(self, version: int, seat: int) -> tuple[int, float]:
        """The number of the present attempt at a company-window, and how many seconds it has still
        to wait before it begins; 0 where it does not wait.
        """
        key, fresh = self.present(version, seat)
        if fresh is None or self._sessions.events(key):
            return key.attempt, 0.0
        return key.attempt, fresh.due_in_seconds

    def carried(self, fresh: StoredAttempt | None) -> Use:
        """What an attempt begins with of its allowance used."""
        return NOTHING if fresh is None else msgspec.msgpack.decode(fresh.carried, type=Use)

    def consider(self, version: int, seat: int, *, by_person: bool) -> Considered:
        """What the supervisor says of a company-window; nothing is changed.

        `by_person` says that a person asks for a fresh attempt.
        """
        key, fresh = self.present(version, seat)
        bodies = self._sessions.events(key)
        state = fold(PrivateFiles(), map(decode_event, bodies))
        failure = failure_of(state)
        settled = self._run.status().world_version > version
        files, unproven = None, ""
        if failure is not None and not settled:
            try:
                files = self._proven_files(key, bodies)
            except FilesUnproven as missing:
                unproven = str(missing)
            except IntegrityError as damage:
                unproven = damage.message
        allowance = state.allowance
        standing = Standing(
            status=_status(state, failure),
            settled=settled,
            failure=failure,
            fresh_attempts=key.attempt,
            busy=_busy(key, state),
            spent=("" if allowance is None else spent_reason(allowance, state.use)) or "",
            unproven=unproven,
        )
        verdict = supervise(standing, self._policy, by_person=by_person)
        return Considered(key, fresh, bodies, state, standing, verdict, files)

    def carry_out(
        self, lease: Lease, version: int, seat: int, granted_by: str = SUPERVISOR
    ) -> Verdict:
        """Decide on a company-window and record it: the failure, and the fresh attempt that follows
        if one does. Doing it again changes nothing.

        `granted_by` names the person who asks. Raises LeaseLost, and then changes nothing.
        """
        found = self.consider(version, seat, by_person=granted_by != SUPERVISOR)
        if found.standing.failure is not None and not found.standing.settled:
            self._attempts.record(lease, _failed(found), self._granted(found, granted_by))
        return found.verdict

    def _granted(self, found: Considered, granted_by: str) -> FreshGrant | None:
        if not isinstance(found.verdict, FreshAttempt):
            return None
        assert found.files is not None, "a fresh attempt begins with proven files"
        carried = found.state.use if self._policy == "cumulative-usage" else NOTHING
        return FreshGrant(
            key=found.key._replace(attempt=found.verdict.number),
            granted_by=granted_by,
            reason=found.verdict.reason,
            files_digest=found.files.digest,
            carried=msgspec.msgpack.encode(carried),
            archive=archive_of(found.key, found.bodies),
        )

    def _proven_files(self, key: AttemptKey, bodies: Sequence[bytes]) -> PrivateFiles:
        """The files at the start of the window, made again from the receipts that wrote them.

        Raises FilesUnproven.
        """
        files = self._files_by_receipts(key)
        made = {path: (stored.content, stored.version) for path, stored in files.files.items()}
        kept = self._sessions.files_before(key.seat, key.version)
        for path in sorted({*made, *kept}):
            if path not in made:
                raise FilesUnproven(f"no receipt says who wrote {path}")
            if path not in kept:
                raise FilesUnproven(f"{path} is lost, which a receipt says was written")
            if made[path] != kept[path]:
                raise FilesUnproven(f"{path} is not what its receipt wrote")
        opened = decode_event(bodies[0])
        assert isinstance(opened, WindowOpened), "an attempt begins with its opening"
        if files.digest != opened.files_digest:
            raise FilesUnproven(
                f"the receipts make files of {files.digest}, and the window began with "
                f"{opened.files_digest or 'files whose digest was not recorded'}"
            )
        return files

    def _files_by_receipts(self, key: AttemptKey) -> PrivateFiles:
        counted = {
            fresh.key.version: fresh.key.attempt
            for fresh in self._attempts.fresh()
            if fresh.key.seat == key.seat
        }
        files = PrivateFiles()
        for place, receipts in sorted(self._sessions.of_kinds({_RECEIPT}, seat=key.seat).items()):
            if place.version < key.version and place.attempt == counted.get(place.version, 0):
                files = _written(files, receipts)
        return files


def failure_of(state: SessionState) -> Failure | None:
    """How an attempt failed, or None when it did not."""
    if state.halted is not None:
        halted = state.halted
        return Failure(
            CompanyWindowStatus.PROVIDER_ERROR, halted.cause, halted.needs_person, halted.reason
        )
    if state.closed is None or state.closed.status not in FAILED:
        return None
    cause = "time" if state.closed.status is CompanyWindowStatus.TIMEOUT else "unreadable"
    return Failure(state.closed.status, cause, needs_person=False, reason=state.closed.reason)


def archive_of(key: AttemptKey, bodies: Sequence[bytes]) -> bytes:
    """What is kept of an attempt that a fresh one replaces, as canonical JSON.

    It follows from the events alone, so that whoever has them can tell that none has changed.
    """
    state = fold(PrivateFiles(), map(decode_event, bodies))
    failure = failure_of(state)
    assert failure is not None, "only a failed attempt is archived"
    return canonical_json(
        {
            "attempt": key.attempt,
            "status": failure.status.value,
            "cause": failure.cause,
            "reason": failure.reason,
            "journal": {"events": len(bodies), "digest": _digest_of(bodies)},
            "conversation": {
                "messages": len(state.messages),
                "digest": _digest_of(map(msgspec.msgpack.encode, state.messages)),
            },
            "draft": {"digest": digest_bytes(msgspec.msgpack.encode(state.draft))},
            "allowance": _plain(state.allowance),
            "carried": _plain(state.carried),
            "use": _plain(state.use),
            "counts": _plain(state.counts),
        }
    )


def told(verdict: Verdict) -> str:
    """A verdict in words, for the reason of a stop, with what helps where nothing follows."""
    if isinstance(verdict, FreshAttempt):
        when = f" in {verdict.wait_seconds:g} s" if verdict.wait_seconds else ""
        return f"Fresh attempt {verdict.number} follows{when}."
    helps = f" {RESUME_HELPS}." if isinstance(verdict, WaitForPerson) else ""
    return f"No fresh attempt: {verdict.reason}.{helps}"


def _failed(found: Considered) -> AttemptFailure:
    failure, verdict = found.standing.failure, found.verdict
    assert failure is not None
    if isinstance(verdict, FreshAttempt):
        name = f"fresh attempt {verdict.number}"
    else:
        name = "waits for a person" if isinstance(verdict, WaitForPerson) else "no attempt"
    return AttemptFailure(
        key=found.key,
        ordinal=len(found.bodies) - 1,
        status=failure.status,
        cause=failure.cause,
        needs_person=failure.needs_person,
        reason=failure.reason,
        verdict=name,
        verdict_reason=verdict.reason,
    )


def _written(files: PrivateFiles, receipts: Iterable[bytes]) -> PrivateFiles:
    """The files after the writes of some receipts. Raises FilesUnproven where one is missing."""
    for body in receipts:
        receipt = decode_event(body)
        assert isinstance(receipt, ToolReceipt)
        change = receipt.file_change
        if change is None:
            continue
        stored = files.files.get(change.path)
        following = 1 if stored is None else stored.version + 1
        if change.version != following:
            raise FilesUnproven(
                f"the receipt that wrote version {following} of {change.path} is missing"
            )
        files = private_files.apply(files, change)
    return files


def _status(state: SessionState, failure: Failure | None) -> CompanyWindowStatus:
    if failure is not None:
        return failure.status
    return CompanyWindowStatus.OPEN if state.closed is None else state.closed.status


def _busy(key: AttemptKey, state: SessionState) -> str:
    if state.allowance is None:
        return (
            f"its fresh attempt {key.attempt} has not begun" if key.attempt else "it has not begun"
        )
    if state.wait is None:
        return "it is being decided"
    until = datetime.fromtimestamp(state.wait.began_at + state.wait.seconds, UTC)
    return f"it is backing off until {until:%Y-%m-%d %H:%M:%S} UTC: {state.wait.reason}"


def _digest_of(parts: Iterable[bytes]) -> str:
    """The digest of a list of byte strings, each by its own digest."""
    return digest_bytes(b"".join(hashlib.sha256(part).digest() for part in parts))


def _plain(value: msgspec.Struct | None) -> dict[str, Any] | None:
    return None if value is None else msgspec.structs.asdict(value)
