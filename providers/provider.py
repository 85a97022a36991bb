"""One route's provider: what it does alike for every protocol.

The body of a request is written once and sent as it is; the reply's event stream is read once. What
a protocol says and hears is its own; the limits of size and time, the credentials, read anew for
every request, and the shared connections are here.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, TypeAlias

import msgspec

from manifests.errors import InputError
from providers.access import Access, read_access
from providers.contract import Fault, ProviderFault, Reply, Request
from providers.faults import UNREAD_REASONING, Scrub
from providers.rawjson import whole_characters
from providers.remedies import what_to_fix
from providers.replying import ReplyStream
from providers.routes import Route
from providers.transport import Deadlines, SharedClient, exchange
from providers.vendor import Vendor, post_stream

Written: TypeAlias = Callable[[str], str]

_encoder: Final = msgspec.json.Encoder()


class RouteProvider(ABC):
    """A `Provider` for a route of one protocol; `environment` is where the route's variables are
    looked up.

    Raises:
        InputError: an option of the route names a field that the protocol fills.
    """

    VENDOR: ClassVar[Vendor]
    PATH: ClassVar[str]
    """Where under the vendor's base URL the requests go."""

    def __init__(
        self,
        route: Route,
        *,
        deadlines: Deadlines | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._route = route
        self._deadlines = deadlines or Deadlines()
        self._environment = environment
        self._shared: SharedClient | None = None
        self._client: Any = None
        taken = sorted(self._filled() & route.options.keys())
        if taken:
            raise InputError(
                f"The route to {route.model}: the option {taken[0]} is filled by the protocol.",
                "Remove it from the route's options.",
            )

    @abstractmethod
    def _body(self, request: Request, written: Written) -> dict[str, Any]:
        """The body of a request, each text in it passed through `written`."""

    @abstractmethod
    def _stream(self, scrub: Scrub) -> ReplyStream:
        """The reader of one reply."""

    @abstractmethod
    def _filled(self) -> frozenset[str]:
        """The fields of a body that are the protocol's, and no option's."""

    def wire(self, request: Request) -> bytes:
        """The exact body that `ask` sends; a pure function of route and request."""
        try:
            return _encoder.encode(self._body(request, str))
        except UnicodeEncodeError:
            # Half a character in some text: it must not spoil the rest of the conversation.
            return _encoder.encode(self._body(request, whole_characters))

    async def ask(
        self,
        request: Request,
        *,
        body: bytes | None = None,
        within_seconds: float | None = None,
    ) -> Reply:
        """Send one request, once, and read the whole reply; see `Provider.ask`."""
        sent = self.wire(request) if body is None else body
        access = read_access(self._route, self._environment, self.VENDOR.url)
        client, path = self._connected(), self.PATH
        if access.base_url.endswith("/v1"):
            # Some vendors' base URLs are written without the version, others' with it.
            path = path.removeprefix("/v1")
        scrub = access.scrub()
        stream = self._stream(scrub)
        try:
            exchanged = await exchange(
                lambda: post_stream(
                    self.VENDOR, client, access, path, sent, request.name, self._deadlines
                ),
                stream,
                self._deadlines,
                within_seconds,
                scrub,
            )
            return msgspec.structs.replace(stream.reply(exchanged), key_mark=access.key_mark)
        except ProviderFault as refusal:
            fault = refusal.fault
        raise ProviderFault(self._explained(fault, request, len(sent), access))

    async def close(self) -> None:
        """Give back the connections; the provider is not used again."""
        shared, self._shared, self._client = self._shared, None, None
        if shared is not None:
            await shared.release()

    def _connected(self) -> Any:
        if self._shared is None:
            self._shared = SharedClient.hold()
            self._client = self.VENDOR.client(self._shared.http)
        return self._client

    def _explained(self, fault: Fault, request: Request, size: int, access: Access) -> Fault:
        """The fault with what only the sender of the request knows."""
        if fault.kind == "too_long":
            sizes = (
                f" (the request: {size:,} bytes, {len(request.messages)} messages and"
                f" {len(request.tools)} tools; up to {request.max_output_tokens:,} output tokens)"
            )
            return msgspec.structs.replace(fault, message=fault.message + sizes)
        was = request.key_mark
        if fault.code in UNREAD_REASONING and was is not None and was != access.key_mark:
            message = (
                "The service cannot read the encrypted reasoning of this window, which came under"
                f" another key than {self._route.key_variable} holds now. Put that key back"
                f" until the window has closed, or retry the window from its start. {fault.message}"
            )
            return msgspec.structs.replace(
                fault, kind="refused", code="credentials_changed", message=message
            )
        remedy = what_to_fix(fault, self._route)
        said = f"{fault.message} {remedy}" if remedy else fault.message
        return msgspec.structs.replace(fault, message=said)
