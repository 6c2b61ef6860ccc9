"""`assay build`: run dbt, show where it is, and say what came of it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import duckdb
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from assay.build import current, events, summary
from assay.errors import AssayError
from assay.landing.run import find_artifacts
from assay.names import shown
from assay.settings import check, check_vars, vars_of_project, vars_of_words, warehouse
from assay.warehouse import open_for_reading

_SECONDS_TO_END = 10.0
_SECONDS_BETWEEN_LINES = 15.0
_PROJECT = "dbt_project.yml"
SAMPLE = "tests/fixtures/raw"
# Without it nothing is read, and nothing that was built before says anything of this tree.
_READS_THE_TREE = "model.assay.artifacts"


def run(words: Sequence[str], verbose: bool, verify: bool = False) -> int:
    """Build and return 0, 1 where a model or a gate failed, 2 where dbt could not begin, 130 where it was stopped.

    What the last whole build read and wrote, unchanged, is not built again. `verify` takes nobody's word for that: the
    files of the raw tree are hashed, and those that changed without a trace are landed anew.
    """
    path = warehouse()
    check(path)
    if not Path(_PROJECT).is_file():
        raise AssayError(f"no {_PROJECT} is here: run assay build in the folder of the project")
    variables = {**vars_of_project(Path()), **vars_of_words(words)}
    check_vars(variables)
    root = Path(variables.get("raw_root") or os.environ.get("ASSAY_RAW_ROOT") or SAMPLE)
    artifacts, strangers = find_artifacts(root, bool(variables.get("follow_links_out_of_raw_root")))
    landing, exports = Path(f"{path}.landing"), Path(os.environ.get("ASSAY_EXPORTS") or "exports")
    if verify and (changed := current.forget_changed(landing, artifacts)):
        print(f"{len(changed)} files changed though the file system does not say so: {shown(changed[0])} first")
    inputs = current.inputs(Path(), variables, os.environ, artifacts, strangers)
    if _is_of_everything(words) and current.is_current(landing, inputs, current.outputs(Path(path), landing, exports)):
        print(f"Nothing changed since the last build: of {len(artifacts)} files none was read, no table was made.")
        for line in _report(events.Build(), path, os.environ):
            print(line)
        return 0
    code = _built(words, verbose, path)
    if code == 0 and _is_of_everything(words):
        current.keep(landing, inputs, current.outputs(Path(path), landing, exports))
    return code


def _is_of_everything(words: Sequence[str]) -> bool:
    """Whether a command line of dbt asks for nothing but the whole build, under whatever vars."""
    return all(word.startswith("--vars=") or "--vars" in (word, before) for before, word in pairwise(["", *words]))


def _built(words: Sequence[str], verbose: bool, path: str) -> int:
    # dbt imports its own main module before it runs it, and Python warns of that.
    dbt = [sys.executable, "-W", "ignore::RuntimeWarning", "-m", "dbt.cli.main"]
    if verbose:
        return _ended(_start([*dbt, "build", *words], piped=False))
    process = _start([*dbt, "--log-format", "json", "build", *words], piped=True)
    build = events.Build()
    code = _follow(process, build)
    if code and (not build.done or _READS_THE_TREE in build.failures):
        raise AssayError("; ".join(build.sentences[:3]) or f"dbt ended with code {code}")
    for line in _report(build, path, os.environ):
        print(line)
    return 1 if code else 0


def _start(command: list[str], piped: bool) -> "subprocess.Popen[str]":
    # A session of its own: Ctrl-C reaches this process alone, which ends dbt and the steps that it began.
    pipe = subprocess.PIPE if piped else None
    return subprocess.Popen(
        command,
        stdout=pipe,
        stderr=subprocess.STDOUT if piped else None,
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )


def _ended(process: "subprocess.Popen[str]") -> int:
    try:
        return process.wait()
    finally:
        _end(process)


def _follow(process: "subprocess.Popen[str]", build: events.Build) -> int:
    """Read the log to its end; a bar on a terminal, else a line now and then."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    said = time.monotonic()
    try:
        with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
            task = bar.add_task(build.stage, total=None)
            assert process.stdout is not None
            for line in process.stdout:
                if not events.read(line, build):
                    continue
                bar.update(task, completed=build.done, total=build.total or None, description=build.stage[:60])
                if not console.is_terminal and time.monotonic() - said > _SECONDS_BETWEEN_LINES:
                    said = time.monotonic()
                    print(f"{build.done} of {build.total} done, {build.stage}", file=sys.stderr, flush=True)
        return process.wait()
    finally:
        _end(process)


def _end(process: "subprocess.Popen[str]") -> None:
    """End dbt with its steps where it still runs."""
    for sign in (signal.SIGINT, signal.SIGKILL):
        if process.poll() is not None:
            return
        os.killpg(process.pid, sign)
        try:
            process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            continue


def _report(build: events.Build, path: str, environment: Mapping[str, str]) -> list[str]:
    """The dozen lines that matter."""
    exports = Path(environment.get("ASSAY_EXPORTS") or "exports")
    lines: list[str] = []
    if build.failures:
        lines.append(f"Failed: {len(build.failures)} of {build.done} steps")
        lines += [f"  {sentence}" for sentence in build.sentences[:5]]
    try:
        with open_for_reading(path) as connection:
            lines.append("Read:")
            lines += [f"  {line}" for line in summary.sources(connection)] or ["  nothing"]
            if held := ", ".join(summary.tables(connection)):
                lines.append(f"Built: {held}")
            if failed := list(
                summary.failed_tests(connection, _target(environment) / "run_results.json", Path(path).stem)
            ):
                lines += ["Gates that failed or warned:", *(f"  {line}" for line in failed[:20])]
    except duckdb.Error as error:
        lines.append(f"The warehouse {shown(path)} cannot be read: {shown(error).splitlines()[0]}")
    if written := summary.exports(exports):
        lines.append(f"Exports: {written}")
    return [*lines, f"Warehouse: {shown(path)}", *_next(bool(build.failures), path)]


def _target(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("DBT_TARGET_PATH") or "target")


def _next(failed: bool, path: str) -> list[str]:
    """What to do now."""
    if failed:
        return [
            "Next: assay build -v shows dbt's own log; what failed is told again by dbt test --store-failures; "
            "models that are finished stay."
        ]
    return [
        f"Next: ask it in SQL (duckdb -readonly {shown(path)}; the README has questions), write a mix for a trainer "
        "(assay export --mix final_v2 --format trl), or see why a row is in it (assay explain ROW)."
    ]
