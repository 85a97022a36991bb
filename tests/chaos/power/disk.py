"""A disk that loses power: what was synced is there, and of the rest whatever it likes.

Fed with the records of `recorder.c`. A file's content is safe after a sync of the file, its name
after a sync of its directory, and so is the name of a directory: where that is lost, all that was
made in it is. Of writes since then some are lost, of some any sectors are lost, some are done; of
names since then the later ones are lost.
"""

from __future__ import annotations

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
    rename by its first letter (mkdir is `d`).
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
            _do(self.safe, record)
        self.unsafe.clear()

    def after_loss(self, chance: Random, kept: float) -> bytes:
        content = bytearray(self.safe)
        for record in self.unsafe:
            if chance.random() < kept:
                torn = chance.random() < kept / 4
                for part in _sectors(record, chance) if torn else [record]:
                    _do(content, part)
        return bytes(content)


@dataclass
class _Directory:
    """Names now, those that are safe, and what was done to them since: a name and what it is of."""

    names: dict[str, _File | _Directory] = field(default_factory=dict)
    safe: dict[str, _File | _Directory] = field(default_factory=dict)
    unsafe: list[tuple[str, _File | _Directory | None]] = field(default_factory=list)

    def change(self, name: str, made: _File | _Directory | None) -> None:
        self.unsafe.append((name, made))
        _name(self.names, name, made)

    def synced(self) -> None:
        self.safe = dict(self.names)
        self.unsafe.clear()

    def after_loss(self, chance: Random, kept: float) -> dict[str, _File | _Directory]:
        names = dict(self.safe)
        reached = round(len(self.unsafe) * kept) if kept in (0, 1) else None
        count = chance.randint(0, len(self.unsafe)) if reached is None else reached
        for name, made in self.unsafe[:count]:
            _name(names, name, made)
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
        elif directory is None:
            return
        elif record.kind == "d":
            self._directories[path] = _Directory()
            directory.change(path.name, self._directories[path])
        elif record.kind == "c":
            directory.change(path.name, _File())
        elif record.kind == "u":
            directory.change(path.name, None)
        elif record.kind == "l":
            to = Path(record.content.decode())
            self._directories[to.parent].change(to.name, directory.names[path.name])
        elif path.name in directory.names:
            file = directory.names[path.name]
            assert isinstance(file, _File), f"{path} is a directory"
            if record.kind == "s":
                file.synced()
            else:
                file.unsafe.append(record)

    def after_loss(self, to: Path, chance: Random, kept: float) -> None:
        """Write what is left into another directory; `kept` is the share of the unsafe that is."""
        to.mkdir(exist_ok=True)
        _write(self._directories[self._root], to, chance, kept)


def _write(directory: _Directory, to: Path, chance: Random, kept: float) -> None:
    for name, made in directory.after_loss(chance, kept).items():
        if isinstance(made, _Directory):
            (to / name).mkdir()
            _write(made, to / name, chance, kept)
        else:
            (to / name).write_bytes(made.after_loss(chance, kept))


def _sectors(record: Record, chance: Random) -> Iterator[Record]:
    """Some sectors of a write, any of them; the others never reached the disk."""
    start, end = record.offset, record.offset + len(record.content)
    while start < end:
        following = min((start // _SECTOR + 1) * _SECTOR, end)
        if chance.random() < 0.5:
            content = record.content[start - record.offset : following - record.offset]
            yield record._replace(offset=start, content=content)
        start = following


def _do(content: bytearray, record: Record) -> None:
    start, end = record.offset, record.offset + len(record.content)
    if record.kind == "t":
        del content[start:]
        content.extend(bytes(start - len(content)))
    else:
        content.extend(bytes(max(end - len(content), 0)))
        content[start:end] = record.content


def _name(names: dict[str, _File | _Directory], name: str, made: _File | _Directory | None) -> None:
    if made is None:
        names.pop(name, None)
    else:
        names[name] = made
