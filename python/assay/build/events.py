"""From the lines of dbt's structured log to what a person wants to know of a build."""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from assay.names import shown

_RESULTS = {
    "LogModelResult",
    "LogSeedResult",
    "LogTestResult",
    "LogNodeResult",
    "LogNodeNoOpResult",
    "LogSnapshotResult",
}
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# What dbt says of a data test that failed; its rows say more.
_COUNTED = re.compile(r"Got \d+ results?, configured to ")
_MACROS = re.compile(r"^\s*> (in|called by) ")
_WRAPPED = re.compile(
    r"^\s*(Compilation|Runtime|Database|Parsing|Dbt Runtime) Error( in .*)?$|^\s*Python model failed:$"
)


@dataclass
class Build:
    """What has happened so far. `failures` and `warnings` have the name of a node each, `sentences` what went wrong."""

    done: int = 0
    total: int = 0
    stage: str = "starting dbt"
    failures: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)


def read(line: str, build: Build) -> bool:
    """Take one line of the log; returns whether something was done or begun."""
    try:
        event = json.loads(line)
        name, data, message = event["info"]["name"], event["data"], event["info"]["msg"]
    except (ValueError, KeyError, TypeError):
        # What does not come from dbt's log, such as the last words of an interpreter.
        if line.strip():
            build.sentences.append(shown(line.strip()))
        return False
    if name == "LogStartLine":
        build.stage = _stage(data)
        build.total = max(build.total, int(data.get("total") or 0))
        return True
    if name in _RESULTS:
        return _finished(data, build)
    if name == "RunResultError" or (name.startswith("MainEncounteredError") and message):
        sentence = reason(message)
        if sentence and sentence not in build.sentences and not _COUNTED.match(sentence):
            build.sentences.append(sentence)
    if name in ("PrintEvent", "JinjaLogInfo") and message.strip():
        build.printed.append(shown(message.rstrip()))
    return False


def _stage(data: dict[str, Any]) -> str:
    node = data.get("node_info") or {}
    kind = {"test": "testing", "seed": "seeding", "unit_test": "testing"}.get(
        str(node.get("resource_type")), "building"
    )
    return f"{kind} {shown(node.get('node_name'))}"


def _finished(data: dict[str, Any], build: Build) -> bool:
    node = str((data.get("node_info") or {}).get("unique_id") or (data.get("node_info") or {}).get("node_name"))
    status = str(data.get("status")).lower()
    build.done += 1
    if "error" in status or "fail" in status:
        build.failures.append(node)
    elif "warn" in status:
        build.warnings.append(node)
    return True


def reason(message: str) -> str:
    """What an error says, without dbt's frame around it: the first line that is neither a heading nor a macro's name.

    Of a traceback the last line says what is wrong.
    """
    lines = [_COLOUR.sub("", line) for line in message.splitlines() if line.strip()]
    kept = [line.strip() for line in lines if not _WRAPPED.match(line) and not _MACROS.match(line)]
    if any(line.startswith("Traceback") for line in kept):
        said = [line for line in kept if re.match(r"^[A-Za-z_.]*(Error|Exception|Interrupt)\b", line)]
        kept = said[-1:] or kept[-1:]
    return shown(kept[0]) if kept else ""
