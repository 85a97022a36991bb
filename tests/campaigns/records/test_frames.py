"""Record tables as frames: every column in order, nothing lost on the way there and back."""

from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

from campaigns.plan import plan
from campaigns.records import (
    TABLES,
    NoteRecord,
    Record,
    ReplyRecord,
)
from campaigns.records.frames import column_types, from_frame, to_frame
from tests.campaigns.builders import campaign, outcome

RUN = plan(campaign(("ada",), seeds=[1])).runs[0]
LARGEST = 2**63 - 1


def reply(**changes: Any) -> ReplyRecord:
    fields: dict[str, Any] = {
        "run_id": "r",
        "world_version": 0,
        "seat": 1,
        "candidate": "ada",
        "attempt": 0,
        "request": 1,
        "is_late": False,
        "requested_model": "m",
        "returned_model": "m",
        "build": None,
        "request_id": None,
        "stop": "finished",
        "tool_calls": 0,
        "input_tokens": None,
        "cached_input_tokens": None,
        "output_tokens": None,
        "reasoning_tokens": None,
        "cache_written_tokens": None,
        "latency_seconds": 1.5,
        "first_token_seconds": None,
    }
    return ReplyRecord(**(fields | changes))


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_every_table_has_typed_columns_also_without_rows(table: type[Record]) -> None:
    frame = to_frame(table, [])
    assert tuple(frame.columns) == table.__struct_fields__
    assert frame.schema == pl.Schema(column_types(table))


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_every_table_has_a_schema_that_can_be_published(table: type[Record]) -> None:
    (definition,) = msgspec.json.schema(table)["$defs"].values()
    assert tuple(definition["properties"]) == table.__struct_fields__
    assert definition["description"]
    assert definition["additionalProperties"] is False


def test_amounts_and_absent_values_survive_parquet(tmp_path: Path) -> None:
    # A number that a float would round, beside a null in the same column.
    rows = [
        outcome(RUN, 1, LARGEST, revenue_cents=0, terminal_cash_cents=0),
        outcome(RUN, 1, -LARGEST, revenue_cents=0, terminal_cash_cents=0, exit_day=3),
    ]
    file = tmp_path / "outcomes.parquet"
    to_frame(type(rows[0]), rows).write_parquet(file)
    assert list(from_frame(type(rows[0]), pl.read_parquet(file))) == rows


def test_usage_that_was_not_sent_is_null_and_not_zero() -> None:
    rows = [reply(), reply(input_tokens=5)]
    frame = to_frame(ReplyRecord, rows)
    assert frame["input_tokens"].to_list() == [None, 5]
    assert list(from_frame(ReplyRecord, frame)) == rows


def test_a_frame_with_other_columns_is_refused() -> None:
    frame = to_frame(ReplyRecord, [reply()])
    with pytest.raises(msgspec.ValidationError):
        list(from_frame(ReplyRecord, frame.drop("seat")))
    with pytest.raises(msgspec.ValidationError):
        list(from_frame(ReplyRecord, frame.with_columns(seat=pl.lit("one"))))
    with pytest.raises(msgspec.ValidationError):
        list(from_frame(NoteRecord, frame))
