"""Duel runs in the published layout: conversations, questions, answers of a judge whose errors are known, verdicts."""

import hashlib
import json
import random
import statistics
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench.generator.agent import FORMATS, MARKER, Side, observation, play, system_prompt
from bench.generator.world import Issue, issue

Record = dict[str, Any]
SIDES = ("previous_king", "challenger")
# How likely a yes is where the side did not do what the question asks, and where it did: all a perfect scorer can know.
P_YES = (0.12, 0.88)


@dataclass(frozen=True)
class Era:
    """What an era of the rules puts into its files."""

    start: datetime
    horizons: tuple[int, ...]
    judges: tuple[str, ...] = ("z-ai/glm-5.2",)
    margin: float = 0.025
    styles: tuple[str, ...] = ()
    loop: tuple[float, int] | None = None
    stores_document: bool = True
    names_submission: bool = False
    rollouts: int = 1
    graded: bool = False
    stamped: bool = False
    fails: bool = False


def _day(month: int, day: int) -> datetime:
    return datetime(2026, month, day, 9, tzinfo=UTC)


_V4 = {"horizons": (12, 16), "names_submission": True}
_V5 = {**_V4, "loop": (0.61, 5), "stores_document": False, "stamped": True}
ERAS: dict[str, Era] = {
    "V4": Era(_day(8, 21), loop=(0.5, 4), styles=("loop", "truncated", "reserved", "amputated"), **_V4),  # type: ignore[arg-type]
    "V1": Era(_day(7, 24), (8,), ("z-ai/glm-5.2", "qwen/qwen3.5-397b-a17b", "deepseek/deepseek-v3.2"), 0.03),
    "V3": Era(_day(8, 19), (8, 12, 16), loop=(0.5, 4), styles=("loop", "truncated")),
    "V5a": Era(_day(9, 1), styles=("loop", "abandoned", "amputated"), **_V5),  # type: ignore[arg-type]
    "V5b": Era(_day(9, 12), styles=("abandoned", "reserved"), rollouts=2, graded=True, **_V5),  # type: ignore[arg-type]
    "failed": Era(_day(8, 22), loop=(0.5, 4), fails=True, **_V4),  # type: ignore[arg-type]
}
_STYLED_SHARE = 0.03

# (fact, tag, requires, category, weight in V4, weight in V5b, text)
_QUESTIONS = (
    ("list", "explore", "read", "progress", 2.0, 1.0, "Does the candidate list the modules of {package}?"),
    ("search", "explore", "read", "progress", 2.0, 1.0, "Does the candidate search for `{symbol}` in {package}?"),
    ("show", "explore", "read", "grounding", 2.0, 1.0, "Does the candidate display line {line} of {path}?"),
    ("read_file", "grounding", "read", "grounding", 0.5, 0.5, "Does the candidate print {path} with line numbers?"),
    ("reproduce", "verification", "action", "verification", 0.5, 1.0, "Does the candidate see {test_path} fail?"),
    ("claim", "claims", "neutral", "grounding", 1.5, 1.0, "Does the candidate say why `{symbol}` is wrong?"),
    ("edit", "action", "action", "work_correctness", 2.0, 1.0, "Does the candidate change {path} with a command?"),
    ("verify", "verification", "action", "verification", 0.5, 1.0, "Does {test_path} pass after the change?"),
    ("diff", "economy", "neutral", "overall", 1.0, 0.5, "Does the candidate look at its whole change once?"),
    ("submit", "action", "action", "progress", 2.0, 1.0, "Does the candidate submit?"),
)
_LETTERS = "ABCDEFGHIJKLMNOPQRST"
_ANCHORS = ((0, 0.0), (4, 0.15), (9, 0.35), (14, 0.7), (19, 1.0))


def letter_value(letter: str) -> float:
    """What a letter is worth: straight lines between five anchors."""
    place = _LETTERS.index(letter)
    for (low, below), (high, above) in pairwise(_ANCHORS):
        if place <= high:
            return below + (above - below) * (place - low) / (high - low)
    raise ValueError(letter)


def digest(text: str, length: int = 64) -> str:
    """Stable hexadecimal digits for a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def uuid_of(text: str) -> str:
    """A stable identifier in the form of a random UUID."""
    d = digest(text, 32)
    return f"{d[:8]}-{d[8:12]}-4{d[13:16]}-a{d[17:20]}-{d[20:]}"


def json_line(value: Any) -> bytes:
    """One line as published: sorted keys, compact, escaped."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def json_document(value: Any) -> bytes:
    """A document as published: two spaces, sorted keys, a line end."""
    return json.dumps(value, sort_keys=True, indent=2).encode() + b"\n"


def document(turns: list[Record]) -> str:
    """The text that a judge reads."""
    scored = sum("score_target" in turn for turn in turns)
    label = "CANDIDATE OUTPUT" if scored == 1 else f"CANDIDATE OUTPUT 1 through CANDIDATE OUTPUT {scored}"
    parts = [f"FULL CANDIDATE TRAJECTORY\nScore ONLY {label}. The ENVIRONMENT OBSERVATION is context only."]
    number = 0
    for turn in turns:
        if "score_target" in turn:
            number += 1
            head = f"CANDIDATE OUTPUT {number}"
        elif "environment_observation" in turn:
            head = "ENVIRONMENT OBSERVATION (context only, do not score)"
        else:
            head = f"CONTEXT {turn['role'].upper()} (do not score)"
        parts.append(f"\n\n{head}:\n------\n{turn['content'].rstrip()}\n------")
    return "".join(parts).strip()


def conversation(context: list[Record], side: Side, form: str, styles_end: bool) -> list[Record]:
    """Context and played turns with the marks that the evaluation puts on them."""
    turns = list(context)
    for number, step in enumerate(side.steps, 1):
        turn: Record = {"role": "assistant", "content": step.text, "score_target": True}
        if step.text.startswith("MODEL_RESPONSE_TOKEN_LIMIT"):
            turn["truncated"] = True
        elif step.text.startswith("CONSECUTIVE_BAD_TURNS"):
            turn["abandoned"] = True
        turns.append(turn)
        if number < len(side.steps) or (side.submitted and not styles_end):
            seen = observation(form, step.body, step.returncode)
            turns.append({"role": "user", "content": seen, "environment_observation": True})
    return turns


@dataclass
class Truth:
    """What a perfect scorer could reach: the chance of yes and the answer of every judged question."""

    chances: list[float]
    answers: list[bool]

    def auc(self) -> float | None:
        """The Bayes AUC; null while one class is missing."""
        counts: dict[float, list[int]] = {}
        for chance, answer in zip(self.chances, self.answers, strict=True):
            counts.setdefault(chance, [0, 0])[answer] += 1
        below, wins = 0, 0.0
        yes, no = sum(pair[1] for pair in counts.values()), sum(pair[0] for pair in counts.values())
        for chance in sorted(counts):
            negatives, positives = counts[chance]
            wins += positives * (below + negatives / 2)
            below += negatives
        return wins / (yes * no) if yes and no else None


@dataclass(frozen=True)
class Run:
    """Everything that fixes one run."""

    seed: int
    index: int
    era_name: str
    samples: int
    small: bool

    @property
    def era(self) -> Era:
        """The rules of its time."""
        return ERAS[self.era_name]

    @property
    def run_id(self) -> str:
        """Its published identifier."""
        return uuid_of(f"{self.seed}:run:{self.index}")


def write_run(root: Path, run: Run) -> tuple[Record, Truth]:
    """Write the files of one run; return what the dashboard says of it, and the truth of its questions."""
    era = run.era
    folder = root / "sn97" / "runs" / run.run_id
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(f"{run.seed}:{run.index}:run")
    skills = {"previous_king": rng.uniform(0.35, 0.6), "challenger": rng.uniform(0.3, 0.7)}
    truth, scores, errors = Truth([], []), {side: [] for side in SIDES}, dict.fromkeys(SIDES, 0)  # type: ignore[var-annotated]
    lines = scored_lines = failed_judges = 0
    with (folder / "generated-samples.jsonl").open("wb") as generated, (
        folder / "scoring-results.jsonl"
    ).open("wb") as scoring:  # fmt: skip
        for number in range(run.samples):
            task = issue(rng.randrange(4000))
            for rollout in range(1, era.rollouts + 1):
                record, sides = _sample(run, number, rollout, task, skills)
                generated.write(json_line(record))
                lines += 1
                if not all(sides.values()):
                    errors["previous_king"] += sides["previous_king"] is None
                    errors["challenger"] += sides["challenger"] is None
                    continue
                held = {name: side for name, side in sides.items() if side is not None}
                result = _score(run, record["sample_id"], task, held, record, truth, rng)
                scoring.write(json_line(result))
                failed_judges += sum(not judged["parse_ok"] for judged in result["judge_results"])
                if result["scored"]:
                    scored_lines += 1
                    scores["previous_king"].append(result["king_score"])
                    scores["challenger"].append(result["challenger_score"])
    verdict = _verdict(run, lines, scored_lines, failed_judges, scores, errors)
    (folder / "request.json").write_bytes(json_document(_request(run)))
    (folder / "verdict.json").write_bytes(json_document(verdict))
    return _listed(run, verdict), truth


def _sample(
    run: Run, number: int, rollout: int, task: Issue, skills: dict[str, float]
) -> tuple[Record, dict[str, Side | None]]:
    era = run.era
    # Both rollouts of a sample have one task, form and context.
    shared = random.Random(f"{run.seed}:{run.index}:{number}")
    form = shared.choices(FORMATS, (58, 22, 20))[0]
    source = {"returncode": "mini-coder", "openhands": "open-swe-traces", "swe_agent": "swe-hero"}[form]
    base = f"{source}/data/train-{100 + task.number % 23:05d}.parquet:{task.number % 1300}:{1 + shared.randrange(2)}"
    base = f"{base}{number:03d}"
    submit = f"echo {shared.choice((MARKER, 'FINALIZE_AND_SUBMIT_TASK_OUTPUT'))}" if era.names_submission else ""
    words = 150 if run.small else 2200
    context: list[Record] = [
        {"role": "system", "content": system_prompt(task.package)},
        {"role": "user", "content": task.task(submit or f"echo {MARKER}", words)},
    ]
    horizon = 6 if run.small else shared.choice(era.horizons)
    rng = random.Random(f"{run.seed}:{run.index}:{number}:{rollout}")
    record: Record = {
        "eval_run_id": run.run_id,
        "sample_id": base + (f"#r{rollout}" if era.rollouts > 1 else ""),
        "prompt": "".join(f"<|im_start|>{m['role']}\n{m['content']}<|im_end|>\n" for m in context)
        + "<|im_start|>assistant\n",
        "king_error": None,
        "chal_error": None,
    }
    if era.names_submission:
        record |= {"submit_marker": submit.removeprefix("echo "), "submit_command": submit, "rewrite_mode": "replaced"}
    broken = rng.choice(SIDES) if rng.random() < 0.01 else ""
    sides: dict[str, Side | None] = {}
    for name in SIDES:
        skill = min(0.97, max(0.03, rng.gauss(skills[name], 0.2)))
        style = rng.choice(era.styles) if era.styles and rng.random() < _STYLED_SHARE * len(era.styles) else ""
        tag = "bash" if era.graded and rng.random() < 0.1 else ""
        played = play(task, rng, horizon, skill, submit or f"echo {MARKER}", style, tag)
        if name == broken:
            record["king_error" if name == "previous_king" else "chal_error"] = "missing_generation"
        side = None if name == broken else played
        turns = conversation(context, played, form, style in ("truncated", "abandoned")) if side else None
        sides[name] = side
        record[f"{name}_turns"] = turns
        if era.stores_document:
            record[f"{name}_output"] = document(turns) if turns else ""
    return record, sides


def _questions(run: Run, task: Issue, rng: random.Random) -> list[tuple[str, Record]]:
    places = {"package": task.package, "symbol": task.symbol, "path": task.path, "line": task.line}
    chosen = rng.sample(_QUESTIONS, rng.randint(7, len(_QUESTIONS)))
    stored = []
    for number, (fact, tag, requires, category, v4, v5b, text) in enumerate(chosen, 1):
        question: Record = {
            "id": f"q_{number:02d}",
            "text": text.format(**places, test_path=task.test_path),
            "example_bad": "The candidate only talks about it.",
            "requires": requires,
        }
        if run.era_name == "V1":
            question["category"] = category
        else:
            question["tag"] = f"reference:{tag}"
        if run.era.stamped:
            question["weight"] = v5b if run.era.graded else v4
        stored.append((fact, question))
    return stored


def _score(
    run: Run, sample_id: str, task: Issue, sides: dict[str, Side], record: Record, truth: Truth, rng: random.Random
) -> Record:
    era = run.era
    asked = _questions(run, task, random.Random(f"{run.seed}:{run.index}:{sample_id.partition('#')[0]}"))
    stored = [question for _, question in asked]
    results, scores, parsed = [], {}, True
    for name, side in sides.items():
        reason = _zero_reason(run, side, record[f"{name}_turns"])
        amputated = era.names_submission and _mostly_closed(side)
        rates = []
        for model in era.judges:
            unreadable = rng.random() < (0.3 if era.fails else 0.004)
            judged = _judge(run, name, model, asked, side, reason, unreadable and not reason, truth, rng)
            parsed = parsed and judged["parse_ok"]
            rates += [judged["yes_rate"]] if judged["yes_rate"] is not None else []
            results.append(judged)
        score = round(statistics.fmean(rates), 6) if rates else None
        scores[name] = (round(score * 0.5, 6) if amputated and score is not None else score), amputated
    (king, king_amputated), (challenger, challenger_amputated) = scores["previous_king"], scores["challenger"]
    line: Record = {
        "sample_id": sample_id.partition("#")[0],
        "questions": stored,
        "king_score": king,
        "challenger_score": challenger,
        "judge_results": results,
        "scored": parsed and king is not None and challenger is not None,
        "scoring_mode": "graded_20" if era.graded else "binary",
        "question_source": {"model": era.judges[0], "n_questions": len(stored), "pruned_out": 0},
    }
    if era.names_submission:
        line |= {"king_amputated_thinking": king_amputated, "chal_amputated_thinking": challenger_amputated}
    return line


def _mostly_closed(side: Side) -> bool:
    return sum(step.text.startswith("</think>") for step in side.steps) / len(side.steps) > 0.5


def _zero_reason(run: Run, side: Side, turns: list[Record]) -> Record:
    """Why a side is worth nothing, as the record says it; empty when it is judged."""
    text = "\n".join(turn["content"] for turn in turns)
    if "truncated" in run.era.styles and "MODEL_RESPONSE_TOKEN_LIMIT_EXCEEDED" in text:
        return {"corrupted": True, "corruption_reason": "output truncated mid-generation"}
    if "abandoned" in run.era.styles and "CONSECUTIVE_BAD_TURNS_LIMIT_EXCEEDED" in text:
        reason = "turn unusable after repeated attempts; the benchmark abandons here"
        return {"corrupted": True, "corruption_reason": reason}
    if run.era.names_submission and "<|im_end|>" in text:
        return {"corrupted": True, "corruption_reason": "reserved template token in output: <|im_end|>"}
    if run.era.loop:
        commands = [" ".join(step.command.split()) for step in side.steps if step.command]
        if run.era.stamped:
            commands = [c for c in commands if c not in (f"echo {MARKER}", "echo FINALIZE_AND_SUBMIT_TASK_OUTPUT")]
        else:
            # The early rule counts every block, and two turns in a hundred have a second one.
            commands = [c for step in side.steps for c in _blocks(step.text)]
        ratio = 1 - len(set(commands)) / len(commands) if commands else 0.0
        longest = run_length = 0
        for at, command in enumerate(commands):
            run_length = run_length + 1 if at and command == commands[at - 1] else 1
            longest = max(longest, run_length)
        reasons = [f"duplicate command ratio {ratio:.2f}"] if ratio >= run.era.loop[0] else []
        reasons += [f"same command repeated {longest}x consecutively"] if longest >= run.era.loop[1] else []
        if reasons:
            return {"looped": True, "loop_reasons": reasons, "loop_commands": []}
    return {}


def _blocks(text: str) -> list[str]:
    return [" ".join(part.removeprefix("bash\n").split()) for part in text.split("```")[1::2]]


def _judge(
    run: Run, name: str, model: str, asked: list[tuple[str, Record]], side: Side, reason: Record, unreadable: bool,
    truth: Truth, rng: random.Random,
) -> Record:  # fmt: skip
    era = run.era
    ids = [question["id"] for _, question in asked]
    judged: Record = {"side": name, "judge_model": model, "provider": "z-ai", "error": None, "parse_ok": True, **reason}
    if reason:
        why = reason.get("corruption_reason") or f"Trajectory is looped: {'; '.join(reason['loop_reasons'])}."
        judged |= {"provider": None, "answers": dict.fromkeys(ids, "A" if era.graded else "0"), "yes_rate": 0.0}
        judged |= {"explanations": dict.fromkeys(ids, why)}
        return judged | ({"scores": dict.fromkeys(ids, 0.0), "distributions": {}} if era.graded else {})
    if unreadable:
        judged |= {"answers": dict.fromkeys(ids), "explanations": dict.fromkeys(ids, ""), "yes_rate": None}
        judged |= {"parse_ok": False, "error": "HTTP 502"}
        return judged | ({"scores": {}, "distributions": {}} if era.graded else {})
    answers, explanations, scores, bits = {}, {}, {}, {}
    for fact, question in asked:
        turns = side.turns_with(fact)
        chance = P_YES[bool(turns)]
        yes = rng.random() < chance
        truth.chances.append(chance)
        truth.answers.append(yes)
        letter = rng.choice("OPQRST" if yes else "ABCDE")
        answers[question["id"]] = letter if era.graded else str(int(yes))
        explanations[question["id"]] = _explanation(yes, turns, len(side.steps), rng)
        scores[question["id"]] = round(letter_value(letter), 6)
        bits[question["id"]] = scores[question["id"]] if era.graded else float(yes)
    judged |= {"answers": answers, "explanations": explanations, "yes_rate": _yes_rate(run, asked, bits)}
    return judged | ({"scores": scores, "distributions": {}} if era.graded else {})


def _explanation(yes: bool, turns: list[int], last: int, rng: random.Random) -> str:
    if not yes:
        return (
            "It is only assumed." if rng.random() < 0.5 else f"CANDIDATE OUTPUT {rng.randint(1, last)} comes closest."
        )
    cited = turns[:2] or [rng.randint(1, last)]
    if rng.random() < 0.19:
        return "The trajectory shows it."
    if rng.random() < 0.01:
        return f"CANDIDATE OUTPUT {last + 5} shows it."
    return " ".join(f"CANDIDATE OUTPUT {turn} shows it." for turn in cited)


_V4_WEIGHTS = {question[1]: question[4] for question in _QUESTIONS}
_V1_WEIGHTS = {"action": 2.0, "read": 0.75, "neutral": 0.25}


def _yes_rate(run: Run, asked: list[tuple[str, Record]], values: dict[str, float]) -> float:
    total = weighted = 0.0
    for _, question in asked:
        if run.era.stamped:
            weight = question["weight"]
        elif run.era_name == "V1":
            weight = _V1_WEIGHTS[question["requires"]]
        elif run.era_name == "V3":
            weight = 1.0
        else:
            weight = _V4_WEIGHTS[question["tag"].removeprefix("reference:")]
        total += weight
        weighted += weight * values[question["id"]]
    return round(weighted / total, 6)


def _models(run: Run) -> dict[str, Record]:
    king, challenger = digest(f"king:{run.era_name}"), digest(f"challenger:{run.seed}:{run.index // 2}")
    return {
        "previous_king": {"model_uri": f"hf://invented/king-qwen3.6-35b@{king[:40]}", "model_hash": f"sha256:{king}"},
        "challenger": {
            "model_uri": f"hf://invented/miner{run.index // 2:03d}-qwen3.6-35b@{challenger[:40]}",
            "model_hash": f"sha256:{challenger}",
        },
    }


def _request(run: Run) -> Record:
    models = _models(run)
    return {
        "eval_run_id": run.run_id,
        "submission_id": uuid_of(f"{run.seed}:submission:{run.index // 2}"),
        "challenger": models["challenger"],
        "previous_king": {**models["previous_king"], "king_version": 7},
        "dataset": {"version": "invented-v1", "sample_count": run.samples, "sample_seed": digest(run.run_id, 12)},
        "scoring": {"judge_count": len(run.era.judges), "allowed_scores": [0.0, 1.0]},
        "artifact_prefix": f"s3://albedo/albedo-eval-service/eval/{run.run_id}",
    }


def _verdict(
    run: Run, lines: int, scored: int, failed: int, scores: dict[str, list[float]], errors: dict[str, int]
) -> Record:
    total = lines - sum(errors.values())
    good = total > 0 and scored / total >= 0.8
    means = {side: round(statistics.mean(values), 6) if good else None for side, values in scores.items()}
    king, challenger = means["previous_king"], means["challenger"]
    verdict: Record = {
        "type": "verdict",
        "eval_run_id": run.run_id,
        "state": "succeeded" if good else "failed",
        "challenger_won": challenger - king >= run.era.margin if king is not None and challenger is not None else None,
        "score_king": king,
        "score_challenger": challenger,
        "judge_count": len(run.era.judges),
        "valid_turns": scored,
        "total_turns": lines,
        "generated_sample_count": lines,
        "scored_sample_count": scored,
        "king_vllm_errors": errors["previous_king"],
        "chal_vllm_errors": errors["challenger"],
        "judge_errors": failed,
        "required_win_margin": run.era.margin,
        "scoring_mode": ("graded_20" if run.era.graded else "binary") if good else None,
        "fault_class": None if good else "PROVIDER_FAULT",
        "fault_code": None if good else "scoring_invalid",
        "fault_message": None if good else f"Only {scored}/{total} samples valid (< 80%)",
        "retryable": None if good else True,
    }
    return verdict


def _listed(run: Run, verdict: Record) -> Record:
    return {
        "eval_run_id": run.run_id,
        "submission_id": uuid_of(f"{run.seed}:submission:{run.index // 2}"),
        "challenger_won": verdict["challenger_won"],
        "coronated": False,
        "king_version": None,
        "score_king": verdict["score_king"],
        "score_challenger": verdict["score_challenger"],
        "finished_at": (run.era.start + timedelta(minutes=60 + 10 * run.index % 2300)).isoformat(),
        "model_uri": _models(run)["challenger"]["model_uri"],
        "total_turns": verdict["total_turns"],
        "valid_turns": verdict["valid_turns"],
        "scoring_mode": verdict["scoring_mode"],
        "required_win_margin": verdict["required_win_margin"],
        "king": {"king_version": 7, "model_uri": _models(run)["previous_king"]["model_uri"]},
        "artifacts": {},
    }


def write_dashboard(root: Path, listed: list[Record]) -> None:
    """Write the listing of the newest succeeded runs."""
    succeeded = [entry for entry in listed if entry["score_king"] is not None]
    newest = sorted(succeeded, key=lambda entry: (entry["finished_at"], entry["eval_run_id"]), reverse=True)[:200]
    dashboard: Record = {
        "updated_at": max((entry["finished_at"] for entry in listed), default="2026-08-22T09:00:00+00:00"),
        "chain": {"netuid": 97, "judge_models": ["z-ai/glm-5.2"]},
        "stats": {"evaluated": len(newest)},
        "reign": {"members": []},
        "current_eval": None,
        "queue": [],
        "eval_runs": newest,
        "fails": [],
    }
    folder = root / "sn97" / "data"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "dashboard.json").write_text(json.dumps(dashboard, indent=2), encoding="utf-8")
