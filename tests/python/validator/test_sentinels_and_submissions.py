import random
import re

import pytest
from assay.validator.sentinels import (
    corruption_reason,
    has_unclosed_think_block,
    is_abandoned,
    is_truncated,
    reserved_token_leak,
    strip_thinking_for_preeval,
    think_is_open,
    truncation_notice,
    unclosed_think_block_notice,
)
from assay.validator.submissions import (
    any_marker,
    assign_submit,
    command_for,
    first_bash_command,
    is_exact_submission,
    marker_for_nonce,
    marker_from,
    parse_sample_id,
    submits,
)

CANONICAL = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
SHELL = re.compile(r"```(?:bash|sh|shell)[ \t]*\n(.*?)```", re.DOTALL | re.IGNORECASE)
TAGGED = re.compile(r"<([a-z_]*bash[a-z_]*)>(.*?)</\1>", re.DOTALL | re.IGNORECASE)


def test_sentinels_are_case_sensitive_and_null_holds_none() -> None:
    assert is_truncated("x " + truncation_notice(4096))
    assert not is_truncated(truncation_notice(4096).lower())
    assert has_unclosed_think_block(unclosed_think_block_notice())
    assert is_abandoned("CONSECUTIVE_BAD_TURNS_LIMIT_EXCEEDED: …")
    assert not any(test(None) for test in (is_truncated, has_unclosed_think_block, is_abandoned))


def literal_strip_thinking(text: str) -> str:
    fences: list[str] = []

    def mask(match: re.Match[str]) -> str:
        fences.append(match.group(0))
        return f"\x00{len(fences) - 1}\x00"

    masked = re.sub(r"```.*?```", mask, text, flags=re.DOTALL)
    after = re.split(r"<\s*/\s*think\s*>", masked, flags=re.IGNORECASE)[-1]
    if re.search(r"<\s*think\s*>", after, re.IGNORECASE):
        return unclosed_think_block_notice()
    return re.sub(r"\x00(\d+)\x00", lambda match: fences[int(match.group(1))], after).strip()


def test_random_turns_lose_their_thinking_as_the_written_rule_says() -> None:
    generator = random.Random(5)
    pieces = ["<think>", "</think>", "< / THINK >", "<\nthink\n>", "```", "`", "\n", "a", " ", "<", "think>", "/"]
    for _ in range(20_000):
        text = "".join(generator.choices(pieces, k=generator.randint(0, 12)))
        assert strip_thinking_for_preeval(text) == literal_strip_thinking(text), text
        assert think_is_open(text) == (literal_strip_thinking(text) == unclosed_think_block_notice())


def test_the_first_reserved_token_leaks() -> None:
    assert reserved_token_leak("a <function=x <tool_call>") == "<function="
    assert reserved_token_leak("<TOOL_CALL> <|im_start |>") == ""
    assert reserved_token_leak(None) == ""


def test_truncation_comes_before_all_other_corruption() -> None:
    text = "<|im_end|> CONSECUTIVE_BAD_TURNS_LIMIT_EXCEEDED MODEL_RESPONSE_TOKEN_LIMIT_EXCEEDED"
    assert corruption_reason(text, check_abandoned=True, check_reserved=True) == "output truncated mid-generation"
    text = "<|im_end|> CONSECUTIVE_BAD_TURNS_LIMIT_EXCEEDED"
    assert corruption_reason(text, check_abandoned=True, check_reserved=True).startswith("turn unusable")
    assert corruption_reason(text, check_abandoned=False, check_reserved=True).endswith("output: <|im_end|>")
    assert corruption_reason(text, check_abandoned=False, check_reserved=False) == ""


def test_random_turns_have_the_first_command_of_the_written_patterns() -> None:
    generator = random.Random(8)
    pieces = [
        "```",
        "bash",
        "SH",
        "shell",
        "\n",
        " ",
        "<x_bash>",
        "</x_bash>",
        "</X_BASH>",
        "ls",
        "\u00a0",
        "`",
        "\r\n",
    ]
    for _ in range(20_000):
        text = "".join(generator.choices(pieces, k=generator.randint(0, 14)))
        fence, tagged = SHELL.search(text), TAGGED.search(text)
        body = fence.group(1) if fence else ""
        assert first_bash_command(text, "v4") == " ".join(body.split())
        if tagged and (fence is None or tagged.start() < fence.start()):
            body = tagged.group(2)
        assert first_bash_command(text, "v5a") == " ".join(body.split())


def test_a_submission_is_exact_up_to_white_space() -> None:
    command = command_for(CANONICAL, "patchtxt")
    assert is_exact_submission(f"Done.\n```SHELL \necho\u3000{CANONICAL}\n&& cat  patch.txt\n```", command)
    assert not is_exact_submission(f"```bash\n{command} # end\n```", command)
    assert not is_exact_submission(f"```\n{command}\n```", command)
    assert not is_exact_submission(f"```bash\nls\n```\n```bash\n{command}\n```", command)
    assert not is_exact_submission(None, command)
    assert not is_exact_submission("```bash\n\n```", "")


def test_a_tagged_command_submits_in_the_fifth_version_only() -> None:
    turn = "<a_bash>echo M</a_bash>\n```bash\nls\n```"
    assert is_exact_submission(turn, "echo M", "v5a")
    assert not is_exact_submission(turn, "echo M", "v4")
    assert not is_exact_submission("```bash\nls\n```\n<a_bash>echo M</a_bash>", "echo M", "v5a")


def test_without_a_command_of_its_own_the_canonical_marker_submits_anywhere() -> None:
    assert submits(f"so: {CANONICAL}", "")
    assert submits(f"so: {CANONICAL}", None)
    assert not submits(f"so: {CANONICAL}", f"echo {CANONICAL}")
    assert not submits(None, "")


def test_a_marker_is_a_whole_word() -> None:
    assert any_marker(f"x-{CANONICAL}-y SUBMIT_TASK_0000AAAA") == CANONICAL
    assert any_marker(f"X{CANONICAL}") is None
    assert any_marker(f"{CANONICAL}S") is None
    assert any_marker("SUBMIT_TASK_0000AAAA_") is None
    assert any_marker("'SUBMIT_TASK_0000AAAA'") == "SUBMIT_TASK_0000AAAA"
    assert any_marker("SUBMIT_TASK_0000aaaa") is None
    assert any_marker(None) is None


def test_an_assignment_is_the_same_for_the_same_salt_and_id() -> None:
    sample_id = "mini-coder/data/train-00000.parquet:3:1"
    seen = {assign_submit(sample_id, f"salt {number}") for number in range(200)}
    assert assign_submit(sample_id, "salt 4") == assign_submit(sample_id, "salt 4")
    markers = {marker if not marker.startswith("SUBMIT_TASK_") else "nonce" for marker, _ in seen}
    assert len(markers) == 5
    assert all(command.startswith(f"echo {marker}") for marker, command in seen)
    assert re.fullmatch(r"SUBMIT_TASK_[0-9A-F]{8}", marker_for_nonce(sample_id, "s"))


def test_the_marker_of_a_command_is_what_it_echoes() -> None:
    assert marker_from("echo  M && ls") == "M"
    assert marker_from("printf M") == marker_from("echo") == marker_from(None) == CANONICAL
    with pytest.raises(ValueError, match="tail"):
        command_for("M", "long")


def test_sample_ids_split_at_their_last_two_colons() -> None:
    assert parse_sample_id("data/train-.parquet:7:0") == ("data/train-.parquet", 7, 0)
    assert parse_sample_id("a.b-c/data/train-x.parquet:7:10#r1:9", "v5b") == ("a.b-c/data/train-x.parquet", 7, 10)


@pytest.mark.parametrize(
    "sample_id",
    [
        "",
        "data/train-0.parquet",
        "data/train-0.parquet:1",
        "data/train-0.parquet:1:x",
        "data/train-0.parquet:1:2#r1",
        "a/b/data/train-0.parquet:1:2",
        "../data/train-0.parquet:1:2",
        "data/train-0.parquet.gz:1:2",
        "data/train-/0.parquet:1:2",
        "data/train-0.parquet:1:" + "9" * 5000,
    ],
)
def test_other_sample_ids_are_errors(sample_id: str) -> None:
    with pytest.raises(ValueError, match=r"sample id|integer|int\(\)"):
        parse_sample_id(sample_id)
