"""The record tables of a campaign: what the store and bundles hold, and the analysis reads.

Each table is a typed model whose fields are its columns; `TABLES` lists them by the name that their
files have. A `RecordSource` gives them one run at a time. Frames of them are in `frames`, apart,
because hosts write records and have no use for the library of frames.
"""

from collections.abc import Mapping
from typing import Final

from campaigns.records.columns import Record
from campaigns.records.conduct import (
    AttemptRecord,
    CompanyWindowRecord,
    FailureRecord,
    NoteRecord,
    QueryRecord,
    ReplyRecord,
)
from campaigns.records.runs import (
    CompanyDayRecord,
    CompanyOutcome,
    MarketDayRecord,
    RunRecord,
)
from campaigns.records.source import RecordSource, Row, RunRecords

TABLES: Final[Mapping[str, type[Record]]] = {
    "runs": RunRecord,
    "outcomes": CompanyOutcome,
    "company_days": CompanyDayRecord,
    "market_days": MarketDayRecord,
    "company_windows": CompanyWindowRecord,
    "attempts": AttemptRecord,
    "replies": ReplyRecord,
    "failures": FailureRecord,
    "queries": QueryRecord,
    "notes": NoteRecord,
}
"""Every table by its name."""

__all__ = [
    "TABLES",
    "AttemptRecord",
    "CompanyDayRecord",
    "CompanyOutcome",
    "CompanyWindowRecord",
    "FailureRecord",
    "MarketDayRecord",
    "NoteRecord",
    "QueryRecord",
    "Record",
    "RecordSource",
    "ReplyRecord",
    "Row",
    "RunRecord",
    "RunRecords",
]
