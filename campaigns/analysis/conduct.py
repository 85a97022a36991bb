"""How companies decided over one run, summed for each: what behaviour, decision health and workload
are computed from.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from campaigns.records import (
    AttemptRecord,
    CompanyWindowRecord,
    FailureRecord,
    NoteRecord,
    QueryRecord,
    ReplyRecord,
    RunRecords,
)

SETTINGS: Final = tuple(
    name for name in CompanyWindowRecord.__struct_fields__ if name.endswith("_settings")
)
"""The columns that count settings written, by kind."""

SEALED: Final = "sealed"
_TOKENS: Final = (
    *("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_tokens"),
    "cache_written_tokens",
)


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What some attempts took: replies and calls, and tokens as the services counted them.

    `cached_input_tokens`, read from a cache, and `cache_written_tokens` are parts of the input,
    `reasoning_tokens` of the output. Replies without
    usage and requests that were possibly billed are in none of the other figures: what they took is
    not known.
    """

    windows: int = 0
    replies: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cache_written_tokens: int = 0
    replies_without_usage: int = 0
    possibly_billed: int = 0

    def __add__(self, other: "Work") -> "Work":
        return Work(
            **{name: getattr(self, name) + getattr(other, name) for name in Work.__struct_fields__}
        )

    @classmethod
    def of(cls, windows: int, attempts: Iterable[AttemptRecord]) -> "Work":
        """The work of these attempts at so many windows."""
        return sum(map(_work, attempts), start=cls(windows=windows))

    @classmethod
    def of_late(cls, replies: Sequence[ReplyRecord]) -> "Work":
        """The work of replies that came too late, and at how many windows they did."""
        return cls(
            windows=len({reply.world_version for reply in replies}),
            replies=len(replies),
            tool_calls=sum(reply.tool_calls for reply in replies),
            **{name: sum(getattr(reply, name) or 0 for reply in replies) for name in _TOKENS},
            replies_without_usage=sum(reply.input_tokens is None for reply in replies),
        )


class Conduct(msgspec.Struct, frozen=True, kw_only=True):
    """One trajectory: one company over one run.

    `statuses` counts its settled windows by status and `settings` what their decisions write, by
    kind. `counted` is the work at settled windows that were sealed and whose every reply told its
    usage; `apart` is all other work: unsealed and open windows, and attempts that failed.
    `queries` and `notes` are those of settled windows, whose last attempt counts; `statements` are
    the if-then statements of these notes. `late` is the work of replies that came for an owner
    which had lost the run: they were paid, and are in none of the other figures; their requests
    count as possibly billed. `failures` counts all requests without a reply, by kind. `builds`
    counts all replies by the build that its service says has served them, in the order in which
    they first appear; replies without such a word are not in it.
    """

    run_id: str
    seat: int
    candidate: str
    is_model: bool
    statuses: dict[str, int]
    open: int
    fresh_attempts: int
    settings: dict[str, int]
    queries: int
    notes: int
    statements: int
    failures: dict[str, int]
    counted: Work
    apart: Work
    late: Work
    builds: dict[str, int]

    @property
    def active(self) -> int:
        """Its settled windows."""
        return sum(self.statuses.values())


def conduct(run: RunRecords) -> list[Conduct]:
    """The trajectories of a run by seat, as far as it has been played."""
    windows: dict[int, list[CompanyWindowRecord]] = defaultdict(list)
    for window in run.rows(CompanyWindowRecord):
        windows[window.seat].append(window)
    attempts: dict[tuple[int, int], list[AttemptRecord]] = defaultdict(list)
    for attempt in run.rows(AttemptRecord):
        attempts[attempt.seat, attempt.world_version].append(attempt)
    closing = {
        (window.seat, window.world_version, attempts[window.seat, window.world_version][-1].attempt)
        for own in windows.values()
        for window in own
        if window.is_settled and window.attempts
    }
    queries = Counter(each.seat for each in run.rows(QueryRecord) if _attempt(each) in closing)
    notes: Counter[int] = Counter()
    statements: Counter[int] = Counter()
    for note in run.rows(NoteRecord):
        if _attempt(note) in closing:
            notes[note.seat] += 1
            statements[note.seat] += note.if_then_statements
    failures: dict[int, Counter[str]] = defaultdict(Counter)
    for failure in run.rows(FailureRecord):
        failures[failure.seat][failure.kind] += 1
    late: dict[int, list[ReplyRecord]] = defaultdict(list)
    builds: dict[int, Counter[str]] = defaultdict(Counter)
    for reply in run.rows(ReplyRecord):
        if reply.build is not None:
            builds[reply.seat][reply.build] += 1
        if reply.is_late:
            late[reply.seat].append(reply)
    found: list[Conduct] = []
    for seat, own in sorted(windows.items()):
        counted, apart = _work_of(own, attempts)
        settled = [window for window in own if window.is_settled]
        found.append(
            Conduct(
                run_id=run.run.run_id,
                seat=seat,
                candidate=own[0].candidate,
                is_model=own[0].is_model,
                statuses=dict(Counter(window.status for window in settled)),
                open=len(own) - len(settled),
                fresh_attempts=sum(max(window.attempts - 1, 0) for window in own),
                settings={name: sum(getattr(each, name) for each in settled) for name in SETTINGS},
                queries=queries[seat],
                notes=notes[seat],
                statements=statements[seat],
                failures=dict(failures[seat]),
                counted=counted,
                apart=apart,
                late=Work.of_late(late[seat]),
                builds=dict(builds[seat]),
            )
        )
    return found


def _attempt(record: QueryRecord | NoteRecord) -> tuple[int, int, int]:
    return record.seat, record.world_version, record.attempt


def _work_of(
    windows: Sequence[CompanyWindowRecord],
    attempts: dict[tuple[int, int], list[AttemptRecord]],
) -> tuple[Work, Work]:
    counted, apart = Work(), Work()
    for window in windows:
        own = attempts.get((window.seat, window.world_version), [])
        if _is_counted(window, own):
            counted += Work.of(1, own[-1:])
            apart += Work.of(0, own[:-1])
        else:
            apart += Work.of(1, own)
    return counted, apart


def _is_counted(window: CompanyWindowRecord, attempts: Sequence[AttemptRecord]) -> bool:
    """Whether the workload counts a window (evaluation.md section 2)."""
    return (
        window.is_settled
        and window.status == SEALED
        and not (attempts and attempts[-1].replies_without_usage)
    )


def _work(attempt: AttemptRecord) -> Work:
    return Work(
        **{name: getattr(attempt, name) for name in Work.__struct_fields__ if name != "windows"}
    )
