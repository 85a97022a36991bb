"""What models are told of the tools."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from engine.decision import LARGEST_AMOUNT
from manifests.canonical import canonical_json, digest
from orchestrator.session.tools import tool_definitions, tools_hash
from providers.contract import ToolDefinition

# interface.md section 2: name -> arguments, optional ones with a question mark.
CONTRACT = {
    "query_company": ["sql", "parameters?", "row_limit?"],
    "set_product": [
        "product_id",
        "price_cents?",
        "promotion_cents?",
        "reorder_target?",
        "daily_development_budget_cents?",
    ],
    "set_marketing": ["segment_id", "channel", "daily_budget_cents"],
    "set_operations": ["reliability_budget_cents?", "support_budget_cents?"],
    "start_research_project": ["tier"],
    "expand_capacity": ["target_tier"],
    "downsize_capacity": ["target_tier"],
    "cancel_capacity_project": ["project_id"],
    "submit_enterprise_bid": ["tender_id", "unit_price_cents"],
    "request_market_research": ["segment_id", "level"],
    "read_file": ["path", "offset?", "limit?"],
    "write_file": ["path", "content"],
    "edit_file": ["path", "old_string", "new_string"],
    "search_files": ["pattern", "path?", "glob?"],
    "glob_files": ["pattern"],
    "preview_decision": [],
    "reset_decision": [],
    "seal_decision": [],
}

DEFINITIONS = {definition.name: definition for definition in tool_definitions()}

each_definition = pytest.mark.parametrize("definition", DEFINITIONS.values(), ids=DEFINITIONS)


def test_the_tools_of_the_contract_in_its_order() -> None:
    assert list(DEFINITIONS) == list(CONTRACT)


@each_definition
def test_arguments_are_those_of_the_contract(definition: ToolDefinition) -> None:
    schema = definition.parameters
    required = schema.get("required", [])
    names = [name if name in required else f"{name}?" for name in schema["properties"]]
    assert names == CONTRACT[definition.name]
    assert set(required) <= schema["properties"].keys()


@each_definition
def test_a_schema_is_closed_and_holds_nothing_superfluous(definition: ToolDefinition) -> None:
    schema = definition.parameters
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    for node in nodes(schema):
        assert not {"$defs", "$ref", "allOf"} & node.keys()
        assert node.get("default", 0) is not None
        assert not isinstance(node.get("title"), str)


@each_definition
def test_everything_is_described(definition: ToolDefinition) -> None:
    assert len(definition.description) > 60
    for name, field in definition.parameters["properties"].items():
        description = field["description"]
        assert description.endswith(".")
        assert "anyOf" in field or isinstance(field["type"], str)
        if name.endswith("_cents"):
            assert "US cents" in description
            assert "0 " in description
            assert (field["minimum"], field["maximum"]) == (0, LARGEST_AMOUNT)


@each_definition
def test_every_integer_and_text_is_bounded(definition: ToolDefinition) -> None:
    for field in definition.parameters["properties"].values():
        if field.get("type") == "integer":
            assert field["maximum"] <= LARGEST_AMOUNT
        if field.get("type") == "string":
            assert field["maxLength"] > 0


def test_what_is_counted_from_one_and_what_from_zero() -> None:
    counted = {
        (tool, name): field["minimum"]
        for tool, definition in DEFINITIONS.items()
        for name, field in definition.parameters["properties"].items()
        if field.get("type") == "integer"
    }
    from_one = {place for place, minimum in counted.items() if minimum == 1}
    assert from_one == {
        ("query_company", "row_limit"),
        ("start_research_project", "tier"),
        ("request_market_research", "level"),
        ("read_file", "offset"),
        ("read_file", "limit"),
    }
    assert set(counted.values()) == {0, 1}


def test_no_tool_names_what_the_session_is_bound_to() -> None:
    names = {name for arguments in CONTRACT.values() for name in arguments}
    assert not {
        name for name in names if any(part in name for part in ("run", "company", "version"))
    }


def test_no_description_calls_a_staged_change_done() -> None:
    for definition in DEFINITIONS.values():
        assert "Staging only changes" in definition.description or not (
            definition.description.startswith("Stage")
        )


def test_the_hash_covers_names_descriptions_and_schemas() -> None:
    plain = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        for tool in tool_definitions()
    ]
    assert tools_hash() == digest(plain)
    canonical_json(plain)


def test_the_hash_is_the_same_in_every_process() -> None:
    program = "from orchestrator.session.tools import tools_hash; print(tools_hash())"
    for seed in ("0", "4242"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == tools_hash()


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Every schema inside a schema, itself first."""
    if isinstance(schema, dict):
        yield schema
        for value in schema.values():
            yield from nodes(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from nodes(value)
