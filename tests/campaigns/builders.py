"""Small campaigns and their outcomes, as tests want them."""

from collections.abc import Callable, Sequence
from typing import Any

from campaigns.definition import CampaignDefinition, parse_definition
from campaigns.plan import PlannedRun
from campaigns.records import CompanyOutcome

Scores = Callable[[PlannedRun], Sequence[int]]


def campaign_data(panel: Sequence[str] = ("ada", "bob", "cy"), **changes: Any) -> dict[str, Any]:
    """A valid campaign file's content: the panel on seats 1..n, `rule` as its baseline."""
    candidates = [
        {"id": name, "seat": seat, "policy": "growth"} for seat, name in enumerate(panel, start=1)
    ]
    data: dict[str, Any] = {
        "name": "trial",
        "seeds": [5, 3],
        "baseline": "rule",
        "candidates": [*candidates, {"id": "rule", "policy": "rule"}],
    }
    return data | changes


def campaign(panel: Sequence[str] = ("ada", "bob", "cy"), **changes: Any) -> CampaignDefinition:
    """The definition of `campaign_data`."""
    return parse_definition(campaign_data(panel, **changes), "trial.toml")


def outcome(run: PlannedRun, seat: int, score: int, **changes: Any) -> CompanyOutcome:
    """One company's outcome whose books agree: all of the Score is revenue."""
    fields: dict[str, Any] = {
        "campaign": "trial",
        "run_id": run.run_id,
        "group": run.group,
        "repeat": run.repeat,
        "seed": run.seed,
        "lineup_label": run.lineup_label,
        "replaced": run.replaced,
        "baseline": run.baseline,
        "stage": run.stage,
        "seat": seat,
        "candidate": run.lineup[seat - 1],
        "score_cents": score,
        "initial_cash_cents": 1_000,
        "initial_stock_cents": 0,
        "revenue_cents": score,
        "net_outlays_cents": 0,
        "terminal_cash_cents": 1_000 + score,
        "salvage_cents": 0,
        "consumer_orders": 0,
        "fulfilled_units": 0,
    }
    return CompanyOutcome(**(fields | changes))


def outcomes(runs: Sequence[PlannedRun], scores: Scores) -> list[CompanyOutcome]:
    """The outcomes of whole runs; `scores` gives those of one run by seat."""
    return [
        outcome(run, seat, score) for run in runs for seat, score in enumerate(scores(run), start=1)
    ]
