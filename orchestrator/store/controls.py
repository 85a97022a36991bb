"""What holds a campaign's routes back: pauses until a person acts, spending, and its caps.

Amounts are integer micro-dollars, caps integer cents. What a request may cost is set aside before
it is sent and settled when its end is journaled, so that no crash makes money unspent. Whoever next
plays a run settles what its predecessor left, by the run's journal: what has no intent there was
never sent, what has no end there is taken for spent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Table, delete, func, insert, select, update

from orchestrator.store.connection import CommitPoint, Database, DatabaseNow, moment, repeated
from orchestrator.store.records import MADE_AGAIN
from orchestrator.store.schema import (
    acts,
    campaign_controls,
    route_pauses,
    spending_caps,
    spending_reservations,
)
from orchestrator.store.spending_rows import (
    Asking,
    Spent,
    held_until,
    named,
    read_settled,
    read_spent,
    reserve,
    spend,
    take_reservation,
)

CAP_REACHED: Final = "the spending cap of"
"""What the reason of every run says that rests because a cap forbids its next request."""

_SET_CAP: Final = "cap $"

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
class Shortage:
    """Why a cap forbids a request; `for_good`: also if nothing that is under way cost anything."""

    reason: str
    for_good: bool


class Waiting(NamedTuple):
    """A company whose request waits for money that is set aside for others."""

    run_id: str
    seat: int


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
                    act=f"{_SET_CAP}{cents / 100:,.2f}",
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
    def caps_are_lost(self, campaign: str) -> bool:
        """Whether the catalogue was lost with the caps in it, and nobody has set one since."""
        last = func.coalesce(func.max(acts.c.number), 0)
        mine = acts.c.campaign == campaign
        lost = select(last).where(mine, acts.c.act == MADE_AGAIN)
        since = select(last).where(mine, acts.c.act.startswith(_SET_CAP))
        with self._database.read() as connection:
            return bool(connection.scalar(select(lost.scalar_subquery() > since.scalar_subquery())))

    @repeated
    def spent(self, campaign: str) -> list[Spent]:
        """What the campaign's routes have cost so far, by candidate."""
        with self._database.read() as connection:
            return read_spent(connection, campaign)

    @repeated
    def settled(self, campaign: str) -> list[Spent]:
        """The ledger alone: what the campaign's requests have cost that are settled."""
        with self._database.read() as connection:
            return read_settled(connection, campaign)

    @repeated
    def waiting(self, campaign: str) -> set[Waiting]:
        """The companies whose requests wait for money."""
        table = spending_reservations.c
        query = select(table.run_id, table.seat).where(
            table.campaign == campaign, ~table.is_granted, table.held_until > DatabaseNow()
        )
        with self._database.read() as connection:
            return {Waiting(*row) for row in connection.execute(query)}

    @repeated
    def set_aside(
        self,
        campaign: str,
        candidate: str,
        asking: Asking,
        microdollars: int,
        caps: dict[str, int],
    ) -> Shortage | None:
        """Set money aside for one request; None, or why a cap forbids it. A request that may be
        granted later is noted as one that waits.

        `caps` are those that hold unless others were set, by candidate, in cents.
        """
        with self._database.write(CommitPoint.SET_ASIDE) as connection:
            # One at a time for a campaign, also where writers do not exclude each other by nature.
            one = select(campaign_controls.c.campaign).where(
                campaign_controls.c.campaign == campaign
            )
            connection.execute(one.with_for_update())
            query = select(spending_caps.c.candidate, spending_caps.c.cents)
            found = connection.execute(query.where(spending_caps.c.campaign == campaign))
            present = caps | {row.candidate: row.cents for row in found}
            spent = read_spent(connection, campaign)
            shortage = _shortage(candidate, present, spent, microdollars)
            if shortage is not None and shortage.for_good:
                take_reservation(connection, campaign, asking)
            else:
                reserve(
                    connection,
                    campaign,
                    candidate,
                    asking,
                    microdollars,
                    is_granted=shortage is None,
                )
            return shortage

    @repeated
    def hold(self, campaign: str, askings: Sequence[Asking]) -> None:
        """Let what is set aside for these requests, and their waiting, count from now on again."""
        with self._database.write(CommitPoint.HOLD_SET_ASIDE) as connection:
            for asking in askings:
                connection.execute(
                    update(spending_reservations)
                    .where(*named(campaign, asking))
                    .values(held_until=held_until())
                )

    @repeated
    def settle(self, campaign: str, asking: Asking, microdollars: int | None) -> None:
        """What a request did cost, 0 for one that was never sent; None when nobody knows, and it
        may be all that was set aside. What is settled already stays so.
        """
        with self._database.write(CommitPoint.SETTLE_SPENDING) as connection:
            found = take_reservation(connection, campaign, asking)
            if found is None or microdollars == 0:
                return
            spend(
                connection,
                campaign,
                found.candidate,
                known=microdollars or 0,
                uncertain=found.microdollars if microdollars is None else 0,
            )

    @repeated
    def reservations(self, campaign: str) -> list[Asking]:
        """The requests for which money is set aside, or that wait for some."""
        table = spending_reservations.c
        query = select(*(table[name] for name in Asking._fields))
        with self._database.read() as connection:
            found = connection.execute(query.where(table.campaign == campaign))
            return sorted(Asking(*row) for row in found)


def _shortage(
    candidate: str, caps: dict[str, int], spent: list[Spent], more: int
) -> Shortage | None:
    """Why the caps, in cents, forbid a request that may cost so many micro-dollars more."""
    own = [each for each in spent if each.candidate == candidate]
    short = None
    for name, rows in ((WHOLE_CAMPAIGN, spent), (candidate, own)):
        if name not in caps:
            continue
        settled = sum(each.settled for each in rows)
        under_way = sum(each.set_aside for each in rows)
        left = caps[name] * 10_000 - settled - more
        if left < 0:
            return Shortage(_over(name, caps[name], settled, more), for_good=True)
        if left < under_way:
            short = short or Shortage(_over(name, caps[name], settled, more), for_good=False)
    return short


def _of(table: Table, campaign: str, candidate: str) -> tuple[Any, ...]:
    return table.c.campaign == campaign, table.c.candidate == candidate


def _row(connection: Connection, table: Table, campaign: str, candidate: str) -> Any:
    return connection.execute(select(table).where(*_of(table, campaign, candidate))).one_or_none()


def _over(name: str, cap: int, settled: int, more: int) -> str:
    whose = "the campaign" if name == WHOLE_CAMPAIGN else f'the route of candidate "{name}"'
    return (
        f"No request is sent: {CAP_REACHED} {whose} is reached: ${cap / 100:,.2f}, of which up to "
        f"${settled / 1_000_000:,.2f} are spent, and the next request may cost "
        f"${more / 1_000_000:,.2f}."
    )
