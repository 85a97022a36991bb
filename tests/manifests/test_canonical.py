import hashlib
import json
import math
import struct
from enum import IntEnum, StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manifests.canonical import (
    LARGEST_INTEGER,
    canonical_json,
    digest,
    digest_bytes,
    parse_json,
)
from manifests.errors import InputError

integers = st.integers(-LARGEST_INTEGER, LARGEST_INTEGER)
# From 2**53 to 10**21 a float is written like an integer, which is too large to be read as one.
floats = st.floats(allow_nan=False, allow_infinity=False).filter(
    lambda number: abs(number) <= LARGEST_INTEGER or abs(number) >= 1e21
)
texts = st.text(st.characters(exclude_categories=["Cs"]))
json_values = st.recursive(
    st.none() | st.booleans() | integers | floats | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
)


def test_example_of_rfc_8785_section_3_2() -> None:
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/",
        "literals": [None, True, False],
    }
    expected = (
        '{"literals":[null,true,false],'
        '"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    assert canonical_json(value) == expected.encode()


def test_keys_are_sorted_by_utf_16_code_units() -> None:
    # RFC 8785 section 3.2.3: a surrogate pair sorts below U+FB33, unlike by code point.
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
    value = json.loads(canonical_json(dict.fromkeys(keys)))
    assert list(value) == ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]


@pytest.mark.parametrize(
    ("bits", "expected"),
    [
        # Samples of RFC 8785 appendix B.
        ("0000000000000000", "0"),
        ("8000000000000000", "0"),
        ("0000000000000001", "5e-324"),
        ("7fefffffffffffff", "1.7976931348623157e+308"),
        ("4340000000000000", "9007199254740992"),
        ("4430000000000000", "295147905179352830000"),
        ("44b52d02c7e14af5", "9.999999999999997e+22"),
        ("44b52d02c7e14af6", "1e+23"),
        ("444b1ae4d6e2ef4e", "999999999999999700000"),
        ("444b1ae4d6e2ef50", "1e+21"),
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
        ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("41b3de4355555553", "333333333.3333332"),
        ("becbf647612f3696", "-0.0000033333333333333333"),
    ],
)
def test_floats_are_written_as_rfc_8785_appendix_b(bits: str, expected: str) -> None:
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical_json(number) == expected.encode()


@given(json_values)
def test_reading_the_bytes_back_gives_the_same_bytes(value: Any) -> None:
    content = canonical_json(value)
    assert canonical_json(parse_json(content, "the value")) == content


@given(st.dictionaries(texts, integers, min_size=2))
def test_order_of_keys_does_not_matter(value: dict[str, int]) -> None:
    backwards = dict(reversed(value.items()))
    assert digest(value) == digest(backwards)


def test_tuples_and_enumerations_are_plain_values() -> None:
    class Colour(StrEnum):
        RED = "red"

    class Number(IntEnum):
        TWO = 2

    assert canonical_json((Colour.RED, Number.TWO)) == b'["red",2]'


def test_a_digest_names_its_algorithm() -> None:
    # The empty input and "abc": FIPS 180-4 examples.
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert digest_bytes(b"") == f"sha256:{empty}"
    assert digest_bytes(b"abc") == f"sha256:{abc}"
    assert digest({"a": 1.0}) == "sha256:" + hashlib.sha256(b'{"a":1}').hexdigest()


def test_the_largest_integers_are_exact() -> None:
    value = [LARGEST_INTEGER, -LARGEST_INTEGER]
    assert canonical_json(value) == b"[9007199254740991,-9007199254740991]"


@pytest.mark.parametrize(
    ("value", "place", "reason"),
    [
        ({"a": [1, math.nan]}, "$.a[1]:", "nan is not a JSON number"),
        ({"a": {"b": math.inf}}, "$.a.b:", "inf is not a JSON number"),
        ([-math.inf], "$[0]:", "-inf is not a JSON number"),
        ({"cash": 2**53}, "$.cash:", "54 bits is beyond 2**53 - 1"),
        ({"cash": -(2**53)}, "$.cash:", "beyond 2**53 - 1"),
        ([10**5000], "$[0]:", "beyond 2**53 - 1"),
        ({"seats": {1: "a"}}, "$.seats:", "the key 1 is not a string"),
        ({"a": b"x"}, "$.a:", "a value of type bytes has no JSON form"),
        ([{"a"}], "$[0]:", "a value of type set"),
        (["\ud800"], "$[0]:", "lone surrogate"),
        ({"\udfff": 1}, "$:", "lone surrogate"),
    ],
)
def test_what_json_lacks_is_refused_with_its_place(value: Any, place: str, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        canonical_json(value)
    assert str(caught.value).startswith(place)
    assert reason in str(caught.value)
    assert str(caught.value).isascii()


def test_a_large_integer_comes_with_the_remedy() -> None:
    with pytest.raises(InputError, match="Write it as a string"):
        digest(2**60)


def test_a_value_that_contains_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(InputError, match="contains itself"):
        canonical_json(value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "the key 'c' is written twice"),
        ('{"a": NaN}', "NaN is not a finite number"),
        ("[-Infinity]", "-Infinity is not a finite number"),
        ("[1e999]", "1e999 is not a finite number"),
        ("{'a': 1}", "not valid JSON"),
        ("", "not valid JSON"),
        (b"\xff\xfe\x00", "not valid JSON"),
        ("[" * 200_000, "not valid JSON"),
    ],
)
def test_doubtful_json_is_refused(text: str | bytes, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_json(text, "plan.json")
    assert str(caught.value).startswith("plan.json: ")
    assert reason in str(caught.value)


@given(json_values)
def test_sound_json_is_read_as_the_standard_library_reads_it(value: Any) -> None:
    text = json.dumps(value)
    assert parse_json(text, "the value") == json.loads(text)
