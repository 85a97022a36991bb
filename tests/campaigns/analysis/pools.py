"""Three small campaigns whose pool the tests work out by hand: `main` on seed 5, `again` with two
repeats of it, and `idle` with another baseline. The panel is ada and bob.
"""

from collections.abc import Mapping

from campaigns.analysis.evidence import MEASURED, Evidence
from campaigns.definition import parse_definition
from campaigns.plan import CampaignPlan, PlannedRun, plan
from campaigns.records import CompanyOutcome
from tests.campaigns.builders import campaign_data, outcomes

# (repeat, left out) -> Scores by seat.
MAIN = {(1, None): (100, 50), (1, "ada"): (30, 80), (1, "bob"): (120, -10)}
AGAIN = {
    (1, None): (90, 55),
    (1, "ada"): (20, 80),
    (1, "bob"): (100, 0),
    (2, None): (110, 45),
    (2, "ada"): (10, 80),
    (2, "bob"): (120, 5),
}
IDLE: dict[tuple[int, str | None], tuple[int, ...]] = {(1, "ada"): (0, 60), (1, "bob"): (130, 0)}


def evidence(
    planned: CampaignPlan, found: list[CompanyOutcome], measured: frozenset[str] = MEASURED
) -> Evidence:
    """Evidence with outcomes alone."""
    return Evidence(
        campaign=planned.definition.name,
        place="here",
        manifest=None,
        planned=planned.runs,
        runs=(),
        outcomes=tuple(found),
        sums=None,
        cash=None,
        trajectories=(),
        measured=measured,
    )


def main() -> Evidence:
    return _played("main", MAIN)


def again() -> Evidence:
    return _played("again", AGAIN, repeats=2)


def idle() -> Evidence:
    panel = campaign_data(("ada", "bob"))["candidates"][:2]
    return _played(
        "idle",
        IDLE,
        candidates=[*panel, {"id": "idle", "policy": "no-action"}],
        baseline="idle",
        lineups=["replacements"],
    )


def _played(
    name: str, scores: Mapping[tuple[int, str | None], tuple[int, ...]], **changes: object
) -> Evidence:
    data = campaign_data(("ada", "bob"), name=name, seeds=[5], **changes)
    planned = plan(parse_definition(data, "trial.toml"))

    def of_run(run: PlannedRun) -> tuple[int, ...]:
        return scores[run.repeat, run.replaced]

    return evidence(planned, outcomes(planned.runs, of_run))
