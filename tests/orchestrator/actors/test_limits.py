"""Rate limits that hold over the nodes of a cluster: one actor keeps the ledger."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import json
from orchestrator.actors.cluster import ray_options

with ray_options(None) as options:
    import ray
    from orchestrator.actors.limits import ClusterLedger, shared_ledger
    from orchestrator.quota import LimitLedger, Pool
    from providers.routes import RateLimits

    ray.init(log_to_driver=False, **options)
    pool = Pool("one", RateLimits(concurrent_requests=3))

    @ray.remote(num_cpus=0)
    def take():
        ledger = ClusterLedger()
        found = [ledger.admit(pool, 1).place for _ in range(4)]
        return [place for place in found if place is not None]

    taken = sum(ray.get([take.remote() for _ in range(3)]), [])
    ledger = ClusterLedger()
    ledger.renew(taken)
    full = ledger.admit(pool, 1).place is None
    ledger.give_back(taken[0], 5)
    again = ledger.admit(pool, 1).place is not None
    file = shared_ledger()
    alone = isinstance(file, LimitLedger)
    same = file.admit(pool, 1).place is None
    print(json.dumps([len(taken), full, again, alone, same]))
    ray.shutdown()
"""


@pytest.mark.xdist_group("launched")
def test_workers_of_a_cluster_share_the_places(tmp_path: Path) -> None:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**plain, "CEO_ARENA_STATE": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [3, True, True, True, True]
