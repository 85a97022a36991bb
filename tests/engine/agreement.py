"""Engine and reference side by side: the same decisions, and the first difference."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from engine.decision import CompanyDecision
from engine.records import DayRecord
from engine.scenario import Scenario
from engine.score import score_cents
from engine.settle import initial_state, settle_window
from engine.state import WorldState
from engine.streams import Streams
from tests.engine.reference.accounts import cash_change, score
from tests.engine.reference.days import new_market, play_window
from tests.engine.reference.market import Market
from tests.engine.wild import events

Decide = Callable[[WorldState, Sequence[DayRecord], Market], Mapping[int, CompanyDecision | None]]
"""Decisions by seat, from the engine's state, its days of the last window, and the reference."""


def play_both(scenario: Scenario, seed: int, firms: int, decide: Decide) -> Counter[str]:
    """Play a whole world in both and compare every day and every boundary.

    Returns how often things happened. Fails at the first difference, naming its place.
    """
    streams = Streams(seed)
    state, days = initial_state(scenario, streams, firms), list[DayRecord]()
    market = new_market(scenario, Streams(seed), firms)
    happened: Counter[str] = Counter()
    compare(state, market.state, "day 0")
    while state.day < scenario.horizon_days:
        decisions = decide(state, days, market)
        settled = settle_window(scenario, streams, state, decisions)
        state, days = settled.state, settled.days
        for record, expected in zip(days, play_window(market, decisions), strict=True):
            compare(_without_digest(record), expected, f"day {record.day}")
            for books in expected.companies:
                change = books.closing_cash_cents - books.opening_cash_cents
                assert change == cash_change(books.ledger), f"seat {books.seat}, day {record.day}"
            happened.update(events(record))
        compare(state, market.state, f"state of day {state.day}")
    for firm, company in zip(state.firms, market.companies, strict=True):
        assert score_cents(scenario, firm) == score(scenario, company.firm)
    return happened


def compare(engine: Any, reference: Any, place: str) -> None:
    difference = next(_differences(engine, reference, place), None)
    assert difference is None, difference


def _differences(engine: Any, reference: Any, place: str) -> Iterator[str]:
    """The leaves in which two records differ.

    Reals may differ in their last digits, as both sides add in orders of their own; all else is
    equal or wrong.
    """
    if type(engine) is not type(reference):
        yield f"{place}: the engine has {engine!r}, the reference {reference!r}"
    elif engine == reference:
        return
    elif isinstance(engine, msgspec.Struct):
        for name in engine.__struct_fields__:
            yield from _differences(
                getattr(engine, name), getattr(reference, name), f"{place}, {name}"
            )
    elif isinstance(engine, list) and len(engine) == len(reference):
        for number, pair in enumerate(zip(engine, reference, strict=True), start=1):
            yield from _differences(*pair, f"{place}[{number}]")
    elif not (
        isinstance(engine, float) and math.isclose(engine, reference, rel_tol=1e-9, abs_tol=1e-12)
    ):
        yield f"{place}: the engine has {engine!r}, the reference {reference!r}"


def _without_digest(record: DayRecord) -> DayRecord:
    """The digest covers the last bit of every real, and has golden tests of its own."""
    return msgspec.structs.replace(record, state_digest="")
