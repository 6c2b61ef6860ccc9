"""The loop check in its three versions (contract sn97 b.1)."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from assay.validator.documents import candidate_turns, candidate_turns_with_observations
from assay.validator.fences import action_block_spans, collapse_space, fenced_blocks
from assay.validator.observations import unanswered
from assay.validator.submissions import begins_with_submission, first_bash_command

LoopVariant = Literal["v1", "v2", "v3"]

# A closing fence is an opening one to loop-v1, and all white space up to the last newline belongs to the
# opening.
_V1_OPENING = re.compile(r"```(?:bash|sh)?\s*\n")


@dataclass(frozen=True)
class LoopingCommand:
    """A command that repeats: how often in all, and its longest run of neighbours."""

    command: str
    count: int
    longest_run: int


@dataclass(frozen=True)
class LoopVerdict:
    """What a loop check says of the commands of a side. Reasons and looping commands are empty unless looped."""

    command_list: tuple[str, ...]
    n_cmds: int
    dup_cmd_ratio: float
    max_cmd_run: int
    looped: bool
    reasons: tuple[str, ...]
    commands: tuple[LoopingCommand, ...]


def commands_of_turn(text: str | None, variant: LoopVariant) -> list[str]:
    """Return all commands of one turn as a loop check counts them, white space collapsed."""
    if variant == "v1":
        return [collapse_space(body) for _, body in fenced_blocks(text or "", _V1_OPENING)]
    commands = [collapse_space(body) for _, _, body in action_block_spans(text)]
    return _without_submissions(commands) if variant == "v3" else commands


def _without_submissions(commands: list[str]) -> list[str]:
    return [command for command in commands if not begins_with_submission(command)]


def commands_of_turns(
    turns: Sequence[str | None], variant: LoopVariant, observations: Sequence[str | None] | None = None
) -> list[str]:
    """Return the commands of all turns in order.

    With observations (index for index) loop-v3 does not count a turn that repeats exactly the commands of
    the turn before when that one was left unanswered; the other versions ignore observations.
    """
    seen = observations or () if variant == "v3" else ()
    return _counted(turns, [commands_of_turn(turn, variant) for turn in turns], seen)


def commands_by_variant(
    turns: Sequence[str | None], observations: Sequence[str | None]
) -> dict[LoopVariant, list[str]]:
    """Return what `commands_of_turns` returns for every version; the action blocks are looked for once."""
    blocks = [commands_of_turn(turn, "v2") for turn in turns]
    return {
        "v1": commands_of_turns(turns, "v1"),
        "v2": list(chain.from_iterable(blocks)),
        "v3": _counted(turns, list(map(_without_submissions, blocks)), observations),
    }


def _counted(
    turns: Sequence[str | None], commands_by_turn: Sequence[list[str]], observations: Sequence[str | None]
) -> list[str]:
    counted: list[str] = []
    previous: list[str] = []
    for index, commands in enumerate(commands_by_turn):
        is_repeated = bool(commands) and commands == previous
        if not (is_repeated and _was_unanswered(index - 1, turns, observations)):
            counted += commands
        previous = commands
    return counted


def _was_unanswered(index: int, turns: Sequence[str | None], observations: Sequence[str | None]) -> bool:
    return index < len(observations) and unanswered(first_bash_command(turns[index], "v5a"), observations[index])


def duplicate_ratio(commands: Sequence[str]) -> float:
    """Return 1 minus the share of distinct commands; 0.0 without commands."""
    return 1 - len(set(commands)) / len(commands) if commands else 0.0


def longest_runs(commands: Sequence[str]) -> dict[str, int]:
    """Return for every command the length of its longest run of equal neighbours."""
    longest: dict[str, int] = {}
    run = 0
    for index, command in enumerate(commands):
        run = run + 1 if index and command == commands[index - 1] else 1
        longest[command] = max(run, longest.get(command, 0))
    return longest


def is_looped(dup_cmd_ratio: float, max_cmd_run: int, ratio_limit: float, run_limit: int) -> bool:
    """Say whether either statistic reaches its limit."""
    return dup_cmd_ratio >= ratio_limit or max_cmd_run >= run_limit


def loop_verdict_of_commands(commands: Sequence[str], ratio_limit: float, run_limit: int) -> LoopVerdict:
    """Return the loop verdict on a list of commands under the given limits (both inclusive)."""
    ratio = duplicate_ratio(commands)
    runs = longest_runs(commands)
    max_run = max(runs.values(), default=0)
    reasons: list[str] = []
    if ratio >= ratio_limit:
        reasons.append(f"duplicate command ratio {ratio:.2f}")
    if max_run >= run_limit:
        reasons.append(f"same command repeated {max_run}x consecutively")
    looping: list[LoopingCommand] = []
    if reasons:
        looping = [
            LoopingCommand(command, count, runs[command])
            for command, count in Counter(commands).items()
            if count >= 2 or runs[command] >= run_limit
        ]
        looping.sort(key=lambda item: (-item.longest_run, -item.count, item.command))
    return LoopVerdict(tuple(commands), len(commands), ratio, max_run, bool(reasons), tuple(reasons), tuple(looping))


def loop_verdict(
    turns: Sequence[str | None],
    variant: LoopVariant,
    ratio_limit: float,
    run_limit: int,
    observations: Sequence[str | None] | None = None,
) -> LoopVerdict:
    """Return the loop verdict on the scored turns of a side."""
    return loop_verdict_of_commands(commands_of_turns(turns, variant, observations), ratio_limit, run_limit)


def loop_verdict_for_document(
    document: str | None, variant: LoopVariant, ratio_limit: float, run_limit: int
) -> LoopVerdict:
    """Return the loop verdict on a judged document, split strictly; loop-v3 takes its observations along."""
    if variant == "v3":
        turns, observations = candidate_turns_with_observations(document)
        return loop_verdict(turns, variant, ratio_limit, run_limit, observations)
    return loop_verdict(candidate_turns(document), variant, ratio_limit, run_limit)


def _listed(item: LoopingCommand, command_width: int) -> str:
    command = item.command
    if len(command) > command_width:
        command = command[: command_width - 1] + "…"
    run = f" ({item.longest_run} consecutive)" if item.longest_run > 1 else ""
    return f"`{command}` {item.count}x{run}"


def loop_explanation(verdict: LoopVerdict, listed: int = 5, command_width: int = 120) -> str | None:
    """Return the text written into every answer of a looped side, or null when it is not looped.

    At most `listed` commands are named, each cut to `command_width` characters.
    """
    if not verdict.looped:
        return None
    text = "Trajectory is looped, so every question is scored 0 without judging. " + "; ".join(verdict.reasons) + "."
    if verdict.commands:
        items = [_listed(item, command_width) for item in verdict.commands[:listed]]
        if len(verdict.commands) > listed:
            items.append(f"and {len(verdict.commands) - listed} more")
        text += " Looping commands: " + "; ".join(items) + "."
    return text


def looping_reason(turns: Sequence[str | None], ratio_limit: float, run_limit: int) -> str:
    """Return the one reason for which the pre-eval gate (loop-v1, ratio first) fails a sample, or the empty
    string.
    """
    reasons = loop_verdict(turns, "v1", ratio_limit, run_limit).reasons
    return f"looping: {reasons[0]}" if reasons else ""
