"""What the running code is: a digest per source file, the versions of libraries, the interpreter.

A digest is taken from the files that the interpreter would import, so that a checkout installed in
place and a wheel built from it have the same fingerprint.
"""

import importlib.util
import platform
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from manifests.canonical import digest, digest_bytes
from manifests.errors import InputError

PACKAGES: Final = ("campaigns", "engine", "manifests", "orchestrator", "providers")
"""The top-level packages of the program."""

# Libraries whose version can change a result: validation, encodings, random words, and the runtime.
DECIDING_LIBRARIES: Final = ("msgspec", "numpy", "pydantic", "pydantic-core", "ray", "rfc8785")


class SourceFingerprint(BaseModel):
    """A digest for every file of some packages, and one over all of them.

    `files` maps paths such as `engine/settle.py` (POSIX, from the folder that holds the package)
    to the digest of their bytes, in path order; `overall` is the digest of the canonical JSON of
    `files`.
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    overall: str
    files: dict[str, str]


def source_fingerprint(packages: Iterable[str]) -> SourceFingerprint:
    """The fingerprint of installed top-level packages or modules, code and data files alike.

    Raises:
        InputError: a package that is not installed, or not installed as plain files.
    """
    found = {path: content for name in packages for path, content in _files_of(name)}
    files = {path: digest_bytes(found[path].read_bytes()) for path in sorted(found)}
    return SourceFingerprint(overall=digest(files), files=files)


def library_versions() -> dict[str, str]:
    """The installed version of each library that decides results, in name order.

    Raises:
        InputError: a distribution that is not installed.
    """
    return {name: _version(name) for name in sorted(DECIDING_LIBRARIES)}


def package_version() -> str:
    """The version of this program as it is installed; errors as `library_versions`."""
    return _version("ceo-arena")


def interpreter() -> dict[str, str]:
    """The running interpreter and its platform, for the record: none of it decides a result."""
    return {
        "implementation": platform.python_implementation(),
        "version": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "byte_order": sys.byteorder,
    }


@cache
def environment() -> dict[str, Any]:
    """What a run is played with in this process: its interpreter, the versions of the libraries
    that can change a result, and of this program; errors as `library_versions`.
    """
    return {
        "interpreter": interpreter(),
        "libraries": library_versions(),
        "package": package_version(),
    }


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError as error:
        raise InputError(
            f"The distribution {name} is not installed for {sys.executable}.",
            "Install the project as its README says, then try again.",
        ) from error


def _files_of(name: str) -> Iterator[tuple[str, Path]]:
    spec = importlib.util.find_spec(name)
    if spec is None:
        raise InputError(f"The package {name} is not installed for {sys.executable}.")
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    if not folders and spec.has_location and spec.origin and Path(spec.origin).is_file():
        yield Path(spec.origin).name, Path(spec.origin)
        return
    if not folders or not all(folder.is_dir() for folder in folders):
        raise InputError(
            f"The package {name} is not installed as plain files.",
            "Install it unpacked, not from an archive.",
        )
    for folder in folders:
        for path in folder.rglob("*"):
            inside = path.relative_to(folder)
            if path.is_file() and not _is_by_product(inside):
                yield f"{name}/{inside.as_posix()}", path


def _is_by_product(inside: Path) -> bool:
    # What interpreters, editors and file managers leave behind; none of it is ever installed.
    hidden = any(part.startswith(".") or part == "__pycache__" for part in inside.parts)
    return hidden or inside.suffix in {".pyc", ".pyo"} or inside.name.endswith("~")
