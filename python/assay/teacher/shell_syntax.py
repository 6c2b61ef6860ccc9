"""Is a command valid shell? `bash -n` decides; what is plainly valid never needs it (contract sn120 C.6, 4).

`bash -n` reads the command on its standard input and parses it; nothing is executed. It gets no environment, no start
file and a time limit. Verdicts are kept by the command's hash and the version that gave them.
"""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from assay.steps.tables import write_table
from assay.steps.writing import writing

SECONDS = 10.0
LONGEST_COMMAND_BYTES = 4 << 20
CACHE_FILE = "teacher_shell_verdicts.parquet"
_CACHE = pa.schema([("shell", pa.string()), ("command_sha256", pa.string()), ("valid", pa.bool_())])

_RESERVED = frozenset(
    "! [[ ]] { } case coproc do done elif else esac fi for function if in select then time until while".split()
)
# A word of letters, quotes without expansions, plain variables and single escapes; one place where each may begin.
# Atomic groups: Python before 3.11.5 matches possessive repeats of a group wrongly.
_PIECE = (
    r"""[A-Za-z0-9_./=:,@%+^*?~\[\]{}\x80-\U0010FFFF-]"""
    r"""|'[^'\0]*'"""
    r"""|"(?>(?:[^"\\$`!\0]|\$[A-Za-z_][A-Za-z0-9_]*|\\[^\0])*)" """.strip()
    + r"""|\$[A-Za-z_][A-Za-z0-9_]*"""
    + r"""|\\[^\n\0]"""
)
_WORD = rf"(?>(?:{_PIECE})+)"
_REDIRECTION = r"(?:[0-9]?>&[0-9]|[0-9]?>>?|<)"
_TOKEN = re.compile(rf"[ \t]*+(?:({_REDIRECTION})|(&&|\|\||[|;\n])|({_WORD}))[ \t]*+")
# A name with a bracket may begin an element of an array, which has a grammar of its own.
_SUBSCRIPT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\[")
_DUPLICATION = re.compile(r"[0-9]?>&[0-9]")


@dataclass(frozen=True)
class Verdict:
    """Whether a command is valid shell (null: unknown), who said so, and why it is unknown."""

    valid: bool | None
    checked_by: str
    fault: str | None = None


def plainly_valid(command: str) -> bool:
    """Say whether a command is a plain list of simple commands, which every bash takes.

    False says nothing: `bash -n` decides then. Words may be quoted, but hold no substitution, and no word may be
    a reserved one wherever it stands.
    """
    position = 0
    expects_target, has_word, needs_command = False, False, False
    while position < len(command):
        match = _TOKEN.match(command, position)
        if match is None:
            return False
        redirection, separator, word = match.groups()
        position = match.end()
        if word is not None:
            if word in _RESERVED or _SUBSCRIPT.match(word):
                return False
            expects_target, has_word, needs_command = False, True, False
        elif expects_target:
            return False
        elif redirection is not None:
            if not has_word:
                return False
            expects_target = _DUPLICATION.fullmatch(redirection) is None
        else:
            if separator == "\n":
                # After an operator the list goes on in the next line; an empty line is nothing.
                has_word = False
                continue
            if not has_word:
                return False
            has_word, needs_command = False, separator != ";"
    return not expects_target and not needs_command


def shell_version(shell: str | None) -> str | None:
    """Return the version a bash reports in its first line, for example `5.2.15(1)-release`; null without a bash."""
    if shell is None:
        return None
    try:
        finished = subprocess.run(
            [shell, "--version"], capture_output=True, timeout=SECONDS, check=False, env={"LC_ALL": "C"}
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"version (\S+)", finished.stdout.decode("utf-8", "replace"))
    return found.group(1) if found else None


def parses(shell: str, command: str, seconds: float = SECONDS) -> Verdict:
    """Ask `bash -n` about a command; one that takes too long, or kills the shell, is unknown."""
    text = command.encode("utf-8", "surrogatepass")
    if b"\0" in text:
        return Verdict(False, "rule", None)
    if len(text) > LONGEST_COMMAND_BYTES:
        return Verdict(None, "rule", "command_too_long_to_check")
    try:
        finished = subprocess.run(
            [shell, "--norc", "--noprofile", "-n"],
            input=text,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
            env={"LC_ALL": "C"},
            close_fds=False,  # lets the process start without copying this one's page tables
        )
    except subprocess.TimeoutExpired:
        return Verdict(None, "bash", "shell_check_timed_out")
    except OSError:
        return Verdict(None, "bash", "shell_cannot_be_started")
    if finished.returncode < 0:
        return Verdict(None, "bash", "shell_was_killed")
    return Verdict(finished.returncode == 0, "bash")


def check_commands(
    commands: Iterable[str], folder: Path, pinned_version: str = "", workers: int | None = None
) -> dict[str, Verdict]:
    """Return a verdict for every command; those of `bash -n` are kept in `folder` by hash and version.

    With `pinned_version` a bash of another version (compared as a prefix, `5.2` takes `5.2.15`) is not asked: what
    is not plainly valid is then unknown.
    """
    verdicts: dict[str, Verdict] = {}
    open_questions: list[str] = []
    for command in dict.fromkeys(commands):
        if plainly_valid(command):
            verdicts[command] = Verdict(True, "precheck")
        else:
            open_questions.append(command)
    if not open_questions:
        return verdicts
    shell = shutil.which("bash")
    version = shell_version(shell)
    if shell is None or version is None:
        return verdicts | dict.fromkeys(open_questions, Verdict(None, "none", "no_bash"))
    if pinned_version and not _is_version(version, pinned_version):
        fault = f"bash_is_{version}_not_{pinned_version}"
        return verdicts | dict.fromkeys(open_questions, Verdict(None, "none", fault))
    by = f"bash {version}"
    known = _load(folder, by)
    hashes = {command: _sha256(command) for command in open_questions}
    fresh = [command for command in open_questions if hashes[command] not in known]
    # A thread waits while its bash works, so a few of them keep every core busy.
    with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        answers = dict(zip(fresh, pool.map(lambda command: parses(shell, command), fresh), strict=True))
    for command in open_questions:
        verdict = answers.get(command) or Verdict(known[hashes[command]], "bash")
        verdicts[command] = Verdict(verdict.valid, by if verdict.checked_by == "bash" else "rule", verdict.fault)
    known |= {hashes[command]: answer.valid for command, answer in answers.items() if answer.valid is not None}
    _save(folder, by, known)
    return verdicts


def _is_version(found: str, wanted: str) -> bool:
    return found == wanted or (found.startswith(wanted) and not found[len(wanted)].isdigit())


def _sha256(command: str) -> str:
    return hashlib.sha256(command.encode("utf-8", "surrogatepass")).hexdigest()


def _load(folder: Path, by: str) -> dict[str, bool]:
    try:
        rows = pq.read_table(folder / CACHE_FILE, filters=[("shell", "==", by)]).to_pylist()
        return {row["command_sha256"]: bool(row["valid"]) for row in rows}
    except (OSError, KeyError, pa.ArrowException):
        return {}


def _save(folder: Path, by: str, known: Mapping[str, bool]) -> None:
    hashes = sorted(known)
    columns = [pa.array([by] * len(hashes)), pa.array(hashes), pa.array([known[one] for one in hashes], pa.bool_())]
    with writing(folder):
        write_table(folder / CACHE_FILE, pa.Table.from_arrays(columns, schema=_CACHE))
