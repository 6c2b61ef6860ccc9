"""A small bucket of corpus epoch 13, written by hand, whose parts a test can spoil."""

import gzip
import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Record = dict[str, Any]

THOUGHT = "I want to see which files there are before I open one of them, so I list the folder and read on from there."
TASK = [
    {"role": "system", "content": "Answer with one bash block.\nTHOUGHT: ...\n```bash\ncommand\n```"},
    {"role": "user", "content": "Fix the loader."},
]


def trajectory(traj_id: str, n_turns: int = 3, task: list[Record] | None = None) -> Record:
    """A trajectory whose every reply is a scorable turn."""
    messages, turns = list(task or TASK), []
    for index in range(n_turns):
        turns.append({"turn_idx": index, "msg_pos": len(messages), "phase": "early"})
        messages += [
            {"role": "assistant", "content": f"THOUGHT: step {index}\n\n```bash\nls {index}\n```"},
            {"role": "user", "content": f"<returncode>0</returncode>\n<output>\n{index}\n</output>"},
        ]
    return {"traj_id": traj_id, "messages": messages, "turns": turns, "source": "swe", "language": "python"}


def reference(
    command: str = "ls -la", thought: str = THOUGHT, lift: float | None = 0.05, action: str | None = None
) -> Record:
    """A published reference; `action` replaces the fenced command."""
    empty = None if lift is None else -0.2
    return {"z": thought, "y": action or f"```bash\n{command}\n```", "lp_own": -0.2 + (lift or 0), "lp_empty": empty}


class Bucket:
    """Writes chunks, index, manifests and records below `raw`/sn120."""

    def __init__(self, raw: Path, tokenizer: Path | None) -> None:
        """`tokenizer` is copied into the tree when there is one."""
        self.root = raw / "sn120"
        self.rows: list[Record] = []
        self.entries: list[Record] = []
        if tokenizer:
            shutil.copytree(tokenizer, raw / "tokenizer")

    def put(self, key: str, data: bytes) -> str:
        """Write bytes under a key and return their hash."""
        path = self.root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return hashlib.sha256(data).hexdigest()

    def chunk(self, trajectories: list[Record], sha256: str | None = None) -> None:
        """Write a chunk and list its turns in the index; `sha256` is published in place of the true one."""
        key = f"turns/chunks/chunk_0013_{len(self.entries):04d}.jsonl.gz"
        data = "".join(json.dumps(one) + "\n" for one in trajectories).encode()
        self.put(key, gzip.compress(data))
        self.entries.append(
            {"key": key, "sha256": sha256 or hashlib.sha256(data).hexdigest(), "n_trajectories": len(trajectories),
             "n_turns": 1, "format": "traj_v1", "active": True}
        )  # fmt: skip
        for line, one in enumerate(trajectories):
            for turn in one["turns"]:
                prefix = one["messages"][: turn["msg_pos"]]
                self.rows.append(
                    {"turn_id": f"{one['traj_id']}:{turn['turn_idx']}", "traj_id": one["traj_id"],
                     "turn_idx": turn["turn_idx"], "stratum": "a|b", "phase": "early", "source": "swe",
                     "language": "python", "chunk_key": key, "traj_line": line, "msg_pos": turn["msg_pos"],
                     "n_prefix_chars": sum(len(message["content"]) for message in prefix)}
                )  # fmt: skip

    def change_index(self, turn_id: str, **changes: Any) -> None:
        """Change the index row of a turn before the index is written."""
        next(row for row in self.rows if row["turn_id"] == turn_id).update(changes)

    def close(self, schema_version: int = 2) -> str:
        """Write index and manifest; return the manifest's hash."""
        key = "turns/index/turns_0013.parquet"
        (self.root / key).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(self.rows), self.root / key)
        digest = hashlib.sha256((self.root / key).read_bytes()).hexdigest()
        manifest = {"corpus_epoch": 13, "schema_version": schema_version, "index": {"key": key, "sha256": digest,
                    "n_turns": len(self.rows)}, "shards": self.entries}  # fmt: skip
        data = json.dumps(manifest).encode()
        sha256 = self.put("turns/manifest.json", data)
        self.put(f"turns/manifests/{sha256}.json", data)
        return sha256

    def record(
        self,
        name: str,
        manifest_sha256: str,
        references: Mapping[str, list[Record]] | None,
        corpus_epoch: int = 13,
        under: str = "",
        **more: Any,
    ) -> None:
        """Write a record without rows; `references` null: it has none. `under` is a folder before `evals/`."""
        cut = {"seed": 1, "n": len(references or ()), "corpus_epoch": corpus_epoch, "manifest_sha256": manifest_sha256}
        record = {"job_id": name, "request": {}, "verdict": {"slice": cut}, "slice": cut,
                  "turn_ids": list(references or ()), "king_rows": [], "challenger_rows": [], **more}  # fmt: skip
        if references is not None:
            record["teacher_refs"] = dict(references)
        self.put(f"{under}evals/{name}.json.gz", gzip.compress(json.dumps(record).encode()))
