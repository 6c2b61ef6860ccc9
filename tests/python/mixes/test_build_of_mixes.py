"""The mixes as a build writes them: the same bytes on one thread and on two, and no file emptied by a template."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from assay.mixes.export import SPLITS
from dbt_project import REPOSITORY
from mix_inputs import BUNDLED, PLAIN_TEMPLATE, write_tokenizer

MIXES = ("credit", "escape_duel", "escape_mini", "finish_mini")
SHARED = REPOSITORY.parent / "shared"

Rows = list[dict[str, Any]]


pytestmark = pytest.mark.build


class Site:
    """A warehouse of its own with its exports; the target folder of dbt is shared, so that it parses once."""

    def __init__(self, folder: Path, target: Path) -> None:
        self.folder, self.target = folder, target
        self.warehouse, self.exports = folder / "warehouse.duckdb", folder / "exports"

    def build(self, select: str, **settings: str) -> subprocess.CompletedProcess[str]:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")},
            "ASSAY_DB": str(self.warehouse),
            "ASSAY_EXPORTS": str(self.exports),
            "DBT_TARGET_PATH": str(self.target / "target"),
            "DBT_LOG_PATH": str(self.target / "logs"),
            **settings,
        }
        command = [sys.executable, "-m", "dbt.cli.main", "--no-use-colors", "build", "--select", select]
        return subprocess.run(
            [*command, "--resource-type", "model", "--resource-type", "seed"],
            cwd=REPOSITORY,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def digests(self) -> dict[str, str]:
        paths = sorted(path for path in self.exports.rglob("*") if path.is_file())
        return {
            path.relative_to(self.exports).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths
        }

    def rows(self, query: str) -> Rows:
        with duckdb.connect(str(self.warehouse), read_only=True) as connection:
            rows: Rows = connection.sql(query).to_arrow_table().to_pylist()
            return rows

    def lines(self, name: str) -> Rows:
        return [json.loads(line) for line in (self.exports / "mixes" / name).read_bytes().split(b"\n")[:-1]]


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dbt")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, target: Path) -> Site:
    """The bundled sample, built on one thread."""
    site = Site(tmp_path_factory.mktemp("one"), target)
    built = site.build("+mix_export", ASSAY_THREADS="1")
    assert built.returncode == 0, built.stdout
    return site


def test_two_threads_write_the_same_bytes_of_every_export(site: Site, target: Path, tmp_path: Path) -> None:
    other = Site(tmp_path, target)
    built = other.build("+mix_export", ASSAY_THREADS="2")
    assert built.returncode == 0, built.stdout
    assert other.digests() == site.digests()
    assert len(other.digests()) == 25


def test_the_table_lists_every_file_as_it_is(site: Site) -> None:
    listed = {row["file"]: row for row in site.rows("select * from exports.mix_export")}
    assert {name: row["sha256"] for name, row in listed.items()} == site.digests()
    for name, row in listed.items():
        assert row["bytes"] == (site.exports / name).stat().st_size
    for mix in MIXES:
        assert listed[f"mixes/{mix}.jsonl"]["n_rows"] == len(site.lines(f"{mix}.jsonl")) > 0
        rules = json.loads(listed[f"mixes/{mix}.jsonl"]["rules"])
        assert rules["tokenizer_sha256"] == hashlib.sha256((BUNDLED / "tokenizer.json").read_bytes()).hexdigest()
        assert [row["mix"] for row in rules["mix_plan"]] == list(MIXES)


def test_the_files_hold_what_the_tables_say(site: Site) -> None:
    for mix in MIXES:
        lines = site.lines(f"{mix}.jsonl")
        rows = site.rows(f"select row_id, n_tokens from mixes.mix_rows where mix = '{mix}' order by row_order")
        assert [(line["id"], line["train_meta"]["n_tokens"]) for line in lines] == [
            (row["row_id"], row["n_tokens"]) for row in rows
        ]
        turns = site.rows(f"select row_id, message_index, train from mixes.mix_turns where mix = '{mix}' order by all")
        assert {(row["row_id"], row["message_index"]): row["train"] for row in turns} == {
            (line["id"], place): message["train"] for line in lines for place, message in enumerate(line["messages"])
        }
        assert pq.read_table(site.exports / "mixes" / f"{mix}.parquet").to_pylist() == lines
    texts = site.rows("select row_id, message_index, role, content from intermediate.mix_texts")
    said = {(row["row_id"], row["message_index"]): (row["role"], row["content"]) for row in texts}
    for line in site.lines("final_v2.jsonl"):
        for place, message in enumerate(line["messages"]):
            assert said[line["id"], place] == (message["role"], message["content"])


def test_the_finals_put_the_mixes_together_in_the_order_of_the_plan(site: Site) -> None:
    mixes = site.exports / "mixes"
    parts = [(mixes / f"{mix}.jsonl").read_bytes() for mix in MIXES]
    assert (mixes / "final_v1.jsonl").read_bytes() == b"".join(parts[:2])
    assert (mixes / "final_v2.jsonl").read_bytes() == b"".join(parts)
    split = [pq.read_metadata(mixes / f"{mix}.{part}.parquet").num_rows for mix in MIXES for part in SPLITS]
    assert sum(split) == pq.read_metadata(mixes / "final_v2.parquet").num_rows


def test_the_audit_file_has_every_candidate(site: Site) -> None:
    audited = {line["id"]: line for line in site.lines("mask_audit.jsonl")}
    rows = site.rows("select row_id, verdict from gates.mask_audit")
    assert {name: line["verdict"] for name, line in audited.items()} == {row["row_id"]: row["verdict"] for row in rows}
    for line in site.lines("final_v2.jsonl"):
        audit = audited[line["id"]]
        assert audit["is_exported"]
        trained = [place for place, message in enumerate(line["messages"]) if message["train"]]
        passed = [turn for turn in audit["turns"] if turn["verdict"] == "pass"]
        assert [turn["message_index"] for turn in passed] == trained
        assert sum(turn["end_token"] - turn["first_token"] for turn in passed) == line["train_meta"]["n_trained_tokens"]


def test_a_second_build_encodes_nothing_again(site: Site) -> None:
    before = site.digests()
    built = site.build("mask_audit", ASSAY_THREADS="1")
    assert built.returncode == 0, built.stdout
    assert "Mask audit: 0 rows of 0 tokens" in built.stdout
    assert site.digests() == before


@pytest.fixture
def spoilt(site: Site, target: Path, tmp_path: Path) -> Site:
    """The same warehouse to build other settings into, with the exports elsewhere."""
    other = Site(site.folder, target)
    other.exports = tmp_path / "exports"
    return other


def test_a_template_that_refuses_every_row_stops_the_build_and_leaves_the_files_of_the_last_one(
    site: Site, spoilt: Site, tmp_path: Path
) -> None:
    shutil.copytree(site.exports, spoilt.exports)
    refusing = write_tokenizer(tmp_path / "refusing", "{{ raise_exception('no system role') }}")
    built = spoilt.build("mask_audit+,+mix_export", ASSAY_TOKENIZER=str(refusing))
    assert built.returncode != 0
    assert re.search(
        r"gate mask_audit leaves the mix credit without a row: (\d+) of its \1 candidate rows fail for "
        r"template_refused: the template raised: no system role; nothing was exported",
        built.stdout,
    )
    assert "Traceback" not in built.stdout
    assert spoilt.digests() == site.digests()
    # A template that asks for the date is told the same one every day.
    asking = write_tokenizer(tmp_path / "asking", "{{ strftime_now('%Y') }}" + PLAIN_TEMPLATE)
    built = spoilt.build("mask_audit+,+mix_export", ASSAY_TOKENIZER=str(asking))
    assert built.returncode == 0, built.stdout
    assert spoilt.rows("select distinct verdict, template_date from gates.mask_audit") == [
        {"verdict": "pass", "template_date": "2025-01-01"}
    ]
    assert spoilt.lines("final_v2.jsonl")[0]["messages"] == site.lines("final_v2.jsonl")[0]["messages"]
    assert spoilt.digests() != site.digests()


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared raw tree is not beside the repository")
def test_the_real_raw_tree_gives_the_expected_rows_and_turns(target: Path, tmp_path: Path) -> None:
    expected = json.loads((SHARED / "expected" / "sn97_headlines.json").read_bytes())
    site = Site(tmp_path, target)
    built = site.build("+mix_export", ASSAY_RAW_ROOT=str(SHARED / "raw"))
    assert built.returncode == 0, built.stdout
    lines = site.lines("final_v1.jsonl")
    trained = sum(message["train"] for line in lines for message in line["messages"])
    assert (len(lines), trained) == (expected["combined"]["rows"], expected["combined"]["train_turns"])
    # It has no tokenizer, and nothing stands in for one.
    metas = [line["train_meta"] for line in site.lines("final_v2.jsonl")]
    assert {(meta["n_tokens"], meta["n_trained_tokens"]) for meta in metas} == {(None, None)}
    (rules,) = {row["rules"] for row in site.rows("select rules from exports.mix_export")}
    assert json.loads(rules)["tokenizer"] is None
