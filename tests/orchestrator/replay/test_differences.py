"""Naming what differs, down to the byte."""

import json
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.decision import CompanyDecision, ProductSettings
from engine.scenario import default_scenario
from engine.settle import initial_state
from engine.state import encode_state, fields
from engine.streams import Streams
from manifests.canonical import canonical_json, digest_bytes
from manifests.errors import IntegrityError
from orchestrator.replay.cursor import Cursor
from orchestrator.replay.differences import (
    Difference,
    json_difference,
    json_field_at,
    plain,
    record_difference,
    restored,
    unreadable,
)

STATE = initial_state(default_scenario(), Streams(11), 2)
DECISION = canonical_json(
    CompanyDecision(
        company_id="company-2",
        world_version=3,
        products={"A": ProductSettings(price_cents=4_000), "B": ProductSettings(price_cents=7)},
    ).model_dump(mode="json", exclude_none=True)
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=12,
)


@pytest.mark.parametrize("place", [0, 1, 40, len(DECISION) // 2, len(DECISION) - 1])
@pytest.mark.parametrize("byte", [0, 0x7F, 0xFF])
def test_one_changed_byte_is_restored_by_its_digest(place: int, byte: int) -> None:
    damaged = DECISION[:place] + bytes([byte]) + DECISION[place + 1 :]
    assert damaged != DECISION
    assert restored(damaged, digest_bytes(DECISION)) == DECISION


def test_what_cannot_be_restored_is_given_up() -> None:
    two = b"xx" + DECISION[2:]
    assert restored(two, digest_bytes(DECISION)) is None
    assert restored(DECISION, "sha256:" + "0" * 64) is None
    assert restored(DECISION, None) is None
    assert restored(DECISION[:-1], digest_bytes(DECISION)) is None
    assert restored(bytes(100_000), digest_bytes(DECISION)) is None


def test_equal_records_have_no_difference() -> None:
    assert record_difference(encode_state(STATE), STATE, encode_state) is None
    assert json_difference("x", DECISION, DECISION) is None


@pytest.mark.parametrize("seed", range(40))
def test_a_changed_byte_of_a_state_is_named_by_a_field_of_it(seed: int) -> None:
    chance = random.Random(seed)
    content = bytearray(encode_state(STATE))
    place = chance.randrange(len(content))
    content[place] ^= 1 << chance.randrange(8)
    found = record_difference(bytes(content), STATE, encode_state)
    assert found is not None
    names = {name for name, _ in fields(STATE)}
    assert found.field in names | {"length"} or found.field.endswith(".length")
    assert plain(found.recorded) != plain(found.recomputed)


def test_a_state_cut_short_is_named_where_it_ends() -> None:
    content = encode_state(STATE)
    found = record_difference(content[:-1], STATE, encode_state)
    assert found is not None
    assert found.field == "firms[2].support_queue"
    assert "missing" in found.recorded
    assert found.recomputed == 0


def test_values_that_compare_equal_but_are_encoded_otherwise_are_told_apart() -> None:
    class Pair(msgspec.Struct, array_like=True):
        left: float
        right: int

    encode = msgspec.msgpack.Encoder().encode
    found = record_difference(encode([-0.0, 1]), Pair(0.0, 1), encode)
    assert found is not None
    assert found.field == "left"
    assert (str(found.recorded), str(found.recomputed)) == ("-0.0", "0.0")


def test_a_changed_member_of_json_is_named_with_both_values() -> None:
    changed = DECISION.replace(b'"price_cents":7', b'"price_cents":8')
    found = json_difference("decision", changed, DECISION)
    assert found == ("decision.products.B.price_cents", 8, 7)


def test_json_that_cannot_be_read_is_named_by_the_place_of_the_damage() -> None:
    broken = DECISION.replace(b'{"price_cents":7}', b'{"price_cents"*7}')
    found = json_difference("decision", broken, DECISION)
    assert found is not None
    assert found.field == "decision.products.B"
    assert 'price_cents"*7}' in found.recorded
    assert 'price_cents":7}' in found.recomputed
    number = DECISION.replace(b'"price_cents":7', b'"price_cents":!')
    found = json_difference("decision", number, DECISION)
    assert found is not None
    assert found.field == "decision.products.B.price_cents"


def leaves(path: str, value: Any) -> Any:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(f"{path}.{key}", inner)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(f"{path}[{index}]", inner)
    else:
        yield path, value


@given(JSON)
def test_every_byte_of_canonical_json_belongs_to_a_place_in_it(value: Any) -> None:
    content = canonical_json(value)
    places = [json_field_at("$", json.loads(content), offset) for offset in range(len(content))]
    for path, leaf in leaves("$", value):
        # Two keys may spell one path, such as "a.b" and "a" with "b" in it.
        assert places.count(path) >= len(canonical_json(leaf))
    assert places[0].startswith("$")


@given(st.lists(st.integers(0, 20)).map(sorted), st.lists(st.integers(0, 20)).map(sorted))
def test_a_cursor_hands_out_every_row_once_and_in_order(rows: list[int], limits: list[int]) -> None:
    cursor = Cursor(iter(rows), lambda row: row)
    taken: list[int] = []
    for limit in limits:
        part = cursor.up_to(limit)
        assert all(row <= limit for row in part)
        taken += part
        following = cursor.following()
        assert following is None or following > limit
    assert taken == rows[: len(taken)]


def test_differences_are_plain_json() -> None:
    found = Difference(
        run=None,
        day=None,
        company=None,
        field="x",
        recorded=float("nan"),
        recomputed={"a": [1]},
        what="a value",
    )
    assert json.loads(json.dumps(found.to_json(), allow_nan=False)) == {
        "run": None,
        "day": None,
        "company": None,
        "field": "x",
        "recorded": "nan",
        "recomputed": "{'a': [1]}",
        "what": "a value",
    }


def test_what_cannot_be_read_is_told_in_one_line() -> None:
    assert unreadable(IntegrityError("the row is damaged.", "Restore it.")) == "the row is damaged."
    assert unreadable(ValueError("no number")) == "ValueError: no number"


def test_a_difference_reads_well() -> None:
    found = Difference(
        run="trial-s11-reference",
        day=8,
        company="company-2",
        field="closing_cash_cents",
        recorded=5,
        recomputed=6,
        what="the company-day",
    )
    assert str(found) == (
        "trial-s11-reference, day 8, company-2: the company-day, closing_cash_cents: "
        "recorded 5, recomputed 6"
    )
    assert str(Difference(**{**found_fields(found), "run": None, "company": None})).startswith(
        "the catalogue, day 8: "
    )


def found_fields(found: Difference) -> dict[str, Any]:
    return {name: getattr(found, name) for name in Difference.__slots__}
