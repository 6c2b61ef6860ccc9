"""`assay harvest`: what a person sees of a harvest."""

import json
import threading
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from assay.errors import AssayError
from assay.harvest.run import Options, Report, harvest
from assay.names import shown
from assay.settings import raw_root as named_raw_root

SOURCES = ("sn97", "sn120", "mini-coder")
_SHOWN = 5


def run(source: str, raw_root: Path | None, base: str | None, chosen: Mapping[str, Any], as_json: bool) -> int:
    """Harvest and say what was done: 1 where an object had a fault, 130 where the user stopped it."""
    if source not in SOURCES:
        raise AssayError(f"no source is called {shown(source)}; there are {', '.join(SOURCES)}")
    root = raw_root or named_raw_root()
    if root is None:
        raise AssayError("no raw tree is named: give its folder after the source, or set ASSAY_RAW_ROOT")
    if root.exists() and not root.is_dir():
        raise AssayError(f"the raw root {shown(root)} is not a folder: name one")
    # The bar is for people: on standard error, and only where that is a terminal.
    with Bar(source, Console(stderr=True)) as bar:
        report = harvest(source, base, root, Options(**chosen), bar.show)
    print(json.dumps(asdict(report), sort_keys=True) if as_json else summary(source, root, report))
    if report.stopped:
        return 130
    return 1 if report.faults else 0


class Bar:
    """Objects done and bytes that came over, in one line; safe to be called by many threads."""

    def __init__(self, source: str, console: Console) -> None:
        """Before the first call the number of objects is not known: their listing is read first."""
        self._progress = Progress(
            TextColumn(source),
            BarColumn(),
            TextColumn("{task.completed:,.0f} of {task.fields[objects]} objects, {task.fields[size]}"),
            TimeElapsedColumn(),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._task = self._progress.add_task(source, total=None, objects="?", size="0 bytes")
        self._transferred = 0
        self._lock = threading.Lock()

    def __enter__(self) -> "Bar":
        """Draw."""
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take the bar away; the summary says the rest."""
        self._progress.stop()

    def show(self, done: int, total: int, transferred: int) -> None:
        """Take what a harvest tells: objects done of all, or bytes that came over."""
        if done >= 0:
            self._progress.update(self._task, completed=done, total=total, objects=f"{total:,}")
            return
        with self._lock:
            self._transferred += transferred
            self._progress.update(self._task, size=decimal(self._transferred))


def summary(source: str, root: Path, report: Report) -> str:
    """What was listed, fetched and refused, a line each."""
    if report.to_fetch:
        lines = [f"{source}: {report.listed:,} objects listed, {report.present:,} there already, to fetch:"]
        lines += [f"  {shown(place)}" for place in report.to_fetch]
    else:
        lines = [
            f"{source}: {report.listed:,} objects listed, {report.fetched:,} fetched, "
            f"{report.present:,} there already; {report.transferred / 1e6:,.1f} MB came over, into {shown(root)}"
        ]
    for title, sentences in (("not there", report.missing), ("with a fault", report.faults)):
        if sentences:
            lines.append(f"  {title}: {len(sentences):,}")
            lines += [f"    {shown(sentence)}" for sentence in sentences[:_SHOWN]]
            if len(sentences) > _SHOWN:
                lines.append(f"    and {len(sentences) - _SHOWN:,} more")
    lines += [
        f"  refused entries of a listing: {count:,}, {shown(reason)}"
        for reason, count in sorted(report.refused.items())
    ]
    if report.stopped:
        lines.append("stopped: the next harvest goes on where this one was")
    return "\n".join(lines)
