"""Whole trajectories: the mini-coder table and a user's own runs."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bench.generator.agent import MARKER, observation, play, system_prompt
from bench.generator.duels import digest
from bench.generator.world import Issue, issue

_MESSAGES = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))
_SCHEMA = pa.schema([
    ("instance_id", pa.string()), ("messages", _MESSAGES), ("model", pa.string()), ("resolved", pa.bool_()),
    ("verified", pa.bool_()), ("repo", pa.string()),
])  # fmt: skip
_ROWS_A_GROUP = 64


def conversation(task: Issue, rng: random.Random, turns: int, words: int, form: str = "returncode") -> tuple[Any, bool]:
    """Messages of a whole trajectory, and whether it ends in a submission."""
    submit = f"echo {MARKER} && git add -A && git diff --cached"
    side = play(task, rng, turns, rng.uniform(0.3, 0.9), submit)
    messages = [
        {"role": "system", "content": system_prompt(task.package)},
        {"role": "user", "content": task.task(submit, words)},
    ]
    for at, step in enumerate(side.steps, 1):
        messages.append({"role": "assistant", "content": step.text})
        if at < len(side.steps):
            messages.append({"role": "user", "content": observation(form, step.body, step.returncode)})
    return messages, side.submitted


def write_mini_coder(root: Path, seed: int, count: int, small: bool) -> int:
    """Write `mini_coder/data/train-00000.parquet` with `count` trajectories."""
    path = root / "mini_coder" / "data" / "train-00000.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(path, _SCHEMA, compression="zstd") as writer:
        for start in range(0, count, _ROWS_A_GROUP):
            rows = [_mini_coder_row(seed, number, small) for number in range(start, min(count, start + _ROWS_A_GROUP))]
            writer.write_table(pa.Table.from_pylist(rows, schema=_SCHEMA))
    return count


def _mini_coder_row(seed: int, number: int, small: bool) -> dict[str, Any]:
    rng = random.Random(f"{seed}:mini-coder:{number}")
    task = issue(number % 1000)
    messages, submitted = conversation(task, rng, rng.randint(18, 30), 60 if small else 400)
    if number % 3 == 0 and not submitted and messages[-1]["role"] == "assistant":
        command = f"echo {MARKER} && git add -A && git diff --cached"
        messages[-1]["content"] = f"THOUGHT: The change is in place.\n\n```bash\n{command}\n```"
        submitted = True
    return {
        "instance_id": f"invented__{task.package}.{digest(task.package, 8)}.pr_{1000 + number % 7}",
        "messages": messages,
        "model": f"invented/agent-{1 + number % 3}",
        "resolved": submitted,
        "verified": submitted and number % 5 != 0,
        "repo": f"invented/{task.package}",
    }


def write_own(root: Path, seed: int, count: int, small: bool) -> int:
    """Write `trajectories/own-runs.jsonl`, one object a line."""
    path = root / "trajectories" / "own-runs.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="\n") as lines:
        for record in _own(seed, count, small):
            lines.write(json.dumps(record, ensure_ascii=False) + "\n")
    return count


def _own(seed: int, count: int, small: bool) -> Iterator[dict[str, Any]]:
    for number in range(count):
        rng = random.Random(f"{seed}:trajectory:{number}")
        task = issue(number)
        form = ("returncode", "openhands", "swe_agent")[number % 3]
        messages, _ = conversation(task, rng, rng.randint(8, 20), 60 if small else 400, form)
        yield {
            "id": f"own-{number:04d}",
            "instance_id": task.instance_id,
            "model": f"invented/own-{'abc'[number % 3]}",
            "messages": messages,
        }
