"""A campaign in the browser while it runs: read-only, on loopback, read from the store alone.

The page asks again and again, so that it outlives this server as well as the campaign. It gets the
answers of `status`, `why` and `failures`; a store that cannot be read is an answer, too.
"""

import asyncio
import contextlib
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from campaigns.analysis.evidence import recorded_labels
from campaigns.report.page import render
from campaigns.report.palette import looks
from manifests.errors import ArenaError, InputError
from orchestrator.bound import bound_scenario
from orchestrator.status.history import history
from orchestrator.status.progress import ProgressReader
from orchestrator.status.waiting import why_campaign
from orchestrator.store import RunKey, Store, open_store

HOST: Final = "127.0.0.1"
_HOSTS: Final = (HOST, "localhost")
"""The names that a request may ask for: a page elsewhere, whose name leads here, is refused."""

_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_NOT_THERE: Final = 404
_UNAVAILABLE: Final = 503
_LAST_ENTRIES: Final = 60


class Watched:
    """One campaign of a store, read from one thread. The store is opened when it is first asked
    for, and again after it could not be read.
    """

    def __init__(self, location: str, campaign: str) -> None:
        self.campaign = campaign
        self._location = location
        self._opened = contextlib.ExitStack()
        self._store: Store | None = None
        self._reader: ProgressReader | None = None

    def state(self) -> dict[str, Any]:
        """How the campaign stands: as `status --runs --json`, with what everything waits for
        (`answers`), how candidates are drawn, and who sits where in each run.
        """
        store, reader = self._open()
        progress = reader.read()
        manifest = store.catalogue.manifest(self.campaign)
        scenario = bound_scenario(manifest)
        lineups = {run.planned.run_id: run.planned.lineup for run in progress.runs}
        panel = next(
            (run.planned.lineup for run in progress.runs if run.planned.replaced is None),
            next(iter(lineups.values())),
        )
        seated = list(dict.fromkeys(name for lineup in lineups.values() for name in lineup))
        drawn = looks(panel, seated, recorded_labels(manifest))
        return {
            **progress.to_json(runs=True),
            "answers": [
                answer.to_json()
                for answer in why_campaign(progress, store.controls.pauses(self.campaign))
            ],
            "window_days": scenario.window_days,
            "horizon_days": scenario.horizon_days,
            "initial_cash_cents": scenario.initial_cash_cents,
            "lineups": lineups,
            "candidates": {
                name: {"label": drawn[name].label, "colour": drawn[name].colour} for name in seated
            },
        }

    def cash(self, run_id: str, after: int) -> dict[str, Any]:
        """The cash of a run's companies at the end of each settled day after a day, in cents:
        (day, seat, cents) in order.
        """
        store, _ = self._open()
        run = store.run(store.catalogue.run(RunKey(self.campaign, run_id)).key)
        try:
            return {"run": run_id, "after": after, "cash": run.closing_cash(after)}
        finally:
            run.close()

    def history(self) -> dict[str, Any]:
        """The last failures, fresh attempts and rests, the latest first."""
        store, _ = self._open()
        entries = [each for each in history(store, self.campaign) if not each.is_routine]
        entries = entries[-_LAST_ENTRIES:]
        return {"history": [entry.to_json() for entry in reversed(entries)]}

    def close(self) -> None:
        """Let the store go; the next question opens it again."""
        self._store = self._reader = None
        self._opened.close()

    def _open(self) -> tuple[Store, ProgressReader]:
        if self._store is None or self._reader is None:
            store = self._opened.enter_context(open_store(self._location))
            self._reader = ProgressReader(store, self.campaign)
            self._store = store
        return self._store, self._reader


def serve_live(location: str, campaign: str, port: int, on_start: Callable[[str], None]) -> None:
    """Serve the live view on loopback until the process is told to stop; port 0 takes a free one.
    `on_start` is told the address.

    Raises:
        InputError: the port cannot be used.
    """
    import uvicorn

    try:
        listener = socket.create_server((HOST, port))
    except (OSError, OverflowError) as error:
        raise InputError(
            f"The live view cannot listen on {HOST} port {port}: {error}.",
            "Choose another port with --port, or 0 for any free one.",
        ) from error
    with listener:
        on_start(f"http://{HOST}:{listener.getsockname()[1]}/")
        config = uvicorn.Config(
            application(location, campaign),
            log_level="warning",
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=1,
        )
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listener])


def application(location: str, campaign: str) -> Starlette:
    """The live view of one campaign: a page, and what it asks for."""
    watched = Watched(location, campaign)
    # One thread reads, so that the store is used by one at a time and the server stays awake.
    reading = ThreadPoolExecutor(max_workers=1, thread_name_prefix="live")
    page = render("live.html.j2", title=campaign)

    async def show(_request: Request) -> Response:
        return HTMLResponse(page, headers=_HEADERS)

    async def state(_request: Request) -> Response:
        return await answer(watched.state)

    async def cash(request: Request) -> Response:
        after = request.query_params.get("after", "0")
        if not (after.isascii() and after.isdigit() and len(after) < 10):
            return JSONResponse({"trouble": "after is a day"}, 400, headers=_HEADERS)
        run_id = request.query_params.get("run", "")
        return await answer(lambda: watched.cash(run_id, int(after)))

    async def told(_request: Request) -> Response:
        return await answer(watched.history)

    async def answer(question: Callable[[], dict[str, Any]]) -> Response:
        def asked() -> dict[str, Any]:
            try:
                return question()
            except ArenaError:
                watched.close()
                raise

        try:
            found = await asyncio.get_running_loop().run_in_executor(reading, asked)
        except ArenaError as error:
            status = _NOT_THERE if isinstance(error, InputError) else _UNAVAILABLE
            return JSONResponse({"trouble": str(error)}, status, headers=_HEADERS)
        return JSONResponse(found, headers=_HEADERS)

    return Starlette(
        routes=[
            Route("/", show, methods=["GET"]),
            Route("/state.json", state, methods=["GET"]),
            Route("/cash.json", cash, methods=["GET"]),
            Route("/history.json", told, methods=["GET"]),
        ],
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=_HOSTS, www_redirect=False),
        ],
    )
