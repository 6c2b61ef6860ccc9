"""Strata, seeds and slices of the turn corpus (contract sn120 B.6)."""

import hashlib
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

_FAMILY = re.compile(r"(func_basic|func_pm|lm_rewrite|lm_modify|combine_|pr_\d+)")

Item = TypeVar("Item", bound=Mapping[str, Any])


def stratum_key(record: Mapping[str, Any]) -> str:
    """Return the stratum of a record: the one it names, else repository and task family from its `traj_id`."""
    if record.get("stratum"):
        return str(record["stratum"])
    traj_id = str(record.get("traj_id") or "")
    repository = traj_id.partition(".")[0] if traj_id else "unknown"
    family = _FAMILY.search(traj_id)
    return f"{repository}|{family.group(1) if family else 'other'}"


def phase_third(assistant_index: int, assistant_count: int) -> str:
    """Return the third of its trajectory an assistant message is in: `early`, `mid` or `late`; no message is
    early.
    """
    share = assistant_index / assistant_count if assistant_count else 0.0
    if share < 1 / 3:
        return "early"
    return "mid" if share < 2 / 3 else "late"


def make_traj_id(instance_id: str, run_tag: str) -> str:
    """Return the trajectory id of an instance: its name, 8 hex digits of its sha256, its number and the run
    tag.
    """
    begin = len(instance_id)
    while begin and instance_id[begin - 1].isdecimal():
        begin -= 1
    name, number = instance_id[:begin], instance_id[begin:]
    name = name[:-1] if number and name.endswith("-") else instance_id
    digest = hashlib.sha256(instance_id.encode()).hexdigest()[:8]
    return f"{name}.{digest}.pr_{number or '0'}__{run_tag}"


def duel_seed(block_hash: str, hotkey: str) -> int:
    """Return the slice seed of a duel, an unsigned 64-bit number."""
    digest = hashlib.blake2b((block_hash + hotkey).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def slice_digest(turn_ids: Iterable[str]) -> str:
    """Return the sha256 (hex) over the ordered turn ids, each followed by a newline."""
    digest = hashlib.sha256()
    for turn_id in turn_ids:
        digest.update(turn_id.encode() + b"\n")
    return digest.hexdigest()


def sample_slice(rows: Sequence[Item], count: int, seed: int) -> list[Item]:
    """Draw `count` rows of an index by a seed, evenly over the strata; all rows, shuffled, when there are not
    more.
    """
    generator = random.Random(seed)
    if count >= len(rows):
        drawn = list(rows)
        generator.shuffle(drawn)
        return drawn
    groups: dict[str, list[Item]] = {}
    for row in rows:
        groups.setdefault(stratum_key(row), []).append(row)
    for group in groups.values():
        generator.shuffle(group)
    names = sorted(groups)
    generator.shuffle(names)
    drawn = []
    turn = 0
    while len(drawn) < count:
        names = [name for name in names if turn < len(groups[name])]
        drawn += [groups[name][turn] for name in names[: count - len(drawn)]]
        turn += 1
    generator.shuffle(drawn)
    return drawn
