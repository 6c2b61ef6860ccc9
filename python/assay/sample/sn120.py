"""Teacher duels and the turn corpus they draw from, in every layout of the SN120 artifact contract.

Sections named are those of that contract (A: objects, B: rules).
"""

import hashlib
import json
import math
import random
import re
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from assay.sample.agent import Agent, task_text
from assay.sample.shell import Step
from assay.sample.world import Issue, issues
from assay.sample.writing import Written, digest_hex, fault, gzip_bytes, write_file

Record = dict[str, Any]

_SYSTEM = (
    "You drive a shell to solve the task. Reply with exactly one bash code block that holds one command.\n"
    "Put a THOUGHT section before it, in this form:\n<format_example>\nTHOUGHT: what you conclude and why\n\n"
    "```bash\nyour_command\n```\n</format_example>"
)
_SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
_CUE = "The analysis is complete. Next command:"
_KING = ("invented/affine-king-one", digest_hex("affine-king", 40))
_WEIGHT_BYTES = 70214495944
_VIEW = "view_v4_bash"


# ---- trajectories


@dataclass
class Trajectory:
    """One trajectory, its scorable turns, and the agents as they stood before each of those."""

    traj_id: str
    messages: list[dict[str, str]]
    turns: list[Record]
    agents: dict[int, Agent]
    meta: Record
    stratum: str
    replies: int


def traj_id_of(instance: str, tag: str) -> str:
    """`{owner__name}.{8 hex of the instance}.pr_{number}__{tag}` (B.6)."""
    owner_name, number = instance.rsplit("-", 1)
    return f"{owner_name}.{digest_hex(instance, 8)}.pr_{number}__{tag}"


_FAMILY = re.compile(r"(func_basic|func_pm|lm_rewrite|lm_modify|combine_|pr_\d+)")


def stratum_of(traj_id: str) -> str:
    """Repository and task family of a trajectory (B.6)."""
    match = _FAMILY.search(traj_id)
    return f"{traj_id.split('.', 1)[0] or 'unknown'}|{match.group(1) if match else 'other'}"


def phase_of(index: int, count: int) -> str:
    """`early`, `mid` or `late` by thirds of the trajectory (B.6)."""
    if count == 0 or index / count < 1 / 3:
        return "early"
    return "mid" if index / count < 2 / 3 else "late"


def make_trajectory(seed: int, scale: str, number: int) -> Trajectory:
    """Play one corpus trajectory; every reply holds exactly one closed bash block."""
    rng = random.Random(f"{seed}:corpus:{number}")
    tasks = issues(scale)
    issue = tasks[rng.randrange(len(tasks))]
    agent = Agent(issue, rng, skill=0.55 + 0.4 * rng.random(), form="returncode", scale=scale, submit_command=_SUBMIT)
    agent.prefix_cd = False
    messages = [
        {"role": "system", "content": _SYSTEM},
        {"role": "user", "content": task_text(issue, scale, _SUBMIT)},
    ]
    turns: list[Record] = []
    agents: dict[int, Agent] = {}
    length = rng.randint(6, 14)
    tagged = number % 4 != 3
    replies = 0
    for index in range(length):
        before = agent.fork(random.Random(f"{seed}:corpus:{number}:{index}"))
        _, step, _, kind = agent.step(index, length)
        reply = f"THOUGHT: {agent.thought}\n\n```bash\n{step.command}\n```"
        seen = " ".join(" ".join(m["content"] for m in messages).split()).lower()
        flat = " ".join(step.command.split()).lower()
        scorable = not (len(flat) > 40 and flat in seen) and "\n```" not in step.command
        if scorable and rng.random() < 0.9:
            turns.append(
                {
                    "turn_idx": index,
                    "msg_pos": len(messages),
                    "phase": "",
                    "suffix_len": len(reply),
                    "n_prefix_chars": sum(len(m["content"]) for m in messages),
                }
            )
            agents[index] = before
        messages.append({"role": "assistant", "content": reply})
        replies += 1
        if kind == "submit":
            break
        if index < length - 1:
            messages.append({"role": "user", "content": agent.observe(step)})
    if tagged:
        for turn in turns:
            turn["phase"] = phase_of(turn["turn_idx"], replies)
    repository = issue.repository
    source, language = (("swe", "python"), ("scaleswe", "python"), ("terminal_lego", "shell"))[number % 3]
    if not tagged:
        # Records from before the tags are packed with these defaults and an empty phase (A.4).
        source, language = "swe", "python"
    traj_id = traj_id_of(issue.key, digest_hex(f"{seed}:{number}", 8))
    meta = {
        "instance_id": issue.key,
        "repo": f"{repository.owner}/{repository.name}",
        "model": f"invented/agent-{1 + number % 3}",
        "action_kind": "bash",
        "generated_at": (datetime(2026, 8, 1, tzinfo=UTC) + timedelta(minutes=17 * number)).isoformat(),
        "source": source,
        "language": language,
    }
    return Trajectory(traj_id, messages, turns, agents, meta, stratum_of(traj_id), replies)


def trajectory_record(trajectory: Trajectory) -> Record:
    """The line of a schema 2 chunk (A.5)."""
    return {
        "traj_id": trajectory.traj_id,
        "messages": trajectory.messages,
        "turns": trajectory.turns,
        **trajectory.meta,
    }


def node_record(trajectory: Trajectory) -> Record:
    """The line of a schema 3 chunk: messages as nodes of a tree."""
    nodes = [{"parent": index - 1 if index else None, **message} for index, message in enumerate(trajectory.messages)]
    turns = [
        {key: turn[key] for key in ("turn_idx", "phase", "suffix_len", "n_prefix_chars")}
        | {"node_id": turn["msg_pos"], "action_kind": "bash"}
        for turn in trajectory.turns
    ]
    return {"rollout_id": trajectory.traj_id, "nodes": nodes, "turns": turns, **trajectory.meta}


def flat_records(trajectory: Trajectory) -> Iterator[Record]:
    """The lines of a schema 1 shard: one turn each (A.6)."""
    for turn in trajectory.turns:
        record = {
            "traj_id": trajectory.traj_id,
            "turn_idx": turn["turn_idx"],
            "prefix": trajectory.messages[: turn["msg_pos"]],
            "reference_turn": trajectory.messages[turn["msg_pos"]]["content"],
            "suffix_len": turn["suffix_len"],
            "n_prefix_chars": turn["n_prefix_chars"],
        }
        yield record | trajectory.meta | ({"phase": turn["phase"]} if turn["phase"] else {})


# ---- corpus


@dataclass
class Corpus:
    """One corpus epoch as published: its manifest's hash and the rows of its index in order."""

    epoch: int
    manifest_sha256: str
    rows: list[Record]
    trajectories: dict[str, Trajectory]


@dataclass
class Bucket:
    """Writes corpus epochs one after the other and remembers what stays listed."""

    root: Path
    files: list[Written] = field(default_factory=list)
    listed: list[Record] = field(default_factory=list)
    previous: str | None = None

    def put(self, key: str, data: bytes) -> Written:
        """Write one object under its key."""
        written = write_file(self.root / "sn120" / key, data)
        self.files.append(written)
        return written

    def lines(self, key: str, records: Sequence[Record], *, compact: bool) -> str:
        """Write gzipped JSON lines; the hash is over the lines before compression (A.3)."""
        separators = (",", ":") if compact else (", ", ": ")
        text = "".join(json.dumps(r, ensure_ascii=False, separators=separators) + "\n" for r in records)
        data = text.encode()
        written = write_file(self.root / "sn120" / key, gzip_bytes(data))
        self.files.append(Written(written.size, written.sha256, len(records)))
        return hashlib.sha256(data).hexdigest()

    def manifest(self, manifest: Record) -> str:
        """Write a manifest revision under its own hash and point to it."""
        data = json.dumps(manifest, indent=2, sort_keys=True).encode()
        sha = hashlib.sha256(data).hexdigest()
        self.put(f"turns/manifests/{sha}.json", data)
        self.previous = f"turns/manifests/{sha}.json"
        self.pointer = data
        return sha


def _created(epoch: int) -> str:
    return (datetime(2026, 8, 3, 9, tzinfo=UTC) + timedelta(days=epoch - 1)).isoformat()


def _index_rows(epoch: int, trajectories: Sequence[Trajectory], size: int, key: str) -> list[Record]:
    rows = []
    for number, trajectory in enumerate(trajectories):
        for turn in trajectory.turns:
            rows.append(
                {
                    "turn_id": f"{trajectory.traj_id}:{turn['turn_idx']}",
                    "traj_id": trajectory.traj_id,
                    "turn_idx": turn["turn_idx"],
                    "stratum": trajectory.stratum,
                    "phase": turn["phase"],
                    "source": trajectory.meta["source"],
                    "language": trajectory.meta["language"],
                    "chunk_key": key.format(epoch=epoch, i=number // size),
                    "traj_line": number % size,
                    "msg_pos": turn["msg_pos"],
                    "n_prefix_chars": turn["n_prefix_chars"],
                }
            )
    return rows


_INDEX = pa.schema(
    [
        ("turn_id", pa.string()),
        ("traj_id", pa.string()),
        ("turn_idx", pa.int32()),
        ("stratum", pa.string()),
        ("phase", pa.string()),
        ("source", pa.string()),
        ("language", pa.string()),
        ("chunk_key", pa.string()),
        ("traj_line", pa.int32()),
        ("msg_pos", pa.int32()),
        ("n_prefix_chars", pa.int32()),
    ]
)
_INDEX_VIEW = pa.schema(
    [
        ("turn_id", pa.string()),
        ("rollout_id", pa.string()),
        ("turn_idx", pa.int32()),
        ("node_id", pa.int32()),
        ("stratum", pa.string()),
        ("phase", pa.string()),
        ("source", pa.string()),
        ("language", pa.string()),
        ("action_kind", pa.string()),
        ("chunk_key", pa.string()),
        ("traj_line", pa.int32()),
        ("n_prefix_chars", pa.int32()),
    ]
)


def _parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    data: bytes = sink.getvalue().to_pybytes()
    return data


def flat_corpus(bucket: Bucket, epoch: int, trajectories: Sequence[Trajectory]) -> Corpus:
    """A schema 1 corpus: one shard of flat turns, no index."""
    key = f"turns/shards/turns_epoch_{epoch:04d}.jsonl.gz"
    records = [record for trajectory in trajectories for record in flat_records(trajectory)]
    entry = {"key": key, "sha256": bucket.lines(key, records, compact=False), "n_turns": len(records), "active": True}
    manifest = {
        "corpus_epoch": epoch,
        "schema_version": 1,
        "created_at": _created(epoch),
        "shards": [entry],
        "prev_manifest": bucket.previous,
    }
    bucket.listed.append(entry)
    rows = _index_rows(epoch, trajectories, 1, "")
    return Corpus(epoch, bucket.manifest(manifest), rows, {t.traj_id: t for t in trajectories})


def chunk_corpus(bucket: Bucket, epoch: int, trajectories: Sequence[Trajectory], *, bridge: bool = False) -> Corpus:
    """A schema 2 corpus: chunks of trajectories and a parquet index; `bridge` adds the one-epoch flat copy."""
    size = 1000 if len(trajectories) > 1000 else -(-len(trajectories) // 2)
    key = "turns/chunks/chunk_{epoch:04d}_{i:04d}.jsonl.gz"
    rows = _index_rows(epoch, trajectories, size, key)
    shards = [entry | {"active": False} for entry in bucket.listed]
    for number, start in enumerate(range(0, len(trajectories), size)):
        part = trajectories[start : start + size]
        name = key.format(epoch=epoch, i=number)
        shards.append(
            {
                "key": name,
                "sha256": bucket.lines(name, [trajectory_record(t) for t in part], compact=True),
                "n_trajectories": len(part),
                "n_turns": sum(len(t.turns) for t in part),
                "format": "traj_v1",
                "active": True,
            }
        )
    table = pa.Table.from_pylist(rows, schema=_INDEX)
    index_key = f"turns/index/turns_{epoch:04d}.parquet"
    written = bucket.put(index_key, _parquet(table))
    manifest: Record = {
        "corpus_epoch": epoch,
        "schema_version": 2,
        "created_at": _created(epoch),
        "index": {"key": index_key, "sha256": written.sha256, "n_turns": len(rows)},
        "shards": shards,
        "prev_manifest": bucket.previous,
    }
    if bridge:
        name = f"turns/shards/turns_epoch_{epoch:04d}_compat.jsonl.gz"
        records = [record for trajectory in trajectories for record in flat_records(trajectory)]
        entry = {
            "key": name,
            "sha256": bucket.lines(name, records, compact=False),
            "n_turns": len(records),
            "format": "turn_v1_compat",
            "active": False,
        }
        shards.append(entry)
        manifest["compat_shards"] = [name]
    bucket.listed = shards
    return Corpus(epoch, bucket.manifest(manifest), rows, {t.traj_id: t for t in trajectories})


def view_corpus(bucket: Bucket, epoch: int, trajectories: Sequence[Trajectory]) -> Corpus:
    """A schema 3 corpus: chunks of node trees under `views/`."""
    key = f"views/{_VIEW}/chunks/chunk_{{epoch:04d}}_{{i:04d}}.jsonl.gz"
    name = key.format(epoch=epoch, i=0)
    rows = _index_rows(epoch, trajectories, max(1, len(trajectories)), key)
    shards = [entry | {"active": False} for entry in bucket.listed]
    shards.append(
        {
            "key": name,
            "sha256": bucket.lines(name, [node_record(t) for t in trajectories], compact=True),
            "n_trajectories": len(trajectories),
            "n_turns": len(rows),
            "format": "view_v4",
            "active": True,
        }
    )
    renamed = [row | {"rollout_id": row["traj_id"], "node_id": row["msg_pos"], "action_kind": "bash"} for row in rows]
    index_key = f"views/{_VIEW}/index/turns_{epoch:04d}.parquet"
    table = pa.Table.from_pylist([{n: r[n] for n in _INDEX_VIEW.names} for r in renamed], schema=_INDEX_VIEW)
    written = bucket.put(index_key, _parquet(table))
    manifest = {
        "corpus_epoch": epoch,
        "schema_version": 3,
        "created_at": _created(epoch + 15),
        "view_spec": _VIEW,
        "index": {"key": index_key, "sha256": written.sha256, "n_turns": len(rows)},
        "shards": shards,
        "prev_manifest": bucket.previous,
    }
    return Corpus(epoch, bucket.manifest(manifest), rows, {t.traj_id: t for t in trajectories})


# ---- slice


def slice_seed(block_hash: str, hotkey: str) -> int:
    """Seed of a slice: eight bytes of blake2b, little end first (B.6)."""
    return int.from_bytes(hashlib.blake2b((block_hash + hotkey).encode(), digest_size=8).digest(), "little")


def sample_slice(rows: Sequence[Record], count: int, seed: int) -> list[str]:
    """Draw `count` turn ids, round robin over shuffled strata (B.6)."""
    rng = random.Random(seed)
    if count >= len(rows):
        ids = [row["turn_id"] for row in rows]
        rng.shuffle(ids)
        return ids
    groups: dict[str, list[str]] = {}
    for row in rows:
        groups.setdefault(row["stratum"], []).append(row["turn_id"])
    for group in groups.values():
        rng.shuffle(group)
    names = sorted(groups)
    rng.shuffle(names)
    drawn: list[str] = []
    depth = 0
    while len(drawn) < count:
        for name in names:
            if depth < len(groups[name]) and len(drawn) < count:
                drawn.append(groups[name][depth])
        depth += 1
    rng.shuffle(drawn)
    return drawn


# ---- references


@dataclass(frozen=True)
class Layout:
    """What one contract version puts into a record."""

    name: str
    epoch: int
    references: int
    day: datetime
    k_sigma: float
    miner_samples: int = 1
    min_margin: float = 0.002
    version: int = 7


_AUGUST = datetime(2026, 8, 1, tzinfo=UTC)
LAYOUTS = {
    "s2": Layout("s2", 1, 4, _AUGUST + timedelta(days=7, hours=3), 3.0, 4, version=1),
    "v3": Layout("v3", 7, 4, _AUGUST + timedelta(days=9, hours=20), 3.0, 4, version=3),
    "wvk6": Layout("wvk6", 13, 1, _AUGUST + timedelta(days=15, hours=8), 2.0, version=6),
    "wvk7": Layout("wvk7", 13, 3, _AUGUST + timedelta(days=17, hours=2), 2.0, version=7),
    "wvk8": Layout("wvk8", 13, 3, _AUGUST + timedelta(days=20, hours=12), 2.0, min_margin=0.001, version=8),
    "wvk9": Layout("wvk9", 13, 3, _AUGUST + timedelta(days=22, hours=6), 2.0, version=9),
    "wvk12": Layout("wvk12", 19, 3, _AUGUST + timedelta(days=37, hours=5), 2.0, version=12),
}


def split_thought(command: str, thought: str, rng: random.Random) -> str:
    """A teacher thought with the flaws that published thoughts have, at about their rates (C.5)."""
    roll = rng.random()
    if roll < 0.22:
        return "<think>\n" + thought
    if roll < 0.25:
        prefix = rng.choice(("</think>", "<think></think>", "THO</think></think>"))
        return f"{prefix}\nTHOUGHT: {thought}"
    if roll < 0.27:
        return f"I looked at what the last command printed and it fits the report.\nTHOUGHT: {thought}"
    if roll < 0.285:
        return f"{thought}\n\n```bash\nls -la\n```\n\nAfter that I will go on with the plan that I made above."
    if roll < 0.30:
        return f"<thinking>{thought}</thinking>"
    if roll < 0.315:
        return f"THOTHOUGHT: {thought}"
    if roll < 0.325:
        return f"THOOTH: {thought}"
    if roll < 0.335:
        return f"{thought}\n<returncode>0</returncode>\n<output>\n{command}\n</output>"
    if roll < 0.345:
        return ""
    if roll < 0.42:
        return rng.choice(("Let me look.", "Run the tests.", "Next, the file itself.", "Check the result first."))
    if roll < 0.45:
        return f"{thought} <think> The rest is clear. </think> I go on."
    return thought


def _vary(command: str, issue: Issue, rng: random.Random) -> str:
    """The same command in another spelling, or one that a shell cannot read."""
    roll = rng.random()
    if "<<" in command or roll < 0.62:
        return command
    if roll < 0.72:
        return command.replace("python ", "python3 ", 1)
    if roll < 0.82:
        return command.replace(issue.path, "/testbed/" + issue.path)
    if roll < 0.92:
        return "cd /testbed && " + command
    if roll < 0.98:
        return "# look closer\n" + command
    return command + " | grep 'def"


def teacher_reference(trajectory: Trajectory, turn: int, rng: random.Random, version: int) -> Record:
    """One teacher sample at a turn: mostly the next step of the trajectory, in some spelling."""
    agent = trajectory.agents[turn].fork(rng)
    agent.prefix_cd = False
    step: Step | None = None
    if rng.random() < 0.55:
        # The choice that the trajectory itself made, from the same state and stream.
        own = next(t for t in trajectory.turns if t["turn_idx"] == turn)
        text = trajectory.messages[own["msg_pos"]]["content"]
        command = text.split("```bash\n", 1)[1].rsplit("\n```", 1)[0]
        thought = agent.thought_about("read", command)
    else:
        _, step, _, _ = agent.step(turn, 14)
        command, thought = step.command, agent.thought
    command = _vary(command, agent.issue, rng)
    if "\n```" in command:
        command = "ls"
    lp_empty = -abs(rng.gauss(0.16, 0.09)) - 0.004
    lp_own = min(-0.0003, lp_empty + rng.gauss(0.045, 0.03))
    record: Record = {
        "z": split_thought(command, thought, rng),
        "y": f"```bash\n{command}\n```",
        "lp_own": round(lp_own, 12),
        "lp_empty": round(lp_empty, 12),
    }
    if version >= 10:
        record["lp_thought"] = round(-abs(rng.gauss(0.3, 0.1)), 12)
    return record


def _later_fields(references: list[Record], rng: random.Random) -> None:
    """The optional reference fields of September (A.2.3)."""
    for place, reference in enumerate(references):
        reference |= {
            "lp_thought_e": round(reference["lp_thought"] - abs(rng.gauss(0.02, 0.01)), 12),
            "n_bytes_y": len(reference["y"].encode()),
            "lp_cross": [
                None if other == place else round(-abs(rng.gauss(0.2, 0.1)), 12) for other in range(len(references))
            ],
            "mc_thought": round(rng.random(), 6),
            "n_content_thought": len(reference["z"].split()),
            "n_tokens_thought": 1 + len(reference["z"]) // 4,
        }


# ---- rows and scores


def _lp(rng: random.Random, centre: float, spread: float) -> float:
    return round(min(-0.0002, centre + rng.gauss(0.0, spread)), 12)


def miner_row(
    layout: Layout,
    turn_id: str,
    references: list[Record],
    samples: list[tuple[str, str]],
    gain: float,
    miner: str,
    rng: random.Random,
) -> Record:
    """One row of a side: a pair for every reference (from wvk 7), or as many as both have (before)."""
    pairs = []
    count = len(references) if layout.version >= 7 else min(len(references), len(samples))
    echoes: dict[int, tuple[float, float]] = {}
    for place in range(count):
        reference = references[place]
        sample = place if len(samples) > place else 0
        z_a, y_a = samples[sample]
        own, empty = reference["lp_own"], reference["lp_empty"]
        pair: Record = {}
        if layout.name in ("s2", "v3"):
            for name in ("lpA_yc_za", "lpA_yc_zc", "lpA_yc_e", "lpA_ya_za", "lpA_ya_zc", "lpA_ya_e"):
                pair[name] = _lp(rng, -0.1, 0.05)
        pair["lpC_yc_za"] = _lp(rng, empty + (own - empty) * 0.4 + gain, 0.03)
        if layout.version != 3 or layout.name == "v3":
            if sample not in echoes:
                base = _lp(rng, -0.12, 0.05)
                echoes[sample] = (_lp(rng, base + 0.05, 0.02), base)
            pair["lpC_ya_za"], pair["lpC_ya_e"] = echoes[sample]
        if layout.name in ("s2", "v3") or layout.version >= 10:
            pair["lpC_ya_zc"] = _lp(rng, -0.12, 0.05)
        pair["lpC_yc_zc"], pair["lpC_yc_e"] = own, empty
        if layout.version >= 10:
            pair["lpC_za_x"], pair["lpC_zc_x"] = _lp(rng, -0.3, 0.1), reference["lp_thought"]
        pair["z_a"], pair["y_a"] = z_a, y_a
        if layout.name != "s2":
            gap = own - empty
            pair["eta"] = None if abs(gap) < 1e-9 else (pair["lpC_yc_za"] - empty) / gap
        if layout.name in ("s2", "v3"):
            pair["L2_bank"] = round(rng.gauss(0.0, 0.05), 12)
        pairs.append(pair)
    row: Record = {"pairs": pairs, "valid": True, "n_pairs": len(pairs)}
    if layout.name in ("s2", "v3"):
        row["bank_frac"] = round(rng.random(), 2)
        row["L2_bank"] = round(statistics.mean(p["L2_bank"] for p in pairs), 12) if pairs else None
    return row | {"turn_id": turn_id, "miner": miner}


def turn_score(pairs: Sequence[Record], tau: float | None) -> float:
    """Reason of a turn: the mean over pairs (v3), or the tempered mean (v4, B.5)."""
    gains = [pair["lpC_yc_za"] - pair["lpC_yc_e"] for pair in pairs]
    if not tau or tau <= 0:
        return float(statistics.mean(gains))
    if len(gains) == 1:
        return float(gains[0])
    top = max(gains)
    return float(top + tau * math.log(statistics.mean(math.exp((gain - top) / tau) for gain in gains)))


def leaks(action: str, thought: str) -> bool:
    """Whether a thought gives the action away (B.5)."""
    command = action.removeprefix("```bash\n").removesuffix("\n```").strip()
    if not command:
        return False
    if command in thought:
        return True
    tokens = [token for token in command.split() if len(token) >= 3]
    return bool(tokens) and sum(token in thought for token in tokens) / len(tokens) >= 0.6


def paired(king: Sequence[Record], challenger: Sequence[Record], tau: float | None) -> list[float]:
    """Challenger minus king over the turns valid on both sides, in the order of the king's rows."""
    theirs = {row["turn_id"]: row for row in challenger if row["valid"]}
    return [
        turn_score(theirs[row["turn_id"]]["pairs"], tau) - turn_score(row["pairs"], tau)
        for row in king
        if row["valid"] and row["turn_id"] in theirs
    ]


def _side_numbers(layout: Layout, rows: Sequence[Record], tau: float | None) -> Record:
    valid = [row for row in rows if row["valid"]]
    pairs = [pair for row in valid for pair in row["pairs"]]
    etas = [pair["eta"] for pair in pairs if pair.get("eta") is not None]
    scores = [turn_score(row["pairs"], tau) for row in valid]
    reason = [pair["lpC_yc_za"] - pair["lpC_yc_e"] for pair in pairs] if tau is None else scores
    numbers: Record = {
        "reason": statistics.mean(reason) if reason else None,
        "n_turns": len(rows),
        "n_pairs": len(pairs),
        "gate_pass_rate": 0.0,
        "bank_frac": None,
        "calib_ratio": None,
        "baseline_abs": None,
        "mean_l1lift": None,
        "mean_eta": statistics.mean(etas) if etas else None,
        "mean_len_z": statistics.mean(len(p["z_a"]) for p in pairs) if pairs else None,
        "median_len_z": float(statistics.median(len(p["z_a"].strip()) for p in pairs)) if pairs else None,
        "mean_len_y": statistics.mean(len(p["y_a"]) for p in pairs) if pairs else None,
    }
    if layout.version >= 6:
        lifts = [p["lpC_ya_za"] - p["lpC_ya_e"] for p in pairs]
        passed = [lift >= 0.02 and not leaks(p["y_a"], p["z_a"]) for lift, p in zip(lifts, pairs, strict=True)]
        numbers["mean_b"] = statistics.mean(lifts) if lifts else None
        numbers["b_gate_pass_rate"] = sum(passed) / len(passed) if passed else None
    else:
        del numbers["median_len_z"]
        numbers["bank_frac"] = statistics.mean(row["bank_frac"] for row in valid)
        numbers["gate_pass_rate"] = sum(p["lpA_yc_za"] > p["lpA_yc_e"] for p in pairs) / len(pairs)
    return numbers


def make_verdict(
    layout: Layout, references: dict[str, list[Record]], king: list[Record], challenger: list[Record], turns: int
) -> Record:
    """The verdict of a duel by the era's rule (B.5); S* v2's own mix is not documented and stands in for itself."""
    tau = 0.03 if layout.version >= 7 else None
    differences = paired(king, challenger, tau)
    count = len(differences)
    margin: float | None = statistics.mean(differences) if count else None
    se: float | None = statistics.stdev(differences) / math.sqrt(count) if count > 1 else None
    if count < 2:
        margin = 0.0 if count else None
    z: float | None = None
    if margin is not None and se:
        z = margin / se
    if layout.name == "s2":
        minimum = 0.05
        record: Record = {
            "challenger_wins": bool(z is not None and margin is not None and margin > max(3.0 * (se or 0), minimum)),
            "margin": margin,
            "se": se,
            "z": z,
            "k_sigma": layout.k_sigma,
            "n_paired_turns": count,
            "ranking_formula": "Λ2 + 1.0·L1lift",
            "gates": {
                "tau": 0.02,
                "gamma": 0.3,
                "gamma_bank": 0.08,
                "l1_weight": 1.0,
                "min_se": 0.005,
                "min_margin": minimum,
            },
        }
        for name, rows in (("king", king), ("challenger", challenger)):
            pairs = [p for row in rows if row["valid"] for p in row["pairs"]]
            record[name] = {
                "valid": True,
                "S": statistics.mean(p["lpC_yc_za"] - p["lpC_yc_e"] for p in pairs),
                "gate_pass_rate": sum(p["lpA_yc_za"] > p["lpA_yc_e"] for p in pairs) / len(pairs),
                "bank_frac": statistics.mean(row["bank_frac"] for row in rows if row["valid"]),
                "n_turns": len(rows),
                "n_pairs": len(pairs),
                "mean_lambda2": statistics.mean(p["L2_bank"] for p in pairs),
                "mean_mix": statistics.mean(p["lpC_yc_za"] - p["lpC_yc_e"] for p in pairs),
            }
        return record
    sides = {"king": _side_numbers(layout, king, tau), "challenger": _side_numbers(layout, challenger, tau)}
    pool = [reference for held in references.values() for reference in held]
    teacher = {
        "mean_len_z": statistics.mean(len(r["z"]) for r in pool),
        "mean_len_y": statistics.mean(len(r["y"]) for r in pool),
    }
    for numbers in sides.values():
        numbers["len_z_delta"] = numbers["mean_len_z"] - teacher["mean_len_z"]
        numbers["len_y_delta"] = numbers["mean_len_y"] - teacher["mean_len_y"]
    floor = layout.min_margin if layout.version >= 4 else 0.0
    wins = margin is not None and se is not None and margin > max(layout.k_sigma * se, floor)
    reason = None
    if wins and layout.version >= 6:
        if sides["challenger"]["median_len_z"] < 80:
            wins, reason = False, "thought_too_short"
        elif sides["challenger"]["b_gate_pass_rate"] < 0.3:
            wins, reason = False, "causality_fail"
    record = {"challenger_wins": bool(wins)}
    if layout.version >= 5:
        record["rejection_reason"] = reason
    record |= {"margin": margin, "se": se, "z": z, "k_sigma": layout.k_sigma}
    parameters: Record = {"n_turns": turns, "k_sigma": layout.k_sigma}
    if layout.version >= 4:
        record["min_margin"] = layout.min_margin
        parameters |= {
            "min_margin": layout.min_margin,
            "min_thought_chars": 80,
            "causality_gate": True,
            "causality_gamma": 0.3,
        }
        if layout.version >= 7:
            parameters["tau"] = tau
        parameters |= {"n_teacher_samples": layout.references, "n_miner_samples": layout.miner_samples}
    record["n_paired_turns"] = count
    if layout.version >= 10:
        parameters |= {
            "score_mode": "min_rg",
            "band_c": 1.0,
            "band_floor": 0.0,
            "forfeit_turn_score": -0.1,
            "require_think_close": False,
            "allowed_action_kinds": ["bash"],
            "max_thought_tokens": 1024,
            "max_action_tokens": 768,
            "max_tokens_by_kind": {"bash": 768},
        }
        record["n_forfeit_turns"] = sum(not row["valid"] for row in challenger)
        for name, rows in (("king", king), ("challenger", challenger)):
            forfeits = sum(not row["valid"] for row in rows)
            sides[name] |= {
                "n_forfeits": forfeits,
                "forfeit_rate": forfeits / len(rows) if rows else 0.0,
                "n_samples": len(rows),
                "think_close_rate": 1.0,
                "by_dialect": {"bash": len(rows)},
            }
    record["ranking_formula"] = (
        "Reason(turn) = tau·log(mean_i exp((lpC(y_i|z_A) − lpC(y_i|∅))/tau))"
        if layout.version >= 7
        else "Reason = lpC(y_C|z_A) − lpC(y_C|∅)"
    )
    record |= {"duel_params": parameters, **sides, "teacher": teacher}
    record["duel_seconds"] = round(300 + 11.5 * turns, 1)
    return record


# ---- duels


@dataclass(frozen=True)
class Duel:
    """One duel to write: number, layout, and what is special about it."""

    number: int
    layout: str
    special: str = ""


_FIRST = (
    Duel(781, "wvk6"),
    Duel(812, "wvk7", "empty_reference"),
    Duel(640, "s2"),
    Duel(702, "v3"),
    Duel(855, "wvk7", "probe"),
    Duel(931, "wvk8", "short"),
    Duel(1014, "wvk9", "win"),
    Duel(121, "wvk12", "later_fields"),
)
# Its number comes again after the reset; the index keeps both lines, the object is the later one.
_BEFORE_RESET = Duel(121, "s2")


def plan(count: int) -> list[Duel]:
    """The duels in order of publication; beyond the first eight they are of epoch 13."""
    duels = list(_FIRST[:count])
    for extra in range(count - len(_FIRST)):
        layout = ("wvk7", "wvk8", "wvk9", "wvk6")[extra % 4]
        duels.append(Duel(1100 + extra, layout, ("", "win", "", "short")[extra // 4 % 4]))
    return duels


def make_duel(seed: int, duel: Duel, corpus: Corpus, turns: int, references: int | None) -> tuple[Record, Layout]:
    """One duel record (A.2)."""
    layout = LAYOUTS[duel.layout]
    asked = references or layout.references
    rng = random.Random(f"{seed}:duel:{duel.number}:{duel.layout}")
    block_hash = "0x" + digest_hex(f"{seed}:block:{duel.number}:{duel.layout}")
    attempt = 0
    while True:
        hotkey = "5F" + digest_hex(f"{seed}:hotkey:{duel.number}:{duel.layout}:{attempt}", 46)
        number = slice_seed(block_hash, hotkey)
        # One seed beyond the signed range is there for certain, and one inside it.
        if duel.special not in ("empty_reference", "short") or (number >= 2**63) == (duel.special == "empty_reference"):
            break
        attempt += 1
    turn_ids = sample_slice(corpus.rows, turns, number)
    digest = hashlib.sha256("".join(turn_id + "\n" for turn_id in turn_ids).encode()).hexdigest()
    cut: Record = {
        "seed": number,
        "n": len(turn_ids),
        "digest": digest,
        "block_hash": block_hash,
        "corpus_epoch": corpus.epoch,
        "manifest_sha256": corpus.manifest_sha256,
    }
    if layout.version >= 11:
        cut |= {
            "view_spec": _VIEW,
            "corpus_base_url": "https://data.affine.io",
            "dialects": {"bash": len(turn_ids)},
        }
    job_id = "duel-" + digest_hex(f"{seed}:job:{duel.number}:{duel.layout}", 12)
    request = {
        "king_repo": _KING[0],
        "king_revision": _KING[1],
        "challenger_repo": f"invented/affine-challenger-{duel.number}",
        "challenger_revision": digest_hex(f"revision:{duel.number}:{duel.layout}", 40),
        "challenger_hotkey": hotkey,
        "block_hash": block_hash,
        "challenger_weight_bytes": _WEIGHT_BYTES,
    }
    if duel.special == "probe":
        reason = "unpromptable:probe_no_parsable_action_in_3_turns"
        verdict: Record = {"challenger_wins": False, "rejection_reason": reason, "slice": cut, "job_id": job_id}
        return {
            "job_id": job_id,
            "request": request,
            "verdict": verdict,
            "slice": cut,
            "turn_ids": turn_ids,
            "rejection_reason": reason,
        }, layout
    held: dict[str, list[Record]] = {}
    rows: dict[str, list[Record]] = {"king": [], "challenger": []}
    gains = {"king": 0.0, "challenger": {"win": 0.07, "short": 0.07}.get(duel.special, rng.gauss(-0.004, 0.004))}
    for place, turn_id in enumerate(turn_ids):
        traj_id, _, index = turn_id.rpartition(":")
        trajectory, turn = corpus.trajectories[traj_id], int(index)
        count = asked - (asked > 1 and rng.random() < 0.06)
        found = [teacher_reference(trajectory, turn, rng, layout.version) for _ in range(count)]
        if duel.special == "empty_reference" and place == 1:
            found = []
        if duel.special == "later_fields":
            _later_fields(found, rng)
        held[turn_id] = found
        if not found:
            continue
        for miner in ("king", "challenger"):
            broken = rng.random() < 0.02 or (duel.special == "empty_reference" and miner == "challenger" and place == 2)
            if broken:
                rows[miner].append({"valid": False, "turn_id": turn_id, "miner": miner})
                continue
            agent = trajectory.agents[turn].fork(rng)
            agent.prefix_cd = False
            samples = []
            for _ in range(layout.miner_samples):
                _, step, _, _ = agent.fork(rng).step(turn, 14)
                thought = agent.thought_about("read", step.command)
                if miner == "king":
                    thought = f"{thought} {_CUE}"
                elif duel.special == "short":
                    thought = "Next step."
                samples.append((thought, f"```bash\n{step.command}\n```"))
            rows[miner].append(miner_row(layout, turn_id, found, samples, gains[miner], miner, rng))
    for side in rows.values():
        # Rows are published in the order in which they were completed.
        rng.shuffle(side)
    verdict = make_verdict(layout, held, rows["king"], rows["challenger"], turns)
    verdict |= {"slice": cut, "job_id": job_id}
    return {
        "job_id": job_id,
        "request": request,
        "verdict": verdict,
        "slice": cut,
        "turn_ids": turn_ids,
        "teacher_refs": held,
        "king_rows": rows["king"],
        "challenger_rows": rows["challenger"],
    }, layout


def _record_bytes(record: Record) -> bytes:
    return gzip_bytes(json.dumps(record, ensure_ascii=False).encode())


def _index_line(duel: Duel, layout: Layout, record: Record, size: int, order: int) -> tuple[datetime, bytes]:
    moment = layout.day + timedelta(minutes=53 * (order % 40) + order // 40, microseconds=123456 + duel.number)
    verdict = record["verdict"]
    name = f"chal-{duel.number:05d}"
    line = {
        "key": f"evals/{name}.json.gz",
        "bytes": size,
        "at": moment.isoformat(),
        "challenge_id": name,
        "repo": record["request"]["challenger_repo"],
        "revision": record["request"]["challenger_revision"],
        "hotkey": record["request"]["challenger_hotkey"],
        "challenger_wins": verdict["challenger_wins"],
        "z": verdict.get("z"),
        "margin": verdict.get("margin"),
        "rejection_reason": verdict.get("rejection_reason"),
    }
    return moment, json.dumps(line).encode() + b"\n"


def write(root: Path, *, seed: int, scale: str, duels: int, turns: int, references: int | None) -> Iterator[Written]:
    """Write `sn120/`: five corpus epochs, the duels and their index."""
    chosen = plan(duels)
    try:
        yield from _write(root, seed, scale, chosen, turns, references)
    except OSError as error:
        raise fault(root / "sn120", error) from error


def _write(
    root: Path, seed: int, scale: str, chosen: list[Duel], turns: int, references: int | None
) -> Iterator[Written]:
    large = max(6, turns // 5)
    early = max(3, turns // 7)
    trajectories = [make_trajectory(seed, scale, number) for number in range(large)]
    bucket = Bucket(root)
    corpora = {
        1: flat_corpus(bucket, 1, trajectories[:early]),
        6: chunk_corpus(bucket, 6, trajectories[:early], bridge=True),
        7: chunk_corpus(bucket, 7, trajectories[: early + 1]),
        13: chunk_corpus(bucket, 13, trajectories),
        19: view_corpus(bucket, 19, trajectories[-early:]),
    }
    bucket.put("turns/manifest.json", bucket.pointer)
    yield from bucket.files
    lines: list[tuple[datetime, bytes]] = []
    if any(duel.number == _BEFORE_RESET.number for duel in chosen):
        corpus = corpora[LAYOUTS[_BEFORE_RESET.layout].epoch]
        record, layout = make_duel(seed, _BEFORE_RESET, corpus, turns, references)
        lines.append(_index_line(_BEFORE_RESET, layout, record, len(_record_bytes(record)), 0))
    for order, duel in enumerate(chosen):
        corpus = corpora[LAYOUTS[duel.layout].epoch]
        record, layout = make_duel(seed, duel, corpus, turns, references)
        data = _record_bytes(record)
        written = write_file(root / "sn120" / "evals" / f"chal-{duel.number:05d}.json.gz", data)
        lines.append(_index_line(duel, layout, record, written.size, order))
        yield Written(written.size, written.sha256, 1)
    if lines:
        lines.sort()
        yield write_file(root / "sn120" / "evals" / "index.jsonl", b"".join(line for _, line in lines))
