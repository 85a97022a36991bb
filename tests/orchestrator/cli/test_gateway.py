"""The rehearsal gateway: a command of its own, and embedded in those that carry campaigns out."""

import asyncio
import http.client
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from manifests.errors import InputError
from orchestrator.cli.rehearsing import KEY_VARIABLE, URL_VARIABLE, rehearsal_gateway
from providers.contract import ProviderFault
from providers.routes import Route, parse_route
from tests.orchestrator.cli.commands import SCRIPT, ceo_arena, ceo_arena_process
from tests.orchestrator.cli.rehearsed import route
from tests.providers.asking import KEY_VARIABLE as ASKING_KEY
from tests.providers.asking import ask_at

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _no_gateway_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(URL_VARIABLE, raising=False)
    monkeypatch.delenv(KEY_VARIABLE, raising=False)


def parsed(*routes: dict[str, Any]) -> list[Route]:
    return [parse_route(each, "the route of a test") for each in routes]


def models_status(base_url: str, key: str) -> int:
    """The HTTP status with which a gateway answers a question about its models."""
    address = urlsplit(base_url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
    try:
        connection.request("GET", "/v1/models", headers={"Authorization": f"Bearer {key}"})
        return connection.getresponse().status
    finally:
        connection.close()


class TestCommand:
    def test_it_serves_at_the_printed_address_until_interrupted(self) -> None:
        with subprocess.Popen(
            [sys.executable, "-c", SCRIPT, "gateway", "--port", "0", "--chunks", "3"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(2)]
            exported = dict(
                line.removeprefix("export ").strip().split("=", maxsplit=1) for line in lines
            )
            assert list(exported) == [URL_VARIABLE, KEY_VARIABLE]
            assert models_status(exported[URL_VARIABLE], exported[KEY_VARIABLE]) == 200
            process.send_signal(signal.SIGINT)
            rest, told = process.communicate(timeout=60)
        assert (process.returncode, rest) == (0, "")
        assert "rehearsal-analyst" in told
        assert "The gateway has ended." in told
        assert "Traceback" not in told

    @pytest.mark.parametrize(
        ("options", "told"),
        [
            (("--host", "0.0.0.0"), "not a loopback address"),
            (("--port", "70000"), "port"),
            (("--chunks", "0"), "chunks"),
            (("--port", "0", "--ledger", "/nowhere/ledger"), "/nowhere/ledger"),
        ],
    )
    def test_wrong_options_are_refused(
        self, capsys: Capture, options: tuple[str, ...], told: str
    ) -> None:
        answer = ceo_arena(capsys, "gateway", *options)
        assert (answer.code, answer.out) == (2, "")
        assert told in answer.err


class TestEmbedded:
    def test_a_campaign_that_rehearses_gets_one_with_a_key_of_its_own(
        self, capsys: Capture
    ) -> None:
        routes = parsed(route("analyst"), route("trader"))
        keys = []
        for _ in range(2):
            with rehearsal_gateway(routes, None):
                url, key = os.environ[URL_VARIABLE], os.environ[KEY_VARIABLE]
                assert models_status(url, key) == 200
                assert models_status(url, "another-key") == 401
                keys.append(key)
            assert URL_VARIABLE not in os.environ
            assert KEY_VARIABLE not in os.environ
            with pytest.raises(ConnectionError):
                models_status(url, key)
        assert keys[0] != keys[1]
        said = "".join(capsys.readouterr())
        assert "rehearsal gateway was started" in said
        assert not any(key in said for key in keys)

    def test_a_gateway_that_is_named_is_left_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(URL_VARIABLE, "http://127.0.0.1:9/v1")
        for address in (None, "127.0.0.1:6379"):
            with rehearsal_gateway(parsed(route("analyst")), address):
                assert os.environ[URL_VARIABLE] == "http://127.0.0.1:9/v1"
                assert KEY_VARIABLE not in os.environ

    def test_a_fault_plan_is_followed(self, tmp_path: Path) -> None:
        plan = tmp_path / "faults.toml"
        plan.write_text('[[faults]]\nfault = "cut-stream"\nrate = 1.0\n', encoding="utf-8")
        with rehearsal_gateway(parsed(route("analyst")), None, plan):
            asked = ask_at(
                os.environ[URL_VARIABLE],
                model="rehearsal-analyst",
                environment={ASKING_KEY: os.environ[KEY_VARIABLE]},
            )
            with pytest.raises(ProviderFault, match="connection broke"):
                asyncio.run(asked)

    def test_a_fault_plan_that_nobody_would_follow_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        plan = tmp_path / "faults.toml"
        plan.write_text("speed = 3\n", encoding="utf-8")
        real = {**route("analyst"), "endpoint_env": "SOME_BASE_URL"}
        for routes, told in (
            ([route("analyst")], "speed"),
            ([real], "not all of its candidates are scripted"),
        ):
            with (
                pytest.raises(InputError, match=told),
                rehearsal_gateway(parsed(*routes), None, plan),
            ):
                pass
        monkeypatch.setenv(URL_VARIABLE, "http://127.0.0.1:9/v1")
        with (
            pytest.raises(InputError, match="gateway of this command"),
            rehearsal_gateway(parsed(route("analyst")), None, plan),
        ):
            pass

    def test_other_campaigns_get_none(self) -> None:
        real = {**route("analyst"), "endpoint_env": "SOME_BASE_URL"}
        for routes in (parsed(), parsed(real), parsed(route("analyst"), real)):
            with rehearsal_gateway(routes, None):
                assert URL_VARIABLE not in os.environ

    def test_hosts_of_a_cluster_need_one_that_is_named(self) -> None:
        with (
            pytest.raises(InputError) as caught,
            rehearsal_gateway(parsed(route("analyst")), "127.0.0.1:6379"),
        ):
            pass
        assert "ceo-arena gateway" in str(caught.value)
        assert URL_VARIABLE in str(caught.value)
        assert KEY_VARIABLE in str(caught.value)


@pytest.fixture(scope="module")
def launched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Any]:
    """A campaign file, a store, and the answer of the launch of its short form."""
    folder = tmp_path_factory.mktemp("launched")
    file, store = folder / "mine.toml", folder / "store"
    file.write_text(
        'name = "mine"\nseeds = [11]\nlineups = ["reference"]\n'
        + "".join(
            f'[[candidates]]\nid = "{found["model"]}"\nseat = {seat}\n[candidates.route]\n'
            + "".join(f"{name} = {json.dumps(value)}\n" for name, value in found.items())
            for seat, found in enumerate((route("analyst"), route("gambler")), start=1)
        ),
        encoding="utf-8",
    )
    answer = ceo_arena_process(
        "launch", file, "--days", "7", "--store", store, "--hosts", "1", "--json"
    )
    return file, store, answer


@pytest.mark.xdist_group("launched")
class TestLaunch:
    def test_the_short_form_runs_to_its_end_against_its_own_gateway(
        self, launched: tuple[Path, Path, Any]
    ) -> None:
        _, _, answer = launched
        assert answer.code == 0, answer.err
        assert answer.data["complete"] is True
        assert answer.data["market"]["days"] == 7
        assert answer.data["decision_health"]["all"]["sealed"] == 2
        assert answer.data["workload"]["all"]["replies"] > 2
        assert "7 days" in answer.err

    def test_it_is_another_plan_than_the_whole_campaign(
        self, capsys: Capture, launched: tuple[Path, Path, Any]
    ) -> None:
        file, store, answer = launched
        again = ceo_arena(capsys, "launch", file, "--days", "7", "--store", store, "--json")
        assert again.code == 0, again.err
        assert again.data == answer.data
        planned = ceo_arena(capsys, "plan", file, "--days", "7", "--json").data
        assert planned["plan_hash"] == answer.data["plan_hash"]
        assert planned["plan_hash"] != ceo_arena(capsys, "plan", file, "--json").data["plan_hash"]
        assert planned["counts"]["windows"] == 1
        whole = ceo_arena(capsys, "launch", file, "--store", store)
        assert whole.code == 2
        assert "horizon_days" in whole.err


def test_launch_names_every_variable_that_is_not_set_and_makes_nothing(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = tmp_path / "key"
    key.write_text("canary", encoding="utf-8")
    for vendor in ("OPENAI", "DEEPSEEK", "ANTHROPIC", "DASHSCOPE", "GEMINI", "ARK"):
        for kind in ("BASE_URL", "API_KEY", "API_KEY_FILE"):
            monkeypatch.delenv(f"{vendor}_{kind}", raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("ARK_API_KEY_FILE", str(key))
    assert ceo_arena(capsys, "plan", "main", "--json").code == 0
    answer = ceo_arena(capsys, "launch", "main", "--store", tmp_path / "store")
    assert answer.code == 2
    assert (
        "Campaign main needs variables that are not set: OPENAI_API_KEY, DEEPSEEK_BASE_URL, "
        "DEEPSEEK_API_KEY, ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY, DASHSCOPE_BASE_URL, "
        "DASHSCOPE_API_KEY, GEMINI_BASE_URL, GEMINI_API_KEY, ARK_BASE_URL."
    ) in " ".join(answer.err.split())
    assert "canary" not in answer.err
    assert not (tmp_path / "store").exists()
