"""The state's encoding, its digest, and how a difference is named."""

import hashlib
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from engine.scenario import default_scenario
from engine.state import (
    STATE_ENCODING,
    FirmState,
    Order,
    WorldState,
    copy_state,
    decode_state,
    encode_state,
    encoded_state_digest,
    field_at,
    fields,
    first_difference,
    state_digest,
)
from tests.engine.script import scripted_world

SCENARIO = default_scenario()


@pytest.fixture(name="state", scope="module")
def lively_state() -> WorldState:
    state, _ = scripted_world(SCENARIO, 29, firms=5, days=84)
    return state


def test_encoding_round_trip(state: WorldState) -> None:
    encoded = encode_state(state)
    again = decode_state(encoded)
    assert again == state
    assert encode_state(again) == encoded
    assert state_digest(again) == encoded_state_digest(encoded)


def test_digest_is_published(state: WorldState) -> None:
    """SHA-256 over the encoding's name, a zero byte and the MessagePack arrays."""
    assert STATE_ENCODING == "ceos-state-v1"
    expected = hashlib.sha256(b"ceos-state-v1\x00" + msgspec.msgpack.encode(state)).hexdigest()
    assert state_digest(state) == f"sha256:{expected}"


def test_structures_are_arrays_of_their_fields() -> None:
    order = Order(1, 2, 3, 4, tender_id="t", due_day=9)
    assert msgspec.msgpack.encode(order) == b"\x97\x01\x02\x03\x04\xc0\xa1t\x09"


def test_a_copy_is_independent(state: WorldState) -> None:
    copy = copy_state(state)
    copy.firms[0].stock[0] += 1
    copy.firms[1].queue.append(Order(1, 1, 1, 1, segment=0))
    assert first_difference(state, copy) == (
        "firms[1].stock[1]",
        state.firms[0].stock[0],
        state.firms[0].stock[0] + 1,
    )


def test_other_bytes_are_no_state(state: WorldState) -> None:
    encoded = encode_state(state)
    for data in (b"", b"\x00", encoded[:-1], encoded + b"\x00", b"\x90"):
        with pytest.raises(msgspec.DecodeError):
            decode_state(data)


def test_equal_states_have_no_difference(state: WorldState) -> None:
    assert first_difference(state, copy_state(state)) is None


def set_macro(state: WorldState) -> None:
    state.macro = -state.macro


def set_sign_of_zero(state: WorldState) -> None:
    state.firms[1].knowledge_cents[2] = -0.0


def set_kind(state: WorldState) -> None:
    state.firms[0].knowledge_cents[0] = 3


def set_active(state: WorldState) -> None:
    state.firms[2].active = False
    state.firms[2].exit_day = 5


def add_order(state: WorldState) -> None:
    state.firms[3].queue.append(Order(1, 1, 1, 1, segment=0))


def drop_firm(state: WorldState) -> None:
    state.firms.pop()


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (set_macro, "macro"),
        (set_sign_of_zero, "firms[2].knowledge_cents[3]"),
        (set_kind, "firms[1].knowledge_cents[1]"),
        (set_active, "firms[3].active"),
        (add_order, "firms[4].queue.length"),
        (drop_firm, "firms.length"),
    ],
)
def test_the_first_difference_is_named(
    state: WorldState, change: Callable[[WorldState], None], path: str
) -> None:
    """Whatever changes the digest has a name, numbered from 1 like the seats."""
    state = copy_state(state)
    state.firms[1].knowledge_cents[2] = 0.0
    state.firms[0].knowledge_cents[0] = 3.0
    other = copy_state(state)
    change(other)
    assert state_digest(other) != state_digest(state)
    found = first_difference(state, other)
    assert found is not None
    assert found[0] == path
    assert first_difference(other, state) == (found[0], found[2], found[1])


def test_every_leaf_is_found_by_its_bytes(state: WorldState) -> None:
    """Change one leaf: the first byte that differs belongs to that leaf, by name."""
    encoded = encode_state(state)
    leaves = [(path, value) for path, value in fields(state) if not path.endswith(".length")]
    assert len(leaves) > 500
    for path, value in leaves[:: max(1, len(leaves) // 150)]:
        other = copy_state(state)
        if not _replaced(other, path, value):
            continue
        changed = encode_state(other)
        offset = next(
            place
            for place, (old, new) in enumerate(zip(encoded, changed, strict=False))
            if old != new
        )
        assert field_at(state, offset) == path
        difference = first_difference(state, other)
        assert difference is not None
        assert difference[0] == path


def _replaced(state: WorldState, path: str, value: Any) -> bool:
    """Put another value of the same kind at a path; False where there is none."""
    place: Any = state
    *parents, last = path.replace("[", ".[").split(".")
    for part in parents:
        place = place[int(part[1:-1]) - 1] if part.startswith("[") else getattr(place, part)
    match value:
        case bool():
            new: Any = not value
        case int():
            new = value + 1
        case float():
            new = value + 0.5
        case _:
            return False
    if last.startswith("["):
        place[int(last[1:-1]) - 1] = new
    else:
        setattr(place, last, new)
    return True


def test_a_flipped_byte_is_named(state: WorldState) -> None:
    """Any byte of a stored state: what it covers is named, also where it no longer decodes."""
    encoded = encode_state(state)
    names = {path for path, _ in fields(state)} | {"length"}
    for offset in range(0, len(encoded), 7):
        name = field_at(state, offset)
        assert name in names or name.removesuffix(".length") in _structures(state), name
        flipped = encoded[:offset] + bytes([encoded[offset] ^ 1]) + encoded[offset + 1 :]
        assert encoded_state_digest(flipped) != encoded_state_digest(encoded)


def _structures(state: WorldState) -> set[str]:
    """Paths of all records inside the state, whose first byte is the number of their fields."""
    found: set[str] = set()
    for path, _ in fields(state):
        parts = path.replace("[", ".[").split(".")
        for end in range(1, len(parts)):
            found.add(".".join(parts[:end]).replace(".[", "["))
    return found


def test_a_state_holds_its_companies_in_seat_order(state: WorldState) -> None:
    assert [type(firm) for firm in state.firms] == [FirmState] * 5
