"""What a campaign spent: the ledger of the catalogue against the journals of the runs.

A request is journaled before it is sent, and settled after its end is journaled. So the ledger
never has more than the journals; it has less only for requests for which money is still set aside,
or, while a campaign is being carried out, that have no end yet. Besides, every cost that a run
keeps beside its journal has to be what the journal and the prices of the manifest make it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from manifests.model import CampaignManifest
from orchestrator.bound import bound_plan
from orchestrator.money import routes_of
from orchestrator.session.events import Answered, Asked, Event, Failed
from orchestrator.store import Asking, AttemptKey, RequestCost, Spent, Store
from providers import pricing
from providers.contract import Fault, Reply
from providers.routes import Prices


@dataclass(slots=True)
class _Sum:
    """What the journals say of one candidate's route, in micro-dollars: `open_` is the most that
    requests cost without an end in their journals, which may still be under way.
    """

    known: int = 0
    uncertain: int = 0
    open_: int = 0


@dataclass(slots=True)
class SpendingAudit:
    """The spending of one campaign; made before its runs are looked at, and ended after it."""

    prices: Mapping[str, Prices | None]
    before: Sequence[Spent]
    at_rest: bool
    sums: dict[str, _Sum] = field(default_factory=dict)
    costs: dict[Asking, tuple[str, RequestCost, bool]] = field(default_factory=dict)

    @classmethod
    def begin(cls, store: Store, manifest: CampaignManifest) -> "SpendingAudit":
        """The ledger as it stands before anything else is read."""
        name = manifest.provenance.campaign
        routes = routes_of(bound_plan(manifest).definition)
        prices = {candidate: route.prices for candidate, route in routes.items()}
        at_rest = store.catalogue.campaign(name).lease.expires_in_seconds <= 0
        return cls(prices, store.controls.settled(name), at_rest)

    def attempt_faults(
        self,
        place: str,
        run_id: str,
        key: AttemptKey,
        candidate: str,
        events: Sequence[Event],
        costs: Mapping[int, RequestCost],
    ) -> Iterator[str]:
        """Where the costs that are kept of an attempt's requests are not those of its journal."""
        prices = self.prices.get(candidate)
        ends = {each.ordinal: each for each in events if isinstance(each, Answered | Failed)}
        asked = {each.ordinal: each for each in events if isinstance(each, Asked)}
        last = events[-1]
        for ordinal in sorted(costs.keys() | (asked.keys() if prices is not None else set())):
            found, intent = costs.get(ordinal), asked.get(ordinal)
            of = f"{place} has request {ordinal}"
            if intent is None or prices is None:
                yield f"{of} as one that costs, which its journal does not"
            elif found is None:
                yield f"{of}, of which no cost is kept"
            else:
                end = ends.get(ordinal)
                if found.cost != _cost(prices, end):
                    yield f"{of}, whose cost is not what its journal makes it"
                if found.at_most < pricing.most(prices, 0, intent.max_output_tokens):
                    yield f"{of}, which may cost more than what was set aside for it"
                self.costs[Asking(run_id, *key, ordinal, found.epoch)] = (
                    candidate,
                    found,
                    intent is last,
                )

    def ledger_faults(self, store: Store, campaign: str) -> Iterator[str]:
        """Where the ledger does not say what the journals say; called when all are read."""
        # In this order: what is settled in between is in the ledger that is read after it.
        aside = set(store.controls.reservations(campaign))
        after = {each.candidate: each for each in store.controls.settled(campaign)}
        before = {each.candidate: each for each in self.before}
        journaled = self._summed(set())
        settled = self._summed(aside)
        at_rest = self.at_rest and list(after.values()) == list(self.before)
        for candidate in sorted({*before, *after, *journaled}):
            most = journaled.get(candidate, _Sum())
            least = settled.get(candidate, _Sum())
            first, last = before.get(candidate, _Sum()), after.get(candidate, _Sum())
            if first.known > most.known or last.known < least.known:
                yield _unequal(candidate, "known", last.known, most.known)
            uncertain = most.uncertain + most.open_
            surely = least.uncertain + (least.open_ if at_rest else 0)
            if first.uncertain > uncertain or last.uncertain < surely:
                yield _unequal(candidate, "at most, where nobody knows", last.uncertain, uncertain)

    def _summed(self, without: set[Asking]) -> dict[str, _Sum]:
        sums: dict[str, _Sum] = {}
        for asking, (candidate, found, is_open) in self.costs.items():
            if asking in without:
                continue
            of = sums.setdefault(candidate, _Sum())
            if found.cost is not None:
                of.known += found.cost
            elif is_open:
                of.open_ += found.at_most
            else:
                of.uncertain += found.at_most
        return sums


def _cost(prices: Prices, end: Answered | Failed | None) -> int | None:
    """What a request did cost by its journal; None when nobody knows."""
    match end:
        case Answered(reply=Reply(usage=usage)) if usage is not None:
            return pricing.cost(prices, usage)
        case Failed(fault=Fault(maybe_billed=False)):
            return 0
    return None


def _unequal(candidate: str, what: str, ledger: int, journaled: int) -> str:
    return (
        f"its ledger has ${ledger / 1_000_000:,.6f} ({what}) for the route of {candidate}, and its "
        f"journals ${journaled / 1_000_000:,.6f}"
    )
