"""P(T1 = S_OBS) of the corpus by header, as the document publishes it. Contract: gateway, section 5."""

from pathlib import Path

import duckdb
import pytest

# ctx, src: (S_OBS, episodes) in shards s0-s4 and in shards s5-s9
PUBLISHED = {
    ("ctx:deploy", "src:api"): ((2879, 4506), (334, 4566)),
    ("ctx:deploy", "src:web"): ((1859, 3004), (259, 3137)),
    ("ctx:deploy", "src:batch"): ((2490, 2523), (2018, 2489)),
    ("ctx:train", "src:api"): ((1959, 1980), (1617, 1957)),
    ("ctx:train", "src:web"): ((984, 996), (792, 945)),
    ("ctx:train", "src:batch"): ((6796, 6797), (7071, 7100)),
}


def test_the_twelve_published_cells_are_recounted(sample_warehouse: Path) -> None:
    with duckdb.connect(str(sample_warehouse), read_only=True) as connection:
        cells = connection.sql(
            "select ctx, src, shard_half, n_observed, n from promotion.belief_by_marker order by all"
        ).fetchall()
    expected = {
        (ctx, src, half): counts
        for (ctx, src), halves in PUBLISHED.items()
        for half, counts in zip(("low", "high"), halves, strict=True)
    }
    assert {tuple(cell[:3]): tuple(cell[3:]) for cell in cells} == expected


def test_a_published_pair_of_the_thirty_six_cells_is_recounted(sample_warehouse: Path) -> None:
    with duckdb.connect(str(sample_warehouse), read_only=True) as connection:
        n_cells = connection.sql("select count(*) from promotion.belief_by_header").fetchall()[0][0]
        beliefs = dict(
            connection.sql(
                "select shard_half, p_observed from promotion.belief_by_header "
                "where ctx = 'ctx:deploy' and src = 'src:api' and ver = 'ver:1'"
            ).fetchall()
        )
    assert n_cells == 36
    assert beliefs["high"] == pytest.approx(0.067, abs=5e-4)
    assert beliefs["low"] == pytest.approx(0.638, abs=5e-4)
