"""What holds a campaign's routes back: pauses until a person acts, spending, and its caps.

Amounts are integer micro-dollars, caps integer cents. What a request may cost is set aside before
it is sent and settled when its answer is known, so that no crash makes money unspent. A seat of a
run has one request at a time: one that finds money set aside by its predecessor takes that for
spent.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, Table, delete, func, insert, select, update

from orchestrator.store.connection import CommitPoint, Database, DatabaseNow, moment, repeated
from orchestrator.store.schema import (
    acts,
    campaign_controls,
    route_pauses,
    spending,
    spending_caps,
    spending_reservations,
)

WHOLE_CAMPAIGN: Final = ""
"""The candidate under which the cap of a whole campaign is kept."""


@dataclass(frozen=True, slots=True)
class RoutePause:
    """A candidate's route that nobody may ask until a person has put right what `reason` names."""

    candidate: str
    cause: str
    reason: str
    paused_at: datetime


@dataclass(frozen=True, slots=True)
class Spent:
    """What a candidate's route has cost, in micro-dollars.

    `uncertain` is the most that requests cost whose price nobody told: those that were possibly
    billed, and replies without usage. `set_aside` is the most that requests under way may cost.
    """

    candidate: str
    known: int
    uncertain: int
    set_aside: int

    @property
    def at_most(self) -> int:
        return self.known + self.uncertain + self.set_aside


class Asking(NamedTuple):
    """One request of a seat of a run; `request` tells it from all others."""

    run_id: str
    seat: int
    request: str


class RouteControls:
    """Pauses, spending and caps of one catalogue's campaigns. Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @repeated
    def pause(self, campaign: str, candidate: str, cause: str, reason: str) -> None:
        """Let nobody ask this route until a person resolves it; the first reason stays."""
        with self._database.write(CommitPoint.PAUSE_ROUTE) as connection:
            if _row(connection, route_pauses, campaign, candidate) is None:
                connection.execute(
                    insert(route_pauses).values(
                        campaign=campaign,
                        candidate=candidate,
                        cause=cause,
                        reason=reason,
                        paused_at=DatabaseNow(),
                    )
                )

    @repeated
    def resolve(self, campaign: str) -> None:
        """A person has put right what paused the campaign's routes."""
        with self._database.write(CommitPoint.RESOLVE_ROUTES) as connection:
            connection.execute(delete(route_pauses).where(route_pauses.c.campaign == campaign))

    @repeated
    def pauses(self, campaign: str) -> list[RoutePause]:
        """The paused routes of a campaign, the first paused first."""
        query = (
            select(route_pauses)
            .where(route_pauses.c.campaign == campaign)
            .order_by(route_pauses.c.paused_at, route_pauses.c.candidate)
        )
        with self._database.read() as connection:
            return [
                RoutePause(row.candidate, row.cause, row.reason, moment(row.paused_at))
                for row in connection.execute(query)
            ]

    @repeated
    def set_cap(self, campaign: str, candidate: str, cents: int, reason: str) -> None:
        """Record that a person sets what a campaign, or one of its routes, may cost."""
        with self._database.write(CommitPoint.SET_CAP) as connection:
            values = {"cents": cents, "changed_at": DatabaseNow()}
            changed = connection.execute(
                update(spending_caps).where(*_of(spending_caps, campaign, candidate)).values(values)
            )
            if changed.rowcount == 0:
                key = {"campaign": campaign, "candidate": candidate}
                connection.execute(insert(spending_caps).values(key | values))
            of = f' of candidate "{candidate}"' if candidate else ""
            connection.execute(
                insert(acts).values(
                    at=DatabaseNow(),
                    campaign=campaign,
                    act=f"cap ${cents / 100:,.2f}",
                    target=f"campaign {campaign}{of}",
                    reason=reason,
                )
            )

    @repeated
    def caps(self, campaign: str) -> dict[str, int]:
        """The caps that were set for a campaign, by candidate, in cents."""
        columns = (spending_caps.c.candidate, spending_caps.c.cents)
        query = select(*columns).where(spending_caps.c.campaign == campaign)
        with self._database.read() as connection:
            return {row.candidate: row.cents for row in connection.execute(query)}

    @repeated
    def spent(self, campaign: str) -> list[Spent]:
        """What the campaign's routes have cost so far, by candidate."""
        with self._database.read() as connection:
            return _spent(connection, campaign)

    @repeated
    def set_aside(
        self,
        campaign: str,
        candidate: str,
        asking: Asking,
        microdollars: int,
        caps: dict[str, int],
    ) -> str | None:
        """Set money aside for one request; None, or why a cap forbids it.

        `caps` are those that hold unless others were set, by candidate, in cents.
        """
        with self._database.write(CommitPoint.SET_ASIDE) as connection:
            # One at a time for a campaign, also where writers do not exclude each other by nature.
            one = select(campaign_controls.c.campaign).where(
                campaign_controls.c.campaign == campaign
            )
            connection.execute(one.with_for_update())
            _take_for_spent(connection, campaign, asking)
            query = select(spending_caps.c.candidate, spending_caps.c.cents)
            found = connection.execute(query.where(spending_caps.c.campaign == campaign))
            present = caps | {row.candidate: row.cents for row in found}
            spent = {each.candidate: each.at_most for each in _spent(connection, campaign)}
            amounts = {WHOLE_CAMPAIGN: sum(spent.values()), candidate: spent.get(candidate, 0)}
            for name, amount in amounts.items():
                if name in present and amount + microdollars > present[name] * 10_000:
                    return _over(name, present[name], amount, microdollars)
            connection.execute(
                insert(spending_reservations).values(
                    campaign=campaign,
                    **asking._asdict(),
                    candidate=candidate,
                    microdollars=microdollars,
                )
            )
            return None

    @repeated
    def settle(self, campaign: str, asking: Asking, microdollars: int | None) -> None:
        """What a request did cost; None when nobody knows, and it may be all that was set aside.

        A request whose seat has a new owner was taken for spent by that one, and stays so.
        """
        with self._database.write(CommitPoint.SETTLE_SPENDING) as connection:
            mine = spending_reservations.c.request == asking.request
            if microdollars is None:
                _take_for_spent(connection, campaign, asking, mine)
                return
            found = _reservation(connection, campaign, asking, mine)
            if found is not None:
                _spend(connection, campaign, found.candidate, known=microdollars, uncertain=0)


def _of(table: Table, campaign: str, candidate: str) -> tuple[Any, ...]:
    return table.c.campaign == campaign, table.c.candidate == candidate


def _row(connection: Connection, table: Table, campaign: str, candidate: str) -> Any:
    return connection.execute(select(table).where(*_of(table, campaign, candidate))).one_or_none()


def _reservation(
    connection: Connection, campaign: str, asking: Asking, *further: ColumnElement[bool]
) -> Any:
    """What a seat has set aside, which is removed; None when it has nothing."""
    table = spending_reservations
    place = (
        table.c.campaign == campaign,
        table.c.run_id == asking.run_id,
        table.c.seat == asking.seat,
        *further,
    )
    found = connection.execute(select(table).where(*place)).one_or_none()
    if found is not None:
        connection.execute(delete(table).where(*place))
    return found


def _take_for_spent(
    connection: Connection, campaign: str, asking: Asking, *further: ColumnElement[bool]
) -> None:
    found = _reservation(connection, campaign, asking, *further)
    if found is not None:
        _spend(connection, campaign, found.candidate, known=0, uncertain=found.microdollars)


def _spend(
    connection: Connection, campaign: str, candidate: str, *, known: int, uncertain: int
) -> None:
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


def _spent(connection: Connection, campaign: str) -> list[Spent]:
    aside = spending_reservations.c
    query = (
        select(aside.candidate, func.sum(aside.microdollars))
        .where(aside.campaign == campaign)
        .group_by(aside.candidate)
    )
    under_way = {candidate: int(total) for candidate, total in connection.execute(query)}
    query = select(spending).where(spending.c.campaign == campaign)
    known = {row.candidate: row for row in connection.execute(query)}
    return [
        Spent(
            name,
            known[name].known_microdollars if name in known else 0,
            known[name].uncertain_microdollars if name in known else 0,
            under_way.get(name, 0),
        )
        for name in sorted(known.keys() | under_way.keys())
    ]


def _over(name: str, cap: int, amount: int, more: int) -> str:
    whose = "the campaign" if name == WHOLE_CAMPAIGN else f'the route of candidate "{name}"'
    return (
        f"the spending cap of {whose} is reached: ${cap / 100:,.2f}, of which up to "
        f"${amount / 1_000_000:,.2f} are spent or under way, and the next request may cost "
        f"${more / 1_000_000:,.2f}"
    )
