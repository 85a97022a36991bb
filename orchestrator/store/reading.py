"""Settled things read back from a run's database, a range of windows or days at a time."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import TypeVar

from sqlalchemy import Column, Connection, func, select

from engine.records import ActionReceipt, DayRecord
from orchestrator.lifecycle import CompanyWindowStatus
from orchestrator.store.codec import read_member
from orchestrator.store.connection import Database, moment, repeated
from orchestrator.store.records import (
    CompanyWindow,
    StoredCheckpoint,
    StoredCompanyDay,
    StoredDay,
    StoredReceipt,
)
from orchestrator.store.schema import (
    COMPANY_DAY_COLUMNS,
    RECEIPT_FIELDS,
    checkpoints,
    company_days,
    company_windows,
    days,
    receipts,
)

Item = TypeVar("Item")
Fetch = Callable[[Connection, int, int, int], list[Item]]
"""(connection, run, low, high) -> the items whose version or day is in [low, high), in order."""


def paged(
    database: Database, run: int, key: Column[int], span: int, fetch: Fetch[Item]
) -> Iterator[Item]:
    """All items of a run in order, each range of `span` in a transaction of its own.

    What is settled does not change, so that no transaction has to stay open while the reader works.
    """
    last = _last(database, run, key)
    for low in range(0, -1 if last is None else last + 1, span):
        yield from _page(database, run, low, low + span, fetch)


@repeated
def _last(database: Database, run: int, key: Column[int]) -> int | None:
    with database.read() as connection:
        return connection.scalar(select(func.max(key)).where(key.table.c.run == run))


@repeated
def _page(database: Database, run: int, low: int, high: int, fetch: Fetch[Item]) -> list[Item]:
    with database.read() as connection:
        return fetch(connection, run, low, high)


def read_company_windows(
    connection: Connection, run: int, low: int, high: int
) -> list[CompanyWindow]:
    """The closed windows that opened at world versions [low, high), by version and seat.

    Raises:
        IntegrityError: a window has a status that there is not.
    """
    columns = company_windows.c
    rows = connection.execute(
        select(
            columns.version,
            columns.seat,
            columns.status,
            columns.candidate,
            columns.identity,
            columns.decision,
            columns.decision_digest,
        )
        .where(columns.run == run, columns.version >= low, columns.version < high)
        .order_by(columns.version, columns.seat)
    )
    return [
        CompanyWindow(
            version,
            seat,
            read_member(
                CompanyWindowStatus,
                status,
                f"The status of company-{seat}'s window at world version {version}",
            ),
            *rest,
        )
        for version, seat, status, *rest in rows
    ]


def read_receipts(connection: Connection, run: int, low: int, high: int) -> list[StoredReceipt]:
    """The receipts of windows that opened at versions [low, high), by version, seat, number."""
    columns = receipts.c
    rows = connection.execute(
        select(
            columns.version,
            columns.seat,
            columns.number,
            *(columns[name] for name in RECEIPT_FIELDS),
        )
        .where(columns.run == run, columns.version >= low, columns.version < high)
        .order_by(columns.version, columns.seat, columns.number)
    )
    return [
        StoredReceipt(version, seat, number, ActionReceipt(*fields))
        for version, seat, number, *fields in rows
    ]


def read_days(connection: Connection, run: int, low: int, high: int) -> list[StoredDay]:
    """The days [low, high) of a run."""
    columns = days.c
    rows = connection.execute(
        select(
            columns.day,
            columns.version,
            columns.state_digest,
            columns.record_digest,
            columns.details,
        )
        .where(columns.run == run, columns.day >= low, columns.day < high)
        .order_by(columns.day)
    )
    return [StoredDay(*row) for row in rows]


def read_company_days(
    connection: Connection, run: int, low: int, high: int
) -> list[StoredCompanyDay]:
    """The company-days of the days [low, high), by day and seat."""
    columns = company_days.c
    rows = connection.execute(
        select(
            columns.day,
            columns.seat,
            columns.details,
            *(columns[name] for name in COMPANY_DAY_COLUMNS),
        )
        .where(columns.run == run, columns.day >= low, columns.day < high)
        .order_by(columns.day, columns.seat)
    )
    return [
        StoredCompanyDay(day, seat, dict(zip(COMPANY_DAY_COLUMNS, values, strict=True)), details)
        for day, seat, details, *values in rows
    ]


def read_day_records(connection: Connection, run: int, low: int, high: int) -> list[DayRecord]:
    """The whole records of the days [low, high).

    Raises:
        IntegrityError: a record is not the one that was settled.
    """
    companies: dict[int, list[StoredCompanyDay]] = defaultdict(list)
    for company in read_company_days(connection, run, low, high):
        companies[company.day].append(company)
    return [day.record(companies[day.day]) for day in read_days(connection, run, low, high)]


def read_checkpoints(
    connection: Connection, run: int, low: int, high: int
) -> list[StoredCheckpoint]:
    """The world at the versions [low, high)."""
    columns = checkpoints.c
    rows = connection.execute(
        select(
            columns.version,
            columns.day,
            columns.state,
            columns.state_digest,
            columns.epoch,
            columns.committed_at,
        )
        .where(columns.run == run, columns.version >= low, columns.version < high)
        .order_by(columns.version)
    )
    return [
        StoredCheckpoint(version, day, state, digest, epoch, moment(at))
        for version, day, state, digest, epoch, at in rows
    ]
