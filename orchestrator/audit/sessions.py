"""Model sessions: every journal folds to what was stored beside it and settled from it."""

from collections import defaultdict
from collections.abc import Generator, Iterator, Sequence

import msgspec

from campaigns.plan import PlannedRun
from engine.decision import company_name
from manifests.errors import RESTORE, IntegrityError
from manifests.model import CampaignManifest
from orchestrator.audit.spending import SpendingAudit
from orchestrator.session.allowance import NOTHING, Use
from orchestrator.session.events import (
    Answered,
    Asked,
    Event,
    Failed,
    Interrupted,
    ToolReceipt,
    WindowOpened,
    decode_event,
)
from orchestrator.session.files import PrivateFiles
from orchestrator.session.loop import sealed_decision
from orchestrator.session.recovery import archive_of
from orchestrator.session.state import SessionState, fold
from orchestrator.store import (
    AttemptKey,
    AttemptStore,
    CompanyWindow,
    FileVersion,
    RunStore,
    SessionReader,
    StoredAttempt,
)
from orchestrator.supervisor import FRESH_ATTEMPTS


def session_faults(
    run: RunStore, manifest: CampaignManifest, planned: PlannedRun, spending: SpendingAudit
) -> Generator[str, None, int]:
    """What contradicts itself in the journals of a run; how many attempts they hold.

    Raises:
        IntegrityError: an event is missing or damaged.
    """
    audit = _Sessions(run, planned, spending)
    keys = audit.sessions.attempts()
    yield from _number_faults(keys, audit.fresh)
    for key in keys:
        yield from audit.attempt_faults(key)
    yield from audit.file_faults(keys)
    yield from audit.late_faults()
    models = {each.id for each in manifest.decisive.candidates if each.kind == "model"}
    held = {(key.version, key.seat) for key in keys}
    for (version, seat), window in audit.windows.items():
        if window.candidate in models and (version, seat) not in held:
            yield f"{_place(AttemptKey(version, seat, 0))} was settled without a session"
    return len(keys)


class _Sessions:
    """The sessions of one run, in the order in which they were held."""

    def __init__(self, run: RunStore, planned: PlannedRun, spending: SpendingAudit) -> None:
        self._planned = planned
        self._spending = spending
        self.sessions = SessionReader(run)
        self.fresh = {attempt.key: attempt for attempt in AttemptStore(run).fresh()}
        self.windows = {(window.version, window.seat): window for window in run.company_windows()}
        self._journaled: dict[AttemptKey, list[FileVersion]] = defaultdict(list)
        self._files: dict[int, PrivateFiles] = defaultdict(PrivateFiles)

    def attempt_faults(self, key: AttemptKey) -> Iterator[str]:
        place = _place(key)
        bodies = self.sessions.events(key)
        events = [_decoded(body, place) for body in bodies]
        opened = events[0]
        if not isinstance(opened, WindowOpened):
            yield f"{place} does not begin with its opening"
            return
        yield from _request_faults(place, events)
        candidate = self._planned.lineup[key.seat - 1]
        costs = self.sessions.request_costs(key)
        yield from self._spending.attempt_faults(
            place, self._planned.run_id, key, candidate, events, costs
        )
        files = self._files[key.seat]
        if opened.files_digest and opened.files_digest != files.digest:
            yield f"{place} began with other files than the receipts before it wrote"
        state = fold(files, events)
        for event in events:
            if isinstance(event, ToolReceipt) and event.file_change is not None:
                new = event.file_change
                self._journaled[key].append(FileVersion(new.path, new.version, new.content))
        following = self.fresh.get(key._replace(attempt=key.attempt + 1))
        if following is not None:
            yield from _fresh_faults(place, bodies, state, following)
        else:
            self._files[key.seat] = state.files
            window = self.windows.get((key.version, key.seat))
            if window is not None:
                yield from _settled_faults(place, state, window)
        grant = self.fresh.get(key)
        if grant is not None and opened.used != msgspec.msgpack.decode(grant.carried, type=Use):
            yield f"{place} did not begin with the usage that was carried to it"

    def late_faults(self) -> Iterator[str]:
        """Replies that came too late are whole, and are answers to what was asked."""
        for late in self.sessions.late_replies():
            event = _decoded(late.body, f"a late reply of {_place(late.key)}")
            if not isinstance(event, Answered) or event.ordinal != late.request:
                yield f"a late reply of {_place(late.key)} answers another request than it says"

    def file_faults(self, keys: Sequence[AttemptKey]) -> Iterator[str]:
        """The stored file versions against those that the receipts say were written."""
        stored = self.sessions.file_versions()
        for key in sorted({*keys, *stored}):
            if sorted(stored.get(key, [])) != sorted(self._journaled[key]):
                yield f"the files that {_place(key)} stored are not those that its receipts wrote"


def _number_faults(
    keys: Sequence[AttemptKey], fresh: dict[AttemptKey, StoredAttempt]
) -> Iterator[str]:
    granted: dict[tuple[int, int], list[int]] = defaultdict(list)
    for key in sorted(fresh):
        granted[key.version, key.seat].append(key.attempt)
    for (version, seat), numbers in granted.items():
        if numbers != list(range(1, len(numbers) + 1)) or len(numbers) > FRESH_ATTEMPTS:
            place = f"{company_name(seat)} at world version {version}"
            yield f"{place} has fresh attempts {', '.join(map(str, numbers))}"
    for key in keys:
        if key.attempt and key not in fresh:
            yield f"{_place(key)} was never granted"


def _request_faults(place: str, events: Sequence[Event]) -> Iterator[str]:
    """Every request has one end, and no answer is there without its request or twice."""
    asked, under_way = 0, False
    for event in events:
        if isinstance(event, Asked):
            if under_way or event.ordinal != asked + 1:
                yield f"{place} asked request {event.ordinal} after request {asked}"
            asked, under_way = event.ordinal, True
        elif isinstance(event, Answered | Failed | Interrupted):
            if not under_way or event.ordinal != asked:
                yield f"{place} has an answer to request {event.ordinal}, which was not under way"
            under_way = False


def _fresh_faults(
    place: str, bodies: Sequence[bytes], state: SessionState, following: StoredAttempt
) -> Iterator[str]:
    try:
        archive = archive_of(following.key._replace(attempt=following.key.attempt - 1), bodies)
    except AssertionError:
        yield f"{place} was followed by a fresh attempt, and had not failed"
        return
    if archive != following.archive:
        yield f"{place} is not what was archived of it"
    carried = msgspec.msgpack.decode(following.carried, type=Use)
    if carried not in (NOTHING, state.use):
        yield f"the usage that {place} carries on is not what it used"


def _settled_faults(place: str, state: SessionState, window: CompanyWindow) -> Iterator[str]:
    if state.closed is None or state.closed.status is not window.status:
        ended = "open" if state.closed is None else state.closed.status
        yield f"{place} ended as {ended}, and was settled as {window.status}"
        return
    if sealed_decision(state, company_name(window.seat), window.version) != window.decision:
        yield f"the draft of {place} is not the decision that was settled"


def _decoded(body: bytes, place: str) -> Event:
    try:
        return decode_event(body)
    except msgspec.DecodeError as error:
        raise IntegrityError(f"{place} has an event that cannot be read.", RESTORE) from error


def _place(key: AttemptKey) -> str:
    name = f"the session of {company_name(key.seat)} at world version {key.version}"
    return name if key.attempt == 0 else f"{name}, fresh attempt {key.attempt}"
