"""Bundles: the same bytes every time, and whatever is changed in one is found and named."""

import io
import shutil
import tarfile
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manifests.bundle import (
    ENVELOPE_FILE,
    MANIFEST_FILE,
    RESULTS_FILE,
    Bundle,
    add_signature,
    document,
    faults,
    new_bundle,
)
from manifests.errors import InputError, IntegrityError, StoreError
from manifests.signing import Digests, Size, Subject, sign
from tests.manifests.bundles import FILES, key, manifest, write

ALL_FILES = [*FILES, MANIFEST_FILE, RESULTS_FILE, ENVELOPE_FILE]


def found(path: Path, *numbers: int) -> list[str]:
    """What `verify` would say, with the keys of these numbers."""
    keys = [key(number).public for number in numbers or (1,)]
    return [str(fault) for fault in faults(Bundle.open(path), keys)]


@pytest.fixture(params=["bundle", "bundle.tar"])
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return write(tmp_path / request.param)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return write(tmp_path / "bundle")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return write(tmp_path / "bundle.tar")


def test_a_bundle_is_read_back_and_has_no_fault(written: Path) -> None:
    assert found(written) == []
    bundle = Bundle.open(written)
    assert sorted(bundle.source.names) == sorted(ALL_FILES)
    assert bundle.manifest == manifest()
    for name, content in FILES.items():
        assert bundle.content(name) == content
    assert list(bundle.lines("runs/one/days.jsonl")) == [b'{"day":1}\n', b'{"day":2}\n']
    assert list(bundle.lines("runs/two/days.jsonl")) == []
    assert bundle.document(RESULTS_FILE)["note"] == "größer"


def test_two_exports_are_the_same_bytes(tmp_path: Path) -> None:
    one, two = write(tmp_path / "one.tar"), write(tmp_path / "two.tar")
    assert one.read_bytes() == two.read_bytes()
    for name in ALL_FILES:
        left, right = (write(tmp_path / at / "b") for at in made(tmp_path, name))
        assert (left / name).read_bytes() == (right / name).read_bytes()


def made(folder: Path, name: str) -> Iterable[str]:
    for side in ("left", "right"):
        at = f"{side}-{name.replace('/', '-')}"
        (folder / at).mkdir()
        yield at


def test_with_another_key_only_the_envelope_differs(tmp_path: Path) -> None:
    one, two = write(tmp_path / "one"), write(tmp_path / "two", "small", key(2))
    differing = [
        name for name in ALL_FILES if (one / name).read_bytes() != (two / name).read_bytes()
    ]
    assert differing == [ENVELOPE_FILE]


def test_an_archive_is_what_any_tar_reads(archive: Path, directory: Path) -> None:
    with tarfile.open(archive) as opened:
        assert opened.getnames() == ALL_FILES
        for name in ALL_FILES:
            member = opened.extractfile(name)
            assert member is not None
            assert member.read() == (directory / name).read_bytes()


def test_every_changed_byte_of_a_file_is_named_with_the_file(directory: Path) -> None:
    for name in ALL_FILES:
        path = directory / name
        content = path.read_bytes()
        place = "the envelope" if name == ENVELOPE_FILE else name
        # All bytes of what is small, and some of the rest.
        for offset in range(0, len(content), 1 if len(content) < 1_000 else 29):
            path.write_bytes(changed(content, offset))
            said = found(directory)
            assert said, (name, offset)
            assert said[0].startswith(place), (name, offset, said)
        path.write_bytes(content)
    assert found(directory) == []


def test_every_changed_byte_of_an_archive_is_found(archive: Path) -> None:
    content = archive.read_bytes()
    headers = [content.index(name.encode()) for name in ALL_FILES]
    of_headers = {start + place for start in headers for place in range(0, 512, 5)}
    for offset in sorted(of_headers.union(range(0, len(content), 41))):
        archive.write_bytes(changed(content, offset))
        assert found(archive), offset
    for shorter in range(0, len(content), 397):
        archive.write_bytes(content[:shorter])
        assert found(archive), shorter
    for more in (b"\0", b"x", bytes(512), bytes(10_240)):
        archive.write_bytes(content + more)
        assert "its end is not where the archive ends" in found(archive)[0]


def changed(content: bytes, offset: int) -> bytes:
    return content[:offset] + bytes([content[offset] ^ 1]) + content[offset + 1 :]


def test_swapped_files_are_both_named(directory: Path) -> None:
    one, two = directory / "runs/one/days.jsonl", directory / "runs/two/days.jsonl"
    one.rename(directory / "aside")
    two.rename(one)
    (directory / "aside").rename(two)
    assert found(directory) == [
        "runs/one/days.jsonl: this file has 0 bytes, and 20 were exported",
        "runs/two/days.jsonl: this file has 20 bytes, and 0 were exported",
    ]


def test_a_removed_run_and_an_added_file_are_named(directory: Path) -> None:
    shutil.rmtree(directory / "runs/one")
    (directory / "runs/two/more.jsonl").write_bytes(b"{}\n")
    (directory / "nothing").mkdir()
    (directory / "link").symlink_to("/etc/passwd")
    (directory / "odd name").write_bytes(b"")
    assert found(directory) == [
        "link: this is neither a file nor a directory",
        "nothing/: this directory is empty",
        "'odd name': no exported file has such a name",
        "runs/one/days.jsonl: this file is missing",
        "runs/one/accounts.parquet: this file is missing",
        "runs/two/more.jsonl: this file was added: the statement does not name it",
    ]


def test_the_envelope_of_another_campaign_is_named_with_both_plans(
    directory: Path, tmp_path: Path
) -> None:
    other = write(tmp_path / "other", "larger")
    shutil.copy(other / ENVELOPE_FILE, directory / ENVELOPE_FILE)
    plans = manifest("larger").plan_hash, manifest().plan_hash
    (fault,) = found(directory)
    assert fault == (
        f"the envelope (envelope.json): it is about campaign larger with plan {plans[0]}, "
        f"but the files are of campaign small with plan {plans[1]}"
    )


def test_a_stripped_and_a_foreign_signature_are_named(tmp_path: Path) -> None:
    both = write(tmp_path / "both", "small", key(1), key(2))
    assert found(both, 1, 2) == []
    assert "which is none of the keys at hand" in found(both, 1)[0]
    assert found(write(tmp_path / "one"), 1, 2) == [
        f"the envelope (envelope.json): there is no signature of key {key(2).public.id}"
    ]
    assert found(both, 3)[0].endswith(f"there is no signature of key {key(3).public.id}")


def test_a_second_party_signs_and_nothing_else_changes(written: Path, tmp_path: Path) -> None:
    whole = write(tmp_path / f"both{written.suffix}", "small", key(1), key(2))
    add_signature(written, [key(1).public], key(2))
    assert found(written, 1, 2) == []
    for name in ALL_FILES:
        with (
            Bundle.open(written).source.open(name) as one,
            Bundle.open(whole).source.open(name) as two,
        ):
            assert one.read() == two.read()
    if written.is_file():
        assert written.read_bytes() == whole.read_bytes()
    with pytest.raises(InputError, match="already"):
        add_signature(written, [key(1).public, key(2).public], key(2))
    with pytest.raises(IntegrityError, match="none of the keys at hand"):
        add_signature(written, [key(1).public], key(3))
    assert found(written, 1, 2) == []
    assert not list(tmp_path.glob("**/*.part"))


def test_a_missing_envelope_is_named(directory: Path) -> None:
    (directory / ENVELOPE_FILE).unlink()
    assert "has no envelope.json" in found(directory)[0]
    empty = directory.parent / "empty.tar"
    empty.write_bytes(b"")
    assert found(empty)[0] == "the archive, byte 0: this is not how a file begins"


def test_files_are_not_handed_out_when_they_are_not_the_signed_ones(directory: Path) -> None:
    (directory / "runs/one/days.jsonl").write_bytes(b'{"day":1}\n{"day":3}\n')
    bundle = Bundle.open(directory)
    with pytest.raises(IntegrityError, match=r"runs/one/days\.jsonl: this file is not the one"):
        list(bundle.lines("runs/one/days.jsonl"))
    with pytest.raises(IntegrityError, match="names no file other"):
        bundle.content("other")
    with pytest.raises(InputError, match="There is no bundle at"):
        Bundle.open(directory / "absent")


def rewritten(
    archive: Path, change: Callable[[list[tuple[tarfile.TarInfo, bytes]]], object]
) -> Path:
    """The archive with changed members, in the form in which export writes archives."""
    members = []
    with tarfile.open(archive) as opened:
        for info in opened:
            file = opened.extractfile(info)
            assert file is not None
            members.append((info, file.read()))
    change(members)
    with tarfile.open(archive, "w", format=tarfile.USTAR_FORMAT) as made_again:
        for info, content in members:
            made_again.addfile(info, io.BytesIO(content))
    return archive


def test_the_order_of_an_archive_is_part_of_it(archive: Path) -> None:
    before = archive.read_bytes()
    assert rewritten(archive, list).read_bytes() == before
    rewritten(archive, lambda members: members.insert(0, members.pop(2)))
    assert found(archive) == ["the archive: its files do not stand in the order of the statement"]


def named(name: str, **attributes: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    for attribute, value in attributes.items():
        setattr(info, attribute, value)
    return info, b""


@pytest.mark.parametrize(
    ("member", "said"),
    [
        (named("../escape"), "no exported file has this name here: '../escape'"),
        (named("/etc/passwd"), "no exported file has this name here: '/etc/passwd'"),
        (named("runs/./x"), "no exported file has this name here"),
        (named("runs//x"), "no exported file has this name here"),
        (named(FILES.__iter__().__next__()), "no exported file has this name here"),
        (named("x", type=tarfile.SYMTYPE, linkname="/etc/passwd"), "not how a file begins"),
        (named("x", type=tarfile.LNKTYPE, linkname="manifest.json"), "not how a file begins"),
        (named("x", type=tarfile.CHRTYPE), "not how a file begins"),
        (named("x", type=tarfile.DIRTYPE), "not how a file begins"),
        (named("x", type=tarfile.GNUTYPE_SPARSE), "not how a file begins"),
        (named("x", mode=0o4755), "not how a file begins"),
        (named("x", mtime=1), "not how a file begins"),
        (named("x", uname="root"), "not how a file begins"),
    ],
)
def test_members_that_no_export_writes_are_named(
    archive: Path, member: tuple[tarfile.TarInfo, bytes], said: str
) -> None:
    rewritten(archive, lambda members: members.insert(1, member))
    assert said in found(archive)[0]
    assert found(archive)[0].startswith("the archive, byte 1024, after runs/one/days.jsonl")


def test_a_member_that_claims_to_be_huge_is_no_bomb(archive: Path) -> None:
    content = bytearray(archive.read_bytes())
    info = tarfile.TarInfo("runs/one/days.jsonl")
    info.size = 8**11 - 1
    content[:512] = info.tobuf(tarfile.USTAR_FORMAT)
    archive.write_bytes(content)
    assert found(archive)[0] == "the archive, byte 0: this is not how a file begins"


@given(st.binary(max_size=2_000), st.integers(0, 3))
def test_junk_is_an_answer_and_no_defect(content: bytes, after: int) -> None:
    with TemporaryDirectory() as folder:
        path = write(Path(folder) / "bundle.tar")
        blocks = path.read_bytes()[: 1_024 * after]
        path.write_bytes(blocks + content)
        assert found(path)
        (Path(folder) / "junk").mkdir()
        (Path(folder) / "junk" / ENVELOPE_FILE).write_bytes(content)
        assert found(Path(folder) / "junk")


@pytest.mark.parametrize("name", ["bundle", "bundle.tar"])
def test_nothing_is_left_of_an_export_that_fails(tmp_path: Path, name: str) -> None:
    def broken() -> Iterable[bytes]:
        yield b"begun"
        raise OSError(28, "No space left on device")

    def export(file: str, pieces: Iterable[bytes]) -> None:
        with new_bundle(tmp_path / name) as bundle:
            bundle.add("whole", [b"x"])
            bundle.add(file, pieces)

    with pytest.raises(StoreError, match="cannot be written: No space left"):
        export("broken", broken())
    with pytest.raises(InputError, match="cannot have the name"):
        export("../up", [b""])
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(tmp_path: Path, written: Path) -> None:
    with pytest.raises(InputError, match="exists already"):
        write(written)
    with pytest.raises(InputError, match="There is no directory"):
        write(tmp_path / "absent" / "bundle")
    assert found(written) == []


@pytest.mark.parametrize("name", [MANIFEST_FILE, RESULTS_FILE])
def test_a_statement_that_contradicts_its_files_is_named(directory: Path, name: str) -> None:
    statement = Bundle.open(directory).statement
    content = (directory / name).read_bytes().replace(b"small", b"large")
    (directory / name).write_bytes(content)
    forged = Subject(
        name=name,
        digest=Digests(sha256=sha256(content).hexdigest()),
        annotations=Size(bytes=len(content)),
    )
    subjects = [forged if each.name == name else each for each in statement.subject]
    again = statement.model_copy(update={"subject": tuple(subjects)})
    (directory / ENVELOPE_FILE).write_bytes(sign(again, [key()]).to_json())
    assert found(directory)[-1] == f"{name}: it does not say what the statement says"


def test_what_somebody_made_up_does_not_reach_a_terminal_as_it_is(directory: Path) -> None:
    statement = Bundle.open(directory).statement
    made_up = statement.subject[0].model_copy(update={"name": "\x1b[2Jx"})
    again = statement.model_copy(update={"subject": (*statement.subject, made_up)})
    (directory / ENVELOPE_FILE).write_bytes(sign(again, [key()]).to_json())
    assert found(directory) == ["\\x1b[2Jx: this file is missing"]


def test_documents_are_deterministic_and_exact() -> None:
    value = {"b": str(2**70), "a": ["ü", 1.5, None]}
    text = document(value).decode()
    assert text == f'{{\n  "a": [\n    "ü",\n    1.5,\n    null\n  ],\n  "b": "{2**70}"\n}}\n'
    with pytest.raises(ValueError, match="not JSON compliant"):
        document(float("nan"))
