"""Rows as JSON Lines: exact for every reader, and read back as they were."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manifests.errors import IntegrityError
from manifests.rows import exact, read_row, row_line


class Row(msgspec.Struct, frozen=True):
    """A row with everything that a row may hold."""

    number: int
    real: float
    text: str
    maybe: int | None
    many: list[int]
    is_so: bool


DECODER = msgspec.json.Decoder(Row, strict=False)
WHOLE = st.integers(-(2**63), 2**63 - 1)

rows = st.builds(
    Row,
    number=WHOLE,
    real=st.floats(allow_nan=False, allow_infinity=False),
    text=st.text(st.characters(codec="utf-8")) | WHOLE.map(str),
    maybe=st.none() | WHOLE,
    many=st.lists(WHOLE),
    is_so=st.booleans(),
)


@given(rows)
def test_a_row_is_read_back_as_it_was(row: Row) -> None:
    line = row_line(row)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    again = read_row(DECODER, line, "a row")
    assert again == row
    assert str(again.real) == str(row.real)


@given(rows)
def test_readers_with_doubles_round_no_integer(row: Row) -> None:
    doubles = json.loads(row_line(row), parse_int=float)
    for name in ("number", "maybe"):
        value = getattr(row, name)
        assert value is None or int(doubles[name]) == value
    assert [int(each) for each in doubles["many"]] == row.many
    assert doubles["text"] == row.text


def test_large_integers_are_strings_and_others_are_not() -> None:
    line = row_line(Row(2**53, -0.0, "1234567890123456", -(2**53) + 1, [], is_so=True))
    assert line == (
        b'{"number":"9007199254740992","real":-0.0,"text":"1234567890123456",'
        b'"maybe":-9007199254740991,"many":[],"is_so":true}\n'
    )


def test_documents_have_the_same_rule() -> None:
    assert exact({"a": [2**53, 2**53 - 1, True, None, "x"], "b": (1.5,)}) == {
        "a": ["9007199254740992", 2**53 - 1, True, None, "x"],
        "b": [1.5],
    }


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b'{"number":1.5}', b'"\xff"', b"null"])
def test_junk_is_named_by_its_place(line: bytes) -> None:
    with pytest.raises(IntegrityError, match=r"days\.jsonl, line 3 cannot be read"):
        read_row(DECODER, line, "days.jsonl, line 3")
