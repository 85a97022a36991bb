"""Many conversations at once, and conversations that are called off."""

import asyncio

import pytest

from providers.chat import ChatProvider
from providers.contract import ProviderFault
from tests.providers.asking import ENVIRONMENT, HELLO, ask_at, route
from tests.providers.chat_service import (
    ChatService,
    Received,
    Wire,
    begin,
    chunk,
    event,
    refusal,
    reply,
    usage_chunk,
)

SEATS = 240


def test_240_requests_are_in_flight_at_once_on_one_client() -> None:
    everybody = asyncio.Event()

    async def answer(received: Received, wire: Wire) -> None:
        await begin(wire)
        await wire.piece(event(chunk({"content": received.json["messages"][1]["content"]})))
        if service.in_flight == SEATS:
            everybody.set()
        await everybody.wait()
        await wire.piece(event(chunk(finish="stop")))
        await wire.piece(event(usage_chunk()) + event("[DONE]"))
        await wire.end()

    service = ChatService((answer,))

    async def run() -> set[str]:
        async with service:
            provider = ChatProvider(route(service.base_url), environment=ENVIRONMENT)
            replies = await asyncio.gather(*(provider.ask(HELLO) for _ in range(SEATS)))
            await provider.close()
            return {one.text for one in replies}

    assert asyncio.run(run()) == {"Day 7."}
    assert service.peak_in_flight == SEATS


@pytest.mark.parametrize("begun", [True, False])
def test_a_cancelled_request_closes_its_connection(begun: bool) -> None:
    async def run() -> None:
        asked, closed = asyncio.Event(), asyncio.Event()

        async def answer(_: Received, wire: Wire) -> None:
            if begun:
                await begin(wire)
                await wire.piece(event(chunk({"content": "x"})))
            asked.set()
            await wire.hung_up()
            closed.set()

        async with ChatService((answer,)) as service:
            provider = ChatProvider(route(service.base_url), environment=ENVIRONMENT)
            asking = asyncio.create_task(provider.ask(HELLO))
            await asked.wait()
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            await closed.wait()
            await provider.close()

    asyncio.run(run())


def test_a_deadline_of_the_caller_is_his_own() -> None:
    async def answer(_: Received, wire: Wire) -> None:
        await wire.hung_up()

    async def run() -> None:
        async with ChatService((answer,)) as service:
            provider = ChatProvider(route(service.base_url), environment=ENVIRONMENT)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await provider.ask(HELLO)
            await provider.close()

    asyncio.run(run())


def test_one_that_fails_leaves_the_others_alone() -> None:
    answers = tuple(
        refusal(500, {"error": {"message": "No."}}) if place % 2 else reply({"content": "x"})
        for place in range(20)
    )

    async def run() -> int:
        async with ChatService(answers) as service:
            provider = ChatProvider(route(service.base_url), environment=ENVIRONMENT)
            results = await asyncio.gather(
                *(provider.ask(HELLO) for _ in range(20)), return_exceptions=True
            )
            await provider.close()
            return sum(isinstance(result, ProviderFault) for result in results)

    assert asyncio.run(run()) == 10


def test_a_connection_is_used_again_after_a_refusal() -> None:
    async def run() -> int:
        refused = refusal(429, {"error": {"message": "Slow down."}})
        async with ChatService((refused, reply({"content": "x"}))) as service:
            provider = ChatProvider(route(service.base_url), environment=ENVIRONMENT)
            with pytest.raises(ProviderFault):
                await provider.ask(HELLO)
            await provider.ask(HELLO)
            await provider.close()
            return service.connections

    assert asyncio.run(run()) == 1


def test_a_provider_serves_one_loop_after_another() -> None:
    async def run() -> str:
        async with ChatService((reply({"content": "x"}),)) as service:
            return (await ask_at(service.base_url)).text

    assert [asyncio.run(run()), asyncio.run(run())] == ["x", "x"]


def test_a_slow_stream_is_read_whole() -> None:
    async def answer(_: Received, wire: Wire) -> None:
        await begin(wire)
        for _place in range(200):
            await wire.piece(event(chunk({"content": "x"})))
            await asyncio.sleep(0.001)
        for item in (chunk(finish="stop"), usage_chunk(), "[DONE]"):
            await wire.piece(event(item))
        await wire.end()

    async def run() -> str:
        async with ChatService((answer,)) as service:
            return (await ask_at(service.base_url)).text

    assert asyncio.run(run()) == "x" * 200
