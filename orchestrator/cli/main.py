"""The console script: every command, and what becomes of an error.

Exit codes: 0 done; 1 the answer is no, such as a replay that differs or a campaign that is not
complete or in which a model never decided; 2 unusable input; 3 the store or the system under it
refuses; 130 interrupted; 141 nobody reads the output any more. A defect of the program shows its
traceback and ends with 70.
"""

import errno
import os
import sys
import traceback
from typing import Annotated, Final, NoReturn

import typer

from manifests.errors import ArenaError, StoreError
from manifests.fingerprints import PACKAGES, package_version, source_fingerprint
from orchestrator.cli import (
    analysis,
    bundles,
    campaign,
    doctor,
    evidence,
    experiments,
    gateway,
    keys,
    manifest,
    sessions,
    spending,
    steering,
    storage,
    worlds,
)
from orchestrator.cli.contents import EXIT_CODES, Contents
from orchestrator.cli.local_paths import refuse_urls
from orchestrator.cli.output import keep_password_apart, notice, refuse_passwords

DEFECT: Final = 70
READER_GONE: Final = 141
"""As a shell reports a process that SIGPIPE ended, and as nothing else ends."""

_FULL: Final = (errno.ENOSPC, errno.EDQUOT)

app = typer.Typer(
    name="ceo-arena",
    cls=Contents,
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
GROUPS: Final = (
    *(worlds, experiments, campaign, steering, sessions, evidence, analysis),
    *(spending, storage, doctor, bundles, manifest, keys, gateway),
)
for group in GROUPS:
    app.add_typer(group.app)
refuse_urls(app)


def _tell_version(asked: bool) -> None:
    if asked:
        typer.echo(f"ceo-arena {package_version()}")
        typer.echo(f"Source {source_fingerprint(PACKAGES).overall}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_tell_version,
            is_eager=True,
            help="Print the version and the digest of the source, which manifests bind, and end.",
        ),
    ] = False,
) -> None:
    """A reproducible market in which CEOs, models or rules, run competing companies."""


def main() -> None:
    """Run the command that the arguments name; ends the process with its exit code."""
    try:
        code = _exit_code()
        sys.stdout.flush()
    except OSError as error:
        # The interpreter would write what is left once more when it ends, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = READER_GONE if isinstance(error, BrokenPipeError) else _refused(error)
    sys.exit(code)


def _exit_code() -> int | str | None:
    try:
        _run()
    except SystemExit as end:
        # So the libraries that print end a command whose output nobody reads, with 1.
        return READER_GONE if isinstance(end.__context__, BrokenPipeError) else end.code
    return 0


def _run() -> None:
    try:
        refuse_passwords(sys.argv[1:])
        keep_password_apart(os.environ)
        app()
    except ArenaError as error:
        notice(f"Error: {error}")
        sys.exit(error.exit_code)
    except OSError as error:
        if error.errno not in _FULL:
            _show_defect()
        sys.exit(_refused(error))
    except Exception:  # noqa: BLE001 - the last place where a defect can be told from a refusal
        _show_defect()


def _show_defect() -> NoReturn:
    traceback.print_exc()
    sys.exit(DEFECT)


def _refused(error: OSError) -> int:
    """The exit code after the system did not take what was written, here most likely the output."""
    notice(f"Error: Nothing more can be written: {error.strerror}.\n  Make room, then try again.")
    return StoreError.exit_code
