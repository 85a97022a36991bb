"""Agents acted out without a server: conversations in the neutral form."""

from typing import Final

from providers.rehearsal.agents.script import Agent
from providers.rehearsal.conversation import (
    Call,
    Conversation,
    ReplyTurn,
    ResultTurn,
    Turn,
    UserTurn,
    conversation,
)
from providers.rehearsal.performance import next_reply
from providers.rehearsal.replies import SpokenReply
from tests.providers.rehearsal.client import BRIEFING, MOST_REPLIES
from tests.providers.rehearsal.company import TOOLS, Company

NO_CALL: Final = UserTurn("Your reply had no tool call, and nothing was run.")


def talk_of(turns: list[Turn], tools: frozenset[str] = frozenset(TOOLS)) -> Conversation:
    """A conversation that begins with the briefing."""
    return conversation("model", ["You run a company."], [UserTurn(BRIEFING), *turns], tools)


def turn_of(reply: SpokenReply) -> ReplyTurn:
    """A reply as it comes back."""
    calls = tuple(Call(call.call_id, call.name, call.arguments) for call in reply.calls)
    return ReplyTurn(reply.reasoning, reply.text, calls)


def results(reply: ReplyTurn, texts: list[str]) -> list[Turn]:
    """The results of its calls."""
    return [ResultTurn(call.call_id, text) for call, text in zip(reply.calls, texts, strict=True)]


def act_out(agent: Agent, company: Company) -> list[SpokenReply]:
    """The replies of an agent in a window until it has sealed."""
    turns: list[Turn] = []
    replies: list[SpokenReply] = []
    while company.sealed is None:
        assert len(replies) < MOST_REPLIES
        replies.append(next_reply(agent, talk_of(turns)))
        said = turn_of(replies[-1])
        answers = company.reply([(call.name, call.arguments) for call in said.calls])
        turns += [said, *results(said, answers)] if said.calls else [said, NO_CALL]
    return replies
