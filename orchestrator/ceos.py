"""From a candidate of the manifest to a CEO that decides.

A CEO decides one company-window at a time and answers when it has closed. Those that need no model
answer at once; they seal through the world's one gateway like any other (interface.md section 8).
"""

from typing import NamedTuple, Protocol, Self

from engine.decision import CompanyDecision
from engine.observation import Observation
from engine.policies.base import Policy, make_policy
from manifests.errors import InputError
from manifests.model import CampaignManifest, Candidate, PolicyCandidate
from orchestrator.lifecycle import CompanyWindowStatus


class Closed(NamedTuple):
    """How a company-window closed; the decision is there only when it was sealed."""

    status: CompanyWindowStatus
    decision: CompanyDecision | None = None


class Ceo(Protocol):
    """Who sits in a seat. `identity` is the name under which its decisions are recorded."""

    @property
    def identity(self) -> str: ...

    async def decide(self, observation: Observation) -> Closed:
        """Decide the window that opens on this observation; returns when it has closed."""
        ...


class PolicyCeo:
    """A CEO without a model: a policy's decision, sealed."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.identity = policy.identity

    @classmethod
    def of(cls, candidate: PolicyCandidate) -> Self:
        """The policy that the manifest names, with its parameters. Raises InputError."""
        return cls(make_policy(candidate.policy, candidate.parameters))

    async def decide(self, observation: Observation) -> Closed:
        """The policy's decision; whatever the policy raises passes through."""
        decision = self._policy.decide(observation)
        if not isinstance(decision, CompanyDecision):
            raise TypeError(
                f"the policy decided a {type(decision).__name__}, not a CompanyDecision"
            )
        return Closed(CompanyWindowStatus.SEALED, decision)


def ceo_of(candidate: Candidate) -> Ceo:
    """The CEO that a candidate describes.

    Raises:
        InputError: the candidate cannot sit in a seat of this version, or its policy is not usable.
    """
    if isinstance(candidate, PolicyCandidate):
        return PolicyCeo.of(candidate)
    raise InputError(
        f'Candidate "{candidate.id}" is a {candidate.kind.replace("-", " ")}: '
        "this version has no CEO for it.",
        "Seat candidates that name a policy.",
    )


def seated(manifest: CampaignManifest, lineup: tuple[str, ...]) -> dict[int, Ceo]:
    """The CEOs of a lineup of candidate ids, by seat; errors as `ceo_of`."""
    known = {
        candidate.id: candidate
        for candidate in (*manifest.decisive.candidates, *manifest.decisive.baselines)
    }
    return {seat: ceo_of(known[name]) for seat, name in enumerate(lineup, start=1)}
