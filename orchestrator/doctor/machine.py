"""Checks of the machine: store, disk, clock and Ray."""

import http.client
import os
import shutil
import ssl
import tempfile
import time
from collections.abc import Iterable
from datetime import UTC
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from manifests.errors import ArenaError
from manifests.printable import counted
from orchestrator.doctor.findings import Finding, failed, ok, skipped, warning
from orchestrator.store import open_store

LITTLE_BYTES: Final = 1 << 30
ENOUGH_BYTES: Final = 10 << 30
LARGEST_SKEW_SECONDS: Final = 30.0
_CONNECT_SECONDS: Final = 10.0
_SQLITE_URL: Final = "sqlite:///"


def check_store(location: str) -> list[Finding]:
    """Whether the store can be read and written, or made; and the room on its disk."""
    of_a_server = "://" in location and not location.startswith(_SQLITE_URL)
    place = Path(location.removeprefix(_SQLITE_URL)).expanduser().absolute()
    has = "it is made by the first launch"
    if of_a_server or place.exists():
        try:
            with open_store(location) as store:
                damage = [f"{where}: {what}" for where, what in store.faults()]
                has = f"it has {counted(len(store.catalogue.campaigns()), 'campaign')}"
        except ArenaError as error:
            return [failed("store", "", error.message, error.remedy)]
        if damage:
            return [failed("store", "", damage[0], "Look at all of it: ceo-arena audit")]
    if of_a_server:
        return [ok("store", "", f"the database answers; {has}")]
    return [_writable(place, has), _room(place)]


def _writable(place: Path, has: str) -> Finding:
    there = _first_existing(place)
    try:
        with tempfile.NamedTemporaryFile(dir=there) as probe:
            probe.write(b"ceo-arena doctor")
            probe.flush()
            os.fsync(probe.fileno())
    except OSError as error:
        remedy = "Make the folder writable, free some space, or name another store."
        return failed("store", "", f"{there} cannot be written: {error.strerror}", remedy)
    return ok("store", "", f"{place} can be written; {has}")


def _room(place: Path) -> Finding:
    free = shutil.disk_usage(_first_existing(place)).free
    said = f"{free / (1 << 30):,.1f} GiB are free"
    if free < LITTLE_BYTES:
        return failed("disk", "", said, "Free some space: a campaign of models needs gigabytes.")
    if free < ENOUGH_BYTES:
        return warning("disk", "", said, "A whole campaign of models may need more than that.")
    return ok("disk", "", said)


def _first_existing(place: Path) -> Path:
    while not place.is_dir():
        place = place.parent
    return place


def check_clock(base_urls: Iterable[str]) -> Finding:
    """Whether this machine's clock agrees with the dates that services send."""
    skews = [skew for url in dict.fromkeys(base_urls) if (skew := _skew(url)) is not None]
    if not skews:
        return skipped("clock", "", "no service told its time")
    worst = max(skews, key=abs)
    said = f"{abs(worst):.0f} s {'ahead of' if worst > 0 else 'behind'} a service's clock"
    if abs(worst) > LARGEST_SKEW_SECONDS:
        remedy = "Set the clock, with NTP for instance: waits that services ask for go by dates."
        return warning("clock", "", said, remedy)
    return ok("clock", "", said)


def _skew(base_url: str) -> float | None:
    """How many seconds this machine is ahead of a service, by any answer of it; None without."""
    url = urlsplit(base_url)
    kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
    connection = kind(url.hostname or "", url.port, timeout=_CONNECT_SECONDS)
    try:
        before = time.time()
        connection.request("HEAD", url.path or "/")
        date = parsedate_to_datetime(connection.getresponse().headers["Date"] or "")
        after = time.time()
    except (OSError, ssl.SSLError, http.client.HTTPException, ValueError, TypeError):
        return None
    finally:
        connection.close()
    told = date.replace(tzinfo=date.tzinfo or UTC).timestamp()
    # A date has whole seconds, and the answer was made somewhere in between.
    return 0.0 if before - 1 <= told <= after + 1 else (before + after) / 2 - told
