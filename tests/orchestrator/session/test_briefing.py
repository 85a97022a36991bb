"""The user message of a window: what it says, what it says when something is missing, and that it
depends on nothing else.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from engine.observation import Observation
from engine.records import ActionReceipt, CompanyDay, SegmentDay
from orchestrator.session.allowance import Allowance
from orchestrator.session.briefing import MEMORY_CHARACTERS, briefing
from orchestrator.session.layout import dollars, table
from tests.orchestrator.session.played import run

SEAT = 4
ALLOWANCE = Allowance(
    replies=32, output_tokens=131_072, seconds=3_600, native_ceiling=65_536, smallest_ceiling=1_024
)
UNLIMITED = msgspec.structs.replace(ALLOWANCE, output_tokens=None)


def message(
    version: int,
    *,
    seat: int = SEAT,
    allowance: Allowance = ALLOWANCE,
    memory: str | None = None,
    observation: Observation | None = None,
    receipts: Sequence[ActionReceipt] | None = None,
) -> str:
    """The message of a window of the shared run."""
    moment = run()[version]
    before: Sequence[CompanyDay] = run()[version - 1].observe(seat).elapsed if version else ()
    return briefing(
        observation or moment.observe(seat),
        moment.receipts.get(seat, []) if receipts is None else receipts,
        before,
        allowance,
        memory,
    )


def section(text: str, heading: str) -> str:
    """The text below a heading, up to the next one."""
    return text.split(f"\n## {heading}\n")[1].split("\n## ", maxsplit=1)[0].strip()


def cells(text: str, label: str) -> list[str]:
    """The cells of the first table row with this label."""
    line = next(line for line in text.splitlines() if line.startswith(f"| {label} "))
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_the_sections_stand_in_the_contracts_order() -> None:
    text = message(20)
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# company-4, day 140 of 500",
        "## Limits of this window",
        "## MEMORY.md",
        "## The last and the preceding period",
        "## What happened to your one-time actions",
        "## Finances now",
        "## Inventory, inbound and backlog",
        "## Capacity",
        "## Standing policies",
        "## Pending projects and reports",
        "## Public conditions",
    ]


def test_time() -> None:
    assert (
        "World version 20. Today is day 140; the horizon is day 500, with 360 days remaining. What "
        "you seal now acts on days 141 to 147.\n"
    ) in message(20)
    assert "with 3 days remaining. What you seal now acts on days 498 to 500.\n" in message(71)


def test_limits() -> None:
    assert section(message(3), "Limits of this window").splitlines() == [
        "- Model replies: at most 32; finalization begins at 28.",
        "- Generated tokens, reasoning included: at most 131,072; finalization begins at 98,304.",
        "- Active time in seconds: at most 3,600; finalization begins at 2,700.",
    ]
    unlimited = section(message(3, allowance=UNLIMITED), "Limits of this window")
    assert "- Generated tokens, reasoning included: no limit.\n" in unlimited


# --- memory ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("memory", "shown"), [(None, "There is no such file yet."), ("", "The file is empty.")]
)
def test_no_memory(memory: str | None, shown: str) -> None:
    assert section(message(3, memory=memory), "MEMORY.md") == shown


def test_memory_is_shown_whole() -> None:
    memory = "# Plan\n\n- hold the price of A\n- naïve: Ω ≠ 1"
    assert section(message(3, memory=memory), "MEMORY.md") == (
        f"----- beginning of MEMORY.md, {len(memory)} characters -----\n{memory}\n"
        "----- end of MEMORY.md -----"
    )


def test_long_memory_is_cut_by_characters_and_marked() -> None:
    kept = "é" * MEMORY_CHARACTERS
    assert "----- end of MEMORY.md -----" in message(3, memory=kept)
    text = message(3, memory=kept + "x")
    assert kept + "\n----- cut here: the first 40,000 of 40,001 characters are shown; " in text
    assert "read_file" in text
    assert "éx" not in text
    assert "----- end of MEMORY.md" not in text


# --- periods --------------------------------------------------------------------------------------


def test_missing_periods_are_unavailable_and_never_zero() -> None:
    assert section(message(0), "The last and the preceding period") == (
        "Both are unavailable: no day has been settled yet."
    )
    text = section(message(1), "The last and the preceding period")
    assert "| last: days 1 to 7 | preceding: unavailable |" in text
    for line in text.splitlines():
        if line.startswith("| ") and "---" not in line and " / " not in line:
            assert line.endswith(" unavailable |") or "orders" in line or "tickets" in line, line
    assert all(cell.endswith(" / unavailable") for cell in cells(text, "A"))
    assert all(cell.endswith(" / unavailable") for cell in cells(text, "value"))
    assert "unavailable" not in message(2)


def test_two_periods_stand_side_by_side() -> None:
    text = section(message(20), "The last and the preceding period")
    assert "last: days 134 to 140 | preceding: days 127 to 133" in text
    last, preceding = run()[20].observe(SEAT).elapsed, run()[19].observe(SEAT).elapsed
    assert cells(text, "Opening cash") == [
        dollars(last[0].opening_cash_cents),
        dollars(preceding[0].opening_cash_cents),
    ]
    assert cells(text, "Closing cash") == [
        dollars(last[-1].closing_cash_cents),
        dollars(preceding[-1].closing_cash_cents),
    ]
    assert last[0].opening_cash_cents == preceding[-1].closing_cash_cents
    for label, name in (("Revenue", "revenue_cents"), ("- marketing", "marketing_cents")):
        assert cells(text, label) == [
            dollars(sum(getattr(day.ledger, name) for day in days)) for days in (last, preceding)
        ]
    sold = [sum(day.products[1].fulfilled_units for day in days) for days in (last, preceding)]
    assert cells(text, "B")[1] == f"{sold[0]:,} / {sold[1]:,}"
    satisfaction = [days[-1].segments[2].satisfaction for days in (last, preceding)]
    assert cells(text, "value")[4] == f"{satisfaction[0]:.4f} / {satisfaction[1]:.4f}"


def test_a_segment_that_nobody_served_has_no_mean_wait() -> None:
    observation = run()[20].observe(SEAT)
    idle = [
        msgspec.structs.replace(day, segments=[*day.segments[:2], SegmentDay()])
        for day in observation.elapsed
    ]
    assert cells(changed(20, elapsed=tuple(idle)), "value")[3].startswith("none / ")


# --- today ----------------------------------------------------------------------------------------


def changed(version: int, **fields: Any) -> str:
    """A message with parts of the observation replaced."""
    observation = msgspec.structs.replace(run()[version].observe(SEAT), **fields)
    return message(version, observation=observation)


def test_finances() -> None:
    text = section(message(0), "Finances now")
    assert cells(text, "Cash") == ["$500,000.00"]
    assert cells(text, "Stock on hand at liquidation value") == ["$16,000.00"]
    assert cells(text, "Score if the run ended now") == ["$0.00"]
    assert cells(text, "Recurring charges a day") == ["$400.00"]
    text = section(changed(0, cash_cents=-1, reliability_cents=123), "Finances now")
    assert cells(text, "Cash") == ["-$0.01"]
    assert cells(text, "Score if the run ended now") == ["-$500,000.01"]
    assert cells(text, "Recurring charges a day") == ["$401.23"]


def test_nothing_to_show_is_said() -> None:
    text = message(0)
    assert "Inbound shipments:\n- none\n" in text
    assert "Waiting consumers:\n- none\n" in text
    assert "Enterprise contracts:\n- none\n" in text
    assert "No change is pending.\n" in text
    assert section(text, "Pending projects and reports") == "- none"
    assert section(text, "What happened to your one-time actions") == (
        "- Nothing of that kind in the last period."
    )
    assert text.endswith("Awards and exits in the last period:\n- none\n")


def everywhere(seat: int) -> str:
    """All messages of a company, one after the other."""
    return "\n".join(
        message(version, seat=seat) for version, moment in enumerate(run()) if seat in moment.seats
    )


@pytest.mark.parametrize(
    "piece",
    [
        "innovation_project innovation-",
        "capacity_expansion capacity-",
        "capacity_cancellation capacity-",
        "market_research report-",
        "- capacity_project capacity-",
        ": completed on day ",
        ": delivered on day ",
        " demand was read as ",
        ": median completion on day ",
        " of knowledge for the whole company",
        ": describes day ",
        " leads to tier ",
        "- expand to tier ",
        "- downsize to tier ",
        "- cancel capacity-",
        "your bid: none",
        ": won by company-",
        ": no qualifying bid",
        "- company-8 left the market on day 43",
        "company-8 (exited)",
        "company-3 (you)",
    ],
)
def test_what_can_happen_is_told(piece: str) -> None:
    assert piece in everywhere(3)


def test_contracts_and_backlog_are_told() -> None:
    text = everywhere(2) + everywhere(1)
    assert "- enterprise_bid tender-" in text
    assert " still owed at $" in text
    assert " units, the oldest since day " in text


def test_equal_inputs_give_equal_text() -> None:
    assert message(30, memory="x") == message(30, memory="x")


def test_a_message_stays_readable() -> None:
    """By a person on a screen, and within a model's patience."""
    for version in range(72):
        text = message(version)
        assert len(text) < 12_000
        assert max(len(line) for line in text.splitlines()) < 400
        assert text.endswith("\n")
        assert "\n\n\n" not in text
        assert "None" not in text


# --- layout ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cents", "shown"),
    [
        (0, "$0.00"),
        (5, "$0.05"),
        (-5, "-$0.05"),
        (123_456_789, "$1,234,567.89"),
        (-100, "-$1.00"),
        (2**53, "$90,071,992,547,409.92"),
    ],
)
def test_dollars(cents: int, shown: str) -> None:
    assert dollars(cents) == shown


def test_tables_are_aligned() -> None:
    assert list(table(("", "units"), [("A", "1"), ("Bertha", "1,000")])) == [
        "|        | units |",
        "| ------ | ----: |",
        "| A      |     1 |",
        "| Bertha | 1,000 |",
    ]
