"""JSON that is taken apart and put together without being rewritten."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.rawjson import (
    NotJson,
    array_text,
    elements,
    member,
    members,
    object_text,
    parsed,
    sound,
    string,
    whole_characters,
)

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), values, max_size=5), st.booleans())
def test_an_object_comes_apart_and_together(value: dict[str, object], ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only).encode()
    parts = members(text)
    assert {key: json.loads(bytes(part)) for key, part in parts.items()} == value
    again = object_text({key: bytes(part) for key, part in parts.items()})
    assert json.loads(again) == value


@given(st.lists(values, max_size=5))
def test_a_list_comes_apart_and_together(value: list[object]) -> None:
    parts = elements(json.dumps(value).encode())
    assert json.loads(array_text(bytes(part) for part in parts)) == value


def test_numbers_and_escapes_stay_as_they_stand() -> None:
    parts = members(b'{ "a" : 1.10e+05, "b": 123456789012345678901234567890, "c": "\\u00e9\\/" }')
    assert bytes(parts["a"]) == b"1.10e+05"
    assert bytes(parts["b"]) == b"123456789012345678901234567890"
    assert bytes(parts["c"]) == b'"\\u00e9\\/"'
    assert member(parts, "d") == b"null"


def test_half_a_character_is_read_and_its_halves_are_joined() -> None:
    first = bytes(members(b'{"a":"x\\ud83d"}')["a"])
    second = bytes(elements(b'["\\ude00y"]')[0])
    assert string(first[:-1] + second[1:]) == "x\U0001f600y"
    assert string(first) == "x\ufffd"
    assert whole_characters("\ud83d\ude00\ud83d") == "\U0001f600\ufffd"


def test_a_text_with_half_a_character_is_made_sound() -> None:
    assert sound(b'{"a":"x\\ud83d","b":1}') == '{"a":"x\ufffd","b":1}'
    assert sound(b'{"a":"\\ud83d\\ude00"}') == '{"a":"\\ud83d\\ude00"}'
    assert sound(b'{"a":"\xff"}') == '{"a":"\ufffd"}'


@pytest.mark.parametrize(
    "text", [b"", b"{", b"nul", b"[1,]", b"NaN", b'{"a":Infinity}', b"[" * 9_999]
)
def test_what_is_not_json(text: bytes) -> None:
    for read in (members, elements, parsed, string, sound):
        with pytest.raises(NotJson):
            read(text)


@pytest.mark.parametrize("text", [b"1", b'"x"', b"[1]", b"null", b'["\\ud83d"]'])
def test_what_is_no_object(text: bytes) -> None:
    with pytest.raises(NotJson):
        members(text)


@pytest.mark.parametrize("text", [b"1", b"{}", b'{"a":"\\ud83d"}'])
def test_what_is_no_list_and_no_string(text: bytes) -> None:
    with pytest.raises(NotJson):
        elements(msgspec.Raw(text))
    with pytest.raises(NotJson):
        string(text)
