"""What the rows of a window need from earlier ones.

Observations come one a window. Most rows follow from one observation alone; a tender's award does
not repeat its terms, a completion does not repeat its project, and the first days all publish the
same signal. A chronicle carries just that from one boundary to the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from engine.observation import Observation, OwnInnovation
from engine.records import ActionReceipt, CompanyDay, PublicDay, PublishedSignal


@dataclass(frozen=True, slots=True)
class TenderTerms:
    """The public terms of a tender that its award does not repeat."""

    opened_day: int
    minimum_quality: float
    reservation_price_cents: int


@dataclass(frozen=True, slots=True)
class Elapsed:
    """One boundary and the window that led to it, with what its rows need from earlier windows.

    ``receipts`` are those of the window's own decision. ``tender_terms`` and ``projects`` go by
    their identifiers and cover all that closed or completed in the window. ``published`` has the
    signals that were not public before, each with the day that published it.
    """

    observation: Observation
    receipts: tuple[ActionReceipt, ...]
    tender_terms: Mapping[str, TenderTerms]
    projects: Mapping[str, OwnInnovation]
    published: tuple[tuple[int, PublishedSignal], ...]

    @property
    def company_days(self) -> Iterator[tuple[int, CompanyDay]]:
        """The company's own records of the window, with their days."""
        return enumerate(self.observation.elapsed, self._first_day)

    @property
    def public_days(self) -> Iterator[tuple[int, PublicDay]]:
        """The public records of the window, with their days."""
        return enumerate(self.observation.public_elapsed, self._first_day)

    @property
    def _first_day(self) -> int:
        return self.observation.day - len(self.observation.elapsed) + 1


class Chronicle:
    """Follows one company from boundary to boundary, beginning at day 0."""

    def __init__(self) -> None:
        self._tenders: dict[str, TenderTerms] = {}
        self._projects: dict[str, OwnInnovation] = {}
        self._last_sample_day = -1
        self.windows = 0
        """How many boundaries have been followed; the next one has this world version."""

    def follow(self, observation: Observation, receipts: Sequence[ActionReceipt]) -> Elapsed:
        """Take the next boundary, with the receipts of the window that led to it.

        Raises ValueError when it is not the next one.
        """
        if observation.world_version != self.windows:
            raise ValueError(
                f"{observation.company_id}: the next boundary has world version {self.windows}, "
                f"got {observation.world_version}"
            )
        opened = {
            notice.tender_id: TenderTerms(
                notice.opened_day, notice.minimum_quality, notice.reservation_price_cents
            )
            for public in observation.public_elapsed
            for notice in public.opened
        }
        placed = {
            receipt.subject: _placed(observation, receipt)
            for receipt in receipts
            if receipt.kind == "innovation_project"
        }
        elapsed = Elapsed(
            observation,
            tuple(receipts),
            self._tenders | opened,
            placed | self._projects,
            self._published(observation),
        )
        self._tenders = {
            tender.tender_id: TenderTerms(
                tender.opened_day, tender.minimum_quality, tender.reservation_price_cents
            )
            for tender in observation.tenders
        }
        self._projects = {
            project.project_id: project for project in observation.innovation_projects
        }
        self.windows += 1
        return elapsed

    def _published(self, observation: Observation) -> tuple[tuple[int, PublishedSignal], ...]:
        first_day = observation.day - len(observation.public_elapsed) + 1
        published = [
            (number, public.signal)
            for number, public in enumerate(observation.public_elapsed, first_day)
        ] or [(observation.day, observation.signal)]
        fresh = []
        for number, signal in published:
            if signal.sample_day > self._last_sample_day:
                self._last_sample_day = signal.sample_day
                fresh.append((number, signal))
        return tuple(fresh)


def _placed(observation: Observation, receipt: ActionReceipt) -> OwnInnovation:
    """A project as its receipt shows it: one that completes within its first window is in no
    observation. Its tier is the one that costs what was charged.
    """
    terms = next(
        tier for tier in observation.catalog.innovation if tier.cost_cents == receipt.charge_cents
    )
    return OwnInnovation(
        receipt.subject,
        terms.tier,
        receipt.decided_day,
        receipt.decided_day + terms.median_days,
        terms.expected_gain_cents,
    )
