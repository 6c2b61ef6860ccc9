import random
import re
from collections import Counter

import pytest
from assay.validator.fences import action_block_spans, collapse_space, first_bash_block, first_tagged_block
from assay.validator.loops import (
    LoopVariant,
    commands_by_variant,
    commands_of_turn,
    commands_of_turns,
    duplicate_ratio,
    is_looped,
    longest_runs,
    loop_explanation,
    loop_verdict,
    loop_verdict_for_document,
    loop_verdict_of_commands,
    looping_reason,
)

V1 = re.compile(r"```(?:bash|sh)?\s*\n(.*?)```", re.DOTALL)
V2 = re.compile(r"```(?:bash|sh|shell)[ \t]*\n(.*?)```|<([a-z_]*bash[a-z_]*)>(.*?)</\2>", re.IGNORECASE | re.DOTALL)
TAGGED = re.compile(r"<([a-z_]*bash[a-z_]*)>(.*?)</\1>", re.IGNORECASE | re.DOTALL)
FIRST_TAGGED = re.compile(r"```(?:bash|sh)[ \t]*\n(.*?)```", re.DOTALL)
FIRST_ANY = re.compile(r"```(?:bash|sh)?[ \t]*\n(.*?)```", re.DOTALL)
PIECES = [
    *("```", "````", "`", "bash", "sh", "shell", "BASH", "python", "\n", "\n", " ", "\t", "\r\n", "ls", "pwd", "x"),
    *("<bash>", "</bash>", "<Bash>", "</BASH>", "<my_bash_x>", "</my_bash_x>", "</my_bash_y>", "<b>", "</b>", "<"),
    *("<ba\u017fh>", "</ba\u017fh>", "</ba\u017fH>", "<bash_\u212a>", "</bash_k>", "<bash_\u0130>", "</bash_i>"),
    *("\u00a0", "\u2028", "\x1c", "\u200b", "```bash\n", "```sh\n", "```\n"),
]


def fenced(*commands: str) -> str:
    return "I go on.\n\n" + "\n".join(f"```bash\n{command}\n```" for command in commands)


def random_turns(count: int) -> list[str]:
    generator = random.Random(1234)
    return ["".join(generator.choices(PIECES, k=generator.randint(0, 16))) for _ in range(count)]


def test_random_turns_give_the_commands_of_the_written_patterns() -> None:
    turns = random_turns(30_000)
    assert sum(1 for turn in turns if TAGGED.search(turn)) > 200
    assert sum(1 for turn in turns if V1.search(turn)) > 2_000
    for turn in turns:
        assert commands_of_turn(turn, "v1") == [" ".join(body.split()) for body in V1.findall(turn)]
        blocks = [
            (match.start(), match.end(), match.group(1) if match.group(1) is not None else match.group(3))
            for match in V2.finditer(turn)
        ]
        assert action_block_spans(turn) == blocks
        tagged = TAGGED.search(turn)
        assert first_tagged_block(turn) == ((tagged.start(), tagged.group(2)) if tagged else None)
        first = FIRST_TAGGED.search(turn) or FIRST_ANY.search(turn)
        assert first_bash_block(turn) == (first.group(1).strip() if first else "")


def test_a_random_command_list_has_the_statistics_of_a_plain_count() -> None:
    generator = random.Random(7)
    for _ in range(2_000):
        commands = generator.choices("abc", k=generator.randint(0, 12))
        best = 0
        for index in range(len(commands)):
            length = 1
            while index + length < len(commands) and commands[index + length] == commands[index]:
                length += 1
            best = max(best, length)
        verdict = loop_verdict_of_commands(commands, 0.5, 4)
        assert verdict.max_cmd_run == best == max(longest_runs(commands).values(), default=0)
        assert verdict.dup_cmd_ratio == (1 - len(Counter(commands)) / len(commands) if commands else 0.0)
        assert verdict.looped == is_looped(verdict.dup_cmd_ratio, best, 0.5, 4) == bool(verdict.reasons)


def test_a_closing_python_fence_opens_a_command_for_the_first_version_alone() -> None:
    turn = "```python\nprint(2)\n```\nThen I look:\n```bash\nmake\n```"
    assert commands_of_turn(turn, "v1") == ["Then I look:"]
    assert commands_of_turn(turn, "v2") == ["make"]


def test_turns_without_a_command_do_not_break_a_run() -> None:
    verdict = loop_verdict([fenced("make"), "Only prose.", None, fenced("make")], "v1", 0.9, 2)
    assert (verdict.n_cmds, verdict.max_cmd_run, verdict.looped) == (2, 2, True)


def test_both_limits_are_inclusive() -> None:
    assert loop_verdict([fenced("a"), fenced("a")], "v1", 0.5, 9).looped
    assert not loop_verdict([fenced("a"), fenced("a")], "v1", 0.51, 3).looped
    assert loop_verdict([fenced("a"), fenced("a")], "v1", 0.51, 2).looped


def test_the_reason_rounds_the_binary_value_to_even() -> None:
    # 1 - 7/8 = 0.125 exactly, a tie that goes to the even digit.
    commands = ["same"] * 2 + [f"other {number}" for number in range(6)]
    assert duplicate_ratio(commands) == 0.125
    assert loop_verdict_of_commands(commands, 0.1, 99).reasons == ("duplicate command ratio 0.12",)


def test_looping_commands_are_listed_by_run_then_count_then_name() -> None:
    commands = ["b", "b", "b", "a", "c", "a", "c", "c", "d", "a"]
    listed = [
        (item.command, item.count, item.longest_run) for item in loop_verdict_of_commands(commands, 0.1, 9).commands
    ]
    assert listed == [("b", 3, 3), ("c", 3, 2), ("a", 3, 1)]


def test_a_side_that_is_not_looped_lists_and_explains_nothing() -> None:
    verdict = loop_verdict_of_commands(["a", "b", "a"], 0.5, 4)
    assert (verdict.commands, verdict.reasons, loop_explanation(verdict)) == ((), (), None)


def test_the_explanation_cuts_long_commands_and_counts_the_rest() -> None:
    commands = [name * 121 for name in "abcdefg" for _ in range(2)]
    text = loop_explanation(loop_verdict_of_commands(commands, 0.5, 4))
    assert text is not None
    assert f"`{'a' * 119}…` 2x (2 consecutive)" in text
    assert text.endswith("; and 2 more.")
    assert loop_explanation(loop_verdict_of_commands(["x" * 120] * 4, 0.9, 4), listed=5) == (
        "Trajectory is looped, so every question is scored 0 without judging. same command repeated 4x consecutively."
        f" Looping commands: `{'x' * 120}` 4x (4 consecutive)."
    )


def test_submissions_count_except_in_the_third_version() -> None:
    turn = fenced("echo SUBMIT_TASK_00FF00FF && cat patch.txt", "echo  FINALIZE_AND_SUBMIT_TASK_OUTPUT", "ls")
    assert len(commands_of_turn(turn, "v2")) == 3
    assert commands_of_turn(turn, "v3") == ["ls"]
    late = fenced("ls && echo FINALIZE_AND_SUBMIT_TASK_OUTPUT", "echo SUBMIT_TASK_00FF00FFA")
    assert len(commands_of_turn(late, "v3")) == 2


def test_an_unanswered_command_may_be_asked_again_in_the_third_version() -> None:
    turns = [fenced("cat notes.md")] * 4
    silence: list[str | None] = [""] * 4
    assert commands_of_turns(turns, "v3", silence) == ["cat notes.md"]
    assert len(commands_of_turns(turns, "v3", ["something", "", "something", ""])) == 3
    assert len(commands_of_turns(turns, "v3", [None] * 4)) == 4
    assert len(commands_of_turns(turns, "v3", silence[:1])) == 3
    assert len(commands_of_turns(turns, "v2", silence)) == 4


def test_prose_between_two_equal_turns_moves_the_comparison_on() -> None:
    turns = [fenced("cat a"), "prose", fenced("cat a")]
    assert len(commands_of_turns(turns, "v3", ["", "", ""])) == 2


def test_all_versions_at_once_count_what_each_counts_alone() -> None:
    generator = random.Random(3)
    turns = [fenced("cat a"), fenced("echo SUBMIT_TASK_00FF00FF", "cat a"), fenced(), "<bash>cat a</bash>", None]
    seen = ["", "cat a", "THOUGHT: next", "an answer", None]
    variants: tuple[LoopVariant, ...] = ("v1", "v2", "v3")
    skipped = 0
    for _ in range(500):
        side = generator.choices(turns, k=8)
        observations = generator.choices(seen, k=generator.choice([3, 8]))
        counted = commands_by_variant(side, observations)
        assert counted == {variant: commands_of_turns(side, variant, observations) for variant in variants}
        skipped += len(commands_of_turns(side, "v3")) > len(counted["v3"])
    assert skipped > 50


def test_a_document_is_judged_by_its_candidate_blocks() -> None:
    block = "CANDIDATE OUTPUT {}:\n------\n```bash\nls\n```\n------"
    seen = "ENVIRONMENT OBSERVATION (context only, do not score):\n------\n\n------"
    document = "\n\n".join([block.format(1), seen, block.format(2), seen, block.format(3)])
    assert loop_verdict_for_document(document, "v1", 0.5, 4).n_cmds == 3
    assert loop_verdict_for_document(document, "v3", 0.5, 4).n_cmds == 1
    assert loop_verdict_for_document(None, "v1", 0.5, 4).n_cmds == 0


def test_the_gate_gives_one_reason_with_the_ratio_first() -> None:
    assert looping_reason([fenced("a")] * 5, 0.5, 4) == "looping: duplicate command ratio 0.80"
    assert looping_reason([fenced("a")] * 5, 0.9, 4) == "looping: same command repeated 5x consecutively"
    assert looping_reason([fenced("a"), fenced("b")], 0.5, 4) == ""


@pytest.mark.parametrize(
    "space", "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000"
)
def test_all_unicode_white_space_collapses(space: str) -> None:
    assert collapse_space(f"{space}a{space}{space}b{space}") == "a b"


@pytest.mark.parametrize("char", "\u200b\ufeff\u2060")
def test_what_only_looks_like_white_space_stays(char: str) -> None:
    assert collapse_space(f"a{char}b") == f"a{char}b"
