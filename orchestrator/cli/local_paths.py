"""What holds for every path that a command takes, whichever command and whichever option."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import typer

from manifests.paths import refuse_url


def refuse_urls(app: typer.Typer) -> None:
    """Let every command of an app, and of those below it, refuse a URL where it takes a path."""
    for command in app.registered_commands:
        if command.callback is not None:
            command.callback = _refusing(command.callback)
    for group in app.registered_groups:
        if group.typer_instance is not None:
            refuse_urls(group.typer_instance)


def _refusing(command: Callable[..., None]) -> Callable[..., None]:
    @wraps(command)
    def refusing(**values: Any) -> None:
        for value in values.values():
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, Path):
                    refuse_url(each)
        command(**values)

    return refusing
