"""Checks of a route with two small requests: a call of a tool, and what follows its result.

Together they show that the key is taken, that the model is the one that was named, that its reply
streams and carries usage, and that a conversation can be gone on with after a tool call, which is
where reasoning and signatures must go back as they came.
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from orchestrator.doctor.findings import Finding, failed, ok, skipped, warning
from orchestrator.session.tools import tool_definitions
from providers.access import missing_variables, read_access
from providers.contract import (
    AssistantMessage,
    Fault,
    Message,
    Provider,
    ProviderFault,
    Reply,
    Request,
    ToolResult,
    UserMessage,
)
from providers.opening import open_provider
from providers.proxies import proxy_variable
from providers.routes import Route

TOOL: Final = "query_company"
# Enough for a model that reasons before it calls, and little enough to cost next to nothing.
MOST_TOKENS: Final = 4_096
CALL_SECONDS: Final = 120.0

_SYSTEM: Final = "You test a connection. Do exactly what you are asked, and nothing more."
_ASK: Final = f'Call the tool {TOOL} once, with the sql "SELECT 1". Do not explain anything.'
_RESULT: Final = '{"columns":["1"],"rows":[[1]]}'

_REMEDIES: Final[Mapping[str, str]] = {
    "transient": "Try again; if it stays, look at the service's status page and at the base URL.",
    "bad_request": "Correct the route's options in the campaign file: the service refuses them.",
    "refused": "Put right what the message names.",
    "identity": "Put right what the message names.",
    "too_long": "The route has another model than it should: this conversation is a short one.",
    "protocol": "Check that the base URL is one of this protocol, and that no proxy is in between.",
}


def check_variables(candidate: str, route: Route, environment: Mapping[str, str]) -> Finding:
    """Whether the variables and files that a route names hold a key and a base URL."""
    missing = missing_variables([route], environment)
    if missing:
        found = f"not set: {', '.join(missing)}"
        return failed("key", candidate, found, _what_to_set(route, missing))
    try:
        access = read_access(route, environment, _OF_THE_VENDOR)
    except ProviderFault as fault:
        return failed("key", candidate, fault.fault.message, "Put that right, then try again.")
    key = "no key needed" if access.key is None else "a key is there"
    place = route.endpoint_env or ("the file" if route.endpoint else "the vendor's own")
    return ok("key", candidate, f"{key}; base URL from {place}")


def _what_to_set(route: Route, missing: Sequence[str]) -> str:
    """Which variables to set where the hosts are started, and to what."""
    told = []
    if route.endpoint_env in missing:
        told.append(f"{route.endpoint_env} to the service's base URL (https://...)")
    if route.key_variable in missing:
        name = route.key_variable
        told.append(f"{name} to the key, or {name}_FILE to the path of a file that holds it")
    return f"Where the hosts are started, set {'; '.join(told)}."


_OF_THE_VENDOR: Final = "https://vendor.invalid"


async def check_routes(routes: Mapping[str, Route]) -> list[Finding]:
    """All routes at once, in the order given."""
    found = await asyncio.gather(*(_check(candidate, route) for candidate, route in routes.items()))
    return [finding for findings in found for finding in findings]


async def _check(candidate: str, route: Route) -> list[Finding]:
    variables = check_variables(candidate, route, os.environ)
    if variables.health == "failed":
        return [variables, skipped("call", candidate, "not asked without a key")]
    provider = open_provider(route)
    try:
        found = await _converse(candidate, route, provider)
    finally:
        await provider.close()
    proxy = proxy_variable(read_access(route, os.environ, _OF_THE_VENDOR).base_url, os.environ)
    return [variables, *(_with_proxy(finding, proxy) for finding in found)]


def _with_proxy(finding: Finding, variable: str | None) -> Finding:
    """What failed on the way to a service may have failed at a proxy; its address stays unsaid."""
    if variable is None or finding.health != "failed" or finding.check not in _CALLS:
        return finding
    said = (
        f"The request went through the proxy that {variable} names: look whether that answers, or "
        "name the service's host in NO_PROXY."
    )
    return replace(finding, remedy=f"{finding.remedy} {said}")


_CALLS: Final = ("call", "continuation")


async def _converse(candidate: str, route: Route, provider: Provider) -> list[Finding]:
    tools = tuple(tool for tool in tool_definitions() if tool.name == TOOL)
    most = min(MOST_TOKENS, route.native_ceiling)
    messages: tuple[Message, ...] = (UserMessage(_ASK),)
    try:
        reply = await _ask(provider, Request(_SYSTEM, messages, tools, most))
    except ProviderFault as fault:
        return [_refused("call", candidate, fault.fault)]
    found = [*_of_reply(candidate, route, reply)]
    if reply.stop != "tool_calls":
        said = f"the reply ended as {reply.stop_reason} without a call"
        remedy = "Look whether the model takes tools, and whether its options leave it room."
        return [*found, failed("tool call", candidate, said, remedy)]
    found.append(ok("tool call", candidate, f"called {reply.tool_calls[0].name}"))
    results = tuple(ToolResult(call.call_id, _RESULT) for call in reply.tool_calls)
    messages = (*messages, AssistantMessage(reply.native), *results)
    try:
        reply = await _ask(provider, Request(_SYSTEM, messages, tools, most))
    except ProviderFault as fault:
        return [*found, _refused("continuation", candidate, fault.fault)]
    said = "reasoning went back as it came" if reply.has_reasoning else "the result was taken"
    return [*found, ok("continuation", candidate, said)]


async def _ask(provider: Provider, request: Request) -> Reply:
    return await provider.ask(request, within_seconds=CALL_SECONDS)


def _of_reply(candidate: str, route: Route, reply: Reply) -> list[Finding]:
    first = reply.first_token_seconds
    when = "" if first is None else f", first token after {first:.1f} s"
    alias = "" if reply.returned_model == route.model else f" for {route.model}"
    found = [ok("model", candidate, f"{reply.returned_model}{alias} answers by stream{when}")]
    if reply.usage is None:
        remedy = "Replies without usage are not counted and repeated: set ask_usage on the route."
        found.append(failed("usage", candidate, "the reply carries no usage", remedy))
    elif reply.usage.output_tokens == 0:
        remedy = "Totals and limits of this route would be wrong; ask the service."
        found.append(warning("usage", candidate, "usage says 0 output tokens", remedy))
    return found


def _refused(check: str, candidate: str, fault: Fault) -> Finding:
    return failed(check, candidate, fault.message, _REMEDIES[fault.kind])
