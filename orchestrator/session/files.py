"""A company's private files: a flat namespace of UTF-8 texts, each with a version for every write
(interface.md section 4).

`PrivateFiles` is a value; a write makes another one and a `FileChange`, which is journaled. Files
can be built again by folding their changes. A path is a name: it may contain ``/``, but there are
no folders, and nothing here touches a file system.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from typing import Final

import msgspec

from manifests.canonical import digest, digest_bytes

FILE_BYTES: Final = 1_048_576
NAMESPACE_BYTES: Final = 16 * FILE_BYTES
FILES: Final = 1_000
PATH_BYTES: Final = 200

_UNNAMEABLE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_STANDING_EDITS: Final = 64
_OCCURRENCES_EXAMINED: Final = 100


class FileRefused(ValueError):
    """A path, a text or an edit that the files do not take; the text says why and names the
    argument at fault.
    """


class Edit(msgspec.Struct, frozen=True, array_like=True):
    """An edit whose outcome still stands in a file, as characters ``start`` to ``end``.

    ``fingerprint`` identifies the call's two strings.
    """

    fingerprint: str
    start: int
    end: int

    def touches(self, start: int, end: int) -> bool:
        """Whether a stretch of text overlaps the outcome, or straddles the place of a removal."""
        return start < self.end and self.start < end


class StoredFile(msgspec.Struct, frozen=True, array_like=True):
    """One text in its present version, counted from 1, and its size in UTF-8 bytes.

    ``edits`` are those since the last whole write that still stand, the latest last.
    """

    content: str
    version: int
    size: int
    edits: tuple[Edit, ...] = ()

    @property
    def lines(self) -> list[str]:
        """The lines without their line feeds; only a line feed ends a line."""
        lines = self.content.split("\n")
        return lines[:-1] if lines[-1] == "" else lines


class FileChange(msgspec.Struct, frozen=True, array_like=True):
    """A file as one write left it; ``version`` is 1 for a new file."""

    path: str
    version: int
    content: str
    edits: tuple[Edit, ...] = ()


class PrivateFiles(msgspec.Struct, frozen=True):
    """All files of a company, by path; ``size`` is their sum in UTF-8 bytes."""

    files: dict[str, StoredFile] = msgspec.field(default_factory=dict)
    size: int = 0

    @classmethod
    def of(cls, contents: Mapping[str, tuple[str, int]]) -> PrivateFiles:
        """Files from stored (content, version) by path."""
        return fold(
            FileChange(path, version, content) for path, (content, version) in contents.items()
        )

    @property
    def paths(self) -> list[str]:
        """All paths in order."""
        return sorted(self.files)

    @property
    def digest(self) -> str:
        """The digest of all paths, with the version and the text of each."""
        return digest(
            {
                path: {"version": stored.version, "text": digest_bytes(stored.content.encode())}
                for path, stored in self.files.items()
            }
        )

    def read(self, path: str) -> StoredFile:
        """The file of that path. Raises FileRefused for a bad path or none such."""
        stored = self.files.get(checked_path(path))
        if stored is None:
            raise FileRefused(f"path: there is no file {path!r}; {self.described()}")
        return stored

    def described(self) -> str:
        """Which files exist, in a few words."""
        shown = ", ".join(self.paths[:20])
        if not shown:
            return "there are no files yet"
        more = len(self.files) - 20
        return f"files: {shown}" + (f" and {more} more" if more > 0 else "")

    def write(self, path: str, content: str) -> FileChange | None:
        """The change that stores a whole text; None when the file holds exactly this text.

        Raises FileRefused.
        """
        stored = self.files.get(checked_path(path))
        if stored is not None and stored.content == content:
            return None
        return self._change(path, content, (), "content")

    def edit(self, path: str, old: str, new: str) -> FileChange | None:
        """The change that puts ``new`` in the place of ``old``, which must occur exactly once.

        None when this very edit stands already, so that repeating a call does no harm. A repeated
        call is known by its effect: the same edit was made, its outcome has not been touched since,
        and ``old`` occurs nowhere but in that outcome (where ``new`` contains it). When ``old`` has
        come back elsewhere, the call is a new edit. Raises FileRefused.
        """
        stored = self.read(path)
        if old == new:
            raise FileRefused("new_string: must differ from old_string, received the same text")
        fingerprint = _fingerprint(old, new)
        standing = [edit for edit in stored.edits if edit.fingerprint == fingerprint]
        places = _places(stored.content, old)
        if standing and all(
            any(edit.touches(place, place + len(old)) for edit in standing) for place in places
        ):
            return None
        if len(places) != 1:
            raise FileRefused(_not_once(path, stored.content, places))
        (start,) = places
        made = Edit(fingerprint, start, start + len(new))
        edits = [*_moved(stored.edits, start, start + len(old), len(new)), made]
        content = stored.content[:start] + new + stored.content[start + len(old) :]
        return self._change(path, content, tuple(edits[-_STANDING_EDITS:]), "new_string")

    def _change(self, path: str, content: str, edits: tuple[Edit, ...], field: str) -> FileChange:
        stored = self.files.get(path)
        size = len(content.encode())
        total = self.size + size - (0 if stored is None else stored.size)
        if size > FILE_BYTES:
            raise FileRefused(
                f"{field}: a file may have at most {FILE_BYTES} bytes of UTF-8, {path!r} would "
                f"have {size}"
            )
        if total > NAMESPACE_BYTES:
            raise FileRefused(
                f"{field}: all files together may have at most {NAMESPACE_BYTES} bytes of UTF-8, "
                f"they would have {total}; shorten other files"
            )
        if stored is None and len(self.files) >= FILES:
            raise FileRefused(
                f"path: there may be at most {FILES} files, and there are; write into one of them"
            )
        return FileChange(path, 1 if stored is None else stored.version + 1, content, edits)


def apply(files: PrivateFiles, change: FileChange) -> PrivateFiles:
    """The files after one change; those given are left as they are."""
    earlier = files.files.get(change.path)
    size = len(change.content.encode())
    stored = StoredFile(change.content, change.version, size, change.edits)
    return PrivateFiles(
        {**files.files, change.path: stored},
        files.size + size - (0 if earlier is None else earlier.size),
    )


def fold(changes: Iterable[FileChange]) -> PrivateFiles:
    """The files that these changes, in their order, make."""
    return reduce(apply, changes, PrivateFiles())


def checked_path(path: str) -> str:
    """The path itself when it is a relative, normalized name. Raises FileRefused."""
    for problem in _path_problems(path):
        raise FileRefused(f"path: {problem}, received {path[:PATH_BYTES]!a}")
    return path


def _path_problems(path: str) -> Iterator[str]:
    if _UNNAMEABLE.search(path):
        yield "must not contain NUL, control characters, line separators or lone surrogates"
        return
    if not 1 <= len(path.encode()) <= PATH_BYTES:
        yield f"must have 1..{PATH_BYTES} bytes of UTF-8"
    if unicodedata.normalize("NFC", path) != path:
        yield "must be in Unicode normalization form C"
    if path.startswith(("/", "~")) or path[1:2] == ":":
        yield "must be relative, such as notes/pricing.md"
    if "\\" in path:
        yield "must separate its parts by /, not by a backslash"
    parts = path.split("/")
    if ".." in parts:
        yield "must not contain .."
    if any(part in ("", ".") for part in parts):
        yield "must be normalized: no empty part, no part ., no / at the end"
    if any(part != part.strip() for part in parts):
        yield "must not have blanks at the start or end of a part"


def _fingerprint(old: str, new: str) -> str:
    return hashlib.sha256(f"{len(old)}:{old}{new}".encode()).hexdigest()[:32]


def _places(content: str, text: str) -> list[int]:
    """Where a text occurs, overlapping occurrences included. A bounded number of them is enough:
    more than one is too many unless they all lie in one earlier edit.
    """
    places: list[int] = []
    place = content.find(text)
    while place >= 0 and len(places) < _OCCURRENCES_EXAMINED:
        places.append(place)
        place = content.find(text, place + 1)
    return places


def _moved(edits: Iterable[Edit], start: int, end: int, length: int) -> Iterator[Edit]:
    """The edits that still stand after characters ``start`` to ``end`` became ``length`` others."""
    for edit in edits:
        if edit.end <= start:
            yield edit
        elif edit.start >= end:
            shift = length - (end - start)
            yield Edit(edit.fingerprint, edit.start + shift, edit.end + shift)


def _not_once(path: str, content: str, places: list[int]) -> str:
    if not places:
        return (
            f"old_string: must occur exactly once in {path!r}, and does not occur; read the file "
            "and copy the text as it stands, without the line numbers"
        )
    lines = sorted({content.count("\n", 0, place) + 1 for place in places[:5]})
    several = f"{len(places)} times" if len(places) < _OCCURRENCES_EXAMINED else "many times"
    return (
        f"old_string: must occur exactly once in {path!r}, and occurs {several} (first on lines "
        f"{', '.join(map(str, lines))}); include more of the text around the one you mean"
    )
