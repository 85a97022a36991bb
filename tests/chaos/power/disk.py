"""A disk that loses power: what was synced is there, and of the rest whatever it likes.

Fed with the records of `recorder.c`. A file's content is safe after a sync of the file, its name
after a sync of its directory. Of writes since then some are lost, some torn at a sector, some done;
of names since then the later ones are lost.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

_SECTOR: Final = 512
_HEAD: Final = struct.Struct("<cQII")


class Record(NamedTuple):
    """Something that a process did to a file: write, truncate, sync, create, unlink, link, mkdir,
    by its first letter (mkdir is `d`).
    """

    kind: str
    path: Path
    offset: int
    content: bytes


def records(log: bytes) -> Iterator[Record]:
    """All records of a log, in order."""
    place = 0
    while place < len(log):
        kind, offset, path_size, size = _HEAD.unpack_from(log, place)
        place += _HEAD.size
        path = log[place : place + path_size].decode()
        place += path_size
        yield Record(kind.decode(), Path(path), offset, log[place : place + size])
        place += size


@dataclass
class _File:
    safe: bytearray = field(default_factory=bytearray)
    unsafe: list[Record] = field(default_factory=list)

    def synced(self) -> None:
        for record in self.unsafe:
            _do(self.safe, record, len(record.content))
        self.unsafe.clear()

    def after_loss(self, chance: Random, kept: float) -> bytes:
        content = bytearray(self.safe)
        for record in self.unsafe:
            if chance.random() < kept:
                sectors = len(record.content) // _SECTOR
                torn = chance.random() < kept / 4
                size = chance.randint(0, sectors) * _SECTOR if torn else len(record.content)
                _do(content, record, size)
        return bytes(content)


@dataclass
class _Directory:
    """Names now, those that are safe, and what was done to them since: a name and its file."""

    names: dict[str, _File] = field(default_factory=dict)
    safe: dict[str, _File] = field(default_factory=dict)
    unsafe: list[tuple[str, _File | None]] = field(default_factory=list)

    def change(self, name: str, file: _File | None) -> None:
        self.unsafe.append((name, file))
        _name(self.names, name, file)

    def synced(self) -> None:
        self.safe = dict(self.names)
        self.unsafe.clear()

    def after_loss(self, chance: Random, kept: float) -> dict[str, _File]:
        names = dict(self.safe)
        reached = round(len(self.unsafe) * kept) if kept in (0, 1) else None
        count = chance.randint(0, len(self.unsafe)) if reached is None else reached
        for name, file in self.unsafe[:count]:
            _name(names, name, file)
        return names


class Disk:
    """The files below one directory, as a process changes them."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._directories = {root: _Directory()}

    def take(self, record: Record) -> None:
        """Let one more thing be done."""
        path, directory = record.path, self._directories.get(record.path.parent)
        if record.kind == "s" and path in self._directories:
            self._directories[path].synced()
        elif record.kind == "d":
            # Where a new directory is lost, all that it holds is; the store syncs those it makes.
            self._directories[path] = _Directory()
        elif directory is None:
            return
        elif record.kind == "c":
            directory.change(path.name, _File())
        elif record.kind == "u":
            directory.change(path.name, None)
        elif record.kind == "l":
            to = Path(record.content.decode())
            self._directories[to.parent].change(to.name, directory.names[path.name])
        elif path.name in directory.names:
            file = directory.names[path.name]
            if record.kind == "s":
                file.synced()
            else:
                file.unsafe.append(record)

    def after_loss(self, to: Path, chance: Random, kept: float) -> None:
        """Write what is left into another directory; `kept` is the share of the unsafe that is."""
        for path, directory in self._directories.items():
            place = to / path.relative_to(self._root)
            place.mkdir(parents=True, exist_ok=True)
            for name, file in directory.after_loss(chance, kept).items():
                (place / name).write_bytes(file.after_loss(chance, kept))


def _do(content: bytearray, record: Record, size: int) -> None:
    if record.kind == "t":
        del content[record.offset :]
        content.extend(bytes(record.offset - len(content)))
    else:
        content.extend(bytes(max(record.offset + size - len(content), 0)))
        content[record.offset : record.offset + size] = record.content[:size]


def _name(names: dict[str, _File], name: str, file: _File | None) -> None:
    if file is None:
        names.pop(name, None)
    else:
        names[name] = file
