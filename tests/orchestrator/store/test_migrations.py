"""The schema's history: migrations and tables agree, newer databases are refused."""

import sqlite3
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from manifests.errors import StoreError
from orchestrator.store import AttemptKey, FileVersion, SessionStore, migrations, open_store
from orchestrator.store.connection import CommitPoint, Database
from orchestrator.store.files import create_file, open_file
from orchestrator.store.revisions import anything
from orchestrator.store.schema import REVISION, metadata, version_table
from orchestrator.store.sqlite import sqlite_database
from tests.orchestrator.store import samples


@pytest.fixture
def migrated(tmp_path: Path) -> Iterator[Database]:
    """A database that was made by the migrations alone."""
    path = tmp_path / "migrated.db"
    sqlite3.connect(path).close()
    database = sqlite_database(path)
    migrations.upgrade(database, None, anything)
    yield database
    database.close()


def definitions(connection: Connection) -> list[tuple[str, str]]:
    rows = connection.execute(text("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))
    return sorted((name, " ".join(sql.split())) for name, sql in rows)


def test_the_revision_is_the_newest_migration() -> None:
    scripts = ScriptDirectory.from_config(migrations.configuration())
    assert scripts.get_heads() == [REVISION]


def test_migrations_and_tables_agree(migrated: Database) -> None:
    with migrated.read() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True}
        )
        assert compare_metadata(context, metadata) == []
        assert context.get_current_revision() == REVISION


def test_fresh_and_migrated_databases_are_the_same(migrated: Database, tmp_path: Path) -> None:
    create_file(tmp_path / "fresh.db", lambda _connection: None)
    fresh = open_file(tmp_path / "fresh.db")
    with fresh.read() as one, migrated.read() as other:
        assert definitions(one) == definitions(other)
    fresh.close()


def test_migrations_can_be_taken_back(migrated: Database) -> None:
    with migrated.write(CommitPoint.UPGRADE_DATABASE) as connection:
        command.downgrade(migrations.configuration(connection), "base")
    with migrated.read() as connection:
        assert [name for name, _ in definitions(connection)] == [version_table.name]


def test_an_older_store_is_upgraded_when_it_is_opened(tmp_path: Path) -> None:
    open_store(str(tmp_path), create=True).close()
    samples.rewind(tmp_path / "catalogue.db")
    with open_store(str(tmp_path)) as store:
        samples.create_campaign(store)
        assert [row.name for row in store.catalogue.campaigns()] == [samples.CAMPAIGN]


def test_what_was_said_and_written_before_there_were_blobs_is_kept(tmp_path: Path) -> None:
    key, file = AttemptKey(0, 1, 0), FileVersion("MEMORY.md", 1, "one")
    place = tmp_path / f"runs/trial/{samples.KEY.run_id}.db"
    with open_store(str(tmp_path), create=True) as store:
        samples.create_campaign(store)
        run = store.run(samples.KEY)
        lease, sessions = samples.start(run), SessionStore(run)
        sessions.append(lease, key, 0, "asked", b"the same", None)
        sessions.append(lease, key, 1, "asked", b"the same", file)
        sessions.keep_late_reply(lease, key, 1, b"late")
        run.release(lease)
        held = run.held()
        assert held is not None
        with held.database.write(CommitPoint.UPGRADE_DATABASE) as connection:
            command.downgrade(migrations.configuration(connection), "0006")
    with sqlite3.connect(place) as raw:
        bodies = raw.execute("SELECT body FROM session_events").fetchall()
        (content,) = raw.execute("SELECT content FROM private_files").fetchone()
    raw.close()
    assert [zlib.decompress(body) for (body,) in bodies] == [b"the same"] * 2
    assert zlib.decompress(content) == b"one"
    with open_store(str(tmp_path)) as store:
        sessions = SessionStore(store.run(samples.KEY))
        assert sessions.events(key) == [b"the same"] * 2
        assert sessions.files_before(1, 1) == {"MEMORY.md": ("one", 1)}
        assert [late.body for late in sessions.late_replies()] == [b"late"]
    with sqlite3.connect(place) as raw:
        assert raw.execute("SELECT count(*) FROM blobs").fetchone() == (3,)
    raw.close()


def test_a_failing_upgrade_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_store(str(tmp_path), create=True).close()
    samples.rewind(tmp_path / "catalogue.db")
    upgrade = command.upgrade

    def fail_at_the_end(*arguments: object) -> None:
        upgrade(*arguments)  # type: ignore[arg-type]
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(command, "upgrade", fail_at_the_end)
        with pytest.raises(ZeroDivisionError):
            open_store(str(tmp_path))
    with sqlite3.connect(tmp_path / "catalogue.db") as connection:
        tables = connection.execute("SELECT name FROM sqlite_master").fetchall()
    connection.close()
    assert {name for (name,) in tables} <= {"alembic_version", "sqlite_autoindex_alembic_version_1"}
    open_store(str(tmp_path)).close()


@pytest.mark.parametrize("which", ["catalogue.db", f"runs/trial/{samples.KEY.run_id}.db"])
def test_a_store_from_a_newer_version_is_refused(tmp_path: Path, which: str) -> None:
    with open_store(str(tmp_path), create=True) as store:
        samples.create_campaign(store)
        store.run(samples.KEY).acquire("host-1", 60)
    with sqlite3.connect(tmp_path / which) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    with pytest.raises(StoreError) as caught, open_store(str(tmp_path)) as store:
        store.run(samples.KEY).status()
    message = str(caught.value)
    assert str(tmp_path / which) in message
    assert "revision 9999" in message
    assert f"up to {REVISION}" in message
    assert "Install" in message
