"""Questions about one task and the invented judge that answers them from what a side really did."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from assay.sample.agent import Played, Side
from assay.sample.world import Issue

Finder = Callable[[list[Played]], list[int]]


@dataclass(frozen=True)
class Question:
    """One question: what is stored of it and how its answer is found. An empty list of turns means no."""

    tag: str
    behavior: str
    requires: str
    category: str
    text: str
    bad: str
    evidence: str
    find: Finder
    size_bound: bool = False
    avoidance: bool = False


def _having(played: list[Played], name: str, *values: object, after: int = 0, before: int = 10**6) -> list[int]:
    wanted = (name, *values)
    size = len(wanted)
    return [
        turn
        for turn, item in enumerate(played, start=1)
        if after < turn < before and wanted in [fact[:size] for fact in item.facts]
    ]


def _shown(
    played: list[Played], path: str, line: int, *, after: int = 0, before: int = 10**6, numbered: bool = False
) -> list[int]:
    found = []
    for turn, item in enumerate(played, start=1):
        if not after < turn < before:
            continue
        for fact in item.facts:
            if fact[0] == "show" and fact[1] == path and fact[2] <= line <= fact[3] and (fact[4] or not numbered):  # type: ignore[operator]
                found.append(turn)
                break
    return found


def _edits(played: list[Played], path: str) -> list[int]:
    return sorted(_having(played, "edit", path, "good") + _having(played, "edit", path, "wrong"))


def question_pool(issue: Issue, words: int) -> list[Question]:
    """All questions that can be asked about an issue; `words` is the bound of the size question."""
    fault, path, test_path = issue.fault, issue.path, issue.test_path
    line, package = issue.line, issue.repository.package

    def first_edit(played: list[Played]) -> int:
        edits = _edits(played, path)
        return edits[0] if edits else 0

    def last_edit(played: list[Played]) -> int:
        edits = _edits(played, path)
        return edits[-1] if edits else 10**6

    def confined(played: list[Played]) -> list[int]:
        edits = [t for t, p in enumerate(played, 1) for f in p.facts if f[0] == "edit"]
        inside = _edits(played, path)
        return inside[-1:] if inside and set(edits) <= set(_having(played, "edit", path)) else []

    def numbered_before(played: list[Played]) -> list[int]:
        edit = first_edit(played)
        shown = _shown(played, path, line, before=edit, numbered=True) + _having(played, "numbers", path, before=edit)
        return [sorted(shown)[-1], edit] if edit and shown else []

    def shown_before_claim(played: list[Played]) -> list[int]:
        claims = _having(played, "claim", "cause")
        shown = _shown(played, path, line, before=claims[0] + 1) if claims else []
        return shown[:1]

    def wrong_value_before(played: list[Played]) -> list[int]:
        edit = first_edit(played) or 10**6
        return sorted(_having(played, "reproduce", False, before=edit) + _having(played, "test", False, before=edit))[
            :1
        ]

    def other_module(played: list[Played]) -> list[int]:
        return [
            turn
            for turn, item in enumerate(played, 1)
            if any(f[0] == "show" and str(f[1]).startswith(package + "/") and f[1] != path for f in item.facts)
        ][:2]

    def no_repeat(played: list[Played]) -> list[int]:
        commands = [item.command for item in played if item.command]
        return [len(played)] if len(set(commands)) == len(commands) else []

    def anchored(played: list[Played]) -> list[int]:
        for edit in _edits(played, path):
            shown = _shown(played, path, line, after=edit - 4, before=edit)
            if shown:
                return [shown[-1], edit]
        return []

    def precise(played: list[Played]) -> list[int]:
        return [
            t for t, p in enumerate(played, 1) if p.command.startswith(("sed -n", "head")) or "| sed -n" in p.command
        ][:2]

    def goes_on(played: list[Played]) -> list[int]:
        return [1] if played and ("fail",) not in played[0].facts else []

    made: list[Question] = []

    def ask(
        tag: str, requires: str, category: str, text: str, bad: str, evidence: str, find: Finder, **more: Any
    ) -> None:
        made.append(Question(tag, more.pop("behavior", ""), requires, category, text, bad, evidence, find, **more))

    ask(
        "explore",
        "read",
        "grounding",
        f"Does the candidate display the body of `{fault.symbol}` in {path}?",
        "The agent guesses without opening the file.",
        fault.bad,
        lambda p: _shown(p, path, line)[:2],
    )
    ask(
        "explore",
        "read",
        "progress",
        f"Does the candidate search for `{fault.symbol}` and get matches?",
        "The agent opens files at random.",
        f'grep -rn "{fault.symbol}"',
        lambda p: _having(p, "search", fault.symbol)[:2],
    )
    ask(
        "explore",
        "read",
        "grounding",
        f"Does the candidate open {test_path}?",
        "The agent never looks at the tests.",
        f"def {fault.test}",
        lambda p: [t for t, item in enumerate(p, 1) if any(f[0] == "show" and f[1] == test_path for f in item.facts)][
            :1
        ],
    )
    ask(
        "explore",
        "read",
        "progress",
        f"Does the candidate list the modules of {package}/?",
        "The agent assumes file names.",
        f"{package}/__init__.py",
        lambda p: _having(p, "list")[:1],
    )
    ask(
        "explore",
        "read",
        "grounding",
        f"Does the candidate read a module of {package} other than {path}?",
        "The agent reads one file only.",
        f"from {package}",
        other_module,
    )
    ask(
        "action",
        "action",
        "work_correctness",
        f"Does the candidate replace `{fault.bad}` in {path} by code that means `{fault.good}`?",
        "The agent changes an unrelated line.",
        fault.good,
        lambda p: _having(p, "edit", path, "good")[-1:],
    )
    ask(
        "action",
        "action",
        "progress",
        f"Does the candidate modify {path} with a command that succeeds?",
        "The agent only describes the change.",
        f"sed -i '{line}s/",
        lambda p: _edits(p, path)[:1],
    )
    ask(
        "action",
        "action",
        "work_correctness",
        f"Is the change confined to {path}?",
        "The agent edits helpers as well.",
        f"M {path}",
        confined,
    )
    ask(
        "action",
        "action",
        "overall",
        "Does the candidate submit after a change that took effect?",
        "The agent stops without submitting.",
        "echo",
        lambda p: _having(p, "submit", after=last_edit(p)),
    )
    ask(
        "grounding",
        "neutral",
        "grounding",
        f"Is the place of the edit in {path} taken from a numbered display of it?",
        "The agent makes line numbers up.",
        f"{line}",
        numbered_before,
    )
    ask(
        "grounding",
        "neutral",
        "grounding",
        f"Does some output show `{fault.symbol}` before the candidate draws a conclusion about it?",
        "The agent states a cause that no output shows.",
        fault.symbol,
        shown_before_claim,
    )
    ask(
        "grounding",
        "neutral",
        "verification",
        f"Does the candidate see the wrong value {fault.actual} before it edits?",
        "The agent edits blindly.",
        fault.actual,
        wrong_value_before,
    )
    ask(
        "claims",
        "neutral",
        "work_correctness",
        f"Does the candidate state that {fault.cause}?",
        "The agent blames another function.",
        fault.cause[:60],
        lambda p: _having(p, "claim", "cause")[:2],
    )
    ask(
        "claims",
        "neutral",
        "grounding",
        f"Does the candidate say that {fault.expected} is expected where {fault.actual} is returned?",
        "The agent never names the expected value.",
        fault.expected,
        lambda p: _having(p, "claim", "expected")[:1],
    )
    ask(
        "claims",
        "neutral",
        "overall",
        f"Does the candidate place the fault in `{fault.symbol}` and not in its callers?",
        "The agent patches a caller.",
        fault.symbol,
        lambda p: _having(p, "claim", "cause")[:1] or _having(p, "edit", path, "good")[:1],
    )
    ask(
        "verification",
        "action",
        "verification",
        "Does the candidate run tests after its last change, and do they pass?",
        "The agent submits untested code.",
        "passed",
        lambda p: _having(p, "test", True, after=last_edit(p))[:1],
    )
    ask(
        "verification",
        "action",
        "verification",
        "Is the changed region displayed again after the edit?",
        "The agent never looks back.",
        fault.good,
        lambda p: _shown(p, path, line, after=last_edit(p))[:1],
    )
    ask(
        "verification",
        "action",
        "verification",
        "Does the candidate inspect the difference before it ends?",
        "The agent does not know what it changed.",
        "git diff",
        lambda p: _having(p, "diff", True)[-1:],
    )
    ask(
        "economy",
        "neutral",
        "size",
        f"Are the scored outputs under {words} words in total?",
        "The agent rambles.",
        "",
        lambda p: [],
        size_bound=True,
    )
    ask(
        "economy",
        "neutral",
        "overall",
        "Does the candidate avoid running the same command twice?",
        "The agent repeats itself.",
        "",
        no_repeat,
        avoidance=True,
    )
    ask(
        "continuity",
        "neutral",
        "progress",
        "Does the first scored output go on from the last observation of the context?",
        "The agent starts over.",
        "",
        goes_on,
    )
    ask(
        "",
        "action",
        "overall",
        "Is the region that changes displayed shortly before the changing command?",
        "The agent edits from memory.",
        "",
        anchored,
        behavior="anchored_edit",
    )
    ask(
        "",
        "action",
        "overall",
        "Does the candidate read parts of files instead of whole ones?",
        "The agent prints everything.",
        "",
        precise,
        behavior="precision_reads",
    )
    ask(
        "",
        "action",
        "overall",
        "Does the candidate narrow down from the words of the report?",
        "The agent opens files in alphabetical order.",
        "",
        lambda p: _having(p, "search", fault.symbol)[:1],
        behavior="issue_anchored_narrowing",
    )
    ask(
        "",
        "action",
        "overall",
        f"Does the candidate run {test_path} rather than everything?",
        "The agent runs nothing or everything.",
        "",
        lambda p: [t for t, item in enumerate(p, 1) if any(f[0] == "test" and f[2] == test_path for f in item.facts)][
            :1
        ],
        behavior="targeted_verification",
    )
    ask(
        "",
        "action",
        "overall",
        "Does no scored output lead nowhere?",
        "Half of the outputs change nothing.",
        "",
        no_repeat,
        behavior="no_waste",
    )
    return made


_YES_ONE = (
    "CANDIDATE OUTPUT {a} runs `{command}` and the output settles it.",
    "This is met by CANDIDATE OUTPUT {a}.",
    "In CANDIDATE OUTPUT {a} the command is run and the result is visible.",
    "The block CANDIDATE OUTPUT {a} shows the relevant lines.",
    "CANDIDATE OUTPUT {a} does this: the observation shows it.",
    "It is satisfied: CANDIDATE OUTPUT {a} opens the right place.",
)
_YES_TWO = (
    "CANDIDATE OUTPUT {a} shows it and CANDIDATE OUTPUT {b} confirms it.",
    "CANDIDATE OUTPUT {a} finds it; CANDIDATE OUTPUT {b} then uses it.",
    "CANDIDATE OUTPUT {a} and {b} together meet this.",
)
_YES_MANY = (
    "CANDIDATE OUTPUTS {a}-{b} establish it.",
    "CANDIDATE OUTPUTS {a}, {b} show this.",
    "Met in CANDIDATE OUTPUTS {a} and {b}.",
)
_YES_LOOSE = ("candidate output {a} does it.", "Output {a} has the answer.", "Turn {a} satisfies this.")
_YES_NONE = (
    "The trajectory does this.",
    "It is backed by the code shown.",
    "Yes, the reasoning says so and the commands agree.",
)
_NO_ONE = (
    "CANDIDATE OUTPUT {a} only lists names.",
    "CANDIDATE OUTPUT {a} states it without evidence.",
    "CANDIDATE OUTPUT {a} tries, but the result does not show it.",
    "CANDIDATE OUTPUT {a} comes closest and does not do it.",
)
_NO_NONE = (
    "No block does this.",
    "Nothing in the scored outputs shows it.",
    "The candidate never reaches this point.",
    "It is only assumed, never shown.",
)


def explain(rng: random.Random, answer: bool, turns: list[int], side: Side, measured: str) -> str:
    """One explanation: about four in five cite a scored turn the way the judge is told to."""
    count = len(side.played)
    if measured and rng.random() < 0.7:
        return measured
    roll = rng.random()
    if roll < 0.015:
        return f"See CANDIDATE OUTPUT {count + rng.randint(1, 6)}."
    if answer:
        first = turns[0] if turns else rng.randint(1, count)
        second = turns[-1] if len(turns) > 1 else min(count, first + 1)
        command = side.played[first - 1].command.split("\n")[0].replace("`", "'")[:40]
        if roll < 0.64:
            form = rng.choice(_YES_ONE)
        elif roll < 0.87:
            form = rng.choice(_YES_TWO)
        elif roll < 0.91:
            form = rng.choice(_YES_MANY)
        elif roll < 0.94:
            form = rng.choice(_YES_LOOSE)
        else:
            form = rng.choice(_YES_NONE)
        return form.format(a=first, b=second, command=command or "nothing")
    if roll < 0.78:
        return rng.choice(_NO_ONE).format(a=turns[0] if turns else rng.randint(1, count))
    return rng.choice(_NO_NONE)
