"""Reasoning has to come back whole and in place over Responses and Messages too."""

import asyncio
import json
from collections.abc import Callable

import pytest

from providers.contract import ProviderFault, Request, ToolResult
from providers.rehearsal import GatewayOptions, RunningGateway, start_gateway
from tests.providers.asking import KEY, KEY_VARIABLE, ask_at
from tests.providers.rehearsal.client import SYSTEM
from tests.providers.rehearsal.windows import PROTOCOLS, TOOLS, played
from tests.providers.rehearsal.wires import (
    ANALYST,
    Wire,
    post,
)


@pytest.fixture(scope="module")
def sent(gateway: RunningGateway) -> dict[str, Wire]:
    """The last request of a window, by protocol."""
    return {
        protocol: json.loads(played(gateway.base_url, protocol, "rehearsal-trader").last_wire)
        for protocol in ("responses", "messages")
    }


def items(body: Wire, kind: str) -> list[Wire]:
    return [item for item in body["input"] if item["type"] == kind]


def thoughts(body: Wire) -> list[tuple[list[Wire], Wire]]:
    """(the blocks, the thought among them) of each reply."""
    replies = [turn["content"] for turn in body["messages"] if turn["role"] == "assistant"]
    return [(blocks, blocks[0]) for blocks in replies]


def _key(block: Wire) -> str:
    return "signature" if block["type"] == "thinking" else "data"


def lose_reasoning(body: Wire) -> None:
    body["input"].remove(items(body, "reasoning")[0])


def empty_reasoning(body: Wire) -> None:
    del items(body, "reasoning")[0]["encrypted_content"]


def change_reasoning(body: Wire) -> None:
    item = items(body, "reasoning")[0]
    item["encrypted_content"] = "A" + item["encrypted_content"][1:]


def exchange_reasoning(body: Wire) -> None:
    first, second = items(body, "reasoning")[:2]
    first["encrypted_content"], second["encrypted_content"] = (
        second["encrypted_content"],
        first["encrypted_content"],
    )


def move_reasoning(body: Wire) -> None:
    item = items(body, "reasoning")[0]
    place = body["input"].index(item)
    body["input"][place], body["input"][place + 1] = body["input"][place + 1], item


def rename_a_call(body: Wire) -> None:
    items(body, "function_call")[0]["id"] = "fc_other"


def lose_an_id(body: Wire) -> None:
    del items(body, "function_call")[0]["id"]


def lose_an_output(body: Wire) -> None:
    body["input"].remove(items(body, "function_call_output")[0])


def lose_a_call_item(body: Wire) -> None:
    body["input"].remove(items(body, "function_call")[0])


def change_an_output(body: Wire) -> None:
    items(body, "function_call_output")[0]["output"] += " "


@pytest.mark.parametrize(
    ("damage", "status", "words"),
    [
        (lose_reasoning, 400, "was provided without its required 'reasoning' item: 'rs_"),
        (empty_reasoning, 404, "Items are not persisted when `store` is set to false"),
        (change_reasoning, 400, "could not be verified"),
        (exchange_reasoning, 400, "could not be verified"),
        (move_reasoning, 400, "of type 'reasoning' was provided without its required following"),
        (rename_a_call, 400, "Invalid 'fc_other'"),
        (lose_an_id, 400, "without its required following item"),
        (lose_an_output, 400, "No tool output found for function call call_"),
        (lose_a_call_item, 400, "No tool call found for function call output with call_id"),
        (change_an_output, 400, "could not be verified"),
    ],
)
def test_items_come_back_whole_and_in_place(
    gateway: RunningGateway,
    sent: dict[str, Wire],
    damage: Callable[[Wire], None],
    status: int,
    words: str,
) -> None:
    body = json.loads(json.dumps(sent["responses"]))
    assert post(gateway, "responses", body).status_code == 200
    damage(body)
    response = post(gateway, "responses", body)
    assert response.status_code == status
    error = response.json()["error"]
    assert words in error["message"]
    assert set(error) == {"message", "type", "param", "code"}


def lose_thought(body: Wire) -> None:
    thoughts(body)[0][0].pop(0)


def change_thought(body: Wire) -> None:
    for _, thought in thoughts(body):
        if thought["type"] == "thinking":
            thought["thinking"] += " "


def change_signature(body: Wire) -> None:
    thought = thoughts(body)[0][1]
    thought[_key(thought)] = "QUJD"


def exchange_thoughts(body: Wire) -> None:
    (first, one), (second, two) = thoughts(body)[:2]
    first[0], second[0] = two, one


def put_thought_behind(body: Wire) -> None:
    blocks, thought = thoughts(body)[0]
    blocks.remove(thought)
    blocks.insert(1, thought)


def double_thought(body: Wire) -> None:
    blocks, thought = thoughts(body)[0]
    blocks.insert(0, dict(thought))


def end_with_thought(body: Wire) -> None:
    blocks, thought = thoughts(body)[0]
    blocks[:] = [thought]


def lose_a_result(body: Wire) -> None:
    body["messages"][2]["content"].pop(0)


def put_a_result_last(body: Wire) -> None:
    content = body["messages"][2]["content"]
    content.insert(0, {"type": "text", "text": "Here they are."})


def result_of_nothing(body: Wire) -> None:
    body["messages"][0]["content"].insert(
        0, {"type": "tool_result", "tool_use_id": "toolu_x", "content": ""}
    )


def change_the_system(body: Wire) -> None:
    body["system"][0]["text"] += "!"


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lose_thought, "Expected `thinking` or `redacted_thinking`, but found `tool_use`"),
        (change_thought, "Invalid `signature` in `thinking` block"),
        (change_signature, "Invalid `"),
        (exchange_thoughts, "The block is bound to a different conversation"),
        (put_thought_behind, "Expected `thinking` or `redacted_thinking`"),
        (double_thought, "cannot be modified"),
        (end_with_thought, "The final block in an assistant message cannot be `thinking`"),
        (lose_a_result, "without `tool_result` blocks immediately after"),
        (put_a_result_last, "without `tool_result` blocks immediately after"),
        (result_of_nothing, "unexpected `tool_use_id` found in `tool_result` blocks: toolu_x"),
        (change_the_system, "The block is bound to a different conversation"),
    ],
)
def test_blocks_come_back_whole_and_in_place(
    gateway: RunningGateway, sent: dict[str, Wire], damage: Callable[[Wire], None], words: str
) -> None:
    body = json.loads(json.dumps(sent["messages"]))
    assert post(gateway, "messages", body).status_code == 200
    damage(body)
    response = post(gateway, "messages", body)
    assert response.status_code == 400
    answer = response.json()
    assert answer["type"] == "error"
    assert answer["error"]["type"] == "invalid_request_error"
    assert words in answer["error"]["message"]
    assert answer["request_id"] == response.headers["request-id"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_gateway_that_comes_after_takes_what_the_last_one_signed(
    gateway: RunningGateway, protocol: str
) -> None:
    last = played(gateway.base_url, protocol, ANALYST).last_wire
    with start_gateway() as successor:
        assert post(successor, protocol, last).status_code == 200
    with start_gateway(GatewayOptions(signing_key="another")) as stranger:
        assert post(stranger, protocol, last).status_code == 400


def test_reasoning_that_another_account_encrypted_is_said_to_be_of_another_key(
    gateway: RunningGateway,
) -> None:
    window = played(gateway.base_url, "responses", ANALYST)
    first = window.replies[0]
    results = [message for message in window.messages if isinstance(message, ToolResult)]
    talk = (*window.messages[:2], *results[: len(first.tool_calls)])
    request = Request(SYSTEM, talk, TOOLS, 4_096, key_mark=first.key_mark)

    def fault(key: str) -> tuple[str, str | None, str]:
        with (
            start_gateway(GatewayOptions(signing_key="another account")) as other,
            pytest.raises(ProviderFault) as caught,
        ):
            asyncio.run(
                ask_at(
                    other.base_url,
                    request,
                    protocol="responses",
                    model=ANALYST,
                    environment={KEY_VARIABLE: key},
                )
            )
        found = caught.value.fault
        return found.kind, found.code, found.message

    assert fault(KEY)[:2] == ("bad_request", "invalid_encrypted_content")
    kind, code, message = fault("canary-of-another-account")
    assert (kind, code) == ("refused", "credentials_changed")
    assert f"another key than {KEY_VARIABLE} holds now" in message
