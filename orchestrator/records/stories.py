"""What is told of a window and of the market, the same from a store and from a bundle: texts of a
bearable length, decisions without what they leave as it is, and public events by name.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from campaigns.records.trajectories import CameOf, MarketEvent, Offer, Step
from engine.decision import CompanyDecision
from engine.records import PublicDay
from engine.state import WorldState
from orchestrator.session.tools.sql import QUERY_COMPANY
from orchestrator.store import StoredReceipt

LONGEST_QUERY: Final = 4_000
LONGEST_RESULT: Final = 2_000
LONGEST_TEXT: Final = 60_000
"""Characters that are kept of a query's result, of another call's, and of everything else."""


def offers(world: WorldState) -> list[list[Offer] | None]:
    """The standing prices at a boundary, by seat and product."""
    return [
        list(map(Offer, firm.price_cents, firm.promotion_cents)) if firm.active else None
        for firm in world.firms
    ]


def market_events(day: int, public: PublicDay, products: Sequence[str]) -> Iterator[MarketEvent]:
    """What a day's public record has to tell; `products` are the ids in the scenario's order."""
    for seat in public.exited_seats:
        yield MarketEvent(day=day, kind="exit", seat=seat)
    for notice in public.opened:
        yield MarketEvent(
            day=day,
            kind="tender",
            tender=notice.tender_id,
            product=products[notice.product],
            units=notice.units,
            unit_price_cents=notice.reservation_price_cents,
        )
    for award in public.awards:
        yield MarketEvent(
            day=day,
            kind="unfilled" if award.winner_seat is None else "award",
            seat=award.winner_seat,
            tender=award.tender_id,
            product=products[award.product],
            units=award.units,
            unit_price_cents=award.unit_price_cents,
        )


def written(decision: CompanyDecision | None) -> dict[str, Any] | None:
    """The fields that a decision writes, without those that it leaves as they are."""
    return None if decision is None else _present(decision.model_dump(mode="json"))


def came_of(receipts: Iterable[StoredReceipt]) -> tuple[CameOf, ...]:
    """What became of a decision's actions."""
    return tuple(
        CameOf(
            kind=stored.receipt.kind,
            subject=stored.receipt.subject,
            charge_cents=stored.receipt.charge_cents,
            refund_cents=stored.receipt.refund_cents,
            effective_day=stored.receipt.effective_day,
        )
        for stored in receipts
    )


def said(step: Step) -> Step:
    """A step with as much of its text as is kept."""
    text, left_out = _cut(step.text, LONGEST_TEXT)
    return msgspec.structs.replace(step, text=text, left_out=left_out)


def file_step(tool: str, seconds: float | None, path: str, version: int, content: str) -> Step:
    """A call that wrote a file."""
    kept, left_out = _cut(content, LONGEST_TEXT)
    return Step(
        kind="file",
        seconds=seconds,
        tool=tool,
        path=path,
        version=version,
        content=kept,
        left_out=left_out,
    )


def call_step(tool: str, seconds: float | None, arguments: str, result: str, *, ok: bool) -> Step:
    """Any other call, with as much of its arguments and its result as is kept."""
    is_rows = tool == QUERY_COMPANY.name and ok
    text, left_out = _cut_rows(result) if is_rows else _cut(result, LONGEST_RESULT)
    return Step(
        kind="call",
        seconds=seconds,
        tool=tool,
        arguments=_cut(arguments, LONGEST_QUERY)[0],
        text=text,
        refused=not ok,
        left_out=left_out,
    )


def _present(values: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in values.items():
        if name in {"company_id", "world_version"}:
            continue
        kept = _present(value) if isinstance(value, dict) else value
        if kept not in (None, {}, []):
            found[name] = kept
    return found


def _cut_rows(text: str) -> tuple[str, int]:
    """A query's result with its first rows, and how many characters are left out."""
    if len(text) <= LONGEST_QUERY:
        return text, 0
    result = msgspec.json.decode(text)
    rows, room = [], LONGEST_QUERY
    for row in result["rows"]:
        room -= len(msgspec.json.encode(row))
        if room < 0:
            break
        rows.append(row)
    shown = msgspec.json.encode(result | {"rows": rows}).decode()
    return shown, len(text) - len(shown)


def _cut(text: str, longest: int) -> tuple[str, int]:
    """The beginning of a text, and how many characters are left out."""
    return text[:longest], max(0, len(text) - longest)
