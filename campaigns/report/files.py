"""A study as files: tables as CSV and Parquet with a document that explains them, figures as SVG
and PNG.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from campaigns.analysis.tables import Table
from campaigns.report.drawing import Figure

INDEX: Final = "tables.json"


def write_tables(tables: Iterable[Table], folder: Path) -> list[Path]:
    """Write `<name>.csv` and `<name>.parquet` for every table, and `tables.json`: for each table
    its title, what it says, its columns with their types, and how many rows it has.
    """
    tables = list(tables)
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for table in tables:
        csv, parquet = folder / f"{table.name}.csv", folder / f"{table.name}.parquet"
        table.frame.write_csv(csv)
        table.frame.write_parquet(parquet)
        written += [csv, parquet]
    document = folder / INDEX
    document.write_text(json.dumps(table_index(tables), indent=2) + "\n", encoding="utf-8")
    return [*written, document]


def table_index(tables: Iterable[Table]) -> dict[str, object]:
    """What the files of the tables hold, as plain JSON by the table's name."""
    return {
        table.name: {
            "title": table.title,
            "about": table.about,
            "columns": {name: str(kind) for name, kind in table.frame.schema.items()},
            "rows": table.frame.height,
        }
        for table in tables
    }


def write_figures(figures: Iterable[Figure], folder: Path) -> list[Path]:
    """Write `<name>.svg` and `<name>.png` for every figure."""
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for figure in figures:
        svg, png = folder / f"{figure.name}.svg", folder / f"{figure.name}.png"
        svg.write_text(figure.svg, encoding="utf-8")
        png.write_bytes(figure.png)
        written += [svg, png]
    return written
