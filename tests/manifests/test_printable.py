"""Text that people read."""

import pytest

from manifests.printable import counted


@pytest.mark.parametrize(
    ("number", "nouns", "said"),
    [
        (0, ("run",), "0 runs"),
        (1, ("run",), "1 run"),
        (2_000, ("run",), "2,000 runs"),
        (1, ("company", "companies"), "1 company"),
        (2, ("company", "companies"), "2 companies"),
    ],
)
def test_a_noun_agrees_with_its_number(number: int, nouns: tuple[str, ...], said: str) -> None:
    assert counted(number, *nouns) == said
