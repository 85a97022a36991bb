"""market.md section 9: accounts and exit; evaluation.md section 2: the Score."""

from engine.records import CompanyDay, Ledger, ProductDay, SegmentDay
from engine.scenario import Scenario
from engine.state import FirmState
from tests.engine.reference.market import Company, Market, queued_units, units_per_day

INFLOWS = ("revenue_cents", "refunds_cents")


def new_books(scenario: Scenario, seat: int, cash: int) -> CompanyDay:
    """Books of a day, whose opening cash is the cash now."""
    return CompanyDay(
        seat=seat,
        opening_cash_cents=cash,
        ledger=Ledger(),
        products=[ProductDay() for _ in scenario.products],
        segments=[SegmentDay() for _ in scenario.segments],
        reports=[],
        completions=[],
    )


def pay(company: Company, account: str, cents: int) -> None:
    """Money goes out, and is booked gross under its category."""
    company.firm.cash_cents -= cents
    _book(company, account, cents)


def earn(company: Company, account: str, cents: int) -> None:
    """Money comes in, and is booked gross under its category."""
    company.firm.cash_cents += cents
    _book(company, account, cents)


def _book(company: Company, account: str, cents: int) -> None:
    ledger = company.books.ledger
    setattr(ledger, account, getattr(ledger, account) + cents)


def close(market: Market, company: Company) -> None:
    """End the day; with cash below zero the company leaves for good, and its queue vanishes."""
    firm, books = company.firm, company.books
    books.closing_cash_cents = firm.cash_cents
    books.capacity_units = units_per_day(market, company)
    books.support_queue = firm.support_queue
    books.queued_units = queued_units(company)
    if firm.cash_cents < 0:
        books.exited = True
        firm.active = False
        firm.exit_day = market.day
        firm.queue = []
        firm.reserved = [0 for _ in market.products]


def cash_change(ledger: Ledger) -> int:
    """Revenue and refunds less everything else."""
    accounts = {name: getattr(ledger, name) for name in Ledger.__struct_fields__}
    return sum(cents if name in INFLOWS else -cents for name, cents in accounts.items())


def score(scenario: Scenario, firm: FirmState) -> int:
    """S = C_T + sum_j v_j (H_jT + I_jT) - V_0, for a company that left as for any other."""
    value, initial_value = firm.cash_cents, scenario.initial_cash_cents
    for product, terms in enumerate(scenario.products):
        units = firm.stock[product] + sum(each.units for each in firm.inbound[product])
        value += units * terms.liquidation_value_cents
        initial_value += terms.initial_stock * terms.liquidation_value_cents
    return value - initial_value
