"""Two manifests side by side: which fields differ, by name and by value."""

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any, Final, NamedTuple

from manifests.model import CampaignManifest

_MOST_TOLD: Final = 8
_LONGEST_TOLD: Final = 60
_FILES: Final = "decisive.sources.files"
_CONSEQUENCES: Final = ("decisive.runs", "decisive.scenario_digest", "decisive.sources.overall")


class Absent(Enum):
    """The value of a field that one side does not have; distinct from a JSON null."""

    ABSENT = "(absent)"

    def __str__(self) -> str:
        return "(absent)"


ABSENT: Final = Absent.ABSENT


class Difference(NamedTuple):
    """One field that differs: its path from the top, and its value on either side (or `ABSENT`)."""

    path: str
    left: Any
    right: Any


def difference(left: CampaignManifest, right: CampaignManifest) -> list[Difference]:
    """The fields of two manifests that differ, in path order, decisive ones before provenance.

    A path reads like `decisive.scenario.segments.premium.price_weight`. Members of a list that
    carry an `id` are matched by it (`decisive.runs[main-11-reference].seed`), others by their
    index. The plan hash follows from the decisive fields and is not listed.
    """
    one, two = (manifest.model_dump(mode="json") for manifest in (left, right))
    return [
        found
        for part in ("format", "decisive", "provenance")
        for found in value_differences(part, one[part], two[part])
    ]


def told(differences: Sequence[Difference], left: str, right: str) -> str:
    """Differences as the lines of a message, for instance with `there` and `here` as the sides.

    At most eight. A version comes before the many files of the source, and causes before what
    follows from them: a seed before all of its runs.
    """
    ordered = sorted(
        differences,
        key=lambda found: (found.path.startswith(_CONSEQUENCES), found.path.startswith(_FILES)),
    )
    lines = [
        f"  {found.path}: {_short(found.left)} {left}, {_short(found.right)} {right}"
        for found in ordered[:_MOST_TOLD]
    ]
    more = len(ordered) - len(lines)
    return "\n".join([*lines, *([f"  and {more} more"] if more else [])])


def value_differences(path: str, left: Any, right: Any) -> Iterator[Difference]:
    """The places in which two JSON values differ, with paths as in `difference` below `path`."""
    if isinstance(left, dict) and isinstance(right, dict):
        yield from _members(path, left, right)
    elif isinstance(left, list) and isinstance(right, list):
        yield from _items(path, left, right)
    elif left != right or isinstance(left, bool) != isinstance(right, bool):
        # In Python True equals 1; in JSON they are different values.
        yield Difference(path, left, right)


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _LONGEST_TOLD else f"{text[: _LONGEST_TOLD - 3]}..."


def _members(path: str, left: dict[str, Any], right: dict[str, Any]) -> Iterator[Difference]:
    for key in sorted(left.keys() | right.keys()):
        place = f"{path}.{key}" if key.replace("-", "_").isidentifier() else f"{path}[{key}]"
        yield from value_differences(place, left.get(key, ABSENT), right.get(key, ABSENT))


def _items(path: str, left: list[Any], right: list[Any]) -> Iterator[Difference]:
    left_ids, right_ids = _ids(left), _ids(right)
    if left_ids is None or right_ids is None:
        left_ids, right_ids = _places(left), _places(right)
    one, two = dict(zip(left_ids, left, strict=True)), dict(zip(right_ids, right, strict=True))
    for key in dict.fromkeys([*left_ids, *right_ids]):
        yield from value_differences(f"{path}[{key}]", one.get(key, ABSENT), two.get(key, ABSENT))
    shared_left = [key for key in left_ids if key in two]
    shared_right = [key for key in right_ids if key in one]
    if shared_left != shared_right:
        yield Difference(f"{path} (order)", shared_left, shared_right)


def _places(items: list[Any]) -> list[str]:
    return [str(index) for index in range(len(items))]


def _ids(items: list[Any]) -> list[str] | None:
    ids = [item.get("id") if isinstance(item, dict) else None for item in items]
    named = [name for name in ids if isinstance(name, str)]
    return named if len(set(named)) == len(items) else None
