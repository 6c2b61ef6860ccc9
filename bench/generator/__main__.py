"""Write an invented raw tree: `python bench/generator --out DIR --runs 20 --samples 100 --seed 1`.

The same options give the same bytes, whatever `--workers` says. Beside the folder, `DIR.truth.json` states what a
perfect scorer of the questions could reach (Bayes AUC), since the judge's errors are drawn from known chances.
"""

import argparse
import json
import shutil
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).parents[2]))

from bench.generator import duels, teacher, trajectories

SOURCES = ("sn97", "sn120", "mini_coder", "trajectories", "tokenizer")
_TOKENIZER = Path(__file__).parents[2] / "tests" / "fixtures" / "raw" / "tokenizer"


def positive(text: str) -> int:
    """A whole number from 1 on."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def parser() -> argparse.ArgumentParser:
    """The options."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--out", type=Path, required=True, help="folder to write into; it must be empty or absent")
    options.add_argument("--runs", type=positive, default=9, help="duel runs, cycling through the eras")
    options.add_argument("--samples", type=positive, default=4, help="samples of a run")
    options.add_argument("--seed", type=int, default=97)
    options.add_argument("--era", action="append", choices=tuple(duels.ERAS), help="runs of this era only (repeatable)")
    options.add_argument("--scale", choices=("full", "small"), default="full", help="length of the texts")
    options.add_argument("--sources", default=",".join(SOURCES), help="parts to write, separated by commas")
    options.add_argument("--duels", type=positive, default=8, help="teacher duels")
    options.add_argument("--turns", type=positive, default=40, help="turns of a teacher duel")
    options.add_argument("--references", type=positive, default=3, help="teacher references a turn")
    options.add_argument("--trajectories", type=positive, default=6, help="own trajectories")
    options.add_argument("--mini-coder", type=positive, default=12, help="mini-coder trajectories")
    options.add_argument("--workers", type=positive, default=1, help="processes")
    return options


def main(arguments: list[str] | None = None) -> int:
    """Write the tree; 2 for options that make no sense."""
    given = parser().parse_args(arguments)
    sources = [name.strip() for name in given.sources.split(",") if name.strip()]
    if unknown := [name for name in sources if name not in SOURCES]:
        print(f"unknown source {unknown[0]}; the sources are {', '.join(SOURCES)}", file=sys.stderr)
        return 2
    root, small = given.out, given.scale == "small"
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        print(f"{root} is not an empty folder: name another", file=sys.stderr)
        return 2
    root.mkdir(parents=True, exist_ok=True)
    if "sn97" in sources:
        truth = write_duels(root, given.seed, given.runs, given.samples, given.era or [], small, given.workers)
        root.with_name(root.name + ".truth.json").write_text(json.dumps(truth, indent=2) + "\n", encoding="utf-8")
        print(f"sn97: {given.runs} runs, {truth['n_answers']} judged answers, Bayes AUC {truth['bayes_auc']}")
    if "sn120" in sources:
        count = teacher.write(root, given.seed, given.duels, given.turns, given.references, small)
        print(f"sn120: {given.duels} duels, {count} references")
    if "mini_coder" in sources:
        print(f"mini_coder: {trajectories.write_mini_coder(root, given.seed, given.mini_coder, small)} trajectories")
    if "trajectories" in sources:
        print(f"trajectories: {trajectories.write_own(root, given.seed, given.trajectories, small)} runs")
    if "tokenizer" in sources:
        shutil.copytree(_TOKENIZER, root / "tokenizer")
    return 0


def write_duels(
    root: Path, seed: int, runs: int, samples: int, eras: list[str], small: bool, workers: int
) -> dict[str, float | int | None]:
    """Write `sn97/` and return what is known of the truth of its answers."""
    names = [name for name in duels.ERAS if not eras or name in eras]
    plans = [duels.Run(seed, index, names[index % len(names)], samples, small) for index in range(runs)]
    work = partial(duels.write_run, root)
    if workers == 1:
        written = list(map(work, plans))
    else:
        with ProcessPoolExecutor(workers) as pool:
            written = list(pool.map(work, plans))
    duels.write_dashboard(root, [listed for listed, _ in written])
    truth = duels.Truth([], [])
    for _, part in written:
        truth.chances += part.chances
        truth.answers += part.answers
    yes = sum(truth.answers)
    return {"bayes_auc": truth.auc(), "n_answers": len(truth.answers), "n_yes": yes}


if __name__ == "__main__":
    sys.exit(main())
