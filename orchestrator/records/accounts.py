"""The settled days of a run as records: each company's accounts, and what everyone may know."""

from collections.abc import Iterator

import msgspec

from campaigns.plan import PlannedRun
from campaigns.records import CompanyDayRecord, MarketDayRecord
from engine.records import CompanyDay
from orchestrator.store import RunStore, read_day


def company_days(store: RunStore, planned: PlannedRun) -> Iterator[CompanyDayRecord]:
    """By day and seat; the days of a company end with its exit."""
    for stored in store.company_days():
        candidate = planned.lineup[stored.seat - 1]
        yield _company_day(planned.run_id, stored.day, candidate, stored.record())


def market_days(store: RunStore, run_id: str, companies: int) -> Iterator[MarketDayRecord]:
    """By day; `companies` is how many began the run."""
    active = companies
    for stored in store.days():
        public = read_day(stored.details, f"the record of day {stored.day}").public
        awarded = sum(award.winner_seat is not None for award in public.awards)
        yield MarketDayRecord(
            run_id=run_id,
            day=stored.day,
            state_digest=stored.state_digest,
            active_companies=active,
            signal_day=public.signal.sample_day,
            macro=public.signal.macro,
            demand_index=public.signal.demand_index,
            quality_index=public.signal.quality_index,
            tenders_opened=len(public.opened),
            tenders_awarded=awarded,
            tenders_unfilled=len(public.awards) - awarded,
        )
        active -= len(public.exited_seats)


def _company_day(run_id: str, day: int, candidate: str, record: CompanyDay) -> CompanyDayRecord:
    return CompanyDayRecord(
        run_id=run_id,
        day=day,
        seat=record.seat,
        candidate=candidate,
        opening_cash_cents=record.opening_cash_cents,
        closing_cash_cents=record.closing_cash_cents,
        **msgspec.structs.asdict(record.ledger),
        **daily_units(record),
        exited=record.exited,
    )


def daily_units(record: CompanyDay) -> dict[str, int]:
    """The columns of a company-day that count units and tickets."""
    products = record.products
    return {
        "consumer_orders": sum(product.orders for product in products),
        "stockouts": sum(product.stockouts for product in products),
        "fulfilled_units": record.fulfilled_units,
        "enterprise_units": sum(product.enterprise_units for product in products),
        "capacity_units": record.capacity_units,
        "support_queue": record.support_queue,
    }
