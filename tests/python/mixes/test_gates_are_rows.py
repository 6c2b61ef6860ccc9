"""A new gate is a row of a seed, and a new mix is rows: no model changes."""

import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest
from dbt_project import RunDbt

MODELS = (
    "int_mix_gates mix_side_gates side_gates mix_turn_gates turn_gates mix_gated_turns mix_candidates mix_row_gates"
)


@pytest.fixture(scope="module")
def warehouse(sample_warehouse: Path, run_dbt: RunDbt, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample's warehouse with two more gates and a mix of own runs, all of them rows of seeds."""
    path = tmp_path_factory.mktemp("rows") / sample_warehouse.name
    shutil.copy(sample_warehouse, path)
    Path(f"{path}.landing").symlink_to(f"{sample_warehouse}.landing")
    with duckdb.connect(str(path)) as opened:
        opened.execute("""
            insert into seeds.gates (gate, subject, measure, comparison, limit_value, asks, passes, fails,
                unknown_reason, reason)
            values ('no_turn_6', 'turn', 'turn', 'at_most', 5, 'turn {limit} at most', 'it is {value}', 'it is {value}',
                    'unknown', 'short'),
                ('best_scores', 'side', 'score', 'at_least', 0.9, 'at least {limit}', 'it is {value}', 'it is {value}',
                    'no score', 'the best alone')
        """)
        opened.execute("""
            insert into seeds.mix_plan
            select 'own_finish', 5, 'trajectories', * exclude (mix, position, source) from seeds.mix_plan
            where mix = 'finish_mini'
        """)
        opened.execute("""
            insert into seeds.mix_steps
            values ('credit', 16, 'side_gates', 'best_scores'), ('credit', 86, 'turn_gates', 'no_turn_6'),
                ('own_finish', 10, 'trajectory_gates', 'ends_in_submission'), ('own_finish', 20, 'turns', 'not_repeat'),
                ('own_finish', 21, 'turns', 'after_cutoff'), ('own_finish', 40, 'turns', 'has_train_turn'),
                ('own_finish', 60, 'cap', 'within_cap')
        """)
    # The models read the seeds as the warehouse has them.
    built = run_dbt("run", "--select", *MODELS.split(), warehouse=path)
    assert built.returncode == 0, built.stdout
    return path


def rows(warehouse: Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(warehouse), read_only=True) as opened:
        return opened.execute(query).fetchall()


def test_a_gate_that_is_a_row_judges_every_side_and_has_its_words(warehouse: Path) -> None:
    found = rows(
        warehouse,
        "select verdict, value, reason, statement, credit_mix, escape_mix from gates.side_gates "
        "where gate = 'best_scores'",
    )
    assert len(found) == rows(warehouse, "select count(*) from credit.sides")[0][0]
    assert {verdict for verdict, *_ in found} == {"pass", "fail", "unknown"}
    for verdict, value, reason, statement, credit_mix, escape_mix in found:
        assert verdict == ("unknown" if value is None else "pass" if value >= 0.9 else "fail")
        assert reason == {"pass": None, "fail": "the best alone", "unknown": "no score"}[verdict]
        seen = "not known: no score" if value is None else f"it is {value:.6g}"
        assert statement == f"{seen} (asked: at least 0.9)"
        assert (credit_mix, escape_mix) == (True, False)


def test_a_gate_that_is_a_row_decides_what_trains(warehouse: Path, sample_warehouse: Path) -> None:
    asked = "select max(turn), count(*) from intermediate.mix_gated_turns where mix = 'credit' and verdict = 'pass'"
    (before,), (after,) = rows(sample_warehouse, asked), rows(warehouse, asked)
    assert before[0] > 5 >= after[0] and before[1] > after[1] > 0
    left = "where mix = 'credit' and gate = 'best_scores' and verdict <> 'pass'"
    assert rows(warehouse, f"select count(*) from intermediate.mix_row_gates {left}")[0][0] > 0


def test_a_mix_of_another_source_is_rows_alone(warehouse: Path) -> None:
    sides = "select count(*), count(n_turns) from intermediate.mix_sides where source = 'trajectories'"
    candidates = "select count(*), count(row_id) from intermediate.mix_candidates where mix = 'own_finish'"
    assert rows(warehouse, candidates) == rows(warehouse, sides) != [(0, 0)]
    asked = rows(
        warehouse,
        "select gate, count(*) from intermediate.mix_row_gates where mix = 'own_finish' group by gate order by gate",
    )
    assert {"ends_in_submission", "has_train_turn"} <= dict(asked).keys()
    windows = "select min(turn) from intermediate.mix_gated_turns where mix = 'own_finish' and verdict = 'pass'"
    assert (rows(warehouse, windows)[0][0] or 17) >= 17
