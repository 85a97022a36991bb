"""Doctor: what it finds where all is well, and what it says to do where it is not."""

import json
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from campaigns.definition import load_definition
from campaigns.plan import plan
from orchestrator.binding import frozen
from orchestrator.cli.rehearsing import KEY_VARIABLE, URL_VARIABLE
from orchestrator.doctor import machine
from orchestrator.doctor.machine import check_clock, check_store
from orchestrator.owners import own_name
from orchestrator.store import open_store
from providers.rehearsal import GatewayOptions, start_gateway
from providers.rehearsal.faults import FaultPlan
from tests.orchestrator.cli.commands import ceo_arena, ceo_arena_process

Capture = pytest.CaptureFixture[str]


def campaign_file(folder: Path, **changes: Any) -> Path:
    """A campaign of one scripted agent beside a policy."""
    route = {
        "protocol": "chat",
        "model": "rehearsal-analyst",
        "native_ceiling": 65_536,
        "endpoint_env": URL_VARIABLE,
        "credentials": [KEY_VARIABLE],
        **changes,
    }
    file = folder / "mine.toml"
    lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in route.items())
    file.write_text(
        'name = "mine"\nseeds = [11]\nlineups = ["reference"]\n'
        f'[[candidates]]\nid = "analyst"\nseat = 1\n[candidates.route]\n{lines}'
        '[[candidates]]\nid = "rule"\nseat = 2\npolicy = "rule"\n',
        encoding="utf-8",
    )
    return file


def checks(answer: Any) -> dict[str, dict[str, str]]:
    return {each["check"]: each for each in answer.data["checks"]}


def told(folder: Path, capsys: Capture, *options: str, **changes: Any) -> Any:
    file = campaign_file(folder, **changes)
    place = folder / "store"
    return ceo_arena(capsys, "doctor", file, "--store", place, "--skip-ray", "--json", *options)


@pytest.fixture(autouse=True)
def _no_gateway_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(URL_VARIABLE, raising=False)
    monkeypatch.delenv(KEY_VARIABLE, raising=False)


def test_a_campaign_that_would_run(tmp_path: Path, capsys: Capture) -> None:
    answer = told(tmp_path, capsys)
    found = checks(answer)
    assert (answer.code, answer.data["ok"]) == (0, True), answer.out
    for check in ("store", "key", "model", "tool call", "continuation", "clock"):
        assert found[check]["health"] == "ok", found[check]
        assert found[check]["remedy"] == ""
    assert "rehearsal-analyst answers by stream" in found["model"]["found"]
    assert "went back as it came" in found["continuation"]["found"]
    assert found["ray"]["health"] == "skipped"
    assert not (tmp_path / "store").exists(), "it makes nothing"


def failed(answer: Any) -> dict[str, str]:
    """What failed, by check."""
    return {
        each["check"]: each["found"] for each in answer.data["checks"] if each["health"] == "failed"
    }


def test_what_plan_and_launch_would_refuse_is_told_in_one_list(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(URL_VARIABLE, "http://127.0.0.1:9/v1")
    file = campaign_file(tmp_path)
    text = file.read_text(encoding="utf-8").replace('policy = "rule"', 'policy = "absent"')
    file.write_text(f"limits = {{ spending_cap_cents = 100 }}\n{text}", encoding="utf-8")
    (tmp_path / "file").write_text("")
    options = ("--store", tmp_path / "file", "--skip-ray", "--skip-calls", "--json")
    answer = ceo_arena(capsys, "doctor", file, *options)
    assert (answer.code, answer.err) == (1, "")
    told = failed(answer)
    assert told.keys() == {"plan", "cap", "store", "key"}
    assert "no policy 'absent'" in told["plan"]
    assert "these routes have no prices: analyst" in told["cap"]
    assert ceo_arena(capsys, "plan", file).code == 2


def test_a_route_that_cannot_be_read_is_told_once(tmp_path: Path, capsys: Capture) -> None:
    answer = told(tmp_path, capsys, protocol="smoke")
    assert answer.code == 1
    assert failed(answer).keys() == {"plan"}
    assert 'The route of candidate "analyst"' in failed(answer)["plan"]
    assert checks(answer)["call"]["health"] == "skipped"


def test_another_plan_in_the_store_is_one_that_a_launch_refuses(
    tmp_path: Path, capsys: Capture
) -> None:
    planned = plan(load_definition(campaign_file(tmp_path)).short_form(14))
    with open_store(str(tmp_path / "store"), create=True) as store:
        store.catalogue.create_campaign(frozen(planned), planned.runs)
        lease = store.catalogue.acquire_campaign("mine", own_name(), 600)
        whole = told(tmp_path, capsys, "--skip-calls")
        assert "campaign mine with another plan" in failed(whole)["store"]
        short = told(tmp_path, capsys, "--skip-calls", "--days", "14")
        assert failed(short) == {}
        held = [each["found"] for each in short.data["checks"] if each["health"] == "warning"]
        assert any("mine is being carried out by" in each for each in held)
        store.catalogue.release(lease)
    assert checks(told(tmp_path, capsys, "--days", "14"))["plan"]["health"] == "ok"


def test_a_gateway_of_this_command_is_none_for_a_cluster(tmp_path: Path, capsys: Capture) -> None:
    answer = told(tmp_path, capsys, "--address", "127.0.0.1:6379")
    assert f"{URL_VARIABLE} is not set" in failed(answer)["call"]


def test_without_calls_nothing_is_asked(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(URL_VARIABLE, "http://127.0.0.1:9/v1")
    monkeypatch.setenv(KEY_VARIABLE, "key")
    answer = told(tmp_path, capsys, "--skip-calls")
    assert answer.code == 0
    assert checks(answer)["call"]["health"] == "skipped"
    assert checks(answer)["key"]["health"] == "ok"


FAULTS: list[tuple[dict[str, Any], str, str, str]] = [
    ({"fault": "refuse", "status": 401}, "call", "HTTP 401", "Put right"),
    ({"fault": "other-model"}, "call", "accepted_aliases", "Put right"),
    ({"fault": "leave-out-usage"}, "usage", "no usage", "ask_usage"),
    ({"fault": "empty-reply"}, "tool call", "without a call", "takes tools"),
    ({"fault": "refuse", "status": 503, "page": True}, "call", "503", "status page"),
    ({"fault": "refuse", "status": 400}, "call", "HTTP 400", "options"),
]


def test_what_is_wrong_with_a_route_is_said_with_what_to_do(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A conversation that gets as far as its continuation is two requests.
    numbers = iter((1, 2, 3, 5, 6, 7))
    rules = [fault | {"requests": (next(numbers),)} for fault, *_ in FAULTS]
    plan = FaultPlan.model_validate({"faults": tuple(rules)}, strict=False)
    with start_gateway(GatewayOptions(faults=plan)) as gateway:
        monkeypatch.setenv(URL_VARIABLE, gateway.base_url)
        monkeypatch.setenv(KEY_VARIABLE, "canary-key-0123456789")
        for _, check, words, remedy in FAULTS:
            answer = told(tmp_path, capsys)
            found = checks(answer)[check]
            assert (answer.code, answer.data["ok"]) == (1, False)
            assert found["health"] == "failed", found
            assert words in found["found"]
            assert remedy in found["remedy"]
            assert "canary" not in answer.out + answer.err


def test_a_key_that_is_not_there(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(URL_VARIABLE, "http://127.0.0.1:9/v1")
    answer = told(tmp_path, capsys)
    found = checks(answer)
    assert (answer.code, found["key"]["health"], found["call"]["health"]) == (
        1,
        "failed",
        "skipped",
    )
    assert KEY_VARIABLE in found["key"]["found"]


def test_all_variables_that_are_missing_are_named_with_what_they_hold(
    tmp_path: Path, capsys: Capture
) -> None:
    names = {"endpoint_env": "ONE_URL", "credentials": ["ONE_KEY"]}
    found = checks(told(tmp_path, capsys, "--skip-calls", **names))["key"]
    assert found["found"] == "not set: ONE_URL, ONE_KEY"
    assert "ONE_URL to the service's base URL" in found["remedy"]
    assert "ONE_KEY to the key, or ONE_KEY_FILE to the path" in found["remedy"]


def test_a_proxy_that_is_not_there_is_named_by_its_variable(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = "http://127.0.0.1:9"
    for name in ("no_proxy", "NO_PROXY", "http_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTP_PROXY", proxy)
    monkeypatch.setenv("ONE_URL", "http://models.invalid/v1")
    route = {"endpoint_env": "ONE_URL", "credentials": "no key"}
    found = checks(told(tmp_path, capsys, **route))["call"]
    assert "No connection" in found["found"]
    assert "through the proxy that HTTP_PROXY names" in found["remedy"]
    assert "NO_PROXY" in found["remedy"]
    assert proxy not in found["remedy"]


def test_an_endpoint_without_a_key_and_one_that_nobody_serves(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with start_gateway(GatewayOptions(needs_key=False)) as gateway:
        answer = told(
            tmp_path,
            capsys,
            credentials="no key",
            endpoint_env="LOCAL_URL",
            **_environment(monkeypatch, LOCAL_URL=gateway.base_url),
        )
    assert answer.code == 0, answer.out
    assert "no key needed" in checks(answer)["key"]["found"]
    answer = told(tmp_path, capsys, credentials="no key", endpoint_env="LOCAL_URL")
    assert answer.code == 1
    assert "No connection" in checks(answer)["call"]["found"]
    assert checks(answer)["clock"]["health"] == "skipped"


def _environment(monkeypatch: pytest.MonkeyPatch, **values: str) -> dict[str, Any]:
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    return {}


def test_a_store_that_cannot_be_used(tmp_path: Path) -> None:
    place = tmp_path / "store"
    place.write_text("a file")
    (found,) = check_store(str(place))
    assert (found.check, found.health) == ("store", "failed")
    assert found.remedy


def test_a_store_that_is_damaged(tmp_path: Path) -> None:
    open_store(str(tmp_path / "store"), create=True).close()
    (found, _) = check_store(str(tmp_path / "store"))
    assert found.health == "ok"
    assert "0 campaigns" in found.found
    with sqlite3.connect(tmp_path / "store" / "catalogue.db") as connection:
        connection.execute("PRAGMA foreign_keys=OFF")
        connection.execute("INSERT INTO campaign_leases VALUES ('nobody', NULL, 0, 0)")
    connection.close()
    (found,) = check_store(str(tmp_path / "store"))
    assert (found.check, found.health) == ("store", "failed")
    assert "audit" in found.remedy


def test_little_room_and_a_clock_that_is_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "LITTLE_BYTES", 1 << 62)
    (_, room) = check_store(str(tmp_path / "store"))
    assert (room.check, room.health) == ("disk", "failed")
    with start_gateway() as gateway:
        assert check_clock([gateway.base_url]).health == "ok"
        real = time.time
        monkeypatch.setattr(time, "time", lambda: real() + 3_600)
        found = check_clock([gateway.base_url])
    assert found.health == "warning"
    assert "ahead of a service's clock" in found.found


def test_a_campaign_that_cannot_be_read(tmp_path: Path, capsys: Capture) -> None:
    answer = ceo_arena(capsys, "doctor", tmp_path / "none.toml", "--skip-ray")
    assert (answer.code, answer.out) == (2, "")


@pytest.mark.xdist_group("launched")
def test_ray_is_started_and_a_person_reads_a_table(tmp_path: Path) -> None:
    answer = ceo_arena_process("doctor", campaign_file(tmp_path), "--store", tmp_path / "store")
    assert answer.code == 0, answer.out + answer.err
    assert "started an actor" in answer.out
    assert "Nothing keeps it from running." in answer.out
