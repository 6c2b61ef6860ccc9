"""`assay explain` on the bundled sample, and where there is nothing to explain."""

import json
import multiprocessing
import re
import shutil
from collections.abc import Iterator
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import duckdb
import pytest
from assay.cli import main
from assay.errors import AssayError
from assay.explain import LONGEST_SENTENCE, explain, open_warehouse, sentence_citing


@pytest.fixture(scope="module")
def connection(sample_warehouse: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with open_warehouse(str(sample_warehouse)) as opened:
        yield opened


def one(connection: duckdb.DuckDBPyConnection, query: str) -> dict[str, Any]:
    answer = connection.execute(query)
    names = [column[0] for column in answer.description or []]
    found = answer.fetchone()
    assert found is not None, query
    return dict(zip(names, found, strict=True))


def test_a_row_that_is_in_says_where_it_is_from_and_what_judges_said(connection: duckdb.DuckDBPyConnection) -> None:
    row = one(connection, "select * from mixes.mix_rows where mix = 'credit' order by row_order limit 1")
    lines = list(explain(connection, row["row_id"]))
    assert f"row {row['row_order']} of credit, split {row['split']}, in final_v1 and final_v2" in lines[0]
    assert f"{row['text_artifact_id']} line {row['text_line']}, side {row['text_side']}" in lines[1]
    gates = [line for line in lines if line.startswith("    pass")]
    assert any("the score is " in line and "(asked: at least 0.85)" in line for line in gates)
    assert any(line.endswith("not_looped: the side repeats no command loop (asked: no loop)") for line in gates)
    trains = [line for line in lines if line.endswith(": trains")]
    assert len(trains) == row["n_train_turns"]
    said = [line for line in lines if "CANDIDATE OUTPUT" in line and "scoring-results.jsonl line" in line]
    assert len(said) >= len(trains)


def test_what_trains_says_which_gates_it_passed(connection: duckdb.DuckDBPyConnection) -> None:
    for mix, gate in (("escape_mini", "breaks_out"), ("escape_duel", "is_escape"), ("finish_mini", "not_repeat")):
        row = one(connection, f"select row_id from mixes.mix_rows where mix = '{mix}' order by row_order")
        passed = [line for line in explain(connection, row["row_id"]) if line.lstrip().startswith("passes ")]
        assert passed and all(gate in line.replace(",", "").split() for line in passed)


def test_a_turn_is_found_by_its_mix_too(connection: duckdb.DuckDBPyConnection) -> None:
    found = "mix in ('credit', 'finish_mini') and outcome = 'train' order by mix, turn_id"
    turn = one(connection, f"select mix, turn_id from intermediate.mix_turn_outcomes where {found}")
    named = list(explain(connection, f"{turn['mix']}/{turn['turn_id']}"))
    assert named[0].startswith(f"{turn['turn_id']}: ")
    assert any(line.startswith(f"  {turn['mix']}: trains in row") for line in named)


def test_a_side_that_left_says_gate_value_limit_and_reason(connection: duckdb.DuckDBPyConnection) -> None:
    gate = one(
        connection,
        "select * from gates.row_gates where mix = 'credit' and gate = 'score' and verdict = 'fail' "
        "and row_id in (select row_id from intermediate.mix_row_outcomes where failed.gate = 'score') limit 1",
    )
    seen = f"the score is {gate['value']:.6g} (asked: at least 0.85)"
    expected = f"left at side_gates, score: {seen}: {gate['reason']}"
    first = next(explain(connection, gate["row_id"]))
    assert first.endswith(expected)
    assert next(explain(connection, gate["row_id"].removeprefix("credit/"))) == first


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("mix = 'credit' and outcome = 'context' and gate = 'not_repeat'", "credit: is context"),
        ("mix = 'credit' and outcome = 'train'", "credit: trains in row credit/"),
        ("mix = 'escape_duel' and outcome = 'train'", "escape_duel: trains in row escape_duel/"),
        (
            "mix = 'escape_duel' and gate = 'run_succeeded'",
            "escape_duel: left at side_gates, run_succeeded: the run did not succeed (asked: a run that succeeded)",
        ),
        (
            "mix = 'escape_duel' and gate = 'is_escape'",
            "is_escape: the turn is no cited way out of a failure or of repeats (asked: ",
        ),
        (
            "mix = 'escape_mini' and gate = 'not_repeat'",
            "not_repeat: the turn repeats an earlier command (asked: no repeated command): a repeated command",
        ),
        ("mix = 'finish_mini' and outcome = 'context' and gate = 'after_cutoff'", " (asked: turn 17 or later)"),
        ("mix = 'finish_mini' and gate = 'ends_in_submission'", "ends_in_submission: the last turn is no submission"),
    ],
)
def test_a_turn_says_what_became_of_it_in_every_mix(
    connection: duckdb.DuckDBPyConnection, condition: str, words: str
) -> None:
    turn = one(connection, f"select * from intermediate.mix_turn_outcomes where {condition} order by turn_id limit 1")
    lines = list(explain(connection, turn["turn_id"]))
    assert f"{turn['artifact_id']} line {turn['line']}" in lines[0]
    assert any(words in line for line in lines)


def test_a_turn_that_never_became_a_row_is_found_by_the_name_of_that_row(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    turn = one(
        connection,
        "select * from intermediate.mix_turn_outcomes where mix = 'escape_mini' and gate = 'breaks_out' limit 1",
    )
    assert any("breaks_out: the turn does not follow" in line for line in explain(connection, turn["row_id"]))


def test_every_name_in_the_tables_can_be_explained(connection: duckdb.DuckDBPyConnection) -> None:
    names = connection.execute(
        "select row_id from intermediate.mix_candidates union select turn_id from intermediate.mix_turn_outcomes "
        "order by md5(row_id) limit 150"
    ).fetchall()
    for (name,) in names:
        assert "build again" not in "\n".join(explain(connection, name))


@pytest.fixture
def altered(sample_warehouse: Path, tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A copy of the sample's warehouse in which a turn that trains may be made one that does not."""
    shutil.copy(sample_warehouse, tmp_path / "altered.duckdb")
    with duckdb.connect(str(tmp_path / "altered.duckdb")) as opened:
        yield opened


@pytest.mark.parametrize("mix", ["credit", "finish_mini"])
def test_a_turn_that_is_demoted_in_its_row_says_what_was_asked(altered: duckdb.DuckDBPyConnection, mix: str) -> None:
    turn = one(
        altered,
        f"select * from intermediate.mix_turn_outcomes where mix = '{mix}' and outcome = 'train' "
        "order by turn_id limit 1",
    )
    altered.execute(
        "update intermediate.mix_turn_outcomes set outcome = 'context', gate = 'span_proven', verdict = 'fail', "
        "statement = 'it does not decode (asked: a span)', reason = 'boundary_merge' where mix = ? and turn_id = ?",
        [mix, turn["turn_id"]],
    )
    words = "span_proven: it does not decode (asked: a span): boundary_merge"
    assert f"  {mix}: is context in row {turn['row_id']}: {words}" in list(explain(altered, turn["turn_id"]))
    assert f"    turn {turn['turn']}, message {turn['message_index']}: is context: {words}" in list(
        explain(altered, turn["row_id"])
    )


def _said(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    return "\n".join(explain(connection, name))


def test_a_turn_of_a_trajectory_is_found_however_a_person_names_it(connection: duckdb.DuckDBPyConnection) -> None:
    file, line, turn, message = connection.execute(
        "select artifact_id, line, turn, message_index from intermediate.mix_turn_outcomes "
        "where mix = 'finish_mini' and outcome = 'train' order by turn_id limit 1"
    ).fetchone() or ("", 0, 0, 0)
    expected = _said(connection, f"{file}#{line:09d}/{turn}")
    assert expected.startswith(f"{file}#{line:09d}/{turn}: ")
    base = file.rpartition("/")[2]
    names = (
        f"{file}#{line}/{turn}",
        f"{file}#{line:03d}/{turn:04d}",
        f" {file}#{line}/{turn}\n",
        f"{base}#{line}/{turn}",
        f"{file}:{line}:{turn}",
        f"{file} line {line}, turn {turn}",
        f"{file} line {line}, message {message}",
        json.dumps({"artifact_id": file, "line": line, "turn": turn}),
        json.dumps({"text_artifact_id": file, "text_line": line, "text_side": None, "turn": turn}),
        json.dumps({"turn_id": f"{file}#{line}/{turn}", "mix": "finish_mini"}),
    )
    for name in names:
        assert _said(connection, name) == expected, name
    row = _said(connection, f"finish_mini/{file}#{line:09d}")
    for name in (f"{file}#{line}", f"finish_mini/{file}#{line}", json.dumps({"id": f"finish_mini/{file}#{line}"})):
        assert _said(connection, name) == row, name


def test_a_side_and_a_turn_of_a_duel_are_found_however_a_person_names_them(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    row = one(
        connection, "select * from mixes.mix_rows where mix = 'credit' and rollout = 1 order by row_order limit 1"
    )
    run, sample, side, file, line = (
        row[name] for name in ("eval_run_id", "sample_id", "side", "text_artifact_id", "text_line")
    )
    expected = _said(connection, row["row_id"])
    names = (
        f"{run}/{sample}#r1/{side}",
        f"credit/{run}/{sample}#r01/{side}",
        f"{run}/{sample}/{side}",
        f"{file}#{line}/{side}",
        f"{file} line {line}, side {side}",
        json.dumps({"mix": "credit", "eval_run_id": run, "sample_id": sample, "rollout": 1, "side": side}),
        json.dumps({"eval_run_id": run, "sample_id": sample, "side": side}),
    )
    for name in names:
        assert _said(connection, name) == expected, name
    both = _said(connection, f"{file}#{line}")
    assert f"{sample}#r1/king" in both and f"{sample}#r1/challenger" in both
    turn = _said(connection, f"{run}/{sample}#r1/{side}/1")
    for name in (
        f"{run}/{sample}#r1/{side}/001",
        f"{file}#{line}/{side}/1",
        f"{file} line {line}, side {side}, turn 1",
    ):
        assert _said(connection, name) == turn, name


def test_an_own_trajectory_and_its_turns_are_found_and_say_that_no_mix_takes_them(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    side = one(connection, "select * from intermediate.mix_sides where source = 'trajectories' order by side_id")
    lines = list(explain(connection, f"{side['artifact_id']}#{side['line']}"))
    assert lines[0] == f"{side['side_id']}: {side['artifact_id']} line {side['line']}"
    assert lines[-1] == "  no mix takes a turn of it: its source is trajectories"
    lines = list(explain(connection, f"{side['artifact_id']}#{side['line']}/2"))
    assert lines[0].startswith(f"{side['side_id']}/2: ") and lines[-1].startswith("  no mix takes it")


def test_an_unknown_name_says_which_is_near(connection: duckdb.DuckDBPyConnection) -> None:
    side = one(connection, "select * from intermediate.mix_sides where source = 'mini_coder' order by side_id")
    near = side["artifact_id"].replace("mini_coder", "minicoder")
    for name in (f"{near}#{side['line']}", f"finish_mini/{near}#{side['line']}/3"):
        with pytest.raises(AssayError, match=f"did you mean {re.escape(side['side_id'])}"):
            _said(connection, name)
    with pytest.raises(AssayError, match=rf"has no turn 999: it has {side['n_turns']} turns, from 1"):
        _said(connection, f"{side['side_id']}/999")
    with pytest.raises(AssayError, match=re.escape(side["side_id"])):
        _said(connection, side["instance_id"])


@pytest.mark.parametrize(
    "name",
    ["{", "{}", "[1]", '{"id": "{}"}', '{"id": 7}', '{"line": 1}', '{"mix": [], "artifact_id": "a", "line": 1}', "",
     "#1", "a#99999999999999999999", "a#1/", '{"artifact_id": "a", "line": true}', "x" * 100_000, "{" * 5000,
     '{"sample_id": {"a": 1}, "side": [1]}', "a#1/2/3"],
)  # fmt: skip
def test_what_is_no_name_is_one_sentence(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    with pytest.raises(AssayError, match="no row or turn of the mixes is named"):
        _said(connection, name)


def test_a_name_that_is_no_text_is_one_sentence(sample_warehouse: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "a'%\udcff", "--db", str(sample_warehouse)]) == 2
    said = capsys.readouterr().err
    assert "no row or turn of the mixes is named a'%\N{REPLACEMENT CHARACTER}: rows are in" in said


def test_an_unknown_name_is_told_how_names_look(sample_warehouse: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "no\x1b[31m such", "--db", str(sample_warehouse)]) == 2
    said = capsys.readouterr().err
    assert "no row or turn of the mixes is named no\\x1b[31m such" in said
    assert "for example credit/" in said
    assert said.count("\n") == 1


def test_a_warehouse_that_is_not_there_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "x", "--db", str(tmp_path / "none.duckdb")]) == 2
    assert "there is no warehouse" in capsys.readouterr().err


def test_a_file_that_is_no_warehouse_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.duckdb").write_text("not a database " * 1000)
    assert main(["explain", "x", "--db", str(tmp_path / "text.duckdb")]) == 2
    said = capsys.readouterr().err
    assert "cannot be opened" in said and "Traceback" not in said


def test_a_warehouse_without_mixes_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    duckdb.connect(str(tmp_path / "empty.duckdb")).close()
    assert main(["explain", "x", "--db", str(tmp_path / "empty.duckdb")]) == 2
    assert "has no mixes yet" in capsys.readouterr().err


def hold(path: str, held: Event, done: Event) -> None:
    with duckdb.connect(path):
        held.set()
        done.wait(60)


def test_a_warehouse_that_is_being_built_says_who_holds_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "held.duckdb")
    processes = multiprocessing.get_context("spawn")
    held, done = processes.Event(), processes.Event()
    holder = processes.Process(target=hold, args=(path, held, done))
    holder.start()
    try:
        assert held.wait(60)
        assert main(["explain", "x", "--db", path]) == 2
        assert f"is in use by process {holder.pid}" in capsys.readouterr().err
    finally:
        done.set()
        holder.join()


@pytest.mark.parametrize(
    ("explanation", "turn", "sentence"),
    [
        (
            "See CANDIDATE OUTPUT 12. Then CANDIDATE OUTPUT 1 reads it. Done.",
            1,
            "Then CANDIDATE OUTPUT 1 reads it.",
        ),
        ("first line\nCANDIDATE OUTPUT 3 does\nlast", 3, "CANDIDATE OUTPUT 3 does"),
        ("candidate output 3 does", 3, ""),
        ("", 1, ""),
    ],
)
def test_the_sentence_that_cites_a_turn_is_found(explanation: str, turn: int, sentence: str) -> None:
    assert sentence_citing(explanation, turn) == sentence


def test_a_long_sentence_is_cut() -> None:
    assert len(sentence_citing("CANDIDATE OUTPUT 1 " + "x" * 10_000, 1)) == LONGEST_SENTENCE
