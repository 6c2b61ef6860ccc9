"""Every stored number of the duel tree is computed again here, from the stored answers and texts alone."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from assay.sample import rules
from assay.sample.sn97 import ERAS, king_of

Record = dict[str, Any]
V4_WEIGHTS = {"explore": 2.0, "action": 2.0, "claims": 1.5, "economy": 1.0, "grounding": 0.5, "verification": 0.5}
REQUIRES = {"action": 2.0, "read": 0.75, "neutral": 0.25}


class Run:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.verdict = json.loads((folder / "verdict.json").read_bytes())
        self.request = json.loads((folder / "request.json").read_bytes())
        self.generated = lines(folder / "generated-samples.jsonl")
        self.scoring = lines(folder / "scoring-results.jsonl")
        self.era = self._era()

    def _era(self) -> str:
        if self.verdict["state"] == "failed":
            return "failed"
        version = self.request["previous_king"]["king_version"]
        return next(e.name for e in ERAS if not e.fails and king_of(e)["king_version"] == version)


def lines(path: Path) -> list[Record]:
    data = path.read_bytes()
    assert data.endswith(b"\n") or not data
    return [json.loads(line) for line in data.split(b"\n")[:-1]]


@pytest.fixture(scope="module")
def runs(tree: Path) -> list[Run]:
    return [Run(folder) for folder in sorted((tree / "sn97/runs").iterdir())]


def pairs(run: Run) -> Iterator[tuple[Record, Record]]:
    """(generated, scoring) lines that belong together."""
    generated = [g for g in run.generated if not g["king_error"] and not g["chal_error"]]
    assert len(generated) == len(run.scoring)
    for g, s in zip(generated, run.scoring, strict=True):
        assert g["sample_id"].split("#r")[0] == s["sample_id"]
        yield g, s


def test_every_era_is_there(runs: list[Run]) -> None:
    assert Counter(run.era for run in runs) == Counter([*(e.name for e in ERAS), "V4"])


def test_marks_of_the_version_table(runs: list[Run]) -> None:
    for run in runs:
        names = {path.name for path in run.folder.iterdir()}
        legacy = {"judge-results.jsonl", "duel-transcript.jsonl"}
        assert (legacy <= names) == (run.era in ("V0", "V1"))
        judges = 3 if run.era in ("V0", "V1", "V2") else 1
        assert run.verdict["judge_count"] == judges
        assert run.verdict["required_win_margin"] == (0.03 if judges == 3 else 0.025)
        for line in run.generated:
            assert ("challenger_output" in line) == (run.era not in ("V5a", "V5b"))
            assert ("submit_command" in line) == (run.era in ("V4", "failed", "V5a", "V5b"))
            assert ("challenger_turns" in line) == (run.era != "V0")
            assert ("#r" in line["sample_id"]) == (run.era == "V5b")
        for line in run.scoring:
            if line.get("error"):
                assert line["questions"] == [] and not line["scored"]
                continue
            if run.era == "V0":
                assert {"sample_score", "order", "categories", "category_source"} <= set(line)
                assert all("metric_scores" in r and "judge_mean" in r for r in line["judge_results"])
                continue
            assert ("king_amputated_thinking" in line) == (run.era in ("V4", "failed", "V5a", "V5b"))
            tags = {q.get("tag") for q in line["questions"]}
            for question in line["questions"]:
                assert ("category" in question) == (run.era in ("V1", "V2"))
                assert ("tag" in question) == (run.era != "V1")
                assert ("weight" in question) == (run.era in ("V5a", "V5b"))
                assert ("milestone" in question) == (run.era == "V5b")
            if run.era == "V2":
                assert all(":" not in str(tag) for tag in tags)
            if run.era == "V3":
                assert not tags & {"reference:grounding", "reference:claims"}
                assert any(str(tag).startswith("behavior:") for tag in tags)
            if run.era in ("V4", "V5a"):
                assert "reference:continuity" not in tags and "reference:grounding" in tags
            assert line["scoring_mode"] == ("graded_20" if run.era == "V5b" else "binary")
            for result in line["judge_results"]:
                judged = result["provider"] is not None and result["parse_ok"]
                assert ("repeats" in result) == (run.era in ("V5a", "V5b") and judged)
                assert ("scores" in result) == (run.era == "V5b")


def test_json_is_sorted_compact_and_escaped(tree: Path) -> None:
    for path in (tree / "sn97/runs").rglob("*"):
        if path.suffix == ".jsonl":
            for raw in path.read_bytes().split(b"\n")[:-1]:
                value = json.loads(raw)
                again = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
                assert again.encode() == raw
        elif path.suffix == ".json":
            text = path.read_text("ascii")
            assert json.dumps(json.loads(text), sort_keys=True, indent=2) + "\n" == text


def test_verdict_lists_every_other_file_with_its_hash(runs: list[Run]) -> None:
    for run in runs:
        listed = {m["object_key"].rsplit("/", 1)[1]: m for m in run.verdict["artifact_metadata"].values()}
        assert set(listed) == {p.name for p in run.folder.iterdir()} - {"verdict.json"}
        for name, entry in listed.items():
            data = (run.folder / name).read_bytes()
            assert entry["size_bytes"] == len(data)
            assert entry["sha256"] == "sha256:" + hashlib.sha256(data).hexdigest()


def expected_rate(era: str, questions: list[Record], record: Record) -> float | None:
    values = record["scores"] if era == "V5b" else record["answers"]
    held = [(q, float(values[q["id"]])) for q in questions if values.get(q["id"]) is not None]
    if not held:
        return None
    if era == "V1":
        sizes = [bit for q, bit in held if q["category"] == "size"]
        rest = [(REQUIRES[q["requires"]], bit) for q, bit in held if q["category"] != "size"]
        mean = sum(w * bit for w, bit in rest) / sum(w for w, _ in rest)
        return round(mean * (0.6 + 0.4 * sum(sizes) / len(sizes)) if sizes else mean, 6)

    def weight(question: Record) -> float:
        if era in ("V5a", "V5b"):
            return float(question["weight"])
        if era in ("V2", "V3"):
            return 1.0
        kind, _, name = question["tag"].partition(":")
        return V4_WEIGHTS[name] if kind == "reference" else 0.25

    return round(sum(weight(q) * bit for q, bit in held) / sum(weight(q) for q, _ in held), 6)


def test_scores_can_be_computed_again(runs: list[Run]) -> None:
    compared = 0
    for run in runs:
        king: list[float] = []
        challenger: list[float] = []
        for line in run.scoring:
            if run.era == "V0":
                for side, into in (("previous_king", king), ("challenger", challenger)):
                    means = [r["judge_mean"] for r in line["judge_results"] if r["side"] == side]
                    into.append(sum(means) / 3)
                continue
            scores = {}
            for side, key, flag in (
                ("previous_king", "king_score", "king_amputated_thinking"),
                ("challenger", "challenger_score", "chal_amputated_thinking"),
            ):
                records = [r for r in line["judge_results"] if r["side"] == side]
                for record in records:
                    if record.get("looped") or record.get("corrupted"):
                        assert record["yes_rate"] == 0.0 and set(record["answers"].values()) <= {"0", "A"}
                    assert record["yes_rate"] == expected_rate(run.era, line["questions"], record)
                rates = [r["yes_rate"] for r in records if r["yes_rate"] is not None]
                score = round(sum(rates) / len(rates), 6) if rates else None
                if score is not None and line.get(flag):
                    score = round(score * 0.5, 6)
                assert line[key] == score
                scores[side] = score
                compared += score is not None
            parsed = all(r["parse_ok"] for r in line["judge_results"])
            assert line["scored"] == (parsed and None not in scores.values() and bool(scores) and "error" not in line)
            if line["scored"]:
                king.append(line["king_score"])
                challenger.append(line["challenger_score"])
        verdict = run.verdict
        assert verdict["king_vllm_errors"] == sum(g["king_error"] is not None for g in run.generated)
        assert verdict["chal_vllm_errors"] == sum(g["chal_error"] is not None for g in run.generated)
        assert verdict["judge_errors"] == sum(not r["parse_ok"] for s in run.scoring for r in s["judge_results"])
        assert verdict["scored_sample_count"] == verdict["valid_turns"] == len(king)
        assert verdict["total_turns"] == len(run.generated)
        if run.era == "failed":
            assert len(king) / len(run.scoring) < 0.8
            assert verdict["fault_code"] == "scoring_invalid" and verdict["challenger_won"] is None
            continue
        assert len(king) / len(run.scoring) >= 0.8
        assert verdict["score_king"] == round(sum(king) / len(king), 6)
        assert verdict["score_challenger"] == round(sum(challenger) / len(challenger), 6)
        won = verdict["score_challenger"] - verdict["score_king"] >= verdict["required_win_margin"]
        assert verdict["challenger_won"] is won
    assert compared > 40


def sides(runs: list[Run]) -> Iterator[tuple[Run, Record, list[Record], list[Record]]]:
    """(run, scoring line, turns, judge records) of every judged side."""
    for run in runs:
        if run.era == "V0":
            continue
        for g, s in pairs(run):
            for side in ("previous_king", "challenger"):
                yield run, s, g[f"{side}_turns"], [r for r in s["judge_results"] if r["side"] == side]


def test_zeroed_sides_follow_the_rules_of_their_era(runs: list[Run]) -> None:
    seen: Counter[str] = Counter()
    for run, _, turns, records in sides(runs):
        if not records or not records[0]["parse_ok"]:
            continue
        late = run.era in ("V5a", "V5b")
        shown = [t for t in turns if not t.get("retry_feedback")]
        text = rules.render_document(shown)
        reason = None
        if run.era != "V1" and "MODEL_RESPONSE_TOKEN_LIMIT_EXCEEDED" in text:
            reason = "output truncated mid-generation"
        elif late and "CONSECUTIVE_BAD_TURNS_LIMIT_EXCEEDED" in text:
            reason = "turn unusable after repeated attempts; the benchmark abandons here"
        elif run.era in ("V4", "failed", "V5a", "V5b") and "<|im_end|>" in text:
            reason = "reserved template token in output"
        stored = str(records[0].get("corruption_reason", ""))
        assert stored.startswith(reason) if reason else not stored
        if reason:
            seen[reason] += 1
            continue
        looped = records[0].get("looped", False)
        if run.era in ("V1", "V2"):
            assert not looped
            continue
        scored = [t["content"] for t in turns if t.get("score_target")]
        if not late:
            commands = [
                " ".join(c.split())
                for text in scored
                for c in re.findall(r"```(?:bash|sh)?\s*\n(.*?)```", text.rstrip(), re.DOTALL)
            ]
            ratio, run_length = rules.loop_numbers(commands)
            assert looped == (ratio >= 0.5 or run_length >= 4)
        seen["looped"] += looped
        if looped:
            assert records[0]["loop_reasons"] and records[0]["loop_commands"]
            assert all(e.startswith("Trajectory is looped") for e in records[0]["explanations"].values())
    assert seen["looped"] >= 3
    assert seen["output truncated mid-generation"] >= 1
    assert seen["turn unusable after repeated attempts; the benchmark abandons here"] >= 1
    assert seen["reserved template token in output"] >= 1


def test_documents_are_the_rendered_turns(runs: list[Run]) -> None:
    for run in runs:
        for line in run.generated:
            for side in ("previous_king", "challenger"):
                turns = line.get(f"{side}_turns")
                if run.era == "V0" or f"{side}_output" not in line:
                    continue
                assert line[f"{side}_output"] == (rules.render_document(turns) if turns else "")


def test_turns_have_the_published_marks(runs: list[Run]) -> None:
    marks: Counter[str] = Counter()
    for _, _, turns, _ in sides(runs):
        scored = [i for i, t in enumerate(turns) if t.get("score_target")]
        assert 1 <= len(scored) <= 16 and all(turns[i]["role"] == "assistant" for i in scored)
        for turn in turns:
            marks.update(set(turn) - {"role", "content"})
            assert all(value is True for key, value in turn.items() if key not in ("role", "content"))
        for index in scored[:-1]:
            assert turns[index + 1].get("environment_observation")
    assert set(marks) == {
        "score_target", "environment_observation", "truncated", "abandoned", "injected", "retry_feedback",
    }  # fmt: skip


def test_citations_are_about_as_frequent_as_published(runs: list[Run]) -> None:
    total = cited = dangling = cited_no = plural = 0
    for _, line, turns, records in sides(runs):
        count = sum(1 for t in turns if t.get("score_target"))
        for record in records:
            if record.get("looped") or record.get("corrupted") or not record["parse_ok"]:
                continue
            for key, text in record["explanations"].items():
                numbers = {int(n) for n in re.findall(r"CANDIDATE OUTPUT (\d+)", text)}
                total += 1
                valid = any(1 <= n <= count for n in numbers)
                cited += valid
                dangling += any(n > count for n in numbers)
                plural += "CANDIDATE OUTPUTS" in text
                cited_no += valid and record["answers"].get(key) == "0"
        assert line["sample_id"]
    assert 0.74 < cited / total < 0.88
    assert dangling and plural and cited_no


def test_answers_follow_what_the_side_did(runs: list[Run]) -> None:
    """The question about the right edit is answered yes far more often where the fixed line was written."""
    table: Counter[tuple[bool, bool]] = Counter()
    for run, line, turns, records in sides(runs):
        if run.era == "V5b":
            continue
        for record in records:
            if record.get("looped") or record.get("corrupted") or not record["parse_ok"]:
                continue
            for question in line["questions"]:
                match = re.fullmatch(r"Does the candidate search for `(\w+)` and get matches\?", question["text"])
                if match and question["id"] in record["answers"]:
                    text = "".join(t["content"] for t in turns if t.get("score_target"))
                    searched = f'"{match.group(1)}"' in text
                    table[searched, record["answers"][question["id"]] == "1"] += 1
    assert table[True, True] > 4 * table[True, False]
    assert table[False, False] > 4 * table[False, True]


def test_all_three_observation_formats_and_odd_texts_occur(runs: list[Run], tree: Path) -> None:
    forms: Counter[str] = Counter()
    texts = []
    for _, _, turns, _ in sides(runs):
        for turn in turns:
            texts.append(turn["content"])
            if turn.get("environment_observation"):
                text = turn["content"]
                if text.startswith("<returncode>"):
                    forms["returncode"] += 1
                    assert "</returncode>\n<output>\n" in text and text.endswith("</output>")
                elif text.startswith("OBSERVATION:"):
                    forms["swe_agent"] += 1
                else:
                    forms["openhands"] += 1
                    assert re.search(r"\[(The command timed out|Command finished with exit code -?\d+\])", text)
    assert min(forms[f] for f in ("returncode", "swe_agent", "openhands")) > 15
    whole = "\n".join(texts)
    for piece in ("\x00", "\u2028", "🌊", "```python", "No bash command found", "command not found", "Traceback"):
        assert piece in whole, piece
    assert any("<think>" in t and "</think>" not in t for t in texts)
    assert any(re.search(r"cat > NOTES\.md <<'EOF'\n.*```python", t, re.DOTALL) for t in texts)
    assert any(len(re.findall(r"```bash\n", t)) == 2 for t in texts)
    raw = b"".join(p.read_bytes() for p in (tree / "sn97/runs").rglob("generated-samples.jsonl"))
    for escape in (b"\\ud83c\\udf0a", b"\\u2028", b"\\u0000"):
        assert escape in raw


def test_rows_recur_across_runs(runs: list[Run]) -> None:
    used = Counter(i for run in runs for i in set(run.request["dataset"]["sample_ids"]))
    assert max(used.values()) >= 2
    pattern = re.compile(r"[A-Za-z0-9_.-]+/data/train-\d{5}\.parquet:\d+:\d+")
    assert all(pattern.fullmatch(sample_id) for sample_id in used)


def test_prompt_is_the_context(runs: list[Run]) -> None:
    for run in runs:
        for line in run.generated:
            assert line["prompt"].endswith("<|im_start|>assistant\n")
            turns = line.get("challenger_turns") or line.get("previous_king_turns")
            if turns:
                first = next(i for i, t in enumerate(turns) if t.get("score_target"))
                blocks = "".join(
                    f"<|im_start|>{t['role']}\n{t['content']}<|im_end|>\n"
                    for t in turns[:first]
                    if not t.get("retry_feedback")
                )
                assert line["prompt"] == blocks + "<|im_start|>assistant\n"
                # The last part of the id: assistant turns before the candidate takes over.
                taken = int(line["sample_id"].split("#r")[0].rsplit(":", 1)[1])
                assert taken == sum(t["role"] == "assistant" for t in turns[:first])
            if line.get("submit_command"):
                assert line["submit_command"] in line["prompt"]


def test_dashboard_agrees_with_the_verdicts(tree: Path, runs: list[Run]) -> None:
    board = json.loads((tree / "sn97/data/dashboard.json").read_bytes())
    by_id = {run.verdict["eval_run_id"]: run for run in runs}
    listed = {entry["eval_run_id"] for entry in board["eval_runs"]}
    assert listed == {i for i, run in by_id.items() if run.verdict["state"] == "succeeded"}
    finished = [entry["finished_at"] for entry in board["eval_runs"]]
    assert finished == sorted(finished, reverse=True)
    for entry in board["eval_runs"]:
        run = by_id[entry["eval_run_id"]]
        assert entry["win_margin"] == run.verdict["score_challenger"] - run.verdict["score_king"]
        assert entry["win_margin"] in entry["pass_margins"]
        assert "qwen3.6-35b" in entry["model_uri"]
        if run.era != "V0":
            rates = [
                r["yes_rate"]
                for s in run.scoring if s["scored"]
                for r in s["judge_results"] if r["side"] == "previous_king" and r["parse_ok"]
            ]  # fmt: skip
            means = entry["score_breakdown"]["by_judge_king"].values()
            assert sum(means) / len(means) == pytest.approx(sum(rates) / len(rates))
    faults = list((tree / "sn97/sanity").glob("*/*/fault.json"))
    assert len(faults) == 4 and all(p.parent.name.startswith("sha256_") for p in faults)
    reasons = " ".join(json.loads(p.read_bytes())["reason"] for p in faults)
    for word in ("looping", "no submission and no edit", "reserved template token", "empty response"):
        assert word in reasons
    assert {f["state"] for f in board["fails"]} == {"TERMINAL_INVALID", "TERMINAL_INFRA_FAILED"}


def test_legacy_files_repeat_the_records(runs: list[Run]) -> None:
    for run in runs:
        if run.era not in ("V0", "V1"):
            continue
        records = lines(run.folder / "judge-results.jsonl")
        assert len(records) == sum(len(s["judge_results"]) for s in run.scoring)
        transcript = lines(run.folder / "duel-transcript.jsonl")
        assert [{k: v for k, v in t.items() if k != "target"} for t in transcript] == run.generated
        assert all(t["target"] and "@SUBMIT@" not in t["target"] for t in transcript)


def test_no_placeholder_is_left(tree: Path) -> None:
    for path in tree.rglob("*.jsonl"):
        assert b"@SUBMIT@" not in path.read_bytes()


def test_the_gate_removes_answers_only_where_pruning_failed(runs: list[Run]) -> None:
    missing = 0
    for run, line, _, records in sides(runs):
        for record in records:
            if run.era in ("V3", "V4", "failed") and len(record["answers"]) < len(line["questions"]):
                missing += 1
                assert "pruned_out" not in line["question_source"]
                assert len(record["explanations"]) == len(line["questions"])
    assert missing
