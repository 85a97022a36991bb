"""Which sentences of a note are if-then statements: the written rule, case by case."""

import pytest

from campaigns.analysis.statements import if_then_statements


@pytest.mark.parametrize(
    "sentence",
    [
        "If demand falls below 90, then cut the price.",
        "If demand falls below 90, cut the price",
        "Raise the price if stock falls under 40.",
        "- IF stock falls: order 200 units",
        "* **If** the queue grows -> hire support",
        "if rival cuts price => hold",
        "If cash drops under 1,000,000 \u2192 stop marketing",
        "If the tender closes \u2014 bid low",
        "Hold if stock is low",
        "Only bid if the margin is above 12%",
        "If backlog grows, what then matters is capacity.",
    ],
)
def test_a_condition_with_a_consequence_counts(sentence: str) -> None:
    assert if_then_statements(sentence) == 1


@pytest.mark.parametrize(
    "sentence",
    [
        "",
        "Prices fall.",
        "What if prices fall, and we hold?",
        "Should I cut prices if demand falls?",
        "It looks as if the market shrinks, so hold.",
        "Hold the price, even if demand falls.",
        "Order more stock if needed.",
        "Order more, if any.",
        "If demand falls below 90.",
        "The gift was a gifted specific.",
        "If demand falls to 1,000",
        "But if demand falls below 90.",
    ],
)
def test_other_sentences_do_not(sentence: str) -> None:
    assert if_then_statements(sentence) == 0


def test_sentences_are_counted_once_each() -> None:
    note = (
        "# Rules\n"
        "If demand falls, cut the price; if it rises again, raise it.\n"
        "- If stock is low, order 100, if cash allows it.\n"
        "Week 3: sold 120 units. Hold if nothing else changes!\r\n"
        "Ask: what if they leave?"
    )
    assert if_then_statements(note) == 4
