"""Observations: their three formats, their bodies and what counts as an answer (contract sn97 b.1, b.3)."""

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

from assay.validator.fences import action_block_spans

ObservationFormat = Literal["returncode", "swe_agent", "openhands"]
ObservationVariant = Literal["v4", "v5a"]

_OUTPUT_OPENING = "<output>\n"
_OUTPUT_CLOSING = "</output>"
_SWE_AGENT_PREFIX = "OBSERVATION:"
_RETURNCODE_PREFIX = "<returncode>"
NO_OUTPUT_SENTENCE = "Your command ran successfully and did not produce any output."

_SCAFFOLD_TRUNCATIONS = (
    "<warning>",
    "<output_head>",
    "<response clipped>",
    "output of your last command was too long",
    "[... observation truncated due to length ...]",
)
# The other characters that equal a letter of a to z where a search ignores case.
_LETTERS_IN_DISGUISE = {"\u0130": "i", "\u0131": "i", "\u017f": "s", "\u212a": "k"}


def _trailer(command_ends: str) -> re.Pattern[str]:
    subjects = rf"The command (?:{command_ends})|Current working directory|Python interpreter|Command finished"
    return re.compile(rf"^\s*\[(?:{subjects})\b.*\]\s*$")


_TRAILERS: Mapping[str, re.Pattern[str]] = {
    "v4": _trailer("completed|timed out"),
    "v5a": _trailer("completed|finished|timed out"),
}
_VIEW_HEADER = re.compile(r"^\s*Here's the (?:result of running|files and directories)\b")
_BARE_NUMBER = re.compile(r"^\s*\d+\s*$")
_ROLE_LEAK = re.compile(r"THOUGHT:|### (?:assistant|user|system)\b")
_OPENING_FENCE = re.compile(r"```\w*\n")

_QUOTED = re.compile(r"""'[^']*'|"[^"]*\"""")
_HEREDOC = re.compile(r"<<-?[ \t]*(['\"]?)(\w+)\1")
_BLANKS = re.compile(r"\s*")
_STAGE_SEPARATOR = re.compile(r"&&|\|\||;|\n")
_QUIET_STAGE = re.compile(r"(?:cd|rm|mkdir|mv|cp|touch|export|chmod|true|git add|sed\s+(?:-i|--in-place))\b")
_REDIRECT_TO_FILE = re.compile(r"(?<![0-9<>])>>?[ \t]*\S")


def classify(observation: str | None) -> ObservationFormat:
    """Return the format of one observation; everything unknown, the empty text included, is openhands."""
    text = (observation or "").lstrip()
    if text.startswith(_RETURNCODE_PREFIX):
        return "returncode"
    if text.startswith(_SWE_AGENT_PREFIX):
        return "swe_agent"
    return "openhands"


def detect_format(sample_id: str, messages: Sequence[Mapping[str, Any]] | None = None) -> ObservationFormat:
    """Return the format of a sample: that of the first non-blank user or tool message after an assistant
    message.

    Without one it is returncode when the id contains `mini-coder` in any case, else openhands.
    """
    seen_assistant = False
    for message in messages or ():
        role = str(message.get("role") or "").lower()
        if role == "assistant":
            seen_assistant = True
        elif seen_assistant and role in ("user", "tool"):
            content = str(message.get("content") or "")
            if content.strip():
                return classify(content)
    return "returncode" if "mini-coder" in sample_id.casefold() else "openhands"


def valid_output(observation: str | None, expected: ObservationFormat) -> bool:
    """Say whether an observation has the shape that the format `expected` asks for."""
    text = (observation or "").strip()
    if not text:
        return False
    if expected == "returncode":
        return (
            text.startswith(_RETURNCODE_PREFIX)
            and "</returncode>" in text
            and _OUTPUT_OPENING in text
            and text.endswith("\n" + _OUTPUT_CLOSING)
        )
    if expected == "swe_agent":
        return text.startswith(_SWE_AGENT_PREFIX)
    return not text.startswith((_RETURNCODE_PREFIX, "Observation:", _SWE_AGENT_PREFIX))


def _body_with_header(text: str, observation_format: ObservationFormat, variant: ObservationVariant) -> str:
    if observation_format == "returncode":
        begin = text.find(_OUTPUT_OPENING)
        if begin < 0:
            return ""
        begin += len(_OUTPUT_OPENING)
        end = text.rfind(_OUTPUT_CLOSING, begin)
        return text[begin:end] if end >= 0 else ""
    if observation_format == "swe_agent":
        return text.removeprefix(_SWE_AGENT_PREFIX)
    trailer = _TRAILERS[variant]
    return "\n".join(line for line in text.splitlines() if not trailer.match(line))


def observation_body(
    observation: str | None, observation_format: ObservationFormat, variant: ObservationVariant = "v4"
) -> str:
    """Return what the command printed: the observation without envelope, trailer lines and view header.

    `variant` "v5a" also removes the trailer `[The command finished …]`.
    """
    body = _body_with_header((observation or "").strip(), observation_format, variant).strip("\n")
    if not body.strip():
        return ""
    lines = body.splitlines()
    return "\n".join(lines[1:]).strip("\n") if _VIEW_HEADER.match(lines[0]) else body


def has_content(
    observation: str | None, observation_format: ObservationFormat, variant: ObservationVariant = "v4"
) -> bool:
    """Say whether the body of an observation is more than white space."""
    return bool(observation_body(observation, observation_format, variant).strip())


def is_scaffold_truncated(observation: str | None) -> bool:
    """Say whether the scaffold cut this observation short (in any case)."""
    text = observation or ""
    for character, letter in _LETTERS_IN_DISGUISE.items():
        text = text.replace(character, letter)
    lowered = text.lower()
    return any(shape in lowered for shape in _SCAFFOLD_TRUNCATIONS)


def wrap(body: str, observation_format: ObservationFormat, returncode: int = 0) -> str:
    """Wrap a body as an observation of the given format."""
    if observation_format == "returncode":
        inner = f"{body}\n" if body else ""
        return f"<returncode>{returncode}</returncode>\n<output>\n{inner}</output>"
    if observation_format == "swe_agent":
        return f"{_SWE_AGENT_PREFIX}\n{body}" if body else _SWE_AGENT_PREFIX
    first = f"[The command completed with exit code {returncode}.]"
    second = f"[Command finished with exit code {returncode}]"
    return f"{body}\n{first}\n{second}"


@lru_cache(maxsize=2)  # the rules ask one after the other of the same observation
def _own_body(observation: str | None) -> str:
    return observation_body(observation, classify(observation), "v5a")


def silent_observation(observation: str | None) -> bool:
    """Say whether an observation tells nothing: no body, the no-output sentence, or only bare line numbers."""
    body = _own_body(observation).strip()
    if not body or body == NO_OUTPUT_SENTENCE:
        return True
    return all(_BARE_NUMBER.match(line) for line in body.splitlines())


def echoes_command(command: str | None, observation: str | None) -> bool:
    """Say whether the body, without one surrounding code fence, is the command itself."""
    body = _own_body(observation).strip()
    opening = _OPENING_FENCE.match(body)
    body = body[opening.end() if opening else 0 :].removesuffix("\n```").strip()
    return bool(body) and body == (command or "").strip()


def leaks_turn(observation: str | None) -> bool:
    """Say whether an observation is a transcript turn: it opens with a role marker or ends on a command
    block.
    """
    if _ROLE_LEAK.match((observation or "").strip()):
        return True
    body = _own_body(observation)
    spans = action_block_spans(body)
    return bool(spans) and not body[spans[-1][1] :].strip()


def _without_quotes(text: str) -> str:
    return _QUOTED.sub(lambda match: "'" + "_" * (len(match.group(0)) - 2) + "'", text)


def _heredoc_ends(text: str) -> list[tuple[int, int]]:
    """Return (begin, end) of every here-document: from after its operator to the end of its terminator line.

    Without a terminator it runs to the end of the text. The first line looked at is the rest of the
    operator's own.
    """
    begins: list[int] = []
    said_ends: list[int] = []
    line_ends: list[int] = []
    lines_saying: dict[str, list[int]] = {}
    position = 0
    for index, line in enumerate(text.splitlines(keepends=True)):
        begins.append(position)
        said_ends.append(position + len(line.rstrip()))
        line_ends.append(position + len(line.rstrip("\r\n")))
        lines_saying.setdefault(line.strip(), []).append(index)
        position += len(line)
    ends: list[tuple[int, int]] = []
    index = 0
    for match in _HEREDOC.finditer(text):
        begin, word = match.end(), match.group(2)
        while index + 1 < len(begins) and begins[index + 1] <= begin:
            index += 1
        # What follows on the operator's own line is looked at in place: such a line may hold many operators.
        blanks = _BLANKS.match(text, begin)
        word_begin = blanks.end() if blanks else begin
        if said_ends[index] - word_begin == len(word) and text.startswith(word, word_begin):
            ends.append((begin, line_ends[index]))
            continue
        saying = lines_saying.get(word, [])
        following = bisect_left(saying, index + 1)
        ends.append((begin, line_ends[saying[following]] if following < len(saying) else len(text)))
    return ends


def command_stages(command: str | None) -> list[str]:
    """Split a command at `&&`, `||`, `;` and newlines that stand outside quotes and here-documents."""
    text = command or ""
    visible = _without_quotes(text)
    pieces: list[str] = []
    done = 0
    for begin, end in _heredoc_ends(text):
        begin = max(begin, done)
        if end > begin:
            pieces.append(visible[done:begin] + "_" * (end - begin))
            done = end
    masked = "".join(pieces) + visible[done:]
    stages: list[str] = []
    last = 0
    for separator in _STAGE_SEPARATOR.finditer(masked):
        stages.append(text[last : separator.start()].strip())
        last = separator.end()
    stages.append(text[last:].strip())
    return [stage for stage in stages if stage]


def prints_nothing(command: str | None) -> bool:
    """Say whether every stage of a command is quiet by nature or sends its output to a file."""
    stages = command_stages(command)
    return bool(stages) and all(
        _QUIET_STAGE.match(stage) or _REDIRECT_TO_FILE.search(_without_quotes(stage)) for stage in stages
    )


def unanswered(command: str | None, observation: str | None) -> bool:
    """Say whether an observation left its command without an answer (contract sn97 b.1, observation rule of
    loop-v3).

    Null means there was no observation, which is not the same as an empty one.
    """
    if observation is None:
        return False
    if echoes_command(command, observation) or leaks_turn(observation):
        return True
    return silent_observation(observation) and not prints_nothing(command)
