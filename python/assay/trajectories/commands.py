"""The command a turn executes, and its kind. Source: definitions (executed command, command kind)."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from assay.trajectories.shell_text import stages, visible, without_preamble
from assay.validator.fences import FENCE, TAGGED_FENCE, fenced_blocks, first_tagged_block

_ANY_FENCE = re.compile(r"```([^\n`]*)\n")


def bash_block_count(text: str) -> int:
    """Count the closed ```` ```bash ```` and ```` ```sh ```` blocks of a turn."""
    return sum(1 for _ in fenced_blocks(text, TAGGED_FENCE))


def executed_command(text: str, takes_tagged: bool = False) -> str | None:
    """The first bash or sh block, else the first bare fence, stripped; null without either.

    Fences are paired in order, so that the end of a python block never begins a bare one. With `takes_tagged`
    (V5b) a `<…bash…>` tagged block counts when it comes first.
    """
    start, body = _first_command_block(text)
    if takes_tagged:
        tagged = first_tagged_block(text)
        if tagged is not None and (start is None or tagged[0] < start):
            body = tagged[1]
    return None if body is None else body.strip()


def _first_command_block(text: str) -> tuple[int | None, str | None]:
    for start, body in fenced_blocks(text, TAGGED_FENCE):
        return start, body
    position = 0
    while opening := _ANY_FENCE.search(text, position):
        end = text.find(FENCE, opening.end())
        if end < 0:
            break
        if not opening.group(1).strip():
            return opening.start(), text[opening.end() : end]
        position = end + len(FENCE)
    return None, None


@dataclass(frozen=True)
class KindRule:
    """One row of the seed `command_kinds`: in its scheme, at its position, the kind of what matches.

    `field` names what `pattern` is searched in: `command` (comments and `cd` removed), `visible` (the same without
    quoted text and here-document bodies), `first_stage`, or `submission` (`yes` or `no`).
    """

    scheme: str
    position: int
    kind: str
    field: str
    pattern: str


FIELDS = ("command", "visible", "first_stage", "submission")


@dataclass(frozen=True)
class CommandFacts:
    """The kinds of a command by scheme, and the program of the second stage of its pipe (null without one)."""

    kinds: Mapping[str, str]
    second_stage: str | None


class CommandKinds:
    """The rules of the seed, compiled. A command that no rule of a scheme matches is `other`."""

    def __init__(self, rules: Iterable[KindRule]) -> None:
        """Raises ValueError that names the rule whose field is unknown or whose pattern does not compile."""
        self._schemes: dict[str, list[tuple[str, str, re.Pattern[str]]]] = {}
        for rule in sorted(rules, key=lambda rule: (rule.scheme, rule.position)):
            if rule.field not in FIELDS:
                raise ValueError(f"command_kinds: {rule.scheme} {rule.position}: unknown field {rule.field}")
            try:
                pattern = re.compile(rule.pattern)
            except re.error as error:
                raise ValueError(f"command_kinds: {rule.scheme} {rule.position}: {error}") from None
            self._schemes.setdefault(rule.scheme, []).append((rule.kind, rule.field, pattern))

    @property
    def schemes(self) -> list[str]:
        """The names of the schemes in order."""
        return list(self._schemes)

    def classify(self, command: str | None, submits: bool) -> CommandFacts:
        """The first rule of each scheme that matches decides."""
        body = without_preamble(command or "")
        split = stages(body)
        texts = {
            "command": body,
            "visible": visible(body),
            "first_stage": split.first,
            "submission": "yes" if submits else "no",
        }
        kinds = {
            scheme: next((kind for kind, field, pattern in rules if pattern.search(texts[field])), "other")
            for scheme, rules in self._schemes.items()
        }
        return CommandFacts(kinds, split.second.split(None, 1)[0] if split.second.split() else None)
