"""Valid records of every kind, mutated at every place: landing never raises, and a line lands whole or not at all."""

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from assay.landing.tables import TABLES
from landing_tree import CHUNK, OWN, RUN, Tree

_MESSAGES = [{"role": "user", "content": "u"}, {"role": "assistant", "content": "a", "score_target": True}]
_JUDGE = {"side": "challenger", "judge_model": "m", "provider": None, "answers": {"q_01": "1", "q_02": None},
          "explanations": {"q_01": "CANDIDATE OUTPUT 1"}, "scores": {"q_01": 0.5}, "yes_rate": 0.5, "parse_ok": True,
          "distributions": {"q_01": {"A": 0.5}}, "loop_reasons": ["r"], "loop_commands": [{"command": "ls"}],
          "repeats": 1, "metric_scores": {"a": 1}}  # fmt: skip

LINES: dict[str, dict[str, Any]] = {
    f"sn97/runs/{RUN}/generated-samples.jsonl": {
        "sample_id": "s", "prompt": "p", "previous_king_turns": _MESSAGES, "challenger_turns": _MESSAGES,
        "king_error": None, "submit_marker": "x",
    },
    f"sn97/runs/{RUN}/scoring-results.jsonl": {
        "sample_id": "s", "questions": [{"id": "q_01", "text": "t", "weight": 1.5, "step": 2}], "king_score": 0.5,
        "judge_results": [_JUDGE, {**_JUDGE, "side": "previous_king"}], "scored": True, "question_source": {"n": 1},
    },
    f"sn97/runs/{RUN}/judge-results.jsonl": {"sample_id": "s", "order": ["a"], **_JUDGE},
    f"sn97/runs/{RUN}/progress.jsonl": {"sequence": 1, "type": "t", "message": "m"},
    "sn120/evals/index.jsonl": {"challenge_id": "chal-1", "bytes": 5, "z": 0.5, "challenger_wins": True},
    CHUNK: {
        "traj_id": "t", "messages": [{"role": "user", "content": "u"}], "turns": [{"turn_idx": 1, "msg_pos": 2}],
    },
    "sn120/turns/shards/turns_epoch_0001.jsonl.gz": {
        "traj_id": "t", "turn_idx": 1, "prefix": [{"role": "user", "content": "u"}], "reference_turn": "r",
    },
    OWN: {
        "id": "a", "first_edit": 1, "messages": [{"role": "user", "content": ["x", {"text": "y"}]},
        {"from": "gpt", "value": "v", "tool_calls": [{"function": {"name": "bash", "arguments": {"command": "ls"}}}]}],
    },
    "trajectories/nested.jsonl": {"trajectory": {"messages": json.dumps(_MESSAGES), "turns": _MESSAGES, "x": 1}},
    "gateway/f/data/corpus.jsonl": {"prompt": ["a"], "continuation": ["b"]},
    "gateway/f/runs/r/metrics.jsonl": {"step": 1, "loss": 0.5},
    "gateway/f/samples/base.jsonl": {"prompt": ["a"], "answer": ["b"], "scratchpad": [], "refused": True, "cat": "c1"},
}  # fmt: skip
DOCUMENTS: dict[str, dict[str, Any]] = {
    "sn97/{}/run/verdict.json": {"state": "succeeded", "allowed_scores": [0, 1], "judge_count": 1, "score_king": 0.5},
    "sn97/{}/run/request.json": {
        "previous_king": {"model_uri": "u", "king_version": 1}, "challenger": {"model_uri": "u"},
        "dataset": {"sample_ids": ["a"], "sample_count": 1}, "scoring": {"judge_count": 1}, "gpu_request": {},
    },
    "sn97/{}/fault.json": {"submission_id": "u", "prompts": ["p"], "responses": ["r", "s"], "gate": {"passed": True}},
    "sn97/{}/dashboard.json": {
        "chain": {"netuid": 97, "judge_models": ["m"]}, "stats": {"evaluated": 1}, "reign": {"members": [{"uid": 1}]},
        "eval_runs": [{"eval_run_id": "e", "king": {"uid": 1}, "pass_margins": [0.5]}], "queue": [{}],
        "fails": [{"submission_id": "u", "artifacts": {}}],
    },
    "sn97/{}/state.json": {"updated_at": "t", "counts": {"eval": {}}},
    "sn120/{}/evals/chal-1.json": {
        "request": {"king_repo": "r", "challenger_weight_bytes": 1}, "slice": {"seed": 2**63, "n": 1, "dialects": {}},
        "verdict": {"margin": 0.5, "gates": {"tau": 1}, "king": {"S": 1}}, "turn_ids": ["t:0", "t:1"],
        "teacher_refs": {"t:0": [{"z": "", "y": "a", "lp_own": -0.5, "lp_cross": [None]}], "t:1": []},
        "king_rows": [{"turn_id": "t:0", "valid": True, "pairs": [{"lpC_yc_za": -0.5, "z_a": "z"}]}],
        "challenger_rows": [{"turn_id": "t:1", "valid": False}],
    },
    "sn120/{}/manifest.json": {
        "corpus_epoch": 1, "index": {"key": "k", "n_turns": 1}, "shards": [{"key": "k", "active": True}],
        "compat_shards": [{"key": "c"}],
    },
    "gateway/f/data/{}/stats.json": {"episodes": 1, "category_counts": {"c": 1}},
    "gateway/f/runs/{}/config.json": {"steps": 1, "lr": 0.5, "demo_writer": {"n": 1}, "anchor_schedule": [1]},
}  # fmt: skip


def _deep(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels):
        value = [value]
    return value


ODD: list[Any] = [None, True, False, 0, -1, 1, 2.5, 3.0, 1e300, 2**63, 2**64, -(2**63) - 1, 10**400, "", "x", "1",
                  "\0", "\ud800", "x" * 3000, [], [[]], [{}], [None], [1], ["x"], ["x", None], {}, {"": None},
                  {"a": {"b": []}}, {"messages": 1}, [["role", "user"]], _deep(150), _deep(260)]  # fmt: skip


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    items = value.items() if type(value) is dict else enumerate(value) if type(value) is list else ()
    for key, item in items:
        yield from _places(item, (*path, key))


def _changed(record: Any, path: tuple[Any, ...], change: Any) -> Any:
    mutated = copy.deepcopy(record)
    inner = mutated
    for key in path[:-1]:
        inner = inner[key]
    change(inner, path[-1])
    return mutated


def _put(value: Any) -> Any:
    def change(inner: Any, key: Any) -> None:
        inner[key] = value

    return change


def _drop(inner: Any, key: Any) -> None:
    del inner[key]


def _add_beside(inner: Any, key: Any) -> None:
    if type(inner) is dict:
        inner[f"{key}\u00e9"] = inner[key]
    else:
        inner.append(inner[key])


def _mutations(record: Any, generator: random.Random, n_random: int) -> list[Any]:
    """Every place dropped and doubled, some odd values at every place, and some records changed in many places."""
    found: list[Any] = [record]
    for path in _places(record):
        found += [_changed(record, path, _drop), _changed(record, path, _add_beside)]
        found += [_changed(record, path, _put(value)) for value in generator.sample(ODD, 10)]
    for _ in range(n_random):
        mutated = record
        for _ in range(generator.randrange(2, 5)):
            paths = list(_places(mutated))
            if paths:
                change = generator.choice([_drop, _add_beside, _put(generator.choice(ODD))])
                mutated = _changed(mutated, generator.choice(paths), change)
        found.append(mutated)
    return found


def _line(record: Any) -> bytes:
    return json.dumps(record).encode()


@pytest.mark.parametrize("seed", [1, 2])
def test_mutated_lines_land_whole_or_are_quarantined(tmp_path: Path, seed: int) -> None:
    tree, generator = Tree(tmp_path), random.Random(seed)
    lines = {name: [_line(item) for item in _mutations(record, generator, 60)] for name, record in LINES.items()}
    for name, data in lines.items():
        tree.write_lines(name, *data)
    report = tree.land()  # checks that no line is in a table and in the quarantine, and that none is missing
    for row in report.artifacts:
        assert row["n_lines"] == len(lines[row["artifact_id"]])
        assert row["n_rows"] > 0 and row["n_quarantined"] > 0, row["artifact_id"]
    assert set(report.reasons) >= {"wrong_type", "missing_field", "number_out_of_range", "nested_too_deeply"}
    _compare_with_published(tree, lines)


# Where a column of a primary table comes from, by the published key.
_RENAMED = {
    "previous_king_output": "king_output", "chal_error": "challenger_error", "order": "judging_order",
    "cat": "category", "chal_amputated_thinking": "challenger_amputated_thinking", "lr": "learning_rate",
    "id": "trajectory_id",
}  # fmt: skip
_PRIMARY = {
    "generated-samples.jsonl": "sn97_generated_samples", "scoring-results.jsonl": "sn97_scoring_results",
    "judge-results.jsonl": "sn97_legacy_judge_results", "progress.jsonl": "sn97_progress_events",
    "index.jsonl": "sn120_eval_index", "chunk_0001_0000.jsonl.gz": "sn120_trajectories",
    "turns_epoch_0001.jsonl.gz": "sn120_flat_turns", "own.jsonl": "own_trajectories",
    "nested.jsonl": "own_trajectories", "corpus.jsonl": "gateway_corpus_episodes", "metrics.jsonl": "gateway_metrics",
    "base.jsonl": "gateway_samples",
}  # fmt: skip


def _compare_with_published(tree: Tree, lines: dict[str, list[bytes]]) -> None:
    compared = 0
    for name, data in lines.items():
        table = _PRIMARY[name.rpartition("/")[2]]
        types = {column.name: column.type for column in TABLES[table].columns}
        for row in tree.rows(table):
            if row["artifact_id"] != name:
                continue
            published = json.loads(data[row["line"] - 1].replace(rb"\ud800", rb"\ufffd"))
            for key, value in published.items():
                column = _RENAMED.get(key, key)
                if column in ("eval_run_id", "side") or types.get(column) is None:
                    continue
                landed = json.loads(row[column]) if types[column] == "json" and row[column] is not None else row[column]
                # A whole number in a column of doubles is the nearest double.
                expected = float(value) if types[column] == "double" and value is not None else value
                if column in ("trajectory_id", "instance_id") and type(value) is int:
                    expected = str(value)
                assert landed == expected, (name, row["line"], key)
                compared += 1
            unknown = [key for key in published if key.endswith("\u00e9")]
            if unknown and "other_fields" in types:
                assert {key: published[key] for key in unknown}.items() <= json.loads(row["other_fields"]).items()
    assert compared > 2000


def test_mutated_documents_land_whole_or_are_quarantined(tmp_path: Path) -> None:
    tree, generator = Tree(tmp_path), random.Random(3)
    for name, record in DOCUMENTS.items():
        mutations = _mutations(record, generator, 8)
        # One file each: a part of them is enough for a quick test.
        for index, item in enumerate([record, *generator.sample(mutations, min(len(mutations), 30))]):
            tree.write(name.format(f"copy-{index:03}"), _line(item))
    report = tree.land()
    assert set(report.reasons) >= {"wrong_type", "number_out_of_range", "nested_too_deeply"}
    for row in report.artifacts:
        assert row["n_lines"] == 1
    kinds = {row["kind"] for row in report.artifacts}
    assert kinds == {"verdicts", "requests", "faults", "dashboards", "pipeline_states", "duels", "manifests",
                     "corpus_stats", "run_configs"}  # fmt: skip
    for kind in kinds:
        assert any(row["n_rows"] for row in report.artifacts if row["kind"] == kind), kind


def test_mutated_bytes_of_every_line_never_end_the_run(tmp_path: Path) -> None:
    tree, generator = Tree(tmp_path), random.Random(4)
    for name, record in LINES.items():
        whole = _line(record)
        lines = []
        for _ in range(200):
            data = bytearray(whole)
            for _ in range(generator.choice((1, 2, 5))):
                place = generator.randrange(len(data))
                if generator.random() < 0.3:
                    del data[place]
                elif generator.random() < 0.5:
                    data.insert(place, generator.choice(b'"\\{}[],:0-\x00\xff\xed'))
                else:
                    data[place] = generator.randrange(256)
            lines.append(bytes(data))
        tree.write_lines(name.removesuffix(".gz"), *lines)
    report = tree.land()
    assert sum(row["n_lines"] + row["n_blank_lines"] for row in report.artifacts) >= 200 * len(LINES)
    assert {"invalid_json", "invalid_utf8"} <= set(report.reasons)
