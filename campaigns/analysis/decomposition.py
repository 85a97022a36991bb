"""Where contrasts come from: matched differences in the accounts (evaluation.md section 3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from campaigns.analysis.contrasts import contrasts
from campaigns.analysis.measures import ACCOUNTS
from campaigns.plan import PlannedRun
from campaigns.records import CompanyOutcome


@dataclass(frozen=True, slots=True)
class AccountContrast:
    """The mean difference in one account that an entrant makes for itself, for all rivals and for
    the market; cents, or units of consumer orders. None without a whole seed.
    """

    entrant: str
    account: str
    private: Fraction | None
    others: Fraction | None
    market: Fraction | None


def decomposition(
    runs: Sequence[PlannedRun], outcomes: Sequence[CompanyOutcome]
) -> list[AccountContrast]:
    """All entrants of one group's runs in all accounts of `measures.ACCOUNTS`, by entrant."""
    by_account = {
        account: {found.entrant: found for found in contrasts(runs, outcomes, measure).entrants}
        for account, measure in ACCOUNTS.items()
    }
    return [
        AccountContrast(entrant, account, found.private, found.others, found.market)
        for entrant in by_account["score_cents"]
        for account, of_account in by_account.items()
        for found in (of_account[entrant],)
    ]
