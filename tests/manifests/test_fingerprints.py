import re
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from manifests import fingerprints
from manifests.canonical import digest, digest_bytes
from manifests.errors import InputError
from manifests.fingerprints import (
    DECIDING_LIBRARIES,
    SourceFingerprint,
    interpreter,
    library_versions,
    package_version,
    source_fingerprint,
)

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the import path with the package `sampled`."""
    package = tmp_path / "sampled"
    (package / "data" / "inner").mkdir(parents=True)
    (package / "__init__.py").write_bytes(b"")
    (package / "rule.py").write_bytes(b"x = 1\n")
    (package / "data" / "table.json").write_bytes(b"{}")
    (package / "data" / "inner" / "prompt.md").write_bytes(b"# Hello\n")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_every_file_has_the_digest_of_its_bytes() -> None:
    found = source_fingerprint(["sampled"])
    assert found.files == {
        "sampled/__init__.py": digest_bytes(b""),
        "sampled/data/inner/prompt.md": digest_bytes(b"# Hello\n"),
        "sampled/data/table.json": digest_bytes(b"{}"),
        "sampled/rule.py": digest_bytes(b"x = 1\n"),
    }
    assert list(found.files) == sorted(found.files)
    assert found.overall == digest(found.files)


@pytest.mark.parametrize(
    "by_product",
    [
        "__pycache__/rule.cpython-312.pyc",
        "data/__pycache__/x.py",
        "rule.pyc",
        ".rule.py.swp",
        "data/.DS_Store",
        "rule.py~",
    ],
)
def test_what_tools_leave_behind_does_not_count(folder: Path, by_product: str) -> None:
    before = source_fingerprint(["sampled"])
    path = folder / "sampled" / by_product
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"noise")
    assert source_fingerprint(["sampled"]) == before


def test_a_changed_added_or_removed_file_counts(folder: Path) -> None:
    seen = {source_fingerprint(["sampled"]).overall}
    (folder / "sampled" / "data" / "table.json").write_bytes(b"{ }")
    seen.add(source_fingerprint(["sampled"]).overall)
    (folder / "sampled" / "data" / "more.toml").write_bytes(b"")
    seen.add(source_fingerprint(["sampled"]).overall)
    (folder / "sampled" / "rule.py").unlink()
    seen.add(source_fingerprint(["sampled"]).overall)
    assert len(seen) == 4


def test_a_single_module_is_its_own_file(folder: Path) -> None:
    (folder / "alone_in_its_file.py").write_bytes(b"y = 2\n")
    found = source_fingerprint(["alone_in_its_file", "sampled"])
    assert found.files["alone_in_its_file.py"] == digest_bytes(b"y = 2\n")
    assert found.files["sampled/rule.py"] == digest_bytes(b"x = 1\n")
    assert found == source_fingerprint(["sampled", "alone_in_its_file"])


def test_own_packages_are_found_from_their_installed_files() -> None:
    files = source_fingerprint(["manifests", "providers"]).files
    for name in ("manifests/canonical.py", "manifests/py.typed", "providers/routes.py"):
        assert files[name] == digest_bytes((ROOT / name).read_bytes())


def test_a_missing_package_is_named() -> None:
    with pytest.raises(InputError, match="no_such_package_here is not installed"):
        source_fingerprint(["no_such_package_here"])


def test_a_package_inside_an_archive_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "packed.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("zipped_package/__init__.py", "")
    monkeypatch.syspath_prepend(archive)
    with pytest.raises(InputError, match="zipped_package is not installed as plain files"):
        source_fingerprint(["zipped_package"])


def test_a_built_in_module_has_no_files() -> None:
    with pytest.raises(InputError, match="sys is not installed as plain files"):
        source_fingerprint(["sys"])


def test_library_versions_are_those_installed() -> None:
    versions = library_versions()
    assert versions == {name: metadata.version(name) for name in DECIDING_LIBRARIES}
    assert list(versions) == sorted(versions)


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fingerprints, "DECIDING_LIBRARIES", ("numpy", "no-such-library"))
    with pytest.raises(InputError, match="no-such-library is not installed"):
        library_versions()


def test_package_version_is_that_of_the_project() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    stated = re.search(r'^version = "(.+)"$', text, re.MULTILINE)
    assert stated is not None
    assert package_version() == stated[1]


def test_interpreter_is_the_running_one() -> None:
    found = interpreter()
    assert found["version"] == ".".join(str(part) for part in sys.version_info[:3])
    assert found["implementation"].lower() == sys.implementation.name
    assert all(found.values())


PACKAGES = ["orchestrator", "engine", "providers", "campaigns", "manifests"]


def test_a_wheel_has_the_fingerprint_of_the_checkout_it_was_built_from(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "wheel"]
    options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir"]
    subprocess.run([*pip, *options, tmp_path, ROOT], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("ceo_arena-*.whl")
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as content:
        content.extractall(installed)

    program = (
        "import sys, manifests.fingerprints as module\n"
        "assert module.__file__.startswith(sys.argv[1]), module.__file__\n"
        "print(module.source_fingerprint(sys.argv[2:]).model_dump_json())"
    )
    output = subprocess.run(
        [sys.executable, "-c", program, installed, *PACKAGES],
        cwd=tmp_path,
        env={"PYTHONPATH": str(installed)},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert SourceFingerprint.model_validate_json(output) == source_fingerprint(PACKAGES)
