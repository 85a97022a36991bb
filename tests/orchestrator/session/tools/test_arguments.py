"""What a model may write for arguments, and what it is told when it may not."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.decision import LARGEST_AMOUNT
from orchestrator.session.tools import run_tool, tool_definitions
from orchestrator.session.tools.arguments import ARGUMENTS_CHARACTERS
from tests.orchestrator.session.tools.desk import Desk, context, problems

SCHEMAS = {definition.name: definition.parameters for definition in tool_definitions()}

# A complete call of each tool that takes arguments, valid at the first boundary or not.
CALLS: dict[str, dict[str, Any]] = {
    "query_company": {"sql": "SELECT 1", "parameters": [], "row_limit": 5},
    "set_product": {
        "product_id": "A",
        "price_cents": 4100,
        "promotion_cents": 100,
        "reorder_target": 500,
        "daily_development_budget_cents": 1000,
    },
    "set_marketing": {"segment_id": "value", "channel": "search", "daily_budget_cents": 100},
    "set_operations": {"reliability_budget_cents": 1, "support_budget_cents": 2},
    "start_research_project": {"tier": 1},
    "expand_capacity": {"target_tier": 1},
    "downsize_capacity": {"target_tier": 0},
    "cancel_capacity_project": {"project_id": "capacity-000"},
    "submit_enterprise_bid": {"tender_id": "tender-000", "unit_price_cents": 4000},
    "request_market_research": {"segment_id": "value", "level": 1},
    "read_file": {"path": "MEMORY.md", "offset": 1, "limit": 10},
    "write_file": {"path": "MEMORY.md", "content": "text"},
    "edit_file": {"path": "MEMORY.md", "old_string": "a", "new_string": "b"},
    "search_files": {"pattern": "a", "path": "MEMORY.md", "glob": "*"},
    "glob_files": {"pattern": "*"},
    "preview_decision": {},
    "reset_decision": {},
    "seal_decision": {},
}

INTEGERS = [
    (tool, field)
    for tool, arguments in CALLS.items()
    for field in arguments
    if SCHEMAS[tool]["properties"][field].get("type") == "integer"
]
TEXTS = [
    (tool, field)
    for tool, arguments in CALLS.items()
    for field in arguments
    if SCHEMAS[tool]["properties"][field].get("type") == "string"
]
FIELDS = [(tool, field) for tool, arguments in CALLS.items() for field in arguments]


def rejected(tool: str, arguments: dict[str, Any] | str) -> str:
    """The problems of a call that must change nothing."""
    desk = Desk()
    desk.call("set_product", product_id="B", price_cents=7700)
    desk.call("write_file", path="notes.md", content="kept")
    before = desk.context
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    found = problems(desk.write(tool, text))
    assert desk.context == before
    assert not desk.last.ok
    assert desk.last.draft_change is None
    assert desk.last.file_change is None
    assert desk.last.decision is None
    return found


def test_every_tool_is_called_here() -> None:
    assert list(CALLS) == list(SCHEMAS)
    assert len(INTEGERS) + len(TEXTS) == len(FIELDS) - 1  # parameters may be two things


@pytest.mark.parametrize(("tool", "field"), INTEGERS)
@pytest.mark.parametrize(
    ("literal", "received"),
    [
        ("5.0", "5.0"),
        ("19.99", "19.99"),
        ("1e2", "100.0"),
        ('"5"', '"5"'),
        ("true", "true"),
        ("[5]", "a list with 1 members"),
        ('{"a":5}', "an object with 1 members"),
        ("-1", "-1"),
        ("-0.0", "-0.0"),
        (str(2**53), str(2**53)),
        ("9" * 5000, "an integer of 5000 digits"),
        ("1e999", "a number beyond double precision"),
        ("null", "null"),
    ],
)
def test_an_integer_is_an_integer(tool: str, field: str, literal: str, received: str) -> None:
    schema = SCHEMAS[tool]["properties"][field]
    arguments = json.dumps(CALLS[tool] | {field: "?"}).replace('"?"', literal)
    allowed = f"an integer from {schema['minimum']} to {schema['maximum']}"
    found = rejected(tool, arguments)
    assert found.startswith(f"{field}: must be {allowed}")
    assert found.endswith(f"; received {received}")


@pytest.mark.parametrize(("tool", "field"), INTEGERS)
def test_an_integer_is_not_below_its_least_value(tool: str, field: str) -> None:
    least = SCHEMAS[tool]["properties"][field]["minimum"]
    found = rejected(tool, CALLS[tool] | {field: least - 1})
    assert found.startswith(f"{field}: must be an integer from {least} to ")


@pytest.mark.parametrize(("tool", "field"), TEXTS)
@pytest.mark.parametrize("value", [5, 5.0, True, [], {}, None])
def test_a_text_is_a_text(tool: str, field: str, value: object) -> None:
    found = rejected(tool, CALLS[tool] | {field: value})
    assert found.startswith(f"{field}: must be a string of ")
    assert "; received " in found


@pytest.mark.parametrize(("tool", "field"), TEXTS)
@pytest.mark.parametrize("text", ["a\0b", "\ud800", "a\udfff", "\udc00\ud800"])
def test_a_text_can_be_stored(tool: str, field: str, text: str) -> None:
    found = rejected(tool, CALLS[tool] | {field: text})
    assert found == f"{field}: must be Unicode text without NUL and without lone surrogates"


@pytest.mark.parametrize(("tool", "field"), TEXTS)
def test_a_text_is_bounded(tool: str, field: str) -> None:
    longest = SCHEMAS[tool]["properties"][field]["maxLength"]
    found = rejected(tool, CALLS[tool] | {field: "x" * (longest + 1)})
    assert found.startswith(f"{field}: must be a string of ")
    assert f"{longest} characters; received " in found
    assert len(found) < 400


@pytest.mark.parametrize(("tool", "field"), FIELDS)
def test_what_is_required(tool: str, field: str) -> None:
    arguments = {name: value for name, value in CALLS[tool].items() if name != field}
    desk = Desk()
    shown = desk.call(tool, **arguments)
    if field in SCHEMAS[tool].get("required", []):
        assert problems(shown).startswith(f"{field}: must be given, as ")
    else:
        assert not any(line.startswith(f"{field}:") for line in shown.get("problems", []))


@pytest.mark.parametrize("tool", CALLS)
@pytest.mark.parametrize("field", ["run_id", "company_id", "world_version", "company", "version"])
def test_nobody_names_what_the_session_is_bound_to(tool: str, field: str) -> None:
    found = rejected(tool, CALLS[tool] | {field: "company-1"})
    assert found.startswith(f"{field}: is not an argument of this tool; its arguments are: ")
    assert "bound to its company and its window" in found


@pytest.mark.parametrize("tool", CALLS)
def test_an_unknown_field_is_named_beside_those_that_exist(tool: str) -> None:
    found = rejected(tool, CALLS[tool] | {"force": True})
    known = ", ".join(SCHEMAS[tool]["properties"]) or "none"
    assert found == f"force: is not an argument of this tool; its arguments are: {known}"


@pytest.mark.parametrize("tool", CALLS)
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "one valid JSON object; received 1 characters that are not JSON at character 2"),
        ('{"a":1,}', "must be one valid JSON object"),
        ("{'a':1}", "must be one valid JSON object"),
        ("tier=1", "must be one valid JSON object"),
        ("{} {}", "must be one valid JSON object"),
        ('{"a":"line\nfeed"}', "must be one valid JSON object"),
        ('{"a":"\0"}', "must be one valid JSON object"),
        ("\ufeff{}", "must be one valid JSON object"),
        ("\ud800", "must be one valid JSON object"),
        ("[]", "must be one JSON object; received a list with 0 members"),
        ("null", "must be one JSON object; received null"),
        ('"{}"', 'must be one JSON object; received "{}"'),
        ('{"a":NaN}', "must be JSON, which has no NaN"),
        ('{"a":-Infinity}', "must be JSON, which has no -Infinity"),
        ("[" * 1_000_000, "must be one JSON object; received too deep a nesting"),
        ('{"a":' * 200_000, "must be one JSON object; received too deep a nesting"),
        (" " * (ARGUMENTS_CHARACTERS + 1), f"must have at most {ARGUMENTS_CHARACTERS} characters"),
    ],
)
def test_arguments_are_one_json_object(tool: str, text: str, reason: str) -> None:
    found = rejected(tool, text)
    assert found.startswith("arguments: ")
    assert reason in found
    assert len(found) < 400


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ('{"product_id":"A","price_cents":1,"price_cents":1}', "price_cents"),
        ('{"product_id":"A","price_cents":{"x":1,"x":2}}', "x"),
        ('{"product_id":"A","product_id":"B","price_cents":1}', "product_id"),
        ('{"\\u0000":1,"\\u0000":2}', '"\\u0000"'),
    ],
)
def test_a_key_stands_once(text: str, field: str) -> None:
    assert rejected("set_product", text) == (
        f"{field}: must be written once; received it more than once"
    )


@pytest.mark.parametrize("text", ["", " ", "\n", "{}", " { } "])
def test_a_tool_without_arguments_may_be_called_with_none(text: str) -> None:
    for tool in ("preview_decision", "reset_decision", "seal_decision"):
        assert Desk().write(tool, text)["status"] in ("preview", "reset", "sealed")


def test_all_problems_of_a_call_come_at_once() -> None:
    found = rejected(
        "set_product", {"price_cents": 5.0, "promotion_cents": -1, "reorder_target": None, "x": 1}
    )
    assert {line.split(":")[0] for line in found.splitlines()} == {
        "product_id",
        "price_cents",
        "promotion_cents",
        "reorder_target",
        "x",
    }


def test_a_flood_of_problems_is_cut() -> None:
    found = rejected("seal_decision", {f"field_{number}": 1 for number in range(1000)})
    assert len(found.splitlines()) == 9
    assert found.endswith("and 992 more problems")
    long_name = rejected("seal_decision", {"x" * 100_000: 1, "\ud800\0": 1})
    assert len(long_name) < 500
    assert long_name.isascii()


@pytest.mark.parametrize("name", ["", "set_prices", "SEAL_DECISION", "seal_decision ", "\0\ud800"])
def test_an_unknown_tool_names_those_that_exist(name: str) -> None:
    outcome = run_tool(context(), name, "{}")
    found = problems(json.loads(outcome.text))
    assert found.startswith("tool: must be one of query_company, set_product, ")
    assert all(tool in found for tool in CALLS)
    assert found.endswith(f"; received {json.dumps(name)}")


def test_the_name_of_an_unknown_tool_is_not_repeated_whole() -> None:
    assert len(run_tool(context(), "x" * 1_000_000, "{}").text) < 1000


def test_amounts_have_no_other_limit_than_json() -> None:
    for amount in (0, 10_000, 7_500_000, LARGEST_AMOUNT):
        shown = Desk().call("set_product", product_id="A", reorder_target=amount)
        assert shown["effect"][0]["to"] == amount


scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.sampled_from(["A", "value", "search", "MEMORY.md", "tender-000", "capacity-000", "a|b"])
    | st.text(max_size=20)
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner)
)
field_names = st.sampled_from(
    sorted({field for arguments in CALLS.values() for field in arguments} | {"run_id", ""})
)
objects = st.dictionaries(field_names, values, max_size=6)
arguments_texts = st.one_of(
    st.text(st.characters()),
    objects.map(json.dumps),
    objects.map(lambda value: json.dumps(value, ensure_ascii=False)[:-1]),
    values.map(json.dumps),
)


@given(st.sampled_from(list(CALLS)), arguments_texts, st.booleans())
def test_nothing_that_a_model_writes_raises_or_changes_a_draft_by_failing(
    tool: str, text: str, finalizing: bool
) -> None:
    desk = Desk(context()._replace(finalizing=finalizing))
    desk.call("set_product", product_id="B", price_cents=7700)
    desk.call("write_file", path="MEMORY.md", content="kept")
    before = desk.context
    desk.write(tool, text)
    outcome = desk.last
    outcome.text.encode()
    if outcome.ok:
        return
    assert (outcome.draft, outcome.files) == (before.draft, before.files)
    assert outcome.draft_change is None
    assert outcome.file_change is None
    assert outcome.decision is None


@given(st.sampled_from(FIELDS), values)
def test_a_value_is_taken_as_it_is_or_named(place: tuple[str, str], value: object) -> None:
    tool, field = place
    desk = Desk()
    shown = desk.write(tool, json.dumps(CALLS[tool] | {field: value}))
    schema = SCHEMAS[tool]["properties"][field]
    if schema.get("type") == "integer" and (
        isinstance(value, bool | float) or not isinstance(value, int) or value < schema["minimum"]
    ):
        assert problems(shown).startswith((f"{field}: ", "arguments: "))
    if schema.get("type") == "string" and not isinstance(value, str):
        assert problems(shown).startswith((f"{field}: ", "arguments: "))
