"""What figures are drawn from: a study, its tables, and the looks of its candidates."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from campaigns.analysis.evidence import Evidence
from campaigns.analysis.study import GroupStudy, Study
from campaigns.analysis.tables import Table
from campaigns.report.drawing import NARROW, WIDE, Room
from campaigns.report.palette import Look, looks


@dataclass(frozen=True)
class Setting:
    """A study with its tables by name, and the room that a figure has."""

    study: Study
    tables: Mapping[str, Table]
    room: Room = WIDE

    @property
    def is_narrow(self) -> bool:
        """Whether the figure is for a narrow page."""
        return self.room is NARROW

    @property
    def ticks(self) -> int:
        """How many amounts stand below a figure at most."""
        return 3 if self.is_narrow else 6

    def table(self, name: str) -> pl.DataFrame:
        """The frame of a table."""
        return self.tables[name].frame

    def of_main(self, name: str) -> pl.DataFrame:
        """The rows of a table that are of the main group, or of its campaign."""
        frame, main = self.table(name), self.main
        frame = frame.filter(pl.col("campaign") == main.campaign)
        return frame.filter(pl.col("group") == main.group) if "group" in frame.columns else frame

    @property
    def main(self) -> GroupStudy:
        """The group that is shown. Asked for only where the study has one."""
        assert self.study.main is not None
        return self.study.main

    @cached_property
    def evidence(self) -> Evidence:
        """The main group's campaign."""
        return next(each for each in self.study.evidence if each.campaign == self.main.campaign)

    @cached_property
    def looks(self) -> dict[str, Look]:
        """How every candidate is drawn."""
        everyone = dict.fromkeys(name for each in self.study.evidence for name in each.candidates)
        return looks(self.study.panel, list(everyone), self.study.labels)

    @property
    def panel(self) -> tuple[str, ...]:
        """The candidates that compete, by seat."""
        return self.study.panel

    @cached_property
    def entrants(self) -> list[dict[str, Any]]:
        """The entrants of the main group, by seat; none where no seed is whole."""
        contrasts = self.main.contrasts
        return self.of_main("entrants").to_dicts() if contrasts and contrasts.seeds else []

    @property
    def baseline(self) -> str:
        """What people call the baseline of the main group."""
        baseline = self.study.pool.baseline
        return "the baseline" if baseline is None else self.looks[baseline].label

    @property
    def over(self) -> str:
        """What means are over, such as `seeds 11, 29, 47 of main`."""
        ranking = self.main.ranking
        seeds = ", ".join(map(str, ranking.seeds))
        several = "seeds" if len(ranking.seeds) > 1 else "seed"
        left_out = ", ".join(map(str, ranking.left_out_seeds))
        without = f" (without {left_out}, which lacks runs)" if left_out else ""
        return f"{several} {seeds} of {self.main.campaign}{without}"
