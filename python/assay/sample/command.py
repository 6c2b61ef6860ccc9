"""The command `assay sample`: write an invented raw tree."""

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from assay.errors import AssayError
from assay.sample import corpus, sn97, sn120, tokenizer
from assay.sample.writing import Written

SOURCES = ("sn97", "sn120", "mini_coder", "trajectories", "tokenizer")


@dataclass
class Report:
    """Files, lines (or rows) and bytes of every source."""

    rows: dict[str, list[int]] = field(default_factory=dict)

    def add(self, source: str, files: Iterable[Written]) -> None:
        """Count written files."""
        row = self.rows.setdefault(source, [0, 0, 0])
        for written in files:
            row[0] += 1
            row[1] += written.lines
            row[2] += written.size

    def table(self) -> str:
        """The table a person reads at the end."""
        total = [sum(row[i] for row in self.rows.values()) for i in range(3)]
        lines = [f"{'source':<14}{'files':>8}{'lines':>12}{'bytes':>16}"]
        for source, row in [*self.rows.items(), ("total", total)]:
            lines.append(f"{source:<14}{row[0]:>8,}{row[1]:>12,}{row[2]:>16,}")
        return "\n".join(lines)


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def _natural(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return value


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `assay sample`."""
    parser.add_argument("--out", type=Path, required=True, help="folder to write into")
    parser.add_argument("--runs", type=_positive, default=9, help="duel runs, cycling through the eras")
    parser.add_argument("--samples", type=_positive, default=4, help="samples of a run")
    parser.add_argument("--seed", type=int, default=97, help="the same seed gives the same bytes")
    parser.add_argument(
        "--era",
        action="append",
        choices=sn97.ERA_NAMES,
        default=[],
        help="write runs of this era only (repeatable)",
    )
    parser.add_argument("--scale", choices=("full", "small"), default="full", help="length of the texts")
    parser.add_argument("--sources", default=",".join(SOURCES), help="parts to write, separated by commas")
    parser.add_argument("--duels", type=_natural, help="teacher duels (default: the larger of 8 and --runs)")
    parser.add_argument("--turns", type=_positive, default=40, help="turns of a teacher duel")
    parser.add_argument(
        "--references", type=_positive, help="teacher references a turn (default: what the duel's version asks)"
    )
    parser.add_argument("--trajectories", type=_natural, default=6, help="trajectories of a user's own")
    parser.add_argument("--mini-coder", type=_natural, help="mini-coder trajectories (default: 2 a run, at least 12)")
    parser.add_argument("--workers", type=_positive, default=1, help="processes; the bytes do not depend on it")
    parser.add_argument("--force", action="store_true", help="write into a folder that is not empty")


def run(arguments: argparse.Namespace) -> int:
    """Write the tree and print what was written."""
    sources = [name.strip() for name in arguments.sources.split(",") if name.strip()]
    unknown = [name for name in sources if name not in SOURCES]
    if unknown:
        raise AssayError(f"unknown source {unknown[0]}; the sources are {', '.join(SOURCES)}")
    root: Path = arguments.out
    _prepare(root, force=arguments.force)
    report = Report()
    if "sn97" in sources:
        report.add("sn97", _write_sn97(root, arguments))
    duels = arguments.duels if arguments.duels is not None else max(8, arguments.runs)
    mini_coder = arguments.mini_coder if arguments.mini_coder is not None else max(12, 2 * arguments.runs)
    parts: dict[str, Callable[[], Iterable[Written]]] = {
        "sn120": lambda: sn120.write(
            root,
            seed=arguments.seed,
            scale=arguments.scale,
            duels=duels,
            turns=arguments.turns,
            references=arguments.references,
        ),
        "mini_coder": lambda: corpus.write_mini_coder(root, arguments.seed, arguments.scale, mini_coder),
        "trajectories": lambda: corpus.write_trajectories(
            root, arguments.seed, arguments.scale, arguments.trajectories
        ),
        "tokenizer": lambda: tokenizer.write(root),
    }
    for name, write in parts.items():
        if name in sources:
            _say(f"{name} …")
            report.add(name, write())
    _say("")
    print(report.table())
    return 0


def _prepare(root: Path, *, force: bool) -> None:
    try:
        if root.exists() and not root.is_dir():
            raise AssayError(f"{root} is not a folder")
        if root.is_dir() and not force and any(root.iterdir()):
            raise AssayError(f"{root} is not empty; choose another folder or add --force")
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AssayError(f"cannot write {root}: {error.strerror or error}") from error


def _write_sn97(root: Path, arguments: argparse.Namespace) -> Iterator[Written]:
    plans = sn97.plans(arguments.seed, arguments.runs, arguments.samples, arguments.scale, arguments.era)
    work = partial(sn97.write_run, root)
    summaries = []
    workers = min(arguments.workers, len(plans))
    if workers == 1:
        results: Iterable[sn97.Summary] = map(work, plans)
        pool = None
    else:
        pool = ProcessPoolExecutor(max_workers=workers)
        results = pool.map(work, plans)
    try:
        for number, summary in enumerate(results, start=1):
            summaries.append(summary)
            yield from summary.files.values()
            _say(f"sn97 run {number} of {len(plans)}")
    except BrokenProcessPool:
        raise AssayError("a worker process was ended from outside; try fewer --workers") from None
    finally:
        if pool:
            pool.shutdown(cancel_futures=True)
    yield from sn97.write_listings(root, arguments.seed, arguments.scale, summaries).values()


def _say(text: str) -> None:
    """One status line, on a terminal only."""
    if sys.stderr.isatty():
        width = min(os.get_terminal_size(sys.stderr.fileno()).columns or 78, 78)
        print(f"\r{text[:width]:<{width}}", end="" if text else "\r", file=sys.stderr, flush=True)
