"""The official `openai` client as Chat Completions and Responses use it.

The library makes and authorizes the request and reports its refusals; its own retries are off,
and neither bodies nor streams pass through its typed objects: those cost an object per chunk, and
rewrite what must go back untouched.
"""

from typing import Final

import httpx2
from openai import APIConnectionError, APIStatusError, AsyncOpenAI, Omit

from providers.access import Access
from providers.contract import ProviderFault
from providers.transport import NAME_HEADER, Deadlines, broken, refusal

OPENAI_URL: Final = "https://api.openai.com/v1"

# What `with_streaming_response` sets on a request: hand the response over unread.
_UNREAD: Final = {"X-Stainless-Raw-Response": "stream"}


class RouteClient(AsyncOpenAI):
    """The official client without what it takes from the environment by itself.

    A key, an organization or headers meant for one vendor must not travel to another.
    """

    def __init__(self, http_client: httpx2.AsyncClient) -> None:
        super().__init__(api_key="given with every request", http_client=http_client, max_retries=0)

    @property
    def default_headers(self) -> dict[str, str | Omit]:
        return {
            "Accept": "text/event-stream",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            "User-Agent": self.user_agent,
        }


async def post_stream(
    client: RouteClient, access: Access, path: str, body: bytes, name: str, deadlines: Deadlines
) -> httpx2.Response:
    """Send the body under a name, if it has one; the response is open and unread.

    Raises:
        ProviderFault: the service refused, or could not be reached.
    """
    try:
        return await client.post(
            f"{access.base_url}{path}",
            content=body,
            cast_to=httpx2.Response,
            options={
                # Not in a variable: tracebacks that show variables would show it.
                "headers": {
                    "Authorization": f"Bearer {access.key}" if access.key else Omit(),
                    NAME_HEADER: name or Omit(),
                    **_UNREAD,
                },
                "timeout": httpx2.Timeout(None, connect=deadlines.connect),
            },
        )
    except APIStatusError as error:
        fault = refusal(error.response, access.scrub())
    except APIConnectionError as error:
        fault = broken(error.__cause__, access.scrub())
    raise ProviderFault(fault)
