"""How a script is played against a conversation, whatever the harness does to its replies."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.rehearsal.agents import AGENTS
from providers.rehearsal.agents.script import Desk, Script, Step, act, query
from providers.rehearsal.conversation import Call, ReplyTurn, Turn, UserTurn
from providers.rehearsal.performance import next_reply
from providers.rehearsal.replies import SpokenReply
from tests.providers.rehearsal.stage import NO_CALL, results, talk_of, turn_of

THOUGHT = "First I look, and then I act. " * 20
CUT = UserTurn("Your reply was cut off because it reached its output limit. Send complete calls.")
FINAL = UserTurn("Finalization has begun. You have at most 4 more replies in this window.")
RULES = "Finalization begins at 28 replies; a reply that is cut off runs nothing."


def planner(desk: Desk) -> Script:
    """Two queries, two settings, then words, then a setting that tells what it heard."""
    heard = yield Step(THOUGHT, (query("SELECT 1"), query("SELECT 2")), "Looking.")
    yield Step(
        "I set.", (act("set_operations", support_budget_cents=1), act("set_product", a=desk.digest))
    )
    yield Step("I talk.", words="All is well.")
    yield Step("I tell.", (act("write_file", content=" ".join(one.text for one in heard)),))


def asker(_: Desk) -> Script:
    """Asks and asks."""
    for number in range(100):
        yield Step("I ask.", (query(f"SELECT {number}"), act("set_operations", n=number)))


def names(reply: SpokenReply) -> list[str]:
    return [call.name for call in reply.calls]


def exchange(turns: list[Turn], *texts: str) -> None:
    """Let the planner reply, and answer its calls with these texts."""
    said = turn_of(next_reply(planner, talk_of(turns)))
    turns += [said, *results(said, list(texts))]


def test_a_script_goes_on_where_the_conversation_ends() -> None:
    turns: list[Turn] = []
    assert names(next_reply(planner, talk_of(turns))) == ["query_company", "query_company"]
    exchange(turns, "one", "two")
    assert names(next_reply(planner, talk_of(turns))) == ["set_operations", "set_product"]
    exchange(turns, "{}", "{}")
    assert next_reply(planner, talk_of(turns)).text == "All is well."
    exchange(turns)
    turns.append(NO_CALL)
    assert next_reply(planner, talk_of(turns)).calls[0].arguments == '{"content":"one two"}'
    exchange(turns, "{}")
    assert names(next_reply(planner, talk_of(turns))) == ["seal_decision"]


def test_the_digest_is_that_of_the_conversation_at_the_step() -> None:
    turns: list[Turn] = []
    exchange(turns, "one", "two")
    talk = talk_of(turns)
    said = next_reply(planner, talk)
    assert talk.place.hex() in said.calls[1].arguments
    exchange(turns, "{}", "{}")
    turns.append(UserTurn("By the way."))
    again = turns[-4]
    assert isinstance(again, ReplyTurn)
    assert talk.place.hex() in again.calls[1].arguments


@pytest.mark.parametrize("dropped", [True, False], ids=["left out", "kept"])
def test_a_reply_cut_in_its_reasoning_is_said_again_shorter(dropped: bool) -> None:
    whole = next_reply(planner, talk_of([]))
    tail: list[Turn] = [] if dropped else [ReplyTurn(whole.reasoning[:50], "", ())]
    again = next_reply(planner, talk_of([*tail, CUT]))
    assert len(again.reasoning) < 70
    assert again.text == ""
    assert again.calls == tuple(
        msgspec.structs.replace(call, call_id=new.call_id)
        for call, new in zip(whole.calls, again.calls, strict=True)
    )
    once_more = next_reply(planner, talk_of([*tail, CUT, *tail, CUT]))
    assert [call.arguments for call in once_more.calls] == [whole.calls[0].arguments]


def test_an_agent_does_not_try_the_impossible_for_ever() -> None:
    assert names(next_reply(planner, talk_of([CUT] * 3))) == ["query_company"]
    assert names(next_reply(planner, talk_of([CUT] * 4))) == ["seal_decision"]


def test_a_reply_cut_in_its_calls_is_said_again() -> None:
    whole = turn_of(next_reply(planner, talk_of([])))
    first, second = whole.calls
    half = ReplyTurn(whole.reasoning, "", (first, Call(second.call_id, second.name, '{"sq')))
    refusals = ["Not run: the reply was cut off before it was complete."] * 2
    turns: list[Turn] = [half, *results(half, refusals), CUT]
    again = next_reply(planner, talk_of(turns))
    assert [call.arguments for call in again.calls] == [first.arguments, second.arguments]
    turns.append(CUT)
    assert len(next_reply(planner, talk_of(turns)).calls) == 1
    exchange(turns, "one")
    assert next_reply(planner, talk_of(turns)).calls[0].arguments == second.arguments
    exchange(turns, "two")
    assert names(next_reply(planner, talk_of(turns))) == ["set_operations"]


def test_a_reply_cut_between_its_calls_ran_none_of_them() -> None:
    whole = turn_of(next_reply(planner, talk_of([])))
    half = ReplyTurn(whole.reasoning, "", whole.calls[:1])
    turns: list[Turn] = [half, *results(half, ["Not run: the reply was cut off."]), CUT]
    again = next_reply(planner, talk_of(turns))
    assert again.calls[0].arguments == whole.calls[0].arguments


def test_arguments_that_the_harness_mended_were_answered_all_the_same() -> None:
    whole = turn_of(next_reply(planner, talk_of([])))
    mended = [Call(call.call_id, call.name, "{}") for call in whole.calls]
    said = ReplyTurn(whole.reasoning, "", tuple(mended))
    turns: list[Turn] = [said, *results(said, ["one", "two"])]
    assert names(next_reply(planner, talk_of(turns))) == ["set_operations", "set_product"]


def test_one_call_at_a_time_loses_no_result() -> None:
    turns: list[Turn] = []
    for text in ("one", "two", "{}", "{}", "", "{}"):
        said = turn_of(next_reply(planner, talk_of(turns), one_call_at_a_time=True))
        assert len(said.calls) <= 1
        turns += [said, *results(said, [text])] if said.calls else [said, NO_CALL]
    assert said.calls[0].arguments == '{"content":"one two"}'


@pytest.mark.parametrize("by_result", [True, False], ids=["a refused query", "a message"])
def test_in_finalization_no_query_is_asked_and_the_seal_comes_soon(by_result: bool) -> None:
    said = turn_of(next_reply(asker, talk_of([])))
    refusal = '{"status": "rejected", "problems": ["query_company: refused during finalization"]}'
    turns: list[Turn] = [said, *results(said, [refusal if by_result else "{}", "{}"])]
    turns += [] if by_result else [FINAL]
    replies = 0
    while "seal_decision" not in names(reply := next_reply(asker, talk_of(turns))):
        assert names(reply) == ["set_operations"]
        said = turn_of(reply)
        turns += [said, *results(said, ["{}"])]
        replies += 1
    assert replies == 2
    assert names(reply) == ["seal_decision"]


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("query_company", '{"columns": ["note"], "rows": [["finalization began on day 3"]]}'),
        ("read_file", '{"text": "1\\tSeal early: finalization comes soon."}'),
        ("preview_decision", '{"finalization": false}'),
    ],
)
def test_the_word_alone_is_no_finalization(tool: str, text: str) -> None:
    def reader(_: Desk) -> Script:
        yield Step("I read.", (act(tool),))
        yield Step("I query.", (query("SELECT 1"),))

    said = turn_of(next_reply(reader, talk_of([])))
    assert names(next_reply(reader, talk_of([said, *results(said, [text])]))) == ["query_company"]


def test_a_refused_seal_drops_the_draft_and_holds() -> None:
    def sealer(_: Desk) -> Script:
        yield from ()

    turns: list[Turn] = []
    seen = []
    for text in ('{"status": "refused", "problems": ["1 cent short"]}', "{}", "{}"):
        said = turn_of(next_reply(sealer, talk_of(turns)))
        seen.append(said.calls[0].name)
        turns += [said, *results(said, [text])]
    assert seen == ["seal_decision", "reset_decision", "seal_decision"]
    assert "1 cent short" in turns[2].reasoning  # type: ignore[union-attr]


def test_a_conversation_that_somebody_else_began_is_closed() -> None:
    strange = ReplyTurn("", "", (Call("x", "reset_decision", "{}"),))
    turns: list[Turn] = [strange, *results(strange, ["{}"])]
    assert names(next_reply(planner, talk_of(turns))) == ["seal_decision"]


def test_without_thinking_there_is_no_reasoning() -> None:
    reply = next_reply(planner, talk_of([]), thinks=False)
    assert reply.reasoning == ""
    assert names(reply) == ["query_company", "query_company"]


def test_an_empty_conversation_is_answered() -> None:
    reply = next_reply(planner, talk_of([], frozenset()))
    assert reply.calls == ()
    assert reply.text == "Looking."


KEYS = st.text(max_size=3) | st.sampled_from(
    [
        "error",
        "problems",
        "status",
        "ok",
        "columns",
        "rows",
        "affordable",
        "cash_after_cents",
        "text",
    ]
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.floats(allow_nan=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)
CELLS = st.none() | st.integers(-(10**9), 10**9) | st.floats(-1e6, 1e6) | st.sampled_from("ABC")
COLUMNS = st.sampled_from(
    [
        "product_id",
        "price_cents",
        "cash_cents",
        "day",
        "segment_id",
        "mean",
        "variance",
        "tier",
        "tender_id",
        "units",
        "action",
        "channel",
        "reservation_price_cents",
        "status",
    ]
)


@st.composite
def tables(draw: st.DrawFn) -> dict[str, object]:
    """A table as a query returns it, with columns that agents look for and any cells."""
    columns = draw(st.lists(COLUMNS, min_size=1, max_size=8, unique=True))
    row = st.lists(CELLS, min_size=len(columns), max_size=len(columns))
    return {"columns": columns, "rows": draw(st.lists(row, max_size=4))}


@given(
    model=st.sampled_from(sorted(AGENTS)),
    answers=st.lists(st.one_of(JSON, tables()), min_size=1, max_size=12),
)
def test_no_answer_of_a_tool_stops_an_agent(model: str, answers: list[object]) -> None:
    turns: list[Turn] = []
    number = 0
    for _ in range(12):
        said = turn_of(next_reply(AGENTS[model], talk_of(turns)))
        texts = [
            json.dumps(answers[(number + place) % len(answers)]) for place in range(len(said.calls))
        ]
        number += len(said.calls)
        turns += [said, *results(said, texts)] if said.calls else [said, NO_CALL]
        if [call.name for call in said.calls] == ["seal_decision"]:
            return
    raise AssertionError(f"{model} does not come to an end")
