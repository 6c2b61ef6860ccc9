"""Long texts that punish backtracking, repeated searching and deep nesting.

All rules meet all texts at a fifth of a megabyte, where whatever is quadratic takes far more than the two seconds
allowed; at a whole megabyte each rule meets the texts that it finds hardest.
"""

import time
from collections.abc import Callable
from typing import Any

import pytest
from assay.validator import (
    documents,
    duels,
    edits,
    fences,
    loops,
    observations,
    repairs,
    rollouts,
    scores,
    sentinels,
    submissions,
    tail_check,
)

FIFTH, WHOLE = 200_000, 1_000_000


def texts(size: int) -> dict[str, str]:
    def filled(piece: str, ending: str = "") -> str:
        return piece * (size // len(piece)) + ending

    return {
        "blanks": filled(" ", "x"),
        "newlines": filled("\n", "x"),
        "no-break spaces": filled("\u00a0", "x"),
        "one line": filled("x"),
        "fence and blanks": "```" + filled(" "),
        "fence and newlines": "```" + filled("\n"),
        "bash fence and newlines": "```bash" + filled("\n"),
        "fences": filled("```"),
        "open fences": filled("```bash\n"),
        "json fences and blanks": "```json" + filled(" "),
        "closed fences": filled("```bash\nls\n```\n"),
        "open tags": filled("<bash>"),
        "many tags": "".join(f"<bash_{'abcdefghij'[number % 10] * (number % 40)}>" for number in range(size // 25)),
        "one long tag": "<" + filled("bash"),
        "closing tags": filled("</bash>"),
        "candidates": filled("CANDIDATE OUTPUT 1:\n------\n"),
        "candidates in one line": filled("CANDIDATE OUTPUT "),
        "rules": filled("\n------"),
        "rules and newlines": filled("\n------\n\n\n\n"),
        "labels": filled("\n------\nCONTEXT x"),
        "colons": "CONTEXT " + filled(":"),
        "observations": filled("ENVIRONMENT OBSERVATION x:\n------\nCONTEXT y:\n"),
        "outputs": filled("<output>\n"),
        "closed outputs": filled("<output>\n</output>\n"),
        "trailers": "[Command finished" + filled("]", "x"),
        "trailer and blanks": "[Command finished]" + filled(" ", "x"),
        "open thinks": filled("<think>"),
        "spread thinks": filled("<   think   "),
        "think and blanks": "<" + filled(" "),
        "slash and blanks": "</" + filled(" "),
        "closed thinks": filled("<think>```</think>```"),
        "here-documents": filled("<<A "),
        "here-documents by line": filled("<<A\n"),
        "quoted here-documents": filled("<<'A\n"),
        "quotes": filled("'\"", "'"),
        "redirects": filled("> "),
        "redirects without space": filled(">"),
        "long redirect": "> " + filled("a"),
        "opens": filled("open("),
        "opens with mode": filled("open('w'"),
        "inplace": filled("fileinput.input("),
        "copies": filled("cp a "),
        "copy of blanks": "cp" + filled(" "),
        "perl": "perl -" + filled("a"),
        "brackets": filled("["),
        "braces": filled("{"),
        "nested objects": filled('{"a":'),
        "nested lists": filled("[1,[2,"),
        "long digits": "[" + filled("9"),
        "spread brackets": filled("[1,1,1,1,1,1,1,1,1,1,1,1,1,1,"),
        "labels of thoughts": filled("THOUGHT:"),
        "long merged thoughts": filled("I look at the parser now. THOUGHT:"),
        "debris": filled("THO"),
        "capitals": filled("A"),
        "stray tags": filled("<thinking>"),
        "cd": "cd " + filled("a"),
        "marker prefixes": filled("SUBMIT_TASK_"),
        "reserved prefixes": filled("<|im_"),
        "surrogates": filled("\ud800 "),
        "nul": filled("\x00fence0\x00"),
    }


FUNCTIONS: dict[str, Callable[[str], Any]] = {
    "candidate_turns": documents.candidate_turns,
    "candidate_blocks_loose": documents.candidate_blocks_loose,
    "candidate_turns_with_observations": documents.candidate_turns_with_observations,
    "format": lambda text: documents.format_scored_trajectory([{"role": "user", "content": text}]),
    "amputated_thinking": scores.amputated_thinking,
    "parse_answers": lambda text: scores.parse_answers(text, ["a"]),
    "action_block_spans": fences.action_block_spans,
    "first_bash_block": fences.first_bash_block,
    "first_bash_command": lambda text: submissions.first_bash_command(text, "v5a"),
    "any_marker": submissions.any_marker,
    "loop_v1": lambda text: loops.loop_explanation(loops.loop_verdict([text], "v1", 0.5, 4)),
    "loop_v2": lambda text: loops.loop_verdict([text], "v2", 0.5, 4),
    "loop_v3": lambda text: loops.loop_verdict([text, text], "v3", 0.5, 4, [text, text]),
    "classify": observations.classify,
    "observation_body": lambda text: [observations.observation_body(text, name) for name in FORMATS],
    "unanswered": lambda text: observations.unanswered("ls", text),
    "prints_nothing": observations.prints_nothing,
    "is_scaffold_truncated": observations.is_scaffold_truncated,
    "strip_thinking": sentinels.strip_thinking_for_preeval,
    "reserved_token_leak": sentinels.reserved_token_leak,
    "command_edits": edits.command_edits,
    "edited_in_turn": edits.edited_in_turn,
    "check_one": tail_check.check_one,
    "split_rollout": rollouts.split_rollout,
    "leaks_action": lambda text: duels.leaks_action("short", text),
    "repair_reference": lambda text: repairs.repair_reference(text, "```bash\nls\n```"),
    "normalised_command": repairs.normalised_command,
}
FORMATS: tuple[observations.ObservationFormat, ...] = ("returncode", "swe_agent", "openhands")


TEXTS = texts(FIFTH)
HARDEST = {
    "candidate_turns": ["candidates", "rules and newlines"],
    "candidate_turns_with_observations": ["observations", "labels"],
    "parse_answers": ["spread brackets", "nested objects"],
    "loop_v1": ["fence and newlines", "open fences"],
    "loop_v3": ["open tags", "many tags"],
    "observation_body": ["outputs", "trailers"],
    "prints_nothing": ["here-documents", "here-documents by line"],
    "strip_thinking": ["think and blanks", "closed thinks"],
    "command_edits": ["opens", "copies"],
    "split_rollout": ["open fences", "labels of thoughts"],
    "repair_reference": ["capitals", "long merged thoughts"],
    "normalised_command": ["one long tag", "quotes"],
}


def seconds_for(name: str, text: str) -> float:
    begin = time.process_time()
    FUNCTIONS[name](text)
    return time.process_time() - begin


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_hostile_text_keeps_a_rule_busy(name: str) -> None:
    taken = {text_name: seconds_for(name, text) for text_name, text in TEXTS.items()}
    assert {text_name: seconds for text_name, seconds in taken.items() if seconds > 2.0} == {}


def test_a_megabyte_takes_seconds() -> None:
    whole = texts(WHOLE)
    taken = {(name, text): seconds_for(name, whole[text]) for name, names in HARDEST.items() for text in names}
    assert {case: seconds for case, seconds in taken.items() if seconds > 10.0} == {}


def test_a_command_of_a_megabyte_is_tested_for_leaks_in_seconds() -> None:
    words = " ".join(f"w{number:06d}" for number in range(WHOLE // 8))
    begin = time.process_time()
    assert not duels.leaks_action("w" * WHOLE, words)
    assert duels.leaks_action(words.replace(" ", ""), words)
    assert time.process_time() - begin < 10.0
