"""The JSON Schemas (2020-12) of all files of a bundle, generated from the types that they have.

For a Parquet file, and a line of JSON Lines, the schema is that of one row.
"""

from typing import Any, Final

import msgspec

from campaigns.plan import PlannedRun
from campaigns.records import TABLES
from campaigns.report.files import INDEX
from engine.decision import CompanyDecision
from manifests.bundle import ENVELOPE_FILE, MANIFEST_FILE, RESULTS_FILE, Predicate
from manifests.model import CampaignManifest
from manifests.signing import EnvelopeFile, Statement
from orchestrator.bundle import layout
from orchestrator.bundle.summary import Results

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


class TableIndex(msgspec.Struct, frozen=True, kw_only=True):
    """What a table of the analysis says, and the types of its columns (those of Polars)."""

    title: str
    about: str
    columns: dict[str, str]
    rows: int


_DIGITS: Final = {"type": "string", "pattern": "^-?[0-9]{16,}$"}
_DECISION: Final = "CompanyDecision"


def schemas() -> dict[str, dict[str, Any]]:
    """Every schema by the name of its file: `decisions.schema.json` is for `decisions.jsonl`."""
    documents = {
        MANIFEST_FILE: CampaignManifest.model_json_schema(mode="serialization"),
        ENVELOPE_FILE: EnvelopeFile.model_json_schema(by_alias=True),
        "statement.json": Statement.model_json_schema(by_alias=True),
        "predicate.json": Predicate.model_json_schema(),
        RESULTS_FILE: msgspec.json.schema(Results),
        INDEX: msgspec.json.schema(dict[str, TableIndex]),
        layout.PLANNED: _exact(msgspec.json.schema(PlannedRun)),
    }
    rows = {name: _exact(_row_schema(row)) for name, row in layout.ROWS.items()}
    tables = {layout.table_file(name): msgspec.json.schema(table) for name, table in TABLES.items()}
    return {
        f"{name.partition('.')[0]}.schema.json": {"$schema": DIALECT, **schema}
        for name, schema in sorted({**documents, **rows, **tables}.items())
    }


def _row_schema(row: Any) -> dict[str, Any]:
    schema = msgspec.json.schema(row, schema_hook=_hook)
    if row is layout.DecisionRow:
        decision = CompanyDecision.model_json_schema(ref_template="#/$defs/{model}")
        schema["$defs"] |= decision.pop("$defs", {}) | {_DECISION: decision}
    return schema


def _hook(kind: type) -> dict[str, Any]:
    if kind is msgspec.Raw:
        return {"anyOf": [{"$ref": f"#/$defs/{_DECISION}"}, {"type": "null"}]}
    raise NotImplementedError(kind)


def _exact(schema: Any) -> Any:
    """A schema in which large integers may stand as strings of digits (`manifests.rows`)."""
    match schema:
        case {"type": "integer"}:
            return {"anyOf": [schema, _DIGITS]}
        case dict():
            return {key: _exact(value) for key, value in schema.items()}
        case list():
            return [_exact(value) for value in schema]
    return schema
