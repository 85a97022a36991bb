"""The tables of a study as files: CSV and Parquet, with a JSON document that explains them."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from campaigns.analysis.tables import Table

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
