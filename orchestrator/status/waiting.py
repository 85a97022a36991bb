"""What a campaign, a run or a company is waiting for. Pure: computed from how the campaign stands.

The answers are few: a person, a command that carries the campaign out, a slot, other runs, a reply
of a provider, money that is set aside or the end of a back-off, a peer's seal, space on the disk of
the store, or nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from campaigns.consistency import SEARCH_WINNER
from engine.decision import company_name
from manifests.errors import InputError
from manifests.printable import counted
from orchestrator.chosen import check_seat
from orchestrator.lifecycle import WAITING_FOR_A_PERSON, RunState
from orchestrator.status.barriers import SeatAtWork
from orchestrator.status.progress import INTERRUPTED, CampaignProgress, RunProgress
from orchestrator.store import DesiredState, RoutePause

WaitsFor = Literal[
    "nothing",
    "person",
    "command",
    "slot",
    "runs",
    "provider",
    "money",
    "back-off",
    "seal",
    "settlement",
    "space",
]

_WAITING: Final = frozenset({RunState.PLANNED, RunState.QUEUED, INTERRUPTED})


@dataclass(frozen=True, slots=True)
class Answer:
    """What one thing waits for, and why; `subject` names it."""

    subject: str
    state: str
    waits_for: WaitsFor
    reason: str

    def to_json(self) -> dict[str, Any]:
        """The answer as plain JSON, keys as the fields."""
        return asdict(self)


def why_campaign(progress: CampaignProgress, pauses: Sequence[RoutePause]) -> list[Answer]:
    """What a campaign, each of its paused routes, and each of its runs that are not completed wait
    for.
    """
    subject, state = f"campaign {progress.campaign}", progress.desired.value
    answers = [
        Answer(f"route of {pause.candidate}", "paused", "person", pause.reason) for pause in pauses
    ]
    runs = [run for run in progress.runs if run.state != RunState.COMPLETED]
    if progress.finished:
        return [Answer(subject, "completed", "nothing", "every run is completed")]
    if progress.desired is not DesiredState.RUNNING:
        own = Answer(subject, state, "person", _because(f"it is {state}", progress.reason))
    elif progress.obstacle:
        own = Answer(subject, state, "space", _obstructed(progress))
    elif progress.owner is None:
        own = Answer(subject, state, "command", "nobody carries it out")
    else:
        own = Answer(subject, state, "runs", f"{_runs_are(runs)} not completed")
    return [own, *answers, *(why_run(progress, run) for run in runs)]


def why_run(progress: CampaignProgress, run: RunProgress) -> Answer:
    """What a run waits for."""
    return Answer(f"run {run.planned.run_id}", run.state, *_of_run(progress, run))


def why_seat(progress: CampaignProgress, run_id: str, seat: int) -> Answer:
    """What a company of a run waits for, in the window where the run stands.

    Raises:
        InputError: there is no such seat.
    """
    run = run_of(progress, run_id)
    check_seat(run.planned, seat)
    subject = f"{company_name(seat)} of run {run_id}"
    if seat in run.exits:
        return Answer(subject, "bankrupt", "nothing", f"it left on day {run.exits[seat]}")
    found = next((each for each in run.barrier if each.seat == seat), None)
    if found is None or run.state != RunState.RUNNING:
        waits_for, reason = _of_run(progress, run)
        return Answer(subject, run.state, waits_for, reason)
    if found.holds:
        return Answer(subject, found.status.value, _held_by(found), _doing(found))
    others = [company_name(other.seat) for other in run.stragglers]
    if not others:
        return Answer(subject, found.status.value, "settlement", "every company has closed")
    return Answer(subject, found.status.value, "seal", f"{', '.join(others)} still decide")


def why_at_rest(progress: CampaignProgress, run: RunProgress) -> str:
    """Why a run rests that waits for a person: first that its campaign rests, because then nothing
    follows what had stopped the run before.
    """
    if progress.desired is DesiredState.RUNNING:
        return run.reason or "no reason was given"
    whole = _because(f"the campaign is {progress.desired}", progress.reason)
    if run.reason in ("", progress.reason):
        return whole
    return f"{whole}; nothing follows until it is resumed. The run itself: {run.reason}"


def run_of(progress: CampaignProgress, run_id: str) -> RunProgress:
    """One run of a campaign. Raises InputError when there is none such."""
    for run in progress.runs:
        if run.planned.run_id == run_id:
            return run
    raise InputError(
        f"The campaign {progress.campaign} has no run {run_id}.",
        f"Its runs: {', '.join(run.planned.run_id for run in progress.runs)}.",
    )


def _of_run(progress: CampaignProgress, run: RunProgress) -> tuple[WaitsFor, str]:
    if run.state == RunState.COMPLETED:
        return "nothing", "it is completed"
    if run.state in WAITING_FOR_A_PERSON:
        return "person", why_at_rest(progress, run)
    if progress.obstacle:
        return "space", "nothing can be written into the store"
    if run.state in _WAITING:
        return _in_the_queue(progress, run)
    stragglers = run.stragglers
    if not stragglers:
        return "settlement", "every company has closed its window, or decides at once"
    kinds = {_held_by(seat) for seat in stragglers}
    told = "; ".join(_told(seat) for seat in stragglers)
    return kinds.pop() if len(kinds) == 1 else "seal", told


def _obstructed(progress: CampaignProgress) -> str:
    owner = "nobody carries it out" if progress.owner is None else f"{progress.owner} waits"
    return f"{progress.obstacle} Nothing is settled meanwhile; {owner}"


def _in_the_queue(progress: CampaignProgress, run: RunProgress) -> tuple[WaitsFor, str]:
    if progress.desired is not DesiredState.RUNNING:
        return "person", _because(f"the campaign is {progress.desired}", progress.reason)
    if progress.owner is None:
        return "command", _because("nobody carries the campaign out", run.reason)
    if run.barrier:
        return "back-off", "; ".join(_told(seat) for seat in run.stragglers)
    missing = list(_missing(progress, run))
    if missing:
        return "runs", f"{_runs_are(missing)} not completed on which it depends"
    if SEARCH_WINNER in run.planned.lineup:
        return "runs", "the winner of the search is not seated yet"
    active = sum(other.owner is not None for other in progress.runs)
    used = f"{active} of {progress.slots} slots are in use"
    if active < progress.slots:
        return "slot", f"{used}; it goes on when a host is ready, earlier seeds first"
    return "slot", f"{used}; earlier seeds go first"


def _missing(progress: CampaignProgress, run: RunProgress) -> Iterator[str]:
    completed = {
        other.planned.run_id for other in progress.runs if other.state == RunState.COMPLETED
    }
    return (name for name in run.planned.depends_on if name not in completed)


def _held_by(seat: SeatAtWork) -> WaitsFor:
    if seat.is_short:
        return "money"
    return "provider" if seat.until is None else "back-off"


def _told(seat: SeatAtWork) -> str:
    name = f"{company_name(seat.seat)} ({seat.candidate})"
    return f"{name}, {round(seat.open_seconds)} s: {_doing(seat)}"


def _doing(seat: SeatAtWork) -> str:
    shortened = "; `ceo-arena retry` begins it at once" if seat.is_early else ""
    return f"{seat.doing}{shortened}"


def _runs_are(runs: Sequence[object]) -> str:
    return f"{counted(len(runs), 'run')} {'is' if len(runs) == 1 else 'are'}"


def _because(what: str, reason: str) -> str:
    return f"{what}: {reason}" if reason else what
