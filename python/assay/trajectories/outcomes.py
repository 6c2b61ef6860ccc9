"""What an observation says of the command before it. Source: contract sn97 b.3, definitions (failed observation)."""

import re
from dataclasses import dataclass

from assay.validator.observations import classify, is_scaffold_truncated, observation_body

_RETURNCODE = re.compile(r"<returncode>(-?\d{1,18})</returncode>")
_EXIT_CODE = re.compile(r"exit code (-?\d{1,18})")
_TRAILER = re.compile(r"^\s*\[(?:The command (?:completed|finished|timed out)|Command finished)\b.*\]\s*$")
_EXCEPTION = re.compile(r"\s*<exception>(.*?)</exception>\s*", re.DOTALL)
_NO_COMMAND = "No bash command found"
_ANYWHERE_IN_LINE = (
    "Traceback (most recent call last)",
    "command not found",
    "No such file or directory",
    "No module named",
    "syntax error",
)
_LINE_STARTS = ("fatal:", "error:", "ERROR:")


@dataclass(frozen=True)
class Outcome:
    """An observation's format, return code (null when it names none), and whether and why the command failed."""

    observation_format: str
    returncode: int | None
    failed: bool
    fail_reason: str | None
    is_truncated: bool


def outcome(observation: str, command_kind: str = "") -> Outcome:
    """Read one observation. `fail_reason` is one of `returncode`, `no_match` (grep's exit 1), `timed_out`,
    `no_command`, `error_shape`; null when the command did not fail.
    """
    observation_format = classify(observation)
    returncode, timed_out = _returncode(observation, observation_format)
    if returncode is not None:
        reason = _reason_of(returncode, command_kind)
    elif timed_out:
        reason = "timed_out"
    else:
        body = observation_body(observation, observation_format, "v5a")
        reason = "no_command" if _NO_COMMAND in body else "error_shape" if _has_error_shape(body) else None
    return Outcome(observation_format, returncode, reason is not None, reason, is_scaffold_truncated(observation))


def run_outcome(observation: str, command_kind: str = "", returncode: int | None = None) -> Outcome:
    """Read one observation of a run that no validator judged: what its harness says of the command wins.

    `returncode` is what the harness noted beside the observation, null where it noted nothing. A command whose
    observation begins with `<exception>…</exception>` failed: `timed_out` where the exception says so. All else is
    read as in `outcome`.
    """
    exception = _EXCEPTION.match(observation)
    seen = outcome(observation[exception.end() :] if exception else observation, command_kind)
    reason = seen.fail_reason if returncode is None else _reason_of(returncode, command_kind)
    if exception:
        reason = "timed_out" if "timed out" in exception.group(1) else reason or "error_shape"
    return Outcome(
        observation_format=seen.observation_format,
        returncode=seen.returncode if returncode is None else returncode,
        failed=reason is not None,
        fail_reason=reason,
        is_truncated=is_scaffold_truncated(observation),
    )


def _reason_of(returncode: int, command_kind: str) -> str | None:
    if returncode == 0:
        return None
    return "no_match" if returncode == 1 and command_kind.startswith("grep") else "returncode"


def _returncode(observation: str, observation_format: str) -> tuple[int | None, bool]:
    if observation_format == "returncode":
        found = _RETURNCODE.search(observation)
        return (int(found.group(1)) if found else None), False
    if observation_format == "swe_agent":
        return None, False
    trailers = [line for line in observation.splitlines() if _TRAILER.match(line)]
    codes = [code for line in trailers for code in _EXIT_CODE.findall(line)]
    return (int(codes[-1]) if codes else None), any("timed out" in line for line in trailers)


def _has_error_shape(body: str) -> bool:
    lines = [line for line in body.splitlines() if line.strip()]
    return any(
        any(shape in line for shape in _ANYWHERE_IN_LINE) or line.lstrip().startswith(_LINE_STARTS)
        for line in lines[:1] + lines[-1:]
    )
