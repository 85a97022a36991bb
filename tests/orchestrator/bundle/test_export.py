"""What an export holds: everything of the store that belongs into it, the same bytes every time."""

import json
import shutil
from io import BytesIO
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import polars as pl
import pytest

from campaigns.plan import plan
from campaigns.records import TABLES, Record
from campaigns.records.frames import column_types
from engine.scenario import default_scenario
from manifests.bundle import ENVELOPE_FILE, Bundle
from manifests.errors import InputError, IntegrityError
from manifests.model import CampaignManifest
from orchestrator.bundle import layout
from orchestrator.bundle.analysis import analysed
from orchestrator.bundle.reading import BundleSource
from orchestrator.bundle.schemas import schemas
from orchestrator.bundle.summary import Results
from orchestrator.extension import extend
from orchestrator.records import StoreSource
from orchestrator.store import RunKey, open_store
from orchestrator.store.copying import copy_to_server
from orchestrator.world import StopKind, StopRequest
from tests.manifests.bundles import key
from tests.orchestrator.bundle.exported import files_of, found, replayed, signed_again, write
from tests.orchestrator.cli.played import poor_scenario
from tests.orchestrator.trial import DAYS, NAME, REFERENCE, WINDOWS, Trial, definition
from tests.postgresql import Server

pytestmark = pytest.mark.xdist_group("bundles")

RUNS = 8
OF_REFERENCE = f"runs/{REFERENCE}"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A completed campaign in which one company goes bankrupt."""
    folder = tmp_path_factory.mktemp("export")
    place = folder / "store"
    scenario = str(poor_scenario(folder))
    trial = Trial.new(place, scenario=scenario, notes="Größe ändert nichts: 価格")
    with trial.store:
        trial.play_all()
    return place


@pytest.fixture(scope="module")
def bundle(store: Path) -> Path:
    return write(store, store.parent / "bundle")


def test_the_records_are_those_of_the_store(store: Path, bundle: Path) -> None:
    source = BundleSource.open(bundle, [key().public])
    with open_store(str(store)) as opened:
        stored = StoreSource(opened, NAME)
        assert source.planned == list(stored.planned)
        assert source.manifest == stored.manifest
        for one, two in zip(stored.runs(), source.runs(), strict=True):
            assert one.run == two.run
            table: type[Record]
            for table in TABLES.values():
                assert list(one.rows(table)) == list(two.rows(table))


def test_what_a_replay_reads_is_that_of_the_store(store: Path, bundle: Path) -> None:
    with open_store(str(store)) as opened:
        for run in BundleSource(Bundle.open(bundle)).runs():
            stored = opened.run(RunKey(NAME, run.planned.run_id))
            assert list(run.company_windows()) == list(stored.company_windows())
            assert list(run.receipts()) == list(stored.receipts())
            assert [
                (row.version, row.day, row.state, row.state_digest) for row in run.checkpoints()
            ] == [
                (row.version, row.day, row.state, row.state_digest) for row in stored.checkpoints()
            ]
            assert [(row.day, row.state_digest, row.record_digest) for row in run.days()] == [
                (row.day, row.state_digest, row.record_digest) for row in stored.days()
            ]
            for one, two in zip(run.company_days(), stored.company_days(), strict=True):
                assert (one.day, one.seat) == (two.day, two.seat)
                assert {name: one.columns[name] for name in two.columns} == two.columns
            assert run.status().exits == stored.status().exits
            assert run.outcomes() == stored.outcomes()


def test_a_bundle_replays_to_the_last_bit(bundle: Path) -> None:
    assert replayed(bundle).to_json() == {
        "runs": RUNS,
        "matched": RUNS,
        "nothing_recorded": 0,
        "days": RUNS * DAYS,
        "windows": RUNS * WINDOWS,
        "complete": RUNS,
        "differences": [],
    }
    with pytest.raises(InputError, match="no run absent"):
        replayed(bundle, "absent")


def test_the_analysis_inside_follows_from_the_records(bundle: Path) -> None:
    evidence, differences = analysed(BundleSource(Bundle.open(bundle)))
    assert differences == []
    assert len(evidence.outcomes) == 3 * RUNS
    assert any(outcome.exit_day is not None for outcome in evidence.outcomes)


def test_the_same_state_gives_the_same_bytes(store: Path, tmp_path: Path) -> None:
    one, two = write(store, tmp_path / "one.tar"), write(store, tmp_path / "two.tar")
    assert one.read_bytes() == two.read_bytes()
    copied = Path(shutil.copytree(store, tmp_path / "elsewhere"))
    other = files_of(write(copied, tmp_path / "other", {"SOME": "environment"}, key(2)))
    this = files_of(one)
    assert {name for name in this | other if this.get(name) != other.get(name)} == {ENVELOPE_FILE}


def test_the_store_makes_no_difference(
    store: Path, bundle: Path, postgresql: Server, tmp_path: Path
) -> None:
    database = postgresql.new_database()
    copy_to_server(str(store), postgresql.url(database))
    copied = write(postgresql.url(database), tmp_path / "copied")
    postgresql.drop(database)
    assert files_of(copied) == files_of(bundle)


def test_every_file_has_a_schema_that_it_obeys(bundle: Path) -> None:
    contents = files_of(bundle)
    for name, content in contents.items():
        path = Path(name)
        if path.parts[0] in {layout.SCHEMAS, layout.ANALYSIS} and path.name != "tables.json":
            continue
        schema = json.loads(contents[f"{layout.SCHEMAS}/{path.stem}.schema.json"])
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
        for row in rows_of(path, content)[:40]:
            validator.validate(row)
    statement = Bundle.open(bundle).statement
    for part, value in (
        ("statement", json.loads(statement.payload())),
        ("predicate", statement.predicate),
    ):
        schema = json.loads(contents[f"{layout.SCHEMAS}/{part}.schema.json"])
        jsonschema.Draft202012Validator(schema).validate(value)
    msgspec.convert(json.loads(contents["results.json"]), Results)


def rows_of(path: Path, content: bytes) -> list[Any]:
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in content.splitlines()]
    if path.suffix == ".parquet":
        frame = pl.read_parquet(BytesIO(content))
        assert frame.schema == pl.Schema(column_types(TABLES[path.stem]))
        return frame.to_dicts()
    return [json.loads(content)]


def test_the_schemas_in_the_documentation_are_those_of_this_version() -> None:
    folder = Path(__file__).parents[3] / "docs" / "schemas"
    published = {path.name: json.loads(path.read_text()) for path in folder.iterdir()}
    # `ceo-arena schemas docs/schemas` writes them anew.
    assert published == json.loads(json.dumps(schemas()))


def test_every_run_says_what_it_was_played_with(bundle: Path) -> None:
    (row,) = (
        json.loads(line)
        for line in Bundle.open(bundle).lines(f"{OF_REFERENCE}/{layout.ENVIRONMENTS}")
    )
    assert row["epoch"] == 1
    assert row["interpreter"]["version"]
    assert row["libraries"]["numpy"]


def test_a_partial_campaign_is_exported_as_far_as_it_went(tmp_path: Path) -> None:
    trial = Trial.new(tmp_path / "store")
    with trial.store:
        stop = StopRequest()
        trial.play()
        stop.ask(StopKind.PAUSE, "lunch")
        trial.play("trial-s11-without-ada", stop=stop)
        run = trial.run("trial-s11-without-bob")
        run.release(run.acquire("a test", 60))
    path = write(tmp_path / "store", tmp_path / "bundle")
    assert found(path) == []
    report = replayed(path)
    assert report.differences == ()
    assert (report.matched, report.to_json()["complete"]) == (1, 1)
    assert len(report.nothing_recorded) == RUNS - 1
    source = BundleSource(Bundle.open(path))
    assert [run.run.status for run in source.runs()][:4] == [
        "completed",
        "paused",
        "planned",
        "planned",
    ]
    assert analysed(source)[1] == []
    summary = source.bundle.document("results.json")
    assert summary["complete"] is False
    assert len(summary["missing"]) == RUNS - 1


def test_a_run_that_goes_on_meanwhile_is_exported_as_far_as_it_was(
    store: Path, tmp_path: Path
) -> None:
    import sqlite3

    copied = Path(shutil.copytree(store, tmp_path / "store"))
    file = copied / "runs" / NAME / f"{REFERENCE}.db"
    with sqlite3.connect(file) as connection:
        # As a reader finds it who looked at the status before the last windows were committed.
        connection.execute("UPDATE run_states SET status = 'running', world_version = 1, day = 7")
        connection.execute("DELETE FROM company_exits")
    connection.close()
    path = write(copied, tmp_path / "bundle")
    report = replayed(path, REFERENCE)
    assert report.differences == ()
    assert [(run.windows, run.days, run.complete) for run in report.runs] == [(1, 7, False)]
    assert analysed(BundleSource(Bundle.open(path)))[1] == []


def test_integers_that_doubles_round_come_through(tmp_path: Path) -> None:
    market = default_scenario()
    stock = market.initial_value_cents - market.initial_cash_cents
    scenario = poor_scenario(tmp_path, {"initial_cash_cents": 2**53 - 1 - stock})
    changes: dict[str, Any] = {"seeds": [3], "lineups": ["reference"], "horizon_days": 28}
    trial = Trial.new(tmp_path / "store", scenario=str(scenario), **changes)
    with trial.store:
        trial.play("trial-s3-reference")
    path = write(tmp_path / "store", tmp_path / "bundle")
    assert found(path) == []
    content = Bundle.open(path).content(f"runs/trial-s3-reference/{layout.BOUNDARIES}")
    cash = json.loads(content.splitlines()[-1])["state"]["firms"][0]["cash_cents"]
    assert isinstance(cash, str)
    assert int(cash) > 2**53
    assert replayed(path).differences == ()
    evidence, differences = analysed(BundleSource(Bundle.open(path)))
    assert differences == []
    assert evidence.outcomes[0].terminal_cash_cents == int(cash)


def test_an_extended_campaign_shows_what_it_was_before(tmp_path: Path) -> None:
    trial = Trial.new(tmp_path / "store")
    with trial.store:
        trial.play()
        before = trial.store.catalogue.manifest(NAME)
        extend(trial.store, plan(definition(seeds=[11, 29, 47])), {})
        after = trial.store.catalogue.manifest(NAME)
    path = write(tmp_path / "store", tmp_path / "bundle.tar")
    assert found(path) == []
    assert replayed(path).differences == ()
    bundle = Bundle.open(path)
    assert bundle.manifest == after
    begun = [json.loads(line) for line in bundle.lines(layout.BEGINNINGS)]
    assert begun == [{"run_id": REFERENCE, "plan_hash": before.plan_hash}]
    earlier = bundle.content(layout.earlier_plan_file(before.plan_hash))
    assert CampaignManifest.from_json(earlier) == before


def test_a_damaged_store_is_not_exported(store: Path, tmp_path: Path) -> None:
    import sqlite3

    copied = Path(shutil.copytree(store, tmp_path / "store"))
    with sqlite3.connect(copied / "runs" / NAME / f"{REFERENCE}.db") as connection:
        connection.execute("UPDATE checkpoints SET day = 8, state = zeroblob(9) WHERE version = 1")
    connection.close()
    with pytest.raises(IntegrityError, match="is not what was settled"):
        write(copied, tmp_path / "bundle")
    assert not (tmp_path / "bundle").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def replaced(old: str, new: str) -> Any:
    def change(content: bytes) -> bytes:
        assert old.encode() in content
        return content.replace(old.encode(), new.encode(), 1)

    return change


def test_a_replay_names_what_the_owner_of_a_key_has_changed(bundle: Path, tmp_path: Path) -> None:
    name = f"{OF_REFERENCE}/{layout.BOUNDARIES}"
    cash = json.loads(Bundle.open(bundle).content(name).splitlines()[1])["state"]["firms"][0]
    old = f'"cash_cents":{cash["cash_cents"]}'
    forged = signed_again(bundle, tmp_path / "cash", {name: replaced(old, '"cash_cents":123456')})
    (difference,) = replayed(forged).differences
    assert (difference.run, difference.day, difference.company, difference.field) == (
        REFERENCE,
        7,
        "company-1",
        "firms[1].cash_cents",
    )
    assert (difference.recorded, difference.recomputed) == (123456, cash["cash_cents"])

    name = f"{OF_REFERENCE}/{layout.DECISIONS}"
    forged = signed_again(bundle, tmp_path / "seat", {name: replaced('"ada"', '"bob"')})
    (difference,) = replayed(forged).differences
    assert (difference.field, difference.recorded, difference.recomputed) == (
        "candidate",
        "bob",
        "ada",
    )


def test_a_replay_names_daily_accounts_and_scores_that_were_changed(
    bundle: Path, tmp_path: Path
) -> None:
    def richer(column: str) -> Any:
        def change(content: bytes) -> bytes:
            frame = pl.read_parquet(BytesIO(content)).with_columns(pl.col(column) + 1_000)
            written = BytesIO()
            frame.write_parquet(written)
            return written.getvalue()

        return change

    for table, column in (
        ("company_days", "revenue_cents"),
        ("company_days", "stockouts"),
        ("outcomes", "score_cents"),
    ):
        name = f"{OF_REFERENCE}/{layout.table_file(table)}"
        forged = signed_again(bundle, tmp_path / column, {name: richer(column)})
        (difference,) = replayed(forged).differences
        assert (difference.run, difference.field) == (REFERENCE, column)
        assert difference.recorded == difference.recomputed + 1_000
    _, differences = analysed(BundleSource(Bundle.open(tmp_path / "score_cents")))
    told = {difference.file: difference.place for difference in differences}
    assert "mean_score_cents" in told["analysis/ranking.parquet"]
    assert told["analysis/ranking.csv"] == "the text"
    assert "matched[0].cents" in told["results.json"]


def test_a_run_that_was_left_out_is_named(bundle: Path, tmp_path: Path) -> None:
    names = [name for name in Bundle.open(bundle).subjects if name.startswith(f"{OF_REFERENCE}/")]
    forged = signed_again(bundle, tmp_path / "fewer", dict.fromkeys(names))
    (difference,) = replayed(forged).differences
    assert (difference.run, difference.what) == (REFERENCE, "the bundle's list of runs")
    assert (difference.recorded, difference.recomputed) == ("missing", "present")


def test_junk_in_place_of_rows_is_an_answer_and_no_defect(bundle: Path, tmp_path: Path) -> None:
    for number, file in enumerate(
        (layout.DECISIONS, layout.BOUNDARIES, layout.table_file("company_days"), layout.DAYS)
    ):
        name = f"{OF_REFERENCE}/{file}"
        forged = signed_again(bundle, tmp_path / str(number), {name: lambda _: b"junk\n"})
        (difference,) = replayed(forged).differences
        assert difference.run == REFERENCE
        assert name in str(difference)


def test_a_long_run_id_has_a_short_folder(tmp_path: Path) -> None:
    group = "g" * 64
    trial = Trial.new(
        tmp_path / "store",
        name="c" * 64,
        groups=[{"name": group, "seeds": [3], "lineups": ["reference"]}],
        seeds=None,
    )
    trial.store.close()
    path = write(tmp_path / "store", tmp_path / "bundle.tar")
    assert found(path) == []
    (run,) = BundleSource(Bundle.open(path)).runs()
    assert run.planned.run_id == f"{'c' * 64}.{group}-s3-reference"
    assert f"runs/{'c' * 64}.{'g' * 35}.0/planned.json" in Bundle.open(path).subjects
