"""Commands about experiments: which there are, and what one would run."""

from pathlib import Path

import pytest

from tests.orchestrator.cli.commands import ceo_arena, is_plain

Capture = pytest.CaptureFixture[str]


class TestCampaigns:
    def test_the_library_is_listed_with_its_counts(self, capsys: Capture) -> None:
        entries = ceo_arena(capsys, "campaigns", "--json").data["campaigns"]
        counted = {entry["name"]: (entry["runs"], entry["companies"]) for entry in entries}
        assert counted == {
            "main": (27, 8),
            "no-action": (8, 8),
            "rehearsal": (27, 8),
            "rehearsal-llm": (27, 8),
            "repeats": (18, 8),
            "rule-search": (75, 9),
        }
        models = {entry["name"]: len(entry["models"]) for entry in entries}
        assert (models["main"], models["rehearsal"], models["rule-search"]) == (8, 0, 0)

    def test_the_list_is_a_plain_table(self, capsys: Capture) -> None:
        answer = ceo_arena(capsys, "campaigns")
        assert (answer.code, answer.err) == (0, "")
        rows = [line.split()[:4] for line in answer.out.splitlines()]
        assert ["rehearsal", "27", "8", "0"] in rows


class TestPlan:
    def test_counts_of_the_rehearsal(self, capsys: Capture) -> None:
        data = ceo_arena(capsys, "plan", "rehearsal", "--json").data
        assert data["counts"] == {
            "runs": 27,
            "company_outcomes": 216,
            "windows": 27 * 72,
            "decisions_at_most": 216 * 72,
        }
        assert data["seeds"] == [11, 29, 47]
        assert (data["models"], data["market"]["evaluated"]) == ([], True)
        assert data["plan_hash"].startswith("sha256:")
        lineups = data["lineups"]
        assert len(lineups) == 9
        assert (lineups[0]["lineup"], lineups[0]["seat"]) == ("reference", None)
        assert [row["seat"] for row in lineups[1:]] == list(range(1, 9))
        assert {row["candidate"] for row in lineups[1:]} == {"deterministic-rule-ceo"}
        runs = data["runs"]
        assert [run["position"] for run in runs] == list(range(27))
        assert [run["seed"] for run in runs] == [11] * 9 + [29] * 9 + [47] * 9

    def test_a_search_has_72_and_3_worlds_of_nine_firms(self, capsys: Capture) -> None:
        data = ceo_arena(capsys, "plan", "rule-search", "--json").data
        assert (data["counts"]["runs"], data["counts"]["company_outcomes"]) == (75, 675)
        assert [row["runs"] for row in data["lineups"]] == [3] * 25
        assert data["lineups"][-1]["candidate"] == "search-winner"

    def test_candidates_that_need_a_model_are_named(self, capsys: Capture) -> None:
        data = ceo_arena(capsys, "plan", "main", "--json").data
        assert len(data["models"]) == 8
        answer = ceo_arena(capsys, "plan", "main")
        (line,) = [line for line in answer.out.splitlines() if line.startswith("Models")]
        assert line.split(maxsplit=1)[1] == ", ".join(data["models"])

    def test_the_text_shows_hash_counts_lineups_and_runs(self, capsys: Capture) -> None:
        data = ceo_arena(capsys, "plan", "rehearsal", "--json").data
        answer = ceo_arena(capsys, "plan", "rehearsal")
        assert (answer.code, answer.err) == (0, "")
        assert is_plain(answer.out)
        assert data["plan_hash"] in answer.out
        assert "15,552 at most" in answer.out
        assert "without-growth" in answer.out
        assert "rehearsal-s11-reference" not in answer.out
        longer = ceo_arena(capsys, "plan", "rehearsal", "--runs").out
        assert all(run["run_id"] in longer for run in data["runs"])

    def test_it_creates_nothing(
        self, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        ceo_arena(capsys, "plan", "rehearsal", "--runs")
        assert list(tmp_path.iterdir()) == []

    def test_equal_campaigns_have_one_hash_and_others_another(
        self, capsys: Capture, tmp_path: Path
    ) -> None:
        def plan_hash(content: str) -> str:
            file = tmp_path / "mine.toml"
            file.write_text(content, encoding="utf-8")
            found: str = ceo_arena(capsys, "plan", file, "--json").data["plan_hash"]
            return found

        hashes = [
            plan_hash('name = "mine"\nextends = "rehearsal"\n'),
            plan_hash('# a remark\nname = "mine"\nextends = "rehearsal"\nnotes = "other"\n'),
            plan_hash('name = "mine"\nextends = "rehearsal"\nseeds = [11, 47, 29]\n'),
        ]
        assert hashes[0] == hashes[1] != hashes[2]

    @pytest.mark.parametrize(
        ("content", "expected"),
        [
            ("horizon = 3", "horizon"),
            ('baseline = "nobody"', '"nobody" is no candidate'),
            ('[[candidates]]\nid = "growth"\npolicy = "groth"', "There is no policy 'groth'"),
            ('[[candidates]]\nid = "growth"\nparameters = { price = 1 }', "price"),
            ('scenario = "missing.json"', "missing.json"),
        ],
    )
    def test_a_wrong_campaign_is_one_clear_message(
        self, capsys: Capture, tmp_path: Path, content: str, expected: str
    ) -> None:
        file = tmp_path / "mine.toml"
        file.write_text(f'name = "mine"\nextends = "rehearsal"\n{content}\n', encoding="utf-8")
        answer = ceo_arena(capsys, "plan", file)
        assert (answer.code, answer.out) == (2, "")
        assert expected in answer.err
        assert "Traceback" not in answer.err

    def test_an_unknown_campaign_names_those_that_exist(self, capsys: Capture) -> None:
        answer = ceo_arena(capsys, "plan", "rehersal")
        assert answer.code == 2
        assert "rehearsal" in answer.err
