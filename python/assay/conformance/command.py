"""`assay conformance DIR`: run conformance vectors against our own rules and say what differs.

A vector is one line of JSON with `fn`, `version`, `input` and `expected`. Vectors are untrusted text: they
are read, compared and printed, never run.
"""

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from assay.conformance.adapters import NOT_NEEDED, WIRINGS, Context, NotWiredError, function_name, wiring_for
from assay.conformance.sql_models import SqlModels, project_folder
from assay.errors import AssayError

Outcome = Literal["passed", "failed", "skipped"]

TOLERANCE = 1e-12
SHOWN_CHARACTERS = 300
REQUIRED_KEYS = ("fn", "version", "input", "expected")
UNREADABLE = "(unreadable)"


@dataclass(frozen=True)
class Result:
    """What became of one line: `label` groups it in the print-out, `detail` says why it failed."""

    outcome: Outcome
    label: str
    note: str
    file: str
    line: int
    detail: str = ""


def shortened(value: Any, characters: int = SHOWN_CHARACTERS) -> str:
    """Write a value as one line of ASCII, cut to `characters`."""
    try:
        text = json.dumps(value, ensure_ascii=True, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        text = ascii(value)
    return text if len(text) <= characters else text[: characters - 3] + "..."


def printable(text: str, characters: int = SHOWN_CHARACTERS) -> str:
    """Write untrusted text as ASCII without control characters, cut to `characters`."""
    return text.encode("unicode_escape").decode("ascii")[:characters]


def agrees(expected: Any, got: Any) -> bool:
    """Say whether a value is the expected one.

    Floats may differ by 1e-12 (in proportion, above 1), infinities may be the strings of the vectors, a tuple
    is a list; all else must be equal in value and kind, and objects in their keys.
    """
    if isinstance(got, float) and math.isinf(got) and isinstance(expected, str):
        return expected == ("Infinity" if got > 0 else "-Infinity")
    if isinstance(expected, bool) or isinstance(got, bool):
        return expected is got
    if isinstance(expected, int | float) and isinstance(got, int | float):
        if isinstance(expected, int) and isinstance(got, int):
            return expected == got
        return math.isclose(expected, got, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        return expected.keys() == got.keys() and all(agrees(value, got[key]) for key, value in expected.items())
    if isinstance(expected, list) and isinstance(got, list | tuple):
        return len(expected) == len(got) and all(map(agrees, expected, got))
    return type(expected) is type(got) and bool(expected == got)


def _expects_error(expected: Any) -> bool:
    return isinstance(expected, Mapping) and set(expected) == {"error"}


def _limits(vector: Mapping[str, Any]) -> Mapping[str, Any]:
    limits = vector.get("thresholds")
    return limits if isinstance(limits, Mapping) else {}


def run_vector(vector: Mapping[str, Any], file: str, line: int, sql: SqlModels) -> Result:
    """Run one vector and say what became of it."""
    named, version, expected = function_name(vector["fn"]), vector["version"], vector["expected"]
    function = printable(named)
    proposed = "proposed " if Path(file).name.startswith("proposed_") else ""
    if named not in WIRINGS:
        note = "not needed" if function in NOT_NEEDED else "unknown function"
        return Result("skipped", proposed + function, note, file, line)
    wiring = wiring_for(function, version)
    if wiring is None:
        return Result("skipped", f"{proposed}{function} [{printable(version)}]", "unknown version", file, line)
    label = proposed + function
    if len(WIRINGS[function]) > 1:
        label += f" [{wiring.family}]"
    case = printable(str(vector.get("case") or vector.get("desc") or ""))
    prefix = f"{case}: " if case else ""
    wanted = f"expected {shortened(expected)}"
    try:
        got = wiring.adapter(vector["input"], Context(_limits(vector), sql))
        seen = f"got {shortened(got)}"
        compared = wiring.view(expected, got) if wiring.view else (expected, got)
        same = agrees(*compared) and not _expects_error(expected)
    except NotWiredError as reason:
        return Result("skipped", label, str(reason), file, line)
    # A rule that raises is a finding about the rule, whatever it raises; the other vectors still run.
    except Exception as error:
        seen = f"raised {type(error).__name__}: {printable(str(error))}"
        same = _expects_error(expected) and expected["error"] in {kind.__name__ for kind in type(error).__mro__}
    if same:
        return Result("passed", label, wiring.note, file, line)
    return Result("failed", label, wiring.note, file, line, f"{prefix}{wanted}, {seen}")


def _vector_of(text: str) -> Mapping[str, Any] | str:
    """Return the vector of one line, or why it is none."""
    try:
        vector = json.loads(text)
    except (ValueError, RecursionError) as error:
        return f"not JSON: {error}"
    if not isinstance(vector, dict):
        return "not a JSON object"
    missing = [key for key in REQUIRED_KEYS if key not in vector]
    if missing:
        return "lacks " + ", ".join(missing)
    if not isinstance(vector["fn"], str) or not isinstance(vector["version"], str):
        return "fn and version must be strings"
    if not isinstance(vector["input"], dict):
        return "input must be an object"
    return vector


def run_file(path: Path, shown_as: str, sql: SqlModels, only: str | None = None) -> Iterator[Result]:
    """Run the vectors of one file in order; blank lines are passed over, unreadable ones fail."""
    try:
        # Lines end at "\n" alone: texts of agents hold other characters that pass for line ends.
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise AssayError(f"cannot read {path}: {error.strerror}") from error
    for number, raw in enumerate(lines, start=1):
        if not raw.strip():
            continue
        try:
            vector = _vector_of(raw.decode("utf-8"))
        except UnicodeDecodeError:
            vector = "not UTF-8"
        if isinstance(vector, str):
            yield Result("failed", UNREADABLE, "", shown_as, number, printable(vector))
        elif only is None or function_name(vector["fn"]) == only:
            yield run_vector(vector, shown_as, number, sql)


def _vector_files(directory: Path) -> list[Path]:
    if not directory.is_dir():
        raise AssayError(f"{directory} is not a folder of conformance vectors")
    files = sorted(path for path in directory.rglob("*.jsonl") if path.is_file())
    if not files:
        raise AssayError(f"{directory} holds no *.jsonl file with conformance vectors")
    return files


def report(results: Sequence[Result]) -> list[str]:
    """Write the print-out: a line for each function, then every failure, then the totals."""
    counts: dict[tuple[str, str], dict[Outcome, int]] = {}
    for result in results:
        group = counts.setdefault((result.label, result.note), {"passed": 0, "failed": 0, "skipped": 0})
        group[result.outcome] += 1
    lines = [
        f"{label}: {group['passed']} passed, {group['failed']} failed, {group['skipped']} skipped"
        + (f" ({note})" if note else "")
        for (label, note), group in sorted(counts.items())
    ]
    lines += [
        f"FAILED {result.file}:{result.line} {result.label}: {result.detail}"
        for result in results
        if result.outcome == "failed"
    ]
    total = Counter(result.outcome for result in results)
    lines.append(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return lines


def run(directory: Path, only: str | None, project: Path | None = None) -> int:
    """Run the command: 0 when nothing failed, else 1. Raises AssayError for a folder without vectors.

    `project` is the folder with the SQL and the seeds of the rules; null: the one this package stands in.
    """
    results: list[Result] = []
    sql = SqlModels(project or project_folder())
    for path in _vector_files(directory):
        results += run_file(path, printable(path.relative_to(directory).as_posix()), sql, only)
    if not results:
        raise AssayError(f"{directory} holds no vector" + (f" of {only}" if only else ""))
    print("\n".join(report(results)))
    return 1 if any(result.outcome == "failed" for result in results) else 0
