"""How companies decided: their windows, what models asked, received, queried and wrote.

No record holds a prompt, a reply's text or anything of a model's reasoning, and none names an
endpoint. `QueryRecord.sql` and `NoteRecord.text` are null in a source that leaves conversations
out; every other column is there in each source.
"""

from typing import Annotated

from msgspec import Meta

from campaigns.records.columns import (
    Attempt,
    CandidateId,
    Count,
    Record,
    Request,
    RunId,
    Seat,
    WorldVersion,
)


class CompanyWindowRecord(Record, frozen=True, kw_only=True):
    """One company-window, settled or open. The settings count the fields that are present in its
    sealed decision (evaluation.md section 2); without a decision they are zero.
    """

    run_id: RunId
    world_version: WorldVersion
    day: Annotated[int, Meta(description="The boundary day on which the window opened.", ge=0)]
    seat: Seat
    candidate: CandidateId
    is_model: Annotated[bool, Meta(description="Whether a language model decided.")]
    status: Annotated[str, Meta(description="sealed, budget_exhausted, timeout, ...")]
    is_settled: Annotated[bool, Meta(description="Whether the barrier has settled it.")]
    attempts: Annotated[int, Meta(description="Attempts of a model; 0 without one.", ge=0)]
    has_decision: bool
    price_settings: Annotated[int, Meta(description="Prices and promotions written.")]
    stock_settings: Annotated[int, Meta(description="Reorder targets written.")]
    marketing_settings: Annotated[int, Meta(description="Budgets by segment and channel.")]
    development_settings: Annotated[
        int, Meta(description="Development budgets and innovation projects.")
    ]
    service_settings: Annotated[int, Meta(description="Reliability and support budgets.")]
    capacity_settings: Count
    bid_settings: Annotated[int, Meta(description="Sealed bids on tenders.")]
    research_settings: Annotated[int, Meta(description="Market research reports ordered.")]


class AttemptRecord(Record, frozen=True, kw_only=True):
    """One attempt of a model at a company-window, and what it used.

    Cached input tokens are a part of the input, reasoning tokens of the output; replies without
    usage are in none of the other figures.
    """

    run_id: RunId
    world_version: WorldVersion
    seat: Seat
    candidate: CandidateId
    attempt: Attempt
    status: Annotated[str, Meta(description="How it ended; open while it has not.")]
    replies: Count
    finalization_replies: Count
    tool_calls: Count
    input_tokens: Count
    cached_input_tokens: Count
    output_tokens: Count
    reasoning_tokens: Count
    cache_written_tokens: Count
    replies_without_usage: Count
    possibly_billed: Annotated[
        int, Meta(description="Requests without a reply that may have been billed.")
    ]
    failures: Annotated[int, Meta(description="Requests that ended in a fault.")]
    active_seconds: Annotated[float, Meta(description="Active time, seconds.")]


class ReplyRecord(Record, frozen=True, kw_only=True):
    """The usage of one reply as its service counted it; null where it sent none."""

    run_id: RunId
    world_version: WorldVersion
    seat: Seat
    candidate: CandidateId
    attempt: Attempt
    request: Request
    is_late: Annotated[
        bool,
        Meta(description="It came for an owner that had lost the run: paid, in no conversation."),
    ]
    requested_model: str
    returned_model: str
    build: Annotated[
        str | None, Meta(description="The served model's build, as its service fingerprints it.")
    ]
    request_id: Annotated[str | None, Meta(description="The service's own name of the request.")]
    stop: Annotated[str, Meta(description="finished, tool_calls, length, content_filter, other")]
    tool_calls: Count
    input_tokens: int | None
    cached_input_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    cache_written_tokens: int | None
    latency_seconds: float
    first_token_seconds: float | None


class FailureRecord(Record, frozen=True, kw_only=True):
    """A request that ended without a reply, by the kinds of providers.md section 4, or
    `interrupted` when the process ended while it was under way.
    """

    run_id: RunId
    world_version: WorldVersion
    seat: Seat
    candidate: CandidateId
    attempt: Attempt
    request: Request
    kind: str
    http_status: int | None
    code: Annotated[str | None, Meta(description="The service's own code.")]
    is_possibly_billed: bool


class QueryRecord(Record, frozen=True, kw_only=True):
    """One SQL statement that a model ran, or tried to run, on its books."""

    run_id: RunId
    world_version: WorldVersion
    seat: Seat
    candidate: CandidateId
    attempt: Attempt
    number: Annotated[int, Meta(description="Among the attempt's queries, from 1.", ge=1)]
    is_answered: Annotated[bool, Meta(description="False when it was refused or interrupted.")]
    sql: Annotated[str | None, Meta(description="The statement, null when it is left out.")]


class NoteRecord(Record, frozen=True, kw_only=True):
    """A private file as one write or edit of a model left it."""

    run_id: RunId
    world_version: WorldVersion
    seat: Seat
    candidate: CandidateId
    attempt: Attempt
    path: str
    file_version: Annotated[int, Meta(description="Counted from 1 for each path.", ge=1)]
    size: Annotated[int, Meta(description="Bytes of UTF-8.", ge=0)]
    if_then_statements: Annotated[
        int, Meta(description="By `statements.if_then_statements`, over the whole text.", ge=0)
    ]
    text: Annotated[str | None, Meta(description="The whole text, null when it is left out.")]
