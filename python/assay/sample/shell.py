"""A shell over a virtual work tree: every output is computed from the files as they stand.

`Step.facts` says what a command showed or did; the invented judge reads facts, never the text.
"""

from dataclasses import dataclass
from functools import lru_cache

from assay.sample.world import Issue

Fact = tuple[object, ...]


@dataclass(frozen=True)
class Step:
    """One executed command: what was typed, what came back, and what that amounts to."""

    command: str
    body: str
    returncode: int
    facts: tuple[Fact, ...] = ()
    timed_out: bool = False


@lru_cache(maxsize=2048)
def lines_of(text: str, numbered: bool) -> tuple[str, ...]:
    """The lines of a text, with the numbers of `cat -n` and `nl -ba` (which print the same) if asked."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if numbered:
        return tuple(f"{index:6d}\t{line}" for index, line in enumerate(lines, start=1))
    return tuple(lines)


@lru_cache(maxsize=1024)
def test_names(text: str) -> tuple[str, ...]:
    """Names of the test functions of a file, in order."""
    return tuple(line[4:].split("(")[0] for line in text.split("\n") if line.startswith("def test_"))


def sed_pattern(text: str) -> str:
    """Escape a fragment for the left side of a basic sed expression."""
    return "".join("\\" + c if c in "\\/.*[]^$" else c for c in text)


def sed_replacement(text: str) -> str:
    """Escape a fragment for the right side of a sed expression."""
    return "".join("\\" + c if c in "\\/&" else c for c in text)


@lru_cache(maxsize=4096)
def _matches(text: str, shown: str, word: str, context: int) -> tuple[str, ...]:
    """What a recursive grep prints about one file, with `context` lines after a match."""
    if "\x00" in text:
        return (f"grep: {shown}: binary file matches",)
    rows: list[str] = []
    shown_to = -1
    for number, line in enumerate(lines_of(text, False), start=1):
        if word in line:
            if context and rows and number > shown_to + 1:
                rows.append("--")
            rows.append(f"{shown}:{number}:{line}")
            shown_to = number + context
        elif number <= shown_to:
            rows.append(f"{shown}-{number}-{line}")
    return tuple(rows)


def _hunks(old: list[str], new: list[str]) -> list[str]:
    """Unified hunks of two texts with the same number of lines: every edit here is line for line."""
    changed = [index for index, pair in enumerate(zip(old, new, strict=True)) if pair[0] != pair[1]]
    groups: list[list[int]] = []
    for index in changed:
        if groups and index - groups[-1][-1] <= 6:
            groups[-1].append(index)
        else:
            groups.append([index])
    out = []
    for group in groups:
        first, last = max(0, group[0] - 3), min(len(old), group[-1] + 4)
        out.append(f"@@ -{first + 1},{last - first} +{first + 1},{last - first} @@")
        place = first
        while place < last:
            if old[place] == new[place]:
                out.append(" " + old[place])
                place += 1
                continue
            end = place
            while end < last and old[end] != new[end]:
                end += 1
            out += ["-" + line for line in old[place:end]] + ["+" + line for line in new[place:end]]
            place = end
    return out


class Workspace:
    """The files of one task and the commands an agent may run on them."""

    def __init__(self, issue: Issue, root: str) -> None:
        """Start from the issue's files; `root` is only what paths look like."""
        self.issue = issue
        self.root = root
        self.files = dict(issue.files)
        self.broken: set[str] = set()

    def fork(self) -> "Workspace":
        """Return an independent copy."""
        copy = Workspace(self.issue, self.root)
        copy.files = dict(self.files)
        copy.broken = set(self.broken)
        return copy

    # ---- state

    @property
    def solved(self) -> bool:
        """Whether the planted fault is gone and the module still loads."""
        issue = self.issue
        return issue.path not in self.broken and issue.fault.good in self.files[issue.path]

    def line_of(self, path: str, fragment: str) -> int:
        """1-based line that holds the fragment, 0 for none."""
        text = self.files.get(path, "")
        place = text.find(fragment)
        return 0 if place < 0 else text.count("\n", 0, place) + 1

    def line_count(self, path: str) -> int:
        """Number of lines of a file."""
        return self.files[path].count("\n")

    def changed(self) -> list[str]:
        """Tracked files that differ from the start, sorted."""
        return [p for p in self.issue.files if self.files.get(p) != self.issue.files[p]]

    # ---- reading

    def listing(self, long: bool = False) -> Step:
        """`ls` or `ls -la` of the root."""
        entries: dict[str, int] = {}
        for path, text in self.files.items():
            head, _, rest = path.partition("/")
            entries[head] = 4096 if rest else len(text.encode())
        names = sorted(entries)
        facts: tuple[Fact, ...] = (("list",),)
        if not long:
            return Step("ls", "\n".join(names), 0, facts)
        rows = [f"total {4 * len(names)}", "drwxr-xr-x 1 root root 4096 Jul  1 08:00 ."]
        rows.append("drwxr-xr-x 1 root root 4096 Jul  1 08:00 ..")
        rows.append("drwxr-xr-x 8 root root 4096 Jul  1 08:00 .git")
        for name in names:
            mode = "drwxr-xr-x 2" if entries[name] == 4096 and "." not in name else "-rw-r--r-- 1"
            rows.append(f"{mode} root root {entries[name]:4d} Jul  1 08:00 {name}")
        return Step("ls -la", "\n".join(rows), 0, facts)

    def list_package(self) -> Step:
        """`ls` of the package folder."""
        package = self.issue.repository.package
        names = sorted(p.split("/", 1)[1] for p in self.files if p.startswith(package + "/"))
        return Step(f"ls {package}/", "\n".join(names), 0, (("list",), ("list_package",)))

    def find_sources(self, tests: bool = True) -> Step:
        """`find` over Python files."""
        where = "." if tests else f"./{self.issue.repository.package}"
        paths = sorted("./" + p for p in self.files if p.endswith(".py") and ("./" + p).startswith(where))
        return Step(f'find {where} -name "*.py" | sort', "\n".join(paths), 0, (("list",), ("list_package",)))

    def search(self, word: str, where: str | None = None, context: int = 0) -> Step:
        """`grep -rn word where`, computed line by line; no match ends with code 1."""
        where = where or "."
        rows: list[str] = []
        for path in sorted(self.files):
            text = self.files[path]
            shown = path if where != "." else "./" + path
            if word not in text or not (where == "." or path.startswith(where)):
                continue
            found = _matches(text, shown, word, context)
            if context and rows and found:
                rows.append("--")
            rows += found
        option = f" -A{context}" if context else ""
        command = f'grep -rn{option} "{word}" {where}'
        return Step(command, "\n".join(rows), 0 if rows else 1, (("search", word),) if rows else (("fail",),))

    def search_file(self, word: str, path: str) -> Step:
        """`grep -n word path`."""
        text = self.files.get(path)
        if text is None:
            return self._missing(f'grep -n "{word}" {path}', "grep", path, 2)
        rows = [f"{n}:{line}" for n, line in enumerate(text.split("\n"), start=1) if word in line]
        facts: tuple[Fact, ...] = (("search", word), ("numbers", path)) if rows else (("fail",),)
        return Step(f'grep -n "{word}" {path}', "\n".join(rows), 0 if rows else 1, facts)

    def show(self, path: str, how: str, first: int = 1, last: int | None = None) -> Step:
        """Show a file: `cat`, `cat -n`, `nl -ba`, `head`, `tail`, `sed -n`, or `cat -n f | sed -n`."""
        text = self.files.get(path)
        command = {"cat": f"cat {path}", "cat -n": f"cat -n {path}", "nl": f"nl -ba {path}"}.get(how, "")
        end = last or 1
        if how == "head":
            command = f"head -{end} {path}"
        elif how == "tail":
            command = f"tail -{end} {path}"
        elif how == "sed":
            command = f"sed -n '{first},{end}p' {path}"
        elif how == "cat | sed":
            command = f"cat -n {path} | sed -n '{first},{end}p'"
        if text is None:
            return self._missing(
                command, "sed: can't read" if how == "sed" else how.split()[0], path, 2 if how == "sed" else 1
            )
        numbered = how in ("cat -n", "nl", "cat | sed")
        lines = lines_of(text, numbered)
        total = len(lines)
        if how == "head":
            first, lines = 1, lines[:end]
        elif how == "tail":
            first, lines = max(1, total - end + 1), lines[-end:]
            end = total
        elif how in ("sed", "cat | sed"):
            lines = lines[first - 1 : end]
        else:
            first, end = 1, total
        return Step(command, "\n".join(lines), 0, (("show", path, first, end, numbered),))

    def _missing(self, command: str, tool: str, path: str, code: int) -> Step:
        text = (
            f"{tool} {path}: No such file or directory"
            if tool.startswith("sed")
            else f"{tool}: {path}: No such file or directory"
        )
        return Step(command, text, code, (("fail",),))

    def binary(self) -> Step:
        """`head -c` of the binary sample: its NUL bytes come through."""
        text = self.files["data/sample.bin"]
        return Step("head -c 64 data/sample.bin", text, 0, (("show", "data/sample.bin", 1, 1, False),))

    # ---- changing

    def edit_sed(self, path: str, line: int, old: str, new: str) -> Step:
        """`sed -i` on one numbered line."""
        command = f"sed -i '{line}s/{sed_pattern(old)}/{sed_replacement(new)}/' {path}"
        return self._replace(command, path, line, old, new)

    def edit_python(self, path: str, old: str, new: str) -> Step:
        """A Python script on standard input that replaces a fragment and writes the file."""
        line = self.line_of(path, old)
        command = (
            "python - <<'PY'\nfrom pathlib import Path\n\n"
            f'path = Path("{path}")\ntext = path.read_text()\nold = {old!r}\nnew = {new!r}\n'
            'assert old in text, "fragment not found"\n'
            'path.write_text(text.replace(old, new, 1))\nprint("replaced in", path)\nPY'
        )
        if not line:
            trace = 'Traceback (most recent call last):\n  File "<stdin>", line 7, in <module>\n'
            trace += "AssertionError: fragment not found"
            return Step(command, trace, 1, (("fail",),))
        step = self._replace(command, path, line, old, new)
        return Step(command, f"replaced in {path}", 0, step.facts)

    def edit_heredoc(self, path: str, old: str, new: str) -> Step:
        """Write the whole file again with `cat >` and a here-document."""
        line = self.line_of(path, old)
        text = self.files[path].replace(old, new, 1)
        command = f"cat > {path} <<'EOF'\n{text}EOF"
        return self._replace(command, path, line, old, new)

    def _replace(self, command: str, path: str, line: int, old: str, new: str) -> Step:
        lines = self.files[path].split("\n")
        before = lines[line - 1] if 0 < line <= len(lines) else ""
        if old not in before:
            # sed succeeds and changes nothing.
            return Step(command, "", 0, (("edit", path, "none", line),))
        lines[line - 1] = before.replace(old, new, 1)
        self.files[path] = "\n".join(lines)
        outcome = "other"
        if path == self.issue.path:
            outcome = "good" if self.solved else "wrong"
        return Step(command, "", 0, (("edit", path, outcome, line),))

    def break_indentation(self, path: str, line: int) -> Step:
        """An edit that loses the indentation of a line, so that the module no longer loads."""
        self.broken.add(path)
        lines = self.files[path].split("\n")
        lines[line - 1] = lines[line - 1].lstrip()
        self.files[path] = "\n".join(lines)
        return Step(f"sed -i '{line}s/^ *//' {path}", "", 0, (("edit", path, "wrong", line),))

    def restore(self, path: str) -> Step:
        """`git checkout` of one file."""
        self.files[path] = self.issue.files[path]
        self.broken.discard(path)
        return Step(f"git checkout -- {path}", "Updated 1 path from the index", 0, (("restore", path),))

    def write(self, path: str, text: str, *, facts: tuple[Fact, ...] = ()) -> Step:
        """Create a file with a here-document."""
        self.files[path] = text
        return Step(f"cat > {path} <<'EOF'\n{text}EOF", "", 0, facts)

    # ---- running

    def _load_error(self, path: str) -> str:
        lines = self.files[path].split("\n")
        line = self.line_of(path, self.issue.fault.good.lstrip()) or self.issue.line
        return (
            f'  File "{self.root}/{path}", line {line}\n    {lines[line - 1].strip()}\n'
            "IndentationError: expected an indented block"
        )

    def check(self) -> Step:
        """Run the issue's own check with `python -c` and print its value."""
        issue = self.issue
        package = issue.repository.package
        *statements, result = issue.fault.check.split("; ")
        code = "; ".join(
            [
                f"from helpers import *; from {package}.{issue.module} import *",
                *statements,
                f"print(repr({result}))",
            ]
        )
        command = f'PYTHONPATH=tests python -c "{code}"'
        if self.broken:
            trace = "Traceback (most recent call last):\n" + '  File "<string>", line 1, in <module>\n'
            return Step(
                command,
                trace + self._load_error(sorted(self.broken)[0]),
                1,
                (("fail",), ("reproduce", False)),
            )
        return Step(
            command,
            issue.fault.expected if self.solved else issue.fault.actual,
            0,
            (("reproduce", self.solved),),
        )

    def script_text(self) -> str:
        """A reproduction script for the issue."""
        issue = self.issue
        *statements, result = issue.fault.check.split("; ")
        lines = ["import sys", "", 'sys.path.insert(0, "tests")', "", "from helpers import *  # noqa: F403"]
        lines += [f"from {issue.repository.package}.{issue.module} import *  # noqa: F403", ""]
        lines += statements
        lines += [f"value = {result}", f"expected = {issue.fault.expected}", 'print("value:", value)']
        lines += ["assert value == expected, (value, expected)", 'print("as expected")']
        return "\n".join(lines) + "\n"

    def run_script(self) -> Step:
        """`python reproduce.py`, if it was written."""
        fault = self.issue.fault
        if "reproduce.py" not in self.files:
            text = f"python: can't open file '{self.root}/reproduce.py': [Errno 2] No such file or directory"
            return Step("python reproduce.py", text, 2, (("fail",),))
        if self.broken:
            trace = "Traceback (most recent call last):\n"
            trace += f'  File "{self.root}/reproduce.py", line 6, in <module>\n'
            return Step("python reproduce.py", trace + self._load_error(sorted(self.broken)[0]), 1, (("fail",),))
        if self.solved:
            return Step(
                "python reproduce.py",
                f"value: {fault.expected.strip(chr(39))}\nas expected",
                0,
                (("reproduce", True),),
            )
        line = self.script_text().split("\n").index("assert value == expected, (value, expected)") + 1
        text = (
            f"value: {fault.actual.strip(chr(39))}\nTraceback (most recent call last):\n"
            f'  File "{self.root}/reproduce.py", line {line}, in <module>\n'
            "    assert value == expected, (value, expected)\n"
            f"AssertionError: ({fault.actual}, {fault.expected})"
        )
        return Step("python reproduce.py", text, 1, (("reproduce", False),))

    def pytest(self, path: str | None, quiet: bool, verbose: bool = False) -> Step:
        """Run one test file, or all; the planted fault fails exactly its own test."""
        issue = self.issue
        paths = [path] if path else sorted(p for p in self.files if p.startswith("tests/test_"))
        command = "python -m pytest" + (f" {path}" if path else "") + (" -q" if quiet else " -v" if verbose else "")
        if not issue.repository.has_pytest:
            return Step(command, "/usr/bin/python: No module named pytest", 1, (("fail",),))
        missing = [p for p in paths if p not in self.files]
        if missing:
            return Step(
                command,
                f"ERROR: file or directory not found: {missing[0]}\n\nno tests ran in 0.00s",
                4,
                (("fail",),),
            )
        names = {p: test_names(self.files[p]) for p in paths}
        total = sum(len(n) for n in names.values())
        if self.broken and (path is None or path == issue.test_path):
            text = (
                f"==================================== ERRORS ====================================\n"
                f"E   {self._load_error(sorted(self.broken)[0]).strip()}\n"
                "=========================== short test summary info ============================\n"
                f"ERROR {issue.test_path}\n1 error in 0.09s"
            )
            return Step(command, text, 2, (("fail",), ("test", False, path)))
        failing = issue.fault.test if not self.solved and issue.test_path in paths else None
        seconds = f"0.{3 + total:02d}s"
        marks = {p: "".join("F" if n == failing else "." for n in names[p]) for p in paths}
        out = []
        if quiet:
            out.append("".join(marks.values()).ljust(72) + " [100%]")
        else:
            out.append(" test session starts ".center(80, "="))
            out.append("platform linux -- Python 3.11.9, pytest-8.3.4, pluggy-1.5.0")
            out += [f"rootdir: {self.root}", "configfile: pyproject.toml", f"collected {total} items", ""]
            done = 0
            for p in paths:
                if verbose:
                    for n in names[p]:
                        done += 1
                        mark = "FAILED" if n == failing else "PASSED"
                        out.append(f"{p}::{n} {mark}".ljust(73) + f"[{100 * done // total:3d}%]")
                    continue
                done += len(names[p])
                out.append(f"{p} {marks[p]}".ljust(73) + f"[{100 * done // total:3d}%]")
            out.append("")
        if failing is None:
            out.append(f"{total} passed in {seconds}" if quiet else f" {total} passed in {seconds} ".center(80, "="))
            return Step(command, "\n".join(out), 0, (("test", True, path),))
        lines = self.files[issue.test_path].split("\n")
        start = lines.index(f"def {failing}():")
        end = start + 1
        while end < len(lines) and lines[end]:
            end += 1
        fault = issue.fault
        out.append(" FAILURES ".center(80, "="))
        out.append(f" {failing} ".center(80, "_"))
        out.append("")
        out += ["    " + line for line in lines[start : end - 1]]
        out.append(">" + "   " + lines[end - 1])
        out.append(f"E       assert {fault.actual} == {fault.expected}")
        out += ["", f"{issue.test_path}:{end}: AssertionError"]
        out.append(" short test summary info ".center(80, "="))
        out.append(f"FAILED {issue.test_path}::{failing} - assert {fault.actual} == {fault.expected}")
        summary = f"1 failed, {total - 1} passed in {seconds}"
        out.append(summary if quiet else f" {summary} ".center(80, "="))
        return Step(command, "\n".join(out), 1, (("test", False, path),))

    # ---- git

    def status(self) -> Step:
        """`git status --short`."""
        rows = [f" M {p}" for p in self.changed()]
        rows += [f"?? {p}" for p in self.files if p not in self.issue.files]
        return Step("git status --short", "\n".join(rows), 0, (("status",),))

    def diff_text(self) -> str:
        """The patch of all tracked changes, in git's form."""
        out = []
        for path in self.changed():
            old, new = self.issue.files[path].split("\n")[:-1], self.files[path].split("\n")[:-1]
            out += [f"diff --git a/{path} b/{path}", f"--- a/{path}", f"+++ b/{path}"]
            out += _hunks(old, new)
        return "\n".join(out)

    def diff(self) -> Step:
        """`git diff`."""
        return Step("git diff", self.diff_text(), 0, (("diff", bool(self.changed())),))

    def log(self, count: int) -> Step:
        """`git log --oneline`."""
        words = self.issue.repository.words
        subjects = (
            f"Release 1.4.2 of {words['name']}",
            f"Let notes of a {words['thing']} hold any text",
            f"Bound the store of {words['things']}",
            f"Report: share in percent for a {words['place']}",
            "Read settings from the environment",
            f"Retry when the {words['place']} server fails",
            "Add the command line",
            "First import",
        )
        rows = [f"{(len(s) * 2654435761 + i * 40503) % 16**7:07x} {s}" for i, s in enumerate(subjects[:count])]
        return Step(f"git log --oneline -{count}", "\n".join(rows), 0, (("log",),))
