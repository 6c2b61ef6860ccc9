"""Compute the table of duel turns straight from the raw files, to hold the warehouse's own table against.

One process, the standard library and the seed tables of this repository: nothing of the warehouse is used. Every
function states the section of the contract or the definition that it follows.

Only runs of era V4 are read (contract: sn97, version labels): their generated samples carry both `submit_command` and
the judged documents, and every scored line has its messages. Runs of other eras give no rows. The default rules are
meant: strict citations, schemes `behaviour` and `first_word` of command kinds.

    python tests/python/credit/plain_turns.py RAW
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

COLUMNS = (
    "eval_run_id",
    "sample_id",
    "rollout",
    "side",
    "turn",
    "source",
    "phase",
    "model",
    "command",
    "command_kind",
    "command_kind_first_word",
    "second_stage",
    "n_bash_blocks",
    "think_state",
    "is_submission",
    "is_truncated",
    "is_abandoned",
    "observation_format",
    "returncode",
    "failed",
    "fail_reason",
    "observation_truncated",
    "credit_split",
    "credit_full",
    "credit_split_extended",
    "credit_full_extended",
    "n_citing_answers",
    "tags",
    "is_repeat",
    "follows_failure",
    "failures_before",
    "repeats_before",
    "is_recovery",
    "is_escape",
    "leaves_repeats",
    "zeroed",
    "n_characters",
    "n_observation_characters",
    "artifact_id",
    "line",
    "message_index",
    "observation_message_index",
)

# Name of the side here, its name in the artifacts, and the beginning of its fields in a scoring line.
SIDES = (("king", "previous_king", "king"), ("challenger", "challenger", "chal"))

SEEDS = Path(__file__).resolve().parents[3] / "seeds"


# --- Files ---------------------------------------------------------------------------------------------------------


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Give every object of a file of JSON lines with its line number, from 1 (contract: sn97, a.1)."""
    with path.open(encoding="utf-8", newline="\n") as file:
        for number, text in enumerate(file, start=1):
            if text.strip():
                yield number, json.loads(text)


def json_object(path: Path) -> dict[str, Any]:
    """Read a file that is one JSON object; a file that is not there is an empty object."""
    if not path.exists():
        return {}
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def seed_rows(name: str) -> list[dict[str, str]]:
    """Read a seed table of this repository."""
    with (SEEDS / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# --- Identity of a sample ------------------------------------------------------------------------------------------

SAMPLE_ID = re.compile(
    r"((?:[A-Za-z0-9_][A-Za-z0-9_.-]*/)?data/train-[A-Za-z0-9_.-]*\.parquet):([0-9]+):([0-9]+)", re.ASCII
)


def parse_sample_id(sample_id: str) -> tuple[str, int, int] | None:
    """Split a sample id into shard, dataset row and turn; null where it has another form (contract: sn97, a.8)."""
    match = SAMPLE_ID.fullmatch(sample_id)
    return (match[1], int(match[2]), int(match[3])) if match else None


def sample_source(sample_id: str) -> str | None:
    """Name the dataset a sample was drawn from, the shard's first folder (contract: sn97, a.8)."""
    parsed = parse_sample_id(sample_id)
    if parsed is None or parsed[0].startswith("data/"):
        return None
    return parsed[0].split("/", 1)[0]


# --- Text of a turn ------------------------------------------------------------------------------------------------


def collapse(text: str) -> str:
    """Make every run of white space one blank and trim: the form in which commands are equal."""
    return " ".join(text.split())


def fenced_blocks(text: str) -> list[tuple[str, str]]:
    """Give the fenced blocks of a text as (tag, body).

    Fences are paired in order, so a closing fence never opens a block, and an opening fence without a closing one
    opens nothing (definition: executed command). Fences on one line hold no block.
    """
    pieces = text.split("```")
    closed = pieces[1:-1:2]
    blocks = []
    for piece in closed:
        tag, newline, body = piece.partition("\n")
        if newline:
            blocks.append((tag.rstrip(" \t\r"), body))
    return blocks


def executed_command(text: str) -> str | None:
    """Find what the harness runs: the first bash or sh block, else the first bare one.

    Definition: executed command. An empty block is an empty command.
    """
    blocks = fenced_blocks(text)
    bodies = [body for tag, body in blocks if tag in ("bash", "sh")] or [body for tag, body in blocks if tag == ""]
    return bodies[0].strip() if bodies else None


def count_bash_blocks(text: str) -> int:
    """Count the bash and sh blocks of a turn (definition: bash blocks)."""
    return sum(tag in ("bash", "sh") for tag, _ in fenced_blocks(text))


FENCED = re.compile(r"```.*?```", re.DOTALL)
THINK_TAG = re.compile(r"<\s*(/?)\s*think\s*>", re.IGNORECASE)


def think_state(text: str) -> str:
    """Name the state of the think tags outside fences (contract: sn97, b.3; definition: unclosed think).

    `unclosed` has an opening tag without a closing one after it, `nested` an opening tag inside an open thought,
    `close_only` a closing tag that nothing opened.
    """
    is_closing = [match[1] == "/" for match in THINK_TAG.finditer(FENCED.sub(" ", text))]
    if not is_closing:
        return "none"
    if not is_closing[-1]:
        return "unclosed"
    if any(not first and not second for first, second in pairwise(is_closing)):
        return "nested"
    is_orphan = is_closing[0] or any(first and second for first, second in pairwise(is_closing))
    return "close_only" if is_orphan else "closed"


CANONICAL_MARKER = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
SUBMISSION_BLOCK = re.compile(r"```(?:bash|sh|shell)[ \t]*\n(.*?)```", re.IGNORECASE | re.DOTALL)


def first_bash_command(text: str) -> str:
    """Give the collapsed command that a submission is looked for in, `""` without one (contract: sn97, b.4)."""
    match = SUBMISSION_BLOCK.search(text)
    return collapse(match[1]) if match else ""


def is_submission(text: str, submit_command: str) -> bool:
    """Tell whether a turn submits: the exact command, or without one the canonical marker (contract: sn97, b.4)."""
    if not submit_command:
        return CANONICAL_MARKER in text
    return first_bash_command(text) == collapse(submit_command)


def is_truncated(text: str) -> bool:
    """Tell whether a text holds the token-limit notice (contract: sn97, b.3)."""
    return "MODEL_RESPONSE_TOKEN_LIMIT_EXCEEDED" in text


def is_abandoned(text: str) -> bool:
    """Tell whether a text holds the abandonment notice (contract: sn97, b.3)."""
    return "CONSECUTIVE_BAD_TURNS_LIMIT_EXCEEDED" in text


# --- Kind of a command ---------------------------------------------------------------------------------------------

LEADING_COMMENT = re.compile(r"\A\s*#[^\n]*(?:\n|\Z)")
LEADING_CD = re.compile(r"""\A\s*cd[ \t]+(?:"[^"\n]*"|'[^'\n]*'|[^\s;|&"']+)[ \t]*&&\s*""")

# The pieces of a shell command, as far as they matter for where a simple command ends and what is visible.
SHELL_PIECE = re.compile(
    r"""
      (?P<escape>    \\. )
    | (?P<quoted>    '[^']*' | "(?:\\.|[^"\\])*" )
    | (?P<comment>   (?<![^\s;|&(])\#[^\n]* )
    | (?P<string>    <<< )
    | (?P<here>      <<(?P<dash>-?)[ \t]*(?P<word>'[^'\n]+'|"[^"\n]+"|\\?[\w.]+) )
    | (?P<operator>  \|\| | && | \|&? | ; | \n )
    | (?P<plain>     [^\\'"\#<|&;\n]+ | . )
    """,
    re.VERBOSE | re.DOTALL,
)


def here_document_end(command: str, start: int, delimiter: str, takes_tabs: bool) -> int:
    """Find where a here-document whose body begins at a line start ends, its closing line included."""
    position = start
    while position < len(command):
        line, newline, _ = command[position:].partition("\n")
        position += len(line) + len(newline)
        if (line.lstrip("\t") if takes_tabs else line) == delimiter:
            break
    return position


def shell_pieces(command: str) -> list[tuple[str, str]]:
    """Cut a command into (kind, text): quoted text, here-document bodies, operators, and the rest."""
    pieces: list[tuple[str, str]] = []
    here_documents: list[tuple[str, bool]] = []
    position = 0
    while match := SHELL_PIECE.match(command, position):
        pieces.append((match.lastgroup or "plain", match[0]))
        position = match.end()
        if match["here"]:
            here_documents.append((match["word"].lstrip("\\").strip("'\""), match["dash"] == "-"))
        if match["operator"] == "\n" and here_documents:
            start = position
            for delimiter, takes_tabs in here_documents:
                position = here_document_end(command, position, delimiter, takes_tabs)
            pieces.append(("body", command[start:position]))
            here_documents = []
    return pieces


@dataclass
class CommandParts:
    """What the rules of command kinds look at (seed `command_kinds`)."""

    command: str
    visible: str
    first_stage: str
    second_stage: str | None


def command_parts(command: str | None) -> CommandParts:
    """Take a command apart (definition: command kind).

    Leading comment lines and one leading `cd DIR &&` go first. The first simple command ends at `|`, `||`, `&&`, `;`
    or a newline that is neither quoted nor escaped. Of a second stage of its pipe the program is kept.
    """
    text = command or ""
    while LEADING_COMMENT.match(text):
        text = LEADING_COMMENT.sub("", text, count=1)
    text = LEADING_CD.sub("", text, count=1).strip()

    pieces = shell_pieces(text)
    visible = "".join(piece for kind, piece in pieces if kind not in ("quoted", "body"))
    stages = [""]
    operators: list[str] = []
    for kind, piece in pieces:
        if kind == "operator" and not (piece == "\n" and operators and not stages[-1].strip()):
            operators.append(piece)
            stages.append("")
        elif kind != "body":
            stages[-1] += piece
    second_words = stages[1].split() if operators and operators[0] in ("|", "|&") else []
    return CommandParts(text, visible, stages[0].strip(), second_words[0] if second_words else None)


@dataclass
class KindRule:
    """One row of seed `command_kinds`."""

    kind: str
    field: str
    pattern: re.Pattern[str]


def kind_rules(scheme: str) -> list[KindRule]:
    """Read the rules of a scheme of command kinds in their order (seed `command_kinds`)."""
    rows = [row for row in seed_rows("command_kinds.csv") if row["scheme"] == scheme]
    rows.sort(key=lambda row: int(row["position"]))
    return [KindRule(row["kind"], row["field"], re.compile(row["pattern"])) for row in rows]


def command_kind(parts: CommandParts, submits: bool, rules: list[KindRule]) -> str:
    """Name the kind of a command: that of the first rule whose pattern is found, else `other`."""
    fields = {
        "command": parts.command,
        "visible": parts.visible,
        "first_stage": parts.first_stage,
        "submission": "yes" if submits else "no",
    }
    for rule in rules:
        if rule.pattern.search(fields[rule.field]):
            return rule.kind
    return "other"


# --- Observations --------------------------------------------------------------------------------------------------

TRAILER = re.compile(
    r"\s*\[(?:The command (?:completed|timed out)|Current working directory|Python interpreter|Command finished)\b"
    r".*\]\s*"
)
TIMED_OUT = re.compile(r"\s*\[The command timed out\b")
OUTPUT = re.compile(r"<output>\n(.*)</output>", re.DOTALL)
RETURNCODE = re.compile(r"<returncode>(-?\d+)</returncode>")
EXIT_CODE = re.compile(r"exit code (-?\d+)")
TOOL_HEADINGS = ("Here's the result of running", "Here's the files and directories")
CUT_OUTPUT = (
    "<warning>",
    "<output_head>",
    "<response clipped>",
    "output of your last command was too long",
    "[... observation truncated due to length ...]",
)
ERROR_SHAPES = (
    "Traceback (most recent call last)",
    "command not found",
    "No such file or directory",
    "No module named",
    "syntax error",
)
ERROR_BEGINNINGS = ("fatal:", "error:", "ERROR:")


def observation_format(text: str) -> str:
    """Classify one observation as returncode, swe_agent or openhands (contract: sn97, b.3)."""
    start = text.lstrip()
    if start.startswith("<returncode>"):
        return "returncode"
    return "swe_agent" if start.startswith("OBSERVATION:") else "openhands"


def trailer_lines(text: str) -> list[str]:
    """Give the lines of an openhands observation that the scaffold added (contract: sn97, b.3)."""
    return [line for line in text.split("\n") if TRAILER.fullmatch(line)]


def observation_body(text: str, form: str) -> str:
    """Give what the command printed (contract: sn97, b.3)."""
    if form == "returncode":
        match = OUTPUT.search(text)
        body = match[1] if match else ""
    elif form == "swe_agent":
        body = text.lstrip().removeprefix("OBSERVATION:")
    else:
        body = "\n".join(line for line in text.split("\n") if not TRAILER.fullmatch(line))
    body = body.strip("\n")
    if not body.strip():
        return ""
    first_line, _, rest = body.partition("\n")
    return rest if first_line.startswith(TOOL_HEADINGS) else body


def observation_returncode(text: str, form: str) -> int | None:
    """Give the return code that an observation names, null where it names none (contract: sn97, b.3)."""
    if form == "returncode":
        match = RETURNCODE.search(text)
        return int(match[1]) if match else None
    if form == "openhands":
        codes = EXIT_CODE.findall("\n".join(trailer_lines(text)))
        return int(codes[-1]) if codes else None
    return None


def is_observation_cut(text: str) -> bool:
    """Tell whether the scaffold cut an observation (contract: sn97, b.3)."""
    lowered = text.lower()
    return any(mark in lowered for mark in CUT_OUTPUT)


def has_error_shape(body: str) -> bool:
    """Tell whether the first or last non-empty line looks like an error (definition: failed observation)."""
    lines = [line for line in body.split("\n") if line.strip()]
    ends = (lines[0], lines[-1]) if lines else ()
    return any(line.startswith(ERROR_BEGINNINGS) or any(shape in line for shape in ERROR_SHAPES) for line in ends)


def fail_reason(text: str, kind: str) -> str | None:
    """Say why an observation is a failure, null where it is none (definition: failed observation).

    A return code of 1 after a command that is a grep and printed nothing is `no_match`.
    """
    form = observation_format(text)
    returncode = observation_returncode(text, form)
    body = observation_body(text, form)
    if returncode is not None and returncode != 0:
        found_nothing = returncode == 1 and kind in ("grep", "grep -r") and body == ""
        return "no_match" if found_nothing else "returncode"
    if form == "openhands" and any(TIMED_OUT.match(line) for line in trailer_lines(text)):
        return "timed_out"
    if body.lstrip().startswith("No bash command found"):
        return "no_command"
    if returncode is None and has_error_shape(body):
        return "error_shape"
    return None


# --- Questions, scores and citations -------------------------------------------------------------------------------


def tag_weights(tag_weights_id: str) -> dict[str, float]:
    """Read the tag rules of a table of question weights (seed `tag_weights`)."""
    rows = [row for row in seed_rows("tag_weights.csv") if row["tag_weights_id"] == tag_weights_id]
    return {row["pattern"]: float(row["weight"]) for row in rows if row["field"] == "tag"}


def question_weight(tag: str | None, table: dict[str, float]) -> float:
    """Weigh a question by its tag: the most exact rule wins, without a rule 0 (contract: sn97, b.5)."""
    tag = tag or ""
    if tag in table:
        return table[tag]
    beginnings = [pattern for pattern in table if pattern.endswith("*") and tag.startswith(pattern[:-1])]
    return table[max(beginnings, key=len)] if beginnings else 0.0


def yes_rate(answers: dict[str, str | None], weights: dict[str, float]) -> float | None:
    """Give the weighted share of yes among answered questions, rounded to 6 places (contract: sn97, b.5)."""
    answered = [(weights.get(question, 0.0), int(answer)) for question, answer in answers.items() if answer is not None]
    if not answered:
        return None
    total = sum(weight for weight, _ in answered)
    if total == 0:
        return round(sum(bit for _, bit in answered) / len(answered), 6)
    return round(sum(weight * bit for weight, bit in answered) / total, 6)


def response_score(rates: list[float | None], is_amputated: bool) -> float | None:
    """Give the mean of the judges' rates, halved for amputated thinking (contract: sn97, b.5)."""
    known = [rate for rate in rates if rate is not None]
    if not known:
        return None
    score = round(sum(known) / len(known), 6)
    return round(score * 0.5, 6) if is_amputated else score


def judge_records(scoring: dict[str, Any], published_side: str) -> list[dict[str, Any]]:
    """Give the judge records of a side in their order (contract: sn97, a.5)."""
    return [record for record in scoring["judge_results"] if record["side"] == published_side]


def is_zeroed(records: list[dict[str, Any]]) -> bool:
    """Tell whether the run set a side to 0 for looping or corrupted output (contract: sn97, b.2)."""
    return any(record.get("looped") or record.get("corrupted") for record in records)


def question_weights(scoring: dict[str, Any], table: dict[str, float]) -> dict[str, float]:
    """Weigh the questions of a scoring line, by question id."""
    return {question["id"]: question_weight(question.get("tag"), table) for question in scoring["questions"]}


def count_reproduced(lines: list[dict[str, Any]], table: dict[str, float]) -> int:
    """Count the stored scores of sides that are not zeroed which a table gives again (definition: question weight)."""
    count = 0
    for scoring in lines:
        weights = question_weights(scoring, table)
        if not any(weights.values()):
            continue
        for side, published_side, prefix in SIDES:
            records = judge_records(scoring, published_side)
            stored = scoring[f"{side}_score"]
            if is_zeroed(records) or stored is None:
                continue
            rates = [yes_rate(record["answers"], weights) for record in records]
            score = response_score(rates, bool(scoring.get(f"{prefix}_amputated_thinking")))
            count += score is not None and abs(score - stored) <= 1e-4
    return count


def table_of_run(lines: list[dict[str, Any]]) -> dict[str, float]:
    """Choose the table that reproduces more stored scores of a run, V4 on a tie (definition: question weight)."""
    v4, uniform = tag_weights("v4"), tag_weights("uniform")
    return v4 if count_reproduced(lines, v4) >= count_reproduced(lines, uniform) else uniform


STRICT_CITATION = re.compile(r"CANDIDATE OUTPUT (\d+)")
CITATION_JOIN = r"(?:\s*,\s*(?:(?:and|or|&)\s+)?|\s*&\s*|\s*[-–—]\s*|\s+(?:and|or|to|through)\s+)"
CITED_OUTPUT = r"\b(?:CANDIDATE\s+)?OUTPUTS?\s+"
EXTENDED_CITATION = re.compile(
    rf"{CITED_OUTPUT}(\d+(?:{CITATION_JOIN}(?:{CITED_OUTPUT})?\d+)*)",
    re.IGNORECASE,
)
CITED_NUMBER = re.compile(r"\d+")
RANGE_MARK = re.compile(r"[-–—]|\b(?:to|through)\b", re.IGNORECASE)


def strict_citations(explanation: str, n_turns: int) -> set[int]:
    """Give the valid turns that an explanation cites to the letter (definition: cited turns)."""
    numbers = {int(number) for number in STRICT_CITATION.findall(explanation)}
    return {number for number in numbers if 1 <= number <= n_turns}


def extended_citations(explanation: str, n_turns: int) -> set[int]:
    """Give the valid turns that an explanation cites when plurals, lists and ranges in any case count too.

    `output 2` without `candidate` is such a form as well (contract: sn97, d, citation).
    """
    cited = strict_citations(explanation, n_turns)
    for citation in EXTENDED_CITATION.findall(explanation):
        previous, end = 0, 0
        for match in CITED_NUMBER.finditer(citation):
            number = int(match[0])
            is_range = end > 0 and RANGE_MARK.search(citation, end, match.start()) is not None
            first = previous if is_range else number
            cited.update(range(max(1, first), min(n_turns, number) + 1))
            if 1 <= number <= n_turns:
                cited.add(number)
            previous, end = number, match.end()
    return cited


@dataclass
class TurnCredit:
    """What one turn of a side earned."""

    split: list[float]
    full: list[float]
    split_extended: list[float]
    full_extended: list[float]
    tags: list[str]
    n_citing_answers: int = 0


def plain_tag(tag: str) -> str:
    """Take `reference:` or `behavior:` off a tag."""
    return tag.removeprefix("reference:").removeprefix("behavior:")


def credit_of_side(
    scoring: dict[str, Any], published_side: str, table: dict[str, float], n_turns: int
) -> list[TurnCredit]:
    """Spread the earned question weights of a side over its turns (definitions: earned, judges, credit).

    Every list holds one judge's weight for one answer; their sum over the number of judge records is the credit.
    """
    turns = [TurnCredit([], [], [], [], []) for _ in range(n_turns)]
    records = judge_records(scoring, published_side)
    if is_zeroed(records):
        return turns
    weights = question_weights(scoring, table)
    tags = {question["id"]: question.get("tag") for question in scoring["questions"]}
    for record in records:
        if not record["parse_ok"]:
            continue
        for question, weight in weights.items():
            if record["answers"].get(question) != "1" or weight <= 0:
                continue
            weight = weight / len(records)
            explanation = record["explanations"].get(question) or ""
            strict = strict_citations(explanation, n_turns)
            for number in strict:
                turn = turns[number - 1]
                turn.split.append(weight / len(strict))
                turn.full.append(weight)
                turn.n_citing_answers += 1
                if tags[question]:
                    turn.tags.append(plain_tag(tags[question]))
            extended = extended_citations(explanation, n_turns)
            for number in extended:
                turns[number - 1].split_extended.append(weight / len(extended))
                turns[number - 1].full_extended.append(weight)
    return turns


# --- A side, a run, a tree -----------------------------------------------------------------------------------------


def scored_turns(messages: list[dict[str, Any]]) -> list[tuple[int, int | None]]:
    """Give the message indexes of every scored turn and of the observation that answers it (contract: sn97, a.4)."""
    turns: list[tuple[int, int | None]] = []
    for index, message in enumerate(messages):
        if message.get("score_target"):
            turns.append((index, None))
        elif message.get("environment_observation") and turns and turns[-1][1] is None:
            turns[-1] = (turns[-1][0], index)
    return turns


def turns_of_text(
    messages: list[dict[str, Any]], submit_command: str, schemes: dict[str, list[KindRule]]
) -> list[dict[str, Any]]:
    """Describe the scored turns of a side as far as their own text and observation tell."""
    rows = []
    for number, (index, observation_index) in enumerate(scored_turns(messages), start=1):
        message = messages[index]
        text = message["content"]
        command = executed_command(text)
        parts = command_parts(command)
        submits = is_submission(text, submit_command)
        row: dict[str, Any] = {
            "turn": number,
            "command": command,
            "command_kind": command_kind(parts, submits, schemes["behaviour"]),
            "command_kind_first_word": command_kind(parts, submits, schemes["first_word"]),
            "second_stage": parts.second_stage,
            "n_bash_blocks": count_bash_blocks(text),
            "think_state": think_state(text),
            "is_submission": submits,
            "is_truncated": bool(message.get("truncated")) or is_truncated(text),
            "is_abandoned": bool(message.get("abandoned")) or is_abandoned(text),
            "n_characters": len(text),
            "message_index": index,
            "observation_message_index": observation_index,
            "observation_format": None,
            "returncode": None,
            "failed": None,
            "fail_reason": None,
            "observation_truncated": None,
            "n_observation_characters": None,
        }
        if observation_index is not None:
            observation = messages[observation_index]["content"]
            form = observation_format(observation)
            reason = fail_reason(observation, row["command_kind"])
            row |= {
                "observation_format": form,
                "returncode": observation_returncode(observation, form),
                "failed": reason is not None,
                "fail_reason": reason,
                "observation_truncated": is_observation_cut(observation),
                "n_observation_characters": len(observation),
            }
        rows.append(row)
    return rows


def add_credit(rows: list[dict[str, Any]], credits: list[TurnCredit]) -> None:
    """Add what every turn earned (definition: credit)."""
    for row, credit in zip(rows, credits, strict=True):
        row["credit_split"] = math.fsum(credit.split)
        row["credit_full"] = math.fsum(credit.full)
        row["credit_split_extended"] = math.fsum(credit.split_extended)
        row["credit_full_extended"] = math.fsum(credit.full_extended)
        row["n_citing_answers"] = credit.n_citing_answers
        row["tags"] = sorted(credit.tags)


def add_history(rows: list[dict[str, Any]]) -> None:
    """Add what a turn owes to those before it (definitions: follows a failure, recovery, repeat, escape).

    A turn without a command, or with an empty one, equals no other: it ends a run of equal commands, leaves it, and is
    never a repeat.
    """
    seen: set[str] = set()
    previous_command: str | None = None
    previous_failed: bool | None = None
    failures = 0
    repeats = 0
    for row in rows:
        command = collapse(row["command"] or "") or None
        earns = row["credit_split"] > 0
        leaves_repeats = repeats >= 2 and command != previous_command
        row["is_repeat"] = command in seen
        row["follows_failure"] = previous_failed
        row["failures_before"] = failures
        row["repeats_before"] = repeats
        row["leaves_repeats"] = leaves_repeats
        row["is_recovery"] = earns and previous_failed is True
        row["is_escape"] = earns and (previous_failed is True or leaves_repeats)

        if command is None:
            repeats = 0
        else:
            repeats = repeats + 1 if command == previous_command else 1
            seen.add(command)
        previous_command = command
        previous_failed = row["failed"]
        failures = failures + 1 if previous_failed else 0


def listed_models(raw: Path) -> dict[str, dict[str, str | None]]:
    """Give the models of the sides of every listed run (contract: sn97, a.3)."""
    models: dict[str, dict[str, str | None]] = {}
    for path in sorted((raw / "sn97").rglob("dashboard.json")):
        for run in json_object(path).get("eval_runs", []):
            king = run.get("king") or {}
            models.setdefault(run["eval_run_id"], {"king": king.get("model_uri"), "challenger": run.get("model_uri")})
    return models


def models_of_run(request: dict[str, Any], listed: dict[str, str | None]) -> dict[str, str | None]:
    """Give the models of both sides: those of the request, else those listed (contract: sn97, a.6)."""
    models = {}
    for side, published_side, _ in SIDES:
        models[side] = (request.get(published_side) or {}).get("model_uri") or listed.get(side)
    return models


def scored_lines(path: Path) -> list[dict[str, Any]]:
    """Read the scored lines of a run; of several lines for one sample the first counts (contract: sn97, a.5)."""
    lines: dict[str, dict[str, Any]] = {}
    if path.exists():
        for _, scoring in json_lines(path):
            lines.setdefault(scoring["sample_id"], scoring)
    return [scoring for scoring in lines.values() if scoring.get("scored")]


def is_era_v4(path: Path) -> bool:
    """Tell whether a file of generated samples has the marks of era V4 (contract: sn97, a.4)."""
    for _, sample in json_lines(path):
        return "submit_command" in sample and "previous_king_output" in sample
    return False


def turns_of_run(
    path: Path, artifact_id: str, listed: dict[str, dict[str, str | None]], schemes: dict[str, list[KindRule]]
) -> Iterator[dict[str, Any]]:
    """Give the scored turns of both sides of every scored sample of one run (definitions: runs, sides)."""
    folder = path.parent
    if not is_era_v4(path) or json_object(folder / "verdict.json").get("state", "succeeded") != "succeeded":
        return
    request = json_object(folder / "request.json")
    lines = scored_lines(folder / "scoring-results.jsonl")
    table = table_of_run(lines)
    scoring_of_sample = {scoring["sample_id"]: scoring for scoring in lines}
    for number, sample in json_lines(path):
        scoring = scoring_of_sample.pop(sample["sample_id"], None)
        if scoring is None:
            continue
        models = models_of_run(request, listed.get(sample["eval_run_id"], {}))
        for side, published_side, _ in SIDES:
            rows = turns_of_text(sample[f"{published_side}_turns"], sample["submit_command"], schemes)
            add_credit(rows, credit_of_side(scoring, published_side, table, len(rows)))
            add_history(rows)
            for row in rows:
                row |= {
                    "eval_run_id": sample["eval_run_id"],
                    "sample_id": sample["sample_id"],
                    "rollout": 1,
                    "side": side,
                    "source": sample_source(sample["sample_id"]),
                    "phase": (scoring.get("question_source") or {}).get("sample_phase"),
                    "model": models[side],
                    "zeroed": is_zeroed(judge_records(scoring, published_side)),
                    "artifact_id": artifact_id,
                    "line": number,
                }
                yield row


def plain_turns(raw: Path) -> list[tuple[Any, ...]]:
    """Compute the turn table of every V4 run below a raw tree: rows in the order of `COLUMNS`."""
    listed = listed_models(raw)
    schemes = {scheme: kind_rules(scheme) for scheme in ("behaviour", "first_word")}
    table = []
    for path in sorted((raw / "sn97" / "runs").glob("*/generated-samples.jsonl")):
        for row in turns_of_run(path, path.relative_to(raw).as_posix(), listed, schemes):
            table.append(tuple(row[column] for column in COLUMNS))
    return table


def main() -> None:
    """Print the number of turns and the sum of their credit."""
    parser = argparse.ArgumentParser(description="Compute the duel turn table straight from the raw files.")
    parser.add_argument("raw", type=Path, metavar="RAW", help="the raw tree")
    arguments = parser.parse_args()

    table = plain_turns(arguments.raw)
    credit = math.fsum(row[COLUMNS.index("credit_split")] for row in table)
    print(f"{len(table)} turns, credit_split {credit:.9f}")


if __name__ == "__main__":
    main()
