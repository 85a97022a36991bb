"""The 29 private tables of a company as documented columns and rows (interface.md section 3).

Rows are pure functions of observations, so a table can hold nothing that its company may not see.
"""

from typing import Final

from engine.tables.chronicle import Chronicle, Elapsed, TenderTerms
from engine.tables.form import PENDING, Cell, Column, Row, Table
from engine.tables.frame import FRAME, SCORE_DEFINITION
from engine.tables.history import EXPENSES, HISTORY
from engine.tables.policies import POLICIES
from engine.tables.projects import PROJECTS
from engine.tables.public import PUBLIC
from engine.tables.stock import STOCK

TABLES: Final[tuple[Table, ...]] = (*FRAME, *POLICIES, *STOCK, *PROJECTS, *PUBLIC, *HISTORY)
"""All tables, group by group."""

__all__ = [
    "EXPENSES",
    "PENDING",
    "SCORE_DEFINITION",
    "TABLES",
    "Cell",
    "Chronicle",
    "Column",
    "Elapsed",
    "Row",
    "Table",
    "TenderTerms",
]
