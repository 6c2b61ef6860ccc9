"""The mask audit and the export as a build runs them: in a process of its own, between tables of the warehouse."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb

from assay.errors import AssayError
from assay.exporting import FILES, files_table, inputs_sha256, rules_json
from assay.landing.step import SCHEMA, leave_fault, publish, run_apart
from assay.mixes.export import FINALS, FOLDER, Written, export_mixes
from assay.mixes.run import OUTPUTS, ROWS, ROWS_TABLE, audit_tree
from assay.mixes.tokenizer import tokenizer_folder
from assay.names import shown
from assay.steps.progress import is_watched
from assay.steps.writing import writing

INPUT_FOLDER = "mix_input"
AUDIT_REPORT, EXPORT_REPORT = "mix_audit.json", "mix_export.json"
PROVEN_WITH = ("tokenizer", "tokenizer_sha256", "template_sha256", "template_date")
SOURCES = ("sn97", "mini_coder", "tokenizer")
_LISTED = """
    list(text_message_index order by message_index) as message_indexes,
    coalesce(list(text_message_index order by message_index) filter (where train), []) as trained
"""
_TURNS = """
    list(
        {
            'message_index': message_index,
            'turn': turn,
            'credit': credit,
            'tags': coalesce(tags, []),
            'is_recovery': is_recovery,
            'command_kind': command_kind
        }
        order by message_index
    ) as turns
"""
_EXPORTED = """
    mix, row_id, row_order, split, weight, n_tokens, n_trained_tokens, text_source, text_artifact_id, text_line,
    text_side
"""
_AUDITED = """
    row_id as id, mix, verdict, reason, n_characters, n_tokens, n_trained_turns, n_trained_tokens, stop_token_in_span,
    n_boundary_merges, n_injected_tokens, over_limit, tokenizer, tokenizer_sha256, template_sha256, template_date,
    coalesce(is_exported, false) as is_exported,
    coalesce(turns, []) as turns
"""
_AUDITED_TURNS = """
    list(
        {
            'message_index': message_index,
            'first_token': first_token,
            'end_token': end_token,
            'stop_token_in_span': stop_token_in_span,
            'decoded_equal': decoded_equal,
            'verdict': verdict,
            'reason': reason
        }
        order by message_index
    ) as turns
"""


def audit_step(
    session: duckdb.DuckDBPyConnection,
    model: str,
    landing: str,
    settings: Mapping[str, Any],
    rows: duckdb.DuckDBPyRelation,
    messages: duckdb.DuckDBPyRelation,
) -> duckdb.DuckDBPyRelation:
    """Audit the candidate rows and return the verdicts, one a row.

    `settings` are tokenizer (a folder or the like; empty: that of the raw tree), raw_root, max_row_tokens and
    chat_template_date. `rows` has mix, row_id, text_source, text_artifact_id, text_line, text_side; `messages` mix,
    row_id, message_index, text_message_index, train. A fault is left in the warehouse; the result is then empty.
    """
    key = "mix, row_id, text_source, text_artifact_id, text_line, text_side"
    listed = messages.aggregate(f"mix, row_id, {_LISTED}", "mix, row_id")
    joined = rows.project(key).set_alias("candidates").join(listed.set_alias("listed"), "mix, row_id")
    request = {"step": "audit", **settings}
    report = _run(session, model, landing, request, {"rows": joined}, AUDIT_REPORT)
    if report is None:
        return session.from_arrow(ROWS.empty_table())
    print(report["sentence"])
    publish(session, landing, OUTPUTS)
    return session.sql(f"select * from {SCHEMA}.{ROWS_TABLE} order by mix, row_id")


def export_step(
    session: duckdb.DuckDBPyConnection,
    model: str,
    landing: str,
    exports: str,
    tables: Mapping[str, duckdb.DuckDBPyRelation],
    settings: Mapping[str, Any],
) -> duckdb.DuckDBPyRelation:
    """Write the mixes below `exports`/mixes and return the table of `FILES`.

    `tables` are mix_rows, mix_turns, candidate_rows, candidate_messages, mask_audit, mask_audit_turns, row_gates,
    drop_ledger, mix_plan and artifacts; `settings` are named in the table beside the plan. A fault is left in the
    warehouse, and a mix whose candidate rows are all refused is one; the result is then empty, and files of an earlier
    build stay as they were.
    """
    emptied = emptied_mix(tables)
    leave_fault(session, model, emptied)
    if emptied is not None:
        return session.from_arrow(FILES.empty_table())
    for sentence in unselected_mixes(tables["drop_ledger"]):
        print(sentence)
    listed = tables["candidate_messages"].aggregate(f"mix, row_id, {_LISTED}", "mix, row_id")
    turns = tables["mix_turns"].filter("train").aggregate(f"mix, row_id, {_TURNS}", "mix, row_id")
    rows = tables["mix_rows"].project(_EXPORTED).set_alias("mix_rows")
    joined = rows.join(listed.set_alias("listed"), "mix, row_id").join(turns.set_alias("turns"), "mix, row_id")
    plan = tables["mix_plan"].order("position").to_arrow_table().to_pylist()
    finals = {final: [row["mix"] for row in plan if row[f"in_{final}"]] for final in FINALS}
    request = {"step": "export", "exports": exports, "mixes": [row["mix"] for row in plan], "finals": finals}
    report = _run(session, model, landing, request, {"rows": joined, "audit": _audited(tables)}, EXPORT_REPORT)
    if report is None:
        return session.from_arrow(FILES.empty_table())
    used = tables["mask_audit"].aggregate(", ".join(f"max({name})" for name in PROVEN_WITH)).fetchall()[0]
    rules = rules_json({"mix_plan": plan, **dict(zip(PROVEN_WITH, used, strict=True)), **settings})
    inputs = inputs_sha256(tables["artifacts"], SOURCES)
    written = [Written(**file) for file in report["files"]]
    listing = [(f"{FOLDER}/{file.name}", file.n_bytes, file.sha256, file.n_rows, rules, inputs) for file in written]
    return session.from_arrow(files_table(listing))


def emptied_mix(tables: Mapping[str, duckdb.DuckDBPyRelation]) -> str | None:
    """The first mix of whose candidate rows none is left, with the gate and its commonest reason; null without one.

    A candidate row has passed what the mix selects by; one that is refused then is refused for how it is written, and
    where all are, something they share is wrong: the template, as a rule.
    """
    key = "mix, row_id"
    candidates = tables["candidate_rows"].project("mix, row_id, mix_position").set_alias("candidates")
    turns = tables["mask_audit_turns"].filter("verdict <> 'pass'").aggregate(f"{key}, mode(reason) as turn_reason", key)
    failed = tables["row_gates"].filter("verdict <> 'pass'").project("mix, row_id, gate, reason").set_alias("failed")
    reasons = (
        candidates.join(tables["mix_rows"].project(key).set_alias("held"), key, how="anti")
        .join(failed, key)
        .join(turns.set_alias("turns"), key, how="left")
        .project(
            "mix, mix_position, gate, "
            "case when reason = 'no_trained_turn_passes' then coalesce(turn_reason, reason) else reason end as reason"
        )
        .aggregate("mix, mix_position, gate, reason, count(*) as n_rows", "mix, mix_position, gate, reason")
    )
    left = tables["mix_rows"].project("mix").distinct().set_alias("left_over")
    emptied = (
        candidates.aggregate("mix, count(*) as n_candidates", "mix")
        .join(left, "mix", how="anti")
        .join(reasons.set_alias("reasons"), "mix")
        .order("mix_position, n_rows desc, gate, reason")
        .project("mix, n_candidates, gate, reason, n_rows")
        .limit(1)
        .fetchall()
    )
    if not emptied:
        return None
    mix, n_candidates, gate, reason, n_rows = emptied[0]
    return (
        f"gate {shown(gate)} leaves the mix {shown(mix)} without a row: {n_rows:,} of its {n_candidates:,} candidate "
        f"rows fail for {shown(reason)}; nothing was exported, and the files of the last good build stay"
    )


def unselected_mixes(ledger: duckdb.DuckDBPyRelation) -> list[str]:
    """A sentence for every mix that looked at rows and selected none, with the reason that most of them left for."""
    return [
        f"The mix {mix} is empty: of {looked:,} rows that were looked at none is selected, most left at {reason}."
        for mix, looked, reason in ledger.aggregate(
            "mix, mix_position, sum(rows) filter (where step = 'candidate') as looked, "
            "sum(rows) filter (where step = 'file') as held, "
            "arg_max(reason, rows) filter (where step not in ('candidate', 'file')) as reason",
            "mix, mix_position",
        )
        .filter("held = 0 and looked > 0")
        .order("mix_position")
        .project("mix, looked, reason")
        .fetchall()
    ]


def _audited(tables: Mapping[str, duckdb.DuckDBPyRelation]) -> duckdb.DuckDBPyRelation:
    """The lines of `mask_audit.jsonl`, in the order of the candidates."""
    key = "mix, row_id"
    order = tables["candidate_rows"].project("mix, row_id, mix_position, row_order").set_alias("ordered")
    exported = tables["mix_rows"].project("mix, row_id, true as is_exported").set_alias("exported")
    turns = tables["mask_audit_turns"].aggregate(f"{key}, {_AUDITED_TURNS}", key).set_alias("turns")
    return (
        order.join(tables["mask_audit"].set_alias("audited"), key)
        .join(exported, key, how="left")
        .join(turns, key, how="left")
        .order("mix_position, row_order")
        .project(_AUDITED)
    )


def _run(
    session: duckdb.DuckDBPyConnection,
    model: str,
    landing: str,
    request: Mapping[str, Any],
    inputs: Mapping[str, duckdb.DuckDBPyRelation],
    report_name: str,
) -> dict[str, Any] | None:
    """Hand the inputs over as files, run a step in a process of its own and return its report.

    A fault is left in the warehouse; the result is then null.
    """
    folder, report = Path(landing) / INPUT_FOLDER, Path(landing) / report_name
    paths = {name: folder / f"{request['step']}_{name}.parquet" for name in inputs}
    asked = {
        **request,
        "landing": landing,
        "inputs": {name: str(path) for name, path in paths.items()},
        "report": str(report),
        "workers": int(os.environ.get("ASSAY_THREADS") or 0) or None,
        "watched": is_watched(),
    }
    try:
        with writing(Path(landing)):
            folder.mkdir(parents=True, exist_ok=True)
            report.unlink(missing_ok=True)
            for name, relation in inputs.items():
                relation.write_parquet(str(paths[name]), compression="zstd")
        fault = run_apart(["-m", "assay.mixes.step"], json.dumps(asked))
    except AssayError as error:
        fault = str(error)
    leave_fault(session, model, fault)
    if fault is not None:
        return None
    said: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    return said


def main() -> int:
    """Do what the request on standard input says; a fault is one sentence on standard error."""
    request = json.load(sys.stdin)
    landing = Path(request["landing"])
    inputs = {name: Path(path) for name, path in request["inputs"].items()}
    shared = (request["workers"], request["watched"])
    try:
        if request["step"] == "audit":
            tokenizer = tokenizer_folder(request["tokenizer"], request["raw_root"])
            limit, today = request["max_row_tokens"], request["chat_template_date"]
            audited = audit_tree(inputs["rows"], landing, tokenizer, limit, *shared, today)
            said: dict[str, Any] = {**vars(audited), "sentence": audited.sentence()}
        else:
            exports, mixes, finals = Path(request["exports"]), request["mixes"], request["finals"]
            written = export_mixes(inputs["rows"], inputs["audit"], landing, exports, mixes, finals, *shared)
            said = {"files": [vars(file) for file in written]}
        with writing(landing):
            Path(request["report"]).write_text(json.dumps(said), encoding="utf-8")
    except (AssayError, ValueError) as error:
        print(f"assay: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
