"""The page about the campaign file lists every key of the models, as they describe it."""

import json
from pathlib import Path
from typing import Final

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from campaigns.definition import (
    AllowanceOverrides,
    Allowances,
    Axis,
    CampaignDefinition,
    Candidate,
    Group,
    Limits,
    Search,
)

PAGE: Final = Path(__file__).parents[2] / "docs" / "campaign-file.md"

TABLES: Final[dict[str, type[BaseModel]]] = {
    "The whole campaign": CampaignDefinition,
    "`[limits]`": Limits,
    "`[limits.allowances]`": Allowances,
    "`[[candidates]]`": Candidate,
    "`[candidates.allowances]`": AllowanceOverrides,
    "`[[groups]]`": Group,
    "`[search]`": Search,
    "`[[search.axes]]`": Axis,
}


@pytest.mark.parametrize("heading", TABLES)
def test_the_page_lists_the_keys(heading: str) -> None:
    keys = TABLES[heading].model_fields.items()
    rows = "\n".join(f"| `{key}` | {field.description} | {default(field)} |" for key, field in keys)
    assert f"## {heading}\n\n| key | value | default |\n| --- | --- | --- |\n{rows}\n" in (
        PAGE.read_text(encoding="utf-8")
    )


def default(field: FieldInfo) -> str:
    """What a key that is not written stands for."""
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    return f"`{json.dumps(value)}`" if isinstance(value, str | int) and value else ""
