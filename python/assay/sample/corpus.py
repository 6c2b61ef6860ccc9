"""Whole trajectories: the mini-coder table and a user's own runs."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from assay.sample import rules
from assay.sample.agent import Agent, Side, system_prompt, task_text
from assay.sample.world import Issue, issues
from assay.sample.writing import Output, Written, digest_hex, fault

_FAMILIES = ("pr_{n}", "lm_rewrite__{h}", "combine_file__{h}", "func_pm_ctrl_shuffle__{h}")


def instance_id(issue: Issue, number: int) -> str:
    """An instance id of one of the four families of the mini-coder set."""
    repository = issue.repository
    digest = digest_hex(f"{issue.key}:{number}", 8)
    family = _FAMILIES[number % len(_FAMILIES)].format(n=issue.key.rsplit("-", 1)[1], h=digest)
    return f"{repository.owner}__{repository.name}.{digest_hex(repository.name, 8)}.{family}"


def messages_of(side: Side) -> list[dict[str, str]]:
    """The messages of a side without any mark of an evaluation."""
    return [{"role": turn["role"], "content": turn["content"]} for turn in side.turns]


def play(
    issue: Issue,
    rng: random.Random,
    *,
    skill: float,
    form: str,
    scale: str,
    turns: int,
    repeats: int,
    ends: bool = True,
) -> tuple[list[dict[str, str]], bool, bool]:
    """A whole trajectory of up to `turns` replies: (messages, submitted, solved).

    After the fifth reply the last command is repeated `repeats` times; then the agent breaks out of it. An agent
    that never `ends` looks at the state of the tree where another would submit.
    """
    command = f"echo {rules.CANONICAL_MARKER} && git add -A && git diff --cached"
    agent = Agent(issue, rng, skill=skill, form=form, scale=scale, submit_command=command)
    messages = [
        {"role": "system", "content": system_prompt(issue)},
        {"role": "user", "content": task_text(issue, scale, command)},
    ]
    replay = 0
    submitted = False
    for index in range(turns):
        if index >= 5 and replay < repeats and agent.last is not None:
            replay += 1
            step, kind = agent.last, "repeat"
            thought = agent.thought_about(kind, step.command)
            text = f"THOUGHT: {thought}\n\n```bash\n{step.command}\n```"
        else:
            text, step, _, kind = agent.step(index, turns)
            if kind == "submit" and not ends:
                step, kind = agent.space.status(), "extra"
                text = f"THOUGHT: {agent.thought_about(kind, step.command)}\n\n```bash\n{step.command}\n```"
        messages.append({"role": "assistant", "content": text})
        if kind == "submit":
            submitted = True
            break
        if index < turns - 1:
            messages.append({"role": "user", "content": agent.observe(step)})
    return messages, submitted, agent.space.solved


_MESSAGES = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))
_SCHEMA = pa.schema(
    [
        ("instance_id", pa.string()),
        ("messages", _MESSAGES),
        ("model", pa.string()),
        ("resolved", pa.bool_()),
        ("verified", pa.bool_()),
        ("repo", pa.string()),
    ]
)
_ROWS_A_GROUP = 64


def write_mini_coder(root: Path, seed: int, scale: str, count: int) -> Iterator[Written]:
    """Write `mini_coder/data/train-00000.parquet` with `count` trajectories, row group by row group."""
    path = root / "mini_coder" / "data" / "train-00000.parquet"
    if not count:
        return
    tasks = issues(scale)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as handle, pq.ParquetWriter(handle, _SCHEMA, compression="zstd") as writer:
            for start in range(0, count, _ROWS_A_GROUP):
                rows = [_mini_coder_row(seed, scale, n, tasks) for n in range(start, min(count, start + _ROWS_A_GROUP))]
                writer.write_table(pa.Table.from_pylist(rows, schema=_SCHEMA))
    except OSError as error:
        raise fault(path, error) from error
    yield Written(path.stat().st_size, "", count)


def _mini_coder_row(seed: int, scale: str, number: int, tasks: tuple[Issue, ...]) -> dict[str, Any]:
    rng = random.Random(f"{seed}:mini-coder:{number}")
    issue = tasks[rng.randrange(len(tasks))]
    long = number % 2 == 0
    messages, submitted, solved = play(
        issue,
        rng,
        skill=0.35 + 0.5 * rng.random(),
        form="returncode",
        scale=scale,
        turns=rng.randint(20, 30) if long else rng.randint(9, 16),
        repeats=rng.choice((0, 1, 2, 4)),
        ends=number % 4 != 2,
    )
    if long and number % 4 == 0 and not submitted and messages[-1]["role"] == "assistant":
        # A long run that ends the way the set's trajectories end: with the submission.
        command = f"echo {rules.CANONICAL_MARKER} && git add -A && git diff --cached"
        messages[-1] = {
            "role": "assistant",
            "content": f"THOUGHT: The change is in place and checked, so I'm done.\n\n```bash\n{command}\n```",
        }
        submitted = True
    return {
        "instance_id": instance_id(issue, number % 7),
        "messages": messages,
        "model": "invented/agent-" + str(1 + number % 3),
        "resolved": submitted and solved,
        "verified": submitted and solved,
        "repo": f"{issue.repository.owner}/{issue.repository.name}",
    }


def write_trajectories(root: Path, seed: int, scale: str, count: int) -> Iterator[Written]:
    """Write `trajectories/own-runs.jsonl`: `count` runs of a user's own agent, one object a line."""
    if not count:
        return
    tasks = issues(scale)
    with Output(root / "trajectories" / "own-runs.jsonl") as output:
        for number in range(count):
            rng = random.Random(f"{seed}:trajectory:{number}")
            issue = tasks[rng.randrange(len(tasks))]
            messages, _, _ = play(
                issue,
                rng,
                skill=0.15 + 0.75 * (number % 5) / 4,
                form=("returncode", "openhands", "swe_agent")[number % 3],
                scale=scale,
                turns=rng.randint(8, 20),
                repeats=(0, 0, 3)[number % 3],
            )
            record = {
                "id": f"own-{number:04d}",
                "instance_id": issue.key,
                "model": f"invented/own-{'abc'[number % 3]}",
                "messages": messages,
            }
            output.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
    yield output.written()
