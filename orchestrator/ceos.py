"""From a candidate of the manifest to a CEO that decides.

A CEO decides one company-window at a time and answers when it has closed. Those that need no model
answer at once; they seal through the world's one gateway like any other (interface.md section 8).
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, Protocol, Self

from engine.decision import CompanyDecision
from engine.observation import Observation
from engine.policies.base import Policy, make_policy
from engine.records import ActionReceipt
from engine.state import WorldState
from manifests.errors import InputError
from manifests.model import CampaignManifest, Candidate, ModelCandidate, PolicyCandidate
from orchestrator.deliberation import Deliberation
from orchestrator.lifecycle import CompanyWindowStatus


class Window(NamedTuple):
    """One company-window as it opens.

    ``receipts`` are what the company's actions of the window before came to. ``state`` is for the
    tools of a session, which show of it what is the company's own or public. ``stopping`` says
    whether the run is to rest: a CEO that takes its time then closes the window as `open`.
    ``hastened`` says whether a person wants the fresh attempt of a number to begin at once.
    """

    observation: Observation
    state: WorldState
    receipts: Sequence[ActionReceipt]
    stopping: Callable[[], bool]
    hastened: Callable[[int], bool]


class Closed(NamedTuple):
    """How a company-window closed; the decision is there only when it was sealed. ``reason`` says
    why it was not. ``recovers``: it failed, and a fresh attempt will be made when the run goes on.
    """

    status: CompanyWindowStatus
    decision: CompanyDecision | None = None
    reason: str = ""
    recovers: bool = False


class Ceo(Protocol):
    """Who sits in a seat. `identity` is the name under which its decisions are recorded."""

    @property
    def identity(self) -> str: ...

    async def decide(self, window: Window) -> Closed:
        """Decide a window; returns when it has closed."""
        ...


class PolicyCeo:
    """A CEO without a model: a policy's decision, sealed. The policies of a run share the thread of
    one deliberation.
    """

    def __init__(self, policy: Policy, deliberation: Deliberation | None = None) -> None:
        self._policy = policy
        self._deliberation = deliberation or Deliberation()
        self.identity = policy.identity

    @classmethod
    def of(cls, candidate: PolicyCandidate, deliberation: Deliberation | None = None) -> Self:
        """The policy that the manifest names, with its parameters. Raises InputError."""
        return cls(make_policy(candidate.policy, candidate.parameters), deliberation)

    async def decide(self, window: Window) -> Closed:
        """The policy's decision; raises what the policy raises, as an ordinary exception.

        Raises:
            TimeoutError: the policy takes too long. TypeError: what it decides is no decision.
        """
        decision = await self._deliberation.on(partial(decided, self._policy, window.observation))
        return Closed(CompanyWindowStatus.SEALED, decision)


def decided(policy: Policy, observation: Observation) -> CompanyDecision:
    """What a policy decides; raises what it raises, and TypeError when that is no decision."""
    decision = policy.decide(observation)
    if not isinstance(decision, CompanyDecision):
        raise TypeError(f"the policy decided a {type(decision).__name__}, not a CompanyDecision")
    return decision


def identity_of(candidate: Candidate) -> str | None:
    """The identity under which a candidate's decisions are recorded; None for a placeholder."""
    match candidate:
        case PolicyCandidate(identity=identity) | ModelCandidate(route_identity=identity):
            return identity
        case _:
            return None


ModelSeating = Callable[[ModelCandidate, int], Ceo]
"""Seats a model; there are models only where a run is owned."""


def ceo_of(
    candidate: Candidate,
    seat: int,
    seat_model: ModelSeating,
    deliberation: Deliberation | None = None,
) -> Ceo:
    """The CEO that a candidate is in a seat; a policy thinks in that deliberation.

    Raises:
        InputError: the candidate cannot sit in a seat of this version, or its policy is not usable.
    """
    if isinstance(candidate, PolicyCandidate):
        return PolicyCeo.of(candidate, deliberation)
    if isinstance(candidate, ModelCandidate):
        return seat_model(candidate, seat)
    raise InputError(
        f'Candidate "{candidate.id}" is a {candidate.kind.replace("-", " ")}: '
        "this version has no CEO for it.",
        "Seat candidates that name a policy.",
    )


def seated(
    manifest: CampaignManifest, lineup: tuple[str, ...], seat_model: ModelSeating
) -> dict[int, Ceo]:
    """The CEOs of a lineup of candidate ids, by seat; errors as `ceo_of`."""
    known = {
        candidate.id: candidate
        for candidate in (*manifest.decisive.candidates, *manifest.decisive.baselines)
    }
    deliberation = Deliberation()
    return {
        seat: ceo_of(known[name], seat, seat_model, deliberation)
        for seat, name in enumerate(lineup, start=1)
    }
