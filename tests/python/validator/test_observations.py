import random
import re
import sys

import pytest
from assay.validator.observations import (
    ObservationFormat,
    classify,
    command_stages,
    detect_format,
    echoes_command,
    has_content,
    is_scaffold_truncated,
    leaks_turn,
    observation_body,
    prints_nothing,
    silent_observation,
    unanswered,
    valid_output,
    wrap,
)

FORMATS: tuple[ObservationFormat, ...] = ("returncode", "swe_agent", "openhands")
TRAILER = re.compile(
    r"^\s*\[(?:The command (?:completed|timed out)|Current working directory|Python interpreter|Command finished)"
    r"\b.*\]\s*$"
)
HEADER = re.compile(r"^\s*Here's the (?:result of running|files and directories)\b")
PIECES = [
    *(
        "<returncode>0</returncode>",
        "<output>\n",
        "<output>",
        "</output>",
        "OBSERVATION:",
        "Observation:",
        "\n",
        "\r\n",
    ),
    *("[The command completed with exit code 0.]", "[Command finished with exit code 1]", "[Python interpreter: x] "),
    *("[The command finished]", "Here's the result of running x:", "Here's the files and directories up", " ", "\t"),
    *("text", "\u2028", "\x0b", "[other]", "12", "\x85", "\u3000"),
]


def literal_body(observation: str, observation_format: ObservationFormat) -> str:
    text = observation.strip()
    if observation_format == "returncode":
        match = re.search(r"<output>\n(.*)</output>", text, re.DOTALL)
        body = match.group(1).strip("\n") if match else ""
    elif observation_format == "swe_agent":
        body = text[len("OBSERVATION:") :].strip("\n") if text.startswith("OBSERVATION:") else text
    else:
        body = "\n".join(line for line in text.splitlines() if not TRAILER.match(line)).strip("\n")
    if not body.strip():
        return ""
    lines = body.splitlines()
    return "\n".join(lines[1:]).strip("\n") if HEADER.match(lines[0]) else body


def test_random_observations_have_the_body_that_the_written_patterns_give() -> None:
    generator = random.Random(3)
    for _ in range(20_000):
        text = "".join(generator.choices(PIECES, k=generator.randint(0, 10)))
        for observation_format in FORMATS:
            assert observation_body(text, observation_format) == literal_body(text, observation_format), text
            assert has_content(text, observation_format) == bool(literal_body(text, observation_format).strip())


@pytest.mark.parametrize("observation_format", FORMATS)
@pytest.mark.parametrize("body", ["", "one line", "two\n  lines", "\tindented"])
def test_a_wrapped_body_is_valid_and_comes_back(observation_format: ObservationFormat, body: str) -> None:
    wrapped = wrap(body, observation_format, 3)
    assert classify(wrapped) == observation_format
    assert valid_output(wrapped, observation_format)
    # Leading blanks of an openhands observation are its outer white space and go with it.
    assert observation_body(wrapped, observation_format) == (
        body.strip() if observation_format == "openhands" else body
    )


def test_carriage_returns_hide_a_returncode_body() -> None:
    assert observation_body("<returncode>0</returncode>\r\n<output>\r\nx\r\n</output>", "returncode") == ""


def test_the_body_runs_to_the_last_closing_tag() -> None:
    assert observation_body("<output>\na</output>b\n</output> rest", "returncode") == "a</output>b"


def test_blank_bodies_are_empty_in_every_format() -> None:
    assert observation_body("<output>\n  \t\n</output>", "returncode") == ""
    assert observation_body("OBSERVATION: \n ", "swe_agent") == ""
    assert observation_body("[Command finished with exit code 0]\n  \n[Python interpreter: p]", "openhands") == ""
    assert observation_body(None, "openhands") == ""


def test_the_finished_trailer_goes_in_the_fifth_version_only() -> None:
    text = "out\n[The command finished with exit code 0.]"
    assert observation_body(text, "openhands", "v4") == text
    assert observation_body(text, "openhands", "v5a") == "out"


def test_a_trailer_name_must_end_at_a_word() -> None:
    assert observation_body("[Command finishedly]", "openhands") == "[Command finishedly]"


@pytest.mark.parametrize(
    ("messages", "sample_id", "expected"),
    [
        ([{"role": "user", "content": "OBSERVATION:"}], "other/x", "openhands"),
        ([{"role": "Assistant"}, {"role": "TOOL", "content": "OBSERVATION: y"}], "Mini-Coder/x", "swe_agent"),
        ([{"role": "assistant"}, {"role": "system", "content": "OBSERVATION:"}], "a-mini-coder-b", "returncode"),
        ([{"role": "assistant"}, {"role": "user"}, {"role": "user", "content": "z"}], "mini-coder", "openhands"),
        (None, "mini_coder", "openhands"),
    ],
)  # fmt: skip
def test_the_format_of_a_sample_is_that_of_its_first_observation(
    messages: list[dict[str, str]] | None, sample_id: str, expected: str
) -> None:
    assert detect_format(sample_id, messages) == expected


def test_the_three_formats_ask_for_different_shapes() -> None:
    assert not valid_output(" \n", "openhands")
    assert not valid_output(None, "returncode")
    assert not valid_output("Observation: x", "openhands")
    assert valid_output("\n<returncode>1</returncode>\n<output>\n\n</output>\n", "returncode")
    assert not valid_output("<returncode>1</returncode>\n<output>\n</output>x", "returncode")


@pytest.mark.parametrize("mark", ["<WARNING>", "<response CLIPPED>", "[... observation truncated due to length ...]"])
def test_scaffold_truncation_ignores_case(mark: str) -> None:
    assert is_scaffold_truncated(f"a{mark}b")
    assert not is_scaffold_truncated(f"a{mark[1:]}b")


def test_a_character_that_equals_a_letter_where_case_is_ignored_is_read_as_that_letter() -> None:
    letter = re.compile("[a-z]", re.IGNORECASE)
    disguised = [character for character in map(chr, range(128, sys.maxunicode + 1)) if letter.fullmatch(character)]
    assert len(disguised) == 4
    for shape in (
        "<response clipped>",
        "[... observation truncated due to length ...]",
        "output of your last command was too long",
    ):
        pattern = re.compile(re.escape(shape), re.IGNORECASE)
        for place in range(len(shape)):
            for character in disguised:
                text = "\u4e00" + shape[:place] + character + shape[place + 1 :]
                assert is_scaffold_truncated(text) == bool(pattern.search(text))


def test_numbers_alone_or_the_no_output_sentence_are_silence() -> None:
    assert silent_observation(" 1\n  2 \n3")
    assert silent_observation("OBSERVATION:\nYour command ran successfully and did not produce any output.")
    assert not silent_observation("1\n2 x")
    assert silent_observation(None)


def test_an_echo_may_stand_in_one_fence() -> None:
    assert echoes_command("ls -la", "```bash\nls -la\n```")
    assert not echoes_command("ls -la", "```bash\nls -la\n```\nfiles")
    assert not echoes_command("", "")


def test_a_leaked_turn_begins_with_a_role_or_ends_on_a_command() -> None:
    assert leaks_turn("  ### assistant\nhello")
    assert not leaks_turn("### assistants")
    assert leaks_turn("I will look.\n```sh\nls\n```\n")
    assert leaks_turn("OBSERVATION:\nsee <bash>ls</bash>")
    assert not leaks_turn("```bash\nls\n```\nfile.py")


@pytest.mark.parametrize(
    ("command", "stages"),
    [
        ("a && b || c; d\ne", ["a", "b", "c", "d", "e"]),
        ("echo 'a && b' \"c; d\" | cat", ["echo 'a && b' \"c; d\" | cat"]),
        ("cat > f <<'EOF'\nx; y\nEOF\nls", ["cat > f <<'EOF'\nx; y\nEOF", "ls"]),
        ("python - <<EOF && ls\nnever; closed", ["python - <<EOF && ls\nnever; closed"]),
        ("cat <<A <<B\na;\nA\nb;\nB\nls", ["cat <<A <<B\na;\nA\nb;\nB", "ls"]),
        ("  ;; ", []),
    ],
)  # fmt: skip
def test_commands_are_cut_outside_quotes_and_here_documents(command: str, stages: list[str]) -> None:
    assert command_stages(command) == stages


@pytest.mark.parametrize(
    ("command", "quiet"),
    [
        ("cd a && rm -r b; mkdir c", True),
        ("sed -i s/a/b/ f && git add f", True),
        ("sed --in-place s/a/b/ f", True),
        ("sed -n 1p f", False),
        ("echo a > b", True),
        ("echo a 2> b", False),
        ("echo 'a > b'", False),
        ("cd a && ls", False),
        ("", False),
    ],
)  # fmt: skip
def test_a_command_is_quiet_when_all_its_stages_are(command: str, quiet: bool) -> None:
    assert prints_nothing(command) is quiet


def test_no_observation_is_not_an_unanswered_command() -> None:
    assert not unanswered("cat a", None)
    assert unanswered("cat a", "")
    assert not unanswered("cd a", "")
    assert unanswered("cd a", "cd a")
    assert unanswered("cd a", "THOUGHT: next")


def literal_stages(text: str) -> list[str]:
    quoted = re.compile(r"""'[^']*'|"[^"]*\"""")
    masked = list(quoted.sub(lambda match: "'" + "_" * (len(match.group(0)) - 2) + "'", text))
    for match in re.finditer(r"<<-?[ \t]*(['\"]?)(\w+)\1", text):
        cut = match.end()
        for line in text[cut:].splitlines(keepends=True):
            if line.strip() == match.group(2):
                cut += len(line.rstrip("\r\n"))
                break
            cut += len(line)
        masked[match.end() : cut] = "_" * (cut - match.end())
    pieces, last = [], 0
    for separator in re.finditer(r"&&|\|\||;|\n", "".join(masked)):
        pieces.append(text[last : separator.start()])
        last = separator.end()
    return [piece.strip() for piece in [*pieces, text[last:]] if piece.strip()]


def test_random_commands_are_cut_as_a_plain_walk_cuts_them() -> None:
    generator = random.Random(11)
    pieces = [
        "<<EOF",
        "<<'A'",
        "<<-B",
        "EOF",
        "A",
        "B",
        "\n",
        "\n",
        " ",
        ";",
        "&&",
        "'",
        '"',
        "x",
        "\r\n",
        "\x0b",
        "<<",
    ]
    for _ in range(20_000):
        text = "".join(generator.choices(pieces, k=generator.randint(0, 14)))
        assert command_stages(text) == literal_stages(text), text
