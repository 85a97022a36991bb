"""Opening a store: a directory of this machine, or a database that many share."""

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from campaigns.records import CompanyOutcome
from manifests.errors import InputError
from orchestrator.store.catalogue import Catalogue
from orchestrator.store.controls import RouteControls
from orchestrator.store.directory import open_directory
from orchestrator.store.holds import Holds
from orchestrator.store.homes import StoreHome
from orchestrator.store.records import RunKey, RunStatus
from orchestrator.store.runs import RunStore

_SQLITE_URL: Final = "sqlite:///"
_POSTGRESQL_SCHEMES: Final = frozenset({"postgresql", "postgres", "postgresql+psycopg"})


class Store:
    """An open store. Close it, or use it in a `with` statement.

    `location` opens the same store from any directory and process. A store may be shared by
    threads; a process opens its own.
    """

    def __init__(self, home: StoreHome) -> None:
        self.location = home.location
        self.catalogue = Catalogue(home.catalogue)
        self.controls = RouteControls(home.catalogue)
        self.holds = Holds(home.catalogue)
        self._home = home
        self._runs: dict[RunKey, RunStore] = {}

    def run(self, key: RunKey) -> RunStore:
        """One run; closed with the store. Raises InputError when the catalogue does not have it."""
        if key not in self._runs:
            self.catalogue.run(key)
            self._runs.setdefault(key, self._run_store(key))
        return self._runs[key]

    def statuses(self, campaign: str) -> list[RunStatus]:
        """How every run of a campaign stands, in scheduling order."""
        return [run.status() for run in self._each_run(campaign)]

    def outcomes(self, campaign: str) -> list[CompanyOutcome]:
        """How every company ended in every completed run of a campaign, in scheduling order."""
        return [outcome for run in self._each_run(campaign) for outcome in run.outcomes()]

    def faults(self) -> Iterator[tuple[str, str]]:
        """What is wrong with the databases themselves: each place, and what."""
        return self._home.faults()

    def obstacle(self) -> str:
        """Why nothing can be written at present, such as a full disk, as far as that can be seen
        without writing; empty when nothing is known to be in the way.
        """
        return self._home.obstacle()

    def most_hosts(self) -> int | None:
        """How many processes may play its runs at once; None when nothing limits them."""
        return self._home.most_hosts()

    def close(self) -> None:
        """Close all files and connections of the store."""
        for run in self._runs.values():
            run.close()
        self._runs.clear()
        self._home.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _each_run(self, campaign: str) -> Iterator[RunStore]:
        for row in self.catalogue.runs(campaign):
            if row.key in self._runs:
                yield self._runs[row.key]
                continue
            # A campaign may have more runs than this process may have open files.
            run = self._run_store(row.key)
            try:
                yield run
            finally:
                run.close()

    def _run_store(self, key: RunKey) -> RunStore:
        return RunStore(key, self._home.of_run(key))


def open_store(location: str, create: bool = False, upgrade: bool = False) -> Store:
    """The store at a path, at `sqlite:///` and a path, or at the URL of a PostgreSQL database;
    `create` makes it if it is not there, the database itself excepted. An older one is migrated;
    one with campaigns that only another package can finish, when `upgrade` says so.

    Raises:
        InputError: a URL of another database, or one that cannot be read.
        StoreError: there is no store, it is damaged or from a newer version, or the system refuses;
            or another package is to finish what is in it.
    """
    if _scheme(location) in _POSTGRESQL_SCHEMES:
        # Its driver takes a while to import, and is not needed for files.
        from orchestrator.store.postgresql import postgresql_url
        from orchestrator.store.server import open_server

        return Store(open_server(postgresql_url(location), create, upgrade))
    return Store(open_directory(directory_of(location), create, upgrade))


def is_shared(location: str) -> bool:
    """Whether hosts on several machines can use the store at once."""
    return _scheme(location) in _POSTGRESQL_SCHEMES


def directory_of(location: str) -> Path:
    """The directory at a path, or at `sqlite:///` and a path.

    Raises:
        InputError: a URL of a database that is not supported, or nothing at all.
    """
    path = location.removeprefix(_SQLITE_URL)
    scheme = _scheme(path)
    if scheme:
        raise InputError(
            f"A store cannot be kept at a URL of {scheme}.",
            "Name a directory, as a path or as sqlite:///path, or postgresql://user@host/database.",
        )
    if not path:
        raise InputError("The place of the store is empty.", "Name a directory.")
    return Path(path).expanduser().absolute()


def _scheme(location: str) -> str:
    scheme, separator, _ = location.partition("://")
    return scheme if separator else ""
