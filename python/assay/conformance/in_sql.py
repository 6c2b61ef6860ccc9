"""Rules that a build decides in SQL, asked with the inputs of vectors.

Each function feeds the model or macro that a build runs, with the seeds of the project, and reads what it says.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from assay.conformance.sql_models import SqlModels
from assay.teacher.duel_facts import gate_values, margins
from assay.trajectories.commands import CommandKinds
from assay.trajectories.derive import SIDES, DuelSample, Turn, duel_rows, loop_values
from assay.validator.duels import Row
from assay.validator.loops import LoopVariant, commands_by_variant

Question = Mapping[str, Any]

TEXT, NUMBER, WHOLE, FLAG = pa.string(), pa.float64(), pa.int64(), pa.bool_()

# The row of seed `rulesets` whose loop check a version of it is, and the limits that its authors published.
RULESET_OF_LOOP: Mapping[LoopVariant, str] = {"v1": "v4_0821", "v2": "loop_v2", "v3": "v5b"}
PUBLISHED_LOOP_LIMITS: Mapping[LoopVariant, tuple[float, int]] = {"v1": (0.5, 4), "v2": (0.5, 4), "v3": (0.61, 5)}
# Rows of seed `rulesets` that have the limits of a name.
RULESETS_OF_LIMITS = {
    "0.5/4": ("v3_0814", "v3_0819", "v4_0821", "loop_v2"),
    "0.61/5": ("v5a", "v5b"),
    "0.65/6": ("seed",),
}
PUBLISHED_VALID_FRACTION = 0.8

_LINE = {"artifact_id": TEXT, "line": WHOLE}
_QUESTIONS = _LINE | {
    "question_index": WHOLE,
    "question_id": TEXT,
    "tag": TEXT,
    "requires": TEXT,
    "category": TEXT,
    "step": WHOLE,
    "weight": NUMBER,
}
_SCORING_RESULTS = _LINE | {"scoring_mode": TEXT}
_ANSWERS = _LINE | {
    "eval_run_id": TEXT,
    "sample_id": TEXT,
    "judge_index": WHOLE,
    "judge_model": TEXT,
    "side": TEXT,
    "question_id": TEXT,
    "explanation": TEXT,
    "answer": TEXT,
    "score": NUMBER,
    "distribution": TEXT,
}
_JUDGE_RESULTS = _LINE | {"side": TEXT, "judge_index": WHOLE, "judge_model": TEXT, "parse_ok": FLAG}
_SIDES = {
    "side_id": TEXT,
    "eval_run_id": TEXT,
    "sample_id": TEXT,
    "rollout": WHOLE,
    "side": TEXT,
    "scoring_artifact_id": TEXT,
    "scoring_line": WHOLE,
    "run_state": TEXT,
    "scored": FLAG,
    "zeroed": FLAG,
    "score": NUMBER,
    "n_turns": WHOLE,
    "n_judges": WHOLE,
    "amputated_stored": FLAG,
    "amputated_thinking": FLAG,
}
_RUNS = {"eval_run_id": TEXT, "own_ruleset_id": TEXT}
_HERE = {"artifact_id": "a", "line": 1}
_SIDE = {
    "side_id": "s",
    "eval_run_id": "r",
    "sample_id": "t",
    "rollout": 1,
    "side": "king",
    "scoring_artifact_id": "a",
    "scoring_line": 1,
    "run_state": "succeeded",
    "scored": True,
    "zeroed": False,
}


def _give_questions(sql: SqlModels, questions: Sequence[Question], scoring_mode: str | None) -> None:
    rows = [
        _HERE | {"question_index": index, "question_id": item.get("id")} | dict(item)
        for index, item in enumerate(questions)
    ]
    sql.give("stg_sn97__questions", _QUESTIONS, rows)
    sql.give("stg_sn97__scoring_results", _SCORING_RESULTS, [_HERE | {"scoring_mode": scoring_mode}])


def _give_answers(sql: SqlModels, answers: Sequence[Mapping[str, Any]]) -> None:
    sql.give("sn97__answers", _ANSWERS, answers)
    sql.give("sn97__legacy_answers", {name: kind for name, kind in _ANSWERS.items() if name != "judge_index"}, [])


def question_weight(sql: SqlModels, question: Question, table: str) -> float:
    """What a question weighs by a table of seed `tag_weights`; a V5b question that is stamped weighs its stamp."""
    stamped = table == "v5b" and question.get("weight") is not None
    _give_questions(sql, [question], "graded_20" if stamped else None)
    sql.make("int_question_weights")
    (row,) = sql.ask(
        "select weight from int_question_weights where tag_weights_id = $name", name="stamped" if stamped else table
    )
    return float(row["weight"])


def response_score(
    sql: SqlModels,
    answers_by_judge: Sequence[Mapping[str, Any]],
    questions: Sequence[Question] | None,
    table: str,
) -> float | None:
    """The score of a side from its judges' answers by a table of weights; without questions all weigh the same."""
    if questions is None:
        names = dict.fromkeys(name for answers in answers_by_judge for name in answers)
        questions, table = [{"id": name} for name in names], "uniform"
    judges = [
        _HERE | {"side": "king", "judge_index": index, "judge_model": f"judge {index}", "parse_ok": True}
        for index in range(len(answers_by_judge))
    ]
    answered = [
        judge | {"question_id": name, "answer": None if answer is None else json.dumps(answer)}
        for judge, answers in zip(judges, answers_by_judge, strict=True)
        for name, answer in answers.items()
    ]
    _give_questions(sql, questions, None)
    _give_answers(sql, answered)
    sql.give("stg_sn97__judge_results", _JUDGE_RESULTS, judges)
    sql.give("int_duel_sides", _SIDES, [_SIDE])
    sql.give("int_duel_runs", _RUNS, [{"eval_run_id": "r"}])
    sql.make("stg_sn97__answers", "int_duel_answers", "int_question_weights", "int_side_scores")
    rows = sql.ask("select response_score from int_side_scores where tag_weights_id = $name", name=table)
    return rows[0]["response_score"] if rows else None


def graded_letter_value(sql: SqlModels, letter: str) -> float | None:
    """The value of a letter of the graded mode, null for an answer that is none."""
    answer = _HERE | {"judge_index": 0, "side": "king", "question_id": "q", "answer": json.dumps(letter)}
    _give_answers(sql, [answer])
    sql.make("stg_sn97__answers")
    (row,) = sql.ask("select answer_value from stg_sn97__answers")
    return None if row["answer_value"] is None else float(row["answer_value"])


def run_verdict(
    sql: SqlModels,
    pairs: Sequence[tuple[float | None, float | None]],
    ruleset: str,
    valid_fraction: float | None = None,
) -> dict[str, Any]:
    """The verdict of a run from (challenger, king) scores of its samples; null ones could not be scored."""
    sides, scores = [], []
    for number, pair in enumerate(pairs):
        for side, score in zip(("challenger", "king"), pair, strict=True):
            name = f"{number}/{side}"
            sides.append(_SIDE | {"side_id": name, "sample_id": f"{number:06d}", "side": side})
            scores.append({"side_id": name, "tag_weights_id": "v4", "response_score": score})
    sql.give("int_duel_sides", _SIDES, sides)
    sql.give("int_side_scores", {"side_id": TEXT, "tag_weights_id": TEXT, "response_score": NUMBER}, scores)
    sql.give("int_duel_runs", _RUNS, [{"eval_run_id": "r", "own_ruleset_id": ruleset}])
    sql.give(
        "int_run_weights", {"eval_run_id": TEXT, "tag_weights_id": TEXT}, [{"eval_run_id": "r", "tag_weights_id": "v4"}]
    )
    sql.give("stated", {"fraction": NUMBER}, [{"fraction": valid_fraction}])
    _loops_of(sql, [])
    with_fraction = (
        "select * replace (coalesce((select fraction from stated), min_valid_fraction) as min_valid_fraction)"
    )
    sql.replace("rulesets", f"{with_fraction} from memory.main.rulesets")
    sql.make("rulesets_compared")
    sql.forget("rulesets")
    rows = sql.ask(
        "select distinct duel_n_pairs, duel_score_king, duel_score_challenger, duel_challenger_wins "
        "from rulesets_compared where ruleset_id = $name",
        name=ruleset,
    )
    if not rows or rows[0]["duel_challenger_wins"] is None:
        return {"state": "failed", "score_challenger": None, "score_king": None, "challenger_won": None}
    return {
        "state": "succeeded",
        "score_challenger": rows[0]["duel_score_challenger"],
        "score_king": rows[0]["duel_score_king"],
        "challenger_won": rows[0]["duel_challenger_wins"],
    }


def required_margin(sql: SqlModels, ruleset: str) -> float:
    """The margin a challenger needs under a row of seed `rulesets`."""
    (row,) = sql.ask("select margin from rulesets where ruleset_id = $name", name=ruleset)
    return float(row["margin"])


def _loops_of(sql: SqlModels, sides: Sequence[Mapping[str, Any]]) -> None:
    columns = {"side_id": TEXT} | {
        field.name: field.type for field in SIDES if field.name not in _LINE | {"side": TEXT}
    }
    sql.give("int_sides_derived", columns, sides)
    sql.make("int_side_loops")


def _side_of_document(document: str | None) -> dict[str, Any]:
    sample = DuelSample(1, "king", document, False, None, False)
    _, side = duel_rows("a", sample, [], CommandKinds(()))
    return dict(zip(SIDES.names, side, strict=True)) | {"side_id": "s"}


def amputated_thinking(sql: SqlModels, document: str | None) -> bool:
    """Does a judged document show amputated thinking; one without scored blocks does not."""
    side = _side_of_document(document)
    sql.give("side", {"n_close": WHOLE, "n_blocks": WHOLE}, [
        {"n_close": side["n_blocks_starting_with_close"], "n_blocks": side["n_judged_blocks"]}
    ])  # fmt: skip
    (row,) = sql.ask("select coalesce({{ amputated_thinking('n_close', 'n_blocks') }}, false) as said from side")
    return bool(row["said"])


def loop_verdict(
    sql: SqlModels,
    turns: Sequence[str | None],
    variant: LoopVariant,
    stated: tuple[float, int] | None = None,
    observations: Sequence[str | None] | None = None,
) -> dict[str, Any]:
    """What the loop check of a version says of scored turns, and what the same commands are under other limits."""
    seen = list(observations or ())
    texts = [turn or "" for turn in turns]
    values = loop_values([Turn(text, seen[index] if index < len(seen) else None) for index, text in enumerate(texts)])
    side = dict(zip([name for name in SIDES.names if name.endswith(("_v1", "_v2", "_v3"))][:9], values, strict=True))
    verdict = _loop_verdict(sql, side, variant, stated)
    return verdict | {"command_list": commands_by_variant(turns, seen)[variant]}


def loop_verdict_of_document(sql: SqlModels, document: str | None, variant: LoopVariant) -> dict[str, Any]:
    """What the loop check of a version says of a judged document whose turns are not stored."""
    return _loop_verdict(sql, _side_of_document(document), variant, None, by_document=variant == "v1")


def _loop_verdict(
    sql: SqlModels,
    side: Mapping[str, Any],
    variant: LoopVariant,
    stated: tuple[float, int] | None,
    by_document: bool = False,
) -> dict[str, Any]:
    if by_document:
        kinds = ("n_cmds", "n_distinct_cmds", "max_cmd_run")
        side = dict(side) | {f"{kind}_v1": side[f"document_{kind}_v1"] for kind in kinds}
    # Limits that were published are those of the seed; others are asked beside it.
    asked = None if stated == PUBLISHED_LOOP_LIMITS[variant] else stated
    ratio, run = asked or (None, None)
    sql.give("stated", {"v": TEXT, "ratio": NUMBER, "run": WHOLE}, [{"v": variant, "ratio": ratio, "run": run}])
    sql.replace(
        "rulesets",
        "from memory.main.rulesets union all "
        "select rulesets.* replace ('any/' || ruleset_id as ruleset_id, stated.v as loop_variant) "
        "from memory.main.rulesets, stated union all "
        "select rulesets.* replace ('stated' as ruleset_id, stated.ratio as dup_limit, stated.run as run_limit) "
        f"from memory.main.rulesets, stated where ruleset_id = '{RULESET_OF_LOOP[variant]}'",
    )
    _loops_of(sql, [dict(side) | {"side_id": "s"}])
    sql.forget("rulesets")
    by_ruleset = {row["ruleset_id"]: row for row in sql.ask("select * from int_side_loops")}
    own = by_ruleset["stated" if ratio is not None else RULESET_OF_LOOP[variant]]
    if by_document and own["looped"] != own["looped_by_document"]:
        raise ValueError("the commands of the document and of its turns have two verdicts")
    at_limits = {}
    for name, rulesets in RULESETS_OF_LIMITS.items():
        said = {by_ruleset[f"any/{ruleset}"]["looped"] for ruleset in rulesets}
        at_limits[name] = said.pop() if len(said) == 1 else None
    return {
        "n_cmds": own["n_cmds"],
        "dup_cmd_ratio": float(own["dup_cmd_ratio"]),
        "max_cmd_run": own["max_cmd_run"],
        "looped": own["looped"],
        "looped_at_thresholds": at_limits,
    }


def sample_id_parts(sql: SqlModels, sample_id: str, takes_rollout: bool) -> list[Any]:
    """Shard, row and turn of a sample id. Raises ValueError where it has not the form."""
    sql.give("given", {"sample_id": TEXT}, [{"sample_id": sample_id}])
    (row,) = sql.ask("select {{ sample_id_columns('sample_id') }} from given")
    parts = [row["shard"], row["dataset_row"], row["dataset_turn"]]
    if None in parts or not (takes_rollout or row["base_sample_id"] == sample_id):
        raise ValueError("a sample id is <shard>:<row>:<turn>")
    return parts


def teacher_duel(
    sql: SqlModels, challenger: Sequence[Row], king: Sequence[Row], rule: Mapping[str, Any]
) -> dict[str, Any]:
    """Margin, verdict and gate of a teacher duel; an error or a ratio without a bound is null."""
    (margin,) = margins({"challenger": challenger, "king": king}, [rule.get("tau")])
    length, rate = gate_values(challenger)
    numbers = ("k_sigma", "min_margin", "min_thought_chars", "causality_gamma")
    sql.give("rule", dict.fromkeys(numbers, NUMBER), [{name: rule.get(name, 0.0) for name in numbers}])
    sql.give("measured", {
        "margin": NUMBER, "se": NUMBER, "n_paired_turns": WHOLE, "gate_paired_turns": WHOLE,
        "median_thought_chars": NUMBER, "causality_pass_rate": NUMBER,
    }, [{
        "margin": margin.margin, "se": margin.se, "n_paired_turns": margin.n_paired_turns,
        "gate_paired_turns": margin.n_paired_turns, "median_thought_chars": length, "causality_pass_rate": rate,
    }])  # fmt: skip
    (row,) = sql.ask(
        "select {{ duel_win('rule', 'measured', 'measured') }} as challenger_wins, "
        "{{ duel_gate('rule', 'measured') }} as rejection_reason from rule, measured"
    )
    return row | {"margin": margin.margin, "se": margin.se, "z": margin.z, "n_paired_turns": margin.n_paired_turns}
