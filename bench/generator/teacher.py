"""Teacher duels of corpus epoch 13 and the corpus they draw from, in the published layout."""

import gzip
import hashlib
import json
import math
import random
import statistics
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bench.generator.agent import MARKER, observation, play
from bench.generator.duels import digest
from bench.generator.world import issue

Record = dict[str, Any]
EPOCH = 13
_TAU, _K_SIGMA, _MIN_MARGIN = 0.03, 2.0, 0.002
_SYSTEM = (
    "You drive a bash shell to solve the task. Reply with exactly one bash code block that holds one command.\n"
    "Put a THOUGHT section before it."
)
_TRAJECTORIES_A_CHUNK = 1000


def trajectory(seed: int, number: int, small: bool) -> Record:
    """One line of a chunk: a conversation and its scorable turns."""
    rng = random.Random(f"{seed}:corpus:{number}")
    task = issue(number)
    submit = f"echo {MARKER}"
    side = play(task, rng, 6 if small else rng.randint(8, 14), rng.uniform(0.5, 0.9), submit)
    messages = [
        {"role": "system", "content": _SYSTEM},
        {"role": "user", "content": task.task(submit, 100 if small else 1200)},
    ]
    turns: list[Record] = []
    for index, step in enumerate(side.steps):
        thought = step.text.removeprefix("THOUGHT: ").partition("```")[0].strip()
        text = f"THOUGHT: {thought}\n\n```bash\n{step.command}\n```"
        if step.command:
            length = sum(len(message["content"]) for message in messages)
            turns.append({"turn_idx": index, "msg_pos": len(messages), "phase": "", "suffix_len": len(text),
                          "n_prefix_chars": length})  # fmt: skip
        messages.append({"role": "assistant", "content": text})
        if index < len(side.steps) - 1:
            messages.append({"role": "user", "content": observation("returncode", step.body, step.returncode)})
    for turn in turns:
        share = turn["turn_idx"] / len(side.steps)
        turn["phase"] = "early" if share < 1 / 3 else "mid" if share < 2 / 3 else "late"
    owner_name, _, pull = task.instance_id.rpartition("-")
    return {
        "traj_id": f"{owner_name}.{digest(task.instance_id, 8)}.pr_{pull}__{digest(f'{seed}:{number}', 8)}",
        "messages": messages,
        "turns": turns,
        "instance_id": task.instance_id,
        "repo": f"invented/{task.package}",
        "model": f"invented/agent-{1 + number % 3}",
        "action_kind": "bash",
        "generated_at": "2026-08-01T00:00:00+00:00",
        "source": ("swe", "scaleswe", "terminal_lego")[number % 3],
        "language": "python",
    }


def write(root: Path, seed: int, duels: int, turns: int, references: int, small: bool) -> int:
    """Write `sn120/`: one corpus epoch, `duels` records of `turns` turns, their index. Returns how many references."""
    bucket = root / "sn120"
    corpus = [trajectory(seed, number, small) for number in range(max(6, turns // 5))]
    rows, manifest = _write_corpus(bucket, corpus)
    texts = {line["traj_id"]: line for line in corpus}
    (bucket / "evals").mkdir(parents=True, exist_ok=True)
    lines, written = [], 0
    for number in range(duels):
        record = _record(seed, 760 + number, rows, texts, manifest, turns, references)
        written += sum(map(len, record["teacher_refs"].values()))
        name = f"chal-{760 + number:05d}"
        data = gzip.compress(json.dumps(record, ensure_ascii=False).encode(), 6, mtime=0)
        (bucket / "evals" / f"{name}.json.gz").write_bytes(data)
        request, verdict = record["request"], record["verdict"]
        at = datetime(2026, 8, 17, 2, tzinfo=UTC) + timedelta(minutes=53 * number, microseconds=123456)
        lines.append({"key": f"evals/{name}.json.gz", "bytes": len(data), "at": at.isoformat(), "challenge_id": name,
                      "repo": request["challenger_repo"], "revision": request["challenger_revision"],
                      "hotkey": request["challenger_hotkey"], "challenger_wins": verdict["challenger_wins"],
                      "z": verdict["z"], "margin": verdict["margin"], "rejection_reason": None})  # fmt: skip
    (bucket / "evals" / "index.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return written


def _write_corpus(bucket: Path, corpus: list[Record]) -> tuple[list[Record], str]:
    rows: list[Record] = []
    entries: list[Record] = []
    for start in range(0, len(corpus), _TRAJECTORIES_A_CHUNK):
        part = corpus[start : start + _TRAJECTORIES_A_CHUNK]
        key = f"turns/chunks/chunk_{EPOCH:04d}_{len(entries):04d}.jsonl.gz"
        data = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in part).encode()
        _put(bucket / key, gzip.compress(data, 6, mtime=0))
        entries.append({"key": key, "sha256": hashlib.sha256(data).hexdigest(), "n_trajectories": len(part),
                        "n_turns": sum(len(line["turns"]) for line in part), "format": "traj_v1",
                        "active": True})  # fmt: skip
        for at, line in enumerate(part):
            stratum = line["traj_id"].partition(".")[0] + "|pr_" + line["instance_id"].rpartition("-")[2]
            rows += [{"turn_id": f"{line['traj_id']}:{turn['turn_idx']}", "traj_id": line["traj_id"],
                      "turn_idx": turn["turn_idx"], "stratum": stratum, "phase": turn["phase"],
                      "source": line["source"], "language": line["language"], "chunk_key": key, "traj_line": at,
                      "msg_pos": turn["msg_pos"], "n_prefix_chars": turn["n_prefix_chars"]}
                     for turn in line["turns"]]  # fmt: skip
    numbers = ("turn_idx", "traj_line", "msg_pos", "n_prefix_chars")
    schema = pa.schema([(name, pa.int32() if name in numbers else pa.string()) for name in rows[0]])
    index = f"turns/index/turns_{EPOCH:04d}.parquet"
    (bucket / index).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), bucket / index, compression="zstd")
    manifest = {
        "corpus_epoch": EPOCH,
        "schema_version": 2,
        "created_at": "2026-08-15T09:00:00+00:00",
        "index": {
            "key": index,
            "sha256": hashlib.sha256((bucket / index).read_bytes()).hexdigest(),
            "n_turns": len(rows),
        },
        "shards": entries,
        "prev_manifest": None,
    }
    data = json.dumps(manifest, indent=2, sort_keys=True).encode()
    sha256 = hashlib.sha256(data).hexdigest()
    _put(bucket / f"turns/manifests/{sha256}.json", data)
    _put(bucket / "turns/manifest.json", data)
    return rows, sha256


def _put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _slice(rows: list[Record], count: int, seed: int) -> list[str]:
    """Draw turns round robin over shuffled strata, as the evaluator does."""
    rng = random.Random(seed)
    if count >= len(rows):
        ids = [row["turn_id"] for row in rows]
        rng.shuffle(ids)
        return ids
    strata: dict[str, list[str]] = {}
    for row in rows:
        strata.setdefault(row["stratum"], []).append(row["turn_id"])
    for group in strata.values():
        rng.shuffle(group)
    names = sorted(strata)
    rng.shuffle(names)
    depths = range(max(map(len, strata.values())))
    drawn = [strata[name][depth] for depth in depths for name in names if depth < len(strata[name])][:count]
    rng.shuffle(drawn)
    return drawn


def _reference(line: Record, turn: int, rng: random.Random) -> Record:
    """One teacher sample: mostly the trajectory's own step, in some spelling, its thought with some published flaw."""
    own = next(entry for entry in line["turns"] if entry["turn_idx"] == turn)
    if rng.random() < 0.3:
        own = rng.choice(line["turns"])
    said, _, rest = line["messages"][own["msg_pos"]]["content"].partition("\n\n```bash\n")
    command, thought = rest.removesuffix("\n```"), said.removeprefix("THOUGHT: ") + f" Seen at {rng.getrandbits(32):x}."
    roll = rng.random()
    if roll < 0.1:
        command = command.replace("python ", "python3 ", 1)
    elif roll < 0.2:
        command = f"cd /testbed && {command}"
    elif roll < 0.22:
        command = f"{command} | grep 'def"
    roll = rng.random()
    if roll < 0.22:
        thought = f"<think>\n{thought}"
    elif roll < 0.26:
        thought = f"</think>\nTHOUGHT: {thought}"
    elif roll < 0.3:
        thought = rng.choice(("", "Run the tests.", f"THOTHOUGHT: {thought}", f"<thinking>{thought}</thinking>"))
    empty = -abs(rng.gauss(0.16, 0.09)) - 0.004
    lp_own = round(min(-0.0003, empty + rng.gauss(0.045, 0.03)), 12)
    return {"z": thought, "y": f"```bash\n{command}\n```", "lp_own": lp_own, "lp_empty": round(empty, 12)}


def _row(turn_id: str, references: list[Record], miner: str, gain: float, rng: random.Random) -> Record:
    if rng.random() < 0.02:
        return {"valid": False, "turn_id": turn_id, "miner": miner}
    z, y = references[0]["z"] + " The analysis is complete, so the next command follows from it.", references[0]["y"]
    base = -abs(rng.gauss(0.12, 0.05))
    pairs = []
    for reference in references:
        own, empty = reference["lp_own"], reference["lp_empty"]
        score = round(empty + (own - empty) * 0.4 + gain + rng.gauss(0, 0.03), 12)
        eta = None if abs(own - empty) < 1e-9 else (score - empty) / (own - empty)
        pairs.append({"lpC_yc_za": score, "lpC_ya_za": base + 0.05, "lpC_ya_e": base, "lpC_yc_zc": own,
                      "lpC_yc_e": empty, "z_a": z, "y_a": y, "eta": eta})  # fmt: skip
    return {"pairs": pairs, "valid": True, "n_pairs": len(pairs), "turn_id": turn_id, "miner": miner}


def _turn_score(row: Record) -> float:
    gains = [pair["lpC_yc_za"] - pair["lpC_yc_e"] for pair in row["pairs"]]
    if len(gains) == 1:
        return float(gains[0])
    top = max(gains)
    return float(top + _TAU * math.log(statistics.mean(math.exp((gain - top) / _TAU) for gain in gains)))


def _record(
    seed: int, number: int, rows: list[Record], texts: dict[str, Record], manifest: str, turns: int, references: int
) -> Record:
    rng = random.Random(f"{seed}:duel:{number}")
    block_hash, hotkey = "0x" + digest(f"{seed}:block:{number}"), "5F" + digest(f"{seed}:hotkey:{number}", 46)
    slice_seed = int.from_bytes(hashlib.blake2b((block_hash + hotkey).encode(), digest_size=8).digest(), "little")
    turn_ids = _slice(rows, turns, slice_seed)
    held: dict[str, list[Record]] = {}
    sides: dict[str, list[Record]] = {"king": [], "challenger": []}
    gain = rng.gauss(0.0, 0.01)
    for turn_id in turn_ids:
        traj_id, _, turn = turn_id.rpartition(":")
        held[turn_id] = [_reference(texts[traj_id], int(turn), rng) for _ in range(references)]
        sides["king"].append(_row(turn_id, held[turn_id], "king", 0.0, rng))
        sides["challenger"].append(_row(turn_id, held[turn_id], "challenger", gain, rng))
    theirs = {row["turn_id"]: row for row in sides["challenger"] if row["valid"]}
    gaps = [
        _turn_score(theirs[row["turn_id"]]) - _turn_score(row)
        for row in sides["king"]
        if row["valid"] and row["turn_id"] in theirs
    ]
    margin = statistics.mean(gaps) if len(gaps) > 1 else 0.0
    se = statistics.stdev(gaps) / math.sqrt(len(gaps)) if len(gaps) > 1 else None
    cut = {"seed": slice_seed, "n": len(turn_ids), "block_hash": block_hash, "corpus_epoch": EPOCH,
           "digest": hashlib.sha256("".join(f"{turn_id}\n" for turn_id in turn_ids).encode()).hexdigest(),
           "manifest_sha256": manifest}  # fmt: skip
    parameters = {"n_turns": turns, "k_sigma": _K_SIGMA, "min_margin": _MIN_MARGIN, "min_thought_chars": 80,
                  "tau": _TAU, "causality_gate": False, "causality_gamma": 0.0, "n_teacher_samples": references,
                  "n_miner_samples": 1}  # fmt: skip
    verdict = {"challenger_wins": bool(se is not None and margin > max(_K_SIGMA * se, _MIN_MARGIN)), "margin": margin,
               "se": se, "z": margin / se if se else None, "k_sigma": _K_SIGMA, "min_margin": _MIN_MARGIN,
               "n_paired_turns": len(gaps), "rejection_reason": None, "duel_params": parameters, "slice": cut,
               "job_id": f"duel-{number}"}  # fmt: skip
    request = {"king_repo": "invented/king", "king_revision": digest("king", 40), "block_hash": block_hash,
               "challenger_repo": f"invented/challenger-{number}", "challenger_hotkey": hotkey,
               "challenger_revision": digest(f"revision:{number}", 40),
               "challenger_weight_bytes": 70214495944}  # fmt: skip
    return {"job_id": f"duel-{number}", "request": request, "verdict": verdict, "slice": cut, "turn_ids": turn_ids,
            "teacher_refs": held, "king_rows": sides["king"], "challenger_rows": sides["challenger"]}  # fmt: skip
