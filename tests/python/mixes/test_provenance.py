"""Cards, Croissant and manifest: what they must hold, and that no text of the data breaks out of them."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import jinja2
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from assay.exporting import files_table
from assay.mixes.export import SPLITS, file_names, pair_files
from assay.mixes.rows import SCHEMA, RowRecord, rows_table
from assay.provenance.cards import MIXES_CARD, card_table, cell, rendered
from assay.provenance.croissant import DataFile, croissant
from assay.provenance.hub import Split, features, head, size_category
from assay.provenance.manifest import manifest
from assay.provenance.step import manifest_step
from assay.teacher.export import ROWS
from dbt_project import session_of_a_run
from mix_inputs import row

HOSTILE = "a|b\n# c <script>alert(1)</script> `x` [y](z) *w* {{ 7 * 7 }} {% raw %}"
FILES = [DataFile("credit.jsonl", 10, "ab" * 32), DataFile("credit.parquet", 9, "cd" * 32)]


def _croissant(schema: pa.Schema = SCHEMA) -> dict[str, Any]:
    return croissant(
        "a-set", HOSTILE, "other", "0.1.0", FILES, {"credit": ("credit.jsonl", schema)}, {"dataBiases": "b"}
    )


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
            assert field["source"]["extract"]["column"] == field["@id"].split("/")[1]


def test_a_list_of_structs_is_repeated_and_read_by_its_path() -> None:
    (record_set,) = _croissant()["recordSet"]
    messages = next(field for field in record_set["field"] if field["@id"] == "credit/messages")
    assert messages["repeated"] is True
    content = next(field for field in messages["subField"] if field["@id"] == "credit/messages/content")
    assert (content["dataType"], content["source"]["transform"]) == ("sc:Text", {"jsonPath": "[*].content"})
    meta = next(field for field in record_set["field"] if field["@id"] == "credit/train_meta")
    paths = {field["@id"]: field["source"]["transform"]["jsonPath"] for field in meta["subField"]}
    assert paths["credit/train_meta/split"] == "split"
    assert "credit/train_meta/turns" not in paths


def test_the_head_names_configurations_splits_and_features() -> None:
    splits = [Split("train", ("credit.train.parquet",), 10, 30, 1500), Split("validation", ("v: 1.parquet",), 5, 7, 2)]
    lines = head("apache-2.0", {"credit": SCHEMA}, {"credit": splits}, "credit", 1502).splitlines()
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


@pytest.mark.parametrize(
    "text", ["No", "on", "Y", "NULL", "other\n---\n# <script>", "mit # x", "0", "- a", "", "naïve"]
)
def test_a_licence_is_the_same_text_to_a_reader_of_yaml(text: str) -> None:
    document = head(text, {}, {}, "credit", 0)
    assert yaml.safe_load(document.split("---\n", 1)[1].rsplit("\n---\n", 1)[0])["license"] == text


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
    tables = [card_table("T", rows), card_table("Nothing", [])]
    text = rendered(MIXES_CARD, head="---\n---\n", tables=tables, tokenizer=HOSTILE)
    (line,) = [line for line in text.splitlines() if "12,345" in line]
    assert line.count(" | ") == 5
    assert "<script>" not in text
    assert "49" not in line
    assert "{{ 7 \\* 7 }}" in line
    assert "0.1235 | yes |  | a, b\\|" in line
    assert "## Nothing\n\nNone." in text


def test_a_value_that_a_card_needs_and_lacks_is_no_empty_cell() -> None:
    with pytest.raises(jinja2.UndefinedError):
        rendered(MIXES_CARD, head="", tables=[])
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
    made = [manifest(order, {}, {"duckdb": "2", "assay": "1"}, [], [], "") for order in (files, files[::-1])]
    assert made[0] == made[1]
    document = json.loads(made[0])
    assert [file["file"] for file in document["files"]] == ["mixes/a", "teacher/b"]
    assert document["files"][0] == {
        "file": "mixes/a", "bytes": 1, "sha256": "ab", "rows": 2, "ruleset": "each run by the rules of its own date",
        "inputs_sha256": "cd", "settings": {"b": 1},
    }  # fmt: skip
    assert list(document["versions"]) == ["assay", "duckdb"]


class Site:
    """Exported files as the models before the manifest leave them, and the tables that the cards show."""

    def __init__(self, folder: Path, tokenizer: str | None = "acme/coder-7b") -> None:
        self.exports = folder / "exports"
        self.session = session_of_a_run()
        plan = [{"mix": "credit", "position": 1, "seed": 7}, {"mix": "finish_mini", "position": 2, "seed": 8}]
        self.session.execute(
            """create table mix_plan as
            select *, position = 1 as in_final_v1, true as in_final_v2
            from (values ('credit', 1, 7), ('finish_mini', 2, 8)) as plan (mix, position, seed)"""
        )
        names = (*file_names(["credit", "finish_mini"]), *pair_files(), "mask_audit.jsonl")
        mixes = [f"mixes/{name}" for name in names]
        rules = json.dumps({"mix_plan": plan, "tokenizer": tokenizer, "tokenizer_sha256": "ab"})
        self.tables = {
            "mix_export": self._files(mixes, rules),
            "teacher_export": self._files(["teacher/sft_rows.jsonl", "teacher/sft_rows.parquet"], "{}"),
            "promotion_record": self._files(["promotion/answer.json"], "{}").project("file, bytes, sha256"),
            "mix_plan": self.session.table("mix_plan"),
            "mix_composition": self.session.sql("""
                select 'credit' as mix, 1 as mix_position, 41463 as n_rows, 0.5 as share_of_rows, 3 as n_train_turns,
                1 as first_train_turn, 16 as last_train_turn, 5 as n_tokens, 2 as n_trained_tokens,
                5.0 as median_row_tokens, 0 as n_over_limit, 0.1 as recovery_share, 1 as n_validation_rows"""),
            "mix_coverage": self.session.sql(f"""
                select 'looping' as failure_class, 1 as position, '{HOSTILE.replace("'", "''")}' as description,
                1 as n_failures, 1.0 as share_of_failures, ['credit'] as covered_by, 1 as n_rows,
                1 as n_train_turns"""),
            "drop_ledger": self.session.sql("""
                select 'credit' as mix, 1 as mix_position, 1 as step_order, 'cap' as step, 'within_cap' as reason,
                2 as "rows", 3 as turns"""),
            "pair_ledger": self.session.sql("select 'file' as step, 'in the file' as reason, 7 as pairs"),
            "mask_audit": self.session.sql("""
                select 'credit' as mix, 'pass' as verdict, null::varchar as reason, 5 as n_tokens, 1 as n_trained_turns,
                2 as n_trained_tokens, 0 as n_boundary_merges, false as over_limit"""),
            "answers": self.session.sql("select 'a/judge' as judge_model"),
            "duels": self.session.sql("select 'v4' as ruleset_id"),
            "artifacts": self.session.sql("select 'sn97' as source, 'a' as artifact_id, 'ee' as sha256, 3 as bytes"),
        }  # fmt: skip

    def _files(self, names: list[str], rules: str) -> duckdb.DuckDBPyRelation:
        listed = []
        for name in names:
            path = self.exports / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if name.endswith(".parquet"):
                pq.write_table(SCHEMA.empty_table(), path)
            else:
                path.write_text(name)
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            listed.append((name, path.stat().st_size, digest, 4, rules, "ff"))
        return self.session.from_arrow(files_table(listed))

    def describe(self) -> list[tuple[Any, ...]]:
        settings = {"dataset_license": "cc-by-4.0", "ruleset": ""}
        return manifest_step(self.session, "manifest", str(self.exports), self.tables, settings).fetchall()

    def fault(self) -> str | None:
        found = self.session.sql("select sentence from landing.faults").fetchall()
        return str(found[0][0]) if found else None


def test_a_build_describes_all_exports_twice_alike(tmp_path: Path) -> None:
    site = Site(tmp_path)
    listed = {row[0]: row for row in site.describe()}
    assert site.fault() is None
    found = {
        path.relative_to(site.exports).as_posix(): path.read_bytes()
        for path in site.exports.rglob("*")
        if path.is_file()
    }
    assert {name: hashlib.sha256(data).hexdigest() for name, data in found.items()} == {
        name: row[2] for name, row in listed.items()
    }
    document = json.loads(found["MANIFEST.json"])
    assert {file["file"] for file in document["files"]} == set(found) - {"MANIFEST.json"}
    card = found["mixes/README.md"].decode()
    assert "counted, with one tokenizer and its chat template: acme/coder-7b." in card
    assert card.startswith("---\nlicense: cc-by-4.0\n")
    assert "    path:\n    - credit.train.parquet\n    - finish_mini.train.parquet\n" in card
    assert "| credit | 41,463 | 0.5 |" in card
    assert "<script>" not in card
    assert "| file | in the file | 7 |" in card
    assert "Judges: a/judge." in found["mixes/croissant.json"].decode()
    croissants = [json.loads(found[f"{folder}/croissant.json"]) for folder in ("mixes", "teacher")]
    assert [len(one["recordSet"]) for one in croissants] == [5, 1]
    for folder, one in zip(("mixes", "teacher"), croissants, strict=True):
        for file in one["distribution"]:
            assert file["sha256"] == hashlib.sha256(found[f"{folder}/{file['contentUrl']}"]).hexdigest()
    site.describe()
    assert {name: (site.exports / name).read_bytes() for name in found} == found


def test_a_card_says_that_no_tokenizer_was_named_and_leaves_its_figures_empty(tmp_path: Path) -> None:
    site = Site(tmp_path, tokenizer=None)
    site.tables["mix_composition"] = site.tables["mix_composition"].project("* replace (null::bigint as n_tokens)")
    site.describe()
    card = (site.exports / "mixes" / "README.md").read_text()
    assert "No tokenizer was named when this was built." in card
    assert "every figure of tokens is unknown and left empty" in card
    assert "Each label span was found" not in card
    assert "| credit | 41,463 | 0.5 | 3 | 1 | 16 |  | 2 |" in card


class Loaded:
    """Exports with rows, written as a build writes them, and loaded by their card as people load them."""

    def __init__(self, folder: Path, rows: dict[str, list[RowRecord]], monkeypatch: pytest.MonkeyPatch) -> None:
        site = Site(folder)
        listed = {}
        for mix in ("credit", "finish_mini"):
            held = rows.get(mix, [])
            for split in SPLITS:
                listed[f"{mix}.{split}.parquet"] = [row for row in held if row.train_meta.split == split]
        counts = []
        for name, *rest in site.tables["mix_export"].order("file").fetchall():
            found = listed.get(name.removeprefix("mixes/"))
            if found is not None:
                path = site.exports / name
                pq.write_table(rows_table(found), path)
                rest = [path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest(), len(found), *rest[3:]]
            counts.append((name, *rest))
        site.tables["mix_export"] = site.session.from_arrow(files_table(counts))
        site.describe()
        assert site.fault() is None
        self.folder = site.exports / "mixes"
        for name in ("HF_HOME", "HF_DATASETS_CACHE"):
            monkeypatch.setenv(name, str(folder / "cache"))
        monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
        self._cache = str(folder / "cache")

    def splits(self, *configuration: str) -> dict[str, list[str]]:
        from datasets import load_dataset

        loaded = load_dataset(str(self.folder), *configuration, cache_dir=self._cache)
        return {str(split): list(rows["id"]) for split, rows in loaded.items()}


def _row(row_id: str, split: str) -> RowRecord:
    return row(("user", "a", False), ("assistant", "b", True), row_id=row_id, split=split)


def test_a_card_is_loaded_whatever_split_or_mix_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As on real data: no row is held out for validation, and one mix has none at all.
    site = Loaded(tmp_path, {"credit": [_row("one", "train"), _row("two", "train")]}, monkeypatch)
    assert site.splits("credit") == site.splits("final_v1") == site.splits() == {"train": ["one", "two"]}
    with pytest.raises(ValueError, match="BuilderConfig 'finish_mini' not found"):
        site.splits("finish_mini")


def test_a_final_is_loaded_with_the_splits_that_its_mixes_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {"credit": [_row("one", "train")], "finish_mini": [_row("two", "train"), _row("three", "validation")]}
    site = Loaded(tmp_path, rows, monkeypatch)
    assert site.splits("credit") == {"train": ["one"]}
    assert site.splits("finish_mini") == {"train": ["two"], "validation": ["three"]}
    assert site.splits() == {"train": ["one", "two"], "validation": ["three"]}


def test_a_card_of_no_row_at_all_names_no_configuration() -> None:
    empty = {"credit": [Split("train", (), 0, 0, 0), Split("validation", (), 0, 0, 0)]}
    made = yaml.safe_load(head("other", {"credit": SCHEMA}, empty, "credit", 0).strip("-\n"))
    assert set(made) == {"license", "task_categories", "size_categories"}


@pytest.mark.parametrize("text", ["something else", "mixes/Credit.jsonl"], ids=["longer", "as long"])
def test_an_export_that_changed_behind_the_build_is_one_sentence(tmp_path: Path, text: str) -> None:
    site = Site(tmp_path)
    (site.exports / "mixes" / "credit.jsonl").write_text(text)
    assert site.describe() == []
    assert str(site.fault()).endswith("credit.jsonl is not as the build wrote it: build its export again")
    assert not (site.exports / "MANIFEST.json").exists()
