"""Why a row is in the mixes, or at which gate, and on which value, a row or turn left. Source: the tables of a build.

Names are read as people write them: those of `mixes.mix_rows` and of turns, with or without their mix, with or without
zeros before a number; a file and a line; a JSON object with the columns of a key.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from assay import settings
from assay.errors import AssayError
from assay.names import printable, shown
from assay.warehouse import open_for_reading
from assay.warehouse_plugin import describe

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
LONGEST_SENTENCE = 400
"""Characters of a judge's sentence that are shown."""

_SIDE_OF_A_DUEL = re.compile(
    r"(?P<sample>.+?)(?:#r0*(?P<rollout>[0-9]{1,15}))?/(?P<side>king|challenger)(?:/0*(?P<turn>[0-9]{1,15}))?",
    re.DOTALL,
)
_PLACE = re.compile(
    r"(?P<file>.+?)(?:#|:| line )0*(?P<line>[0-9]{1,15})(?:(?:/|, side )(?P<side>king|challenger))?"
    r"(?:(?:/|:|, turn )0*(?P<turn>[0-9]{1,15}))?(?:, message (?P<message>[0-9]{1,15}))?",
    re.DOTALL,
)
_NAMES_IN_JSON = ("row_id", "turn_id", "side_id", "id", "name")
_FILES_IN_JSON, _LINES_IN_JSON = ("artifact_id", "text_artifact_id", "file"), ("line", "text_line")
_LONGEST_COMPARED = 200
_NEAR = 3

Row = dict[str, Any]


@dataclass(frozen=True)
class Name:
    """What a name says: a mix perhaps; a side, by its name or by file, line and perhaps side; and perhaps a turn."""

    mix: str | None
    side_id: str | None = None
    file: str | None = None
    line: int | None = None
    side: str | None = None
    turn: int | None = None
    message: int | None = None


def run(name: str, db: str | None) -> int:
    """Print the explanation; raise `AssayError` where the warehouse or the name is not known."""
    with open_warehouse(settings.warehouse() if db is None else db) as connection:
        for line in explain(connection, printable(name)):
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
        "(('mixes', 'mix_turns'), ('gates', 'row_gates'), ('intermediate', 'mix_turn_outcomes'))"
    ).fetchone()
    if found is None or found[0] < 3:
        connection.close()
        raise AssayError(f"the warehouse {shown(path)} has no mixes yet: run `dbt build` first")
    return connection


def explain(connection: duckdb.DuckDBPyConnection, name: str) -> Iterator[str]:
    """Yield the lines that say what became of the row or turn of this name; raise `AssayError` for an unknown one."""
    tables = _Tables(connection)
    try:
        yield from _lines(tables, name)
    except duckdb.IOException as error:
        reason = str(error).partition("\n")[0].removeprefix("IO Error: ")
        raise AssayError(f"the landed files beside the warehouse cannot be read: {shown(reason)}") from None


def _lines(tables: "_Tables", name: str) -> Iterator[str]:
    units = {row["mix"]: row["unit"] for row in tables.rows("select mix, unit from seeds.mix_plan")}
    found = [(read, side) for read in names_of(name, units) for side in _sides(tables, read)]
    if not found:
        raise AssayError(_unknown(tables, name, units))
    for read, side in found:
        if read.turn is None and read.message is None:
            yield from _side_lines(tables, side, read.mix)
        else:
            yield from _turn_of(tables, side, read)


# --- names


def names_of(text: str, mixes: Mapping[str, str]) -> list[Name]:
    """The ways to read a name, the likelier first; the first part of a path is a mix where one has its name."""
    if text.lstrip().startswith("{"):
        return _names_in_json(text, mixes)
    mix, slash, rest = text.strip().partition("/")
    named, words = (mix, rest) if slash and mix in mixes else (None, text.strip())
    read = []
    if duel := _SIDE_OF_A_DUEL.fullmatch(words):
        side_id = f"{duel['sample']}#r{int(duel['rollout'] or 1)}/{duel['side']}"
        read.append(Name(named, side_id=side_id, turn=_number_in(duel["turn"])))
    if place := _PLACE.fullmatch(words):
        line, turn, message = int(place["line"]), _number_in(place["turn"]), _number_in(place["message"])
        read.append(Name(named, file=place["file"], line=line, side=place["side"], turn=turn, message=message))
    return read


def _number_in(digits: str | None) -> int | None:
    return None if digits is None else int(digits)


def _names_in_json(text: str, mixes: Mapping[str, str]) -> list[Name]:
    try:
        key = json.loads(text)
    except (ValueError, RecursionError):
        return []
    for column in _NAMES_IN_JSON:
        if isinstance(key.get(column), str) and not key[column].lstrip().startswith("{"):
            return names_of(key[column], mixes)
    mix = key.get("mix") if key.get("mix") in list(mixes) else None
    side = key.get("side") or key.get("text_side")
    turn = key.get("turn") if isinstance(key.get("turn"), int) else None
    if "sample_id" in key:
        side_id = f"{key.get('eval_run_id')}/{key['sample_id']}#r{key.get('rollout', 1)}/{side}"
        return [Name(mix, side_id=side_id, turn=turn)]
    file = next((key[column] for column in _FILES_IN_JSON if isinstance(key.get(column), str)), None)
    line = next((key[column] for column in _LINES_IN_JSON if isinstance(key.get(column), int)), None)
    if file is None or line is None:
        return []
    return [Name(mix, file=file, line=line, side=side if isinstance(side, str) else None, turn=turn)]


def _sides(tables: "_Tables", name: Name) -> list[Row]:
    """The sides of a name: a line of a duel without a side has two, and a name may be the end of a longer one."""
    if name.side_id is not None:
        found = tables.rows(
            "select * from intermediate.mix_sides where side_id = ? or ends_with(side_id, '/' || ?) order by side_id",
            name.side_id, name.side_id,
        )  # fmt: skip
        return [side for side in found if side["side_id"] == name.side_id] or found
    found = tables.rows(
        "select * from intermediate.mix_sides where (artifact_id = ? or ends_with(artifact_id, '/' || ?)) and line = ? "
        "and (? is null or side = ?) order by artifact_id, side_id",
        name.file, name.file, name.line, name.side, name.side,
    )  # fmt: skip
    return [side for side in found if side["artifact_id"] == name.file] or found


def _unknown(tables: "_Tables", text: str, mixes: Mapping[str, str]) -> str:
    example = tables.one("select row_id from mixes.mix_rows order by mix_position, row_order limit 1").get("row_id")
    turn = tables.one("select turn_id from intermediate.mix_turn_outcomes order by mix, turn_id limit 1")
    hint = f", for example {shown(example)}" if example else ""
    also = f"; a turn is named like {shown(turn['turn_id'])}" if turn else ""
    near = tables.rows(
        "select side_id from intermediate.mix_sides "
        "order by instance_id = ? desc, levenshtein(left(side_id, ?), ?), side_id limit ?",
        text, _LONGEST_COMPARED, _side_part(text, mixes)[:_LONGEST_COMPARED], _NEAR,
    )  # fmt: skip
    meant = f"; did you mean {' or '.join(shown(side['side_id']) for side in near)}?" if near else ""
    return f"no row or turn of the mixes is named {shown(text)}: rows are in mixes.mix_rows{hint}{also}{meant}"


def _side_part(text: str, mixes: Mapping[str, str]) -> str:
    """What of a name may be that of a side, written as sides are: without its mix and turn, and lines padded."""
    for read in names_of(text, mixes):
        return read.side_id or f"{read.file}#{read.line:09d}"
    mix, slash, rest = text.partition("/")
    return rest if slash and mix in mixes else text


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


# --- sides and rows


def _side_lines(tables: _Tables, side: Row, mix: str | None) -> Iterator[str]:
    """The rows that a side is, of one mix or of all; a side that is none says what became of its turns."""
    rows = tables.rows(
        "select * from intermediate.mix_candidates where side_id = ? and turn_id is null and coalesce(mix = ?, true) "
        "order by mix",
        side["side_id"], mix,
    )  # fmt: skip
    for row in rows:
        yield from _row_lines(tables, row)
    if rows:
        return
    yield f"{shown(side['side_id'])}: {_place(side['artifact_id'], side['line'], side['text_side'])}"
    yield f"  {side['n_turns']} turns; task {shown(side['instance_id'])}"
    counts = tables.rows(
        "select mix, outcome, gate, count(*) as n_turns from intermediate.mix_turn_outcomes "
        "where side_id = ? and coalesce(mix = ?, true) group by mix, outcome, gate order by mix, n_turns desc, gate",
        side["side_id"], mix,
    )  # fmt: skip
    for count in counts:
        words = f"left at {count['gate']}" if count["outcome"] == "left" else "train"
        yield f"  {count['mix']}: {count['n_turns']} turns {words}"
    if not counts:
        yield f"  no mix takes a turn of it: its source is {side['source']}"


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
    yield f"  text: {_place(row['artifact_id'], row['line'], row['text_side'])}; task {shown(row['instance_id'])}"
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
        "select * from intermediate.mix_turn_outcomes where mix = ? and row_id = ? order by turn", mix, row_id
    )
    yield "  turns:"
    for turn in turns:
        yield f"    turn {turn['turn']}{_message(turn)}: {_outcome_words(turn, of_row=True)}"
        if turn["outcome"] == "train":
            yield f"      passes {', '.join(gate['gate'] for gate in _turn_gates(tables, turn))}"
            yield from (f"      {line}" for line in _judge_lines(tables, turn))


# --- turns


def _turn_of(tables: _Tables, side: Row, name: Name) -> Iterator[str]:
    turn = tables.one(
        "select * from intermediate.mix_turn_facts where side_id = ? and coalesce(turn = ?, message_index = ?)",
        side["side_id"], name.turn, name.message,
    )  # fmt: skip
    if not turn:
        which = f"turn {name.turn}" if name.turn is not None else f"turn in message {name.message}"
        raise AssayError(f"{shown(side['side_id'])} has no {which}: it has {side['n_turns']} turns, from 1")
    row = tables.one(
        "select * from intermediate.mix_candidates where mix = ? and turn_id = ?", name.mix, turn["turn_id"]
    )
    if row:
        yield from _row_lines(tables, row)
    else:
        yield from _turn_lines(tables, side, turn, name.mix)


def _turn_lines(tables: _Tables, side: Row, turn: Row, mix: str | None) -> Iterator[str]:
    place = _place(side["artifact_id"], side["line"], side["text_side"])
    yield f"{shown(turn['turn_id'])}: {place}{_message(turn)}"
    facts = tables.one(
        "select * from intermediate.int_turns where artifact_id = ? and line = ? and side = ? and turn = ?",
        side["artifact_id"], side["line"], side["side"], turn["turn"],
    )  # fmt: skip
    blocks = "1 bash block" if facts["n_bash_blocks"] == 1 else f"{facts['n_bash_blocks']} bash blocks"
    yield (
        f"  {facts['command_kind']}, {blocks}, think {facts['think_state']}"
        f"{', repeats an earlier command' if facts['is_repeat'] else ''}"
        f"{', follows a failed observation' if facts['follows_failure'] else ''}"
        f"{', leaves a run of equal commands' if facts['leaves_repeats'] else ''}"
    )
    outcomes = tables.rows(
        "select * from intermediate.mix_turn_outcomes where turn_id = ? and coalesce(mix = ?, true) order by mix",
        turn["turn_id"], mix,
    )  # fmt: skip
    for outcome in outcomes:
        yield f"  {outcome['mix']}: {_outcome_words(outcome, of_row=False)}"
        if outcome["outcome"] == "train":
            yield from (f"    passes {_gate_words(gate)}" for gate in _turn_gates(tables, outcome))
    if not outcomes:
        yield f"  no mix takes it: its source is {side['source']}"
    yield from (f"  {line}" for line in _judge_lines(tables, turn))


def _outcome_words(outcome: Row, of_row: bool) -> str:
    row_id = shown(outcome["row_id"])
    within = "" if of_row else f" in row {row_id}"
    if outcome["outcome"] == "train":
        return f"trains{within}"
    if outcome["outcome"] == "context":
        return f"is context{within}: {_gate_words(outcome)}"
    return f"left at {outcome['step']}, {_gate_words(outcome)}{'' if of_row else f' (row {row_id})'}"


def _turn_gates(tables: _Tables, outcome: Row) -> list[Row]:
    """The gates of turns that a turn was asked on its way into a mix, in their order."""
    return tables.rows(
        "select * from intermediate.mix_turn_gates where mix = ? and turn_id = ? order by step_order",
        outcome["mix"], outcome["turn_id"],
    )  # fmt: skip


def _gate_words(gate: Row) -> str:
    """What a gate saw and what it asks; and where it does not pass, why there is such a gate."""
    stated = f"{gate['gate']}: {shown(gate['statement'])}"
    return f"{stated}: {shown(gate['reason'])}" if gate["verdict"] == "fail" and gate["reason"] else stated


def _place(artifact: str, line: int, side: str | None) -> str:
    return f"{shown(artifact)} line {line}{f', side {side}' if side else ''}"


def _message(turn: Row) -> str:
    return "" if turn["message_index"] is None else f", message {turn['message_index']}"


# --- judges


def _judge_lines(tables: _Tables, turn: Row) -> Iterator[str]:
    """What judges said of a turn: the question, the answer and the sentence that cites it, with file and line."""
    said = tables.rows(
        "select * from credit.explained_citations where turn_id = ? and form = 'strict' and valid "
        "order by judge_index, question_index",
        turn["turn_id"],
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
