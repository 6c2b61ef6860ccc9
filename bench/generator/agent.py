"""An invented agent: what it runs, what the machine answers, and the facts that a judge can see in that."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from bench.generator.world import Issue

FORMATS = ("returncode", "openhands", "swe_agent")
MARKER = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
NO_COMMAND = "No bash command found in assistant message."
_FILLER = (
    "The last output narrows it down.",
    "I compare this with what the report says before I change anything.",
    "That agrees with the failing run, so the next step is small.",
    "Nothing here contradicts the idea, but it is not proven either.",
)


@dataclass(frozen=True)
class Step:
    """One turn: its text, its command, the answer of the machine and the fact that it establishes, if any."""

    text: str
    command: str
    body: str
    returncode: int
    fact: str


@dataclass
class Side:
    """A played conversation."""

    steps: list[Step] = field(default_factory=list)
    submitted: bool = False

    def turns_with(self, fact: str) -> list[int]:
        """The turns, from 1, that establish a fact."""
        return [turn for turn, step in enumerate(self.steps, 1) if step.fact == fact]


def observation(form: str, body: str, returncode: int) -> str:
    """What the harness sends back, in its own form."""
    if form == "returncode":
        inside = f"{body}\n" if body else ""
        return f"<returncode>{returncode}</returncode>\n<output>\n{inside}</output>"
    if form == "swe_agent":
        return f"OBSERVATION:\n{body}" if body else "OBSERVATION:"
    trailer = f"exit code {returncode}"
    return f"{body}\n[The command completed with {trailer}.]\n[Command finished with {trailer}]"


def system_prompt(package: str) -> str:
    """The system message."""
    return (
        f"You repair {package} with a shell. Each reply has a THOUGHT and exactly one bash block.\n"
        "Commands run in a fresh shell in /testbed; nothing is remembered between them but the files."
    )


def play(
    issue: Issue, rng: random.Random, turns: int, skill: float, submit: str, style: str = "", tag: str = ""
) -> Side:
    """Play up to `turns` turns.

    `style` is loop, truncated, abandoned, reserved, amputated or empty; a `tag`, such as `bash`, replaces the fence.
    """
    side = Side()
    plans = _plans(issue, rng, skill, submit)
    previous: tuple[str, str, int, str] | None = None
    for turn in range(1, turns + 1):
        loops = style == "loop" and turn > 2
        again = previous is not None and (loops or rng.random() < 0.12 * (1 - skill))
        command, body, returncode, fact = previous if again and previous else next(plans)
        previous = (command, body, returncode, "")
        thought = f"{rng.choice(_FILLER)} {_reason(fact, issue)}"
        fence = f"<{tag}>\n{command}\n</{tag}>" if tag else f"```bash\n{command}\n```"
        text = f"THOUGHT: {thought}\n\n{fence}"
        if style == "amputated":
            text = f"</think>\n\n{text}"
        elif rng.random() < 0.02:
            text, command, body, returncode, fact = f"THOUGHT: {thought}", "", NO_COMMAND, 2, ""
        elif rng.random() < 0.02:
            text = f"{text}\n\n```bash\nls\n```"
        last = turn == turns
        if last and style in ("truncated", "abandoned"):
            notice = {
                "truncated": "MODEL_RESPONSE_TOKEN_LIMIT_EXCEEDED: Model returned over 16384 tokens in one response, "
                "stopping conversation.",
                "abandoned": "CONSECUTIVE_BAD_TURNS_LIMIT_EXCEEDED",
            }[style]
            text, command, fact = notice, "", ""
        if last and style == "reserved":
            text = f"{text}\n<|im_end|>"
        side.steps.append(Step(text, command, body, returncode, fact))
        if fact == "submit":
            side.submitted = True
            break
    return side


def _reason(fact: str, issue: Issue) -> str:
    if fact == "claim":
        return f"The cause is that `{issue.symbol}` never looks at an empty list."
    return "" if fact else "One more look."


def _plans(issue: Issue, rng: random.Random, skill: float, submit: str) -> Iterator[tuple[str, str, int, str]]:
    """Commands in a sensible order, some of them mistyped, some left out by an agent of little skill."""
    lines = issue.files[issue.path]
    start = max(1, issue.line - 20)
    shown = "\n".join(f"{at:6}\t{text}" for at, text in enumerate(lines[start - 1 : start + 39], start))
    whole = "\n".join(f"{at:6}\t{text}" for at, text in enumerate(lines, 1))
    found = f"{issue.path}:{issue.line}:{lines[issue.line - 1]}"
    names = "\n".join(sorted(issue.files))
    failing = f"FAILED {issue.test_path}::test_{issue.symbol} - AssertionError: 1 != 0\n1 failed, 23 passed in 0.41s"
    edit = f"sed -i '{issue.line + 2}s/if record/if records and record/' {issue.path}"
    order = [
        (f"ls -R {issue.package}", names, 0, "list", 0.7),
        (f'grep -rn "{issue.symbol}" {issue.package}', found, 0, "search", 0.75),
        (f"cat -n {issue.path}", whole, 0, "read_file", 0.5),
        (f"sed -n '{start},{start + 39}p' {issue.path} | cat -n", shown, 0, "show", 0.8),
        (f"python -m pytest {issue.test_path} -q", failing, 1, "reproduce", 0.6),
        (f"sed -n '{issue.line},{issue.line + 3}p' {issue.path}", "\n".join(lines[issue.line - 1 : issue.line + 3]), 0,
         "claim", 0.5),
        (edit, "", 0, "edit", 0.7),
        (f"python -m pytest {issue.test_path} -q", "24 passed in 0.38s", 0, "verify", 0.55),
        ("git diff", f"-    {lines[issue.line]}\n+    {lines[issue.line]}  # checked", 0, "diff", 0.4),
    ]  # fmt: skip
    for command, body, returncode, fact, share in order:
        if rng.random() < 0.25 * (1 - skill):
            yield command.replace(issue.package, issue.package + "s", 1), _missing(issue), 2, ""
        if rng.random() < share * (0.45 + 0.9 * skill):
            yield command, body, returncode, fact
    if rng.random() < 0.3 + 0.6 * skill:
        yield submit, MARKER, 0, "submit"
    number = 0
    while True:
        other = sorted(issue.files)[number % len(issue.files)]
        number += 1
        head = "\n".join(issue.files[other][: 10 + number])
        yield f"head -n {10 + number} {other}", head, 0, ""


def _missing(issue: Issue) -> str:
    return f"cat: {issue.package}s: No such file or directory"
