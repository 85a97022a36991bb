"""What a person may set on the rehearsal gateway."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from providers.rehearsal.faults.plan import FaultPlan

Seconds = Annotated[float, Field(ge=0, le=86_400)]
Tokens = Annotated[int, Field(ge=1)]


class GatewayOptions(BaseModel):
    """The behaviour of a gateway.

    `reply_delay_seconds` pass between a request and the first byte of its reply, `stream_seconds`
    between the first and the last chunk of a stream. `chunks_per_reply` is into how many pieces a
    streamed reply is cut; over Chat Completions, a reply with fewer characters is filled up with
    empty pieces, as some services send them. `output_tokens` is the most that one reply may hold,
    with exceptions by model id; `context_tokens` bounds a conversation together with its reply. A
    request needs a key, any key unless `api_key` is given; without `needs_key` it may come without.
    `signing_key` seals reasoning: gateways with equal keys accept each other's. `ledger` names a
    file to which every request and every complete reply is appended; a gateway that finds it goes
    on counting where the last one ended. `faults` are met on purpose.
    """

    model_config = ConfigDict(
        strict=True, frozen=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True
    )

    reply_delay_seconds: Seconds = 0.0
    stream_seconds: Seconds = 0.0
    chunks_per_reply: Annotated[int, Field(ge=1, le=100_000)] = 24
    output_tokens: Tokens = 131_072
    output_tokens_by_model: dict[str, Tokens] = Field(default_factory=dict)
    context_tokens: Tokens = 1_048_576
    needs_key: bool = True
    api_key: SecretStr | None = None
    signing_key: str = "ceo-arena-rehearsal"
    ledger: Path | None = None
    faults: FaultPlan | None = None

    def ceiling(self, model: str) -> int:
        """The most output tokens of one reply of `model`."""
        return self.output_tokens_by_model.get(model, self.output_tokens)
