"""Cards, Croissant and manifest: what they must hold, and that no text of the data breaks out of them."""

import json
from collections.abc import Iterator
from typing import Any

import jinja2
import pyarrow as pa
import pytest
from assay.mixes.rows import SCHEMA
from assay.provenance.cards import MIXES_CARD, card_table, cell, rendered
from assay.provenance.croissant import DataFile, croissant
from assay.provenance.hub import Split, features, head, size_category
from assay.provenance.manifest import manifest
from assay.teacher.export import ROWS

HOSTILE = "a|b\n# c <script>alert(1)</script> `x` [y](z) *w* {{ 7 * 7 }} {% raw %}"
FILES = [DataFile("credit.jsonl", 10, "ab" * 32), DataFile("credit.parquet", 9, "cd" * 32)]


def _croissant(schema: pa.Schema = SCHEMA) -> dict[str, Any]:
    return croissant("a-set", HOSTILE, "other", "0.1.0", FILES, {"credit": "credit.jsonl"}, schema, {"dataBiases": "b"})


def _fields(fields: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for field in fields:
        yield field
        yield from _fields(field.get("subField", []))


def test_croissant_has_what_the_format_requires() -> None:
    document = _croissant()
    assert document["@type"] == "sc:Dataset"
    assert "http://mlcommons.org/croissant/1.0" in document["conformsTo"]
    for name in ("@context", "name", "description", "license", "version", "distribution", "recordSet"):
        assert document[name]
    for file, listed in zip(FILES, document["distribution"], strict=True):
        assert listed["@type"] == "cr:FileObject"
        assert (listed["@id"], listed["contentUrl"], listed["sha256"]) == (file.name, file.name, file.sha256)
        assert listed["contentSize"] == f"{file.n_bytes} B"
    assert {file["encodingFormat"] for file in document["distribution"]} == {
        "application/jsonlines",
        "application/x-parquet",
    }
    assert document["rai:dataBiases"] == "b"
    assert json.loads(json.dumps(document)) == document


@pytest.mark.parametrize("schema", [SCHEMA, ROWS])
def test_every_field_has_a_type_and_a_source_or_fields_of_its_own(schema: pa.Schema) -> None:
    (record_set,) = _croissant(schema)["recordSet"]
    fields = list(_fields(record_set["field"]))
    names = [field["@id"] for field in fields]
    assert len(names) == len(set(names))
    assert [field["name"] for field in record_set["field"]] == [f"credit/{name}" for name in schema.names]
    for field in fields:
        assert ("subField" in field) != ("dataType" in field and "source" in field)
        if "source" in field:
            assert field["source"]["fileObject"] == {"@id": "credit.jsonl"}
            assert field["source"]["extract"]["jsonPath"].startswith("$.")


def test_a_list_of_structs_is_repeated_and_read_by_its_path() -> None:
    (record_set,) = _croissant()["recordSet"]
    messages = next(field for field in record_set["field"] if field["@id"] == "credit/messages")
    assert messages["repeated"] is True
    content = next(field for field in messages["subField"] if field["@id"] == "credit/messages/content")
    assert (content["dataType"], content["source"]["extract"]["jsonPath"]) == ("sc:Text", "$.messages[*].content")


def test_the_head_names_configurations_splits_and_features() -> None:
    splits = [Split("train", "credit.train.parquet", 10, 30, 1500), Split("validation", "v: 1.parquet", 5, 7, 2)]
    lines = head("apache-2.0", SCHEMA, {"credit": splits}, "credit", 1502).splitlines()
    assert (lines[0], lines[-1]) == ("---", "---")
    text = "\n".join(lines)
    assert "license: apache-2.0" in lines
    assert '- "1K<n<10K"' in lines
    assert "  - split: train\n    path: credit.train.parquet" in text
    assert '    path: "v: 1.parquet"' in text  # a colon would make YAML read a mapping
    assert "  default: true" in lines
    assert "  download_size: 15\n  dataset_size: 37" in text
    assert "  - name: train\n    num_bytes: 30\n    num_examples: 1500" in text
    assert "  - name: messages\n    list:\n    - name: role\n      dtype: string" in text


def test_features_follow_the_declared_types() -> None:
    (messages,) = [feature for feature in features(list(SCHEMA)) if feature["name"] == "messages"]
    assert [part["dtype"] for part in messages["list"]] == ["string", "string", "bool"]
    (meta,) = [feature for feature in features(list(SCHEMA)) if feature["name"] == "train_meta"]
    turns = {part["name"]: part for part in meta["struct"]}["turns"]["list"]
    assert {"name": "tags", "sequence": "string"} in turns
    with pytest.raises(KeyError):
        features([pa.field("x", pa.date32())])


@pytest.mark.parametrize(
    ("n_rows", "size"), [(0, "n<1K"), (999, "n<1K"), (1000, "1K<n<10K"), (99_999, "10K<n<100K"), (1_000_000, "n>1M")]
)
def test_sizes(n_rows: int, size: str) -> None:
    assert size_category(n_rows) == size


def test_text_of_the_data_cannot_break_out_of_a_card() -> None:
    rows = [{"reason": HOSTILE, "rows": 12345, "share": 0.123456, "flag": True, "none": None, "list": ["a", "b|"]}]
    text = rendered(MIXES_CARD, head="---\n---\n", tables=[card_table("T", rows), card_table("Nothing", [])])
    (line,) = [line for line in text.splitlines() if "12,345" in line]
    assert line.count(" | ") == 5
    assert "<script>" not in text
    assert "49" not in line
    assert "{{ 7 \\* 7 }}" in line
    assert "0.1235 | yes |  | a, b\\|" in line
    assert "## Nothing\n\nNone." in text


def test_a_value_that_a_card_needs_and_lacks_is_no_empty_cell() -> None:
    with pytest.raises(jinja2.UndefinedError):
        rendered(MIXES_CARD, head="")
    with pytest.raises(jinja2.UndefinedError):
        rendered("{{ row.absent }}", row={})


@pytest.mark.parametrize(("value", "text"), [(-1234567, "-1,234,567"), (1234567.8, "1,234,568"), ("a\r\nb", "a b")])
def test_cells(value: object, text: str) -> None:
    assert cell(value) == text


def test_the_manifest_lists_every_file_in_order_whatever_order_it_is_given() -> None:
    files = [
        {"file": name, "bytes": 1, "sha256": "ab", "n_rows": 2, "rules": '{"b": 1}', "inputs_sha256": "cd"}
        for name in ("teacher/b", "mixes/a")
    ]
    made = [manifest(order, {"duckdb": "2", "assay": "1"}, [], [], "") for order in (files, files[::-1])]
    assert made[0] == made[1]
    document = json.loads(made[0])
    assert [file["file"] for file in document["files"]] == ["mixes/a", "teacher/b"]
    assert document["files"][0] == {
        "file": "mixes/a", "bytes": 1, "sha256": "ab", "rows": 2, "ruleset": "each run by the rules of its own date",
        "inputs_sha256": "cd", "settings": {"b": 1},
    }  # fmt: skip
    assert list(document["versions"]) == ["assay", "duckdb"]
