"""Costs, estimates and caps, as the commands show them."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from orchestrator.lifecycle import CompanyWindowStatus, RunState
from tests.orchestrator.cli.commands import ceo_arena
from tests.orchestrator.cli.rehearsed import NAME, make_store, route
from tests.orchestrator.session.rehearsal import campaign, rehearsal

Capture = pytest.CaptureFixture[str]
PRICES = {"input": "1.25", "cached_input": "0.125", "output": "10"}


@pytest.fixture(scope="module")
def priced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a completed campaign of two routes: one has prices and a cap, the other costs
    nothing.
    """
    folder = tmp_path_factory.mktemp("priced")
    routes: dict[str, Any] = {
        "diarist": {"prices": PRICES, "spending_cap_cents": 50_000},
        "minimalist": {"credentials": "no key"},
    }
    data = campaign(["diarist", "minimalist"], [11], routes, spending_cap_cents=90_000)
    with rehearsal(folder, data, needs_key=False) as played:
        played.play(11)
    return folder / "store"


def test_money_is_what_the_tokens_cost_and_is_shown_for_priced_routes_alone(
    capsys: Capture, priced: Path
) -> None:
    data = ceo_arena(capsys, "results", "--store", priced, "--json").data
    (work,) = [row for row in data["workload"]["candidates"] if row["candidate"] == "diarist"]
    fresh = work["input_tokens"] - work["cached_input_tokens"]
    microdollars = fresh * 1.25 + work["cached_input_tokens"] * 0.125 + work["output_tokens"] * 10
    (row,) = data["money"]["candidates"]
    assert row["candidate"] == "diarist"
    assert row["counted_cents"] == round(microdollars / 10_000)
    assert row["counted_cents"] > 0
    assert data["money"]["all"]["counted_cents"] == row["counted_cents"]
    assert data["money"]["unpriced"] == ["minimalist"]
    shown = ceo_arena(capsys, "results", "--store", priced).out
    assert "no bill" in shown
    assert "not counted: minimalist" in shown


def test_spending_adds_up_to_the_workload_and_shows_the_caps(capsys: Capture, priced: Path) -> None:
    data = ceo_arena(capsys, "spending", "--store", priced, "--json").data
    money = ceo_arena(capsys, "results", "--store", priced, "--json").data["money"]
    (spent,) = data["routes"]
    assert spent["candidate"] == "diarist"
    # Each reply is rounded up to a micro-dollar, the sum of all to a cent.
    assert abs(spent["known_microdollars"] / 10_000 - money["all"]["counted_cents"]) < 1
    assert (spent["uncertain_microdollars"], spent["set_aside_microdollars"]) == (0, 0)
    assert (data["cap_cents"], spent["cap_cents"]) == (90_000, 50_000)
    shown = ceo_arena(capsys, "spending", "--store", priced).out
    assert "$900.00" in shown
    assert "$500.00" in shown


def test_a_cap_is_set_in_dollars_and_recorded(capsys: Capture, priced: Path) -> None:
    answer = ceo_arena(
        capsys, "spending", "--cap", "1,234.50", "--store", priced, "--reason", "more", "--json"
    )
    assert (answer.code, answer.data["cap_cents"]) == (0, 123_450)
    assert "$1,234.50" in answer.err
    own = ("spending", "--cap", "7", "--candidate", "diarist", "--store", priced, "--json")
    assert ceo_arena(capsys, *own).data["routes"][0]["cap_cents"] == 700


def test_a_cap_pauses_the_run_and_a_higher_one_lets_it_go_on(
    capsys: Capture, tmp_path: Path
) -> None:
    routes = {"diarist": {"prices": PRICES, "spending_cap_cents": 1}}
    store = tmp_path / "store"
    with rehearsal(tmp_path, campaign(["diarist"], [11], routes)) as played:
        assert played.play(11) is RunState.PAUSED
        assert "spending cap" in played.status(11).reason
        assert played.window(11, 1).counts.faults == 0, "nothing has failed"
        told = ceo_arena(capsys, "status", "--store", store, "--runs").out
        assert "spending cap" in told
        last = ceo_arena(capsys, "watch", "--store", store).err.splitlines()[-1]
        assert f"ceo-arena spending faulty --store {store} --cap DOLLARS; then" in last
        assert "ceo-arena resume faulty" in last
        higher = ("--cap", "50", "--candidate", "diarist", "--store", store)
        assert ceo_arena(capsys, "spending", *higher).code == 0
        assert played.resume(11) is RunState.COMPLETED
        assert played.window(11, 1).status is CompanyWindowStatus.SEALED


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--cap", "much"), "no amount"),
        (("--cap", "-3", "--candidate", "minimalist"), "no amount"),
        (("--cap", "0"), "no amount"),
        (("--cap", "1.005"), "no amount"),
        (("--cap", "NaN"), "no amount"),
        (("--cap", "1e3"), "no amount"),
        (("--cap", "99,50"), "no amount"),
        (("--cap", "1,5"), "no amount"),
        (("--cap", "1,0000"), "no amount"),
        (("--cap", "9" * 20), "no amount"),
        (("--cap", "9" * 5_000), "no amount"),
        (("--candidate", "diarist"), "--cap"),
        (("--cap", "5", "--candidate", "minimalist"), "There are: diarist"),
    ],
)
def test_what_is_no_cap_is_refused(
    capsys: Capture, priced: Path, options: tuple[str, ...], told: str
) -> None:
    answer = ceo_arena(capsys, "spending", *options, "--store", priced)
    assert (answer.code, answer.out) == (2, "")
    assert told in answer.err


@pytest.mark.parametrize(
    ("text", "cents"),
    [("2500", 250_000), ("2,500", 250_000), ("$1,234,567.8", 123_456_780), ("0.05", 5)],
)
def test_a_cap_is_read_as_it_is_written(
    capsys: Capture, priced: Path, tmp_path: Path, text: str, cents: int
) -> None:
    store = shutil.copytree(priced, tmp_path / "store")
    cap = ("--cap", text, "--candidate", "diarist")
    given = ceo_arena(capsys, "spending", *cap, "--store", store, "--json")
    assert given.data["routes"][0]["cap_cents"] == cents


def campaign_file(folder: Path, prices: dict[str, str] | None) -> Path:
    """A campaign of one scripted agent, beside a policy."""
    import json

    found: dict[str, Any] = route("diarist") | ({"prices": prices} if prices else {})
    file = folder / "mine.toml"
    lines = [
        'name = "mine"\nseeds = [11, 29]\nlineups = ["reference"]\nhorizon_days = 14',
        '[[candidates]]\nid = "writer"\nseat = 1\n[candidates.route]',
    ]
    for name, value in found.items():
        if isinstance(value, dict):
            pairs = ", ".join(f"{key} = {json.dumps(each)}" for key, each in value.items())
            lines.append(f"{name} = {{ {pairs} }}")
        else:
            lines.append(f"{name} = {json.dumps(value)}")
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def test_an_estimate_without_a_past_is_a_guess(capsys: Capture, tmp_path: Path) -> None:
    file = campaign_file(tmp_path, None)
    found = ceo_arena(capsys, "plan", file, "--estimate", "--json").data["estimate"]
    (row,) = found["candidates"]
    # Two runs of two windows.
    assert (row["windows"], row["based_on"]) == (4, "a guess")
    assert (row["low"]["replies"], row["high"]["replies"]) == (20, 80)
    assert row["low_cents"] is None
    shown = ceo_arena(capsys, "plan", file, "--estimate").out
    assert "no money can be told" in shown


def test_a_guess_keeps_within_the_allowance(capsys: Capture, tmp_path: Path) -> None:
    file = campaign_file(tmp_path, None)
    allowed = "\n[limits.allowances]\nreplies = 4\noutput_tokens = 1_500\n"
    file.write_text(file.read_text(encoding="utf-8") + allowed, encoding="utf-8")
    (row,) = ceo_arena(capsys, "plan", file, "--estimate", "--json").data["estimate"]["candidates"]
    assert (row["low"]["replies"], row["high"]["replies"]) == (16, 16)
    assert row["high"]["input_tokens"] == 4 * 1_440_000 // 5
    assert row["high"]["output_tokens"] == 4 * 1_500


def test_an_estimate_from_a_past_lies_where_the_past_lay(
    capsys: Capture, tmp_path: Path, priced: Path
) -> None:
    file = campaign_file(tmp_path, PRICES)
    (row,) = ceo_arena(capsys, "plan", file, "--past", priced, "--json").data["estimate"][
        "candidates"
    ]
    data = ceo_arena(capsys, "results", "--store", priced, "--json").data
    cents = data["money"]["candidates"][0]["counted_cents"]
    assert "1 past run, " in row["based_on"]
    assert row["low"] == row["high"]
    assert row["low_cents"] == pytest.approx(4 * cents, abs=4)
    shown = ceo_arena(capsys, "plan", file, "--past", priced).out
    assert "$" in shown


def test_without_prices_no_money_is_shown(capsys: Capture, tmp_path: Path) -> None:
    store = make_store(tmp_path)
    answer = ceo_arena(capsys, "results", NAME, "--store", store, "--json")
    assert "money" not in answer.data
    refused = ceo_arena(capsys, "spending", NAME, "--cap", "5", "--store", store)
    assert refused.code == 2
    assert "have no prices: writer, buyer" in refused.err


def test_a_cap_that_cannot_hold_is_refused_before_a_launch(capsys: Capture, tmp_path: Path) -> None:
    file = campaign_file(tmp_path, None)
    capped = "\n[limits]\nspending_cap_cents = 5\n"
    file.write_text(file.read_text(encoding="utf-8") + capped, encoding="utf-8")
    answer = ceo_arena(capsys, "launch", file, "--store", tmp_path / "store")
    assert answer.code == 2
    assert "have no prices: writer" in answer.err
    assert not (tmp_path / "store").exists()
    planned = ceo_arena(capsys, "plan", file)
    assert (planned.code, planned.out) == (2, "")
    assert "have no prices: writer" in planned.err


def test_an_estimate_names_the_routes_without_prices_and_gives_no_sum(
    capsys: Capture, tmp_path: Path
) -> None:
    file = campaign_file(tmp_path, PRICES)
    found = ceo_arena(capsys, "plan", file, "--estimate", "--json").data["estimate"]
    assert found["unpriced"] == []
    assert found["all"]["high_cents"] == found["candidates"][0]["high_cents"] > 0
    # The same once more without prices.
    priced = file.read_text(encoding="utf-8")
    seat = priced.index("[[candidates]]")
    other = "\n".join(line for line in priced[seat:].splitlines() if not line.startswith("prices"))
    other = other.replace('"writer"', '"trader"').replace("seat = 1", "seat = 2")
    file.write_text(f"{priced}\n{other}\n", encoding="utf-8")
    found = ceo_arena(capsys, "plan", file, "--estimate", "--json").data["estimate"]
    assert found["unpriced"] == ["trader"]
    assert (found["all"]["low_cents"], found["all"]["high_cents"]) == (None, None)
    assert found["candidates"][0]["high_cents"] > 0
    shown = ceo_arena(capsys, "plan", file, "--estimate").out
    assert "money of all is not known: trader" in " ".join(shown.split())
