import hashlib
import math
import random
import re
import shlex
import time
from typing import Any

import pytest
from assay.validator.corpus import materialize_turn, rebuild_trajectory
from assay.validator.duels import causality_pass_rate, duel, eta, leaks_action, passes_causality, turn_reason
from assay.validator.prompts import action_log_probability, force_text, inject_thought, open_think
from assay.validator.repairs import first_token, normalised_command, repair_reference, shell_words
from assay.validator.rollouts import command_of, completion_text, extract_action, fenced, roundtrips, split_rollout
from assay.validator.slices import duel_seed, make_traj_id, phase_third, sample_slice, slice_digest, stratum_key

BLOCK = re.compile(r"```bash\n.*?\n```", re.DOTALL)
REASONED = "The parser drops the last token, so I read it before I change anything."


def literal_split(text: str) -> tuple[str, str]:
    before, tag, after = text.partition("</think>")
    latent, rest = (before, after) if tag else ("", text)
    blocks = list(BLOCK.finditer(rest))
    if not blocks:
        return "", ""
    visible = re.sub(r"^\s*THOUGHT:\s*", "", rest[: blocks[-1].start()].strip()).strip()
    return "\n".join(part for part in (latent.strip(), visible) if part), blocks[-1].group(0)


def test_random_completions_split_as_the_written_rule_says() -> None:
    generator = random.Random(120)
    pieces = ["```bash\n", "\n```", "```", "\n", "THOUGHT:", "<think>", "</think>", " ", "a", "\r\n", "\u00a0", "bash"]
    for _ in range(30_000):
        text = "".join(generator.choices(pieces, k=generator.randint(0, 12)))
        assert split_rollout(text) == literal_split(text), text
        blocks = BLOCK.findall(text)
        assert extract_action(text) == (blocks[-1] if blocks else "")


def test_a_missing_close_tag_forfeits_only_where_it_is_required() -> None:
    text = "THOUGHT: go\n\n```bash\nls\n```"
    assert split_rollout(text) == ("go", "```bash\nls\n```")
    assert split_rollout(text, require_think_close=True) == ("", "")
    assert split_rollout("x</think>" + text, require_think_close=True)[0] == "x\ngo"


@pytest.mark.parametrize(
    ("thought", "command", "cue", "both"),
    [
        (REASONED, "cat a.py", "Next:", (True, True)),
        (REASONED, "cat <<E\n```\nE", None, (True, False)),
        (" spaced ", "ls", None, (False, True)),
        ("", "ls", "Next:", (False, True)),
        ("", "ls", None, (True, True)),
        ("a </think> THOUGHT: ```bash\nx\n``` b", "ls", None, (True, True)),
    ],
)
def test_completions_come_back_whole_unless_they_cannot(
    thought: str, command: str, cue: str | None, both: tuple[bool, bool]
) -> None:
    assert roundtrips(thought, fenced(command), cue) == both
    assert completion_text(thought, fenced(command), cue).endswith("\n\n" + fenced(command))


def test_the_command_is_what_stands_inside_the_fence() -> None:
    assert command_of(fenced("ls\n")) == "ls\n"
    assert command_of("```bash\n```") == "```bash\n```"
    assert command_of("ls") == "ls"


def test_the_prompt_ends_in_one_open_think_tag() -> None:
    assert open_think("a<think>\n\u2003") == "a<think>\n\u2003"
    assert open_think("a<think></think>") == "a<think></think><think>"
    assert inject_thought("p<think>", " x ") == "p<think></think>\nTHOUGHT:  x \n\n"
    assert force_text("p<think>", "", "act") == "p<think></think>\nTHOUGHT: \n\nact"


def test_log_probabilities_count_bytes_and_leave_prompt_and_generated_tokens_out() -> None:
    got = action_log_probability("abcé", "cé", [[0, 1], [1, 3], [3, 4]], [None, -1.0, -2.0, -50.0])
    assert (got.sum_lp, got.n_tokens, got.n_bytes, got.lp_per_byte) == (-2.0, 1, 3, -2.0 / 3)
    assert action_log_probability("ab", "b", [[0, 1], [1, 2]], [None, None, -3.0]).lp_per_byte == 0.0
    assert action_log_probability("ab", "", [[0, 2]], [None, -3.0]).lp_per_byte == 0.0


def pair(
    lead: float, thought: str = REASONED, action: str = "```bash\nmake all\n```", **echoes: float
) -> dict[str, Any]:
    return {"lpC_yc_za": lead, "lpC_yc_e": 0.0, "z_a": thought, "y_a": action} | echoes


def rows(*leads: float, **more: Any) -> list[dict[str, Any]]:
    return [
        {"turn_id": f"t:{number}", "valid": True, "pairs": [pair(lead, **more)]} for number, lead in enumerate(leads)
    ]


def test_the_tempered_mean_lies_between_the_mean_and_the_best() -> None:
    pairs = [pair(0.25), pair(-0.5), pair(0.125)]
    plain, cold, warm = (turn_reason(pairs, tau) for tau in (None, 0.001, 100.0))
    assert plain == turn_reason(pairs, 0.0) == pytest.approx(-0.125 / 3)
    assert plain < warm < cold <= 0.25
    direct = 0.5 * math.log(sum(math.exp(lead / 0.5) for lead in (0.25, -0.5, 0.125)) / 3)
    assert turn_reason(pairs, 0.5) == pytest.approx(direct, abs=1e-12)
    assert turn_reason([pair(-1e6), pair(-2e6)], 0.03) == pytest.approx(-1e6 + 0.03 * math.log(0.5))


def test_eta_is_undefined_for_a_lift_of_next_to_nothing() -> None:
    assert eta({"lpC_yc_za": 0.5, "lpC_yc_e": 0.0, "lpC_yc_zc": 1.0}) == 0.5
    assert eta({"lpC_yc_za": 0.5, "lpC_yc_e": 0.0, "lpC_yc_zc": 1e-10}) is None
    assert eta({"lpC_yc_za": 0.5, "lpC_yc_e": 0.0, "lpC_yc_zc": None}) is None


@pytest.mark.parametrize(
    ("thought", "command", "leaks"),
    [
        ("now ls", "ls", True),
        ("ls", "", False),
        ("", "ab cd", False),
        ("grep one two", "grep one two three four", True),
        ("grep one", "grep one two three", False),
        ("call look_up now", '{"name": "look_up", "arguments": {}}', True),
        ("arguments name", '{"name": "look_up", "arguments": {}}', False),
        ("anything", '{"name": ', False),
        ("x", '{"name": ["x"]}', False),
    ],
)
def test_a_thought_leaks_its_command_by_most_of_its_words(thought: str, command: str, leaks: bool) -> None:
    assert leaks_action(thought, fenced(command)) is leaks


def test_a_lead_must_exceed_both_errors_and_floor() -> None:
    king = rows(0.0, 0.0, 0.0)
    assert duel(rows(0.5, 0.5, 0.5), king, 2.0).challenger_wins
    assert not duel(rows(0.5, 0.5, 0.5), king, 2.0, min_margin=0.5).challenger_wins
    assert not duel(rows(1.0, -0.5, 0.25), king, 2.0).challenger_wins
    outcome = duel(rows(0.5, 0.5, 0.5), king, 2.0)
    assert (outcome.margin, outcome.se, outcome.z) == (0.5, 0.0, math.inf)
    assert duel(king, rows(0.5, 0.5, 0.5), 2.0).z == 0.0


def test_fewer_than_two_paired_turns_decide_nothing() -> None:
    challenger = rows(1.0, 1.0)
    challenger[1]["valid"] = False
    outcome = duel(challenger, rows(0.0, 0.0), 2.0, min_thought_chars=10_000)
    assert (outcome.margin, outcome.se, outcome.n_paired_turns) == (0.0, math.inf, 1)
    assert not outcome.challenger_wins
    assert outcome.rejection_reason is None
    assert duel([{"turn_id": "t:0", "valid": True, "pairs": []}], rows(0.0), 2.0).n_paired_turns == 0


def test_gates_block_whatever_the_margin_and_length_comes_first() -> None:
    king = rows(0.0, 0.0, 0.0)
    losing = duel(rows(-1.0, -1.0, -1.0, thought="  x "), king, 2.0, min_thought_chars=2, causality_gamma=0.3)
    assert (losing.thought_floor_blocked, losing.causality_blocked) == (True, True)
    assert losing.rejection_reason == "thought_too_short"
    echoed = rows(1.0, 1.0, 1.0, lpC_ya_za=0.02, lpC_ya_e=0.0)
    assert duel(echoed, king, 2.0, causality_gamma=1.0).challenger_wins
    assert duel(rows(1.0, 1.0, 1.0), king, 2.0, causality_gamma=0.1).rejection_reason == "causality_fail"
    assert duel(rows(1.0, 1.0, 1.0, thought=""), king, 2.0).challenger_wins


def test_causality_counts_only_pairs_that_have_their_echoes() -> None:
    assert passes_causality(pair(0.0)) is None
    assert passes_causality(pair(0.0, lpC_ya_za=0.0199, lpC_ya_e=0.0)) is False
    known = [{"turn_id": "t", "valid": True, "pairs": [pair(0.0), pair(0.0, lpC_ya_za=1.0, lpC_ya_e=0.0)]}]
    assert causality_pass_rate(known) == 1.0
    assert causality_pass_rate(rows(0.0)) is None


def test_a_slice_is_even_over_strata_and_the_same_for_the_same_seed() -> None:
    index = [{"turn_id": f"{stratum}:{number}", "stratum": stratum} for stratum in "abc" for number in range(5)]
    drawn = [row["turn_id"] for row in sample_slice(index, 6, 42)]
    assert drawn == [row["turn_id"] for row in sample_slice(index, 6, 42)]
    assert sorted(turn_id[0] for turn_id in drawn) == list("aabbcc")
    assert len({row["turn_id"] for row in sample_slice(index, 14, 1)}) == 14
    assert sorted(row["turn_id"] for row in sample_slice(index, 99, 1)) == sorted(row["turn_id"] for row in index)
    assert sample_slice(index, 0, 1) == []


def test_seeds_are_unsigned_and_digests_follow_the_order() -> None:
    seeds = [duel_seed("0xab", f"key {number}") for number in range(50)]
    assert max(seeds) > 2**63
    assert max(seeds) < 2**64
    assert slice_digest(["a", "b"]) != slice_digest(["b", "a"]) != slice_digest(["ba"])


def test_a_stratum_falls_back_to_repository_and_family() -> None:
    assert stratum_key({"traj_id": "o__p.aa.combine_x.pr_3"}) == "o__p|combine_"
    assert stratum_key({"traj_id": ".pr_4"}) == "|pr_4"
    assert stratum_key({"stratum": None}) == "unknown|other"


def test_thirds_begin_exactly_at_their_share() -> None:
    assert [phase_third(index, 6) for index in range(6)] == ["early"] * 2 + ["mid"] * 2 + ["late"] * 2
    assert phase_third(0, 1) == "early"


def test_a_trajectory_id_keeps_inner_numbers() -> None:
    assert re.fullmatch(r"o__p-3\.[0-9a-f]{8}\.pr_07__tag", make_traj_id("o__p-3-07", "tag"))
    assert re.fullmatch(r"name\.[0-9a-f]{8}\.pr_0__tag", make_traj_id("name", "tag"))
    assert re.fullmatch(r"v12\.[0-9a-f]{8}\.pr_12__tag", make_traj_id("v12", "tag"))
    assert re.fullmatch(r"a-\.[0-9a-f]{8}\.pr_٣__tag", make_traj_id("a--٣", "tag"))
    assert re.fullmatch(r"\.[0-9a-f]{8}\.pr_7__tag", make_traj_id("-7", "tag"))
    assert make_traj_id("", "tag") == "." + hashlib.sha256(b"").hexdigest()[:8] + ".pr_0__tag"


def test_the_number_of_a_trajectory_id_is_found_at_once() -> None:
    started = time.process_time()
    assert make_traj_id("1" * 200_000 + "-x", "tag").endswith(".pr_0__tag")
    assert make_traj_id("-" + "1" * 200_000, "tag").endswith("1__tag")
    assert time.process_time() - started < 2


TRAJECTORY: dict[str, Any] = {
    "traj_id": "o__p.aa.pr_1__t",
    "messages": [
        {"role": "system", "content": "one bash block"},
        {"role": "user", "content": "mend it", "extra": 1},
        {"role": "assistant", "content": "```bash\nls\n```"},
        {"role": "user", "content": "é\u2028"},
        {"role": "assistant", "content": "```bash\ncat é\n```"},
    ],
    "turns": [{"turn_idx": 0, "msg_pos": 2, "phase": "early"}, {"turn_idx": 1, "msg_pos": 4, "suffix_len": 0}],
}


def test_a_turn_is_its_prefix_and_reply_with_plain_messages() -> None:
    first, second = (materialize_turn(TRAJECTORY, turn) for turn in TRAJECTORY["turns"])
    assert first["prefix"][1] == {"role": "user", "content": "mend it"}
    assert (first["suffix_len"], first["n_prefix_chars"], first["phase"]) == (14, 21, "early")
    assert (second["suffix_len"], second["phase"], second["action_kind"]) == (0, "", "bash")
    assert "source" not in first


@pytest.mark.parametrize("position", [-1, 1, 3, 5, 0])
def test_positions_that_are_no_reply_are_errors(position: int) -> None:
    with pytest.raises(ValueError, match=r"msg_pos|prefix"):
        materialize_turn(TRAJECTORY, {"turn_idx": 0, "msg_pos": position})


def test_flat_turns_make_their_trajectory_again() -> None:
    turns = [materialize_turn(TRAJECTORY, turn) for turn in TRAJECTORY["turns"]]
    rebuilt = rebuild_trajectory(turns[::-1])
    assert [entry["msg_pos"] for entry in rebuilt["turns"]] == [2, 4]
    assert [message["content"] for message in rebuilt["messages"]] == [
        message["content"] for message in TRAJECTORY["messages"]
    ]
    packed = [turn | {"source": "swe", "language": "python"} for turn in turns]
    assert [materialize_turn(rebuilt, entry) for entry in rebuilt["turns"]] == packed


@pytest.mark.parametrize(
    ("stated", "packed"),
    [
        ({}, ("swe", "python")),
        ({"source": None}, ("swe", "python")),
        ({"source": "", "language": ""}, ("", "")),
        ({"source": "nemotron"}, ("nemotron", "python")),
        ({"language": "go"}, ("swe", "go")),
    ],
)
def test_a_packed_trajectory_has_tags_by_default(stated: dict[str, Any], packed: tuple[str, str]) -> None:
    turns = [materialize_turn(TRAJECTORY, turn) | stated for turn in TRAJECTORY["turns"]]
    rebuilt = rebuild_trajectory(turns)
    assert (rebuilt["source"], rebuilt["language"]) == packed


def test_turns_that_do_not_fit_are_errors() -> None:
    turns = [materialize_turn(TRAJECTORY, turn) for turn in TRAJECTORY["turns"]]
    with pytest.raises(ValueError, match="at least one"):
        rebuild_trajectory([])
    with pytest.raises(ValueError, match="empty"):
        rebuild_trajectory([turns[0] | {"reference_turn": ""}])
    with pytest.raises(ValueError, match="reply differs"):
        rebuild_trajectory([turns[0] | {"reference_turn": "other"}, turns[1]])
    with pytest.raises(ValueError, match="prefix differs"):
        rebuild_trajectory([turns[0] | {"prefix": turns[1]["prefix"][1:3]}, turns[1]])


ACTION = fenced("make")


@pytest.mark.parametrize(
    ("thought", "repaired", "flags"),
    [
        (REASONED, REASONED, ()),
        (f"<think>\n<think> {REASONED}", REASONED, ("think_reopened",)),
        (f"THOUGHT: {REASONED}", REASONED, ()),
        (f"UGHTHOUGHT: {REASONED}", REASONED, ("label_debris",)),
        (f"I will look at the parser.\n\nTHOUGHT: {REASONED}", f"I will look at the parser.\n{REASONED}",
         ("second_label", "prefix_merged")),
        (f"I will look at the parser\nTHOUGHT: {REASONED}", REASONED, ("second_label", "prefix_dropped")),
        (f"Too short.THOUGHT: {REASONED}", REASONED, ("second_label", "prefix_dropped")),
        (f"{REASONED}\nTHOUGHT: \n", REASONED, ("second_label",)),
        (f"{REASONED} <think> more", f"{REASONED}\n more", ("think_tag_inside",)),
        (f"<reasoning>{REASONED}</reasoning>", REASONED, ("stray_tag",)),
        (f"THO\n{REASONED}", REASONED, ("label_debris",)),
        (f"THOTHOUGHT\n{REASONED}", REASONED, ("label_debris",)),
        ("The parser", "The parser", ()),
        (f"THURLy: {REASONED}", REASONED, ("orphan_token",)),
        (f"TODO: {REASONED}", f"TODO: {REASONED}", ()),
        ("a \t\n\n\n\nb  ", "a\n\nb", ()),
        ("", "", ()),
    ],
)  # fmt: skip
def test_references_are_repaired_and_flagged(thought: str, repaired: str, flags: tuple[str, ...]) -> None:
    got = repair_reference(thought, ACTION)
    assert (got.thought, got.action, got.flags) == (repaired, ACTION, flags)


def test_the_first_block_in_a_thought_becomes_the_action() -> None:
    got = repair_reference(f"{REASONED}\n{fenced('ls')}\nthen {fenced('pwd')}", ACTION)
    assert (got.thought, got.action, got.flags) == (REASONED, fenced("ls"), ("multi_bash_first",))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cd /testbed && python3 ./a.py", "python 'a.py'"),
        ('cd "my dir" && ls', "ls"),
        ("cat /workspace/x", "cat ./x"),
        ("ls /app/task_file/", "ls ."),
        ("grep  -n   'a b'", 'grep -n "a b"'),
        ("ls\npwd\n", "ls\npwd"),
    ],
)
def test_commands_that_do_the_same_are_normalised_alike(one: str, other: str) -> None:
    assert normalised_command(one) == normalised_command(other) != "TOK\x1f"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cat <<E\nx\nE", "cat  <<E\nx\nE"),
        ("cd a && cd b && ls", "ls"),
        ("ls; pwd", "ls && pwd"),
        ("cat /testbedded/x", "cat x"),
        ("echo 'it", "echo it"),
    ],
)
def test_other_commands_stay_apart(one: str, other: str) -> None:
    assert normalised_command(one) != normalised_command(other)


def test_here_strings_and_shifts_are_no_here_documents() -> None:
    assert normalised_command("cat <<< word").startswith("TOK")
    assert normalised_command("echo $((1<<2))").startswith("TOK")
    assert normalised_command("cat <<-'X'\nX").startswith("RAW")


def test_random_lines_split_into_the_words_of_the_standard_splitter() -> None:
    generator = random.Random(44)
    for _ in range(30_000):
        line = "".join(generator.choices("ab'\"\\ \t\r\u3000#|", k=generator.randint(0, 12)))
        try:
            expected: list[str] | None = shlex.split(line, comments=False)
        except ValueError:
            expected = None
        try:
            got: list[str] | None = shell_words(line)
        except ValueError:
            got = None
        assert got == expected, line


def test_the_first_token_is_taken_literally() -> None:
    assert [first_token(text) for text in ("\u3000ls -l", "# note", "", " ")] == ["ls", "#", "", ""]
