"""What the models of a campaign cost, where their routes have prices (providers.md section 3).

Counted from the tokens that the services told. An amount is summed exactly and rounded once, half
to even, to whole cents. It is no bill: what nobody told is beside it, as the most that it may be.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from campaigns.analysis.conduct import Work
from campaigns.analysis.workload import Workload
from campaigns.definition import CampaignDefinition
from manifests.errors import InputError
from orchestrator.store import Spent
from providers.contract import Usage
from providers.pricing import cents, cost
from providers.routes import Prices, Route, parse_route


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one candidate cost, or under None all that have prices, in integer cents.

    `counted_cents` is the workload's counted work and `apart_cents` all other work, late replies
    included. `uncertain_at_most_cents` is the most that requests cost of which nobody knows.
    """

    candidate: str | None
    counted_cents: int
    apart_cents: int
    uncertain_at_most_cents: int

    def to_json(self) -> dict[str, Any]:
        """The row as plain JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Money:
    """The costs by candidate, and of all; `unpriced` are the models whose routes have no prices."""

    rows: tuple[Cost, ...]
    total: Cost
    unpriced: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The costs as plain JSON."""
        return {
            "candidates": [row.to_json() for row in self.rows],
            "all": self.total.to_json(),
            "unpriced": list(self.unpriced),
        }


def routes_of(definition: CampaignDefinition) -> dict[str, Route]:
    """The routes of a campaign's models, by candidate. Raises InputError."""
    return {
        each.id: parse_route(each.route, f'The route of candidate "{each.id}"')
        for each in definition.all_candidates()
        if each.route is not None
    }


def check_own_cap(definition: CampaignDefinition) -> None:
    """Raise InputError when a campaign's file has a cap that cannot hold, as `check_cap`."""
    if definition.limits.spending_cap_cents is not None:
        check_cap(definition.name, routes_of(definition))


def check_cap(name: str, routes: Mapping[str, Route]) -> None:
    """Raise InputError when a cap for a whole campaign would not see all that is paid for."""
    unseen = [
        candidate
        for candidate, route in routes.items()
        if route.prices is None and route.credentials != "no key"
    ]
    if unseen:
        raise InputError(
            f"A spending cap of campaign {name} cannot hold: these routes have no prices: "
            f"{', '.join(unseen)}.",
            "Give every route that asks for a key its prices in the campaign file.",
        )


def money(
    prices: Mapping[str, Prices | None], workload: Sequence[Workload], spent: Iterable[Spent]
) -> Money | None:
    """What the work of these candidates cost; None where no route has prices."""
    uncertain = {each.candidate: each.uncertain + each.set_aside for each in spent}
    exact: dict[str, tuple[int, int, int]] = {}
    for row in workload:
        found = None if row.candidate is None else prices.get(row.candidate)
        if row.candidate is not None and found is not None:
            apart = _cost(found, row.apart) + _cost(found, row.late)
            unknown = uncertain.get(row.candidate, 0)
            exact[row.candidate] = (_cost(found, row.counted), apart, unknown)
    if not exact:
        return None
    counted, apart, unknown = (sum(amounts) for amounts in zip(*exact.values(), strict=True))
    return Money(
        tuple(_row(candidate, *amounts) for candidate, amounts in exact.items()),
        _row(None, counted, apart, unknown),
        tuple(name for name in prices if name not in exact),
    )


def _row(candidate: str | None, counted: int, apart: int, uncertain: int) -> Cost:
    return Cost(
        candidate=candidate,
        counted_cents=cents(counted),
        apart_cents=cents(apart),
        uncertain_at_most_cents=cents(uncertain),
    )


def _cost(prices: Prices, work: Work) -> int:
    usage = Usage(
        work.input_tokens,
        work.cached_input_tokens,
        work.output_tokens,
        work.reasoning_tokens,
        work.cache_written_tokens,
    )
    return cost(prices, usage)
