"""Paths that people name."""

import re
from pathlib import Path
from typing import Final

from manifests.errors import InputError

# A path has lost one of the slashes. A single letter before the colon is a drive elsewhere.
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def refuse_url(path: str | Path, wanted_by: str = "") -> None:
    """Raise InputError when a URL stands where a path is meant: it would name a folder `http:`.
    `wanted_by` names the place that holds it.
    """
    if _URL.match(str(path)):
        raise InputError(
            f"{wanted_by}{path} is a URL, and a path on this machine is meant.",
            f"Name a file or a folder; one that really has this name is ./{path}.",
        )
