"""The analysis of a bundle, computed anew and compared with the one inside."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from campaigns.analysis.evidence import Evidence, read_evidence
from campaigns.analysis.study import study
from campaigns.analysis.tables import all_tables
from manifests.bundle import RESULTS_FILE, Bundle
from manifests.comparison import value_differences
from orchestrator.bundle import layout
from orchestrator.bundle.parquet import read_frame
from orchestrator.bundle.reading import BundleSource
from orchestrator.bundle.summary import results


@dataclass(frozen=True, slots=True)
class AnalysisDifference:
    """The first place in which a table, or the summary of the results, is not what its records
    lead to. Rows are counted from 1.
    """

    file: str
    place: str
    inside: Any
    recomputed: Any

    def __str__(self) -> str:
        return f"{self.file}: {self.place}: {self.inside!r} inside, {self.recomputed!r} recomputed"


def analysed(source: BundleSource) -> tuple[Evidence, list[AnalysisDifference]]:
    """The evidence in a bundle, and where the analysis inside is not what follows from it.

    Raises:
        IntegrityError: a file is not the one that was exported, or cannot be read.
    """
    evidence = read_evidence(source)
    return evidence, list(_differences(source.bundle, evidence))


def _differences(bundle: Bundle, evidence: Evidence) -> Iterator[AnalysisDifference]:
    found = study([evidence])
    for table in all_tables(found).values():
        name = f"{layout.ANALYSIS}/{table.name}.parquet"
        if name not in bundle.subjects:
            yield AnalysisDifference(name, "the table", "missing", "present")
            continue
        content = read_frame(bundle.content(name), name)
        yield from _first(_frame_differences(name, content, table.frame))
        csv = f"{layout.ANALYSIS}/{table.name}.csv"
        if bundle.content(csv) != table.frame.write_csv().encode():
            yield AnalysisDifference(csv, "the text", "another", "that of the Parquet file")
    said = bundle.document(RESULTS_FILE)
    for change in _first(value_differences("results", said, results(evidence, found))):
        yield AnalysisDifference(RESULTS_FILE, change.path, change.left, change.right)


def _frame_differences(
    name: str, inside: pl.DataFrame, recomputed: pl.DataFrame
) -> Iterator[AnalysisDifference]:
    if inside.schema != recomputed.schema:
        yield AnalysisDifference(name, "columns", dict(inside.schema), dict(recomputed.schema))
        return
    if inside.height != recomputed.height:
        yield AnalysisDifference(name, "rows", inside.height, recomputed.height)
    if not inside.equals(recomputed):
        rows = zip(inside.iter_rows(named=True), recomputed.iter_rows(named=True), strict=False)
        for number, (one, two) in enumerate(rows, start=1):
            for column, value in one.items():
                if value != two[column]:
                    place = f"row {number}, {column}"
                    yield AnalysisDifference(name, place, value, two[column])


def _first(found: Iterator[Any]) -> Iterator[Any]:
    first = next(found, None)
    if first is not None:
        yield first
