"""Commands as a person gives them: in this process, or in one of their own."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from orchestrator.cli.main import main

SCRIPT = "from orchestrator.cli.main import main; main()"

# Characters of ruled lines and of colours, neither of which belongs into a pipe.
DRAWN = ("─", "│", "┃", "━", "\x1b")


class Answer(NamedTuple):
    """What a command said and how it ended."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The JSON document on standard output, which must be all of it."""
        return json.loads(self.out)


def ceo_arena(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Answer:
    """Run a command in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("FORCE_COLOR", raising=False)
        patch.setattr(sys, "argv", ["ceo-arena", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
    captured = capsys.readouterr()
    code = end.value.code
    return Answer(code if isinstance(code, int) else int(code is not None), *captured)


def ceo_arena_process(
    *arguments: str | Path, environment: Mapping[str, str] | None = None
) -> Answer:
    """Run a command in a process of its own."""
    plain = {name: value for name, value in os.environ.items() if name != "FORCE_COLOR"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *map(str, arguments)],
        env={**plain, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def is_plain(text: str, width: int = 100) -> bool:
    """Whether a text has neither ruled lines nor colours, and fits into a terminal."""
    longest = max((len(line.rstrip()) for line in text.splitlines()), default=0)
    return longest <= width and not any(mark in text for mark in DRAWN)
