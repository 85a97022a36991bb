"""A gateway that follows a fault plan, asked over HTTP by our own provider."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from manifests.errors import InputError
from providers.contract import Fault, ProviderFault, Reply, Request, UserMessage
from providers.rehearsal import GatewayOptions, RunningGateway, start_gateway
from providers.rehearsal.conversation import Conversation, ReplyTurn, Turn, UserTurn, conversation
from providers.rehearsal.faults import FaultPlan, Striker, load_fault_plan
from tests.providers.asking import TOOLS, ask_at
from tests.providers.rehearsal.windows import PROTOCOLS, THINKING

ANALYST = "rehearsal-analyst"
HELLO = Request("You are the CEO.", (UserMessage("# company-1, day 7 of 500"),), TOOLS, 2_048)


def plan_of(*faults: dict[str, Any], seed: int = 0) -> FaultPlan:
    return FaultPlan.model_validate({"seed": seed, "faults": tuple(faults)}, strict=False)


def options(*faults: dict[str, Any]) -> GatewayOptions:
    return GatewayOptions(faults=plan_of(*faults))


def asked(gateway: RunningGateway, protocol: str = "chat", **changes: Any) -> Reply | Fault:
    """What one request comes to."""
    changes |= {"protocol": protocol, "options": THINKING[protocol]}
    try:
        return asyncio.run(ask_at(gateway.base_url, HELLO, model=ANALYST, **changes))
    except ProviderFault as error:
        return error.fault


REFUSALS: list[tuple[dict[str, Any], str, int, float | None]] = [
    ({"status": 429, "retry_after_seconds": 90.0}, "transient", 429, 90),
    (
        {"status": 429, "retry_after_seconds": 7200.0, "retry_after_form": "date"},
        "transient",
        429,
        7_200,
    ),
    (
        {"status": 503, "retry_after_seconds": 1.5, "retry_after_form": "milliseconds"},
        "transient",
        503,
        1.5,
    ),
    ({"status": 529, "code": "overloaded_error"}, "transient", 529, None),
    ({"status": 503, "page": True}, "transient", 503, None),
    ({"status": 408}, "transient", 408, None),
    ({"status": 409}, "transient", 409, None),
    ({"status": 425}, "transient", 425, None),
    ({"status": 500}, "transient", 500, None),
    ({"status": 400}, "bad_request", 400, None),
    ({"status": 400, "code": "context_length_exceeded"}, "too_long", 400, None),
    ({"status": 429, "code": "insufficient_quota"}, "refused", 429, None),
    ({"status": 401}, "refused", 401, None),
    ({"status": 403}, "refused", 403, None),
    ({"status": 404, "code": "model_not_found"}, "refused", 404, None),
    ({"status": 413}, "too_long", 413, None),
]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_refusal_of_a_plan_is_what_its_code_and_status_say(protocol: str) -> None:
    rules = [
        {"fault": "refuse", "requests": (number,), **said}
        for number, (said, *_) in enumerate(REFUSALS, start=1)
    ]
    with start_gateway(options(*rules)) as gateway:
        for said, kind, status, wait in REFUSALS:
            fault = asked(gateway, protocol)
            assert isinstance(fault, Fault), said
            assert (fault.kind, fault.status) == (kind, status), said
            # An HTTP date is in whole seconds, and the second may turn between the two ends.
            assert fault.retry_after_seconds == pytest.approx(wait, abs=1), said
        assert isinstance(asked(gateway, protocol), Reply)
        counted = gateway.statistics()["faults"]
    assert counted["refuse 429"] == 3
    assert sum(counted.values()) == len(REFUSALS)


BROKEN: list[tuple[dict[str, Any], str, str, bool]] = [
    ({"fault": "cut-stream"}, "transient", "connection_broken", True),
    ({"fault": "cut-stream", "after": 0.0}, "transient", "connection_broken", True),
    ({"fault": "cut-stream", "after": 1.0}, "transient", "connection_broken", True),
    ({"fault": "stall-stream", "seconds": 0.1}, "transient", "connection_broken", True),
    ({"fault": "error-in-stream"}, "transient", "server_error", True),
    (
        {"fault": "error-in-stream", "code": "insufficient_quota"},
        "refused",
        "insufficient_quota",
        True,
    ),
]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_streams_that_break_are_faults_and_never_short_replies(protocol: str) -> None:
    rules = [{"requests": (n,), **said} for n, (said, *_) in enumerate(BROKEN, start=1)]
    with start_gateway(options(*rules)) as gateway:
        for said, kind, code, billed in BROKEN:
            fault = asked(gateway, protocol)
            assert isinstance(fault, Fault), said
            assert (fault.kind, fault.code, fault.maybe_billed) == (kind, code, billed), said
        counted = gateway.statistics()
    assert (counted["requests"], counted["replies"]) == (len(BROKEN), 0)


def test_a_stall_ends_with_the_clients_own_deadline() -> None:
    with start_gateway(options({"fault": "stall-stream", "requests": (1,)})) as gateway:
        fault = asked(gateway, within_seconds=0.5)
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.code, fault.maybe_billed) == ("transient", "timeout", True)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_reply_of_another_model_is_an_identity_error_that_names_both(protocol: str) -> None:
    with start_gateway(options({"fault": "other-model", "requests": (1,)})) as gateway:
        fault = asked(gateway, protocol)
    assert isinstance(fault, Fault)
    assert fault.kind == "identity"
    assert ANALYST in fault.message
    assert "rehearsal-default" in fault.message


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_replies_are_spoilt_as_the_plan_says(protocol: str) -> None:
    names = [
        "leave-out-usage",
        "cut-by-length",
        "empty-reply",
        "bad-arguments",
        "unknown-tool",
        # The other protocols take no two calls of one id back.
        *(["doubled-call-ids"] if protocol == "chat" else []),
    ]
    rules = [{"fault": name, "requests": (n,)} for n, name in enumerate(names, start=1)]
    with start_gateway(options(*rules)) as gateway:
        replies = dict(zip(names, (asked(gateway, protocol) for _ in names), strict=True))
        plain = asked(gateway, protocol)
    assert isinstance(plain, Reply)
    assert plain.usage is not None
    assert all(isinstance(each, Reply) for each in replies.values())
    found: dict[str, Any] = replies
    assert found["leave-out-usage"].usage is None
    assert found["cut-by-length"].stop == "length"
    assert found["cut-by-length"].usage.output_tokens == 24
    assert (found["empty-reply"].text, found["empty-reply"].tool_calls) == ("", ())
    assert found["bad-arguments"].tool_calls[0].arguments.startswith('{"cut": "')
    assert found["unknown-tool"].tool_calls[0].name == "get_weather"
    if protocol == "chat":
        ids = [call.call_id for call in found["doubled-call-ids"].tool_calls]
        assert len(ids) > 1
        assert len(set(ids)) == 1


# --- whom a plan strikes --------------------------------------------------------------------------


def talk(*turns: Turn, model: str = ANALYST, heading: str = "# company-3, day 14") -> Conversation:
    return conversation(model, ["You are the CEO."], [UserTurn(heading), *turns], ["look"])


def test_a_rate_strikes_its_share_whatever_the_order() -> None:
    plan = plan_of({"fault": "cut-stream", "rate": 0.05}, seed=7)
    talks = [talk(heading=f"# company-1, day {day}") for day in range(2_000)]
    forward, backward = Striker(plan), Striker(plan)
    struck = [forward.strike(each).rule is not None for each in talks]
    assert 60 < sum(struck) < 140
    assert struck == [backward.strike(each).rule is not None for each in reversed(talks)][::-1]
    other = Striker(plan_of({"fault": "cut-stream", "rate": 0.05}, seed=8))
    assert struck != [other.strike(each).rule is not None for each in talks]


def test_a_request_that_is_struck_is_not_struck_for_ever() -> None:
    striker = Striker(plan_of({"fault": "cut-stream", "rate": 0.5}))
    assert {striker.strike(talk()).rule is None for _ in range(64)} == {True, False}


def test_a_window_is_struck_at_its_replies_and_so_many_times() -> None:
    plan = plan_of(
        {
            "fault": "refuse",
            "status": 400,
            "windows": ({"day": 14, "seat": 3},),
            "replies": (2,),
            "times": 2,
        }
    )
    striker = Striker(plan)
    second = talk(ReplyTurn("", "Well.", ()), UserTurn("Go on."))
    assert striker.strike(talk()).rule is None
    assert [striker.strike(second).rule is not None for _ in range(4)] == [True, True, False, False]
    assert striker.strike(talk(heading="# company-4, day 14")).rule is None
    another_run = talk(
        ReplyTurn("", "Well.", ()), UserTurn("Go on."), heading="# company-3, day 14\nother books"
    )
    assert striker.strike(another_run).rule is not None


def test_routes_are_counted_and_struck_each_for_itself() -> None:
    striker = Striker(plan_of({"fault": "cut-stream", "routes": (ANALYST,), "requests": (2,)}))
    assert striker.strike(talk(model="rehearsal-trader")).rule is None
    assert striker.strike(talk()).rule is None
    assert striker.strike(talk(model="rehearsal-trader")).rule is None
    assert striker.strike(talk()).rule is not None


# --- the file -------------------------------------------------------------------------------------


def test_a_plan_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "faults.toml"
    file.write_text(
        "seed = 3\n"
        '[[faults]]\nfault = "refuse"\nstatus = 429\nretry_after_seconds = 90\nrate = 0.02\n'
        '[[faults]]\nfault = "cut-stream"\nwindows = [{ day = 14, seat = 3 }]\nreplies = [2]\n',
        encoding="utf-8",
    )
    plan = load_fault_plan(file)
    assert (plan.seed, [rule.fault for rule in plan.faults]) == (3, ["refuse", "cut-stream"])
    # As the gateway's process is given it.
    assert FaultPlan.model_validate_json(plan.model_dump_json()) == plan


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[faults]", "not valid TOML"),
        ('[[faults]]\nfault = "refuse"\nstatus = 200\nrate = 0.1', "status"),
        ('[[faults]]\nfault = "cut-stream"', "give one of rate, requests and windows"),
        ('[[faults]]\nfault = "cut-stream"\nrate = 0.1\nrequests = [1]', "give one of"),
        ('[[faults]]\nfault = "cut-stream"\nrate = 0.1\ntimes = 2', "belong to windows"),
        ('[[faults]]\nfault = "explode"\nrate = 0.1', "explode"),
        ('[[faults]]\nfault = "cut-stream"\nrate = 1.5', "rate"),
        ("speed = 3", "speed"),
    ],
)
def test_a_plan_that_cannot_be_followed_is_refused(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "faults.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_fault_plan(file)
    assert told in str(caught.value)


def test_a_plan_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        load_fault_plan(tmp_path / "none.toml")
