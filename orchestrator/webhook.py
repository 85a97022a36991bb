"""Telling a person that a run waits for them: a webhook (runtime.md section 6).

Where it goes is a secret as often as not: it stands in the environment alone, is read when
something is to be told, and appears in no message. The store knows what is told here; what cannot
be delivered is given up after a few tries, and holds no run back.
"""

import asyncio
import os
from dataclasses import asdict, dataclass
from typing import Final

import httpx2
from tenacity import (
    AsyncRetrying,
    RetryError,
    retry_if_exception_type,
    retry_if_result,
    stop_after_attempt,
    wait_exponential_jitter,
)
from tenacity.wait import wait_base

URL_VARIABLE: Final = "CEO_ARENA_WEBHOOK_URL"

_ATTEMPTS: Final = 4
_ANSWER_SECONDS: Final = 5.0

# How long the end of a campaign may wait for what is still being told.
_LAST_SECONDS: Final = 15.0

_BACK_OFF: Final = wait_exponential_jitter(multiplier=0.5, max=4)
_TOO_MANY_REQUESTS: Final = 429


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """A run that came to rest without being told to, as it is sent: a JSON object of these keys.

    `day` is how many days are settled, None where the store could not be asked; `at` is the moment
    in ISO 8601, UTC.
    """

    campaign: str
    run: str
    status: str
    reason: str
    day: int | None
    at: str


class Webhook:
    """Sends each rest by itself, in the background of the running event loop."""

    def __init__(self, back_off: wait_base = _BACK_OFF) -> None:
        self._back_off = back_off
        self._sending: set[asyncio.Task[None]] = set()

    def tell(self, rest: Rest) -> None:
        """Begin to send; nothing where no address is set. Never raises, never waits."""
        url = os.environ.get(URL_VARIABLE, "").strip()
        if url:
            task = asyncio.create_task(self._send(url, rest))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    async def close(self) -> None:
        """Wait a while for what is still being sent, then give it up."""
        if not self._sending:
            return
        _, late = await asyncio.wait(self._sending, timeout=_LAST_SECONDS)
        for task in late:
            task.cancel()

    async def _send(self, url: str, rest: Rest) -> None:
        again = AsyncRetrying(
            stop=stop_after_attempt(_ATTEMPTS),
            wait=self._back_off,
            retry=retry_if_exception_type(httpx2.TransportError) | retry_if_result(_for_now),
        )
        try:
            async with httpx2.AsyncClient(timeout=_ANSWER_SECONDS) as client:
                await again(client.post, url, json=asdict(rest))
        except (RetryError, httpx2.HTTPError, httpx2.InvalidURL):
            # Whatever is wrong with the receiver, the campaign is not.
            return


def _for_now(answer: httpx2.Response) -> bool:
    return answer.is_server_error or answer.status_code == _TOO_MANY_REQUESTS
