"""The scripted CEOs, played through the gateway with the vendor's own client."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from openai import OpenAI

from providers.rehearsal.agents import AGENTS
from providers.rehearsal.agents.bidder import bidder
from providers.rehearsal.agents.builder import builder
from providers.rehearsal.agents.diarist import diarist
from providers.rehearsal.agents.trader import trader
from tests.providers.rehearsal.client import Message, calls_of, play_window, replies_in
from tests.providers.rehearsal.company import TOOLS, Company
from tests.providers.rehearsal.stage import act_out

MODELS = sorted(AGENTS)
CAREFUL = [model for model in MODELS if model != "rehearsal-apprentice"]


@contextmanager
def company_with(**settings: Any) -> Iterator[Company]:
    company = Company(**settings)
    try:
        yield company
    finally:
        company.close()


def used(company: Company) -> set[str]:
    return {name for name, _ in company.called}


def notice(number: int, messages: list[Message]) -> None:
    """From the third reply on, the harness says that finalization has begun."""
    if number == 3:
        messages.append(
            {"role": "user", "content": "Finalization has begun: at most four further replies."}
        )


@pytest.mark.parametrize("model", MODELS)
def test_an_agent_seals_alone_after_a_window_of_work(
    client: OpenAI, company: Company, model: str
) -> None:
    replies = replies_in(play_window(client, model, company))
    assert company.sealed is not None
    assert calls_of(replies[-1]) == [("seal_decision", "{}")]
    assert len(replies) <= 12
    if model != "rehearsal-minimalist":
        assert len(replies) >= 4


@pytest.mark.parametrize("model", CAREFUL)
def test_a_careful_agent_is_never_refused(company: Company, model: str) -> None:
    act_out(AGENTS[model], company)
    assert [name for name, _ in company.refused if name != "read_file"] == []


def test_together_the_agents_use_every_tool() -> None:
    with company_with() as company:
        act_out(diarist, company)
    tools: set[str] = set()
    for settings in (
        {},
        {"units_per_day": 10},
        {"cash": 5_000_000},
        {"cash": 22_000_000},
        {"memory": company.files["MEMORY.md"]},
    ):
        for model in MODELS:
            with company_with(**settings) as company:
                act_out(AGENTS[model], company)
                tools |= used(company)
                tools |= {name for name, _ in company.refused}
    assert tools >= set(TOOLS)


@pytest.mark.parametrize("model", MODELS)
def test_the_same_window_is_played_the_same_way(client: OpenAI, model: str) -> None:
    conversations = []
    for _ in range(2):
        with company_with() as company:
            conversations.append(play_window(client, model, company))
    assert conversations[0] == conversations[1]


@pytest.mark.parametrize("model", MODELS)
def test_finalization_is_heeded(client: OpenAI, model: str) -> None:
    with company_with() as company:

        def announce(number: int, messages: list[Message]) -> None:
            notice(number, messages)
            company.finalizing = number >= 3

        replies = replies_in(play_window(client, model, company, after_reply=announce))
        assert len(replies) <= 3 + 4
        assert "refused during finalization" not in [reason for _, reason in company.refused]


@pytest.mark.parametrize("model", MODELS)
def test_a_refused_seal_ends_in_a_hold(model: str) -> None:
    with company_with(refuse_seals=1) as company:
        replies = act_out(AGENTS[model], company)
        assert company.sealed == []
        assert [call.name for call in replies[-2].calls] == ["reset_decision"]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("settings", [{"day": 0}, {"cash": 100_000}, {"day": 490}])
def test_a_poor_or_short_window_is_played_too(model: str, settings: dict[str, Any]) -> None:
    with company_with(**settings) as company:
        act_out(AGENTS[model], company)
        assert company.sealed is not None


@pytest.mark.parametrize("model", [model for model in CAREFUL if model != "rehearsal-gambler"])
def test_one_call_at_a_time_leads_to_the_same_decision(client: OpenAI, model: str) -> None:
    sealed = []
    settings: list[dict[str, Any]] = [{}, {"parallel_tool_calls": False}]
    for options in settings:
        with company_with() as company:
            messages = play_window(client, model, company, **options)
            sealed.append(company.sealed)
    assert sealed[0] == sealed[1]
    assert [len(calls_of(reply)) for reply in replies_in(messages)] == [1] * len(
        replies_in(messages)
    )


def test_the_gambler_hears_every_message(client: OpenAI) -> None:
    prices = []
    for briefing in ("Day 70.", "Day 70. ", "Day 70.", "Day 71."):
        with company_with() as company:
            play_window(client, "rehearsal-gambler", company, briefing=briefing)
            prices.append(
                [given["price_cents"] for name, given in company.called if name == "set_product"]
            )
    assert prices[0] == prices[2]
    assert prices[0] != prices[1] != prices[3] != prices[0]


def test_the_apprentice_errs_in_every_way_and_corrects_itself(
    client: OpenAI, company: Company
) -> None:
    messages = play_window(client, "rehearsal-apprentice", company)
    reasons = " ".join(reason for _, reason in company.refused)
    for kind in (
        "no such table",
        "unknown tool",
        "must be integer",
        "unknown field",
        "not JSON",
        "promotion_cents: must be 0",
        "must be the only call",
    ):
        assert kind in reasons
    assert any(not calls_of(reply) for reply in replies_in(messages))
    assert company.sealed is not None
    assert {name for name, _ in company.sealed} == {
        "set_product",
        "set_operations",
        "set_marketing",
    }


def test_the_diarist_turns_when_its_rule_says_so() -> None:
    with company_with() as first:
        act_out(diarist, first)
    memory = first.files["MEMORY.md"]
    assert "heading up. If next week's gross is lower, then turn" in memory
    richer = re.sub(r"gross \d+ cents", "gross 999999999 cents", memory)
    with company_with(day=77, memory=richer) as second:
        act_out(diarist, second)
    after = second.files["MEMORY.md"]
    assert "heading down. If next week's gross is lower, then turn" in after
    assert "- week 10: gross 999999999 cents, heading up" in after
    assert after.count("Latest:") == 1


def test_the_diary_does_not_grow_without_end() -> None:
    memory: str | None = None
    sizes = []
    for week in range(90):
        with company_with(day=min(490, 7 * week), memory=memory) as company:
            act_out(diarist, company)
        memory = company.files["MEMORY.md"]
        sizes.append(len(memory))
    assert max(sizes) < 5_000
    assert sizes[45] < sizes[38]


def test_the_builder_steps_back_from_what_it_cannot_pay() -> None:
    with company_with(cash=22_000_000) as company:
        act_out(builder, company)
        tried = [given for name, given in company.called if name == "expand_capacity"]
        assert [given["target_tier"] for given in tried] == [3, 2]
        assert company.sealed is not None
        assert "expand_capacity" not in [name for name, _ in company.sealed]
        assert "set_product" in [name for name, _ in company.sealed]


def test_the_trader_follows_those_who_are_still_in_the_market(company: Company) -> None:
    act_out(trader, company)
    prices = {
        given["product_id"]: given["price_cents"]
        for name, given in company.called
        if name == "set_product"
    }
    assert prices == {"A": 4_018, "B": 7_448, "C": 13_328}


def test_the_bidder_bids_below_the_last_award(company: Company) -> None:
    act_out(bidder, company)
    bids = [given for name, given in company.called if name == "submit_enterprise_bid"]
    assert bids == [{"tender_id": "tender-6", "unit_price_cents": 9_375 * 93 // 100}]


def test_the_thoughts_speak_of_what_was_read(client: OpenAI, company: Company) -> None:
    replies = replies_in(play_window(client, "rehearsal-analyst", company))
    assert "cash $500,000.00" in replies[1]["reasoning_content"]
    assert json.dumps(replies).count("reasoning_signature") == len(replies)
