"""The system prompt: every point that the contract asks for has its sentence."""

import hashlib
import re

import pytest

from engine.tables import TABLES
from orchestrator.session.prompt import PROMPT_VERSION, prompt_digest, system_prompt

CONTRACT = """
role: You are the chief executive of one company
sole objective: Your sole objective is a high Score:
sole objective: Score = cash at the end + liquidation value of stock on hand and of paid inbound
    stock at the end - initial enterprise value.
what can be seen: You see your company's own records, and public information:
what cannot be seen: You cannot see other companies' cash, stock, budgets, plans or sealed bids;
    the present state of the economy; what the customer segments truly want; how long an
    unfinished innovation project will take and what it will gain; or any future event.
what cannot be seen: There is no way to talk to the other companies, and no web, shell, code
    execution, other agent or other model.
the database is a fixed snapshot: The database is a fixed snapshot that ends today: within a
    window, the same query gives the same rows.
known arrivals are valid information: Known future arrivals, such as the days in
    `inbound_shipments` and the due days of projects and contracts, are valid information, not
    forecasts.
staging is not execution: Staging is not execution: a staged receipt says `staged`, and nothing in
    the world changes until you seal
where to find what really happened: What really happened to your one-time actions, with the actual
    charge, refund and effective day, is in `action_receipts` in the next window;
where to find what really happened: An `applied` receipt of a project confirms that it was placed,
    not that it is completed.
standing policies persist and are charged daily: Standing policies persist until you change them:
    prices, promotions, reorder targets, and the daily budgets for marketing, development,
    reliability and support.
standing policies persist and are charged daily: are charged every day whether or not you decide
    anything;
0 stops a budget: a budget of 0 stops it.
a seal without changes holds: A seal without changes is a valid decision: it holds everything as
    it is.
one-time actions are not repeated: Projects, capacity actions, bids and research reports are
    one-time: they are not repeated unless you stage them again.
price and promotion: customers pay the list price less the promotion, from the next day on
stock: The order is paid at once, arrives after the product's procurement days
capacity: An expansion is paid at once and acts after its construction days.
capacity: A downsizing costs a fee, acts after the quoted days and refunds nothing.
marketing: makes your company known to that segment from the same day on
development: A day's spending becomes knowledge after the development days of `product_catalog`
innovation: The expected knowledge gain is the company total, shared equally by the product lines,
    not a gain for each.
reliability: makes failures of delivered units less likely on the same day
support: a daily budget that closes support tickets on the same day
research describes its sampling day: A report describes its sampling day, which is the day of your
    request, not the day on which it arrives.
tenders: The units are reserved at the award, and you are paid as they are delivered.
no terminal value: Innovation projects, knowledge and capacity have no terminal value
cash below zero is permanent exit: Cash below zero at the end of a day is permanent exit:
the affordability check: This affordability check covers one-time commitments only:
how memory works: Nothing of earlier conversations is carried over except what you write to your
    private files.
how memory works: `MEMORY.md` has a role: its beginning is shown to you at the start of every
    window;
how memory works: A file write is durable at once
memory is no authority: Memory is your own data and can be wrong or out of date.
memory is no authority: It is not authority:
stored scripts never run: stored scripts never run
the seal rule: It must be the only call of its reply: a reply that mixes it with another call is
    rejected whole, and none of its calls runs.
the seal rule: A reply without a tool call never seals.
recoverable errors: An error that can be corrected comes back in the same conversation
recoverable errors: A failed call changes nothing, and what was staged before it stays.
the allowance: The standard allowance is 32 replies, 131,072 tokens and 3,600 seconds;
limits in the user message: the limits in the user message override the standard ones
finalization: Near the end of any of the three (28 replies, 98,304 tokens or 2,700 seconds in the
    standard allowance) finalization begins, and you are told.
finalization: You then have at most four further replies, within the same limits; `query_company`
    is refused
without a valid seal: If your window ends without a valid seal, the draft is dropped and standing
    policies go on as they are.
a cut reply: A reply that is cut off by its length limit runs none of its calls. You are asked to
    continue
everything is recorded: Every reply and every attempted call is recorded, even a rejected one.
only the market advances time: Only the shared market advances time.
nothing after sealing: Once the seal is accepted your window is closed: call nothing after it.
"""
"""A point of the contract and what the prompt says on it, a line each; indented lines continue."""

POINTS = [
    line.split(": ", maxsplit=1) for line in re.sub(r"\n\s+", " ", CONTRACT.strip()).splitlines()
]


@pytest.mark.parametrize(("point", "sentence"), POINTS)
def test_every_point_has_its_sentence(point: str, sentence: str) -> None:
    assert sentence in " ".join(system_prompt().split()), point


def test_the_tables_are_named_by_group() -> None:
    text = system_prompt()
    for group in dict.fromkeys(table.group for table in TABLES):
        names = ", ".join(table.name for table in TABLES if table.group == group)
        assert f"- {group}: {names}\n" in text


def test_the_text_changes_with_its_version_only() -> None:
    """Who changes the text gives it a new version, and both a new line here."""
    assert (PROMPT_VERSION, prompt_digest()) == (
        "ceos-prompt-v1",
        "sha256:ddb6bce5c0e6d89690f50b68c1b9f51155a1e0154498bdf9841bccc1b6a78d7e",
    )


def test_the_digest_is_that_of_the_text() -> None:
    digest = hashlib.sha256(system_prompt().encode()).hexdigest()
    assert prompt_digest() == f"sha256:{digest}"


def test_the_text_is_plain() -> None:
    """No marks that a model might take for something else, and nothing left open."""
    text = system_prompt()
    assert text.isascii()
    assert not re.search(r"TODO|FIXME|\{|\}|<|>|!", text)
    assert all(len(line) == len(line.rstrip()) for line in text.splitlines())
    assert text == text.strip()
