"""Landed messages of one artifact to rows of turns and sides. Source: contract sn97 a.4, a.7, b; definitions."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from assay.landing.sources.conversations import ToolCall
from assay.trajectories.commands import CommandKinds, bash_block_count, executed_command
from assay.trajectories.outcomes import Outcome, outcome, run_outcome
from assay.trajectories.think import think_state
from assay.validator.documents import (
    candidate_blocks_loose,
    candidate_turns,
    candidate_turns_with_observations,
    format_scored_trajectory,
)
from assay.validator.fences import collapse_space
from assay.validator.loops import LoopVariant, commands_by_variant, commands_of_turns, longest_runs
from assay.validator.sentinels import is_abandoned, is_truncated, reserved_token_leak
from assay.validator.submissions import submits

TURNS = pa.schema(
    [
        ("artifact_id", pa.string()),
        ("line", pa.int64()),
        ("side", pa.string()),
        ("turn", pa.int64()),
        ("message_index", pa.int64()),
        ("observation_message_index", pa.int64()),
        ("command", pa.string()),
        ("command_key", pa.string()),
        ("command_kind", pa.string()),
        ("command_kind_first_word", pa.string()),
        ("second_stage", pa.string()),
        ("n_bash_blocks", pa.int64()),
        ("think_state", pa.string()),
        ("is_submission", pa.bool_()),
        ("is_truncated", pa.bool_()),
        ("is_abandoned", pa.bool_()),
        ("has_observation", pa.bool_()),
        ("observation_format", pa.string()),
        ("returncode", pa.int64()),
        ("failed", pa.bool_()),
        ("fail_reason", pa.string()),
        ("observation_truncated", pa.bool_()),
        ("n_characters", pa.int64()),
        ("n_observation_characters", pa.int64()),
    ]
)
"""One row a turn; `turn` counts scored turns (assistant messages of a trajectory that is no duel side) from 1."""

LOOP_VARIANTS: tuple[LoopVariant, ...] = ("v1", "v2", "v3")

SIDES = pa.schema(
    [
        ("artifact_id", pa.string()),
        ("line", pa.int64()),
        ("side", pa.string()),
        ("text_source", pa.string()),
        ("n_turns", pa.int64()),
        *(
            (f"{name}_{variant}", pa.int64())
            for variant in LOOP_VARIANTS
            for name in ("n_cmds", "n_distinct_cmds", "max_cmd_run")
        ),
        ("document_n_cmds_v1", pa.int64()),
        ("document_n_distinct_cmds_v1", pa.int64()),
        ("document_max_cmd_run_v1", pa.int64()),
        ("has_truncation_sentinel", pa.bool_()),
        ("has_abandonment_sentinel", pa.bool_()),
        ("reserved_token", pa.string()),
        ("n_judged_blocks", pa.int64()),
        ("n_blocks_starting_with_close", pa.int64()),
    ]
)
"""One row a side (a trajectory that is no duel side has one, named `agent`); loop statistics by extraction variant,
from the scored turns, and for v1 also from the strictly split judged document.
"""

AGENT = "agent"

OutcomeOf = Callable[[str, str], Outcome]
"""Reads an observation, given the kind of the command before it."""


@dataclass(frozen=True)
class Turn:
    """One turn's texts and where they stand in the published messages (null when read from a document).

    `commands` are those of its structured calls, null for a turn without any, whose command stands in its text.
    """

    content: str
    observation: str | None
    message_index: int | None = None
    observation_message_index: int | None = None
    commands: tuple[str, ...] | None = None

    @property
    def n_bash_blocks(self) -> int:
        """How many commands the turn gives to a shell."""
        return bash_block_count(self.content) if self.commands is None else len(self.commands)

    def command(self, takes_tagged: bool) -> str | None:
        """The command it executes."""
        if self.commands is None:
            return executed_command(self.content, takes_tagged)
        return self.commands[0].strip() if self.commands else None

    @property
    def loop_text(self) -> str:
        """The text in which a loop check finds its commands, each whole: a fence of its own does not end it."""
        if self.commands is None:
            return self.content
        return "\n\n".join("```bash\n" + command.replace("```", "'''") + "\n```" for command in self.commands)


def turn_values(
    turn: Turn, submit_command: str | None, takes_tagged: bool, kinds: CommandKinds, outcome_of: OutcomeOf
) -> tuple[Any, ...]:
    """The columns of `TURNS` after `message_index` columns, for one turn."""
    command = turn.command(takes_tagged)
    is_submission = submits(turn.content, submit_command, "v5a" if takes_tagged else "v4")
    facts = kinds.classify(command, is_submission)
    kind = facts.kinds.get("behaviour", "other")
    seen = _NOT_OBSERVED if turn.observation is None else _outcome_values(outcome_of(turn.observation, kind))
    collapsed = collapse_space(command) if command else ""
    return (
        command,
        hashlib.md5(collapsed.encode(), usedforsecurity=False).hexdigest() if collapsed else None,
        kind,
        facts.kinds.get("first_word"),
        facts.second_stage,
        turn.n_bash_blocks,
        think_state(turn.content),
        is_submission,
        is_truncated(turn.content),
        is_abandoned(turn.content),
        turn.observation is not None,
        *seen,
        len(turn.content),
        None if turn.observation is None else len(turn.observation),
    )


_NOT_OBSERVED: tuple[Any, ...] = (None, None, None, None, None)


def _outcome_values(seen: Outcome) -> tuple[Any, ...]:
    return (seen.observation_format, seen.returncode, seen.failed, seen.fail_reason, seen.is_truncated)


def loop_values(turns: Sequence[Turn]) -> list[int]:
    """`n_cmds`, `n_distinct_cmds` and `max_cmd_run` of every loop variant, from the turns."""
    commands = commands_by_variant([turn.loop_text for turn in turns], [turn.observation for turn in turns])
    return [value for variant in LOOP_VARIANTS for value in _statistics(commands[variant])]


def _statistics(commands: Sequence[str]) -> list[int]:
    return [len(commands), len(set(commands)), max(longest_runs(commands).values(), default=0)]


@dataclass(frozen=True)
class DuelSample:
    """What a generated-samples line says of one side apart from its messages."""

    line: int
    side: str
    document: str | None
    has_messages: bool
    submit_command: str | None
    takes_tagged: bool


def duel_rows(
    artifact_id: str, sample: DuelSample, messages: Sequence[dict[str, Any]], kinds: CommandKinds
) -> tuple[list[tuple[Any, ...]], tuple[Any, ...]]:
    """Rows of turns and the row of the side. The messages are the text; the document only where they are absent."""
    if sample.has_messages:
        text_source = "messages"
        turns = list(duel_turns(messages))
        document = sample.document or format_scored_trajectory(messages, "v5a" if sample.takes_tagged else "v4")
    else:
        document = sample.document or ""
        text_source = "document" if document else "none"
        contents, observations = candidate_turns_with_observations(document)
        turns = [Turn(content, seen) for content, seen in zip(contents, observations, strict=True)]
    keys = (artifact_id, sample.line, sample.side)
    rows = [
        (*keys, number, turn.message_index, turn.observation_message_index,
         *turn_values(turn, sample.submit_command, sample.takes_tagged, kinds, outcome))
        for number, turn in enumerate(turns, 1)
    ]  # fmt: skip
    blocks = candidate_blocks_loose(document)
    side = (
        *keys,
        text_source,
        len(turns),
        *loop_values(turns),
        *_statistics(commands_of_turns(candidate_turns(document), "v1")),
        is_truncated(document),
        is_abandoned(document),
        reserved_token_leak(document) or None,
        len(blocks),
        sum(block.lstrip().startswith("</think>") for block in blocks),
    )
    return rows, side


def duel_turns(messages: Sequence[dict[str, Any]]) -> Iterator[Turn]:
    """The scored turns of a side with the first environment observation before the next scored turn."""
    current: tuple[str, int] | None = None
    for message in messages:
        if message["score_target"] and message["role"] == "assistant":
            if current:
                yield Turn(current[0], None, current[1])
            current = (message["content"] or "", message["message_index"])
        elif current and message["environment_observation"]:
            yield Turn(current[0], message["content"] or "", current[1], message["message_index"])
            current = None
    if current:
        yield Turn(current[0], None, current[1])


def conversation_rows(
    artifact_id: str, line: int, messages: Sequence[dict[str, Any]], kinds: CommandKinds
) -> tuple[list[tuple[Any, ...]], tuple[Any, ...]]:
    """Rows of a trajectory that is no duel side: every assistant message is a turn, and the user message that answers
    its call its observation.
    """
    keys = (artifact_id, line, AGENT)
    rows: list[tuple[Any, ...]] = []
    turns: list[Turn] = []
    for position, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        calls = [ToolCall(**call) for call in message["tool_calls"] or ()]
        commands = [(call, command) for call in calls if (command := call.command()) is not None]
        answered = next((call for call, _ in commands), calls[0] if calls else None)
        seen = _answer(messages, position, answered)
        turn = Turn(
            message["content"],
            seen["content"] if seen else None,
            message["message_index"],
            seen["message_index"] if seen else None,
            tuple(command for _, command in commands) if calls else None,
        )
        turns.append(turn)
        outcome_of = partial(run_outcome, returncode=seen["returncode"] if seen else None)
        values = turn_values(turn, None, False, kinds, outcome_of)
        rows.append((*keys, len(turns), turn.message_index, turn.observation_message_index, *values))
    texts = [message["content"] for message in messages]
    side = (
        *keys,
        "messages",
        len(turns),
        *loop_values(turns),
        *(None, None, None),
        any(map(is_truncated, texts)),
        any(map(is_abandoned, texts)),
        next((token for token in map(reserved_token_leak, texts) if token), None),
        len(turns),
        sum(turn.content.lstrip().startswith("</think>") for turn in turns),
    )
    return rows, side


def _answer(messages: Sequence[dict[str, Any]], position: int, call: ToolCall | None) -> dict[str, Any] | None:
    """The message that answers a turn's call: of the user messages that follow, the one that names the call, or the
    next one where it names none.
    """
    first = position + 1
    for index in range(first, len(messages)):
        message = messages[index]
        if message["role"] != "user":
            break
        named = message["tool_call_id"]
        if call is None or call.id is None or named == call.id or (index == first and named is None):
            return message
    return None
