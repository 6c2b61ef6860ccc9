"""Why a row is in the mixes, or at which gate, and on which value, a row or turn left. Source: the tables of a build.

Names are those of `mixes.mix_rows` (`credit/<run>/<sample>#r<rollout>/<side>`) and of turns
(`<run>/<sample>#r<rollout>/<side>/<turn>`, `<file>#<line>/<turn>`); a side or trajectory alone is taken too.
"""

import argparse
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb

from assay.errors import AssayError
from assay.names import printable, shown
from assay.warehouse import open_for_reading
from assay.warehouse_plugin import describe

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
LONGEST_SENTENCE = 400
"""Characters of a judge's sentence that are shown."""

Row = dict[str, Any]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the name to explain and the warehouse to look in."""
    parser.add_argument(
        "name",
        metavar="ROW_OR_TURN",
        help="a row (credit/<run>/<sample>#r<rollout>/<side>, finish_mini/<file>#<line>), or a turn of a duel "
        "(<run>/<sample>#r<rollout>/<side>/<turn>) or of a trajectory (<file>#<line>/<turn>), with or without its mix",
    )
    parser.add_argument(
        "--db",
        metavar="FILE",
        default=os.environ.get("ASSAY_DB", "warehouse.duckdb"),
        help="the warehouse (default: ASSAY_DB, else warehouse.duckdb)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the explanation; raise `AssayError` where the warehouse or the name is not known."""
    with open_warehouse(arguments.db) as connection:
        for line in explain(connection, printable(arguments.name)):
            print(line)
    return 0


def open_warehouse(path: str) -> duckdb.DuckDBPyConnection:
    """Open a built warehouse for reading alone; raise `AssayError` with one sentence where that cannot be."""
    if not Path(path).is_file():
        raise AssayError(f"there is no warehouse {shown(path)}: run `dbt build` first, or name one with --db")
    try:
        connection = open_for_reading(path)
    except duckdb.Error as error:
        raise AssayError(describe(shown(path), str(error))) from None
    found = connection.execute(
        "select count(*) from information_schema.tables where (table_schema, table_name) in "
        "(('mixes', 'mix_turns'), ('gates', 'row_gates'), ('intermediate', 'int_mix_turn_outcomes'))"
    ).fetchone()
    if found is None or found[0] < 3:
        connection.close()
        raise AssayError(f"the warehouse {shown(path)} has no mixes yet: run `dbt build` first")
    return connection


def explain(connection: duckdb.DuckDBPyConnection, name: str) -> Iterator[str]:
    """Yield the lines that say what became of the row or turn of this name; raise `AssayError` for an unknown one."""
    tables = _Tables(connection)
    try:
        outcomes = tables.rows("select * from intermediate.int_mix_turn_outcomes where turn_id = ? order by mix", name)
        if outcomes:
            yield from _turn_lines(tables, outcomes)
            return
        mixes = ("credit", "finish_mini")
        row_ids = [name, *(f"{mix}/{name}" for mix in mixes)]
        marks = ", ".join("?" for _ in row_ids)
        known = tables.rows(f"select * from intermediate.int_mix_rows where row_id in ({marks}) order by mix", *row_ids)
        if known:
            for row in known:
                yield from _row_lines(tables, row)
            return
        # A turn that failed its own gates never became a row of an escape mix.
        outcomes = tables.rows(
            "select * from intermediate.int_mix_turn_outcomes where row_id = ? or mix || '/' || turn_id = ? "
            "order by mix, turn",
            name, name,
        )  # fmt: skip
    except duckdb.IOException as error:
        reason = str(error).partition("\n")[0].removeprefix("IO Error: ")
        raise AssayError(f"the landed files beside the warehouse cannot be read: {shown(reason)}") from None
    if not outcomes:
        raise AssayError(_unknown(tables, name))
    yield from _turn_lines(tables, outcomes)


class _Tables:
    """Asks the warehouse and answers with dictionaries."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def rows(self, query: str, *parameters: Any) -> list[Row]:
        answer = self._connection.execute(query, list(parameters))
        names = [column[0] for column in answer.description or []]
        return [dict(zip(names, values, strict=True)) for values in answer.fetchall()]

    def one(self, query: str, *parameters: Any) -> Row:
        found = self.rows(query, *parameters)
        return found[0] if found else {}


def _unknown(tables: _Tables, name: str) -> str:
    example = tables.one("select row_id from mixes.mix_rows order by mix_position, row_order limit 1").get("row_id")
    turn = tables.one("select turn_id from intermediate.int_mix_turn_outcomes order by mix, turn_id limit 1")
    hint = f", for example {shown(example)}" if example else ""
    also = f"; a turn is named like {shown(turn['turn_id'])}" if turn else ""
    return f"no row or turn of the mixes is named {shown(name)}: rows are in mixes.mix_rows{hint}{also}"


# --- rows


def _row_lines(tables: _Tables, row: Row) -> Iterator[str]:
    mix, row_id = row["mix"], row["row_id"]
    gates = tables.rows("select * from gates.row_gates where mix = ? and row_id = ? order by step_order", mix, row_id)
    written = tables.one("select * from mixes.mix_rows where mix = ? and row_id = ?", mix, row_id)
    failed = next((gate for gate in gates if gate["verdict"] != "pass"), None)
    if written:
        finals = [final for final in ("final_v1", "final_v2") if written[f"in_{final}"]]
        yield (
            f"{shown(row_id)} is in: row {written['row_order']} of {mix}, split {written['split']}"
            f"{', in ' + ' and '.join(finals) if finals else ''}"
        )
    elif failed:
        yield f"{shown(row_id)} is not in: it left at {failed['step']}, {_gate_words(failed)}"
    else:
        yield f"{shown(row_id)} is not in, although every gate passes: build again"
    yield f"  text: {_place(row['artifact_id'], row['line'], row['side'])}; task {shown(row['instance_id'])}"
    if written:
        yield (
            f"  {written['n_messages']} messages, {written['n_train_turns']} train; {written['n_tokens']} tokens, "
            f"{written['n_trained_tokens']} train"
        )
    yield "  gates:"
    for gate in gates:
        yield f"    {gate['verdict']:<8}{gate['step']}: {_gate_words(gate)}"
    if not written:
        return
    turns = tables.rows(
        "select * from intermediate.int_mix_turn_outcomes where mix = ? and row_id = ? order by turn", mix, row_id
    )
    yield "  turns:"
    passed = _passed(tables, mix)
    for turn in turns:
        yield f"    turn {turn['turn']}{_message(turn)}: {_outcome_words(tables, turn, of_row=True)}"
        if turn["outcome"] == "train":
            yield f"      {passed}"
            yield from (f"      {line}" for line in _judge_lines(tables, turn))


# --- turns


def _turn_lines(tables: _Tables, outcomes: Sequence[Row]) -> Iterator[str]:
    first = outcomes[0]
    yield f"{shown(first['turn_id'])}: {_place(first['artifact_id'], first['line'], first['side'])}{_message(first)}"
    facts = tables.one(
        "select * from intermediate.int_turns where artifact_id = ? and line = ? and side = ? and turn = ?",
        first["artifact_id"], first["line"], first["side"] or "agent", first["turn"],
    )  # fmt: skip
    if facts:
        blocks = "1 bash block" if facts["n_bash_blocks"] == 1 else f"{facts['n_bash_blocks']} bash blocks"
        yield (
            f"  {facts['command_kind']}, {blocks}, think {facts['think_state']}"
            f"{', repeats an earlier command' if facts['is_repeat'] else ''}"
            f"{', follows a failed observation' if facts['follows_failure'] else ''}"
            f"{', leaves a run of equal commands' if facts['leaves_repeats'] else ''}"
        )
    for outcome in outcomes:
        yield f"  {outcome['mix']}: {_outcome_words(tables, outcome, of_row=False)}"
        if outcome["outcome"] == "train":
            yield f"    {_passed(tables, outcome['mix'])}"
    yield from (f"  {line}" for line in _judge_lines(tables, first))


def _outcome_words(tables: _Tables, outcome: Row, of_row: bool) -> str:
    row_id = shown(outcome["row_id"])
    within = "" if of_row else f" in row {row_id}"
    if outcome["outcome"] == "train":
        return f"trains{within}"
    gate = _decisive_gate(tables, outcome)
    if outcome["outcome"] == "context":
        return f"is context{within}: {_gate_words(gate)}"
    return f"left at {outcome['step']}, {_gate_words(gate)}{'' if of_row else f' (row {row_id})'}"


def _passed(tables: _Tables, mix: str) -> str:
    """The gates that a turn passed on its way into a mix, in their order."""
    gates = tables.one(
        "select string_agg(gate, ', ' order by step_order) as names from seeds.mix_steps "
        "where mix = ? and unit = 'turn'",
        mix,
    )  # fmt: skip
    return f"passes {gates['names']}"


def _decisive_gate(tables: _Tables, outcome: Row) -> Row:
    """The gate that decided over a turn, with value, limit and reason, from the table that holds it."""
    mix, gate = outcome["mix"], outcome["gate"]
    step = tables.one("select * from seeds.mix_steps where mix = ? and gate = ?", mix, gate)
    found = tables.one(
        "select * from gates.row_gates where mix = ? and row_id = ? and gate = ?", mix, outcome["row_id"], gate
    )
    if not found and step.get("unit") in ("side", "turn") and outcome["side"] is not None:
        key = (outcome["artifact_id"], outcome["line"], outcome["side"])
        table, more = ("turn_gates", " and gates.turn = ?") if step["unit"] == "turn" else ("side_gates", "")
        values = (gate, *key, *([outcome["turn"]] if more else []))
        found = tables.one(
            f"select gates.* from gates.{table} as gates inner join intermediate.int_mix_duel_sides as sides "
            "using (eval_run_id, sample_id, rollout, side) where gates.gate = ? and sides.artifact_id = ? "
            f"and sides.line = ? and sides.side = ?{more}",
            *values,
        )
    if not found and outcome["side"] is None:
        found = tables.one(
            "select verdicts.gate, verdicts.value, verdicts.verdict, "
            "coalesce(limits.comparison, steps.comparison) as comparison, "
            'coalesce(limits.limit_value, steps.limit_value, case verdicts.gate when \'after_cutoff\' '
            "then plan.window_first_turn when 'within_window' then plan.window_last_turn end) as \"limit\", "
            "coalesce(limits.reason, steps.reason) as reason "
            "from intermediate.int_mix_mini_turn_verdicts as verdicts "
            "inner join seeds.mix_steps as steps using (mix, gate) inner join seeds.mix_plan as plan using (mix) "
            "left join seeds.gate_limits as limits using (gate) where verdicts.mix = ? and verdicts.artifact_id = ? "
            "and verdicts.line = ? and verdicts.turn = ? and verdicts.gate = ?",
            mix, outcome["artifact_id"], outcome["line"], outcome["turn"], gate,
        )  # fmt: skip
    if gate == "span_proven":
        audited = tables.one(
            "select audit_reason from intermediate.int_mix_audited_messages where mix = ? and row_id = ? and turn = ?",
            mix, outcome["row_id"], outcome["turn"],
        )  # fmt: skip
        # Unlike other values this one is a yes or no that the outcome already gives.
        value = None if outcome["verdict"] == "unknown" else 0.0
        step = {**step, "value": value, "reason": audited.get("audit_reason") or step.get("reason")}
    return {
        "value": None,
        "comparison": None,
        "limit": step.get("limit_value"),
        **step,
        **found,
        "gate": gate,
        "verdict": outcome["verdict"],
    }


def _gate_words(gate: Row) -> str:
    value = "" if gate["value"] is None else f" is {_number(gate['value'])}"
    if gate["verdict"] == "unknown":
        value = " is unknown"
    asked = f", asked {gate['comparison'].replace('_', ' ')} {_number(gate['limit'])}" if gate["comparison"] else ""
    stated = f"{gate['gate']}{value}{asked}"
    return f"{stated}: {shown(gate['reason'])}" if gate.get("reason") and gate["verdict"] != "pass" else stated


def _number(value: float | None) -> str:
    return "not known" if value is None else f"{value:.6g}"


def _place(artifact: str, line: int, side: str | None) -> str:
    return f"{shown(artifact)} line {line}{f', side {side}' if side else ''}"


def _message(turn: Row) -> str:
    return "" if turn["message_index"] is None else f", message {turn['message_index']}"


# --- judges


def _judge_lines(tables: _Tables, turn: Row) -> Iterator[str]:
    """What judges said of a turn: the question, the answer and the sentence that cites it, with file and line."""
    if turn["side"] is None:
        return
    said = tables.rows(
        """
        select answers.*, sides.scoring_artifact_id, sides.scoring_line, texts.explanation, questions.question
        from intermediate.int_mix_duel_sides as names
        inner join credit.sides as sides using (eval_run_id, sample_id, rollout, side)
        inner join credit.citations as citations using (eval_run_id, sample_id, rollout, side)
        inner join credit.answers as answers
            using (eval_run_id, sample_id, rollout, side, judge_index, question_id)
        left join staging.stg_sn97__answers as texts
            on sides.scoring_artifact_id = texts.artifact_id and sides.scoring_line = texts.line
            and sides.side = texts.side and answers.judge_index = texts.judge_index
            and answers.question_id = texts.question_id
        left join credit.questions as questions
            on answers.eval_run_id = questions.eval_run_id and answers.sample_id = questions.sample_id
            and answers.rollout = questions.rollout and answers.question_id = questions.question_id
        where names.artifact_id = ? and names.line = ? and names.side = ? and citations.turn = ?
            and citations.form = 'strict' and citations.valid
        order by answers.judge_index, answers.question_index
        """,
        turn["artifact_id"], turn["line"], turn["side"], turn["turn"],
    )  # fmt: skip
    for answer in said:
        worth = f"earned {answer['weight']:g}" if answer["earned"] else "earned nothing"
        tag = f" ({shown(answer['tag'])})" if answer["tag"] else ""
        yield f"{shown(answer['question_id'])}{tag}, {worth}: {shown(answer['question'] or '')}"
        sentence = sentence_citing(answer["explanation"] or "", turn["turn"])
        yield (
            f'  {shown(answer["judge_model"] or "the judge")}: "{shown(sentence)}" '
            f"[{_place(answer['scoring_artifact_id'], answer['scoring_line'], None)}]"
        )


def sentence_citing(explanation: str, turn: int) -> str:
    """The first sentence that cites `CANDIDATE OUTPUT <turn>`, shortened where it is long; empty where none does."""
    cited = re.compile(rf"CANDIDATE OUTPUT {turn}(?![0-9])")
    for sentence in _SENTENCE_END.split(explanation):
        if cited.search(sentence):
            words = sentence.strip()
            return words if len(words) <= LONGEST_SENTENCE else words[: LONGEST_SENTENCE - 1] + "…"
    return ""
