import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
from assay.cli import main
from assay.conformance import command
from assay.conformance.adapters import NOT_NEEDED, WIRINGS, wiring_for
from assay.conformance.command import agrees, printable, shortened

REPOSITORY = Path(__file__).parents[2]
VECTORS = REPOSITORY.parent / "shared" / "conformance"
V4 = "unarbos-f96c12c (2026-08-22)"


def vector(fn: str = "marker_from", version: str = V4, **parts: Any) -> dict[str, Any]:
    return {"fn": fn, "version": version, "input": {"command": "echo A B"}, "expected": "A"} | parts


def write(folder: Path, *lines: Any, name: str = "vectors.jsonl") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    texts = [line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines]
    (folder / name).write_text("\n".join(texts) + "\n", encoding="utf-8", newline="\n")
    return folder


def run(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, list[str], str]:
    code = main(["conformance", *map(str, words)])
    captured = capsys.readouterr()
    return code, captured.out.splitlines(), captured.err


def test_vectors_that_agree_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(
        tmp_path / "deep" / "er",
        vector(),
        vector(),
        "",
        vector("classify", input={"observation": ""}, expected="openhands"),
    )
    code, lines, _ = run(capsys, tmp_path)
    assert code == 0
    assert "marker_from: 2 passed, 0 failed, 0 skipped" in lines
    assert lines[-1] == "3 passed, 0 failed, 0 skipped"


def test_a_wrong_expectation_fails_with_file_line_and_case(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "sn", vector(), vector(expected="B", case="odd one"))
    code, lines, _ = run(capsys, tmp_path)
    assert code == 1
    assert lines[-2] == 'FAILED sn/vectors.jsonl:2 marker_from: odd one: expected "B", got "A"'
    assert lines[-1] == "1 passed, 1 failed, 0 skipped"


def test_an_unknown_function_is_skipped_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, vector("fly_away"), vector("repair_output"))
    code, lines, _ = run(capsys, tmp_path)
    assert code == 0
    assert "fly_away: 0 passed, 0 failed, 1 skipped (unknown function)" in lines
    assert "repair_output: 0 passed, 0 failed, 1 skipped (not needed)" in lines


def test_an_unknown_version_is_skipped_with_function_and_version(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, vector(version="someone-else-1"))
    code, lines, _ = run(capsys, tmp_path)
    assert code == 0
    assert "marker_from [someone-else-1]: 0 passed, 0 failed, 1 skipped (unknown version)" in lines


def test_versions_of_one_function_are_counted_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample = {"sample_id": "data/train-0.parquet:1:2#r1"}
    shard = ["data/train-0.parquet", 1, 2]
    write(
        tmp_path,
        vector("parse_sample_id", input=sample, expected={"error": "ValueError"}),
        vector("parse_sample_id", "michael-bum fork", input=sample, expected=shard),
        vector("parse_sample_id", input=sample, expected=shard),
        vector("parse_sample_id", "michael-bum fork", input=sample, expected={"error": "ValueError"}),
    )
    code, lines, _ = run(capsys, tmp_path)
    assert code == 1
    assert "parse_sample_id [unarbos]: 1 passed, 1 failed, 0 skipped" in lines
    assert "parse_sample_id [michael-bum]: 1 passed, 1 failed, 0 skipped" in lines
    assert sum("raised ValueError" in line for line in lines) == 1


def test_a_rule_that_raises_is_a_failure_and_no_crash(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, vector(input={}), vector(input={"command": 3}), vector())
    code, lines, error = run(capsys, tmp_path)
    assert (code, error) == (1, "")
    assert lines[-1] == "1 passed, 2 failed, 0 skipped"
    assert any("raised KeyError" in line for line in lines)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{broken", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[1]", "not a JSON object"),
        ('{"fn": "x", "input": {}}', "lacks version, expected"),
        (json.dumps(vector(input=[1])), "input must be an object"),
        (json.dumps(vector() | {"fn": 3}), "must be strings"),
    ],
)
def test_a_line_that_is_no_vector_fails_with_its_place(
    line: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, vector(), line)
    code, lines, error = run(capsys, tmp_path)
    assert (code, error) == (1, "")
    assert any(text.startswith("FAILED vectors.jsonl:2 ") and reason in text for text in lines)
    assert lines[-1] == "1 passed, 1 failed, 0 skipped"


def test_bytes_that_are_not_utf8_fail_with_their_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "v.jsonl").write_bytes(b'{"fn": "\xff"}\n' + json.dumps(vector()).encode())
    code, lines, _ = run(capsys, tmp_path)
    assert code == 1
    assert any(line.startswith("FAILED v.jsonl:1 ") and "not UTF-8" in line for line in lines)


def test_lines_end_at_newlines_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, vector(input={"command": "echo\u2028A\x85B"}, case="\u2028"))
    assert run(capsys, tmp_path)[1][-1] == "1 passed, 0 failed, 0 skipped"


def test_proposed_files_are_labelled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = vector("first_token (PROPOSED)", "proposed-1", input={"command": "ls -l"}, expected="ls")
    write(tmp_path, command, vector("fly (PROPOSED)"), name="proposed_norm.jsonl")
    _, lines, _ = run(capsys, tmp_path)
    assert "proposed first_token: 1 passed, 0 failed, 0 skipped" in lines
    assert "proposed fly: 0 passed, 0 failed, 1 skipped (unknown function)" in lines


def test_only_one_function_runs_on_demand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, vector(expected="B"), vector("classify", input={"observation": ""}, expected="openhands"))
    code, lines, _ = run(capsys, tmp_path, "--only", "classify")
    assert (code, lines) == (0, ["classify: 1 passed, 0 failed, 0 skipped", "1 passed, 0 failed, 0 skipped"])


@pytest.mark.parametrize("case", ["missing", "empty", "file", "blank", "other"])
def test_a_folder_without_vectors_is_a_clear_fault(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words: list[str | Path] = [tmp_path]
    if case == "missing":
        words = [tmp_path / "nowhere"]
    if case == "file":
        words = [write(tmp_path, vector()) / "vectors.jsonl"]
    if case == "blank":
        write(tmp_path, "", " ")
    if case == "other":
        words = [write(tmp_path, vector()), "--only", "classify"]
    code, lines, error = run(capsys, *words)
    assert (code, lines) == (2, [])
    assert error.startswith("assay: ")
    assert error.count("\n") == 1


def test_thresholds_of_a_line_reach_the_loop_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    turns = {"turns": ["```bash\nls\n```", "```bash\nls\n```"]}
    expected: dict[str, Any] = {
        "command_list": None,
        "commands": [],
        "dup_cmd_ratio": 0.5,
        "explanation": None,
        "looped": False,
        "looped_at_thresholds": {"0.5/4": True, "0.61/5": False, "0.65/6": False},
        "max_cmd_run": 2,
        "n_cmds": 2,
        "reasons": [],
    }
    parts = {"input": turns, "expected": expected, "thresholds": {"dup": 0.9, "run": 3}}
    write(
        tmp_path, vector("loop_verdict", "loop-v2/x", **parts), vector("loop_verdict", "loop-v2/x", **parts, case="c")
    )
    assert run(capsys, tmp_path)[1][-1] == "2 passed, 0 failed, 0 skipped"
    write(tmp_path, vector("loop_verdict", "loop-v2/x", **(parts | {"thresholds": {"dup": 0.5, "run": 3}})))
    assert run(capsys, tmp_path)[1][-1] == "0 passed, 1 failed, 0 skipped"


def test_other_dialects_are_kept_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = {"text": "x", "action_kind": "boxed", "require_think_close": True, "text_fallback_at_tool_turns": False}
    write(tmp_path, vector("split_rollout", "contract-2026-09 (x)", input=given, expected={"z": "", "y": ""}))
    _, lines, _ = run(capsys, tmp_path)
    assert lines[0] == ("split_rollout [contract-2026-09]: 0 passed, 0 failed, 1 skipped (dialect boxed kept apart)")


def test_a_template_of_a_vector_does_not_run_free(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = {"chat_template": "{{ ''.__class__ }}{{ 'x' * 10**9 }}", "messages": []}
    write(tmp_path, vector("gen_prompt", "contract-2026-08 (x)", input=given, expected=""))
    code, lines, _ = run(capsys, tmp_path)
    assert code == 1
    assert any("raised TemplateRefusedError" in line for line in lines)


def test_what_is_printed_is_plain_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, vector("\x1b[31mred", case="\x1b]0;x\x07"), vector(expected="\x1b[2J", case="\x1b[2Jé"))
    main(["conformance", str(tmp_path)])
    output = capsys.readouterr().out
    assert output.replace("\n", "").isprintable()
    assert output.isascii()


@pytest.mark.parametrize(
    ("expected", "got", "same"),
    [
        (1.0, 1.0 + 5e-13, True),
        (1.0, 1.0 + 5e-12, False),
        (0.0, 5e-13, True),
        (13096.346682551957, 13096.346682551959, True),
        (1, 1.0, True),
        (1, True, False),
        (False, 0, False),
        (None, None, True),
        (None, False, False),
        ("Infinity", math.inf, True),
        ("Infinity", -math.inf, False),
        ("-Infinity", -math.inf, True),
        ("Infinity", "Infinity", True),
        ("1", 1, False),
        ([1, [2]], (1, (2,)), True),
        ([1], [1, 2], False),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": 1, "b": 2}, {"a": 1}, False),
        ({"a": [0.1]}, {"a": [0.1 + 1e-14]}, True),
        ([], {}, False),
        (10**20, 10**20 + 1, False),
    ],
)
def test_values_agree_in_kind_and_within_the_tolerance(expected: Any, got: Any, same: bool) -> None:
    assert agrees(expected, got) is same


def test_long_and_odd_values_are_shown_shortened() -> None:
    assert len(shortened("x" * 5000)) == 300
    assert shortened({"b": "é", "a": 1}) == '{"a": 1, "b": "\\u00e9"}'
    assert shortened({1, 2}) == "{1, 2}"
    assert printable("a\nb\u2028'\"") == "a\\nb\\u2028'\""


def test_the_longest_family_of_a_version_wins() -> None:
    wiring = wiring_for("question_weight", "michael-bum-f3d5453 (graded_20)")
    assert wiring is not None
    assert wiring.family == "michael-bum-f3d5453"
    assert wiring_for("question_weight", "michael-bum-7cc7563") is None


def test_nothing_is_both_wired_and_not_needed() -> None:
    assert not NOT_NEEDED & WIRINGS.keys()


@pytest.mark.skipif(not VECTORS.is_dir(), reason="the published vectors are not beside this repository")
def test_the_published_vectors_all_pass(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines, _ = run(capsys, VECTORS)
    counts = dict(line.rsplit(": ", 1) for line in lines[:-1])
    assert code == 0, [line for line in lines if line.startswith("FAILED")][:5]
    skipped = {name: text for name, text in counts.items() if ", 0 skipped" not in text}
    apart = "split_rollout [contract-2026-09]"
    assert set(skipped) - {apart} <= NOT_NEEDED
    assert all(text.endswith("(not needed)") for name, text in skipped.items() if name != apart)
    passed, failed = (int(part.split()[0]) for part in lines[-1].split(", ")[:2])
    assert failed == 0
    assert passed > 900


LOOKS = "```bash\nls\n```"
RULES_OF_SEEDS = (
    vector("question_weight", input={"tag": "reference:explore"}, expected=2.0),
    vector("question_weight", "michael-bum-f3d5453", input={"tag": "reference:claims"}, expected=1.0),
    vector("looping_reason", input={"turns": [LOOKS, LOOKS]}, expected="looping: duplicate command ratio 0.50"),
    vector("looping_reason", input={"turns": [LOOKS]}, expected=""),
    vector("graded_letter_value", "michael-bum-f3d5453", input={"letter": "J"}, expected=0.35),
    vector("challenger_beats_king", input={"challenger": 0.7, "king": 0.675}, expected=False),
    vector("challenger_beats_king", input={"challenger": 0.525, "king": 0.5}, expected=True),
)


@pytest.mark.parametrize(
    ("seed", "right", "wrong", "function"),
    [
        ("tag_weights", "v4,tag,reference:explore,2.0", "v4,tag,reference:explore,9.0", "question_weight [unarbos]"),
        (
            "tag_weights",
            "v5b,tag,reference:claims,1.0",
            "v5b,tag,reference:claims,1.5",
            "question_weight [michael-bum-f3d5453]",
        ),
        ("rulesets", "v4_0821,V4,2026-08-21,,v1,true,0.5,4", "v4_0821,V4,2026-08-21,,v1,true,0.6,4", "looping_reason"),
        ("letter_grades", "J,0.35", "J,0.45", "graded_letter_value"),
        (
            "rulesets",
            "v4,0.5,0.025,0.8,2,12;16,1,100,\n",
            "v4,0.5,0.02,0.8,2,12;16,1,100,\n",
            "challenger_beats_king [unarbos]",
        ),
    ],
)
def test_a_wrong_value_in_a_seed_fails(
    seed: str, right: str, wrong: str, function: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vectors, project = write(tmp_path / "vectors", *RULES_OF_SEEDS), tmp_path / "project"
    for folder in ("models", "macros", "seeds"):
        shutil.copytree(REPOSITORY / folder, project / folder)
    shutil.copy(REPOSITORY / "dbt_project.yml", project)
    assert command.run(vectors, None, project) == 0
    file = project / "seeds" / f"{seed}.csv"
    text = file.read_text(encoding="utf-8")
    assert right in text
    file.write_text(text.replace(right, wrong), encoding="utf-8")
    capsys.readouterr()
    assert command.run(vectors, None, project) == 1
    failed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("FAILED")]
    assert failed
    assert all(f" {function}: " in line for line in failed)
