"""The books of a run's model companies, kept from window to window and made again when lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from threading import Lock
from typing import Final

from engine.boundary import Boundary
from engine.records import ActionReceipt, CompanyDay
from engine.scenario import Scenario
from manifests.errors import IntegrityError, StoreError
from orchestrator.ceos import Window
from orchestrator.scratch import Scratch
from orchestrator.session.books import Books
from orchestrator.store import RunStore

BOOKS: Final = "ceo-arena-books"
"""The kind of the folders that hold books, for `orchestrator.scratch`."""

Receipts = Mapping[int, Sequence[ActionReceipt]]
"""What each company's actions at one boundary came to, by seat."""


class Desk:
    """A folder with one file of books for each model company of a run, made when the first opens.

    The files are working copies: a desk that has none makes them from the run's records.
    """

    def __init__(self, run: RunStore, scenario: Scenario, seats: set[int]) -> None:
        self._folder = Scratch(BOOKS)
        self._run = run
        self._scenario = scenario
        self._seats = seats
        self._books: dict[int, Books] = {}
        self._before: tuple[int, Boundary] | None = None
        self._making = Lock()

    def preceding(self, window: Window) -> Sequence[CompanyDay]:
        """The company's days of the window before the last elapsed one; empty when there is none.

        Books that are there are brought to this boundary. Missing ones are left to the first query:
        making them takes the longer the further the run is, and a run must be soon at work again.
        Raises StoreError and IntegrityError.
        """
        seat, version = window.observation.seat, window.state.version
        with self._making:
            there = version == 0 or self._follows(seat, version)
            before = None if there or version == 1 else self._boundary_before(version)
        if there:
            return self.books(window).preceding
        return () if before is None else before.observe(seat).elapsed

    def books(self, window: Window) -> Books:
        """The books of the window's company, open at this boundary.

        May be called from many threads. Blocks for as long as reading the run's past takes when
        books are missing. Raises StoreError and IntegrityError.
        """
        try:
            return self._opened(window)
        except StoreError:
            return self.made_again(window)

    def made_again(self, window: Window) -> Books:
        """The same as `books`, from the run's records, for a file that cannot be used: somebody
        may have cleared the place for such files.
        """
        self._books.pop(window.observation.seat, None)
        return self._opened(window)

    def close(self) -> None:
        """Remove the files."""
        self._books.clear()
        self._folder.close()

    def _opened(self, window: Window) -> Books:
        seat, version = window.observation.seat, window.state.version
        with self._making:
            if not self._follows(seat, version):
                self._remake(window, version)
        books = self._books[seat]
        books.open_window(window.observation, window.receipts)
        return books

    def _boundary_before(self, version: int) -> Boundary:
        """The boundary before a world version, read once for all companies."""
        if self._before is None or self._before[0] != version:
            found = self._run.boundary(version - 1)
            if found is None:
                raise IntegrityError(
                    f"The {self._run.key} lacks the world at version {version - 1}.",
                    "Put back the database that belongs to the run.",
                )
            self._before = version, Boundary(self._scenario, found.state, found.elapsed)
        return self._before[1]

    def _follows(self, seat: int, version: int) -> bool:
        books = self._books.get(seat)
        return books is not None and books.windows in (version, version + 1)

    def _remake(self, window: Window, version: int) -> None:
        """Make all books that are missing, for one reading of the past."""
        seats = [
            seat
            for seat in sorted(self._seats)
            if window.state.firms[seat - 1].active and not self._follows(seat, version)
        ]
        folder = self._folder.path()
        for seat in seats:
            self._books[seat] = Books(folder / f"company-{seat}.db")
        for view, receipts in past_boundaries(self._run, self._scenario, version):
            for seat in seats:
                self._books[seat].append([(view.observe(seat), receipts.get(seat, ()))])


def past_boundaries(
    run: RunStore, scenario: Scenario, version: int
) -> Iterator[tuple[Boundary, Receipts]]:
    """The boundaries before a world version, in order, with the receipts that led to each.

    Raises IntegrityError at a record that was changed.
    """
    days = groupby(run.day_records(), key=lambda day: -(-day.day // scenario.window_days))
    led_to = {
        reached: list(rows)
        for reached, rows in groupby(run.receipts(), key=lambda stored: stored.version + 1)
    }
    for checkpoint in run.checkpoints():
        if checkpoint.version >= version:
            return
        elapsed = list(next(days, (0, ()))[1]) if checkpoint.version else []
        if bool(elapsed) is not bool(checkpoint.version):
            raise IntegrityError(
                f"The {run.key} lacks the days that led to world version {checkpoint.version}.",
                "Put back the database that belongs to the run.",
            )
        receipts = {
            seat: [stored.receipt for stored in rows]
            for seat, rows in groupby(led_to.get(checkpoint.version, ()), key=attrgetter("seat"))
        }
        yield Boundary(scenario, checkpoint.world(), elapsed), receipts
