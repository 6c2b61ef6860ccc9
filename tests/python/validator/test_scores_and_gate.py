import json
import random
from fractions import Fraction
from typing import Any

import pytest
from assay.validator.edits import command_edits, edited_in_turn
from assay.validator.scores import (
    Ruleset,
    aggregate_scores,
    amputated_thinking,
    answer_value,
    challenger_beats_king,
    extract_json,
    graded_letter_value,
    halved_when_amputated,
    judge_yes_rate,
    mostly_starts_with_close,
    parse_answers,
    question_weight,
    response_score,
)
from assay.validator.tail_check import (
    ResponseLimits,
    TailSample,
    chain_amputated_thinking,
    check_one,
    malformed_structure,
    parse_tail_answers,
    run_tail_check,
)


def test_weights_follow_their_ruleset() -> None:
    question = {"tag": "reference:action", "requires": "read", "category": "progress"}
    rulesets: list[Ruleset] = ["v1", "v2", "v3", "v4", "v5a", "v5b"]
    assert [question_weight(question, ruleset) for ruleset in rulesets] == [0.75, 1.0, 1.0, 2.0, 2.0, 1.0]
    assert question_weight({"tag": "reference:new"}, "v4") == question_weight({"tag": "reference:new"}, "v5b") == 0.5
    assert question_weight({"tag": "behavior:anchored_edit"}, "v4") == 0.25
    assert question_weight({"tag": "behavior:anchored_edit"}, "v5b") == 0.0
    assert question_weight({"tag": None}, "v4") == 0.0
    assert question_weight({"category": "size", "requires": "action"}, "v1") == 0.0


def test_a_stamped_weight_counts_from_the_fifth_version_on() -> None:
    question = {"tag": "reference:action", "weight": 0.125}
    assert question_weight(question, "v4") == 2.0
    assert question_weight(question, "v5a") == question_weight(question, "v5b") == 0.125
    assert question_weight({"tag": "reference:action", "weight": None}, "v5a") == 2.0


def test_only_the_strings_one_and_zero_are_binary_answers() -> None:
    assert [answer_value(answer, "v4") for answer in ("1", "0", 1, True, None, "yes", "1.0", ["1"])] == [
        *(1.0, 0.0, None, None, None, None, None, None)
    ]
    assert answer_value(0.37, "v5b") == 0.37
    assert answer_value("1", "v5b") is None


def test_a_random_rate_is_the_weighted_share_in_exact_arithmetic() -> None:
    generator = random.Random(2)
    tags = ["reference:explore", "reference:claims", "reference:grounding", "behavior:anchored_edit", ""]
    for _ in range(500):
        questions = [{"id": f"q{number}", "tag": generator.choice(tags)} for number in range(generator.randint(1, 9))]
        answers = {question["id"]: generator.choice(["1", "0", None]) for question in questions}
        given = {name: Fraction(int(answer)) for name, answer in answers.items() if answer is not None}
        weights = {question["id"]: Fraction(question_weight(question, "v4")) for question in questions}
        total = sum(weights[name] for name in given)
        if total:
            expected: float | None = round(float(sum(weights[name] * given[name] for name in given) / total), 6)
        else:
            expected = round(float(sum(given.values()) / len(given)), 6) if given else None
        assert judge_yes_rate(answers, questions, "v4") == expected


def test_without_weight_the_plain_mean_counts() -> None:
    questions = [{"id": "a", "tag": ""}, {"id": "b", "tag": ""}]
    assert judge_yes_rate({"a": "1", "b": "0", "c": "0"}, questions, "v4") == 0.333333
    assert judge_yes_rate({"a": "1", "b": "0"}, None, "v4") == 0.5
    assert judge_yes_rate({"a": "1", "b": "0"}, [{"id": "a", "tag": "reference:action"}], "v4") == 1.0
    assert judge_yes_rate({}, questions, "v4") is None


def test_size_questions_are_a_factor_in_the_first_version() -> None:
    questions = [
        {"id": "a", "requires": "action", "category": "progress"},
        {"id": "b", "requires": "read", "category": "grounding"},
        {"id": "c", "category": "size"},
        {"id": "d", "category": "size"},
    ]
    answers = {"a": "1", "b": "0", "c": "1", "d": "0"}
    assert judge_yes_rate(answers, questions, "v1") == round(2 / 2.75 * (0.6 + 0.4 * 0.5), 6)
    assert judge_yes_rate({"c": "1"}, questions, "v1") is None
    assert judge_yes_rate({"unlisted": "1", "b": "0"}, questions, "v1") == round(1 / 1.75, 6)


def test_graded_answers_enter_by_their_score() -> None:
    questions = [{"id": "a", "tag": "reference:action"}, {"id": "b", "tag": "reference:other"}]
    assert judge_yes_rate({"a": 0.4, "b": 1.0, "c": None}, questions, "v5b") == 0.6
    assert response_score({"j": {"a": 0.4}, "k": {"a": None}}, questions, "v5b") == 0.4


def test_letters_are_linear_between_their_anchors() -> None:
    letters = [graded_letter_value(letter) for letter in "ABEJLOT"]
    assert letters == pytest.approx([0, 0.0375, 0.15, 0.35, 0.49, 0.7, 1.0])
    for wrong in ("U", "a", "", "AB"):
        with pytest.raises(ValueError, match="letter"):
            graded_letter_value(wrong)


def test_a_win_is_decided_in_binary_floating_point() -> None:
    assert not challenger_beats_king(0.7, 0.675)
    assert challenger_beats_king(0.525, 0.5)
    assert challenger_beats_king(0.7, 0.675, margin=0.02)


def test_half_even_rounding_is_that_of_the_binary_value() -> None:
    # 0.0000005 is a little less than the decimal tie, 0.0000015 a little less too.
    assert halved_when_amputated(0.000001, True) == 0.0
    assert halved_when_amputated(0.000003, True) == round(0.0000015, 6)
    assert halved_when_amputated(0.5, False) == 0.5
    assert halved_when_amputated(None, True) is None


def test_more_than_half_must_start_with_the_closing_tag() -> None:
    assert not mostly_starts_with_close(["</think>a", "b"])
    assert mostly_starts_with_close(["</think>a", "\u2003</think>", "b"])
    assert not mostly_starts_with_close([])
    assert not amputated_thinking("</think> but no block")
    assert amputated_thinking("CANDIDATE OUTPUT 1:\n------\n\n </think>x\n------")
    scored = {"role": "assistant", "content": " </think>", "score_target": True}
    turns: list[dict[str, Any]] = [scored, {"role": "assistant", "content": "x"}]
    assert chain_amputated_thinking(turns)
    assert not chain_amputated_thinking(turns[1:])


def record(challenger: float | None, king: float | None, scored: bool = True, **judged: Any) -> dict[str, Any]:
    result = {"side": "challenger", "judge_model": "m", "parse_ok": True, "yes_rate": challenger} | judged
    return {"challenger_score": challenger, "king_score": king, "scored": scored, "judge_results": [result]}


def test_only_scored_records_enter_the_means() -> None:
    run = aggregate_scores([record(0.5, 0.25), record(1.0, 0.5), record(0.0, 1.0, scored=False)], 0.6)
    assert (run.score_challenger, run.score_king, run.challenger_won) == (0.75, 0.375, True)
    assert (run.scored_sample_count, run.total_samples, run.state) == (2, 3, "succeeded")
    assert run.by_judge == {"m": 0.75}


def test_too_few_scored_records_are_a_fault_of_the_provider() -> None:
    run = aggregate_scores([record(0.5, 0.5)] * 3 + [record(None, None, scored=False, parse_ok=False)], 0.8)
    assert (run.state, run.score_king, run.challenger_won, run.judge_errors) == ("failed", None, None, 1)
    assert run.fault_message == "Only 3/4 samples valid (< 80%)"
    assert aggregate_scores([]).state == "failed"
    assert aggregate_scores([record(0.5, 0.5)], total=2).fault_message == "Only 1/2 samples valid (< 80%)"


def test_a_judge_without_a_parsed_reply_is_not_listed() -> None:
    run = aggregate_scores([record(0.5, 0.5, parse_ok=False)])
    assert run.by_judge == {}
    assert run.judge_errors == 1


def test_answers_are_read_out_of_prose_and_fences() -> None:
    items = {"answers": [{"id": " a ", "answer": 1, "explanation": " x "}, {"id": "b", "answer": "0"}]}
    for text in (json.dumps(items), f"Sure:\n```json\n{json.dumps(items)}\n```", f"[1] then {json.dumps(items)} end"):
        assert parse_answers(text, ["a", "b"]) == ({"a": "1", "b": "0"}, {"a": "x", "b": ""}, True)


def test_the_last_object_with_answers_wins_else_the_first_value() -> None:
    assert extract_json('{"answers": [1]} {"answers": [2]} {"other": 3}', "answers") == {"answers": [2]}
    assert extract_json('[3] {"other": 3}', "answers") == [3]
    assert extract_json('`{"answers": 1}', "answers") is None
    assert extract_json(None, "answers") is None
    assert extract_json("{" * 50 + '{"answers": 1}', "answers") == {"answers": 1}


def test_answers_that_are_no_bits_are_left_open() -> None:
    raw = json.dumps({"answers": [{"id": "a", "answer": True}, {"id": "b", "answer": 1.0}, "x", {"answer": 1}]})
    assert parse_answers(raw, ["a", "b"]) == ({"a": None, "b": None}, {"a": "", "b": ""}, False)
    assert parse_answers('[{"id": "a", "answer": 1}]', ["a"])[2]
    assert parse_answers("", [])[2]


@pytest.mark.parametrize(
    ("command", "edits"),
    [
        ("sed -i s/a/b/ x", True),
        ("sed -n 1p x", False),
        ("echo a > src/x", True),
        ("echo a > /tmp/x.py", False),
        ("cmd 2>/dev/null", False),
        ("cmd 2>&1", False),
        ("echo a >> notes", False),
        ("python -c 'a -> b.c'", False),
        ("cat > x", True),
        ("cat >/tmp/x", False),
        ("cat <<E > setup.cfg\nE", True),
        ("tee a", True),
        ("cp a.py b.py", True),
        ("cp a.py /tmp/b.py", False),
        ("mv a b", True),
        ("python -c \"open('x', 'w')\"", True),
        ("python -c \"open('x').read(); y('w')\"", False),
        ("python -c \"open(p, mode='a+')\"", True),
        ("p.write_text (x)", True),
        ("fileinput.input(f, inplace=True)", True),
        ("shutil.copyfile(a, b)", True),
        ("os.rename(a, b)", True),
        ("ruby -pi x", True),
        ("perl -ne x", False),
        (">>>>>>> REPLACE", True),
        ("if [ 3 > 2 ]; then ls; fi", False),
    ],
)  # fmt: skip
def test_edits_are_told_from_reads(command: str, edits: bool) -> None:
    assert command_edits(command) is edits
    assert edited_in_turn(f"x > y.py\n```bash\n{command}\n```") is edits


def test_an_edit_in_any_block_counts_and_prose_does_not() -> None:
    assert edited_in_turn("```sh\nls\n```\n```\nsed -i x y\n```")
    assert not edited_in_turn("sed -i x y")
    assert not edited_in_turn("```python\nsed -i\n```")
    assert not edited_in_turn(None)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "empty"),
        ("\u2003\n", "empty"),
        ("one two three four", "too_short"),
        ("one two three four five", ""),
        ("MODEL_RESPONSE_TOKEN_LIMIT_EXCEEDED: and so on it goes", "token_limit"),
        ("MODEL_UNCLOSED_THINK_BLOCK and so on it goes", "unclosed_think_block"),
        ("ü" * 30 + " a b c d", "non_ascii"),
        ("ü" * 12 + " a b c d", ""),
        ("ü" * 13 + " a b c d", "non_ascii"),
        ("ü" * 8 + " a b c", "too_short"),
        ("ü" * 11 + " a b c d e", ""),
        (" ".join(f"Word{number % 2} w{number % 2}" for number in range(4)), ""),
        (" ".join(["A a b B c C"] * 4), "small_vocabulary"),
        (" ".join(["go"] * 40), "repetitive"),
    ],
)  # fmt: skip
def test_responses_fail_for_the_first_reason(text: str | None, reason: str) -> None:
    assert check_one(text) == (not reason, reason)


def test_a_diversity_of_fifteen_hundredths_fails_as_its_binary_limit_is_higher() -> None:
    tokens = ["a", "b", "c"] * 7 + ["a"]
    trigrams = list(zip(tokens, tokens[1:], tokens[2:], strict=False))
    assert len(set(trigrams)) / len(trigrams) == 0.15
    assert check_one(" ".join(tokens)) == (False, "repetitive")
    assert check_one(" ".join(tokens), ResponseLimits(maximum_repetition=0.86, minimum_vocabulary=0.1))[0]


def test_a_reserved_token_in_context_is_no_malformed_structure() -> None:
    turns: list[dict[str, Any]] = [
        {"role": "assistant", "content": "<tool_call>"},
        {"role": "assistant", "content": None, "score_target": True},
    ]
    assert malformed_structure(turns) == ""
    turns[1]["content"] = "x </tool_call>"
    assert malformed_structure(turns) == "reserved template token in output: </tool_call>"


def sample(name: str, turns: int, command: str = "look {}", **kept: str) -> TailSample:
    contents = [f"```bash\n{command.format(number)}\n```" for number in range(turns)]
    return TailSample(name, [{"role": "assistant", "content": text, "score_target": True} for text in contents], **kept)


def reply(*bits: int) -> str:
    return json.dumps({"answers": [{"id": f"t{number}", "answer": bit} for number, bit in enumerate(bits, 1)]})


QUESTIONS = ["t1", "t2", "t3", "t4"]


def test_short_samples_pass_unchecked_and_looped_ones_fail_at_once() -> None:
    verdicts, reasons = run_tail_check([sample("short", 16), sample("loop", 17, "same")], [], QUESTIONS)
    assert [(verdict.sample_id, verdict.checked, verdict.passed) for verdict in verdicts] == [
        ("short", False, True),
        ("loop", True, False),
    ]
    assert [bool(reason) for reason in reasons] == [False, True]


def test_one_bad_tail_fails_no_sample_and_two_fail_both() -> None:
    bad, good = reply(0, 0, 0, 1), reply(0, 0, 1, 1)
    verdicts, reasons = run_tail_check([sample("a", 17), sample("b", 17)], [bad, good], QUESTIONS)
    assert [verdict.passed for verdict in verdicts] == [False, True]
    assert reasons == ["", ""]
    _, reasons = run_tail_check([sample("a", 17), sample("b", 17), sample("c", 17)], [bad, good, bad], QUESTIONS)
    assert [bool(reason) for reason in reasons] == [True, False, True]


def test_judged_verdicts_come_after_the_others_and_earlier_faults_have_none() -> None:
    samples = [sample("a", 17), sample("b", 1), sample("c", 1, error="x"), sample("d", 1, heuristic_reason="y")]
    verdicts, reasons = run_tail_check(samples, [reply(1, 1, 1, 1)], QUESTIONS)
    assert [verdict.sample_id for verdict in verdicts] == ["b", "a"]
    assert reasons == ["", "", "", "y"]


@pytest.mark.parametrize("raw", ["", "  ", "no", reply(0, 0, 0), '{"answers": 3}'])
def test_an_unusable_judge_passes_the_sample(raw: str) -> None:
    verdicts, _ = run_tail_check([sample("a", 17)], [raw], QUESTIONS)
    assert (verdicts[0].checked, verdicts[0].passed, verdicts[0].answers) == (True, True, None)


def test_tail_answers_are_whole_numbers_and_anything_but_one_is_a_zero() -> None:
    items = [{"id": "a", "answer": "1"}, {"id": "b", "answer": 7}, {"id": "c"}, {"id": "z", "answer": 1}]
    assert parse_tail_answers(json.dumps(items), ["a", "b", "c"]) == {"a": 1, "b": 0, "c": 0}
    assert parse_tail_answers('[{"id": "a", "answer": 1e999}]', ["a"]) is None
    assert parse_tail_answers('[{"id": "a", "answer": null}]', ["a"]) is None
