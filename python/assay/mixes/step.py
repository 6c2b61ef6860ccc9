"""The mask audit and the export as a build runs them: in a process of its own, between tables of the warehouse."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb

from assay.errors import AssayError
from assay.exporting import FILES, files_table, inputs_sha256, rules_json
from assay.mixes.export import FINALS, FOLDER, export_mixes
from assay.mixes.run import ROWS, STEPS, audit_tree, outputs_of
from assay.mixes.tokenizer import tokenizer_folder
from assay.names import shown
from assay.settings import threads
from assay.steps.process import apart
from assay.steps.warehouse import SCHEMA, hand_over, publish, step_of_a_model

PROVEN_WITH = ("tokenizer", "tokenizer_sha256", "template_sha256", "template_date")
SOURCES = ("sn97", "mini_coder", "tokenizer")
_PLACE = "mix, row_id, text_source, text_artifact_id, text_line, text_side"
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
_PAIR = """
    row_id, split, text_artifact_id, text_line, chosen_side, rejected_side, n_prompt_messages, chosen_score,
    rejected_score, reasons, chosen_tokens, rejected_tokens
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


@step_of_a_model(ROWS)
def audit_step(
    session: duckdb.DuckDBPyConnection,
    landing: str,
    settings: Mapping[str, Any],
    rows: duckdb.DuckDBPyRelation,
    messages: duckdb.DuckDBPyRelation,
    subject: str = "mix",
) -> duckdb.DuckDBPyRelation:
    """Audit the candidate rows of mixes, or the sides of preference pairs, and return the verdicts, one a row.

    `settings` are tokenizer (a folder or the like; empty: that of the raw tree), raw_root, max_row_tokens and
    chat_template_date. `rows` has mix, row_id, text_source, text_artifact_id, text_line, text_side; `messages` mix,
    row_id, message_index, text_message_index, train.
    """
    listed = messages.aggregate(f"mix, row_id, {_LISTED}", "mix, row_id")
    joined = rows.project(_PLACE).set_alias("candidates").join(listed.set_alias("listed"), "mix, row_id")
    tokenizer = tokenizer_folder(settings["tokenizer"], settings["raw_root"])
    given = hand_over(landing, f"{STEPS[subject]}_rows", joined)
    limit, today = settings["max_row_tokens"], settings["chat_template_date"]
    report = apart(audit_tree, given, Path(landing), tokenizer, limit, threads(), today, subject)
    if subject == "mix":
        print(report.sentence())
    tables = outputs_of(subject)
    publish(session, landing, tables)
    rows_table, _ = tables
    return session.sql(f"select * from {SCHEMA}.{rows_table} order by mix, row_id")


def pair_audit_step(
    session: duckdb.DuckDBPyConnection,
    model: str,
    landing: str,
    settings: Mapping[str, Any],
    messages: duckdb.DuckDBPyRelation,
) -> duckdb.DuckDBPyRelation:
    """Audit both sides of the preference pairs: a row a side, `mix` being `chosen` or `rejected`.

    `messages` are those of the sides up to the reply that alone trains; its reason is that of the side.
    """
    sides = messages.project(_PLACE).distinct()
    audited = audit_step(session, model, landing, settings, sides, messages, "pair").set_alias("audited")
    if not audited.limit(1).fetchall():
        return audited
    _, turns_table = outputs_of("pair")
    audited_turns: duckdb.DuckDBPyRelation = session.table(f"{SCHEMA}.{turns_table}")
    turns = audited_turns.project("mix, row_id, reason as turn_reason").set_alias("turns")
    reason = "case when reason = 'no_trained_turn_passes' then turn_reason else reason end as reason"
    return (
        audited.join(turns, "mix, row_id").project(f"* exclude (turn_reason) replace ({reason})").order("mix, row_id")
    )


@step_of_a_model(FILES)
def export_step(
    session: duckdb.DuckDBPyConnection,
    landing: str,
    exports: str,
    tables: Mapping[str, duckdb.DuckDBPyRelation],
    settings: Mapping[str, Any],
) -> duckdb.DuckDBPyRelation:
    """Write the mixes below `exports`/mixes and return the table of `FILES`.

    `tables` are mix_rows, mix_turns, candidate_rows, candidate_messages, mask_audit, mask_audit_turns, row_gates,
    drop_ledger, pair_rows, mix_plan and artifacts; `settings` are named in the table beside the plan. When something
    cannot be written, or the candidate rows of a mix are all refused, files of an earlier build stay as they were.
    """
    if emptied := emptied_mix(tables) or emptied_pairs(tables["pair_rows"]):
        raise AssayError(emptied)
    for sentence in unselected_mixes(tables["drop_ledger"]):
        print(sentence)
    listed = tables["candidate_messages"].aggregate(f"mix, row_id, {_LISTED}", "mix, row_id")
    turns = tables["mix_turns"].filter("train").aggregate(f"mix, row_id, {_TURNS}", "mix, row_id")
    rows = tables["mix_rows"].project(_EXPORTED).set_alias("mix_rows")
    joined = rows.join(listed.set_alias("listed"), "mix, row_id").join(turns.set_alias("turns"), "mix, row_id")
    plan = tables["mix_plan"].order("position").to_arrow_table().to_pylist()
    finals = {final: [row["mix"] for row in plan if row[f"in_{final}"]] for final in FINALS}
    mixes = [row["mix"] for row in plan]
    lines = hand_over(landing, "mix_export_rows", joined)
    audit = hand_over(landing, "mix_export_audit", _audited(tables))
    pairs = hand_over(landing, "mix_export_pairs", exported_pairs(tables["pair_rows"]))
    written = apart(export_mixes, lines, audit, pairs, Path(landing), Path(exports), mixes, finals, threads())
    used = tables["mask_audit"].aggregate(", ".join(f"max({name})" for name in PROVEN_WITH)).fetchall()[0]
    rules = rules_json({"mix_plan": plan, **dict(zip(PROVEN_WITH, used, strict=True)), **settings})
    inputs = inputs_sha256(tables["artifacts"], SOURCES)
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


def emptied_pairs(pair_rows: duckdb.DuckDBPyRelation) -> str | None:
    """The same of the preference pairs: all whose sides were audited were refused."""
    audited = pair_rows.filter("chosen_verdict is not null")
    n_pairs, n_left, reason = audited.aggregate(
        "count(*), count(*) filter (where is_exported), mode(drop_reason)"
    ).fetchall()[0]
    if not n_pairs or n_left:
        return None
    return (
        f"the mask audit leaves none of {n_pairs:,} preference pairs, most often for {shown(reason)}; nothing was "
        "exported, and the files of the last good build stay"
    )


def exported_pairs(pair_rows: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """The pairs of the files, in their order."""
    return pair_rows.filter("is_exported").order("text_artifact_id, text_line").project(_PAIR)


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
