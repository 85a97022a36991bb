"""Finding and reading campaign files: those of the library by name, all others by path."""

import os
import tomllib
from pathlib import Path
from typing import Any, Final

from campaigns.problems import listed, suggestion
from manifests.errors import InputError
from manifests.paths import refuse_url

LIBRARY: Final = Path(__file__).parent / "library"
SUFFIX: Final = ".toml"


def library_names() -> tuple[str, ...]:
    """The names of the campaigns that come with the project, sorted."""
    return tuple(sorted(path.stem for path in LIBRARY.glob(f"*{SUFFIX}")))


def is_path(reference: str) -> bool:
    """Whether a text means a path, and no name: one with a slash or with the ending `.toml`."""
    return reference.endswith(SUFFIX) or bool({"/", "\\"} & set(reference))


def campaign_path(reference: str | Path, base: Path = Path(), wanted_by: str = "") -> Path:
    """The file that a reference means.

    A path is relative to `base`; any other text is the name of a library campaign. `wanted_by`
    names the place that holds the reference.

    Raises:
        InputError: a URL, or a name that the library does not have.
    """
    if isinstance(reference, Path) or is_path(reference):
        refuse_url(reference, wanted_by)
        return base / reference
    names = library_names()
    if reference in names:
        return LIBRARY / f"{reference}{SUFFIX}"
    # Unlike `exists`, this does not mind a name that no file can have.
    there = reference != "" and os.path.lexists(base / reference)
    file = reference if there else f"{reference or 'campaign'}{SUFFIX}"
    raise InputError(
        f'{wanted_by}There is no campaign "{reference}" in the library, which has {listed(names)}.',
        f"{suggestion(reference, names)}A file of your own is given by its path, such as ./{file}.",
    )


def source_name(path: Path) -> str:
    """How messages call a campaign file."""
    return f"library campaign {path.stem}" if path.parent == LIBRARY else str(path)


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file.

    Raises:
        InputError: the file cannot be read, is not UTF-8, or is not TOML (with line and column).
    """
    name = source_name(path)
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(
            f"{name}: the campaign file cannot be read: {reason}.",
            f"Check the path and its permissions, or name a library campaign: "
            f"{listed(library_names())}.",
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name}: byte {error.start} is not UTF-8 text.", "Save the campaign file as UTF-8."
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{name}: not valid TOML: {error}.", "Correct the file at the place named."
        ) from error
