"""A mix that a gate empties stops the export before a file is touched; one that never had a candidate does not."""

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from assay.mixes.step import emptied_mix, emptied_pairs, export_step, unselected_mixes
from dbt_project import session_of_a_run

REFUSED = "template_refused: the template raised: no system role"


class Tables:
    """What the export reads, from candidate rows with the verdicts of their masks."""

    def __init__(self, rows: dict[str, list[str | None]], turn_reason: str = "template_strips_think") -> None:
        """Take for every mix, in the order of the plan, the reasons of its candidate rows; null for one that passes."""
        self.session = session_of_a_run()
        listed = [
            {"mix": mix, "row_id": f"{mix}/{number}", "mix_position": position, "reason": reason}
            for position, (mix, reasons) in enumerate(rows.items(), start=1)
            for number, reason in enumerate(reasons)
        ]
        self.session.execute("create table listed (mix varchar, row_id varchar, mix_position bigint, reason varchar)")
        for one in listed:
            self.session.execute("insert into listed values (?, ?, ?, ?)", list(one.values()))
        self.tables = {
            "candidate_rows": self.session.table("listed").project("mix, row_id, mix_position"),
            "mix_rows": self.session.table("listed").filter("reason is null").project("mix, row_id"),
            "row_gates": self._sql(
                "select mix, row_id, gate, verdict, reason from (select *, 'mask_audit' as gate, "
                "if(reason is null, 'pass', 'fail') as verdict from listed union all by name "
                "select mix, row_id, 'within_cap' as gate, 'pass' as verdict, null as reason from listed "
                # A row that was never a candidate is no loss of the audit.
                "union all by name select 'credit' as mix, 'other' as row_id, 'score' as gate, 'fail' as verdict, "
                "'too low' as reason from range(99))"
            ),
            "mask_audit_turns": self._sql(
                f"select mix, row_id, 1 as message_index, 'fail' as verdict, '{turn_reason}' as reason from listed "
                "where reason = 'no_trained_turn_passes'"
            ),
            "pair_rows": self.pairs(),
            "drop_ledger": self._sql(
                "select * from (values ('credit', 1, 'candidate', 'looked at', 9), "
                "('credit', 1, 'side_gates', 'score', 6), ('credit', 1, 'side_gates', 'scored', 3), "
                "('credit', 1, 'file', 'in the file', 0), ('never', 2, 'candidate', 'looked at', 0), "
                "('never', 2, 'file', 'in the file', 0), ('full', 3, 'candidate', 'looked at', 2), "
                "('full', 3, 'file', 'in the file', 2)) "
                "as ledger (mix, mix_position, step, reason, rows)"
            ),
        }

    def pairs(self, *reasons: str | None, verdict: str = "'pass'") -> duckdb.DuckDBPyRelation:
        """Pairs with the reasons that they are dropped for; null for one that is exported."""
        listed = ", ".join(f"({'null' if reason is None else repr(reason)})" for reason in reasons) or "(null)"
        return self._sql(
            f"select drop_reason, drop_reason is null as is_exported, {verdict} as chosen_verdict "
            f"from (values {listed}) as pairs (drop_reason)" + ("" if reasons else " where false")
        )

    def _sql(self, text: str) -> duckdb.DuckDBPyRelation:
        return self.session.sql(text)

    def sentence(self) -> str | None:
        return emptied_mix(self.tables)


@pytest.mark.parametrize(
    "rows",
    [
        {},
        {"credit": []},
        {"credit": [None, REFUSED], "escape_duel": []},
    ],
    ids=["nothing", "no candidate", "one is left"],
)
def test_a_mix_with_a_row_left_or_without_a_candidate_is_fine(rows: dict[str, list[str | None]]) -> None:
    assert Tables(rows).sentence() is None


def test_the_sentence_names_mix_gate_and_commonest_reason() -> None:
    assert Tables({"credit": [None], "escape_duel": ["too_long_to_encode", REFUSED, REFUSED]}).sentence() == (
        "gate mask_audit leaves the mix escape_duel without a row: 2 of its 3 candidate rows fail for "
        "template_refused: the template raised: no system role; nothing was exported, and the files of the last good "
        "build stay"
    )


def test_where_no_turn_passes_the_reason_is_that_of_the_turns() -> None:
    said = Tables({"credit": ["no_trained_turn_passes"] * 3}).sentence()
    assert "3 of its 3 candidate rows fail for template_strips_think;" in str(said)


def test_a_reason_from_a_template_cannot_break_out_of_its_line() -> None:
    said = str(Tables({"credit": ["template_refused: a\n\x1b[31mb"]}).sentence())
    assert "a\\n\\x1b[31mb" in said
    assert said.isprintable()


def test_files_of_the_last_good_build_stay(tmp_path: Path) -> None:
    made = Tables({"credit": [REFUSED]})
    (tmp_path / "exports" / "mixes").mkdir(parents=True)
    (tmp_path / "exports" / "mixes" / "credit.jsonl").write_text(json.dumps({"id": "good"}))
    settings: dict[str, Any] = {}
    listed = export_step(made.session, "mix_export", str(tmp_path), str(tmp_path / "exports"), made.tables, settings)
    assert listed.fetchall() == []
    ((sentence,),) = made.session.sql("select sentence from landing.faults where model = 'mix_export'").fetchall()
    assert sentence == made.sentence()
    assert [path.name for path in (tmp_path / "exports" / "mixes").iterdir()] == ["credit.jsonl"]
    assert (tmp_path / "exports" / "mixes" / "credit.jsonl").read_text() == '{"id": "good"}'


def test_pairs_that_are_all_refused_are_said_with_their_commonest_reason() -> None:
    made = Tables({})
    assert emptied_pairs(made.pairs("chosen: a", "rejected: b", "rejected: b")) == (
        "the mask audit leaves none of 3 preference pairs, most often for rejected: b; nothing was exported, and the "
        "files of the last good build stay"
    )
    assert emptied_pairs(made.pairs("chosen: a", None)) is None
    assert emptied_pairs(made.pairs()) is None
    # Sides that part before a reply were never audited.
    assert emptied_pairs(made.pairs("sides_differ_before_a_reply", verdict="null")) is None


def test_a_mix_that_selects_nothing_is_said_and_stops_nothing() -> None:
    assert unselected_mixes(Tables({}).tables["drop_ledger"]) == [
        "The mix credit is empty: of 9 rows that were looked at none is selected, most left at score."
    ]
