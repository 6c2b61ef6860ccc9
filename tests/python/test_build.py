"""What a person sees of a whole build: absent sources, wrong paths, a second run, a warehouse in use."""

import json
import shutil
from pathlib import Path

import duckdb
import pytest
from dbt_project import RunDbt

STAGING = ("--select", "+path:models/staging", "--indirect-selection", "cautious")


def _write(path: Path, *records: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def test_an_empty_raw_root_builds_every_model_empty_and_says_that_nothing_was_found(
    run_dbt: RunDbt, tmp_path: Path
) -> None:
    raw, warehouse = tmp_path / "raw", tmp_path / "warehouse.duckdb"
    raw.mkdir()
    built = run_dbt("build", raw_root=raw, warehouse=warehouse)
    assert built.returncode == 0, built.stdout
    for source in ("sn97", "sn120", "mini_coder", "gateway", "trajectories", "tokenizer"):
        lacks = "figures of tokens are unknown" if source == "tokenizer" else "its models are empty"
        assert f"{source}: absent, {lacks}" in built.stdout
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        names = connection.sql(
            "select table_name from information_schema.tables where table_schema = 'staging' order by table_name"
        ).fetchall()
        assert len(names) > 40
        assert {connection.sql(f"select count(*) from staging.{name}").fetchall()[0][0] for (name,) in names} == {0}


def test_one_source_alone_builds_and_a_second_run_sees_what_changed(run_dbt: RunDbt, tmp_path: Path) -> None:
    raw, warehouse = tmp_path / "raw", tmp_path / "warehouse.duckdb"
    first = {"id": "a", "messages": [{"role": "user", "content": "Fix it."}, {"role": "assistant", "content": "ls"}]}
    _write(raw / "trajectories" / "one.jsonl", first)
    assert run_dbt("build", *STAGING, raw_root=raw, warehouse=warehouse).returncode == 0
    _write(raw / "trajectories" / "one.jsonl", first, {**first, "id": "b"})
    _write(raw / "trajectories" / "two.jsonl", {"id": "c", "messages": "none"})
    built = run_dbt("build", *STAGING, raw_root=raw, warehouse=warehouse)
    assert built.returncode == 0, built.stdout
    assert "trajectories: 2 files" in built.stdout
    assert "3 lines, 1 quarantined" in built.stdout
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        trajectories = connection.sql("select trajectory_id from staging.stg_trajectories__trajectories order by all")
        assert trajectories.fetchall() == [("a",), ("b",)]
        refused = connection.sql("select file, line, byte_offset, reason from staging.quarantine").fetchall()
        assert refused == [("trajectories/two.jsonl", 1, 0, "missing_field")]


def test_a_wrong_raw_root_is_one_sentence(run_dbt: RunDbt, tmp_path: Path) -> None:
    built = run_dbt("build", *STAGING, raw_root=tmp_path / "nowhere", warehouse=tmp_path / "warehouse.duckdb")
    assert built.returncode == 1
    assert f"the raw root {tmp_path / 'nowhere'} does not exist: name a folder (ASSAY_RAW_ROOT)" in built.stdout
    assert "Traceback" not in built.stdout + built.stderr


def test_a_raw_root_one_folder_too_deep_says_what_it_holds(run_dbt: RunDbt, tmp_path: Path) -> None:
    said = {"messages": [{"role": "user", "content": "x"}]}
    for number in range(7):
        _write(tmp_path / "raw" / "trajectories" / f"mine-{number}.jsonl", said)
    too_deep, warehouse = tmp_path / "raw" / "trajectories", tmp_path / "warehouse.duckdb"
    built = run_dbt("build", "--select", "artifacts", raw_root=too_deep, warehouse=warehouse)
    assert built.returncode == 0, built.stdout
    listed = json.dumps([f"mine-{number}.jsonl" for number in range(5)])
    assert f"not part of a raw tree, not read: {listed} and 2 more" in built.stdout
    built = run_dbt("build", "--select", "artifacts", raw_root=tmp_path / "raw", warehouse=warehouse)
    assert built.returncode == 0, built.stdout
    assert "trajectories: 7 files" in built.stdout
    assert "not part of a raw tree" not in built.stdout


def test_an_unreadable_file_is_one_sentence(run_dbt: RunDbt, tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    (raw / "trajectories").mkdir(parents=True)
    (raw / "trajectories" / "gone.jsonl").symlink_to("moved away")
    built = run_dbt("build", *STAGING, raw_root=raw, warehouse=tmp_path / "warehouse.duckdb")
    assert built.returncode == 1
    assert "trajectories/gone.jsonl cannot be read: No such file or directory" in built.stdout
    assert "Traceback" not in built.stdout + built.stderr


def test_a_warehouse_in_use_is_one_sentence_that_names_the_process(run_dbt: RunDbt, tmp_path: Path) -> None:
    raw, warehouse = tmp_path / "raw", tmp_path / "warehouse.duckdb"
    raw.mkdir()
    with duckdb.connect(str(warehouse)):
        built = run_dbt("build", *STAGING, raw_root=raw, warehouse=warehouse)
    assert built.returncode != 0
    assert f"the warehouse {warehouse} is in use by process" in built.stdout
    assert "Traceback" not in built.stdout + built.stderr


@pytest.mark.parametrize("content", [b"not a warehouse at all", b""])
def test_a_file_that_is_no_warehouse_is_refused_and_left_as_it_was(
    run_dbt: RunDbt, tmp_path: Path, content: bytes
) -> None:
    raw, warehouse = tmp_path / "raw", tmp_path / "warehouse.duckdb"
    raw.mkdir()
    warehouse.write_bytes(content)
    alone = ("--select", "artifacts", "--indirect-selection", "empty")
    built = run_dbt("build", *alone, raw_root=raw, warehouse=warehouse)
    assert built.returncode != 0
    assert f"the warehouse {warehouse} cannot be opened" in built.stdout
    assert warehouse.read_bytes() == content
    assert "Traceback" not in built.stdout + built.stderr


@pytest.fixture
def warehouse(sample_warehouse: Path, tmp_path: Path) -> Path:
    """A copy of the sample's warehouse that a test may change."""
    return Path(shutil.copyfile(sample_warehouse, tmp_path / "warehouse.duckdb"))


@pytest.mark.parametrize(
    ("model", "schema", "missing"),
    [
        ("mix_pairs", "mixes", "mixes.pair_candidates"),
        ("int_duel_margins", "intermediate", "intermediate.int_sample_pairs"),
        ("stg_sn97__verdicts", "staging", "landing.sn97_verdicts"),
    ],
)
def test_a_model_that_fails_leaves_what_it_would_have_replaced(
    run_dbt: RunDbt, warehouse: Path, model: str, schema: str, missing: str
) -> None:
    with duckdb.connect(str(warehouse)) as connection:
        before = connection.sql(f"select * from {schema}.{model} order by all").fetchall()
        (kind,) = connection.execute(
            "select if(table_type = 'VIEW', 'view', 'table') from information_schema.tables "
            "where table_schema || '.' || table_name = ?",
            [missing],
        ).fetchone() or ("table",)
        connection.execute(f"drop {kind} {missing}")
    assert before
    built = run_dbt("run", "--select", model, "--vars", "{max_row_tokens: 8192}", warehouse=warehouse)
    assert built.returncode == 1, built.stdout
    with duckdb.connect(str(warehouse)) as connection:
        if schema == "staging":
            (definition,) = connection.sql(
                f"select sql from duckdb_views() where schema_name = '{schema}' and view_name = '{model}'"
            ).fetchall()
            assert "landing.sn97_verdicts" in definition[0].replace('"', "")
        else:
            assert connection.sql(f"select * from {schema}.{model} order by all").fetchall() == before
        (last,) = connection.sql(
            "select state, n_built, n_failed, first_failed, vars from builds.builds order by started_at desc limit 1"
        ).fetchall()
        assert (*last[:4], json.loads(last[4])) == ("failed", 0, 1, model, {"max_row_tokens": 8192})
        left = connection.sql("select table_name from information_schema.tables where table_name like '%\\_\\_dbt\\_%'")
        assert len(left.fetchall()) <= 1  # what the failed Python model wrote is replaced by the next run


def test_a_table_takes_the_place_of_a_view_and_the_other_way_round(run_dbt: RunDbt, warehouse: Path) -> None:
    with duckdb.connect(str(warehouse)) as connection:
        connection.execute("drop table mixes.mix_pairs; create view mixes.mix_pairs as select 1 as one")
        connection.execute("drop view staging.stg_sn97__requests; create table staging.stg_sn97__requests (one int)")
        connection.execute("drop table intermediate.int_duel_margins")
        connection.execute("create view intermediate.int_duel_margins as select 1 as one")
    models = ("mix_pairs", "stg_sn97__requests", "int_duel_margins")
    built = run_dbt("run", "--select", *models, warehouse=warehouse)
    assert built.returncode == 0, built.stdout
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        kinds = connection.sql(
            f"select table_name, table_type from information_schema.tables where table_name in {models} order by all"
        ).fetchall()
    assert kinds == [("int_duel_margins", "BASE TABLE"), ("mix_pairs", "BASE TABLE"), ("stg_sn97__requests", "VIEW")]


def test_a_step_with_a_fault_leaves_the_table_of_its_last_run(run_dbt: RunDbt, warehouse: Path, tmp_path: Path) -> None:
    for _ in range(2):
        built = run_dbt("run", "--select", "artifacts", raw_root=tmp_path / "nowhere", warehouse=warehouse)
        assert built.returncode == 1, built.stdout
        assert "does not exist: name a folder (ASSAY_RAW_ROOT)" in built.stdout
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        assert connection.sql("select count(*) from staging.artifacts").fetchall()[0][0] > 100


def test_a_warehouse_of_an_older_version_builds_a_model_alone(run_dbt: RunDbt, warehouse: Path) -> None:
    with duckdb.connect(str(warehouse)) as connection:
        connection.execute("drop view landing.strangers; drop table landing.faults")
    built = run_dbt("run", "--select", "mix_pairs", warehouse=warehouse)
    assert built.returncode == 0, built.stdout
    assert "Sources in" not in built.stdout
