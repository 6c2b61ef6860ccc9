import json
import re
from collections.abc import Callable
from pathlib import Path

import jinja2
import pyarrow.parquet as pq
import pytest
from assay.sample.tokenizer import byte_alphabet, learn_merges


def commands(messages: list[dict[str, str]]) -> list[str]:
    found = []
    for message in messages:
        if message["role"] == "assistant":
            match = re.search(r"```(?:bash|sh)?\n(.*?)\n```", message["content"], re.DOTALL)
            found.append(match.group(1) if match else "")
    return found


def test_mini_coder_has_repeats_break_outs_and_both_endings(tree: Path) -> None:
    rows = pq.read_table(tree / "mini_coder/data/train-00000.parquet").to_pylist()
    assert len(rows) == 16
    submitted = [r for r in rows if "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT" in commands(r["messages"])[-1]]
    assert 3 <= len(submitted) < len(rows)
    long = [r for r in rows if len(commands(r["messages"])) > 17]
    assert len(long) >= 4 and any(r in submitted for r in long) and any(r not in submitted for r in long)
    broke_out = 0
    for row in rows:
        roles = [m["role"] for m in row["messages"]]
        assert roles[:2] == ["system", "user"]
        assert roles[2::2] == ["assistant"] * len(roles[2::2]) and set(roles[3::2]) <= {"user"}
        typed = commands(row["messages"])
        broke_out += any(a == b != c for a, b, c in zip(typed, typed[1:], typed[2:], strict=False))
        assert all(m["content"].startswith("<returncode>") for m in row["messages"][3::2])
    assert broke_out >= 4
    assert any(row["verified"] for row in rows) and not all(row["verified"] for row in rows)


def test_own_trajectories_are_plain_objects(tree: Path) -> None:
    raw = (tree / "trajectories/own-runs.jsonl").read_bytes()
    rows = [json.loads(line) for line in raw.split(b"\n")[:-1]]
    assert len({row["id"] for row in rows}) == len(rows) == 4
    for row in rows:
        assert list(row) == ["id", "instance_id", "model", "messages"]
        assert all(set(message) == {"role", "content"} for message in row["messages"])


def test_parts_can_be_left_out_and_sized(generate: Callable[..., Path], tmp_path: Path) -> None:
    root = generate(
        tmp_path / "t",
        "--sources",
        "mini_coder,trajectories",
        "--mini-coder",
        "3",
        "--trajectories",
        "0",
        "--scale",
        "small",
    )
    assert [p.name for p in root.iterdir()] == ["mini_coder"]
    assert pq.read_table(root / "mini_coder/data/train-00000.parquet").num_rows == 3


@pytest.mark.parametrize(
    "text",
    ["", "def put(self, gauge):\n\treturn 1", "  \u2028\x00 🌊 日本語 naïve\r\n", "<|im_start|>user\nhi<|im_end|>\n"],
)
def test_tokenizer_loads_and_round_trips(tree: Path, text: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer.from_file(str(tree / "tokenizer/tokenizer.json"))
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    assert tokenizer.decode(ids, skip_special_tokens=False) == text
    for token in ("<|im_start|>", "<|im_end|>", "<|endoftext|>"):
        assert len(tokenizer.encode(token).ids) == 1
    source = "class Store:\n    def merge(self, other):\n        return len(self._items)\n"
    assert len(tokenizer.encode(source).ids) < len(source) / 2


def test_chat_template_opens_the_think_block(tree: Path) -> None:
    template = (tree / "tokenizer/chat_template.jinja").read_text()
    settings = json.loads((tree / "tokenizer/tokenizer_config.json").read_bytes())
    assert settings["chat_template"] == template
    messages = [{"role": "system", "content": "  a\n"}, {"role": "user", "content": "{{ b }}"}]
    for trim in (True, False):
        environment = jinja2.Environment(trim_blocks=trim, lstrip_blocks=trim)
        text = environment.from_string(template).render(messages=messages, add_generation_prompt=True)
        assert text == (
            "<|im_start|>system\n  a\n<|im_end|>\n<|im_start|>user\n{{ b }}<|im_end|>\n<|im_start|>assistant\n<think>\n"
        )


def test_merges_are_learned_by_frequency() -> None:
    assert len(set(byte_alphabet())) == 256
    assert learn_merges(iter(["abab abab abab abab abab"]), 2) == [("a", "b"), ("ab", "ab")]
