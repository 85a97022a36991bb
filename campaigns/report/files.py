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
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    index: dict[str, object] = {}
    for table in tables:
        csv, parquet = folder / f"{table.name}.csv", folder / f"{table.name}.parquet"
        table.frame.write_csv(csv)
        table.frame.write_parquet(parquet)
        written += [csv, parquet]
        index[table.name] = {
            "title": table.title,
            "about": table.about,
            "columns": {name: str(kind) for name, kind in table.frame.schema.items()},
            "rows": table.frame.height,
        }
    document = folder / INDEX
    document.write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")
    return [*written, document]
