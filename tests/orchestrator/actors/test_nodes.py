"""Where hosts are put: shared out by processors, and moved only when nodes come or go."""

from collections import Counter

import pytest

from orchestrator.actors.nodes import Processors, crowded, roomiest


def shares(processors: Processors, hosts: int) -> dict[str, int]:
    found: Counter[str] = Counter()
    for _ in range(hosts):
        found[roomiest(processors, found)] += 1
    return dict(found)


def moved(processors: Processors, hosts: dict[str, int]) -> dict[str, int]:
    """How hosts stand when no node is crowded any more."""
    found = Counter(hosts)
    while (node := crowded(processors, found)) is not None:
        found[node] -= 1
        found[roomiest(processors, found)] += 1
        assert found.total() == sum(hosts.values())
    return dict(found)


def test_equal_nodes_have_equally_many_hosts() -> None:
    assert shares({"a": 4, "b": 4, "c": 4}, 6) == {"a": 2, "b": 2, "c": 2}


def test_a_host_for_each_processor_is_one_on_each() -> None:
    assert shares({"small": 2, "large": 6}, 8) == {"small": 2, "large": 6}


def test_a_node_without_processors_has_no_host_unless_all_are_such() -> None:
    assert shares({"head": 0, "worker": 1}, 3) == {"worker": 3}
    assert shares({"a": 0, "b": 0}, 1) == {"a": 1}


@pytest.mark.parametrize("hosts", range(1, 30))
def test_what_was_shared_out_stays(hosts: int) -> None:
    processors = {"head": 0.0, "a": 3.0, "b": 4.0, "c": 16.0}
    assert crowded(processors, shares(processors, hosts)) is None


def test_a_node_that_joins_gets_its_share() -> None:
    assert moved({"a": 2, "b": 2}, {"a": 4}) == {"a": 2, "b": 2}
    assert moved({"a": 2, "b": 2, "c": 4}, {"a": 4, "b": 4}) == {"a": 2, "b": 2, "c": 4}
    assert moved({"a": 4, "b": 0}, {"a": 4}) == {"a": 4}


def test_where_there_are_no_hosts_nothing_is_crowded() -> None:
    assert crowded({"a": 1}, {}) is None
    assert crowded({"a": 1, "b": 1}, {"a": 0}) is None
