"""What models were told and did: windows, one window, the private tables, the prompt, results."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from engine.tables import TABLES
from manifests.canonical import digest, digest_bytes
from orchestrator.session.events import decode_event
from orchestrator.session.files import PrivateFiles
from orchestrator.session.prompt import system_prompt
from orchestrator.session.state import fold
from orchestrator.store import AttemptKey, RunKey, SessionStore, open_store
from tests.orchestrator.cli.commands import ceo_arena, is_plain
from tests.orchestrator.cli.rehearsed import NAME, OPEN, PLAYED, make_store

Capture = pytest.CaptureFixture[str]

pytestmark = pytest.mark.xdist_group("sessions")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_store(tmp_path_factory.mktemp("rehearsed"))


def listed(capsys: Capture, store: Path, *options: str) -> list[dict[str, Any]]:
    answer = ceo_arena(capsys, "windows", NAME, "--store", store, "--json", *options)
    assert (answer.code, answer.err, answer.data["campaign"]) == (0, "", NAME)
    rows: list[dict[str, Any]] = answer.data["windows"]
    return rows


def shown(capsys: Capture, store: Path, *arguments: str) -> str:
    answer = ceo_arena(capsys, "show", *arguments, "--store", store)
    assert (answer.code, answer.err) == (0, "")
    return answer.out


class TestWindows:
    def test_all_windows_are_listed_with_what_they_took(self, capsys: Capture, store: Path) -> None:
        rows = listed(capsys, store)
        assert [(row["run"], row["day"], row["seat"]) for row in rows] == [
            *((PLAYED, day, seat) for day in (0, 7) for seat in (1, 2, 3)),
            (OPEN, 0, 1),
            (OPEN, 0, 3),
        ]
        for row in rows[:6]:
            assert (row["status"], row["settled"]) == ("sealed", True)
            is_model = row["candidate"] != "rival"
            assert row["attempts"] == int(is_model)
            for figure in ("replies", "tool_calls", "input_tokens", "output_tokens"):
                assert (row[figure] > 0) is is_model
            assert row["cached_input_tokens"] <= row["input_tokens"]
            assert row["reasoning_tokens"] <= row["output_tokens"]

    def test_figures_are_those_of_the_whole_journal(self, capsys: Capture, store: Path) -> None:
        rows = [row for row in listed(capsys, store) if row["attempts"]]
        with open_store(str(store)) as opened:
            for row in rows:
                sessions = SessionStore(opened.run(RunKey(NAME, row["run"])))
                key = AttemptKey(row["world_version"], row["seat"], 0)
                state = fold(PrivateFiles(), map(decode_event, sessions.events(key)))
                assert row["replies"] == state.use.replies
                assert row["finalization_replies"] == state.use.final_replies
                assert row["active_seconds"] == round(state.use.seconds, 3)
                for figure, value in msgspec.structs.asdict(state.counts).items():
                    assert row[figure] == value

    def test_open_and_halted_windows_say_how_they_stand(self, capsys: Capture, store: Path) -> None:
        waiting, halted = listed(capsys, store, "--run", OPEN)
        assert (waiting["status"], waiting["settled"], waiting["reason"]) == ("open", False, "")
        assert (waiting["replies"], waiting["tool_calls"], waiting["faults"]) == (2, 4, 1)
        assert (waiting["input_tokens"], waiting["output_tokens"]) == (300, 50)
        assert (waiting["possibly_billed"], waiting["finalization_replies"]) == (2, 1)
        assert waiting["active_seconds"] == 6.3
        assert (halted["status"], halted["reason"]) == ("provider_error", "refused: no credit left")

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            (("--seat", "2"), 2),
            (("--day", "7"), 3),
            (("--status", "open"), 1),
            (("--status", "sealed", "--run", PLAYED, "--day", "0", "--seat", "3"), 1),
            (("--status", "timeout"), 0),
        ],
    )
    def test_filters(
        self, capsys: Capture, store: Path, options: tuple[str, ...], expected: int
    ) -> None:
        assert len(listed(capsys, store, *options)) == expected

    def test_the_table_says_the_same(self, capsys: Capture, store: Path) -> None:
        answer = ceo_arena(capsys, "windows", "--store", store)
        assert is_plain(answer.out)
        assert f"Company-windows of {NAME}: 8" in answer.out
        assert "open*" in answer.out
        lines = [line.split() for line in answer.out.splitlines()]
        for row in listed(capsys, store, "--run", PLAYED):
            figures = [row["replies"], row["tool_calls"], row["input_tokens"], row["output_tokens"]]
            taken = [f"{figure:,}" if row["attempts"] else "-" for figure in figures]
            found = [PLAYED, str(row["day"]), str(row["seat"]), row["candidate"], "sealed", *taken]
            assert found in [line[:-1] for line in lines]

    @pytest.mark.parametrize(
        ("options", "told"),
        [
            (("--day", "8"), "No window opens on day 8"),
            (("--day", "14"), "the last on day 7"),
            (("--run", "small-s12-reference"), "small-s12-reference"),
        ],
    )
    def test_what_is_not_there_is_refused(
        self, capsys: Capture, store: Path, options: tuple[str, ...], told: str
    ) -> None:
        answer = ceo_arena(capsys, "windows", "--store", store, *options)
        assert (answer.code, answer.out) == (2, "")
        assert told in answer.err


class TestShow:
    def test_a_settled_window_reads_from_briefing_to_seal(
        self, capsys: Capture, store: Path
    ) -> None:
        text = shown(capsys, store, PLAYED, "7", "1")
        order = [
            "company-1 (writer), day 7 of run small-s11-reference",
            "sealed; settled",
            "days 8 to 10",
            "of 32 replies",
            "opened with this briefing",
            "# company-1, day 7 of 10",
            "request 1, at most 65,536 tokens",
            "reply 1:",
            'read_file(path="MEMORY.md")',
            "query_company",
            "set_product",
            "seal_decision()",
            "closed: sealed",
            "File written    MEMORY.md",
            "Decision",
        ]
        places = [text.find(part) for part in order]
        assert -1 not in places, dict(zip(order, places, strict=True))
        assert places == sorted(places)

    def test_json_has_every_event_and_the_settled_decision(
        self, capsys: Capture, store: Path
    ) -> None:
        data = ceo_arena(capsys, "show", PLAYED, "0", "3", "--store", store, "--json").data
        kinds = [event["kind"] for event in data["events"]]
        assert (kinds[0], kinds[-1]) == ("window_opened", "closed")
        assert kinds.count("answered") == kinds.count("asked") == data["replies"]
        assert kinds.count("tool_receipt") == data["tool_calls"]
        usages = [each["reply"]["usage"] for each in data["events"] if each["kind"] == "answered"]
        assert sum(usage["input_tokens"] for usage in usages) == data["input_tokens"]
        with open_store(str(store)) as opened:
            run = opened.run(RunKey(NAME, PLAYED))
            closed = next(each for each in run.company_windows() if each.seat == 3)
            receipts = [each for each in run.receipts() if (each.version, each.seat) == (0, 3)]
        assert closed.decision is not None
        assert data["decision"] == closed.decision.model_dump(mode="json")
        assert data["identity"] == closed.identity
        assert len(data["receipts"]) == len(receipts) > 0
        assert data["receipts"][0]["charge_cents"] == receipts[0].receipt.charge_cents

    def test_what_came_of_paid_actions_is_told(self, capsys: Capture, store: Path) -> None:
        text = shown(capsys, store, PLAYED, "0", "3")
        told = text[text.index("Came of it") :]
        assert "applied, charge $" in told

    def test_an_open_window_is_told_as_far_as_it_went(self, capsys: Capture, store: Path) -> None:
        text = shown(capsys, store, OPEN, "0", "1")
        for part in (
            "open; not settled yet",
            "request 1 failed: transient 503 overloaded; possibly billed",
            "waits 2.5 s",
            "request 2 was interrupted; possibly billed",
            "ended by max_tokens",
            "corrected",
            "finalization: 28 of 32 replies are used",
            'set_product(product_id="A", price_cents=4100)',
            "content: one",
            "dance, arguments as sent",
            "not JSON",
            "-> (refused) tool: must be one of",
            "-> no result yet",
            "not sealed",
        ):
            assert part in text
        assert "\x1b" not in text, "what a model writes must not steer the terminal"
        assert text.index("preview_decision()") < text.index("no result yet")

    def test_a_reply_that_came_too_late_is_shown_and_counted_apart(
        self, capsys: Capture, store: Path
    ) -> None:
        text = shown(capsys, store, OPEN, "0", "1")
        assert "Late reply      to request 2 of attempt 0, paid but part of no" in text
        assert "it came for a test, which had lost the run" in text
        assert "1,100 tokens in (0 cached), 70 out" in text
        assert "late." in text
        assert "\x1b" not in text
        data = ceo_arena(capsys, "show", OPEN, "0", "1", "--store", store, "--json").data
        (late,) = data["late"]
        assert (late["attempt"], late["request"], late["owner"]) == (0, 2, "a test")
        assert late["reply"]["text"] == "Too \x1b[31mlate."
        assert data["late_replies"] == 1
        assert (data["replies"], data["input_tokens"]) == (2, 300), "in none of these figures"
        assert [row["late_replies"] for row in listed(capsys, store)].count(1) == 1
        assert "Late reply" not in shown(capsys, store, OPEN, "0", "3")

    def test_a_trace_is_a_line_for_every_event(self, capsys: Capture, store: Path) -> None:
        answer = ceo_arena(capsys, "show", PLAYED, "0", "3", "--store", store, "--trace")
        data = ceo_arena(capsys, "show", PLAYED, "0", "3", "--store", store, "--json").data
        assert [json.loads(line) for line in answer.out.splitlines()] == data["events"]

    def test_a_halted_window_says_why(self, capsys: Capture, store: Path) -> None:
        text = shown(capsys, store, OPEN, "0", "3")
        assert "provider_error: refused: no credit left" in text
        assert "halted" in text

    def test_a_policy_has_a_decision_only(self, capsys: Capture, store: Path) -> None:
        text = shown(capsys, store, PLAYED, "0", "2")
        assert "A company without a model" in text
        assert "request" not in text
        assert "price $" in text
        data = ceo_arena(capsys, "show", PLAYED, "0", "2", "--store", store, "--json").data
        assert (data["events"], data["replies"], data["allowance"]) == ([], 0, None)
        assert data["decision"]["company_id"] == "company-2"

    def test_long_texts_are_cut_unless_all_is_wanted(self, capsys: Capture, store: Path) -> None:
        short = shown(capsys, store, PLAYED, "7", "1")
        full = shown(capsys, store, PLAYED, "7", "1", "--full")
        assert "--full shows them" in short
        assert "--full shows them" not in full
        data = ceo_arena(capsys, "show", PLAYED, "7", "1", "--store", store, "--json").data
        for line in data["events"][0]["briefing"].splitlines():
            assert line in full
        assert "reasoning_content" in full

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            ((PLAYED, "3", "1"), "No window opens on day 3"),
            ((PLAYED, "0", "4"), "from 1 to 3"),
            ((PLAYED, "0", "0"), "from 1 to 3"),
            ((OPEN, "7", "1"), "no window on day 7"),
            ((OPEN, "0", "2"), "once it is settled"),
            (("nobody", "0", "1"), "nobody"),
        ],
    )
    def test_what_is_not_there_is_refused(
        self, capsys: Capture, store: Path, arguments: tuple[str, ...], told: str
    ) -> None:
        answer = ceo_arena(capsys, "show", *arguments, "--store", store)
        assert (answer.code, answer.out) == (2, "")
        assert told in answer.err


class TestTables:
    def test_all_29_are_described(self, capsys: Capture) -> None:
        tables = ceo_arena(capsys, "tables", "--json").data["tables"]
        assert [table["name"] for table in tables] == [table.name for table in TABLES]
        assert len(tables) == 29
        for table in tables:
            assert table["rows"] in ("replaced", "kept", "replaced and kept")
            assert all(column["description"] for column in table["columns"])
            assert set(table["key"]) <= {column["name"] for column in table["columns"]}

    def test_the_text_names_every_column(self, capsys: Capture) -> None:
        answer = ceo_arena(capsys, "tables")
        assert (answer.code, answer.err) == (0, "")
        for table in TABLES:
            assert f"{table.name}  (" in answer.out
            for column in table.columns:
                assert column.description in answer.out


class TestPrompt:
    def test_the_hashes_are_those_of_what_is_printed(self, capsys: Capture) -> None:
        data = ceo_arena(capsys, "prompt", "--json").data
        assert data["prompt_digest"] == digest_bytes(data["prompt"].encode())
        assert data["tools_digest"] == digest(data["tools"])
        assert len(data["tools"]) == 18

    def test_they_are_those_that_a_manifest_binds(self, capsys: Capture, store: Path) -> None:
        data = ceo_arena(capsys, "prompt", "--json").data
        with open_store(str(store)) as opened:
            harness = opened.catalogue.manifest(NAME).decisive.harness
        assert harness is not None
        assert harness.model_dump() == {
            "interface": data["interface"],
            "prompt": data["prompt_version"],
            "prompt_digest": data["prompt_digest"],
            "tools_digest": data["tools_digest"],
            "tools": {tool["name"]: digest(tool) for tool in data["tools"]},
            "memory_characters": 40_000,
        }

    def test_the_text_is_the_prompt_itself_then_the_tools(self, capsys: Capture) -> None:
        answer = ceo_arena(capsys, "prompt")
        assert answer.out.startswith(system_prompt())
        data = ceo_arena(capsys, "prompt", "--json").data
        for tool in data["tools"]:
            assert json.dumps(tool["parameters"], indent=2, ensure_ascii=False) in answer.out
        assert data["tools_digest"] in answer.out


class TestResults:
    def test_health_and_workload_add_up_to_the_windows(self, capsys: Capture, store: Path) -> None:
        answer = ceo_arena(capsys, "results", "--store", store, "--json")
        assert answer.code == 1, "one run is not complete"
        health, workload = answer.data["decision_health"], answer.data["workload"]
        assert [row["candidate"] for row in health["candidates"]] == ["writer", "buyer"]
        assert (health["all"]["active"], health["all"]["sealed"], health["all"]["open"]) == (
            4,
            4,
            2,
        )
        rows = [row for row in listed(capsys, store) if row["attempts"]]
        sealed = [row for row in rows if row["settled"]]
        total = workload["all"]
        assert (total["trajectories"], total["counted_windows"]) == (4, 4)
        for figure in ("replies", "tool_calls", "input_tokens", "output_tokens"):
            assert total[figure] == sum(row[figure] for row in sealed)
            assert total[figure] + total["apart"][figure] == sum(row[figure] for row in rows)
        assert total["apart"]["possibly_billed"] == 2

    def test_the_tables_show_them_below(self, capsys: Capture, store: Path) -> None:
        answer = ceo_arena(capsys, "results", "--store", store)
        assert is_plain(answer.out)
        health, workload = answer.out.index("Decision health"), answer.out.index("Workload")
        assert answer.out.index("Campaign small") < health < workload
        assert "2 more are not settled yet." in answer.out
        assert "2 requests without a reply that may have been billed" in answer.out
        assert "in no conversation: 1 replies, 1,100 input and 70 output tokens." in answer.out
