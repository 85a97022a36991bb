"""The types of columns that several record tables share, each with what it means."""

from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row of a record table; the fields are its columns, in order."""


RunId: TypeAlias = Annotated[str, Meta(description="The run, unique within its campaign.")]
Seat: TypeAlias = Annotated[int, Meta(description="The company's seat, counted from 1.", ge=1)]
CandidateId: TypeAlias = Annotated[str, Meta(description="The candidate who sits in the seat.")]
WorldVersion: TypeAlias = Annotated[
    int, Meta(description="Windows that were settled when this one opened.", ge=0)
]
Attempt: TypeAlias = Annotated[
    int, Meta(description="The attempt at the company-window, counted from 0.", ge=0)
]
Request: TypeAlias = Annotated[
    int, Meta(description="The request within its attempt, counted from 1.", ge=1)
]
Cents: TypeAlias = Annotated[int, Meta(description="Integer US cents.")]
Count: TypeAlias = Annotated[int, Meta(description="A number of things.", ge=0)]
