"""What the official libraries have in common: one generator makes them all.

A library makes and authorizes the request and reports its refusals; its own retries are off, and
neither bodies nor streams pass through its typed objects: those cost an object per chunk, and
rewrite what must go back untouched.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import httpx2

from providers.access import Access
from providers.contract import ProviderFault
from providers.transport import NAME_HEADER, Deadlines, broken, refusal

PLAIN_HEADERS: Final[Mapping[str, str]] = {
    "Accept": "text/event-stream",
    "Accept-Encoding": "identity",
    "Content-Type": "application/json",
}

# What `with_streaming_response` sets on a request: hand the response over unread.
_UNREAD: Final = {"X-Stainless-Raw-Response": "stream"}


class Vendor(NamedTuple):
    """One library: its vendor's own endpoint, its client over given connections, and its words.

    `omit` leaves a header out. `refused` is its error that has the response, `unreachable` the one
    whose cause is the connection's. The classes of different libraries have no common base.
    """

    url: str
    client: Callable[[httpx2.AsyncClient], Any]
    omit: Any
    refused: Any
    unreachable: Any


async def post_stream(
    vendor: Vendor,
    client: Any,
    access: Access,
    path: str,
    body: bytes,
    name: str,
    deadlines: Deadlines,
) -> httpx2.Response:
    """Send the body under a name, if it has one; the response is open and unread.

    Raises:
        ProviderFault: the service refused, or could not be reached.
    """
    try:
        response: httpx2.Response = await client.post(
            f"{access.base_url}{path}",
            content=body,
            cast_to=httpx2.Response,
            options={
                # Not in a variable: tracebacks that show variables would show it.
                "headers": {
                    "Authorization": f"Bearer {access.key}" if access.key else vendor.omit,
                    NAME_HEADER: name or vendor.omit,
                    **_UNREAD,
                },
                "timeout": httpx2.Timeout(None, connect=deadlines.connect),
            },
        )
    except vendor.refused as error:
        fault = refusal(error.response, access.scrub())
    except vendor.unreachable as error:
        fault = broken(error.__cause__, access.scrub())
    else:
        return response
    raise ProviderFault(fault)
