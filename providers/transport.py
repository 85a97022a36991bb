"""HTTP as every protocol here uses it: one shared client per event loop, one reader of streams.

The reader holds the deadlines itself, so that they hold whatever a vendor's library does, and
reads a stream in as few steps as its age allows: each step costs processor time, and nobody looks
at a reply before it is whole.
"""

import asyncio
import contextlib
import logging
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from typing import Final, NamedTuple, Protocol
from weakref import WeakKeyDictionary
from zlib import crc32

import httpx2

from providers.contract import Fault, ProviderFault
from providers.faults import WEB_PAGE, Scrub, fault_of, request_id, vendor_error
from providers.sse import Event, EventDecoder, EventTooLarge

LARGEST_REFUSAL_BYTES: Final = 1024 * 1024

# Servers commonly drop a connection after five idle seconds; reusing it then would lose a request.
_KEEP_ALIVE_SECONDS: Final = 4.0
_KEPT_CONNECTIONS: Final = 512
_POOLS: Final = 64

# After a read the reader pauses for this share of the stream's age, so that what arrives meanwhile
# is read at once: a reply is known at most this much later.
_PAUSE_SHARE: Final = 0.05
_LONGEST_PAUSE_SECONDS: Final = 1.0
_SHORTEST_PAUSE_SECONDS: Final = 0.002
_DRAIN_SECONDS: Final = 0.2

# These libraries' debug records quote what services answer, which may repeat a key to them.
for _library in ("anthropic", "httpcore2", "httpx2", "openai"):
    logging.getLogger(_library).setLevel(logging.WARNING)

NAME_HEADER: Final = "X-Client-Request-Id"
"""Bears the name of a request: that of its conversation, a slash, and what tells it from others."""

_THIS_MACHINE: Final = ("all://127.0.0.1", "all://localhost", "all://[::1]")

_BROKEN: Final = (httpx2.HTTPError, httpx2.StreamError, ssl.SSLError, EOFError, OSError)


class Deadlines(NamedTuple):
    """Seconds: to connect, between two arrivals, and for a whole reply."""

    connect: float = 60.0
    idle: float = 900.0
    overall: float = 3_600.0


class Sink(Protocol):
    """What makes a reply of events; it may raise ProviderFault to end the reading."""

    @property
    def begun(self) -> bool:
        """Whether the model has said anything yet."""

    @property
    def done(self) -> bool:
        """Whether the stream has said that it is complete."""

    def take(self, event: Event) -> None:
        """The next event."""


class Exchanged(NamedTuple):
    """How a stream was read to its end; seconds since the request was sent."""

    request_id: str | None
    latency_seconds: float
    first_token_seconds: float | None


class _Pools(httpx2.AsyncBaseTransport):
    """The connections, in several pools.

    Whenever a request begins or ends, a pool looks at each of its idle connections, and asks the
    system about it: with a hundred in one, that would cost as much as all else of the transport.
    Requests of one conversation take one pool, where the connection of the last is still open; of
    the conversations of a host, two or so meet in one.
    """

    def __init__(self, limits: httpx2.Limits, context: ssl.SSLContext) -> None:
        self._pools = [
            httpx2.AsyncHTTPTransport(verify=context, limits=limits) for _ in range(_POOLS)
        ]

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        conversation = request.headers.get(NAME_HEADER, "").rpartition("/")[0]
        pool = self._pools[crc32(conversation.encode()) % _POOLS]
        return await pool.handle_async_request(request)

    async def aclose(self) -> None:
        for pool in self._pools:
            await pool.aclose()


class SharedClient:
    """The HTTP client of one event loop, held by the providers that use it."""

    _of_loop: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, "SharedClient"]] = (
        WeakKeyDictionary()
    )

    def __init__(self) -> None:
        limits = httpx2.Limits(
            max_connections=None,
            max_keepalive_connections=_KEPT_CONNECTIONS,
            keepalive_expiry=_KEEP_ALIVE_SECONDS,
        )
        context = httpx2.create_ssl_context()
        self.http = httpx2.AsyncClient(
            limits=limits,
            verify=context,
            # A proxy that the environment names comes before "everywhere", but has no way to this
            # machine's own services.
            mounts=dict.fromkeys((*_THIS_MACHINE, "all://*"), _Pools(limits, context)),
            # Elsewhere is not the endpoint that the route names.
            follow_redirects=False,
            event_hooks={"response": [_bound_refusal]},
        )
        self._holders = 0

    @classmethod
    def hold(cls) -> "SharedClient":
        """The client of the running loop; every hold is given back by one `release`."""
        loop = asyncio.get_running_loop()
        shared = cls._of_loop.get(loop)
        if shared is None:
            shared = cls._of_loop[loop] = cls()
        shared._holders += 1
        return shared

    async def release(self) -> None:
        """Give one hold back; the last one closes the connections."""
        self._holders -= 1
        if self._holders == 0:
            self._of_loop.pop(asyncio.get_running_loop(), None)
            await self.http.aclose()


async def exchange(
    send: Callable[[], Awaitable[httpx2.Response]],
    sink: Sink,
    deadlines: Deadlines,
    within_seconds: float | None,
    scrub: Scrub,
) -> Exchanged:
    """Send a request and read its event stream into the sink, to the end.

    `send` opens the response without reading it, and turns a refusal into a ProviderFault.

    Raises:
        ProviderFault: the sink's, or that of a broken, stalled or unreadable stream. It carries no
            other exception with it, since those hold requests with their keys.
    """
    loop = asyncio.get_running_loop()
    start = loop.time()
    allowed = deadlines.overall if within_seconds is None else within_seconds
    end = start + min(deadlines.overall, allowed)
    if end <= start:
        message = "No time is left for the request; it was not sent."
        raise ProviderFault(Fault(kind="transient", code="timeout", message=message))
    try:
        async with asyncio.timeout_at(min(end, start + deadlines.idle)) as timer:
            response = await send()
            try:
                await _refuse_document(response, scrub)
                first = await _read(response, sink, timer, start, end, deadlines.idle)
            finally:
                await response.aclose()
            answered = request_id(response.headers, scrub)
            return Exchanged(answered, loop.time() - start, first)
    except TimeoutError:
        cause = "the whole reply took too long" if loop.time() >= end else "nothing arrived"
        message = f"Gave up after {loop.time() - start:.1f} seconds: {cause}."
        fault = Fault(kind="transient", code="timeout", message=message, maybe_billed=True)
    except EventTooLarge:
        fault = unreadable("One event of the stream is larger than a whole reply may be.")
    except _BROKEN as error:
        fault = broken(error, scrub)
    raise ProviderFault(fault)


def broken(error: BaseException | None, scrub: Scrub) -> Fault:
    """The fault of a connection that could not be made, or broke."""
    unsent = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError)
    what = "No connection" if unsent else "The connection broke"
    return Fault(
        kind="transient",
        code="no_connection" if unsent else "connection_broken",
        message=scrub(f"{what}: {type(error).__name__} {error}"),
        maybe_billed=not unsent,
    )


async def _read(
    response: httpx2.Response,
    sink: Sink,
    timer: asyncio.Timeout,
    start: float,
    end: float,
    idle: float,
) -> float | None:
    loop = asyncio.get_running_loop()
    decoder = EventDecoder()
    first: float | None = None
    turn = _Turn(loop)
    pieces = _pieces(response)
    async with contextlib.aclosing(pieces):
        async for piece in pieces:
            waited = turn.passed
            if waited:
                timer.reschedule(min(end, loop.time() + idle))
            for event in decoder.feed(piece):
                sink.take(event)
            if first is None and sink.begun:
                first = loop.time() - start
            if sink.done:
                # The reply is here: no deadline can take it away again.
                timer.reschedule(None)
                await _drain(pieces)
                return first
            if first is not None and waited:
                await _pause(loop.time() - start - first)
            turn.await_next()
    for event in decoder.finish():
        sink.take(event)
    return first


class _Turn:
    """Tells whether the event loop has turned, as it does when a read waits for the network."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.passed = True

    def await_next(self) -> None:
        if self.passed:
            self.passed = False
            self._loop.call_soon(self._pass)

    def _pass(self) -> None:
        self.passed = True


async def _pause(age: float) -> None:
    pause = min(_LONGEST_PAUSE_SECONDS, age * _PAUSE_SHARE)
    if pause >= _SHORTEST_PAUSE_SECONDS:
        await asyncio.sleep(pause)


def _pieces(response: httpx2.Response) -> AsyncGenerator[bytes, None]:
    async def generate() -> AsyncGenerator[bytes, None]:
        # Asked for as it is; a proxy may compress all the same.
        compressed = "content-encoding" in response.headers
        stream = response.aiter_bytes() if compressed else response.aiter_raw()
        async for piece in stream:
            yield piece

    return generate()


def refusal(response: httpx2.Response, scrub: Scrub) -> Fault:
    """What is wrong with a request that a service refused with this whole response."""
    error, status = vendor_error(response.content), response.status_code
    return fault_of(error, status, headers=response.headers, now=_now(), scrub=scrub)


async def _drain(pieces: AsyncIterator[bytes]) -> None:
    """Read the few bytes after the last event, so that the connection can serve again."""
    with contextlib.suppress(TimeoutError, *_BROKEN):
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in pieces:
                pass


async def _refuse_document(response: httpx2.Response, scrub: Scrub) -> None:
    """A success that is no stream: an error object sent as such, or somebody else's page."""
    content_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if "json" not in content_type and "html" not in content_type:
        return
    body = b""
    async for piece in response.aiter_bytes():
        body += piece[: LARGEST_REFUSAL_BYTES - len(body)]
        if len(body) >= LARGEST_REFUSAL_BYTES:
            break
    error = vendor_error(body)
    if "json" in content_type and error.codes:
        found = fault_of(error, None, headers=response.headers, now=_now(), scrub=scrub)
        raise ProviderFault(found)
    shown = scrub(f"The answer is a {content_type} document, not a stream: {error.message}")
    if "html" in content_type:
        # No service of a model answers with a page: the address is another one, which no repetition
        # changes. What stands before the service may have passed the request on all the same.
        page = Fault(kind="refused", code=WEB_PAGE, message=shown, maybe_billed=True)
        raise ProviderFault(page)
    raise ProviderFault(unreadable(shown))


class _BoundedStream(httpx2.AsyncByteStream):
    """The first bytes of a stream."""

    def __init__(self, stream: httpx2.AsyncByteStream, limit: int) -> None:
        self._stream = stream
        self._left = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            yield piece[: self._left]
            self._left -= len(piece)
            if self._left <= 0:
                return

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _bound_refusal(response: httpx2.Response) -> None:
    """Vendors' libraries read the whole body of a refusal: let it be a bounded one."""
    if not response.is_success and isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _BoundedStream(response.stream, LARGEST_REFUSAL_BYTES)
        # Nothing compressed was asked for, and unpacking has no bound.
        response.headers.pop("content-encoding", None)


def unreadable(message: str) -> Fault:
    """The fault of an answer that is not what the protocol demands."""
    return Fault(kind="protocol", code="unreadable", message=message, maybe_billed=True)


def _now() -> datetime:
    return datetime.now(UTC)
