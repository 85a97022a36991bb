"""The life of a run and of a company-window: their statuses and the table of allowed transitions.

A run (runtime.md section 1) is *planned* when its campaign is created and *queued* while it waits
for a slot. It is *running* while a host plays its windows; between two windows it may be *paused*,
by a person or because the store or the system under it failed, and is queued again or goes on when
that is over. After its last window it is *completed*, for good. It is *stopped* when a
company-window ended in a provider error or a person stopped it, always with a reason; a stopped run
is resumable, through the queue like any other:

    planned --> queued --> running --> completed
                 ^  |       |   ^
                 |  v       v   |
                 +------ paused-+        all but completed --> stopped --> queued

A company-window (section 2) is *open* while its company decides and closes with one of seven
statuses. *sealed* and *budget_exhausted* are final. A *timeout*, *protocol_error* or
*provider_error* may be opened again by a fresh attempt until the barrier commits; *paused* and
*integrity_error* wait for a person, who opens the window again. The barrier settles when every
active company has one of the four settled statuses, and never settles an open window, a provider
error, a pause or an integrity error.

Repeating a transition is no transition: a status may always follow itself, so that every command
can be given twice.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from manifests.errors import ArenaError


class RunState(StrEnum):
    """Where a run is in its life."""

    PLANNED = "planned"
    QUEUED = "queued"
    RUNNING = "running"
    PAUSED = "paused"
    COMPLETED = "completed"
    STOPPED = "stopped"


class CompanyWindowStatus(StrEnum):
    """How one company's window stands or ended."""

    OPEN = "open"
    SEALED = "sealed"
    BUDGET_EXHAUSTED = "budget_exhausted"
    TIMEOUT = "timeout"
    PROTOCOL_ERROR = "protocol_error"
    PROVIDER_ERROR = "provider_error"
    PAUSED = "paused"
    INTEGRITY_ERROR = "integrity_error"


SETTLED: Final = (
    CompanyWindowStatus.SEALED,
    CompanyWindowStatus.BUDGET_EXHAUSTED,
    CompanyWindowStatus.TIMEOUT,
    CompanyWindowStatus.PROTOCOL_ERROR,
)
"""The statuses with which the barrier may settle a window."""

WAITING_FOR_A_PERSON: Final = (RunState.PAUSED, RunState.STOPPED)
"""The states of a run in which it rests until a person lets it go on."""

RUN_TRANSITIONS: Final[Mapping[RunState, tuple[RunState, ...]]] = {
    RunState.PLANNED: (RunState.QUEUED, RunState.STOPPED),
    RunState.QUEUED: (RunState.RUNNING, RunState.PAUSED, RunState.STOPPED),
    RunState.RUNNING: (RunState.PAUSED, RunState.COMPLETED, RunState.STOPPED),
    RunState.PAUSED: (RunState.RUNNING, RunState.QUEUED, RunState.STOPPED),
    RunState.COMPLETED: (),
    RunState.STOPPED: (RunState.QUEUED,),
}

COMPANY_WINDOW_TRANSITIONS: Final[Mapping[CompanyWindowStatus, tuple[CompanyWindowStatus, ...]]] = {
    CompanyWindowStatus.OPEN: (
        CompanyWindowStatus.SEALED,
        CompanyWindowStatus.BUDGET_EXHAUSTED,
        CompanyWindowStatus.TIMEOUT,
        CompanyWindowStatus.PROTOCOL_ERROR,
        CompanyWindowStatus.PROVIDER_ERROR,
        CompanyWindowStatus.PAUSED,
        CompanyWindowStatus.INTEGRITY_ERROR,
    ),
    CompanyWindowStatus.SEALED: (),
    CompanyWindowStatus.BUDGET_EXHAUSTED: (),
    CompanyWindowStatus.TIMEOUT: (CompanyWindowStatus.OPEN,),
    CompanyWindowStatus.PROTOCOL_ERROR: (CompanyWindowStatus.OPEN,),
    CompanyWindowStatus.PROVIDER_ERROR: (CompanyWindowStatus.OPEN,),
    CompanyWindowStatus.PAUSED: (CompanyWindowStatus.OPEN,),
    CompanyWindowStatus.INTEGRITY_ERROR: (CompanyWindowStatus.OPEN,),
}


class IllegalTransition(ArenaError):
    """A status cannot follow the present one; says what was asked and what is allowed."""

    def __init__(self, subject: str, found: str, wanted: str, allowed: tuple[str, ...]) -> None:
        choices = f"It can become {_listed(allowed)}." if allowed else f"What is {found} stays so."
        super().__init__(f"{subject} is {found} and cannot become {wanted}.", choices)
        self.args = (subject, found, wanted, allowed)
        self.subject = subject
        self.found = found
        self.wanted = wanted
        self.allowed = allowed


class NotRunning(ArenaError):
    """A window was to be settled in a run that is not running."""

    def __init__(self, subject: str, found: str) -> None:
        super().__init__(
            f"{subject} is {found}: only a running run settles windows.",
            "Resume it first, unless it is completed.",
        )
        self.args = (subject, found)
        self.subject = subject
        self.found = found


def check_run_transition(subject: str, found: RunState, wanted: RunState) -> None:
    """Raise IllegalTransition unless the run that messages call `subject` may go to `wanted`."""
    allowed = RUN_TRANSITIONS[found]
    if wanted != found and wanted not in allowed:
        raise IllegalTransition(subject, found, wanted, allowed)


def check_company_window_transition(
    subject: str, found: CompanyWindowStatus, wanted: CompanyWindowStatus
) -> None:
    """Raise IllegalTransition unless the window that messages call `subject` may go to `wanted`."""
    allowed = COMPANY_WINDOW_TRANSITIONS[found]
    if wanted != found and wanted not in allowed:
        raise IllegalTransition(subject, found, wanted, allowed)


def check_run_settles(subject: str, found: RunState) -> None:
    """Raise NotRunning unless the run that messages call `subject` may settle a window."""
    if found is not RunState.RUNNING:
        raise NotRunning(subject, found)


def _listed(names: tuple[str, ...]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
