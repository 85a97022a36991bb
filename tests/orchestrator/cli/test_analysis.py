"""analyze and report, on campaigns that were played: files, pages, and what they say is missing."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from campaigns.analysis.statements import if_then_statements
from campaigns.records import CompanyDayRecord
from engine.decision import CompanyDecision
from orchestrator.records import StoreSource
from orchestrator.session.events import Answered, Event, ToolReceipt, decode_event
from orchestrator.store import RunKey, SessionStore, open_store
from tests.orchestrator.cli.commands import ceo_arena, is_plain
from tests.orchestrator.cli.played import campaign_data, play_campaign, poor_scenario
from tests.orchestrator.cli.rehearsed import NAME, PLAYED, make_store

Capture = pytest.CaptureFixture[str]


pytestmark = pytest.mark.xdist_group("analysis")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two stores: one with `whole` on two seeds, one with `broken`, which lacks a run."""
    folder = tmp_path_factory.mktemp("played")
    scenario = poor_scenario(folder)
    play_campaign(folder / "one", campaign_data("whole", scenario))
    play_campaign(
        folder / "two",
        campaign_data("broken", scenario, seeds=[3]),
        {"broken-s3-without-the-growth"},
    )
    return folder


class TestAnalyze:
    def test_it_says_what_results_say(self, capsys: Capture, played: Path) -> None:
        results = ceo_arena(capsys, "results", "--store", played / "one", "--json").data
        answer = ceo_arena(capsys, "analyze", "--store", played / "one", "--json")
        assert (answer.code, answer.err) == (0, "")
        for key in ("ranking", "entrants", "directed"):
            told = [{"campaign": "whole", **row} for row in results[key]]
            assert answer.data[key] == told
        assert answer.data["stability"]["blocks"] == ["whole s3", "whole s5"]
        for pair in answer.data["stability"]["pairs"]:
            (same,) = (
                row
                for row in answer.data["directed"]
                if (row["entrant"], row["rival"]) == (pair["entrant"], pair["rival"])
            )
            assert pair["mean_cents"] == same["mean_cents"]
            assert pair["cents"] == [each["cents"] for each in same["matched"]]

    def test_it_writes_every_table_twice(
        self, capsys: Capture, played: Path, tmp_path: Path
    ) -> None:
        answer = ceo_arena(capsys, "analyze", "--store", played / "one", "--out", tmp_path)
        assert answer.code == 0
        assert is_plain(answer.out)
        assert "24 of 24 outcomes close to the cent" in answer.out
        index = json.loads((tmp_path / "tables.json").read_text(encoding="utf-8"))
        assert {file.name for file in tmp_path.iterdir()} == {
            "tables.json",
            *(f"{name}.{kind}" for name in index for kind in ("csv", "parquet")),
        }
        outcomes = pl.read_parquet(tmp_path / "outcomes.parquet")
        ranking = pl.read_parquet(tmp_path / "ranking.parquet")
        for row in ranking.iter_rows(named=True):
            own = outcomes.filter(pl.col("candidate") == row["candidate"])
            assert own.height == row["outcomes"]
            assert own["exit_day"].is_not_null().sum() == row["bankruptcies"]

    def test_the_accounts_are_those_of_the_store(
        self, capsys: Capture, played: Path, tmp_path: Path
    ) -> None:
        ceo_arena(capsys, "analyze", "--store", played / "one", "--out", tmp_path)
        with open_store(str(played / "one")) as store:
            days = [
                day
                for run in StoreSource(store, "whole").runs()
                for day in run.rows(CompanyDayRecord)
            ]
        outlays = pl.read_parquet(tmp_path / "outlays.parquet")
        for name in {day.candidate for day in days}:
            own = [day for day in days if day.candidate == name]
            spent = {
                row["category"]: row["spent_cents"]
                for row in outlays.filter(pl.col("candidate") == name).iter_rows(named=True)
            }
            assert spent["marketing"] == sum(day.marketing_cents for day in own)
            assert spent["capacity"] == sum(day.capacity_cents + day.overhead_cents for day in own)
        cash = pl.read_parquet(tmp_path / "cash.parquet")
        last = {(day.run_id, day.seat): day for day in days}
        ended = cash.group_by("run_id", "seat").agg(pl.all().sort_by("day").last())
        assert ended.height == len(last)
        for row in ended.iter_rows(named=True):
            day = last[row["run_id"], row["seat"]]
            assert (row["day"], row["cash_cents"], row["exited"]) == (
                day.day,
                day.closing_cash_cents,
                day.exited,
            )
        assert cash["exited"].sum() == 6, "the overspender, in every lineup but its replacement"

    def test_several_stores_at_once_say_what_differs_and_lacks(
        self, capsys: Capture, played: Path
    ) -> None:
        answer = ceo_arena(
            capsys, "analyze", "--store", played / "one", "--store", played / "two", "--json"
        )
        assert answer.code == 1
        assert answer.data["missing"] == [
            {"campaign": "broken", "run": "broken-s3-without-the-growth"}
        ]
        assert answer.data["stability"]["blocks"] == ["whole s3", "whole s5"]
        assert answer.data["stability"]["left_out"] == ["broken s3"]
        assert any(
            "whole and broken bind different inputs: " in notice and "seeds" in notice
            for notice in answer.data["notices"]
        )

    def test_one_campaign_from_two_places_is_told_apart(
        self, capsys: Capture, played: Path
    ) -> None:
        stores = ("--store", played / "one", "--store", f"{played}/./one")
        data = ceo_arena(capsys, "analyze", "whole", *stores, "--json").data
        assert data["stability"]["blocks"] == [
            "whole #1.whole s3",
            "whole #1.whole s5",
            "whole #2.whole s3",
            "whole #2.whole s5",
        ]

    def test_a_table_of_scores_needs_no_store(self, capsys: Capture, tmp_path: Path) -> None:
        file = tmp_path / "mine.csv"
        file.write_text(
            "seed,lineup,seat,candidate,score_cents\n"
            "1,reference,1,ada,10\n1,reference,2,bob,20\n"
            "1,without-ada,1,rule,4\n1,without-ada,2,bob,25\n"
            "1,without-bob,1,ada,13\n1,without-bob,2,rule,1\n",
            encoding="utf-8",
        )
        answer = ceo_arena(capsys, "analyze", "--scores", file, "--json")
        assert (answer.code, answer.err) == (0, "")
        effects = [
            (each["candidate"], each["private_cents"], each["market_cents"])
            for each in answer.data["entrants"]
        ]
        assert effects == [("ada", 6, 1), ("bob", 19, 16)]
        assert not list(tmp_path.glob("*/")), "with --json nothing is written"

    def test_what_cannot_be_used_is_refused(
        self, capsys: Capture, played: Path, tmp_path: Path
    ) -> None:
        unknown = ceo_arena(capsys, "analyze", "none", "--store", played / "one")
        assert unknown.code == 2
        assert "none" in unknown.err
        assert "whole" in unknown.err
        nowhere = ceo_arena(capsys, "analyze", "--store", tmp_path / "nowhere")
        assert nowhere.code == 3
        empty = tmp_path / "empty.csv"
        empty.write_text("", encoding="utf-8")
        assert ceo_arena(capsys, "analyze", "--scores", empty).code == 2
        barred = tmp_path / "file"
        barred.write_text("", encoding="utf-8")
        answer = ceo_arena(capsys, "analyze", "--store", played / "one", "--out", barred / "below")
        assert answer.code == 3
        assert str(barred) in answer.err


class TestConduct:
    def test_behaviour_and_workload_agree_with_the_journal(
        self, capsys: Capture, tmp_path: Path
    ) -> None:
        location = make_store(tmp_path)
        ceo_arena(capsys, "analyze", NAME, "--store", location, "--out", tmp_path / "out")
        events: dict[str, list[Event]] = {"writer": [], "buyer": []}
        decisions: dict[str, list[CompanyDecision]] = {"writer": [], "buyer": [], "rival": []}
        with open_store(str(location)) as store:
            run = store.run(RunKey(NAME, PLAYED))
            sessions, lineup = SessionStore(run), ("writer", "rival", "buyer")
            for key in sessions.attempts():
                events[lineup[key.seat - 1]] += map(decode_event, sessions.events(key))
            for window in run.company_windows():
                assert window.decision is not None
                decisions[window.candidate].append(window.decision)
        behaviour = {row["candidate"]: row for row in rows_of(tmp_path / "out", "behaviour")}
        workload = {row["candidate"]: row for row in rows_of(tmp_path / "out", "workload")}
        for name, own in events.items():
            receipts = [event for event in own if isinstance(event, ToolReceipt)]
            replies = [event.reply for event in own if isinstance(event, Answered)]
            written = [each.file_change for each in receipts if each.file_change is not None]
            assert behaviour[name]["queries"] == sum(
                receipt.name == "query_company" for receipt in receipts
            )
            assert behaviour[name]["notes"] == len(written)
            assert behaviour[name]["if_then_statements"] == sum(
                if_then_statements(change.content) for change in written
            )
            assert workload[name]["replies"] == len(replies)
            assert workload[name]["tool_calls"] == sum(len(each.tool_calls) for each in replies)
            assert workload[name]["output_tokens"] == sum(
                each.usage.output_tokens for each in replies if each.usage is not None
            )
        for name, sealed in decisions.items():
            budgets = sum(
                len(by_channel) for each in sealed for by_channel in each.marketing.values()
            )
            assert behaviour[name]["windows"] == len(sealed) == 2
            assert behaviour[name]["marketing_settings_per_window"] == budgets / 2
            assert behaviour[name]["bid_settings_per_window"] == (
                sum(len(each.bids) for each in sealed) / 2
            )
        assert behaviour["writer"]["notes"] > 0
        assert behaviour["buyer"]["queries"] > 0


def rows_of(folder: Path, table: str) -> list[dict[str, Any]]:
    return pl.read_parquet(folder / f"{table}.parquet").to_dicts()


class TestReport:
    def test_page_figures_and_tables(self, capsys: Capture, tmp_path: Path) -> None:
        store = make_store(tmp_path)
        answer = ceo_arena(
            capsys, "report", NAME, "--store", store, "--out", tmp_path / "out", "--json"
        )
        assert answer.code == 1, "one of its runs stands in the middle of a window"
        names = [name for own in answer.data["figures"].values() for name in own]
        assert {"performance", "cash_markets_seed11", "behaviour", "workload"} <= set(names)
        for name in names:
            assert (tmp_path / "out" / "figures" / f"{name}.svg").exists()
            assert (tmp_path / "out" / "figures" / f"{name}.png").exists()
        page = Path(answer.data["page"]).read_text(encoding="utf-8")
        assert "1 of 2 runs are missing" in page
        assert not answer.data["complete"]
        health = pl.read_csv(tmp_path / "out" / "tables" / "decision_health.csv")
        assert health.filter(pl.col("candidate") == "writer")["sealed"].to_list() == [2]
