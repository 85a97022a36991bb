"""Where the files of a bundle are: a directory, or one archive, whose every byte is known.

An archive is a plain tar (POSIX ustar) of regular files without owners and times, in the order in
which they were added. All of it follows from the names and contents of its files, so that a change
between the files is found as surely as one in them. It is not compressed, which also means that
nothing can grow when it is opened.
"""

import os
import re
import secrets
import shutil
import tarfile
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import BufferedReader, RawIOBase
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, ClassVar, Final, NamedTuple

from typing_extensions import Buffer

from manifests.errors import InputError, IntegrityError, StoreError
from manifests.printable import printable

ARCHIVE_SUFFIX: Final = ".tar"

_PART: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_LONGEST_PART: Final = 150
_LONGEST_NAME: Final = 250
_MOST_FILES: Final = 200_000
_SPOOLED_BYTES: Final = 4 * 1024 * 1024
_PIECE_BYTES: Final = 1024 * 1024


class Fault(NamedTuple):
    """Something that is not as it was exported: in which file or part, and what."""

    place: str
    message: str

    def __str__(self) -> str:
        # Both may repeat what somebody has made up, which must not reach a terminal as it is.
        told = f"{self.place}: {self.message}"
        return printable(told)


def is_safe_name(name: str) -> bool:
    """Whether a name is a relative path of plain parts, which cannot leave its directory."""
    parts = name.split("/")
    return len(name) <= _LONGEST_NAME and all(
        len(part) <= _LONGEST_PART and _PART.fullmatch(part) for part in parts
    )


class Target(ABC):
    """A container that is being written."""

    @abstractmethod
    def add(self, name: str, pieces: Iterable[bytes]) -> None:
        """Write a file. Raises InputError for a name that is not safe."""


class Source(ABC):
    """A container that is read: its files by name, in the container's order if it has one of its
    own, and in `faults` what about it no export would have made.
    """

    has_order: ClassVar[bool]
    names: Collection[str]
    faults: Sequence[Fault]

    @abstractmethod
    def open(self, name: str) -> BinaryIO:
        """A file, to be read from its start. Raises InputError when there is none."""


def is_archive(path: Path) -> bool:
    """Whether a container of this name is an archive."""
    return path.suffix == ARCHIVE_SUFFIX


@contextmanager
def new_container(path: Path) -> Iterator[Target]:
    """A directory, or an archive where the name ends with `.tar`. It gets its name when all is
    written; after an exception nothing of it is left.

    Raises:
        InputError: the name is taken, or there is no directory for it.
        StoreError: the system refuses to write.
    """
    if path.exists() or path.is_symlink():
        raise InputError(
            f"{path} exists already.",
            "Name another place for the bundle, or remove this one first.",
        )
    if not path.absolute().parent.is_dir():
        raise InputError(f"There is no directory {path.absolute().parent}.", "Make it first.")
    beginning = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with _removed_on_failure(beginning):
            if is_archive(path):
                with beginning.open("xb") as file:
                    target = _ArchiveTarget(file, path.absolute().parent)
                    yield target
                    target.finish()
                    file.flush()
                    os.fsync(file.fileno())
            else:
                beginning.mkdir()
                yield _DirectoryTarget(beginning)
            beginning.rename(path)
    except OSError as error:
        raise _unwritable(path, error) from error


@contextmanager
def _removed_on_failure(path: Path) -> Iterator[None]:
    """Remove what was begun at a path when it comes to nothing."""
    try:
        yield
    except BaseException:
        with suppress(OSError):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        raise


def open_container(path: Path) -> Source:
    """The container at a path.

    Raises:
        InputError: there is none, or it cannot be read.
    """
    try:
        if path.is_dir():
            return _DirectorySource(path)
        if path.is_file():
            return _ArchiveSource(path)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    raise InputError(f"There is no bundle at {path}.", "Name a directory or a .tar file.")


def replace_last(path: Path, name: str, content: bytes) -> None:
    """Put other content into the file that was written last, at once or not at all.

    Raises:
        StoreError: the system refuses to write.
    """
    place = path if path.is_file() else path / name
    beginning = place.with_name(f".{place.name}.{secrets.token_hex(4)}.part")
    try:
        with _removed_on_failure(beginning):
            with beginning.open("xb") as file:
                if place is path:
                    before = _ArchiveSource(path).names[name].begin - tarfile.BLOCKSIZE
                    with path.open("rb") as archive:
                        _copy(archive, file, before)
                    target = _ArchiveTarget(file, path.absolute().parent)
                    target.add(name, [content])
                    target.finish()
                else:
                    file.write(content)
                file.flush()
                os.fsync(file.fileno())
            beginning.replace(place)
    except OSError as error:
        raise _unwritable(place, error) from error


def _unwritable(path: Path, error: OSError) -> StoreError:
    return StoreError(
        f"{path} cannot be written: {error.strerror or error}.",
        "Put the disk or the permissions right, or name another place.",
    )


def _copy(source: BinaryIO, to: BinaryIO, size: int) -> None:
    while size and (piece := source.read(min(size, _PIECE_BYTES))):
        to.write(piece)
        size -= len(piece)


class _DirectoryTarget(Target):
    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def add(self, name: str, pieces: Iterable[bytes]) -> None:
        _check(name)
        path = self._directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # Hundreds of files are not forced to the disk one by one: what a loss of power takes can be
        # exported again, and `verify` tells.
        with path.open("xb") as file:
            file.writelines(pieces)


class _ArchiveTarget(Target):
    def __init__(self, file: BinaryIO, directory: Path) -> None:
        self._file = file
        self._directory = directory

    def add(self, name: str, pieces: Iterable[bytes]) -> None:
        _check(name)
        # A header says how long the file is before it begins.
        with SpooledTemporaryFile(_SPOOLED_BYTES, dir=str(self._directory)) as spool:
            spool.writelines(pieces)
            size = spool.tell()
            spool.seek(0)
            self._file.write(_header(name, size))
            shutil.copyfileobj(spool, self._file, _PIECE_BYTES)
        self._file.write(bytes(-size % tarfile.BLOCKSIZE))

    def finish(self) -> None:
        """Write the end of the archive."""
        self._file.write(_end(self._file.tell()))


class _DirectorySource(Source):
    has_order = False

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.faults: list[Fault] = []
        self.names = dict.fromkeys(sorted(self._walk(directory, "")))

    def open(self, name: str) -> BinaryIO:
        if name not in self.names:
            raise _absent(name)
        try:
            return (self._directory / name).open("rb")
        except OSError as error:
            raise InputError(f"{name} cannot be read: {error.strerror}.") from error

    def _walk(self, directory: Path, before: str) -> Iterator[str]:
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
        if not entries:
            self.faults.append(Fault(before or ".", "this directory is empty"))
        for entry in entries:
            name = f"{before}{entry.name}"
            if entry.is_symlink() or not (entry.is_file() or entry.is_dir()):
                self.faults.append(Fault(name, "this is neither a file nor a directory"))
            elif not is_safe_name(name):
                self.faults.append(Fault(ascii(name), "no exported file has such a name"))
            elif entry.is_dir():
                yield from self._walk(directory / entry.name, f"{name}/")
            else:
                yield name


class _Member(NamedTuple):
    begin: int
    size: int


class _ArchiveSource(Source):
    has_order = True

    def __init__(self, path: Path) -> None:
        self._path = path
        self.names: dict[str, _Member] = {}
        with path.open("rb") as file:
            self.faults = list(self._scan(file, path.stat().st_size))

    def open(self, name: str) -> BinaryIO:
        member = self.names.get(name)
        if member is None:
            raise _absent(name)
        return BufferedReader(_Stretch(self._path, member), _PIECE_BYTES)

    def _scan(self, file: BinaryIO, length: int) -> Iterator[Fault]:
        """What about the archive is not as it was written; notes its members on the way."""
        while (header := file.read(tarfile.BLOCKSIZE)) != bytes(tarfile.BLOCKSIZE):
            start = file.tell() - len(header)
            name, size = _read_header(header)
            if name is None or file.tell() + size > length:
                yield self._fault(start, "this is not how a file begins")
                return
            if not is_safe_name(name) or name in self.names or len(self.names) > _MOST_FILES:
                yield self._fault(start, f"no exported file has this name here: {name!a}")
                return
            self.names[name] = _Member(file.tell(), size)
            file.seek(size, os.SEEK_CUR)
            if any(file.read(-size % tarfile.BLOCKSIZE)):
                yield self._fault(file.tell(), "what stands between two files was changed")
        start = file.tell() - tarfile.BLOCKSIZE
        rest = _end(start)[tarfile.BLOCKSIZE :]
        if file.read(len(rest) + 1) != rest:
            yield self._fault(start, "its end is not where the archive ends")

    def _fault(self, offset: int, message: str) -> Fault:
        after = f", after {list(self.names)[-1]}" if self.names else ""
        return Fault(f"the archive, byte {offset}{after}", message)


class _Stretch(RawIOBase):
    """A stretch of a file, as a file of its own."""

    def __init__(self, path: Path, member: _Member) -> None:
        super().__init__()
        self._file = path.open("rb")
        self._file.seek(member.begin)
        self._left = member.size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        content = self._file.read(min(memoryview(buffer).nbytes, self._left))
        memoryview(buffer)[: len(content)] = content
        self._left -= len(content)
        return len(content)

    def close(self) -> None:
        self._file.close()
        super().close()


def _header(name: str, size: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size = size
    return info.tobuf(tarfile.USTAR_FORMAT)


def _end(written: int) -> bytes:
    """Two empty blocks, and as many more as fill a record."""
    blocks = written + 2 * tarfile.BLOCKSIZE
    return bytes(2 * tarfile.BLOCKSIZE + -blocks % tarfile.RECORDSIZE)


def _read_header(header: bytes) -> tuple[str | None, int]:
    """The name and size that a header tells; None when no export would have written it."""
    try:
        info = tarfile.TarInfo.frombuf(header, "ascii", "strict")
        if _header(info.name, info.size) == header:
            return info.name, info.size
    except (tarfile.TarError, ValueError):
        pass
    return None, 0


def _check(name: str) -> None:
    if not is_safe_name(name):
        raise InputError(f"A file of a bundle cannot have the name {name!a}.")


def _absent(name: str) -> IntegrityError:
    return IntegrityError(f"The bundle has no file {name}.", "Ask for the bundle as it was made.")
