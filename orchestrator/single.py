"""One world played in this process, without a store: the market at a first look.

Nothing is recorded and nothing can be resumed. The same scenario, seed and panel give the same
days, bit for bit, as a run of a campaign with them.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from campaigns.definition import Candidate, load_definition
from engine.boundary import Boundary
from engine.decision import CompanyDecision, company_name, validate_decision
from engine.policies.base import Policy, make_policy
from engine.records import DayRecord
from engine.scenario import Scenario
from engine.score import salvage_cents, score_cents
from engine.settle import initial_state, settle_window
from engine.state import WorldState, state_digest
from engine.streams import Streams
from manifests.canonical import DIGEST_PREFIX, LARGEST_INTEGER
from manifests.errors import InputError
from orchestrator.causes import cause_of
from orchestrator.ceos import decided
from orchestrator.markets import PlayedMarket
from orchestrator.outcomes import Totals

DEFAULT_PANEL: Final = "rehearsal"
"""The library campaign whose panel plays when nobody else is chosen."""

# A slip of the finger should not start a world that takes hours.
MOST_FIRMS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Ceo:
    """Who decides for a company: a policy under the name by which it is registered."""

    name: str
    policy: Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class CompanyResult:
    """How one company ended; `exit_day` is the day of its bankruptcy or None."""

    seat: int
    ceo: str
    identity: str
    score_cents: int
    cash_cents: int
    salvage_cents: int
    revenue_cents: int
    net_outlays_cents: int
    consumer_orders: int
    fulfilled_units: int
    tier: int
    exit_day: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketTotals:
    """Sums over all days and companies.

    `opportunities` are the purchases that consumers considered, `consumer_orders` the units that
    they ordered, `fulfilled_units` the consumer and enterprise units delivered.
    """

    opportunities: int
    consumer_orders: int
    fulfilled_units: int
    revenue_cents: int
    score_cents: int
    tenders_closed: int
    tenders_awarded: int
    bankruptcies: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldResult:
    """A finished world: companies by seat, market totals, and digests.

    `days_digest` is SHA-256 over the daily state digests from day 1 on, each with a newline after
    it; equal worlds have equal ones.
    """

    market: PlayedMarket
    seed: int
    windows: int
    companies: tuple[CompanyResult, ...]
    totals: MarketTotals
    final_state_digest: str
    days_digest: str

    def ranked(self) -> tuple[CompanyResult, ...]:
        """The companies, highest Score first, ties by seat."""
        return tuple(
            sorted(self.companies, key=lambda company: (-company.score_cents, company.seat))
        )

    def to_json(self) -> dict[str, Any]:
        """The result as plain JSON, keys as the fields."""
        return asdict(self)


def seated_panel(firms: int, choices: Sequence[str]) -> list[Ceo]:
    """Who plays, seat 1 first: the default characters, and the policies that were chosen instead.

    A choice reads `3=rule`. Beyond the last character's seat they come again from the first.

    Raises:
        InputError: no firms, a choice that cannot be read, a seat that does not exist or is given
            twice, an unknown policy.
    """
    if not 1 <= firms <= MOST_FIRMS:
        raise InputError(
            f"--firms: a world cannot have {firms} companies.", f"Give 1 to {MOST_FIRMS}."
        )
    chosen: dict[int, Ceo] = {}
    for choice in choices:
        seat, name = _choice(choice, firms)
        if seat in chosen:
            raise InputError(
                f"--ceo {choice}: seat {seat} is already taken by {chosen[seat].name}.",
                "Give every seat at most once.",
            )
        try:
            chosen[seat] = Ceo(name, make_policy(name, {}))
        except InputError as error:
            raise InputError(f"--ceo {choice}: {error.message}", error.remedy) from error
    panel = load_definition(DEFAULT_PANEL).panel()
    return [
        chosen.get(seat) or _character(panel[(seat - 1) % len(panel)])
        for seat in range(1, firms + 1)
    ]


def play(
    scenario: Scenario, seed: int, panel: Sequence[Ceo], settled: Callable[[WorldState], None]
) -> WorldResult:
    """Play a world to its end; `settled` is told the state after every window.

    Raises:
        InputError: a seed out of range, or a CEO that does not fit the scenario or decides what the
            world does not allow.
    """
    if not 0 <= seed <= LARGEST_INTEGER:
        raise InputError(f"--seed: {seed} is no seed.", f"Give 0 to {LARGEST_INTEGER}.")
    streams = Streams(seed)
    state = initial_state(scenario, streams, len(panel))
    tally = _Tally(len(panel))
    elapsed: list[DayRecord] = []
    while state.day < scenario.horizon_days:
        boundary = Boundary(scenario, state, elapsed)
        decisions = {
            seat: _decision(ceo, scenario, state, boundary, seat)
            for seat, ceo in enumerate(panel, start=1)
            if state.firms[seat - 1].active
        }
        settlement = settle_window(scenario, streams, state, decisions)
        state, elapsed = settlement.state, settlement.days
        tally.add(elapsed)
        settled(state)
    return _result(scenario, seed, panel, state, tally)


def _decision(
    ceo: Ceo, scenario: Scenario, state: WorldState, boundary: Boundary, seat: int
) -> CompanyDecision:
    try:
        decision = decided(ceo.policy, boundary.observe(seat))
        validate_decision(scenario, state, seat, decision)
    except (Exception, SystemExit) as error:
        raise InputError(
            f"{company_name(seat)} ({ceo.name}), day {state.day}: {cause_of(error)}",
            "Repair its policy, or put another CEO into this seat.",
        ) from error
    return decision


def _choice(choice: str, firms: int) -> tuple[int, str]:
    seat, equals, name = choice.partition("=")
    if not equals or not name or not re.fullmatch(r"[0-9]{1,9}", seat):
        raise InputError(
            f"--ceo {choice}: this is no choice of a CEO.",
            "Write a seat and a policy, such as --ceo 3=rule; `ceo-arena policies` names them all.",
        )
    if not 1 <= int(seat) <= firms:
        raise InputError(
            f"--ceo {choice}: there is no seat {seat} among {firms} companies.",
            f"Give a seat from 1 to {firms}, or more --firms.",
        )
    return int(seat), name


def _character(candidate: Candidate) -> Ceo:
    name = candidate.policy or ""
    return Ceo(name, make_policy(name, candidate.parameters))


class _Tally:
    """What a world adds up day by day."""

    def __init__(self, companies: int) -> None:
        self.totals = Totals(companies)
        self.opportunities = 0
        self.tenders_closed = 0
        self.tenders_awarded = 0
        self._digests = hashlib.sha256()

    def add(self, days: Sequence[DayRecord]) -> None:
        self.totals.add(days)
        for day in days:
            self.opportunities += sum(day.market.opportunities)
            self.tenders_closed += len(day.public.awards)
            self.tenders_awarded += sum(
                award.winner_seat is not None for award in day.public.awards
            )
            self._digests.update(f"{day.state_digest}\n".encode())

    @property
    def days_digest(self) -> str:
        return DIGEST_PREFIX + self._digests.hexdigest()


def _result(
    scenario: Scenario, seed: int, panel: Sequence[Ceo], state: WorldState, tally: _Tally
) -> WorldResult:
    companies = tuple(
        CompanyResult(
            seat=seat,
            ceo=ceo.name,
            identity=ceo.policy.identity,
            score_cents=score_cents(scenario, firm),
            cash_cents=firm.cash_cents,
            salvage_cents=salvage_cents(scenario, firm),
            revenue_cents=sums.revenue_cents,
            net_outlays_cents=sums.net_outlays_cents,
            consumer_orders=sums.consumer_orders,
            fulfilled_units=sums.fulfilled_units,
            tier=firm.tier,
            exit_day=firm.exit_day,
        )
        for seat, (ceo, firm, sums) in enumerate(
            zip(panel, state.firms, tally.totals.companies, strict=True), start=1
        )
    )
    totals = MarketTotals(
        opportunities=tally.opportunities,
        consumer_orders=sum(company.consumer_orders for company in companies),
        fulfilled_units=sum(company.fulfilled_units for company in companies),
        revenue_cents=sum(company.revenue_cents for company in companies),
        score_cents=sum(company.score_cents for company in companies),
        tenders_closed=tally.tenders_closed,
        tenders_awarded=tally.tenders_awarded,
        bankruptcies=sum(company.exit_day is not None for company in companies),
    )
    return WorldResult(
        market=PlayedMarket.of(scenario),
        seed=seed,
        windows=state.version,
        companies=companies,
        totals=totals,
        final_state_digest=state_digest(state),
        days_digest=tally.days_digest,
    )
