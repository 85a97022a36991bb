"""The two panels whose contrasts the tests work out by hand."""

from campaigns.plan import CampaignPlan, PlannedRun, plan
from campaigns.records import CompanyOutcome
from tests.campaigns.builders import campaign, outcomes

# Panel ada, bob; the baseline is rule. (seed, left out) -> Scores by seat.
TWO = {
    (5, None): (100, 50),
    (5, "ada"): (30, 80),
    (5, "bob"): (120, -10),
    (3, None): (10, 20),
    (3, "ada"): (40, 5),
    (3, "bob"): (0, 25),
}

# Panel ada, bob, cy, one seed.
THREE = {
    (5, None): (10, 20, 30),
    (5, "ada"): (5, 25, 28),
    (5, "bob"): (14, 18, 31),
    (5, "cy"): (10, 20, 33),
}


def two() -> tuple[CampaignPlan, list[CompanyOutcome]]:
    """Two companies on the seeds 5 and 3, in this order."""
    campaign_plan = plan(campaign(("ada", "bob"), seeds=[5, 3]))
    return campaign_plan, outcomes(campaign_plan.runs, two_scores)


def two_scores(run: PlannedRun) -> tuple[int, ...]:
    """The Scores of `TWO`."""
    return TWO[run.seed, run.replaced]


def three() -> tuple[CampaignPlan, list[CompanyOutcome]]:
    """Three companies on seed 5."""
    campaign_plan = plan(campaign(("ada", "bob", "cy"), seeds=[5]))
    return campaign_plan, outcomes(campaign_plan.runs, lambda run: THREE[run.seed, run.replaced])
