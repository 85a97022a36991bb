"""What a campaign may take before it is launched: replies, tokens and money, as ranges.

What one company-window takes comes from past runs of the same model in a store: from the company
that took least of it on average to the one that took most. For a model without a past it is the
guess below. Either is multiplied by the windows that the candidate decides in the plan.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any, Final

from campaigns.analysis.conduct import Conduct, Work, conduct
from campaigns.definition import UNLIMITED, Allowances
from manifests.printable import counted
from orchestrator.money import routes_of
from orchestrator.overview import Overview
from orchestrator.records import StoreSource
from orchestrator.store import Store
from providers.contract import Usage
from providers.pricing import cents, cost
from providers.routes import Prices, Route

_FIELDS: Final = ("replies", "input_tokens", "cached_input_tokens", "output_tokens")


@dataclass(frozen=True, slots=True)
class Take:
    """What some company-windows take; cached tokens are a part of the input."""

    replies: int
    input_tokens: int
    cached_input_tokens: int
    output_tokens: int

    def __add__(self, other: "Take") -> "Take":
        return Take(*(getattr(self, name) + getattr(other, name) for name in _FIELDS))


# Of one company-window. The first request has about 15,000 tokens of prompt, tools and briefing;
# every reply adds itself and its results: 2,000 tokens where it is frugal, 6,000 where it is not.
# Low: 5 replies of 800 tokens, nine tenths of what is repeated found in the cache. High: 20 replies
# of 4,000, six tenths.
FRUGAL: Final = Take(5, 95_000, 70_000, 4_000)
LAVISH: Final = Take(20, 1_440_000, 850_000, 80_000)

GUESS: Final = "a guess"


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The range of one candidate, or under None of all.

    `windows` are the company-windows that it decides at most. `based_on` says where the range comes
    from. Amounts are integer cents, None where a route has no prices.
    """

    candidate: str | None
    windows: int
    based_on: str
    low: Take
    high: Take
    low_cents: int | None
    high_cents: int | None

    def to_json(self) -> dict[str, Any]:
        """The row as plain JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Forecast:
    """The estimates by candidate and of all. Where some routes have no prices, all have no amount
    either: what the others cost would look like what all do.
    """

    rows: tuple[Estimate, ...]
    total: Estimate

    @property
    def unpriced(self) -> list[str]:
        """The candidates whose routes have no prices."""
        return [row.candidate for row in self.rows if row.candidate and row.low_cents is None]

    def to_json(self) -> dict[str, Any]:
        """The estimates as plain JSON."""
        return {
            "candidates": [row.to_json() for row in self.rows],
            "all": self.total.to_json(),
            "unpriced": self.unpriced,
        }


def estimate(plan: Overview, past: Mapping[str, list[Conduct]]) -> Forecast:
    """The forecast of a plan; `past` holds trajectories by model id, as `past_of` reads them."""
    seats: dict[str, int] = {}
    for run in plan.runs:
        for name in run.lineup:
            seats[name] = seats.get(name, 0) + 1
    definition = plan.planned.definition
    routes = routes_of(definition)
    rows = tuple(
        _row(
            each.id,
            seats.get(each.id, 0) * plan.windows_per_run,
            routes[each.id],
            past.get(routes[each.id].model, []),
            definition.allowances_of(each),
        )
        for each in definition.all_candidates()
        if each.id in routes
    )
    return Forecast(rows, _total(rows))


def past_of(store: Store) -> dict[str, list[Conduct]]:
    """The trajectories of a store that have counted windows, by the model that decided them."""
    found: dict[str, list[Conduct]] = {}
    for row in store.catalogue.campaigns():
        source = StoreSource(store, row.name)
        models = {each.id: _model(each) for each in _candidates(source)}
        for run in source.runs():
            for each in conduct(run):
                model = models.get(each.candidate)
                if model is not None and each.counted.windows:
                    found.setdefault(model, []).append(each)
    return found


def _candidates(source: StoreSource) -> Iterable[Any]:
    decisive = source.manifest.decisive
    return (*decisive.candidates, *decisive.baselines)


def _model(candidate: Any) -> str | None:
    route = getattr(candidate, "route", None)
    return None if route is None else str(route["model"])


def _row(
    name: str, windows: int, route: Route, past: list[Conduct], allowed: Allowances
) -> Estimate:
    low, high = (_scaled(_allowed(take, allowed), windows) for take in (FRUGAL, LAVISH))
    based_on = GUESS
    if past:
        works = [each.counted for each in past]
        low, high = (_extreme(works, windows, pick) for pick in (min, max))
        based_on = (
            f"{counted(len(past), 'past run')}, "
            f"{counted(sum(each.windows for each in works), 'window')}"
        )
    return Estimate(
        candidate=name,
        windows=windows,
        based_on=based_on,
        low=low,
        high=high,
        low_cents=_cents(route.prices, low),
        high_cents=_cents(route.prices, high),
    )


def _extreme(works: list[Work], windows: int, pick: Any) -> Take:
    """The least or the most of each figure that a past company took on average, for so many
    windows.
    """
    means = [
        round(windows * pick(Fraction(getattr(each, name), each.windows) for each in works))
        for name in _FIELDS
    ]
    return Take(*means)


def _allowed(take: Take, allowed: Allowances) -> Take:
    """A guess within the allowance of a window: fewer replies take less in proportion."""
    share = min(Fraction(1), Fraction(allowed.replies, take.replies))
    less = Take(*(round(share * getattr(take, name)) for name in _FIELDS))
    if allowed.output_tokens == UNLIMITED:
        return less
    return replace(less, output_tokens=min(less.output_tokens, int(allowed.output_tokens)))


def _scaled(take: Take, windows: int) -> Take:
    return Take(*(windows * getattr(take, name) for name in _FIELDS))


def _cents(prices: Prices | None, take: Take) -> int | None:
    if prices is None:
        return None
    cached = min(take.cached_input_tokens, take.input_tokens)
    return cents(cost(prices, Usage(take.input_tokens, cached, take.output_tokens, 0)))


def _total(rows: tuple[Estimate, ...]) -> Estimate:
    nothing = Take(0, 0, 0, 0)
    low = [row.low_cents for row in rows if row.low_cents is not None]
    high = [row.high_cents for row in rows if row.high_cents is not None]
    priced = bool(rows) and len(low) == len(rows)
    return Estimate(
        candidate=None,
        windows=sum(row.windows for row in rows),
        based_on="",
        low=sum((row.low for row in rows), start=nothing),
        high=sum((row.high for row in rows), start=nothing),
        low_cents=sum(low) if priced else None,
        high_cents=sum(high) if priced else None,
    )
