"""Binary files that break readers: safetensors headers and parquet shards."""

import datetime
import json
import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from landing_tree import CHECKPOINT, MINI_CODER, Tree
from safetensors.numpy import save_file


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


# safetensors ---------------------------------------------------------------------------------------------


def _tensors(header: Any, n_bytes: int = 0, length: int | None = None) -> bytes:
    text = header if type(header) is bytes else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + b"\0" * n_bytes


def _entry(begin: int, end: int, shape: list[Any] | None = None, dtype: str = "U8") -> dict[str, Any]:
    return {"dtype": dtype, "shape": [end - begin] if shape is None else shape, "data_offsets": [begin, end]}


_UNSOUND = {
    "empty": (b"", "0 bytes are too few for a header length"),
    "seven": (b"\0" * 7, "7 bytes are too few for a header length"),
    "huge": (_tensors({}, 100, 2**62), f"header length {2**62} in a file of 110 bytes"),
    "largest": (_tensors({}, 0, 2**64 - 1), f"header length {2**64 - 1} in a file of 10 bytes"),
    "longer": (_tensors({"a": _entry(0, 4)}, 0, 200), None),
    "half": (_tensors({"a": _entry(0, 4)})[:30], None),
    "zero": (struct.pack("<Q", 0), "header: invalid_json: Expecting value at character 0"),
    "overlap": (_tensors({"a": _entry(0, 4), "b": _entry(2, 6)}, 6), "tensor b: begins at 2, expected 4"),
    "gap": (_tensors({"a": _entry(0, 4), "b": _entry(5, 6)}, 6), "tensor b: begins at 5, expected 4"),
    "past": (_tensors({"a": _entry(0, 8)}, 4), "tensors end at 8, the file has 4 bytes of tensors"),
    "short": (_tensors({"a": _entry(0, 4)}, 8), "tensors end at 4, the file has 8 bytes of tensors"),
    "backwards": (_tensors({"a": _entry(4, 0, [4])}, 4), None),
    "negative": (_tensors({"a": _entry(-4, 0, [4])}, 4), None),
    "shape": (_tensors({"a": _entry(0, 4, [5])}, 4), "tensor a: shape and dtype do not fill bytes 0 to 4"),
    "minus": (_tensors({"a": _entry(0, 4, [-2, -2])}, 4), None),
    "float": (_tensors({"a": _entry(0, 4, [4.0])}, 4), None),
    "bool": (_tensors({"a": _entry(0, 1, [True])}, 1), None),
    "deep": (_tensors({"a": _entry(0, 1, [1] * 65)}, 1), None),
    "vast": (_tensors({"a": _entry(0, 1, [2**47] * 60)}, 1), None),
    "dtype": (_tensors({"a": _entry(0, 4, [1], "F7")}, 4), "tensor a: unknown dtype 'F7'"),
    "half byte": (_tensors({"a": _entry(0, 1, [1], "F4")}, 1), "tensor a: shape and dtype do not fill bytes 0 to 1"),
    "six bits": (_tensors({"a": _entry(0, 3, [3], "F6_E2M3")}, 3), None),
    "listed dtype": (_tensors({"a": {**_entry(0, 4), "dtype": ["U8"]}}, 4), "tensor a: unknown dtype \"['U8']\""),
    "missing": (_tensors({"a": {"dtype": "U8", "shape": [0]}}), "tensor a: expected dtype, shape and data_offsets"),
    "extra": (_tensors({"a": {**_entry(0, 4), "more": 1}}, 4), "tensor a: expected dtype, shape and data_offsets"),
    "no object": (_tensors({"a": 1}), "tensor a: expected dtype, shape and data_offsets"),
    "array": (_tensors([]), "header: not_an_object: found array"),
    "twice": (_tensors(b'{"a":1,"a":1}'), "header: duplicate_key: 'a'"),
    "nested": (_tensors(b'{"a":' * 5000 + b"1" + b"}" * 5000), "header: nested_too_deeply"),
    "utf8": (_tensors(b'{"\xff":1}'), "header: invalid_utf8: byte 2 of the line"),
    "metadata": (_tensors({"__metadata__": {"d_model": 96}}), "__metadata__ is not an object of texts"),
    "null metadata": (_tensors({"__metadata__": None}), "__metadata__ is not an object of texts"),
    "long name": (_tensors({"n" * 10_000: _entry(4, 8)}, 8), None),
}


def test_an_unsound_header_is_one_quarantined_line_that_says_why(tree: Tree) -> None:
    for name, (data, _) in _UNSOUND.items():
        tree.write(f"gateway/fixture/model/{name}.safetensors", data)
    tree.land()
    assert tree.rows("gateway_checkpoints") == [] and tree.rows("gateway_tensors") == []
    found = {row["file"].split("/")[-1].removesuffix(".safetensors"): row for row in tree.rows("quarantine")}
    assert found.keys() == _UNSOUND.keys()
    for name, (_, detail) in _UNSOUND.items():
        row = found[name]
        assert (row["line"], row["byte_offset"], row["reason"]) == (1, 0, "invalid_safetensors")
        assert len(row["detail"]) <= 300
        if detail is not None:
            assert row["detail"] == detail, name
    assert {row["n_lines"] for row in tree.rows("artifacts")} == {1}


def test_sound_headers_land_with_their_metadata(tree: Tree) -> None:
    (tree.raw / CHECKPOINT).parent.mkdir(parents=True)
    save_file(
        {"b": np.zeros((2, 3), np.float32), "a": np.zeros(4, np.float16), "s": np.zeros((), np.int64)},
        tree.raw / CHECKPOINT,
        metadata={"d_model": "96", "n_heads": "4", "n_layers": "two", "note": "x"},
    )
    tree.write("gateway/fixture/model/none.safetensors", _tensors({}))
    # An empty tensor begins where its neighbour does, and may stand behind it in the header.
    empty = {"full": _entry(0, 4), "hollow": _entry(0, 0, [0, 7]), "last": _entry(4, 4, [0], "F8_E4M3")}
    tree.write("gateway/fixture/model/hollow.safetensors", _tensors(empty, 4))
    tree.land()
    found = {row["checkpoint"]: row for row in tree.rows("gateway_checkpoints")}
    names = ("n_tensors", "n_parameters", "dtypes", "d_model", "n_heads", "n_layers")
    assert {key: [row[name] for name in names] for key, row in found.items()} == {
        "runs/run-a/ckpt/step0150.safetensors": [3, 11, ["F16", "F32", "I64"], 96, 4, None],
        "model/none.safetensors": [0, 0, [], None, None, None],
        "model/hollow.safetensors": [3, 4, ["F8_E4M3", "U8"], None, None, None],
    }
    metadata = json.loads(found["runs/run-a/ckpt/step0150.safetensors"]["metadata"])
    assert metadata == {"d_model": "96", "n_heads": "4", "n_layers": "two", "note": "x"}
    tensors = sorted(tree.values("gateway_tensors", "tensor", "dtype", "shape", "begin_offset", "end_offset"))
    assert tensors == [
        ("a", "F16", "[4]", 32, 40),
        ("b", "F32", "[2,3]", 8, 32),
        ("full", "U8", "[4]", 0, 4),
        ("hollow", "U8", "[0,7]", 0, 0),
        ("last", "F8_E4M3", "[0]", 4, 4),
        ("s", "I64", "[]", 0, 8),
    ]


def test_every_dtype_of_the_format_has_its_size_in_bits(tree: Tree) -> None:
    values = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1,
              "U16": 2, "U32": 4, "U64": 8, "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1, "F8_E4M3FNUZ": 1,
              "F8_E5M2FNUZ": 1, "C64": 8, "F4": 0.5, "F6_E2M3": 0.75, "F6_E3M2": 0.75}  # fmt: skip
    for dtype, size in values.items():
        n_bytes = int(8 * size)
        tree.write(f"gateway/fx/model/{dtype}.safetensors", _tensors({"w": _entry(0, n_bytes, [8], dtype)}, n_bytes))
    tree.land()
    assert tree.refused() == []
    assert sorted(tree.values("gateway_tensors", "dtype")) == sorted(values)


# parquet -------------------------------------------------------------------------------------------------


_MESSAGES = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]


def test_odd_columns_of_a_shard_are_ignored_and_known_ones_kept(tree: Tree) -> None:
    table = pa.table(
        {
            "instance_id": ["2026-08-24", "007"],
            "messages": [_MESSAGES, [{"role": "human", "content": "x\0"}]],
            "source": ["ignored"] * 2,
            "when": [datetime.datetime(2026, 8, 24)] * 2,
            "raw": [b"\xff"] * 2,
            "first_edit": pa.array([3, None], pa.int32()),
            "verified": [True, None],
        }
    )
    tree.write_parquet(MINI_CODER, table)
    tree.land()
    names = ("line", "instance_id", "first_edit", "verified", "n_messages", "other_fields")
    assert tree.values("mini_coder_trajectories", *names) == [
        (1, "2026-08-24", 3, True, 2, None),
        (2, "007", None, None, 1, None),
    ]
    assert tree.values("mini_coder_messages", "line", "message_index", "role", "content") == [
        (1, 0, "user", "a"),
        (1, 1, "assistant", "b"),
        (2, 0, "user", "x\0"),
    ]
    assert tree.artifact(MINI_CODER)["n_nul_characters"] == 1


_CALL = pa.struct([("name", pa.string()), ("arguments", pa.struct([("when", pa.timestamp("us"))]))])
_TWICE = pa.struct([pa.field("role", pa.string()), pa.field("role", pa.string())])

_SHARDS: dict[str, tuple[Any, str]] = {
    "text": (pa.table({"messages": [json.dumps(_MESSAGES)]}), "lands"),
    "large": (pa.table({"messages": pa.array([json.dumps(_MESSAGES)], pa.large_string())}), "lands"),
    "dictionary": (pa.table({"messages": pa.array([json.dumps(_MESSAGES)]).dictionary_encode()}), "lands"),
    "conversation": (pa.table({"messages": [None], "conversation": [_MESSAGES]}), "lands"),
    "empty list": (pa.table({"messages": pa.array([[]], pa.list_(pa.string()))}), "nothing_read"),
    "no columns": (pa.table({"other": [1]}), "missing_field"),
    "null": (pa.table({"messages": pa.nulls(1)}), "missing_field"),
    "number": (pa.table({"messages": [5]}), "missing_field"),
    "text that is no list": (pa.table({"messages": ["[1"]}), "missing_field"),
    "texts": (pa.table({"messages": [["a", "b"]]}), "wrong_type"),
    "map": (pa.table({"messages": pa.array([[[("role", "user")]]], pa.list_(pa.map_(pa.string(), pa.string())))}),
            "wrong_type"),
    "bytes": (pa.table({"messages": [[{"role": "user", "content": b"x"}]]}), "wrong_type"),
    "number as content": (pa.table({"messages": [[{"role": "user", "content": 5}]]}), "wrong_type"),
    "number as role": (pa.table({"messages": [[{"role": 5, "content": "x"}]]}), "wrong_type"),
    "number as id": (pa.table({"instance_id": [5], "messages": [_MESSAGES]}), "lands"),
    "number in tenths as id": (pa.table({"instance_id": [0.5], "messages": [_MESSAGES]}), "wrong_type"),
    "float edit": (pa.table({"first_edit": [1.5], "messages": [_MESSAGES]}), "wrong_type"),
    "nan edit": (pa.table({"first_edit": [float("nan")], "messages": [_MESSAGES]}), "wrong_type"),
    "big edit": (pa.table({"first_edit": pa.array([2**64 - 1], pa.uint64()), "messages": [_MESSAGES]}),
                 "number_out_of_range"),
    "date edit": (pa.table({"first_edit": [datetime.date(2026, 1, 1)], "messages": [_MESSAGES]}), "wrong_type"),
    "nanoseconds": (pa.table({"first_edit": pa.array([1], pa.timestamp("ns")), "messages": [_MESSAGES]}), "wrong_type"),
    "far date": (pa.table({"first_edit": pa.array([2**62], pa.timestamp("us")), "messages": [_MESSAGES]}),
                 "wrong_type"),
    "call with a date": (
        pa.table({"messages": pa.array(
            [[{"role": "assistant", "content": "", "tool_calls": [{"name": "x", "arguments": {"when": 5}}]}]],
            pa.list_(pa.struct([("role", pa.string()), ("content", pa.string()), ("tool_calls", pa.list_(_CALL))])),
        )}),
        "wrong_type",
    ),
    "field twice": (pa.table({"messages": pa.array([[("user", "x")]], pa.list_(_TWICE))}), "wrong_type"),
    "bad text": (pa.table({"instance_id": pa.array([b"\xff"]).view(pa.string()), "messages": [_MESSAGES]}),
                 "invalid_utf8"),
}  # fmt: skip


def test_shards_of_odd_types_land_or_are_quarantined_row_by_row(tree: Tree) -> None:
    for name, (table, _) in _SHARDS.items():
        tree.write_parquet(f"mini_coder/data/{name}.parquet", table)
    tree.land()
    landed = {name.split("/")[-1].removesuffix(".parquet"): "lands"
              for name in tree.values("mini_coder_trajectories", "artifact_id")}  # fmt: skip
    refused = {file.split("/")[-1].removesuffix(".parquet"): reason
               for file, reason in tree.values("quarantine", "file", "reason")}  # fmt: skip
    assert landed | refused == {name: outcome for name, (_, outcome) in _SHARDS.items()}


def test_a_table_without_rows_is_an_empty_file(tree: Tree) -> None:
    tree.write_parquet(MINI_CODER, pa.table({"messages": pa.array([], pa.string())}))
    tree.land()
    row = tree.artifact(MINI_CODER)
    assert (row["status"], row["n_lines"], row["n_rows"], row["n_quarantined"]) == ("empty", 0, 0, 0)


def test_a_column_named_twice_does_not_end_the_run(tree: Tree) -> None:
    table = pa.Table.from_arrays([pa.array([json.dumps(_MESSAGES)])] * 2, ["messages", "messages"])
    tree.write_parquet(MINI_CODER, table)
    tree.land()
    assert tree.artifact(MINI_CODER)["n_lines"] == 1


def test_what_is_no_parquet_is_one_quarantined_line(tree: Tree) -> None:
    tree.write_parquet(MINI_CODER, pa.table({"messages": [json.dumps(_MESSAGES)] * 3}))
    whole = (tree.raw / MINI_CODER).read_bytes()
    cases = {"empty": b"", "text": b"not parquet", "magic": b"PAR1", "two": b"PAR1PAR1", "cut": whole[:-100],
             "tail": whole[-60:], "gzip": b"\x1f\x8b" + whole, "foot": whole[:-8] + b"\xff\xff\xff\x7fPAR1",
             "name": whole.replace(b"messages", b"message\xff")}  # fmt: skip
    for name, data in cases.items():
        tree.write(f"mini_coder/data/{name}.parquet", data)
    tree.land()
    assert len(tree.rows("mini_coder_trajectories")) == 3
    assert sorted(tree.values("quarantine", "file", "line", "reason")) == sorted(
        (f"mini_coder/data/{name}.parquet", 1, "invalid_parquet") for name in cases
    )


def test_rows_before_a_corrupt_page_are_kept(tree: Tree) -> None:
    texts = [json.dumps([{"role": "user", "content": f"message {index}"}]) for index in range(2000)]
    table = pa.table({"instance_id": [str(index) for index in range(2000)], "messages": texts})
    path = tree.write_parquet(MINI_CODER, table, row_group_size=500, compression="zstd", use_dictionary=False)
    column = pq.ParquetFile(path).metadata.row_group(2).column(1)
    data = bytearray(path.read_bytes())
    middle = column.data_page_offset + column.total_compressed_size // 2
    data[middle : middle + 200] = b"\xff" * 200
    path.write_bytes(bytes(data))
    tree.land()
    kept = tree.values("mini_coder_trajectories", "line", "instance_id")
    assert kept == [(index + 1, str(index)) for index in range(len(kept))]
    assert len(kept) in range(512, 1001)
    assert tree.refused() == [(len(kept) + 1, 0, "invalid_parquet")]


@pytest.mark.parametrize("seed", range(4))
def test_flipped_bytes_of_a_shard_never_end_the_run(tree: Tree, seed: int) -> None:
    generator = random.Random(seed)
    texts = [json.dumps([{"role": "user", "content": f"message {index}"}]) for index in range(50)]
    tree.write_parquet(MINI_CODER, pa.table({"instance_id": list(map(str, range(50))), "messages": texts}))
    whole = (tree.raw / MINI_CODER).read_bytes()
    for index in range(100):
        data = bytearray(whole)
        for _ in range(generator.choice((1, 1, 2, 8))):
            # Half of the damage goes to the footer, where sizes and types are.
            low = len(data) * 2 // 3 if generator.random() < 0.5 else 0
            data[generator.randrange(low, len(data))] = generator.randrange(256)
        tree.write(f"mini_coder/data/{index}.parquet", bytes(data))
    tree.land()
    assert len(tree.rows("artifacts")) == 101


def test_the_turn_index_of_both_schemas(tree: Tree) -> None:
    tree.write_parquet(
        "sn120/turns/index/turns_0013.parquet",
        pa.table({"turn_id": ["t:1", None], "traj_id": ["t", "u"], "turn_idx": pa.array([1, 2], pa.int32()),
                  "node_id": pa.array([5, None], pa.int32()), "model": ["ignored", "ignored"]}),
    )  # fmt: skip
    tree.land()
    assert tree.values("sn120_turn_index", "line", "turn_id", "turn_idx", "node_id") == [(1, "t:1", 1, 5)]
    assert tree.values("quarantine", "line", "reason", "detail") == [(2, "missing_field", "sn120_turn_index.turn_id")]
