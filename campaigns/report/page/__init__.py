"""The HTML pages: one shell (layout, colours, theme switch), which each page fills.

A page is one file. It loads nothing, its policy forbids it to ask for anything, and it works when
it is opened from a folder.
"""

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


def render(template: str, **values: Any) -> str:
    """A page from `templates/<template>`, with every value escaped that is not marked as safe."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("campaigns.report.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
