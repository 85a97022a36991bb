"""The official `anthropic` client as Messages uses it."""

from typing import Final

import httpx2
from anthropic import APIConnectionError, APIStatusError, AsyncAnthropic, Omit

from providers.vendor import PLAIN_HEADERS, Vendor

VERSION: Final = "2023-06-01"


class MessagesClient(AsyncAnthropic):
    """The official client without what it takes from the environment by itself.

    A key, a profile or headers meant for one vendor must not travel to another.
    """

    def __init__(self, http_client: httpx2.AsyncClient) -> None:
        super().__init__(
            api_key="given with every request",
            http_client=http_client,
            max_retries=0,
            # Spans could hold what is said, and requests would bear their names.
            open_telemetry=False,
        )
        # It would add what a variable names to every request, whoever that goes to.
        self._custom_headers = {}

    @property
    def default_headers(self) -> dict[str, str | Omit]:
        return {**PLAIN_HEADERS, "User-Agent": self.user_agent, "anthropic-version": VERSION}


ANTHROPIC: Final = Vendor(
    "https://api.anthropic.com", MessagesClient, Omit(), APIStatusError, APIConnectionError
)
