"""The gateway's web application: its addresses, the key, and the lists.

It has no memory that reaches a reply: an agent knows the request alone. What it keeps are counters.
"""

from typing import Any, Final

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from providers.rehearsal.access import Keeper
from providers.rehearsal.agents import AGENTS
from providers.rehearsal.chat.protocol import ChatCompletions
from providers.rehearsal.endpoint import Endpoint
from providers.rehearsal.faults import Striker
from providers.rehearsal.messages.protocol import Messages
from providers.rehearsal.options import GatewayOptions
from providers.rehearsal.question import WireProtocol
from providers.rehearsal.refusals import Refusal
from providers.rehearsal.responses.protocol import Responses
from providers.rehearsal.seals import Sealer
from providers.rehearsal.statistics import Statistics

# Fixed, so that the list of models is the same everywhere: the first day of 2025.
MODELS_SINCE: Final = 1_735_689_600
OWNER: Final = "ceo-arena-rehearsal"
LABEL: Final = {"x-rehearsal": "scripted agents; no model answers here"}


def application(options: GatewayOptions) -> Starlette:
    """The gateway as an ASGI application.

    Raises:
        InputError: the ledger cannot be used.
    """
    statistics = Statistics(options.ledger)
    keeper = Keeper(options)
    striker = Striker(options.faults)
    sealer = Sealer(options.signing_key)
    protocols: dict[str, WireProtocol] = {
        "/v1/chat/completions": ChatCompletions(options, sealer),
        "/v1/responses": Responses(options, sealer),
        "/v1/messages": Messages(options, sealer),
    }
    spoken = [
        Route(
            address,
            Endpoint(protocol, options, keeper, statistics, striker, LABEL),
            methods=["POST"],
        )
        for address, protocol in protocols.items()
    ]

    async def models(request: Request) -> Response:
        keeper.admit(request.headers)
        return _json({"object": "list", "data": [_model(name) for name in AGENTS]})

    async def model(request: Request) -> Response:
        keeper.admit(request.headers)
        name = request.path_params["model"]
        if name not in AGENTS:
            raise Refusal(404, f"The model '{name}' does not exist", code="model_not_found")
        return _json(_model(name))

    async def report(_: Request) -> Response:
        return _json(statistics.report() | {"faults": dict(sorted(striker.struck.items()))})

    return Starlette(
        routes=[
            *spoken,
            Route("/v1/models", models),
            Route("/v1/models/{model}", model),
            Route("/rehearsal/statistics", report),
        ],
        exception_handlers={
            Refusal: _refused,
            HTTPException: _no_such_address,
            Exception: _defect,
        },
    )


def _json(value: Any) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json", headers=LABEL)


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": MODELS_SINCE, "owned_by": OWNER}


def _error(refusal: Refusal) -> Response:
    body = msgspec.json.encode({"error": refusal.error})
    return Response(body, refusal.status, media_type="application/json", headers=LABEL)


async def _refused(_: Request, error: Exception) -> Response:
    if not isinstance(error, Refusal):
        raise error
    return _error(error)


async def _no_such_address(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    address = f"{request.method} {request.url.path}"
    said = "Not allowed" if error.status_code == 405 else "Invalid URL"
    return _error(Refusal(error.status_code, f"{said} ({address})"))


async def _defect(_: Request, __: Exception) -> Response:
    return _error(
        Refusal(
            500,
            "The rehearsal gateway had an error while processing your request; its log says more.",
            kind="server_error",
        )
    )
