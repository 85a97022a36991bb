"""What must never leave the store: credentials, endpoints, reasoning, the key of commitments."""

import base64
import json
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import msgspec
import polars as pl
import pytest

from campaigns.definition import parse_definition
from campaigns.plan import plan
from campaigns.records import AttemptRecord, NoteRecord, QueryRecord
from engine.settle import initial_state
from engine.streams import Streams
from manifests.bundle import ENVELOPE_FILE, Bundle
from manifests.commitments import commitment, proves
from manifests.errors import InputError
from orchestrator.binding import frozen, with_endpoints
from orchestrator.bound import bound_scenario
from orchestrator.bundle import layout
from orchestrator.bundle.analysis import analysed
from orchestrator.bundle.reading import BundleSource
from orchestrator.lifecycle import CompanyWindowStatus, RunState
from orchestrator.session.events import (
    Answered,
    Asked,
    Closed,
    Corrected,
    Event,
    Failed,
    Halted,
    ToolReceipt,
    WindowOpened,
    encode_event,
    kind_of,
)
from orchestrator.session.files import FileChange
from orchestrator.store import (
    AttemptFailure,
    AttemptKey,
    AttemptStore,
    FreshGrant,
    RunKey,
    SessionStore,
    open_store,
)
from providers.contract import Fault, ToolCall, Usage
from tests.orchestrator.bundle.exported import files_of, found, replayed, write
from tests.orchestrator.cli.rehearsed import ALLOWANCE, DIGEST, NAME, campaign_data, reply, route

FILE_URL: Final = "https://canary-file.example:8443/v1"
VARIABLE_URL: Final = "https://canary-variable.example/v1/"
KEY_FILE_TEXT: Final = "canary-key-in-a-file"
REASONING: Final = "canary-reasoning"
CANARIES: Final = ("canary", base64.b64encode(b"canary-key").decode()[:12])
RUN: Final = f"{NAME}-s11-reference"
ENDPOINT_KEY: Final = bytes(range(32))

HARMLESS: Final = "Größe and 価格 are what is left."


def environment(folder: Path) -> dict[str, str]:
    """What the host of a campaign has in its environment."""
    file = folder / "key"
    file.write_text(f"{KEY_FILE_TEXT}\n", encoding="utf-8")
    return {
        "CEO_ARENA_REHEARSAL_URL": VARIABLE_URL,
        "CEO_ARENA_REHEARSAL_KEY": "canary-credential",
        "OTHER_KEY_FILE": str(file),
        "AWS_SECRET_ACCESS_KEY": "canary-unrelated",
    }


def told(secret: str) -> str:
    """A secret as somebody may have worded it into a text."""
    return f"{HARMLESS} Authorization: Bearer {secret}; at {secret}/chat."


def events(secret: str, writes: bool) -> list[Event]:
    """An attempt in which everybody tells a secret, and the model reasons."""
    answer = reply(
        ToolCall("q", "query_company", json.dumps({"sql": f"SELECT '{secret}'"})),
        ToolCall("w", "write_file", json.dumps({"path": "MEMORY.md", "content": told(secret)})),
        text=told(secret),
        usage=Usage(2**60, 10, 20, 5),
    )
    native = json.dumps({"role": "assistant", "reasoning_content": REASONING, "blob": REASONING})
    change = FileChange("MEMORY.md", 1, told(secret)) if writes else None
    return [
        WindowOpened(0.0, DIGEST, DIGEST, told(secret), ALLOWANCE),
        Asked(0.1, 1, DIGEST, 100),
        Failed(1.0, 1, Fault(kind="transient", message=told(secret), code=secret, status=503)),
        Asked(1.5, 2, DIGEST, 100),
        Answered(2.0, 2, msgspec.structs.replace(answer, native=native, has_reasoning=True)),
        ToolReceipt(2.1, "q", "query_company", told(secret), ok=True),
        ToolReceipt(2.2, "w", "write_file", told(secret), ok=True, file_change=change),
        Corrected(2.3, told(secret)),
        Closed(3.0, CompanyWindowStatus.PROTOCOL_ERROR, told(secret)),
    ]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign in which one window has used up its three fresh attempts, and one has halted."""
    folder = tmp_path_factory.mktemp("secrets")
    variables = environment(folder)
    data = campaign_data()
    direct = {**route("diarist"), "endpoint": FILE_URL, "credentials": ["OTHER_KEY"]}
    del direct["endpoint_env"]
    data["candidates"][0]["route"] = direct
    data["notes"] = f"To be played against {FILE_URL}, with care."
    planned = plan(parse_definition(data, "the campaign of a test"))
    manifest = with_endpoints(frozen(planned), ENDPOINT_KEY, variables)
    with open_store(str(folder / "store"), create=True) as opened:
        opened.catalogue.create_campaign(manifest, planned.runs, ENDPOINT_KEY)
        run = opened.run(RunKey(NAME, RUN))
        lease = run.acquire("a test", 600)
        run.set_status(lease, RunState.QUEUED, "")
        run.set_status(lease, RunState.RUNNING, "")
        run.begin(lease, initial_state(bound_scenario(manifest), Streams(11), 3))
        sessions, attempts = SessionStore(run), AttemptStore(run)
        secrets = [FILE_URL, VARIABLE_URL.rstrip("/"), "canary-credential", KEY_FILE_TEXT]
        for number, secret in enumerate(secrets):
            key = AttemptKey(0, 1, number)
            for ordinal, event in enumerate(events(secret, writes=False)):
                sessions.append(lease, key, ordinal, kind_of(event), encode_event(event), None)
            failure = AttemptFailure(
                key=key,
                ordinal=8,
                status=CompanyWindowStatus.PROTOCOL_ERROR,
                cause="protocol",
                needs_person=False,
                reason=told(secret),
                verdict=f"fresh attempt {number + 1}" if number < 3 else "no attempt",
                verdict_reason=told(secret),
            )
            fresh = FreshGrant(
                key=key._replace(attempt=number + 1),
                granted_by="supervisor",
                reason=told(secret),
                files_digest=DIGEST,
                carried=b"",
                archive=b"",
            )
            attempts.record(lease, failure, fresh if number < 3 else None)
        halt: list[Event] = [*events(FILE_URL, writes=True)[:3], Halted(1.0, told(FILE_URL))]
        for ordinal, event in enumerate(halt):
            key = AttemptKey(0, 3, 0)
            sessions.append(lease, key, ordinal, kind_of(event), encode_event(event), None)
        late = encode_event(Answered(2.0, 1, reply(text=told(FILE_URL), usage=None)))
        sessions.keep_late_reply(lease, AttemptKey(0, 1, 0), 1, late)
        run.set_status(lease, RunState.STOPPED, told(FILE_URL))
        run.release(lease)
    return folder / "store"


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "conversations"])
def bundle(request: pytest.FixtureRequest, store: Path) -> Path:
    path = store.parent / f"bundle-{request.param}"
    variables = environment(store.parent)
    return write(store, path, variables, with_conversations=request.param)


def texts(path: Path) -> Iterator[tuple[str, str]]:
    """Everything that can be read in a bundle, also what is packed into Parquet and base64."""
    for name, content in files_of(path).items():
        yield name, content.decode("utf-8", errors="replace")
        yield name, content.decode("utf-16-le", errors="replace")
        if name.endswith(".parquet"):
            yield name, json.dumps(pl.read_parquet(BytesIO(content)).to_dicts(), default=str)
        if name == ENVELOPE_FILE:
            yield name, base64.b64decode(json.loads(content)["payload"]).decode()


def test_no_canary_is_anywhere(bundle: Path) -> None:
    for name, text in texts(bundle):
        for canary in (*CANARIES, ENDPOINT_KEY.hex(), base64.b64encode(ENDPOINT_KEY).decode()):
            assert canary not in text, name


def test_it_verifies_replays_and_is_analysed(bundle: Path) -> None:
    assert found(bundle) == []
    assert replayed(bundle).differences == ()
    assert analysed(BundleSource(Bundle.open(bundle)))[1] == []


def test_all_attempts_are_there_with_what_they_used(bundle: Path) -> None:
    run = next(BundleSource(Bundle.open(bundle)).runs())
    attempts = [row for row in run.rows(AttemptRecord) if row.seat == 1]
    assert [row.attempt for row in attempts] == [0, 1, 2, 3]
    assert {row.input_tokens for row in attempts} == {2**60}
    failures = lines(bundle, layout.ATTEMPT_FAILURES)
    assert [row["verdict"] for row in failures] == [
        "fresh attempt 1",
        "fresh attempt 2",
        "fresh attempt 3",
        "no attempt",
    ]
    assert [row["attempt"] for row in lines(bundle, layout.FRESH_ATTEMPTS)] == [1, 2, 3]
    assert HARMLESS in failures[0]["reason"]


def lines(path: Path, file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Bundle.open(path).lines(f"runs/{RUN}/{file}")]


def test_conversations_are_there_when_they_are_asked_for(bundle: Path) -> None:
    run = next(BundleSource(Bundle.open(bundle)).runs())
    queries = [row.sql for row in run.rows(QueryRecord)]
    assert len(queries) == 4
    name = f"runs/{RUN}/{layout.CONVERSATIONS}"
    if not Bundle.open(bundle).predicate.conversations:
        assert name not in Bundle.open(bundle).subjects
        assert set(queries) == {None}
        return
    assert queries[0] == "SELECT '[removed]'"
    first = [
        row
        for row in lines(bundle, layout.CONVERSATIONS)
        if (row["seat"], row["attempt"]) == (1, 0)
    ]
    assert [row["kind"] for row in first] == [
        "briefing",
        "reply",
        "tool_result",
        "tool_result",
        "correction",
        "late_reply",
    ]
    assert all(row["text"].startswith(HARMLESS) for row in first)
    assert [call["name"] for call in first[1]["calls"]] == ["query_company", "write_file"]
    assert (first[2]["call_id"], first[2]["tool"]) == ("q", "query_company")


def test_notes_are_told_by_their_measures_alone(bundle: Path) -> None:
    for run in BundleSource(Bundle.open(bundle)).runs():
        for note in run.rows(NoteRecord):
            assert (note.text is None) is not Bundle.open(bundle).predicate.conversations


def test_the_endpoint_is_proven_by_the_key_alone(bundle: Path) -> None:
    committed = Bundle.open(bundle).manifest.provenance.endpoints
    assert set(committed) == {"writer", "buyer"}
    assert proves(ENDPOINT_KEY, "writer", FILE_URL, committed["writer"])
    assert proves(ENDPOINT_KEY, "buyer", VARIABLE_URL.rstrip("/"), committed["buyer"])
    guesses = [commitment(key, "writer", FILE_URL) for key in (b"", bytes(32), b"writer")]
    assert committed["writer"] not in guesses


def test_moving_the_endpoint_changes_nothing_but_the_commitments(store: Path) -> None:
    with open_store(str(store)) as opened:
        manifest = opened.catalogue.manifest(NAME)
    moved = with_endpoints(manifest, ENDPOINT_KEY, {"CEO_ARENA_REHEARSAL_URL": "http://x.example"})
    assert moved.plan_hash == manifest.plan_hash
    assert moved.provenance.endpoints["writer"] == manifest.provenance.endpoints["writer"]
    assert moved.provenance.endpoints["buyer"] != manifest.provenance.endpoints["buyer"]


def test_a_plan_that_holds_a_secret_is_not_exported(tmp_path: Path) -> None:
    data = campaign_data()
    data["candidates"][0]["route"]["options"] = {"mirror": "https://canary-variable.example/v1"}
    planned = plan(parse_definition(data, "the campaign of a test"))
    with open_store(str(tmp_path / "store"), create=True) as opened:
        opened.catalogue.create_campaign(frozen(planned), planned.runs)
    with pytest.raises(InputError, match="The plan itself holds an endpoint") as refused:
        write(tmp_path / "store", tmp_path / "bundle", environment(tmp_path))
    assert "canary" not in str(refused.value)
