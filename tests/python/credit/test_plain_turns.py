"""Every column of the turn table is what a plain loop over the raw files says, which shares no code with it."""

from pathlib import Path

import duckdb
import pytest

from credit.plain_turns import COLUMNS, plain_turns

N_KEYS = COLUMNS.index("turn") + 1


def compare(raw: Path, warehouse: Path) -> int:
    loop = {row[:N_KEYS]: dict(zip(COLUMNS, row, strict=True)) for row in plain_turns(raw)}
    runs = sorted({key[0] for key in loop})
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        found = connection.execute(
            f"select {', '.join(COLUMNS)} from credit.turns where list_contains(?, eval_run_id)", [runs]
        ).fetchall()
    table = {row[:N_KEYS]: dict(zip(COLUMNS, row, strict=True)) for row in found}
    assert len(table) == len(found)
    assert table.keys() == loop.keys()
    for key, turn in table.items():
        assert turn == {
            name: pytest.approx(value, abs=1e-9) if name.startswith("credit_") else value
            for name, value in loop[key].items()
        }
    return len(table)


def test_on_the_bundled_sample(repository: Path, sample_warehouse: Path) -> None:
    assert compare(repository / "tests" / "fixtures" / "raw", sample_warehouse) == 191
