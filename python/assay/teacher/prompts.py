"""Prompts of pooled turns from the verified corpus files, chunk by chunk (contract sn120 A.5, A.6, B.1, C.7)."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import assay.chat_templates
import assay.teacher
import assay.validator
from assay.chat_templates import ChatTemplate, TemplateRefusedError
from assay.landing.artifact import artifact_key
from assay.landing.run import STEP as LANDING
from assay.steps.runner import Step, Write, run
from assay.steps.state import code_fingerprint, digest, versions
from assay.steps.tables import batch_of
from assay.teacher.references import key_of
from assay.teacher.tables import OUTPUTS, PROMPTS
from assay.tokenizer_folder import chat_template_of, named_tokens_of
from assay.validator.corpus import materialize_turn
from assay.validator.prompts import open_think
from assay.validator.slices import stratum_key

TABLE = "teacher_prompts"
STEP = "teacher_prompts"
_MESSAGES_AT_A_TIME = 256
_FLUSH_CHARACTERS = 8 << 20
_ALONE_BYTES = 4 << 20
_MESSAGE_TABLES = {
    "trajectory": "sn120_trajectory_messages",
    "view": "sn120_trajectory_messages",
    "flat": "sn120_flat_turn_messages",
}

Message = Mapping[str, Any]
Place = Mapping[str, Any]


class PrefixError(ValueError):
    """Why a turn has no prefix, as a name of a few words."""


@dataclass(frozen=True)
class _Task:
    landing: Path
    artifact_id: str
    layout: str
    places: tuple[dict[str, Any], ...]
    version: str | None

    @property
    def key(self) -> str:
        return artifact_key(self.artifact_id)

    def landed(self, table: str) -> Path:
        return self.landing / table / f"{self.key}.parquet"

    @property
    def messages(self) -> Path:
        return self.landed(_MESSAGE_TABLES[self.layout])

    @property
    def name(self) -> str:
        return str(self.messages)

    @property
    def size(self) -> int:
        return self.messages.stat().st_size if self.messages.exists() else 0

    @property
    def stamp(self) -> list[Any] | None:
        return None if self.version is None else [self.version, digest(json.dumps(self.places, sort_keys=True))]


def render_turn(template: str, named_tokens: Mapping[str, str], prefix: Sequence[Message]) -> str:
    """Return the prompt of a prefix: the chat template with its generation prompt, and `<think>` open at the end (B.1).

    Raises TemplateRefusedError for a template that is broken, raises, or does more than its messages give reason to.
    """
    return open_think(_compiled(template, tuple(named_tokens.items())).render(prefix, add_generation_prompt=True))


@lru_cache(maxsize=1)
def _compiled(template: str, named_tokens: tuple[tuple[str, str], ...]) -> ChatTemplate:
    return ChatTemplate(template, dict(named_tokens))


def prefix_of_view(nodes: Sequence[Message], node_id: int | None) -> list[Message]:
    """Return the messages from the root to the parent of a node (corpus schema 3).

    `nodes` stand in order of their index and name their parent's (null or negative: a root). Raises PrefixError.
    """
    if node_id is None or not 0 <= node_id < len(nodes):
        raise PrefixError("node_outside_trajectory")
    if nodes[node_id]["role"] != "assistant":
        raise PrefixError("node_is_not_an_assistant_message")
    path: list[Message] = []
    parent = nodes[node_id]["parent"]
    while parent is not None and parent >= 0:
        if parent >= len(nodes) or len(path) >= len(nodes):
            raise PrefixError("path_of_nodes_is_broken")
        path.append(nodes[parent])
        parent = nodes[parent]["parent"]
    if not path or path[0]["role"] == "assistant":
        raise PrefixError("prefix_does_not_end_on_a_user_message")
    return [{"role": message["role"], "content": message["content"]} for message in reversed(path)]


def prefix_of_place(place: Place, messages: Sequence[Message], entries: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Return the prefix of a turn from the messages of its line. Raises PrefixError with the reason it has none."""
    if any(not isinstance(message["content"], str) or not message["role"] for message in messages):
        raise PrefixError("message_without_role_or_content")
    if place["layout"] == "view":
        return prefix_of_view(messages, place["node_id"])
    if place["layout"] == "flat":
        if not messages or messages[-1]["role"] != "user":
            raise PrefixError("prefix_does_not_end_on_a_user_message")
        return [{"role": message["role"], "content": message["content"]} for message in messages]
    listed = [entry for entry in entries if entry["turn_idx"] == place["turn_idx"]]
    if not listed or listed[0]["msg_pos"] is None:
        raise PrefixError("turn_not_listed_in_trajectory")
    if place["msg_pos"] is not None and place["msg_pos"] != listed[0]["msg_pos"]:
        raise PrefixError("index_and_trajectory_disagree_on_msg_pos")
    trajectory = {"traj_id": place["turn_id"], "messages": messages}
    try:
        turn = materialize_turn(trajectory, {"turn_idx": place["turn_idx"], "msg_pos": listed[0]["msg_pos"]})
    except ValueError as error:
        raise PrefixError(str(error).replace(" ", "_")) from None
    prefix: list[Message] = turn["prefix"]
    return prefix


def make_prompts(places: Path, landing: Path, tokenizer: Path, workers: int | None = None) -> int:
    """Bring `teacher_prompts` to what the places say; return for how many corpus files it was made anew.

    `places` is a parquet file with a row a turn that has one: corpus_epoch, turn_id, layout (`trajectory`, `view`,
    `flat`), artifact_id, line, turn_idx, msg_pos, node_id, traj_id, stratum. Without a chat template below
    `tokenizer` every prompt is null.
    """
    template, named_tokens = chat_template_of(tokenizer), named_tokens_of(tokenizer)
    grouped: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for batch in pq.ParquetFile(places).iter_batches():
        for row in batch.to_pylist():
            grouped[row["artifact_id"], row["layout"]].append(row)
    landed = versions(landing, LANDING)
    tasks = [
        _Task(landing, artifact_id, layout, tuple(rows), landed.get(artifact_key(artifact_id)))
        for (artifact_id, layout), rows in sorted(grouped.items())
    ]
    step = Step(
        name=STEP,
        folder=landing,
        outputs={TABLE: OUTPUTS[TABLE]},
        fingerprint=code_fingerprint(assay.teacher, assay.validator, assay.chat_templates)
        + repr((template, tuple(named_tokens.items()))),
        work=partial(_make, template, named_tokens),
        alone_below=_ALONE_BYTES,
    )
    return len(run(step, tasks, workers).new)


def _make(template: str | None, named_tokens: Mapping[str, str], task: _Task, write: Write) -> None:
    by_line: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for place in task.places:
        by_line[place["line"]].append(place)
    entries = _entries(task, by_line)
    rows: list[tuple[Any, ...]] = []
    size = 0
    for line, messages in _messages(task, by_line):
        for place in sorted(by_line.pop(line), key=lambda place: (place["turn_idx"], place["turn_id"])):
            rows.append(_row(place, messages, entries.get(line, []), template, named_tokens))
            size += rows[-1][4] or 0
        if size >= _FLUSH_CHARACTERS:
            write(TABLE, batch_of(PROMPTS, rows))
            rows, size = [], 0
    for _, places in sorted(by_line.items()):
        rows += [_row(place, [], entries.get(place["line"], []), template, named_tokens) for place in places]
    if rows:
        write(TABLE, batch_of(PROMPTS, rows))


def _entries(task: _Task, lines: Mapping[int, Any]) -> dict[int, list[dict[str, Any]]]:
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    path = task.landed("sn120_trajectory_turns")
    if task.layout == "trajectory" and path.exists():
        for batch in pq.ParquetFile(path).iter_batches(columns=["line", "turn_idx", "msg_pos"]):
            for row in batch.to_pylist():
                if row["line"] in lines:
                    found[row["line"]].append(row)
    return found


def _messages(task: _Task, lines: Mapping[int, Any]) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """Yield (line, its messages in order) for the wanted lines; rows of a line are next to each other."""
    path = task.messages
    if not path.exists():
        return
    columns = ["line", "message_index", "role", "content", *(["parent"] if task.layout == "view" else [])]
    rows = (
        row
        for batch in pq.ParquetFile(path).iter_batches(batch_size=_MESSAGES_AT_A_TIME, columns=columns)
        for row in batch.to_pylist()
    )
    wanted = frozenset(lines)
    for line, group in groupby(rows, key=lambda row: int(row["line"])):
        if line in wanted:
            yield line, sorted(group, key=lambda row: int(row["message_index"]))


def _row(
    place: Place,
    messages: Sequence[Message],
    entries: Sequence[Mapping[str, Any]],
    template: str | None,
    named_tokens: Mapping[str, str],
) -> tuple[Any, ...]:
    keys = (place["corpus_epoch"], place["turn_id"])
    stratum = stratum_key(place)
    try:
        prefix = prefix_of_place(place, messages, entries)
    except PrefixError as error:
        return (*keys, None, None, None, None, stratum, str(error))
    n_characters = sum(len(message["content"]) for message in prefix)
    if template is None:
        return (*keys, None, None, None, n_characters, stratum, "no_chat_template")
    try:
        prompt = render_turn(template, named_tokens, prefix)
    except TemplateRefusedError:
        return (*keys, None, None, None, n_characters, stratum, "chat_template_refused")
    return (*keys, prompt, key_of(prompt), len(prompt), n_characters, stratum, None)
