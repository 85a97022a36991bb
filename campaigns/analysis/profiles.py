"""Accounting profiles: what companies that gained and companies that lost looked like."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from campaigns.analysis.exact import mean
from campaigns.records import CompanyOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The means of the outcomes with one sign of Score: exact cents and units. `candidate` is None
    for all of them together; marketing is None where daily accounts are not there.
    """

    candidate: str | None
    is_gain: bool
    outcomes: int
    score: Fraction
    revenue: Fraction
    net_outlays: Fraction
    fulfilled_units: Fraction
    marketing: Fraction | None


def profiles(
    outcomes: Sequence[CompanyOutcome], marketing: Mapping[tuple[str, int], int]
) -> list[Profile]:
    """Profiles of all outcomes, then by candidate; a Score of zero is no gain.

    `marketing` holds a company's marketing outlays in cents by run and seat.
    """
    candidates = dict.fromkeys(outcome.candidate for outcome in outcomes)
    groups = [(None, outcomes)] + [
        (name, [outcome for outcome in outcomes if outcome.candidate == name])
        for name in candidates
    ]
    return [
        profile
        for candidate, own in groups
        for is_gain in (True, False)
        if (
            profile := _profile(
                candidate,
                is_gain,
                [outcome for outcome in own if (outcome.score_cents > 0) == is_gain],
                marketing,
            )
        )
        is not None
    ]


def _profile(
    candidate: str | None,
    is_gain: bool,
    own: Sequence[CompanyOutcome],
    marketing: Mapping[tuple[str, int], int],
) -> Profile | None:
    if not own:
        return None
    places = [(outcome.run_id, outcome.seat) for outcome in own]
    return Profile(
        candidate=candidate,
        is_gain=is_gain,
        outcomes=len(own),
        score=_mean(outcome.score_cents for outcome in own),
        revenue=_mean(outcome.revenue_cents for outcome in own),
        net_outlays=_mean(outcome.net_outlays_cents for outcome in own),
        fulfilled_units=_mean(outcome.fulfilled_units for outcome in own),
        marketing=_mean(marketing[place] for place in places)
        if all(place in marketing for place in places)
        else None,
    )


def _mean(values: Iterable[int]) -> Fraction:
    found = mean(list(values))
    assert found is not None
    return found
