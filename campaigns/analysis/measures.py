"""What is measured of a company's outcome, in integers; contrasts and means take any of them."""

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Final, TypeAlias

from campaigns.records import CompanyOutcome

Measure: TypeAlias = Callable[[CompanyOutcome], int]

SCORE: Final[Measure] = attrgetter("score_cents")


def cash_only(outcome: CompanyOutcome) -> int:
    """The Score without terminal salvage, in cents (evaluation.md section 2)."""
    return outcome.score_cents - outcome.salvage_cents


ACCOUNTS: Final[Mapping[str, Measure]] = {
    "revenue_cents": attrgetter("revenue_cents"),
    "net_outlays_cents": attrgetter("net_outlays_cents"),
    "salvage_cents": attrgetter("salvage_cents"),
    "score_cents": SCORE,
    "consumer_orders": attrgetter("consumer_orders"),
}
"""The measures of the accounting decomposition, in its order. The Score is revenue less net outlays
plus salvage less the initial stock value, which is the same for all, so that the differences of the
first three make up that of the Score.
"""
