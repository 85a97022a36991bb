"""A campaign in PostgreSQL whose server is killed, whose connections are cut, and which is killed
itself: it comes to the same end.
"""

import json
from pathlib import Path

import pytest

from tests.chaos.harness import finished, kill_all, place, undisturbed
from tests.postgresql import running_server

pytestmark = pytest.mark.xdist_group("launches")

DAYS = 175
WINDOWS = 8 * DAYS // 7


def test_whatever_becomes_of_the_server_no_window_is_lost_or_invented(tmp_path: Path) -> None:
    with (
        running_server() as server,
        place(tmp_path, days=DAYS, location=server.url(server.new_database())) as trial,
    ):
        launched = trial.launch()
        trial.wait_for_windows(WINDOWS // 5)
        server.kill()
        server.start()
        trial.wait_for_windows(2 * WINDOWS // 5)
        server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'ceo-arena'"
        )
        trial.wait_for_windows(3 * WINDOWS // 5)
        server.kill()
        kill_all(launched)
        finished(launched)
        server.start()
        resumed = trial.run("resume")
        assert resumed.returncode == 0, resumed.stderr
        assert trial.evidence() == undisturbed(trial.file)
        for check in ("audit", "replay"):
            checked = trial.run(check)
            assert checked.returncode == 0, checked.stdout
        results = trial.run("results", "--json")
        assert json.loads(results.stdout)["complete"]
