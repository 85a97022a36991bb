"""Whatever a campaign file holds, it is read or refused with a message."""

from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from campaigns.definition import parse_definition
from campaigns.inheritance import extend, written_here
from manifests.errors import InputError
from tests.campaigns.builders import campaign_data

FIELDS = st.sampled_from(
    [
        "name",
        "seeds",
        "repeats",
        "baseline",
        "lineups",
        "limits",
        "allowances",
        "candidates",
        "id",
        "seat",
        "policy",
        "route",
        "parameters",
        "groups",
        "search",
        "axes",
        "values",
        "profiles",
        "validation_seeds",
        "scenario",
    ]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-2, 4)
    | st.floats()
    | st.sampled_from(["ada", "rule", "reference", "replacements", "unlimited", "Ada", ""])
    | st.dates()
)
JUNK = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=4),
    max_leaves=12,
)
CHANGES = st.dictionaries(FIELDS, JUNK, max_size=5)


@given(CHANGES)
def test_whatever_a_file_holds_it_is_read_or_refused(changes: dict[str, Any]) -> None:
    # Anything but an InputError would fail the test.
    with suppress(InputError):
        parse_definition(campaign_data() | changes, "trial.toml")


@given(CHANGES, JUNK)
def test_whatever_extends_a_campaign_keeps_one_place_a_candidate(
    changes: dict[str, Any], candidates: object
) -> None:
    parent = written_here("base.toml", campaign_data())

    merged = extend(parent, "trial.toml", changes | {"candidates": candidates})

    if isinstance(candidates, list):
        assert len(merged.written_at) == len(merged.data["candidates"])
        own = [entry for source, entry in merged.written_at if source == "trial.toml"]
        assert sorted(own) == list(range(len(candidates)))
