"""Every table of evaluation.md section 3, from a study: tidy frames with names and explanations."""

from campaigns.analysis.study import Study
from campaigns.analysis.tables.accounts import account_tables
from campaigns.analysis.tables.conduct import conduct_tables
from campaigns.analysis.tables.pooled import pooled_tables
from campaigns.analysis.tables.scores import score_tables
from campaigns.analysis.tables.table import Table

__all__ = ["Table", "all_tables"]


def all_tables(study: Study) -> dict[str, Table]:
    """All tables by name, in the order of a report; those without rows included."""
    tables = [
        *score_tables(study),
        *pooled_tables(study),
        *account_tables(study),
        *conduct_tables(study),
    ]
    return {table.name: table for table in tables}
