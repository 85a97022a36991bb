"""Reading recorded rows step by step beside a settlement that goes on window by window."""

import math
from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Generic, TypeVar

_Item = TypeVar("_Item")


class Cursor(Generic[_Item]):
    """Rows in the order of a number, such as the day, handed out up to a limit at a time.

    Rows whose number is above `last` are as good as not there.
    """

    def __init__(
        self, rows: Iterator[_Item], number: Callable[[_Item], int], last: float = math.inf
    ) -> None:
        self._rows = takewhile(lambda row: number(row) <= last, rows)
        self._number = number
        self._next = next(self._rows, None)

    def up_to(self, limit: int) -> list[_Item]:
        """The rows that were not handed out yet and whose number is not above the limit."""
        taken: list[_Item] = []
        while self._next is not None and self._number(self._next) <= limit:
            taken.append(self._next)
            self._next = next(self._rows, None)
        return taken

    def following(self) -> _Item | None:
        """The first row that was not handed out yet."""
        return self._next
