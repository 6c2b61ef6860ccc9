"""The teacher duels and their corpus: hashes, slices, joins and verdicts computed again."""

import gzip
import hashlib
import json
import math
import random
import statistics
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

Record = dict[str, Any]


def records(tree: Path) -> dict[str, Record]:
    return {
        path.name.split(".")[0]: json.loads(gzip.decompress(path.read_bytes()))
        for path in sorted((tree / "sn120/evals").glob("chal-*.json.gz"))
    }


def manifests(tree: Path) -> dict[str, Record]:
    found = {}
    for path in (tree / "sn120/turns/manifests").iterdir():
        assert hashlib.sha256(path.read_bytes()).hexdigest() == path.stem
        found[path.stem] = json.loads(path.read_bytes())
    return found


def json_lines(path: Path) -> tuple[bytes, list[Record]]:
    packed = path.read_bytes()
    # No name, no time: the header's flag byte and its clock are zero.
    assert packed[3:8] == b"\x00" * 5
    data = gzip.decompress(packed)
    return data, [json.loads(line) for line in data.split(b"\n")[:-1]]


def test_manifest_chain_and_hashes(tree: Path) -> None:
    held = manifests(tree)
    pointer = (tree / "sn120/turns/manifest.json").read_bytes()
    assert not pointer.endswith(b"\n")
    current = held[hashlib.sha256(pointer).hexdigest()]
    epochs = []
    while True:
        epochs.append((current["corpus_epoch"], current["schema_version"]))
        for entry in current["shards"]:
            data, lines = json_lines(tree / "sn120" / entry["key"])
            assert hashlib.sha256(data).hexdigest() == entry["sha256"]
            turns = (
                sum(len(line["turns"]) for line in lines) if "format" in entry and "traj" in entry["format"] else None
            )
            assert turns is None or turns == entry["n_turns"]
        if "index" in current:
            data = (tree / "sn120" / current["index"]["key"]).read_bytes()
            assert hashlib.sha256(data).hexdigest() == current["index"]["sha256"]
            assert pq.read_table(tree / "sn120" / current["index"]["key"]).num_rows == current["index"]["n_turns"]
        if current["prev_manifest"] is None:
            break
        current = held[Path(current["prev_manifest"]).stem]
    assert epochs == [(19, 3), (13, 2), (7, 2), (6, 2), (1, 1)]


def test_index_rows_point_to_their_turns(tree: Path) -> None:
    checked = 0
    for manifest in manifests(tree).values():
        if manifest["schema_version"] == 1:
            continue
        for row in pq.read_table(tree / "sn120" / manifest["index"]["key"]).to_pylist():
            _, lines = json_lines(tree / "sn120" / row["chunk_key"])
            record = lines[row["traj_line"]]
            messages = record.get("messages", record.get("nodes"))
            place = row.get("msg_pos", row.get("node_id"))
            traj_id = row.get("traj_id", row.get("rollout_id"))
            assert row["turn_id"] == f"{traj_id}:{row['turn_idx']}"
            assert messages[place]["role"] == "assistant" and messages[place - 1]["role"] == "user"
            assert row["n_prefix_chars"] == sum(len(m["content"]) for m in messages[:place])
            text = messages[place]["content"]
            assert text.count("```bash\n") == 1 and text.endswith("\n```") and text.startswith("THOUGHT: ")
            assert row["turn_idx"] == sum(m["role"] == "assistant" for m in messages[:place])
            checked += 1
    assert checked > 60


def test_untagged_records_have_the_packing_defaults(tree: Path) -> None:
    rows = pq.read_table(tree / "sn120/turns/index/turns_0013.parquet").to_pylist()
    empty = [row for row in rows if row["phase"] == ""]
    assert empty and all((row["source"], row["language"]) == ("swe", "python") for row in empty)
    assert {row["phase"] for row in rows} == {"", "early", "mid", "late"}
    assert {row["source"] for row in rows} == {"swe", "scaleswe", "terminal_lego"}


def test_layouts(tree: Path) -> None:
    held = records(tree)
    assert len(held) == 9
    whole = {name: r for name, r in held.items() if "teacher_refs" in r}
    probe = [r for r in held.values() if "teacher_refs" not in r]
    assert len(probe) == 1 and probe[0]["rejection_reason"].startswith("unpromptable:")
    assert "king_rows" not in probe[0]
    by_epoch: dict[int, list[Record]] = {}
    for record in whole.values():
        by_epoch.setdefault(record["slice"]["corpus_epoch"], []).append(record)
    assert sorted(by_epoch) == [1, 7, 13, 19]
    assert "gates" in by_epoch[1][0]["verdict"] and "duel_params" not in by_epoch[1][0]["verdict"]
    assert "tau" not in by_epoch[7][0]["verdict"]["duel_params"]
    samples = {r["verdict"]["duel_params"]["n_teacher_samples"] for r in by_epoch[13]}
    assert samples == {1, 3}
    late = by_epoch[19][0]
    references = [ref for held in late["teacher_refs"].values() for ref in held]
    assert all({"lp_thought", "lp_cross", "n_bytes_y"} <= set(ref) for ref in references)
    assert late["verdict"]["duel_params"]["score_mode"] == "min_rg" and "view_spec" in late["slice"]
    reasons = {r["verdict"].get("rejection_reason") for r in held.values()}
    assert {None, "thought_too_short"} < reasons
    assert any(r["verdict"]["challenger_wins"] for r in held.values())
    seeds = [r["slice"]["seed"] for r in held.values()]
    assert max(seeds) >= 2**63 and min(seeds) < 2**63


def test_index_repeats_a_number_across_the_reset(tree: Path) -> None:
    raw = (tree / "sn120/evals/index.jsonl").read_bytes()
    lines = [json.loads(line) for line in raw.split(b"\n")[:-1]]
    assert [line["at"] for line in lines] == sorted(line["at"] for line in lines)
    ids = [line["challenge_id"] for line in lines]
    repeated = {i for i in ids if ids.count(i) == 2}
    assert len(repeated) == 1 and len(set(ids)) == len(ids) - 1
    held = records(tree)
    assert set(ids) == set(held)
    for line in {line["challenge_id"]: line for line in lines}.values():
        record = held[line["challenge_id"]]
        assert line["bytes"] == (tree / "sn120" / line["key"]).stat().st_size
        for key in ("challenger_wins", "z", "margin"):
            assert line[key] == record["verdict"].get(key)
        assert line["hotkey"] == record["request"]["challenger_hotkey"]


def test_slices_can_be_drawn_again(tree: Path) -> None:
    held = manifests(tree)
    for record in records(tree).values():
        cut = record["slice"]
        assert record["verdict"]["slice"] == cut
        text = record["request"]["block_hash"] + record["request"]["challenger_hotkey"]
        seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
        assert cut["seed"] == seed
        joined = "".join(turn_id + "\n" for turn_id in record["turn_ids"])
        assert cut["digest"] == hashlib.sha256(joined.encode()).hexdigest()
        manifest = held[cut["manifest_sha256"]]
        assert manifest["corpus_epoch"] == cut["corpus_epoch"]
        if manifest["schema_version"] == 1:
            continue
        rows = pq.read_table(tree / "sn120" / manifest["index"]["key"]).to_pylist()
        rng = random.Random(seed)
        if cut["n"] < len(rows):
            groups: dict[str, list[str]] = {}
            for row in rows:
                groups.setdefault(row["stratum"], []).append(row["turn_id"])
            for group in groups.values():
                rng.shuffle(group)
            names = sorted(groups)
            rng.shuffle(names)
            flat = [groups[name][i] for i in range(99) for name in names if i < len(groups[name])]
            drawn = flat[: cut["n"]]
        else:
            drawn = [row["turn_id"] for row in rows]
        rng.shuffle(drawn)
        assert record["turn_ids"] == drawn


def test_references_and_pairs(tree: Path) -> None:
    empty = invalid = 0
    flawed = set()
    for record in records(tree).values():
        if "teacher_refs" not in record:
            continue
        assert list(record["teacher_refs"]) == record["turn_ids"]
        for held in record["teacher_refs"].values():
            empty += not held
            for ref in held:
                assert ref["y"].startswith("```bash\n") and ref["y"].endswith("\n```")
                assert ref["y"].count("\n```") == 1
                assert math.isfinite(ref["lp_own"]) and math.isfinite(ref["lp_empty"])
                flawed |= {mark for mark in ("<think>", "THOUGHT:", "<thinking>", "```bash") if mark in ref["z"]}
                flawed |= {"blank"} if not ref["z"] else {"short"} if len(ref["z"]) < 80 else set()
                flawed |= {"no lift"} if ref["lp_own"] <= ref["lp_empty"] else set()
        for side in ("king_rows", "challenger_rows"):
            rows = record[side]
            order = [row["turn_id"] for row in rows]
            assert len(set(order)) == len(order)
            assert set(order) == {t for t, held in record["teacher_refs"].items() if held}
            for row in rows:
                if not row["valid"]:
                    invalid += 1
                    assert set(row) == {"valid", "turn_id", "miner"}
                    continue
                held = record["teacher_refs"][row["turn_id"]]
                assert row["n_pairs"] == len(row["pairs"]) <= len(held)
                for ref, pair in zip(held, row["pairs"], strict=False):
                    assert (pair["lpC_yc_zc"], pair["lpC_yc_e"]) == (ref["lp_own"], ref["lp_empty"])
    assert empty and invalid
    assert flawed == {"<think>", "THOUGHT:", "<thinking>", "```bash", "blank", "short", "no lift"}


def test_margin_se_and_z_follow_the_rule_of_the_version(tree: Path) -> None:
    checked = 0
    for record in records(tree).values():
        verdict = record["verdict"]
        if "duel_params" not in verdict:
            continue
        tau = verdict["duel_params"].get("tau")
        scores: dict[str, dict[str, float]] = {}
        for side in ("king_rows", "challenger_rows"):
            scores[side] = {}
            for row in record[side]:
                if row["valid"]:
                    gains = [p["lpC_yc_za"] - p["lpC_yc_e"] for p in row["pairs"]]
                    mean = statistics.mean(gains)
                    if tau:
                        mean = tau * math.log(statistics.mean(math.exp(g / tau) for g in gains))
                    scores[side][row["turn_id"]] = mean
        king, challenger = scores["king_rows"], scores["challenger_rows"]
        differences = [challenger[t] - king[t] for t in king if t in challenger]
        margin = statistics.mean(differences)
        se = statistics.stdev(differences) / math.sqrt(len(differences))
        assert verdict["n_paired_turns"] == len(differences)
        assert verdict["margin"] == pytest.approx(margin, abs=1e-12)
        assert verdict["se"] == pytest.approx(se, abs=1e-12)
        assert verdict["z"] == pytest.approx(margin / se, abs=1e-9)
        beaten = margin > max(verdict["k_sigma"] * se, verdict.get("min_margin", 0.0))
        assert verdict["challenger_wins"] == (beaten and not verdict.get("rejection_reason"))
        if verdict.get("rejection_reason") == "thought_too_short":
            assert beaten and verdict["challenger"]["median_len_z"] < 80
        checked += 1
    assert checked >= 6
