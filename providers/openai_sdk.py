"""The official `openai` client as Chat Completions and Responses use it."""

from typing import Final

import httpx2
from openai import APIConnectionError, APIStatusError, AsyncOpenAI, Omit

from providers.vendor import PLAIN_HEADERS, Vendor


class RouteClient(AsyncOpenAI):
    """The official client without what it takes from the environment by itself.

    A key, an organization or headers meant for one vendor must not travel to another.
    """

    def __init__(self, http_client: httpx2.AsyncClient) -> None:
        super().__init__(api_key="given with every request", http_client=http_client, max_retries=0)

    @property
    def default_headers(self) -> dict[str, str | Omit]:
        return {**PLAIN_HEADERS, "User-Agent": self.user_agent}


OPENAI: Final = Vendor(
    "https://api.openai.com/v1", RouteClient, Omit(), APIStatusError, APIConnectionError
)
