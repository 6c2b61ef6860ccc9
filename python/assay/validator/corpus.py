"""Turns of the corpus: from a trajectory record and back (contract sn120 A.5, A.6)."""

from collections.abc import Mapping, Sequence
from typing import Any

Message = Mapping[str, Any]

_PACKED_TAGS = {"source": "swe", "language": "python"}


def _plain(message: Message) -> dict[str, Any]:
    return {"role": message["role"], "content": message["content"]}


def _characters(messages: Sequence[Message]) -> int:
    return sum(len(message["content"]) for message in messages)


def materialize_turn(trajectory: Mapping[str, Any], turn: Mapping[str, Any]) -> dict[str, Any]:
    """Return the flat turn record (schema 1) of one entry of a trajectory's `turns`.

    Stored lengths win, missing ones are counted; absent texts are empty, `source` and `language` stay absent.
    Raises ValueError when the position is not an assistant reply after a prefix that ends on a user message.
    """
    messages = trajectory["messages"]
    position = int(turn["msg_pos"])
    if not 0 <= position < len(messages):
        raise ValueError("msg_pos is outside the messages")
    reply = messages[position]
    if reply.get("role") != "assistant":
        raise ValueError("msg_pos is not an assistant message")
    prefix = [_plain(message) for message in messages[:position]]
    if not prefix or prefix[-1]["role"] != "user":
        raise ValueError("the prefix does not end on a user message")
    record: dict[str, Any] = {
        "traj_id": trajectory["traj_id"],
        "turn_idx": int(turn["turn_idx"]),
        "prefix": prefix,
        "reference_turn": reply["content"],
        "suffix_len": int(turn.get("suffix_len", len(reply["content"]))),
        "n_prefix_chars": int(turn.get("n_prefix_chars", _characters(prefix))),
        "instance_id": trajectory.get("instance_id", ""),
        "repo": trajectory.get("repo", ""),
        "model": trajectory.get("model", ""),
        "phase": turn.get("phase") or trajectory.get("phase", ""),
        "action_kind": trajectory.get("action_kind", "bash"),
        "generated_at": trajectory.get("generated_at", ""),
    }
    for tag in ("source", "language"):
        if trajectory.get(tag) is not None:
            record[tag] = trajectory[tag]
    return record


def rebuild_trajectory(turns: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the trajectory record that holds all given flat turns of one trajectory.

    A trajectory without tags gets those of packing: `source` is `swe`, `language` is `python`. Raises ValueError
    without turns, for an empty reply, and when a prefix or reply differs from the longest turn's.
    """
    ordered = sorted(turns, key=lambda turn: int(turn["turn_idx"]))
    if not ordered:
        raise ValueError("a trajectory has at least one turn")
    longest = ordered[-1]
    messages = [_plain(message) for message in longest["prefix"]]
    messages.append({"role": "assistant", "content": longest["reference_turn"]})
    entries: list[dict[str, Any]] = []
    for turn in ordered:
        prefix = [_plain(message) for message in turn["prefix"]]
        reply = turn["reference_turn"]
        if not reply:
            raise ValueError("a reply is empty")
        position = len(prefix)
        if prefix != messages[:position]:
            raise ValueError("a prefix differs from the longest one")
        if position >= len(messages) or messages[position] != {"role": "assistant", "content": reply}:
            raise ValueError("a reply differs from the longest prefix")
        entries.append(
            {
                "turn_idx": int(turn["turn_idx"]),
                "msg_pos": position,
                "phase": turn.get("phase", ""),
                "suffix_len": int(turn.get("suffix_len", len(reply))),
                "n_prefix_chars": int(turn.get("n_prefix_chars", _characters(prefix))),
            }
        )
    first = ordered[0]
    record: dict[str, Any] = {"traj_id": first["traj_id"], "messages": messages, "turns": entries}
    for key in ("instance_id", "repo", "model"):
        record[key] = first.get(key, "")
    record["action_kind"] = first.get("action_kind", "bash")
    record["generated_at"] = first.get("generated_at", "")
    for tag, default in _PACKED_TAGS.items():
        record[tag] = default if first.get(tag) is None else first[tag]
    return record
