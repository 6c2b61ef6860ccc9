"""No feature knows what a judge said: whatever the judges had said, the features are the same bytes."""

import shutil
from pathlib import Path

import duckdb
from dbt_project import RunDbt

# What a judge said, by staging model: every row is dealt the words of another.
SAID = {
    "stg_sn97__answers": (
        "answer_text",
        "answer_scale",
        "is_answered",
        "answer_value",
        "score",
        "explanation",
        "answer",
    ),
    "stg_sn97__scoring_results": ("king_score", "challenger_score", "sample_score", "scored"),
    "stg_sn97__judge_results": ("looped", "corrupted", "corruption_reason", "parse_ok", "yes_rate", "judge_mean"),
}
FEATURES = "select hash(list(features order by side_id, checklist_id, question_index)), count(*) from scorer.features"


def _deal_out_anew(warehouse: Path) -> None:
    """Give every row what the row seven before it had; the first seven have what the last had."""
    with duckdb.connect(str(warehouse)) as connection:
        for table, columns in SAID.items():
            connection.execute(f"create table staging.{table}_kept as select * from staging.{table}")
            places = connection.sql(f"select rowid from staging.{table}_kept").fetchall()
            assert len(places) > 20, table
            dealt = ", ".join(f"lag({name}, 7, last_{name}) over (order by rowid) as {name}" for name in columns)
            last = ", ".join(f"last({name} order by rowid) over () as last_{name}" for name in columns)
            out = ", ".join(f"last_{name}" for name in columns)
            connection.execute(f"drop view staging.{table}")
            connection.execute(
                f"create view staging.{table} as select * exclude ({out}) replace ({dealt}) "
                f"from (select *, rowid, {last} from staging.{table}_kept)"
            )


def test_what_judges_said_changes_no_feature(sample_warehouse: Path, run_dbt: RunDbt, tmp_path: Path) -> None:
    warehouse = tmp_path / "warehouse.duckdb"
    shutil.copy(sample_warehouse, warehouse)
    shutil.copytree(f"{sample_warehouse}.landing", f"{warehouse}.landing")
    scores = "select hash(list(score order by side_id)) from intermediate.int_duel_sides"
    with duckdb.connect(str(warehouse)) as connection:
        before = connection.sql(FEATURES).fetchall()
        scores_before = connection.sql(scores).fetchall()
        assert before[0][1] > 500
    _deal_out_anew(warehouse)
    made = run_dbt("run", "--select", "+features", "--exclude", "path:models/staging", warehouse=warehouse)
    assert made.returncode == 0, made.stdout
    with duckdb.connect(str(warehouse)) as connection:
        assert connection.sql(scores).fetchall() != scores_before
        assert connection.sql(FEATURES).fetchall() == before
