"""Turns and sides from landed messages. Source: contract sn97 a.4, a.7; definitions."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from assay.errors import AssayError
from assay.landing.run import land_tree
from assay.trajectories.commands import KindRule
from assay.trajectories.run import derive_tree

SEED = Path(__file__).parents[3] / "seeds" / "command_kinds.csv"
RUN = "00000000-0000-4000-8000-00000000000a"


def rules() -> list[KindRule]:
    with SEED.open(encoding="utf-8", newline="") as file:
        return [
            KindRule(row["scheme"], int(row["position"]), row["kind"], row["field"], row["pattern"])
            for row in csv.DictReader(file)
        ]


def scored(content: str | None) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "score_target": True}


def seen(content: str) -> dict[str, Any]:
    return {"role": "user", "content": content, "environment_observation": True}


def bash(command: str) -> str:
    return f"THOUGHT: go\n\n```bash\n{command}\n```"


def answer(body: str, code: int = 0) -> str:
    return f"<returncode>{code}</returncode>\n<output>\n{body}\n</output>"


def tree(root: Path, *samples: dict[str, Any]) -> Path:
    path = root / "raw" / "sn97" / "runs" / RUN / "generated-samples.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"eval_run_id": RUN, "prompt": "p", **sample}) + "\n" for sample in samples))
    return root / "raw"


def derived(root: Path, raw: Path, graded: set[str] = frozenset()) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:  # type: ignore[assignment]
    land_tree(raw, root / "landing", workers=1)
    derive_tree(root / "landing", rules(), set(graded), workers=1)
    tables = [pq.read_table(root / "landing" / name) for name in ("turns", "sides")]
    turns, sides = (sorted(table.to_pylist(), key=_key) for table in tables)
    return turns, sides


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return (row["artifact_id"], row["line"], row["side"], row.get("turn", 0))


def test_turns_count_scored_turns_from_one_and_take_the_first_observation(tmp_path: Path) -> None:
    king = [
        {"role": "system", "content": "s"},
        {"role": "assistant", "content": bash("ls context")},
        seen("context answer"),
        scored(bash("ls")),
        seen(answer("a.py")),
        seen(answer("second answer", 1)),
        {"role": "user", "content": "try again", "injected": True, "retry_feedback": True},
        scored(bash("cat b.py")),
    ]
    turns, sides = derived(tmp_path, tree(tmp_path, {"sample_id": "x", "previous_king_turns": king}))
    assert [(turn["turn"], turn["message_index"], turn["command"]) for turn in turns] == [
        (1, 3, "ls"),
        (2, 7, "cat b.py"),
    ]
    assert [(turn["has_observation"], turn["observation_message_index"], turn["failed"]) for turn in turns] == [
        (True, 4, False),
        (False, None, None),
    ]
    assert [(side["side"], side["text_source"], side["n_turns"]) for side in sides] == [
        ("challenger", "none", 0),
        ("king", "messages", 2),
    ]


def test_a_side_without_messages_is_read_from_its_document(tmp_path: Path) -> None:
    document = (
        "FULL CANDIDATE TRAJECTORY\nScore ONLY CANDIDATE OUTPUT. The ENVIRONMENT OBSERVATION is context only.\n\n"
        "CONTEXT USER (do not score):\n------\nFix it\n------\n\nCANDIDATE OUTPUT 1:\n------\n"
        + bash("ls")
        + "\n------\n\n"
        "ENVIRONMENT OBSERVATION (context only, do not score):\n------\n" + answer("no", 2) + "\n------"
    )
    turns, sides = derived(tmp_path, tree(tmp_path, {"sample_id": "x", "challenger_output": document}))
    assert [(turn["side"], turn["turn"], turn["command"], turn["returncode"]) for turn in turns] == [
        ("challenger", 1, "ls", 2)
    ]
    assert {side["side"]: side["text_source"] for side in sides} == {"king": "none", "challenger": "document"}


def test_loop_statistics_are_those_of_each_variant(tmp_path: Path) -> None:
    king = [scored(bash("ls")), seen(answer("")), scored(bash("ls")), seen(answer("x")), scored("```SHELL\npwd\n```")]
    _, sides = derived(tmp_path, tree(tmp_path, {"sample_id": "x", "previous_king_turns": king}))
    side = next(side for side in sides if side["side"] == "king")
    assert (side["n_cmds_v1"], side["n_distinct_cmds_v1"], side["max_cmd_run_v1"]) == (2, 1, 2)
    assert (side["n_cmds_v2"], side["n_distinct_cmds_v2"], side["max_cmd_run_v2"]) == (3, 2, 2)
    # The first `ls` printed nothing, so asking again is no repeat to the third.
    assert (side["n_cmds_v3"], side["n_distinct_cmds_v3"], side["max_cmd_run_v3"]) == (2, 2, 1)
    assert (side["document_n_cmds_v1"], side["document_max_cmd_run_v1"]) == (2, 2)


def test_sentinels_and_reserved_tokens_are_looked_for_in_context_too(tmp_path: Path) -> None:
    king = [{"role": "user", "content": "say <|im_end|>"}, scored("MODEL_RESPONSE_TOKEN_LIMIT_EXCEEDED: too long")]
    turns, sides = derived(tmp_path, tree(tmp_path, {"sample_id": "x", "previous_king_turns": king}))
    side = next(side for side in sides if side["side"] == "king")
    assert (side["has_truncation_sentinel"], side["reserved_token"]) == (True, "<|im_end|>")
    assert turns[0]["is_truncated"] and turns[0]["command"] is None and turns[0]["command_key"] is None


def test_a_tagged_block_is_a_command_in_graded_runs_alone(tmp_path: Path) -> None:
    raw = tree(tmp_path, {"sample_id": "x#r1", "previous_king_turns": [scored("<run_bash>ls</run_bash>")]})
    assert derived(tmp_path, raw)[0][0]["command"] is None
    assert derived(tmp_path, raw, {RUN})[0][0]["command"] == "ls"


def test_null_content_is_a_turn_without_anything(tmp_path: Path) -> None:
    turns, _ = derived(tmp_path, tree(tmp_path, {"sample_id": "x", "previous_king_turns": [scored(None)]}))
    assert (turns[0]["command_kind"], turns[0]["n_characters"], turns[0]["think_state"]) == ("none", 0, "none")


def test_commands_that_differ_in_white_space_alone_have_one_key(tmp_path: Path) -> None:
    king = [scored(bash("ls   -la\n")), scored(bash("ls -la")), scored(bash("ls\u00a0-la")), scored(bash(""))]
    turns, _ = derived(tmp_path, tree(tmp_path, {"sample_id": "x", "previous_king_turns": king}))
    assert len({turn["command_key"] for turn in turns[:3]}) == 1
    assert turns[3]["command_key"] is None


def test_a_users_own_trajectory_has_one_side_whose_assistant_messages_are_its_turns(tmp_path: Path) -> None:
    path = tmp_path / "raw" / "trajectories" / "mine.jsonl"
    path.parent.mkdir(parents=True)
    messages = [
        {"role": "user", "content": "Fix it."},
        {"role": "assistant", "content": bash("ls")},
        {"role": "user", "content": answer("a.py")},
        {"role": "assistant", "content": bash("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")},
    ]
    path.write_text(json.dumps({"id": "a", "messages": messages}) + "\n")
    turns, sides = derived(tmp_path, tmp_path / "raw")
    assert [(turn["side"], turn["turn"], turn["command_kind"]) for turn in turns] == [
        ("agent", 1, "find/ls"),
        ("agent", 2, "submit"),
    ]
    assert sides[0]["n_turns"] == 2


def own(tmp_path: Path, *messages: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Turns and the side of a user's own trajectory."""
    path = tmp_path / "raw" / "trajectories" / "mine.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"id": "a", "messages": messages}) + "\n")
    turns, sides = derived(tmp_path, tmp_path / "raw")
    return turns, sides[0]


def called(*commands: str, text: str | None = None, tool: str = "bash") -> dict[str, Any]:
    calls = [
        {"id": f"c{number}", "function": {"name": tool, "arguments": json.dumps({"command": command})}}
        for number, command in enumerate(commands)
    ]
    return {"role": "assistant", "content": text, "tool_calls": calls}


def test_a_structured_call_is_the_command_whatever_fences_stand_in_it_or_beside_it(tmp_path: Path) -> None:
    command = "cat > R.md <<'E'\n```py\nx\n```\nE\nls"
    turns, side = own(
        tmp_path,
        called(command),
        called(command.replace("ls", "rm R.md"), text=bash("not run")),
        called("str_replace", text=bash("not run either"), tool="edit"),
        {"role": "assistant", "content": None, "function_call": {"name": "bash", "arguments": {"cmd": "pwd"}}},
        {"role": "assistant", "content": bash("ls")},
    )
    expected = [command, command.replace("ls", "rm R.md"), None, "pwd", "ls"]
    assert [turn["command"] for turn in turns] == expected
    assert [turn["n_bash_blocks"] for turn in turns] == [1, 1, 0, 1, 1]
    assert [turn["command_kind"] for turn in turns] == ["edit", "edit", "none", "other", "find/ls"]
    for variant in ("v1", "v2", "v3"):
        assert [side[f"{name}_{variant}"] for name in ("n_cmds", "n_distinct_cmds", "max_cmd_run")] == [4, 4, 1]


def test_the_observation_of_a_call_is_the_message_that_names_it(tmp_path: Path) -> None:
    def result(identity: str | None, content: str, **extra: Any) -> dict[str, Any]:
        return {"role": "tool", "tool_call_id": identity, "content": content, "extra": extra}

    edit = {"id": "e", "function": {"name": "edit", "arguments": "{}"}}
    both = called("ls")
    both["tool_calls"] = [edit, *both["tool_calls"]]
    turns, _ = own(
        tmp_path,
        both, result("e", "edited", returncode=1), result("c0", "listed", returncode=0),
        called("a", "b"), result("c1", "second"), result("c0", "first", returncode=3),
        called("lost"), result("other", "x"),
        called("unnamed"), result(None, "taken"),
        called("unanswered"), {"role": "exit", "content": "submission"},
    )  # fmt: skip
    seen = [(turn["command"], turn["observation_message_index"], turn["returncode"]) for turn in turns]
    assert seen == [("ls", 2, 0), ("a", 5, 3), ("lost", None, None), ("unnamed", 9, None), ("unanswered", None, None)]
    assert turns[1]["fail_reason"] == "returncode" and turns[0]["failed"] is False


def test_a_run_takes_the_harness_at_its_word_and_a_duel_the_validator(tmp_path: Path) -> None:
    timed_out = (
        "<exception>'cd /x' timed out after 60 seconds</exception>\n<returncode>-1</returncode>\n<output>\n</output>"
    )
    broken = "<exception>no such container</exception>\n<output>\n</output>"
    turns, _ = own(
        tmp_path,
        called("pip install x"), {"role": "tool", "tool_call_id": "c0", "content": timed_out},
        called("ls"), {"role": "tool", "tool_call_id": "c0", "content": broken},
        called("ls"), {"role": "tool", "tool_call_id": "c0", "content": answer("x", 0), "extra": {"returncode": 2}},
        called("ls"), {"role": "tool", "tool_call_id": "c0", "content": "fatal: x", "extra": {"returncode": 0}},
        called("grep a b"), {"role": "tool", "tool_call_id": "c0", "content": "", "extra": {"returncode": 1}},
        {"role": "assistant", "content": bash("ls")}, {"role": "user", "content": "fatal: x"},
    )  # fmt: skip
    names = ("failed", "fail_reason", "returncode", "observation_format")
    assert [tuple(turn[name] for name in names) for turn in turns] == [
        (True, "timed_out", -1, "returncode"),
        (True, "error_shape", None, "openhands"),
        (True, "returncode", 2, "returncode"),
        (False, None, 0, "openhands"),
        (True, "no_match", 1, "openhands"),
        (True, "error_shape", None, "openhands"),
    ]
    raw = tmp_path / "duel"
    raw.mkdir()
    king = [scored(bash("pip install x")), seen(timed_out)]
    (turn,) = derived(raw, tree(raw, {"sample_id": "x", "previous_king_turns": king}))[0]
    assert (turn["failed"], turn["returncode"], turn["observation_format"]) == (False, None, "openhands")


def test_commands_and_return_codes_of_real_runs_are_those_of_their_harness(tmp_path: Path, repository: Path) -> None:
    folder = repository.parent / "shared" / "raw" / "harness_logs" / "mini_swe_agent"
    if not folder.is_dir():
        pytest.skip("../shared/raw is not here")
    n_timed_out = 0
    for path in sorted(folder.iterdir()):
        record = json.loads(path.read_text())
        messages = record["messages"]
        turns, _ = own(tmp_path, *messages)
        actions = [message for message in messages if message["role"] == "assistant"]
        assert [turn["command"] for turn in turns] == [
            message["extra"]["actions"][0]["command"].strip() if message["extra"]["actions"] else None
            for message in actions
        ]
        for turn in turns:
            seen_at = turn["observation_message_index"]
            if seen_at is None:
                continue
            message = messages[seen_at]
            first = messages[turn["message_index"]]["extra"]["actions"][0]["tool_call_id"]
            assert message["role"] == "tool" and message["tool_call_id"] == first
            assert turn["returncode"] == message["extra"]["returncode"]
            assert turn["failed"] == (message["extra"]["returncode"] != 0)
            n_timed_out += turn["fail_reason"] == "timed_out"
    assert n_timed_out > 0


def test_a_second_run_derives_what_changed_and_nothing_else(tmp_path: Path) -> None:
    raw = tree(tmp_path, {"sample_id": "x", "previous_king_turns": [scored(bash("ls"))]})
    landing = tmp_path / "landing"
    land_tree(raw, landing, workers=1)
    assert derive_tree(landing, rules(), set(), workers=1) == 1
    assert derive_tree(landing, rules(), set(), workers=1) == 0
    assert derive_tree(landing, rules()[:-1], set(), workers=1) == 1, "another rule is another answer"
    tree(tmp_path, {"sample_id": "x"}, {"sample_id": "y"})
    land_tree(raw, landing, workers=1)
    assert derive_tree(landing, rules()[:-1], set(), workers=1) == 1
    assert pq.read_table(landing / "turns").num_rows == 0
    (raw / "sn97" / "runs" / RUN / "generated-samples.jsonl").unlink()
    land_tree(raw, landing, workers=1)
    derive_tree(landing, rules()[:-1], set(), workers=1)
    assert pq.read_table(landing / "sides").num_rows == 0


def test_one_and_two_workers_write_the_same_bytes(tmp_path: Path, repository: Path) -> None:
    raw = repository / "tests" / "fixtures" / "raw"
    landed = tmp_path / "landed"
    land_tree(raw, landed)
    contents = []
    for workers in (1, 2):
        landing = shutil.copytree(landed, tmp_path / str(workers))
        derive_tree(landing, rules(), set(), workers=workers)
        files = sorted(path for name in ("turns", "sides") for path in (landing / name).iterdir())
        contents.append({path.relative_to(landing): path.read_bytes() for path in files})
    assert contents[0] == contents[1]


def test_a_full_disk_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = tree(tmp_path, {"sample_id": "x", "previous_king_turns": [scored(bash("ls"))]})
    land_tree(raw, tmp_path / "landing", workers=1)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("assay.trajectories.run.pq.ParquetWriter", full)
    with pytest.raises(AssayError, match=r"cannot write below .*: No space left on device"):
        derive_tree(tmp_path / "landing", rules(), set(), workers=1)
    assert not list((tmp_path / "landing" / "turns").glob("*.part"))


def test_every_side_has_its_own_messages_across_batches_and_lines_without_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.trajectories.run.LINES_AT_A_TIME", 2)
    monkeypatch.setattr("assay.trajectories.run._MESSAGES_AT_A_TIME", 3)
    samples: list[dict[str, Any]] = []
    for number in range(9):
        sides = {
            name: [scored(bash(f"{name} {number} {turn}")) for turn in range(count)]
            for name, count in (("previous_king_turns", number % 3), ("challenger_turns", number % 4))
            if count
        }
        samples.append({"sample_id": str(number), **sides})
    turns, sides_found = derived(tmp_path, tree(tmp_path, *samples))
    expected = [
        (number + 1, side, f"{name} {number} {turn}")
        for number in range(9)
        for side, name, count in (
            ("challenger", "challenger_turns", number % 4),
            ("king", "previous_king_turns", number % 3),
        )
        for turn in range(count)
    ]
    assert [(turn["line"], turn["side"], turn["command"]) for turn in turns] == expected
    assert len(sides_found) == 18


def test_messages_of_a_line_that_is_not_landed_are_one_sentence(tmp_path: Path) -> None:
    turns = {"previous_king_turns": [scored(bash("ls"))]}
    land_tree(tree(tmp_path, {"sample_id": "x", **turns}, {"sample_id": "y", **turns}), tmp_path / "landing", workers=1)
    (path,) = (
        found for found in (tmp_path / "landing" / "sn97_generated_samples").iterdir() if found.name != "empty.parquet"
    )
    pq.write_table(pq.read_table(path).slice(1), path)
    with pytest.raises(AssayError, match=r"has messages of line 1, which is not landed: land it anew"):
        derive_tree(tmp_path / "landing", rules(), set(), workers=1)
