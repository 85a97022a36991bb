"""From a conversation to an agent's next reply.

An agent's script is played from its beginning against what the conversation holds; where it asks
for something that the conversation does not hold yet, that is the next reply. No state outlives the
request. What the harness may do to a reply is understood here, so that scripts need not know it:

- A reply that was cut by length is said again, with hardly a thought; if that is cut too, one call
  at a time; and if even that does not help, whatever is still planned is dropped.
- In finalization, queries are not asked any more; the script is told that they were refused. Two
  replies later whatever is still planned is dropped, and the draft is sealed.
- A conversation that does not follow the script, because somebody else began it, is closed at once.
"""

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from providers.rehearsal.agents.reading import Result
from providers.rehearsal.agents.script import Act, Agent, Desk, Step, closing
from providers.rehearsal.conversation import (
    Call,
    Conversation,
    ReplyTurn,
    ResultTurn,
    UserTurn,
)
from providers.rehearsal.replies import SpokenCall, SpokenReply, call_id

REPLIES_IN_FINALIZATION: Final = 2
TERSE_CHARACTERS: Final = 60
CUTS_UNTIL_SINGLE_CALLS: Final = 2
CUTS_UNTIL_THE_END: Final = 4

_CUT: Final = re.compile(r"(?i)\b(cut|truncated|length|max_tokens|incomplete)\b")
_FINALIZATION: Final = re.compile(r"(?i)finali[sz]")
_NOT_YET: Final = re.compile(r'(?i)"[a-z_]*finali[sz][a-z_]*"\s*:\s*(false|null)')
# What these return is the company's own text and records, which may well hold the word.
_QUOTING: Final = frozenset({"query_company", "read_file", "search_files", "glob_files"})
_REFUSED_QUERY: Final = '{"error": "not asked: queries are refused during finalization"}'


class _Answered(msgspec.Struct, frozen=True):
    """A reply of the past and the results of its calls, in the order of the calls."""

    place: bytes
    reply: ReplyTurn
    results: tuple[str, ...]


def next_reply(
    agent: Agent, talk: Conversation, *, thinks: bool = True, one_call_at_a_time: bool = False
) -> SpokenReply:
    """What the agent says after this conversation.

    Without tools on offer it can only talk. `thinks` decides whether reasoning is part of the
    reply.
    """
    play = _Play(agent, talk)
    for event in _events(talk):
        if isinstance(event, _Answered):
            play.replied(event)
        else:
            play.told(event.text)
    return play.reply(talk.place, thinks=thinks, one_call_at_a_time=one_call_at_a_time)


def _events(talk: Conversation) -> Iterator[_Answered | UserTurn]:
    """What happened after the briefing, in order."""
    turns = talk.turns
    position = 1 if turns and isinstance(turns[0], UserTurn) else 0
    while position < len(turns):
        turn = turns[position]
        if isinstance(turn, ReplyTurn):
            following = turns[position + 1 : position + 1 + len(turn.calls)]
            texts = {item.call_id: item.text for item in following if isinstance(item, ResultTurn)}
            results = tuple(texts.get(call.call_id, "") for call in turn.calls)
            yield _Answered(talk.places[position], turn, results)
        elif isinstance(turn, UserTurn):
            yield turn
        position += 1


class _Play:
    """A script on its way through a conversation."""

    def __init__(self, agent: Agent, talk: Conversation) -> None:
        briefing = talk.turns[0].text if talk.turns and isinstance(talk.turns[0], UserTurn) else ""
        self._desk = Desk(briefing, talk.tools, talk.places[0].hex())
        self._script = agent(self._desk)
        self._step: Step | None = None
        self._results: dict[int, Result] = {}
        self._is_spoken = False
        self._cuts = 0
        self._most_cuts = 0
        self._is_cut_counted = False
        self._is_closing = False
        self._last_replies = 0

    def told(self, text: str) -> None:
        """The harness said something: a correction, or that finalization begins."""
        if _FINALIZATION.search(text):
            self._desk.finalizing = True
        elif _CUT.search(text):
            if not self._is_cut_counted:
                self._count_cut()
            self._is_cut_counted = False

    def replied(self, past: _Answered) -> None:
        """The agent replied, and its calls were answered."""
        step = self._prepare(past.place)
        if self._desk.finalizing:
            self._last_replies += 1
        if not step.acts:
            self._is_spoken = True
            self._cuts = 0
            return
        open_acts = self._open_acts(step)
        calls = past.reply.calls
        if self._was_cut(step, open_acts, calls, past.results):
            self._count_cut()
            self._is_cut_counted = True
        elif [call.name for call in calls] != [
            step.acts[number].tool for number in open_acts[: len(calls)]
        ]:
            self._close()
        else:
            for number, text in zip(open_acts, past.results, strict=False):
                self._results[number] = Result(text)
            self._cuts = 0
        self._listen(calls, past.results)

    def reply(self, place: bytes, *, thinks: bool, one_call_at_a_time: bool) -> SpokenReply:
        """The next reply."""
        step = self._prepare(place)
        if not self._desk.tools:
            return SpokenReply(step.thought if thinks else "", step.words or step.thought, ())
        open_acts = self._open_acts(step)
        if one_call_at_a_time or self._most_cuts >= CUTS_UNTIL_SINGLE_CALLS:
            open_acts = open_acts[:1]
        acts = [step.acts[number] for number in open_acts]
        calls = [
            SpokenCall(call_id(place, position), act.tool, act.arguments)
            for position, act in enumerate(acts)
        ]
        thought, words = step.thought, step.words
        if self._most_cuts:
            thought, words = thought[:TERSE_CHARACTERS], "" if calls else words
        return SpokenReply(thought if thinks else "", words, tuple(calls))

    def _count_cut(self) -> None:
        self._cuts += 1
        self._most_cuts = max(self._most_cuts, self._cuts)
        if self._cuts >= CUTS_UNTIL_THE_END and not self._is_closing:
            self._close()

    def _prepare(self, place: bytes) -> Step:
        """The step that the script takes here: the present one as long as something of it is open,
        else the next.
        """
        if self._last_replies >= REPLIES_IN_FINALIZATION and not self._is_closing:
            self._close()
        while True:
            if self._step is not None:
                if self._desk.finalizing:
                    self._refuse_queries(self._step)
                if self._is_open(self._step):
                    return self._step
            self._desk.digest = place.hex()
            self._step = self._advance()

    def _is_open(self, step: Step) -> bool:
        return bool(self._open_acts(step)) if step.acts else not self._is_spoken

    def _open_acts(self, step: Step) -> list[int]:
        return [number for number in range(len(step.acts)) if number not in self._results]

    def _refuse_queries(self, step: Step) -> None:
        for number in self._open_acts(step):
            if step.acts[number].tool == "query_company":
                self._results[number] = Result(_REFUSED_QUERY)

    def _advance(self) -> Step:
        answers = [result for _, result in sorted(self._results.items())]
        begun = self._step is not None
        self._results = {}
        self._is_spoken = False
        try:
            return self._script.send(answers) if begun else next(self._script)
        except StopIteration:
            self._close()
            return next(self._script)

    def _close(self) -> None:
        """Drop what is still planned: the next step is the seal."""
        self._script.close()
        self._script = closing()
        self._is_closing = True
        self._step = None
        self._results = {}
        self._is_spoken = False

    def _was_cut(
        self, step: Step, open_acts: list[int], calls: tuple[Call, ...], results: tuple[str, ...]
    ) -> bool:
        """Whether a reply ended in the middle, so that none of its calls ran."""
        if not calls:
            return True
        answers = [Result(text) for text in results]
        if all(answer.refused and _CUT.search(answer.reason) for answer in answers):
            return True
        meant: list[Act] = [step.acts[number] for number in open_acts]
        return any(
            call.name == act.tool and _is_beginning(call.arguments, act.arguments)
            for call, act in zip(calls, meant, strict=False)
        )

    def _listen(self, calls: tuple[Call, ...], results: tuple[str, ...]) -> None:
        """Whether a result says that finalization has begun."""
        for call, text in zip(calls, results, strict=True):
            if not _FINALIZATION.search(text) or _NOT_YET.search(text):
                continue
            if call.name not in _QUOTING or Result(text).refused:
                self._desk.finalizing = True


def _is_beginning(text: str, whole: str) -> bool:
    """Whether a text is a whole one that was cut. A harness may also mend what was never whole."""
    return text != whole and whole.startswith(text)
