"""What all commands share: their common options, and how they speak.

Data goes to standard output, everything else to standard error, so that the output of `--json` is
one JSON document.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import typer
from rich.console import Console
from rich.markup import escape

from manifests.errors import InputError, StoreError
from manifests.printable import printable, shortened
from orchestrator.lifecycle import CompanyWindowStatus

if TYPE_CHECKING:
    from orchestrator.store import Store

STORE_VARIABLE: Final = "CEO_ARENA_STORE"
DEFAULT_STORE: Final = "ceo-arena-store"

MOST_HOSTS: Final = 1_000
"""Far more than any machine takes, and few enough to be started by mistake."""

CampaignArgument = Annotated[
    str,
    typer.Argument(
        metavar="CAMPAIGN", help="A campaign of the library, or the path of a campaign file."
    ),
]
DaysOption = Annotated[
    int | None,
    typer.Option(
        "--days",
        metavar="N",
        min=1,
        help="Only the first so many days: a short form, with a plan hash of its own.",
        show_default="those of the campaign",
    ),
]
StoreOption = Annotated[
    str,
    typer.Option(
        "--store",
        metavar="PLACE",
        envvar=STORE_VARIABLE,
        help="Where campaigns and results are kept: a directory, or postgresql://user@host/name.",
        show_default=f"./{DEFAULT_STORE}",
    ),
]
NameArgument = Annotated[
    str | None,
    typer.Argument(metavar="NAME", help="The campaign.", show_default="the store's only one"),
]
RunOption = Annotated[
    str | None,
    typer.Option("--run", metavar="ID", help="Only this run.", show_default="all"),
]
SeatOption = Annotated[
    int | None,
    typer.Option(
        "--seat", metavar="N", min=1, help="Only this company's seat.", show_default="all"
    ),
]
StatusOption = Annotated[
    CompanyWindowStatus | None,
    typer.Option(
        "--status",
        metavar="STATUS",
        help=f"Only windows of this status: {', '.join(CompanyWindowStatus)}.",
        show_default="all",
    ),
]
ReasonOption = Annotated[
    str, typer.Option("--reason", metavar="TEXT", help="Why; kept with the campaign.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
HostsOption = Annotated[
    int | None,
    typer.Option(
        "--hosts",
        metavar="N",
        min=1,
        max=MOST_HOSTS,
        help="How many host processes play the runs.",
        show_default="one for each processor",
    ),
]
AddressOption = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="ADDRESS",
        help="A Ray cluster to run on, host:port or auto.",
        show_default="a private Ray on this machine",
    ),
]
FaultsOption = Annotated[
    Path | None,
    typer.Option(
        "--faults",
        metavar="FILE",
        help="A fault plan: faults that the rehearsal gateway commits on purpose.",
        show_default="none",
    ),
]

# A path may have lost one of the slashes.
_PASSWORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/{1,2}[^\s/@:]*:[^\s/@]+@")

ANSWER_IS_NO: Final = 1
"""The exit code when something differs, failed, or is missing."""


class Column(NamedTuple):
    """A column of a table; numbers stand to the right."""

    heading: str
    number: bool = False


@cache
def notices() -> Console:
    """The console of everything that is no data: standard error."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def notice(text: str) -> None:
    """Say something on standard error."""
    notices().print(escape(shortened(printable(text, keep="\n\t"))))


def print_json(value: Any) -> None:
    """Print one JSON document, on one line, keys as they stand."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
    sys.stdout.flush()


@contextmanager
def progress_bar(doing: str, steps: int) -> Iterator[Callable[[object], None]]:
    """A bar on standard error, which a call advances; nothing when that is no terminal."""
    from rich.progress import Progress

    with Progress(console=notices(), transient=True, disable=not notices().is_terminal) as bar:
        task = bar.add_task(doing, total=steps)

        def done(_step: object) -> None:
            bar.advance(task)

        yield done


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn the system's refusal of files into a StoreError about their folder."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{folder} cannot be written: {error.strerror or error}.", "Name another folder."
        ) from error


def dollars(cents: int | None) -> str:
    """An amount of integer cents as dollars, such as -$1,234.50; None is a dash."""
    if cents is None:
        return "-"
    whole, rest = divmod(abs(cents), 100)
    return f"{'-' if cents < 0 else ''}${whole:,}.{rest:02}"


def chosen_campaign(store: "Store", name: str | None) -> str:
    """The campaign that is meant: the store's only one, if none is named.

    Raises:
        InputError: the store has no such campaign, or none is named and there is not just one.
    """
    if name is not None:
        tell_made_again(store, [store.catalogue.campaign(name).name])
        return name
    names = [row.name for row in store.catalogue.campaigns()]
    if len(names) == 1:
        tell_made_again(store, names)
        return names[0]
    if not names:
        raise InputError("The store has no campaign.", "Launch one: ceo-arena launch rehearsal")
    raise InputError(
        f"The store has {len(names)} campaigns.", f"Name one of them: {', '.join(names)}."
    )


def campaigns_in(location: str) -> list[str]:
    """The names of the campaigns of a store; none where there is no store."""
    from orchestrator.store import NoStore, open_store

    try:
        with open_store(location) as store:
            return [row.name for row in store.catalogue.campaigns()]
    except NoStore:
        return []


def tell_made_again(store: "Store", campaigns: Iterable[str]) -> None:
    """Say of each campaign whether its catalogue was lost, until somebody has acted on it."""
    for name in campaigns:
        if store.catalogue.was_made_again(name):
            notice(
                f"The catalogue of campaign {name} was lost and is made again from its runs: what "
                "they spent is counted, and it is paused. Caps that `spending --cap` had set, "
                "holds, and what people did are gone."
            )


def store_shown(location: str) -> str:
    """A store's place for messages and commands, relative when that is shorter."""
    if "://" in location:
        return location
    path = Path(location)
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else location


def refuse_passwords(arguments: Sequence[str]) -> None:
    """Raise InputError when an argument is a URL with a password in it; which one is not repeated.

    The list of processes shows every argument to everybody, and some are recorded.
    """
    if any(_PASSWORD.search(argument) for argument in arguments):
        raise InputError(
            "An argument has a password in it, which other people may read where it is shown.",
            "Leave it out. That of a PostgreSQL store goes into the variable PGPASSWORD or into a "
            "password file.",
        )


def keep_password_apart(environment: MutableMapping[str, str]) -> None:
    """Move a password in the store's URL to where PostgreSQL's own programs look for it.

    So no message, argument or actor can repeat it, and the processes that a command starts have it.
    """
    location = environment.get(STORE_VARIABLE, "")
    if not location.startswith("postgres"):
        return
    from orchestrator.store.postgresql import without_password

    environment[STORE_VARIABLE], password = without_password(location)
    if password is not None:
        environment["PGPASSWORD"] = password
