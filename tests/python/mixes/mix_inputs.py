"""Small tokenizers, templates, landed texts and rows that the tests of the mixes share."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from assay.mixes.rows import MessageRecord, MetaRecord, RowRecord, TurnRecord
from assay.mixes.tokenizer import AuditTokenizer, identity_of, load
from dbt_project import REPOSITORY

BUNDLED = REPOSITORY / "tests" / "fixtures" / "raw" / "tokenizer"
BUNDLED_TEMPLATE = (BUNDLED / "chat_template.jinja").read_text(encoding="utf-8")

PLAIN_TEMPLATE = (
    "{%- for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}"
    "{%- endfor %}{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{%- endif %}"
)
# As published templates of thinking models do it: only the last reply keeps its thought.
STRIPPING_TEMPLATE = (
    "{%- for message in messages %}{%- set content = message.content %}"
    "{%- if message.role == 'assistant' and not loop.last and '</think>' in content %}"
    "{%- set content = content.split('</think>')[-1].lstrip('\n') %}{%- endif %}"
    "{{ '<|im_start|>' + message.role + '\n' + content + '<|im_end|>\n' }}{%- endfor %}"
    "{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{%- endif %}"
)


def bundled() -> AuditTokenizer:
    """The bundled tokenizer with its own template, whose generation prompt opens a think block."""
    return load(BUNDLED, identity_of(BUNDLED))


def tokenizer_document() -> dict[str, Any]:
    """The bundled `tokenizer.json`."""
    document: dict[str, Any] = json.loads((BUNDLED / "tokenizer.json").read_bytes())
    return document


def with_template(template: str, **changes: Any) -> AuditTokenizer:
    """The bundled tokenizer under another template, or with other parts of its document."""
    return AuditTokenizer({**tokenizer_document(), **changes}, template, {"eos_token": "<|im_end|>"})


def write_tokenizer(folder: Path, template: str = BUNDLED_TEMPLATE) -> Path:
    """Write a tokenizer folder with this template; returns it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_bytes((BUNDLED / "tokenizer.json").read_bytes())
    (folder / "chat_template.jinja").write_text(template, encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<|im_end|>"}), encoding="utf-8")
    return folder


def row(*messages: tuple[str, str, bool], mix: str = "credit", row_id: str = "r", split: str = "train") -> RowRecord:
    """A canonical row from (role, content, train)."""
    turns = [
        TurnRecord(place, place, 0.5, ["explore"], False, "cat") for place, message in enumerate(messages) if message[2]
    ]
    return RowRecord(
        row_id, [MessageRecord(*message) for message in messages], mix, MetaRecord(split, 1.0, 1, 1, turns)
    )


Text = tuple[str, str]


class Landing:
    """Landed messages of SN97 sides and mini-coder trajectories, as the landing step writes them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def duel(self, artifact_id: str, sides: Mapping[tuple[int, str], Sequence[Text]]) -> None:
        """Write an artifact of duel sides: (line, side) to messages of (role, content)."""
        rows = [
            {"artifact_id": artifact_id, "line": line, "side": side, "message_index": index, "role": role,
             "content": content}
            for (line, side), texts in sorted(sides.items())
            for index, (role, content) in enumerate(texts)
        ]  # fmt: skip
        self._write("sn97_messages", artifact_id, rows)

    def mini(self, artifact_id: str, lines: Mapping[int, Sequence[Text]]) -> None:
        """Write an artifact of trajectories: line to messages of (role, content)."""
        rows = [
            {"artifact_id": artifact_id, "line": line, "message_index": index, "role": role, "content": content}
            for line, texts in sorted(lines.items())
            for index, (role, content) in enumerate(texts)
        ]
        self._write("mini_coder_messages", artifact_id, rows)

    def _write(self, table: str, artifact_id: str, rows: list[dict[str, Any]]) -> None:
        path = self.folder / table / f"{hashlib.sha256(artifact_id.encode()).hexdigest()[:32]}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=64)


CANDIDATES = pa.schema(
    [("mix", pa.string()), ("row_id", pa.string()), ("text_source", pa.string()), ("text_artifact_id", pa.string()),
     ("text_line", pa.int64()), ("text_side", pa.string()), ("message_indexes", pa.list_(pa.int64())),
     ("trained", pa.list_(pa.int64()))]
)  # fmt: skip


def candidate(
    row_id: str, artifact_id: str, line: int, side: str | None, n_messages: int, *trained: int, mix: str = "credit"
) -> dict[str, Any]:
    """A candidate row as the build hands it over."""
    source = "sn97" if side else "mini_coder"
    return {"mix": mix, "row_id": row_id, "text_source": source, "text_artifact_id": artifact_id, "text_line": line,
            "text_side": side, "message_indexes": list(range(n_messages)), "trained": list(trained)}  # fmt: skip


def write_candidates(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """Write candidate rows as a file; returns its path."""
    pq.write_table(pa.Table.from_pylist(list(rows), schema=CANDIDATES), path)
    return path


CONVERSATION: list[Text] = [
    ("system", "You mend code."),
    ("user", "Fix shorten()."),
    ("assistant", "Look first.\n\n```bash\ncat -n text.py\n```"),
    ("user", "1  def shorten(text, width):"),
    ("assistant", "Now the change.\n\n```bash\nsed -i 's/a/b/' text.py\n```"),
    ("user", "done"),
]
