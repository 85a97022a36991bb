"""The commands about bundles, as a stranger gives them: with the bundle and a public key alone."""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from manifests.bundle import ENVELOPE_FILE
from tests.orchestrator.cli.commands import SCRIPT, Answer, ceo_arena, is_plain
from tests.orchestrator.cli.played import campaign_data, play_campaign, poor_scenario

pytestmark = pytest.mark.xdist_group("bundles")

NAME = "shown"
DOCUMENT = Path(__file__).parents[3] / "docs" / "bundle.md"

# Ends the process that reaches for a network or a database, whatever would catch an exception.
ALONE = """
import os, sys
def watch(event, arguments):
    if event in {"socket.connect", "socket.bind", "sqlite3.connect", "socket.getaddrinfo"}:
        sys.stderr.write(f"reached out: {event}")
        os._exit(99)
sys.addaudithook(watch)
"""

Run = Callable[..., Answer]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return lambda *arguments: ceo_arena(capsys, *arguments)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store, a key, and a bundle."""
    folder = tmp_path_factory.mktemp("bundles")
    play_campaign(folder / "store", campaign_data(NAME, poor_scenario(folder)))
    for arguments in (
        ["keys", "generate", "signer.pem"],
        ["export", "--store", "store", "--key", "signer.pem", "--out", "campaign.bundle"],
        ["export", "--store", "store", "--key", "signer.pem", "--out", "campaign.tar"],
    ):
        subprocess.run([sys.executable, "-c", SCRIPT, *arguments], cwd=folder, check=True)
    return folder


@pytest.fixture
def stranger(place: Path, tmp_path: Path) -> Callable[..., Answer]:
    """Runs a command where there is nothing but a bundle and a key, and neither network nor
    database.
    """
    home = tmp_path / "home"
    home.mkdir()
    for name in ("campaign.tar", "signer.pub.pem"):
        shutil.copy(place / name, home / name)

    def run_alone(*arguments: str) -> Answer:
        done = subprocess.run(
            [sys.executable, "-c", ALONE + SCRIPT, *arguments],
            cwd=home,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(home),
                "PYTHONPATH": os.pathsep.join(sys.path),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    return run_alone


def test_a_stranger_verifies_replays_and_analyzes_with_bundle_and_key_alone(
    stranger: Callable[..., Answer],
) -> None:
    verified = stranger("verify", "campaign.tar", "--key", "signer.pub.pem", "--json")
    assert (verified.code, verified.data["ok"], verified.data["campaign"]) == (0, True, NAME)
    key = ("--key", "signer.pub.pem", "--json")
    replayed = stranger("replay", "--bundle", "campaign.tar", "--jobs", "1", *key)
    assert replayed.code == 0, replayed.err
    assert (replayed.data["runs"], replayed.data["matched"]) == (8, 8)
    analyzed = stranger("analyze", "--bundle", "campaign.tar", *key)
    assert analyzed.code == 0, analyzed.err
    assert analyzed.data["differences"] == []
    assert len(analyzed.data["directed"]) == 6


def test_a_stranger_who_reached_out_would_be_noticed(stranger: Callable[..., Answer]) -> None:
    answer = stranger("export", "--store", ".", "--key", "signer.pub.pem")
    assert answer.code == 2
    assert stranger("gateway", "--port", "0").code == 99


def test_openssl_alone_checks_a_bundle_by_the_commands_of_the_documentation(
    place: Path, tmp_path: Path
) -> None:
    marked = DOCUMENT.read_text(encoding="utf-8").partition("a test runs exactly these commands")[2]
    found = re.search(r"```sh\n(.*?)```", marked, re.DOTALL)
    assert found is not None
    shutil.copytree(place / "campaign.bundle", tmp_path / "campaign.bundle")
    shutil.copy(place / "signer.pub.pem", tmp_path / "signer.pub.pem")

    def check() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-eu", "-c", found[1]],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

    done = check()
    assert done.returncode == 0, done.stderr
    assert "Signature Verified Successfully" in done.stdout
    files = sum(path.is_file() for path in (tmp_path / "campaign.bundle").rglob("*"))
    assert f"{files - 1} files are what was signed" in done.stdout

    results = tmp_path / "campaign.bundle" / "results.json"
    before = results.read_bytes()
    results.write_bytes(before.replace(b"true", b"tRue", 1))
    assert "results.json is not what was signed" in check().stdout
    results.write_bytes(before)
    (tmp_path / "campaign.bundle" / "more.json").write_bytes(b"{}")
    assert "other files than those that were signed" in check().stdout
    envelope = tmp_path / "campaign.bundle" / ENVELOPE_FILE
    text = json.loads(envelope.read_text())
    text["payload"] = text["payload"][:-8] + "AAAA" + text["payload"][-4:]
    envelope.write_text(json.dumps(text, indent=2) + "\n")
    assert check().returncode != 0


def test_what_was_changed_is_named_and_ends_with_1(run: Run, place: Path, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(place / "campaign.bundle", tmp_path / "copy"))
    key = place / "signer.pub.pem"
    verified = run("verify", copied, "--key", key)
    assert verified.code == 0
    assert is_plain(verified.out, 300)
    days = copied / "runs" / f"{NAME}-s3-reference" / "days.jsonl"
    days.write_bytes(days.read_bytes().replace(b'"day":1,', b'"day":2,', 1))
    verified = run("verify", copied, "--key", key)
    assert verified.code == 1
    assert "days.jsonl: this file is not the one that was exported" in verified.err
    answer = run("verify", copied, "--key", key, "--json")
    assert (answer.code, answer.data["ok"]) == (1, False)
    assert [fault["place"] for fault in answer.data["faults"]] == [
        f"runs/{NAME}-s3-reference/days.jsonl"
    ]
    for command in ("replay", "analyze"):
        refused = run(command, "--bundle", copied)
        assert refused.code == 1
        assert "days.jsonl: this file is not the one that was exported" in refused.err


def test_without_a_key_the_person_is_told(run: Run, place: Path) -> None:
    refused = run("verify", place / "campaign.tar")
    assert refused.code == 2
    assert "Add --key FILE" in refused.err
    replayed = run("replay", "--bundle", place / "campaign.tar", "--jobs", "1")
    assert replayed.code == 0
    assert "were not checked: no --key is named" in replayed.err
    refused = run("export", "--store", place / "store")
    assert refused.code == 2
    assert "ceo-arena keys generate" in refused.err
    foreign = run("verify", place / "campaign.tar", "--key", place / "signer.pem")
    assert (foreign.code, "holds a private key" in foreign.err) == (2, True)


def test_mistakes_get_one_message(run: Run, place: Path, tmp_path: Path) -> None:
    key = ("--key", place / "signer.pem")
    for arguments, code, message in (
        (
            ("export", "--store", place / "store", *key, "--out", place / "campaign.tar"),
            2,
            "exists",
        ),
        (("export", "absent", "--store", place / "store", *key), 2, "no campaign absent"),
        (("export", "--store", place / "store", "--key", tmp_path / "no.pem"), 2, "cannot be read"),
        (("verify", tmp_path / "no", "--key", place / "signer.pub.pem"), 2, "There is no bundle"),
        (("replay", NAME, "--bundle", place / "campaign.tar"), 2, "by itself"),
        (("replay", "--bundle", place / "campaign.tar", "--run", "absent"), 2, "no run absent"),
        (("verify", place / "store", "--key", place / "signer.pub.pem"), 1, "has no envelope.json"),
    ):
        answer = run(*arguments)
        assert answer.code == code, (arguments, answer.err)
        assert message in answer.err
        assert "Traceback" not in answer.err


def test_two_sign_and_both_are_wanted(run: Run, place: Path, tmp_path: Path) -> None:
    second, bundle = tmp_path / "second.pem", tmp_path / "both.tar"
    made = run("keys", "generate", second, "--json")
    signers = ("--key", place / "signer.pem", "--key", second)
    written = run("export", "--store", place / "store", "--out", bundle, *signers, "--json")
    assert written.data["signed_by"][1] == made.data["id"]
    both = ("--key", place / "signer.pub.pem", "--key", tmp_path / "second.pub.pem")
    assert run("verify", bundle, *both).code == 0
    added = tmp_path / "added.tar"
    shutil.copy(place / "campaign.tar", added)
    signed = run("sign", added, "--key", place / "signer.pub.pem", "--with", second, "--json")
    assert signed.data["signed_by"] == written.data["signed_by"]
    assert added.read_bytes() == bundle.read_bytes()
    alone = run("verify", bundle, "--key", place / "signer.pub.pem")
    assert alone.code == 1
    assert f"a signature of key {made.data['id']}" in alone.err


def test_a_key_with_a_passphrase(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine.pem"
    refused = run("keys", "generate", path, "--encrypt")
    assert (refused.code, "there is no passphrase" in refused.err) == (2, True)
    monkeypatch.setenv("CEO_ARENA_KEY_PASSPHRASE", "correct horse")
    made = run("keys", "generate", path, "--encrypt", "--json")
    assert (made.code, made.data["encrypted"]) == (0, True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "ENCRYPTED" in path.read_text()
    shown = run("keys", "show", path, "--json")
    assert shown.data["id"] == made.data["id"]
    assert shown.data["pem"] == (tmp_path / "mine.pub.pem").read_text()
    assert run("keys", "show", tmp_path / "mine.pub.pem").out.strip() == shown.data["pem"].strip()
    monkeypatch.setenv("CEO_ARENA_KEY_PASSPHRASE", "wrong horse")
    refused = run("keys", "show", path)
    assert refused.code == 2
    assert "wrong horse" not in refused.err


def test_schemas_are_written(run: Run, tmp_path: Path) -> None:
    assert run("schemas", tmp_path / "schemas").code == 0
    names = {path.name for path in (tmp_path / "schemas").iterdir()}
    assert {"manifest.schema.json", "boundaries.schema.json", "outcomes.schema.json"} <= names
