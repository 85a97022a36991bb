"""The rows of a campaign's spending: what is set aside, what is spent, and what the runs say of it.

Amounts are integer micro-dollars. Every function works inside the caller's transaction.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Table, case, delete, func, insert, select, update

from campaigns.plan import PlannedRun
from orchestrator.store.attempt_keys import AttemptKey
from orchestrator.store.connection import DatabaseNow
from orchestrator.store.schema import request_costs, spending, spending_reservations

HELD_SECONDS: Final = 60.0
"""How long money that is set aside counts as under way when nobody renews it."""


class Asking(NamedTuple):
    """One request of a run: `request` is its number in the attempt, `epoch` that of who asks."""

    run_id: str
    version: int
    seat: int
    attempt: int
    request: int
    epoch: int

    @property
    def key(self) -> AttemptKey:
        """The attempt of which it is a request."""
        return AttemptKey(self.version, self.seat, self.attempt)


@dataclass(frozen=True, slots=True)
class Spent:
    """What a candidate's route has cost, in micro-dollars.

    `uncertain` is the most that requests cost whose price nobody told: those that were possibly
    billed, replies without usage, and requests whose process is lost. `set_aside` is the most that
    requests under way may cost.
    """

    candidate: str
    known: int
    uncertain: int
    set_aside: int

    @property
    def settled(self) -> int:
        """What no longer comes free."""
        return self.known + self.uncertain


def read_spent(connection: Connection, campaign: str) -> list[Spent]:
    """What the campaign's routes have cost so far, by candidate."""
    aside = spending_reservations.c
    lives = aside.held_until > DatabaseNow()
    query = (
        select(
            aside.candidate,
            func.sum(case((lives, aside.microdollars), else_=0)).label("under_way"),
            func.sum(case((lives, 0), else_=aside.microdollars)).label("lost"),
        )
        .where(aside.campaign == campaign, aside.is_granted)
        .group_by(aside.candidate)
    )
    found = {each.candidate: each for each in read_settled(connection, campaign)}
    for row in connection.execute(query):
        of = found.get(row.candidate, Spent(row.candidate, 0, 0, 0))
        uncertain = of.uncertain + int(row.lost)
        found[row.candidate] = replace(of, uncertain=uncertain, set_aside=int(row.under_way))
    return [found[candidate] for candidate in sorted(found)]


def read_settled(connection: Connection, campaign: str) -> list[Spent]:
    """What the campaign's requests have cost that are settled, by candidate."""
    query = select(spending).where(spending.c.campaign == campaign).order_by(spending.c.candidate)
    return [
        Spent(row.candidate, row.known_microdollars, row.uncertain_microdollars, 0)
        for row in connection.execute(query)
    ]


def reserve(
    connection: Connection,
    campaign: str,
    candidate: str,
    asking: Asking,
    microdollars: int,
    *,
    is_granted: bool,
) -> None:
    """Set money aside for a request, or note that it waits for some."""
    connection.execute(delete(spending_reservations).where(*named(campaign, asking)))
    connection.execute(
        insert(spending_reservations).values(
            campaign=campaign,
            **asking._asdict(),
            candidate=candidate,
            microdollars=microdollars,
            is_granted=is_granted,
            held_until=held_until(),
        )
    )


def held_until() -> Any:
    """Until when a reservation counts as under way from now on."""
    return DatabaseNow() + round(HELD_SECONDS * 1000)


def named(campaign: str, asking: Asking) -> tuple[Any, ...]:
    """The reservation of a request."""
    table = spending_reservations.c
    parts = asking._asdict().items()
    return table.campaign == campaign, *(table[name] == part for name, part in parts)


def take_reservation(connection: Connection, campaign: str, asking: Asking) -> Any:
    """What is set aside for a request, which is removed; None when there is nothing."""
    table = spending_reservations
    # In one statement: of two who settle it, one finds it.
    taken = delete(table).where(*named(campaign, asking)).returning(*table.c)
    found = connection.execute(taken).one_or_none()
    return found if found is not None and found.is_granted else None


def spend(
    connection: Connection, campaign: str, candidate: str, *, known: int, uncertain: int
) -> None:
    """Add to what a candidate's route has cost."""
    table = spending
    more = {
        "known_microdollars": table.c.known_microdollars + known,
        "uncertain_microdollars": table.c.uncertain_microdollars + uncertain,
    }
    changed = connection.execute(update(table).where(*_of(table, campaign, candidate)).values(more))
    if changed.rowcount == 0:
        connection.execute(
            insert(table).values(
                campaign=campaign,
                candidate=candidate,
                known_microdollars=known,
                uncertain_microdollars=uncertain,
            )
        )


def spent_by_run(connection: Connection, run: int, planned: PlannedRun) -> list[Spent]:
    """What the requests of a run have cost by its own database, by candidate: whatever has no end
    there counts for the most that it may have cost.
    """
    table = request_costs.c
    query = (
        select(
            table.seat,
            func.sum(func.coalesce(table.microdollars, 0)).label("known"),
            func.sum(
                case((table.microdollars.is_(None), table.at_most_microdollars), else_=0)
            ).label("uncertain"),
        )
        .where(table.run == run)
        .group_by(table.seat)
    )
    return [
        Spent(planned.lineup[row.seat - 1], int(row.known), int(row.uncertain), 0)
        for row in connection.execute(query)
    ]


def restate(connection: Connection, by_runs: Iterable[tuple[str, Spent]]) -> None:
    """Let the catalogue say at least what the runs say: (campaign, what a candidate spent in a
    run). Nothing is under way then.
    """
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for campaign, spent in by_runs:
        known, uncertain = found.get((campaign, spent.candidate), (0, 0))
        found[campaign, spent.candidate] = known + spent.known, uncertain + spent.uncertain
    connection.execute(delete(spending_reservations))
    for (campaign, candidate), (known, uncertain) in found.items():
        there = connection.execute(select(spending).where(*_of(spending, campaign, candidate)))
        row = there.one_or_none()
        less = (0, 0) if row is None else (row.known_microdollars, row.uncertain_microdollars)
        more_known, more_uncertain = max(known - less[0], 0), max(uncertain - less[1], 0)
        spend(connection, campaign, candidate, known=more_known, uncertain=more_uncertain)


def _of(table: Table, campaign: str, candidate: str) -> tuple[Any, ...]:
    return table.c.campaign == campaign, table.c.candidate == candidate
