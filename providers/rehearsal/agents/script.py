"""How an agent is written: a generator that says one step after the other and reads the results.

A script knows its desk and what came back, and nothing else: no clock, no chance, no memory beyond
the conversation. It is played from its beginning for every request, so the conversation alone
decides what it says next.
"""

from collections.abc import Callable, Generator
from typing import Any, TypeAlias

import msgspec

from providers.rehearsal.agents.reading import Result, Table


class Act(msgspec.Struct, frozen=True):
    """One call of a tool; `arguments` is the JSON text of an object."""

    tool: str
    arguments: str = "{}"


class Step(msgspec.Struct, frozen=True):
    """One reply: what the agent thinks, what it says aloud, and the tools it calls.

    A step without acts is a reply without a tool call.
    """

    thought: str
    acts: tuple[Act, ...] = ()
    words: str = ""


class Desk:
    """What lies before an agent when it begins a step.

    `digest` is the SHA-256 of all that was said so far, in hexadecimal. `finalizing` is true once
    the harness has said that the window is in its last replies.
    """

    def __init__(self, briefing: str, tools: frozenset[str], digest: str) -> None:
        self.briefing = briefing
        self.tools = tools
        self.digest = digest
        self.finalizing = False


Script: TypeAlias = Generator[Step, list[Result], None]
Agent: TypeAlias = Callable[[Desk], Script]


def act(tool: str, **arguments: Any) -> Act:
    """A call; arguments that are None are left out."""
    given = {name: value for name, value in arguments.items() if value is not None}
    return Act(tool, msgspec.json.encode(given).decode())


def query(sql: str, *parameters: Any) -> Act:
    """A statement over the company's private tables."""
    return act("query_company", sql=sql, parameters=list(parameters) or None)


def look(thought: str, *statements: str) -> Generator[Step, list[Result], list[Table]]:
    """Ask several statements in one reply; a refused one gives an empty table."""
    results = yield Step(thought, tuple(query(sql) for sql in statements))
    return [result.table for result in results]


def closing() -> Script:
    """Seal, alone; when the seal is refused, drop the draft and seal a hold."""
    thought = "The draft says what I want for this window. I seal it now, as the only call."
    while True:
        refusal = (yield Step(thought, (act("seal_decision"),)))[0]
        yield Step(
            f"The seal was refused: {refusal.reason[:160]} I drop the draft rather than lose the "
            "window; the standing policies go on as they are.",
            (act("reset_decision"),),
        )
        thought = "The draft is empty again. I seal a hold, as the only call."
