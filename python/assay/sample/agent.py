"""A simulated agent: it chooses shell steps by skill and mood, and writes what an agent writes around them."""

import random
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from assay.sample import rules
from assay.sample.shell import Fact, Step, Workspace
from assay.sample.world import Issue

Turn = dict[str, Any]

STYLES = (
    "plain",
    "loop",
    "alternate",
    "truncated",
    "reserved",
    "amputated",
    "abandoned",
    "idle",
    "terse",
)
"""Moods of a whole side. All but `plain` and the last two end in a stored flag or a halved score in their eras."""

_OPEN = {
    "list": (
        "Let me start by looking at how the project is laid out.",
        "First I want to see which modules exist before opening anything.",
        "I'll get an overview of the repository so that I know where {module} lives.",
    ),
    "search": (
        "The report mentions `{symbol}`, so I'll look for every place that defines or calls it.",
        "Let me find where `{symbol}` is defined and who depends on it.",
        "I need the definition of `{symbol}`; a recursive search is the quickest way.",
    ),
    "read": (
        "Now I'll read {path} with line numbers, because I will need them for the edit.",
        "Let me open {path} and follow what `{symbol}` does.",
        "The code in {path} is where the reported behaviour comes from, so I'll read it closely.",
        "I want the exact text of `{symbol}` in {path} before changing anything.",
    ),
    "look": (
        "Before I go on I'd like to know what {path} contributes to this.",
        "{path} may hold something that the change has to respect, so I'll have a look.",
        "Let me check {path} as well; the two files share names.",
    ),
    "tests": (
        "The tests tell what behaviour is promised, so I'll read {test_path}.",
        "Let me see what {test_path} already checks.",
    ),
    "reproduce": (
        "I'll reproduce the problem first, to be sure that I look at the right thing.",
        "A quick check on the command line shows whether the report is right.",
        "Let me confirm the reported value before touching the code.",
    ),
    "edit": (
        "Now I'll change that one line in {path}.",
        "The fix is small: line {line} of {path} has to say what the documentation promises.",
        "I'll replace the fragment in {path} and leave everything else alone.",
    ),
    "verify": (
        "Let me run the tests of {module} to see whether the change holds.",
        "I'll run {test_path} now.",
        "The tests should settle whether this is right.",
    ),
    "review": (
        "I'll display the changed region again to make sure that the edit landed where I meant it.",
        "Let me review the change before I finish.",
        "One more look at the difference, so that nothing else slipped in.",
    ),
    "repeat": (
        "Let me look at that again.",
        "I'm not sure I read this right, so once more.",
        "I'll check the output again.",
    ),
    "submit": (
        "The change is in place and checked, so I'm done.",
        "Everything passes; I'll submit the result now.",
        "Nothing is left to do here.",
    ),
    "extra": (
        "I'd also like to rule out other callers that rely on the old behaviour.",
        "The neighbouring code might make the same mistake, so I'll check it.",
        "For completeness I'll look at what the documentation says about this.",
    ),
}
_FILLER = (
    "The names in this package are consistent, which helps.",
    "I don't want to touch unrelated code.",
    "The module is short enough to read in one go.",
    "That matches what the issue describes.",
    "If this turns out wrong, I can take the change back with git.",
    "The tests use the public functions only, so the signature has to stay.",
    "So far nothing contradicts the report.",
    "It is worth being careful here, since {module} is imported by the command line too.",
    "The docstring states the intended behaviour – the code should follow it.",
    "I keep the edit as small as I can ✅.",
    "Other modules go through `{symbol}` as well, so a local workaround would not do.",
    "I'll note the line numbers as I go.",
)
_AFTER_FAILURE = (
    "That did not work: {reason}. ",
    "The last command failed ({reason}), so I'll correct it. ",
    "Right, {reason}. ",
)


@dataclass
class Played:
    """What one scored turn was: its facts, its executed command and whether it failed."""

    facts: tuple[Fact, ...] = ()
    command: str = ""
    returncode: int = 0
    kind: str = ""


@dataclass
class Side:
    """A finished side: its turns and, in step with the scored ones, what they amount to."""

    turns: list[Turn] = field(default_factory=list)
    played: list[Played] = field(default_factory=list)
    bodies: list[str | None] = field(default_factory=list)
    submitted: bool = False


class Agent:
    """Plays one task turn by turn. The same arguments and random stream give the same side."""

    def __init__(
        self,
        issue: Issue,
        rng: random.Random,
        *,
        skill: float,
        form: str,
        scale: str,
        submit_command: str,
        style: str = "plain",
        odd: frozenset[str] = frozenset(),
        token_limit: int = 16384,
        tagged: bool = False,
    ) -> None:
        """`form` is the observation format, `odd` names single-turn oddities, `tagged` allows tagged blocks."""
        self.issue = issue
        self.rng = rng
        self.skill = skill
        self.form = form
        self.small = scale == "small"
        self.submit_command = submit_command
        self.style = style
        self.odd = set(odd)
        self.token_limit = token_limit
        self.tagged = tagged
        self.space = Workspace(issue, "/testbed" if form != "openhands" else f"/workspace/{issue.repository.name}")
        self.seen: set[str] = set()
        self.last: Step | None = None
        self.last_kind = ""
        self.reason = ""
        self.tests_run = 0
        self.prefix_cd = rng.random() < 0.25
        self.queue: list[str] = []
        self.loop_step: Step | None = None
        self.alternate: list[Step] = []
        self.told = {"cause": 0, "expected": 0}

    def fork(self, rng: random.Random, **changes: Any) -> "Agent":
        """Return an agent that goes on from here with its own stream, skill and style."""
        settings: dict[str, Any] = {
            "skill": self.skill,
            "form": self.form,
            "scale": "small" if self.small else "full",
            "submit_command": self.submit_command,
            "token_limit": self.token_limit,
        } | changes
        other = Agent(self.issue, rng, **settings)
        other.space = self.space.fork()
        other.seen = set(self.seen)
        other.last, other.last_kind, other.reason = self.last, self.last_kind, self.reason
        other.tests_run = self.tests_run
        return other

    # ---- choosing

    def _read_target(self) -> Step:
        issue, rng = self.issue, self.rng
        lines = self.space.line_count(issue.path)
        if self.small:
            first = max(1, issue.line - rng.randint(2, 4))
            how = rng.choice(("sed", "cat | sed", "cat | sed", "sed", "cat -n"))
            if how == "cat -n" and (lines > 45 or rng.random() < 0.7):
                how = "cat | sed"
            return self.space.show(issue.path, how, first, min(lines, first + rng.randint(5, 8)))
        how = rng.choices(("cat -n", "nl", "cat", "sed", "cat | sed"), (36, 10, 24, 18, 12))[0]
        first = max(1, issue.line - rng.randint(8, 40))
        return self.space.show(issue.path, how, first, min(lines, first + rng.randint(120, 220)))

    def _look(self, path: str) -> Step:
        rng = self.rng
        how = rng.choices(("cat", "head", "sed", "cat -n", "tail"), (40, 15, 25, 15, 5))[0]
        lines = self.space.line_count(path)
        most = 8 if self.small else 420
        if how in ("cat", "cat -n") and lines > most:
            how = "head"
        if how == "sed":
            first = 1 if lines <= most else rng.randint(1, lines - most)
            return self.space.show(path, "sed", first, min(lines, first + most))
        return self.space.show(path, how, 1, min(lines, most))

    def _other_module(self) -> str:
        package = self.issue.repository.package
        names = [p for p in self.space.files if p.startswith(package + "/") and p != self.issue.path]
        return self.rng.choice(names)

    def _stumble(self) -> tuple[str, Step]:
        """A command that fails for a plain reason."""
        issue, rng, space = self.issue, self.rng, self.space
        pick = rng.randrange(8)
        package = issue.repository.package
        if pick == 0:
            self.reason = "the path is wrong"
            return "read", space.show(f"{package}/{issue.module}s.py", rng.choice(("cat", "cat -n")))
        if pick == 1:
            self.reason = "ripgrep is not installed"
            command = f"rg -n {issue.fault.symbol} {package}/"
            return "search", Step(command, "/bin/bash: line 1: rg: command not found", 127, (("fail",),))
        if pick == 2:
            self.reason = "I left a quote open"
            command = f'grep -n "def {issue.fault.symbol} {issue.path}'
            body = "/bin/bash: -c: line 1: unexpected EOF while looking for matching `\"'\n"
            body += "/bin/bash: -c: line 2: syntax error: unexpected end of file"
            return "search", Step(command, body, 2, (("fail",),))
        if pick == 3:
            self.reason = "the name was not imported"
            command = f'python -c "print({issue.fault.symbol})"'
            body = 'Traceback (most recent call last):\n  File "<string>", line 1, in <module>\n'
            body += f"NameError: name '{issue.fault.symbol}' is not defined"
            return "reproduce", Step(command, body, 1, (("fail",),))
        if pick == 4:
            self.reason = "nothing matches"
            return "search", space.search(issue.fault.symbol + "_impl")
        if pick == 5:
            self.reason = "the folder is called differently"
            command = f"ls src/{package}"
            body = f"ls: cannot access 'src/{package}': No such file or directory"
            return "list", Step(command, body, 2, (("fail",),))
        if pick == 6:
            self.reason = "the test file has another name"
            return "verify", space.pytest(f"tests/{issue.module}_test.py", quiet=True)
        self.reason = "the command took too long"
        command = f"python -c \"import {package}.cli as c; c.main(['/dev/stdin'])\""
        return "reproduce", Step(command, "", 124, (("fail",),), timed_out=True)

    def _edit(self, good: bool) -> Step:
        issue, rng, space = self.issue, self.rng, self.space
        text = space.files[issue.path]
        present = next((f for f in (issue.fault.bad, issue.fault.wrong) if f in text), issue.fault.bad)
        new = issue.fault.good if good else issue.fault.wrong
        line = space.line_of(issue.path, present) or issue.line
        how = rng.choices(("sed", "python", "heredoc"), (60, 28, 12))[0]
        if how == "heredoc" and len(text) > (1500 if self.small else 9000):
            how = "sed"
        if how == "sed" and ("'" in present or "'" in new):
            how = "python"
        if how == "sed":
            return space.edit_sed(issue.path, line, present, new)
        if how == "python":
            return space.edit_python(issue.path, present, new)
        return space.edit_heredoc(issue.path, present, new)

    def choose(self, left: int) -> tuple[str, Step]:
        """Return (kind of thought, step) for the next turn; `left` counts this turn and those after it."""
        issue, rng, space, seen, skill = self.issue, self.rng, self.space, self.seen, self.skill
        if self.queue:
            return self._queued(self.queue.pop(0))
        if self.last is not None and rng.random() < (1 - skill) * 0.13:
            return "repeat", self.last
        if rng.random() < (1 - skill) * 0.22:
            return self._stumble()
        if "located" not in seen:
            if "listed" not in seen and rng.random() < 0.5:
                seen.add("listed")
                pick = rng.randrange(4)
                step = (
                    space.listing(),
                    space.listing(long=True),
                    space.list_package(),
                    space.find_sources(),
                )[pick]
                return "list", step
            seen.add("located")
            if rng.random() < 0.2:
                return "search", space.search_file(issue.fault.symbol, issue.path)
            where = rng.choice((None, issue.repository.package + "/"))
            context = 0 if self.small else rng.choice((0, 6, 10, 14))
            return "search", space.search(issue.fault.symbol, where, context)
        if "read" not in seen:
            seen.add("read")
            return "read", self._read_target()
        if "tests_read" not in seen and rng.random() < 0.35:
            seen.add("tests_read")
            return "tests", space.show(issue.test_path, rng.choice(("cat", "cat -n")))
        if "reproduced" not in seen and "edited" not in seen and rng.random() < 0.55:
            seen.add("reproduced")
            if rng.random() < 0.4:
                self.queue.append("run_script")
                return "reproduce", space.write("reproduce.py", space.script_text())
            if rng.random() < 0.5 and issue.repository.has_pytest:
                return "reproduce", space.pytest(issue.test_path, quiet=self.small or rng.random() < 0.4)
            return "reproduce", space.check()
        if "edited" not in seen:
            if rng.random() < (0.16 if self.small else 0.34) + 0.25 * (1 - skill):
                return "look", self._look(self._other_module())
            if rng.random() < (1 - skill) * 0.25:
                return "read", self._read_target()
            seen.add("edited")
            good = rng.random() < 0.25 + 0.75 * skill
            if not good and rng.random() < 0.25:
                line = space.line_of(issue.path, issue.fault.bad)
                if line and space.files[issue.path].split("\n")[line - 1].startswith("    "):
                    return "edit", space.break_indentation(issue.path, line)
            return "edit", self._edit(good)
        if not space.solved and self.last_kind in ("verify", "reproduce") and rng.random() < 0.35 + 0.6 * skill:
            if space.broken:
                seen.discard("edited")
                return "edit", space.restore(issue.path)
            return "edit", self._edit(True)
        checks = []
        if "viewed" not in seen:
            checks.append("view")
        if "tested" not in seen or not space.solved:
            checks.append("test")
        if "diffed" not in seen:
            checks.append("diff")
        if checks and rng.random() < 0.5 + 0.45 * skill:
            return self._queued(rng.choice(checks))
        if space.solved and rng.random() < (0.03 if left > 6 else 0.12 if left > 2 else 0.75):
            return "submit", Step(self.submit_command, "", 0, (("submit",),))
        return self._extra()

    def _queued(self, what: str) -> tuple[str, Step]:
        issue, rng, space = self.issue, self.rng, self.space
        if what == "run_script":
            return "reproduce", space.run_script()
        if what == "view":
            self.seen.add("viewed")
            line = space.line_of(issue.path, issue.fault.good) or issue.line
            reach = 3 if self.small else rng.randint(40, 110)
            first, last = max(1, line - reach), min(space.line_count(issue.path), line + reach)
            return "review", space.show(issue.path, rng.choice(("sed", "cat | sed")), first, last)
        if what == "diff":
            self.seen.add("diffed")
            return "review", space.diff() if rng.random() < 0.8 else space.status()
        self.seen.add("tested")
        self.tests_run += 1
        if not issue.repository.has_pytest and self.tests_run > 1:
            return "verify", space.check()
        whole = rng.random() < 0.3
        quiet = self.small or rng.random() < 0.3
        return "verify", space.pytest(None if whole else issue.test_path, quiet, rng.random() < 0.4)

    def _extra(self) -> tuple[str, Step]:
        rng, space, issue = self.rng, self.space, self.issue
        pick = rng.randrange(10 if self.small else 15)
        words = issue.repository.words
        if pick == 0:
            return "extra", space.log(rng.choice((5, 8)))
        if pick == 1:
            return "extra", space.search(words["Thing"], issue.repository.package + "/")
        if pick == 2:
            return "extra", space.show("docs/usage.md", "cat")
        if pick == 3:
            return "extra", space.show("CHANGES.md", "cat")
        if pick == 4:
            return "extra", space.status()
        if pick == 5:
            return "extra", space.search_file("def ", issue.test_path)
        if pick == 6 and "reproduce.py" in space.files:
            return "reproduce", space.run_script()
        if pick == 7:
            return "verify", space.pytest(None, self.small or rng.random() < 0.2, rng.random() < 0.4)
        return "look", self._look(self._other_module())

    # ---- writing

    def _thought(self, kind: str) -> tuple[str, list[Fact]]:
        issue, rng = self.issue, self.rng
        fault = issue.fault
        if self.style == "terse":
            return rng.choice(("Look.", "Next.", "Check this.", "Go on.", "Try it.")), []
        slots = {
            "path": issue.path,
            "module": issue.module,
            "symbol": fault.symbol,
            "test_path": issue.test_path,
            "line": issue.line,
        }
        if kind in ("look", "extra") and self._command_path:
            slots["path"] = self._command_path
        parts = []
        facts: list[Fact] = []
        if self.reason and self.last is not None and self.last.returncode:
            parts.append(rng.choice(_AFTER_FAILURE).format(reason=self.reason).strip())
        parts.append(rng.choice(_OPEN[kind]).format(**slots))
        understood = "read" in self.seen and kind in ("edit", "reproduce", "review", "submit", "tests")
        often = 2 if self.small else 4
        if understood and self.told["cause"] < often and rng.random() < 0.15 + 0.55 * self.skill:
            self.told["cause"] += 1
            parts.append(f"The cause is that {fault.cause}.")
            facts.append(("claim", "cause"))
        telling = kind in ("reproduce", "verify", "edit", "submit") and self.told["expected"] < often
        if telling and rng.random() < 0.2 + 0.4 * self.skill:
            self.told["expected"] += 1
            parts.append(f"The expected value is {fault.expected}, the report shows {fault.actual}.")
            facts.append(("claim", "expected"))
        if not self.small:
            for _ in range(rng.randint(1, 4)):
                parts.append(rng.choice(_FILLER).format(**slots))
        elif rng.random() < 0.1:
            parts.append(rng.choice(_FILLER).format(**slots))
        return " ".join(parts), facts

    _command_path = ""
    thought = ""
    """What the last step's prose said, without label and command."""

    def thought_about(self, kind: str, command: str) -> str:
        """Prose of some kind about a command that is not executed."""
        words = command.split()
        self._command_path = next((w for w in words if "/" in w and "." in w and not w.startswith("-")), "")
        return self._thought(kind)[0]

    def _message(self, thought: str, command: str) -> str:
        rng = self.rng
        shown = f"cd {self.space.root} && {command}" if self.prefix_cd and "<<" not in command else command
        if command == self.submit_command:
            shown = command
        tag = "bash" if rng.random() < 0.97 else "sh"
        block = f"```{tag}\n{shown}\n```"
        if self.tagged and rng.random() < 0.06:
            block = f"<execute_bash>\n{shown}\n</execute_bash>"
        elif rng.random() < 0.01 and command != self.submit_command:
            block = f"```\n{shown}\n```"
        text = f"THOUGHT: {thought}\n\n{block}"
        if rng.random() < 0.02:
            text = f"{thought}\n\n{block}"
        roll = rng.random()
        if self.style == "amputated":
            if roll < 0.8:
                text = "</think>\n\n" + text
        elif roll < 0.03:
            text = "</think>\n\n" + text
        elif roll < 0.05:
            text = f"<think>\n{thought}\n</think>\n\n{text}"
        return text

    def observe(self, step: Step) -> str:
        """The observation message of a step, in this sample's format."""
        body, form = step.body, self.form
        if step.timed_out and form == "openhands":
            return (
                "[The command timed out after 60.0 seconds. You may wait longer to see additional output.]\n"
                f"[Current working directory: {self.space.root}]"
            )
        if not self.small and len(body) > 7000 and form != "returncode":
            half = 3000
            if form == "openhands":
                body = f"{body[:half]}\n[... Observation truncated due to length ...]\n{body[-half:]}"
            else:
                body = f"{body[:half]}\n<response clipped>\n{body[-half:]}"
        return rules.wrap(body, step.returncode, form)

    def _clipped(self, step: Step) -> str:
        """The scaffold's notice for an output that was too long."""
        body = step.body
        cut = len(body) // 3
        if self.form == "returncode":
            return (
                f"<returncode>{step.returncode}</returncode>\n<output>\n<warning>\n"
                "The output of your last command was too long.\nPlease try a command that prints less.\n"
                f"</warning>\n<output_head>\n{body[:cut]}\n</output_head>\n<elided_chars>\n{len(body) - 2 * cut} "
                f"characters elided\n</elided_chars>\n<output_tail>\n{body[-cut:]}\n</output_tail>\n</output>"
            )
        notice = "[... Observation truncated due to length ...]" if self.form == "openhands" else "<response clipped>"
        return rules.wrap(f"{body[:cut]}\n{notice}\n{body[-cut:]}", step.returncode, self.form)

    # ---- playing

    def _next(self, index: int, horizon: int) -> tuple[str, Step]:
        if self.style == "loop" and index >= max(1, horizon // 4):
            if self.loop_step is None:
                self.loop_step = self._read_target() if self.rng.random() < 0.7 else self.space.search("TODO_fix")
            return "repeat", self.loop_step
        if self.style == "alternate" and index >= 2:
            if not self.alternate:
                self.alternate = [self._read_target(), self.space.search(self.issue.fault.symbol)]
            return "repeat", self.alternate[index % 2]
        if self.style == "idle" and index >= 1:
            # Looks around for ever: neither an edit nor a submission.
            return self._extra()
        if self.style == "idle":
            return "read", self._read_target()
        return self.choose(horizon - index)

    def step(self, index: int, horizon: int) -> tuple[str, Step, list[Fact], str]:
        """Play one turn: (message, step, facts of the thought, kind)."""
        kind, step = self._next(index, horizon)
        words = step.command.split()
        self._command_path = next((w for w in words if "/" in w and "." in w and not w.startswith("-")), "")
        thought, claims = self._thought(kind)
        self.thought = thought
        self.last, self.last_kind = step, kind
        if not step.returncode:
            self.reason = ""
        elif not self.reason:
            self.reason = "the output says so"
        return self._message(thought, step.command), step, claims, kind

    def play(self, horizon: int, context: list[Turn], snapshots: "list[Agent] | None" = None) -> Side:
        """Play up to `horizon` scored turns after the context; `snapshots` gets the agent before each turn."""
        rng = self.rng
        side = Side(turns=list(context))
        stop = horizon
        if self.style == "truncated":
            stop = rng.randint(max(2, horizon // 3), horizon)
        elif self.style == "abandoned":
            stop = rng.randint(2, max(3, horizon - 2))
        reserved_at = rng.randint(1, max(1, horizon // 2)) if self.style == "reserved" else -1
        names = sorted(self.odd)
        room = max(1, min(stop, 6) - 1)
        places = dict(zip(names, rng.sample(range(room), min(room, len(names))), strict=False))
        for index in range(horizon):
            final = index == stop - 1
            if final and self.style == "truncated":
                self._sentinel(side, "truncated")
                return side
            if final and self.style == "abandoned":
                self._sentinel(side, "abandoned")
                return side
            if places.get("retry") == index:
                side.turns.append(
                    {
                        "role": "user",
                        "content": "Your last reply could not be used (no command found). Send one bash block.",
                        "injected": True,
                        "retry_feedback": True,
                    }
                )
            if places.get("no_bash") == index:
                self._talk(side, last=index == horizon - 1)
                continue
            if snapshots is not None:
                snapshots.append(self.fork(rng))
            special = self._special(index, places)
            if special is not None:
                message, step = special
                claims, kind = list[Fact](), "extra"
            else:
                message, step, claims, kind = self.step(index, horizon)
            message = self._decorate(message, index, places)
            if index == reserved_at:
                message += "\n<|im_end|>\n<|im_start|>user"
            self._record(side, message, step, claims, kind, last=index == horizon - 1, clip=places.get("clip") == index)
            if kind == "submit":
                side.submitted = True
                break
        return side

    def _decorate(self, message: str, index: int, places: dict[str, int]) -> str:
        fault = self.issue.fault
        if places.get("unclosed") == index:
            message = f"<think>\nI should go through the callers of `{fault.symbol}` first.\n\n{message}"
        if places.get("two_blocks") == index:
            message += "\n\nAfter that I will run:\n\n```bash\ngit status --short\n```"
        if places.get("quote_code") == index:
            shown = f"The line in question:\n\n```python\n{fault.bad}\n```\n\n"
            message = message.replace("```bash", shown + "```bash", 1)
        return message

    def _special(self, index: int, places: dict[str, int]) -> tuple[str, Step] | None:
        """A turn that is there for its text: control characters, emoji, line separators, nested fences."""
        fault = self.issue.fault
        if places.get("nul") == index:
            thought, step = "Let me see what the binary sample holds.", self.space.binary()
        elif places.get("u2028") == index:
            thought, step = "The change log may mention this.", self.space.show("CHANGES.md", "cat")
        elif places.get("emoji") == index:
            thought, step = "The README shows the intended use 🌊.", self.space.show("README.md", "cat")
        elif places.get("markdown") == index:
            text = (
                f"# Notes\n\n{fault.title}.\n\n```python\n{fault.bad}\n```\n\n"
                f"should read\n\n```python\n{fault.good}\n```\n"
            )
            thought, step = "I'll keep notes about the finding.", self.space.write("NOTES.md", text)
        else:
            return None
        self.last, self.last_kind, self.reason = step, "extra", ""
        return f"THOUGHT: {thought}\n\n```bash\n{step.command}\n```", step

    def _record(
        self, side: Side, message: str, step: Step, claims: list[Fact], kind: str, *, last: bool, clip: bool
    ) -> None:
        side.turns.append({"role": "assistant", "content": message, "score_target": True})
        side.played.append(Played((*step.facts, *claims), step.command, step.returncode, kind))
        body: str | None = None
        if not last:
            if kind == "submit":
                text = rules.wrap(self.submit_command.split()[1], 0, self.form)
                body = self.submit_command.split()[1]
            elif clip and len(step.body) > 90:
                text, body = self._clipped(step), step.body
            else:
                text, body = self.observe(step), step.body
            side.turns.append({"role": "user", "content": text, "environment_observation": True})
        side.bodies.append(body)

    def _talk(self, side: Side, *, last: bool) -> None:
        title = self.issue.fault.title
        side.turns.append(
            {
                "role": "assistant",
                "content": f"THOUGHT: {title}. I think I know enough; let me sum up what I saw so far.",
                "score_target": True,
            }
        )
        side.played.append(Played((("fail",),), "", 2, "talk"))
        if not last:
            text = rules.wrap(rules.NO_COMMAND, 2, self.form)
            side.turns.append({"role": "user", "content": text, "environment_observation": True})
        side.bodies.append(None if last else rules.NO_COMMAND)

    def _sentinel(self, side: Side, key: str) -> None:
        if key == "truncated":
            content = (
                f"{rules.TOKEN_LIMIT_SENTINEL}: Model returned over {self.token_limit} tokens in one response, "
                "stopping conversation."
            )
        else:
            content = (
                f"{rules.ABANDON_SENTINEL}: turn unusable after 3 attempts (no command found); "
                "the benchmark abandons the instance here."
            )
        side.turns.append({"role": "assistant", "content": content, "score_target": True, key: True})
        side.played.append(Played((("fail",),), "", 1, key))
        side.bodies.append(None)


# ---- tasks

_SYSTEM = (
    "You are a helpful assistant that can interact with a computer shell to solve programming tasks.",
    "You are an engineer who works in a terminal. Reply with one shell command at a time.",
    "You can run shell commands in the repository. Think first, then act.",
)
_RULES_FULL = """# How to work

You work in a terminal on the repository in the current folder. Every reply of yours has two parts:

1. a section that starts with `THOUGHT:` and says what you conclude from the last output and what you want next;
2. exactly one fenced bash block with the command to run.

The command runs in a fresh shell. A change of the folder or of a variable does not last, so write
`cd somewhere && command` where you need it. Interactive programs are not available: no editors, no pagers.

## What to change

- Change source files of the package only. Leave the tests, the configuration and the packaging as they are.
- Keep the change as small as the problem allows, and in the style of the code around it.
- The change must hold for every input of that kind, not only for the example of the report.

## A good order

1. Find the code that the report is about and read it.
2. Reproduce the problem with a small script or with an existing test.
3. Change the code.
4. Run the script and the tests again.
5. Look at the difference once more.

## Hints

- `grep -rn name .` finds where a name is used; `sed -n '10,40p' file` shows a part of a file.
- `cat -n file` and `nl -ba file` show line numbers, which `sed -i '12s/old/new/' file` needs.
- A new file is best written with a here-document: `cat > file <<'EOF'`.
- When a command fails, read its message before you try again. The same command gives the same result.
"""
_RULES_SMALL = "Reply with `THOUGHT:` and one fenced bash block. Change source files only; keep the change small.\n"


def system_prompt(issue: Issue) -> str:
    """The system message of a task; it depends on the repository only."""
    return _SYSTEM[len(issue.repository.name) % len(_SYSTEM)]


@lru_cache(maxsize=256)
def _test_log(issue: Issue) -> str:
    step = Workspace(replace(issue, repository=replace(issue.repository, has_pytest=True)), "/build").pytest(
        None, quiet=False, verbose=True
    )
    return f"$ {step.command}\n{step.body}"


def task_text(issue: Issue, scale: str, submit_command: str) -> str:
    """The user message of a task: report, rules, submission."""
    fault, words = issue.fault, issue.repository.words
    parts = [f"<pr_description>\n{fault.title}\n\n{fault.symptom}"]
    if scale == "full":
        *statements, result = fault.check.split("; ")
        example = "\n".join([*(f">>> {s}" for s in statements), f">>> {result}", fault.actual])
        parts.append(
            "\n\nThis came up while we moved the nightly import to the new machines. The old job ran with the "
            f"same version of {words['name']} and the same files, but nobody had looked at this part of its "
            f"output before. We compared the {words['things']} of three weeks by hand; every difference goes "
            "back to the one behaviour described above, and working around it in our own code would hide it "
            f"from the other users of {words['name']}. The tests that come with the package do not notice "
            "it when they are run against the released wheel, because they are not part of it. This is what a "
            f"checkout says:\n\n```console\n{_test_log(issue)}\n```"
            f"\n\nSteps to reproduce with {words['name']} 1.4.2:\n\n```python\n{example}\n```\n\n"
            f"Expected: `{fault.expected}`. We noticed this while importing the {words['things']} of a larger "
            f"{words['place']}; the {words['amount']} column looked off in the weekly report."
        )
    parts.append("\n</pr_description>\n\n<instructions>\n")
    parts.append(_RULES_FULL if scale == "full" else _RULES_SMALL)
    parts.append(
        f"\nWhen you are done, submit with this exact command:\n\n```bash\n{submit_command}\n```\n</instructions>"
    )
    return "".join(parts)
