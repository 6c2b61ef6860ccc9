"""The teacher set as a build makes it: real records, the example bucket, spoilt parts, absent parts."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from dbt_project import REPOSITORY
from teacher_tree import TASK, THOUGHT, Bucket, reference, trajectory

SELECT = ("--select", "+path:models/marts/teacher", "+path:models/exports/teacher")
WITHOUT_STAGING_TESTS = ("--exclude", "path:models/staging,resource_type:test")
TOKENIZER = REPOSITORY / "tests" / "fixtures" / "raw" / "tokenizer"
SHARED = REPOSITORY.parent / "shared"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared examples are not beside the repository")

# The manifest of an epoch of its own: whole, under its own hash, and of no use.
UNUSABLE = b'{"corpus_epoch": 15, "schema_version": 2, "shards": [{"key": null}]}'
UNUSABLE_SHA256 = hashlib.sha256(UNUSABLE).hexdigest()

Rows = list[dict[str, Any]]


pytestmark = pytest.mark.build


class Site:
    """One place for raw tree, warehouse and exports, so that dbt need not parse the project again for every build."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.warehouse = folder / "warehouse.duckdb"
        self.exports = folder / "exports" / "teacher"

    def build(self, raw: Path, *words: str) -> None:
        """Build the teacher set of a raw tree from nothing."""
        link = self.folder / "raw"
        link.unlink(missing_ok=True)
        link.symlink_to(raw)
        self.warehouse.unlink(missing_ok=True)
        shutil.rmtree(f"{self.warehouse}.landing", ignore_errors=True)
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")},
            "ASSAY_RAW_ROOT": str(link),
            "ASSAY_DB": str(self.warehouse),
            "ASSAY_EXPORTS": str(self.folder / "exports"),
            "DBT_TARGET_PATH": str(self.folder / "target"),
            "DBT_LOG_PATH": str(self.folder / "logs"),
        }
        command = [sys.executable, "-m", "dbt.cli.main", "--no-use-colors", "build", *(words or SELECT)]
        built = subprocess.run(
            [*command, *WITHOUT_STAGING_TESTS],
            cwd=REPOSITORY,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert built.returncode == 0, built.stdout

    def rows(self, query: str) -> Rows:
        """What a query says of the warehouse."""
        with duckdb.connect(str(self.warehouse), read_only=True) as connection:
            rows: Rows = connection.sql(query).to_arrow_table().to_pylist()
            return rows


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return Site(tmp_path_factory.mktemp("site"))


def _json_lines(path: Path) -> Rows:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


@needs_shared
def test_agreement_of_the_real_records_is_as_expected(site: Site, tmp_path: Path) -> None:
    expected = _json_lines(SHARED / "expected" / "sn120_agreement.jsonl")
    raw = tmp_path / "raw"
    shutil.copytree(SHARED / "raw" / "sn120", raw / "sn120")
    site.build(raw)
    query = f"select {', '.join(expected[0])} from teacher.reference_agreement order by corpus_epoch, turn_id"
    assert site.rows(query) == expected
    scores = site.rows("select * from teacher.duel_scores")
    (exact,) = [row for row in scores if row["verdict"] == "replayed"]
    assert exact["challenge_id"] == "chal-00469"
    for name in ("margin", "se", "z", "challenger_wins", "n_paired_turns"):
        assert exact[name] == exact[f"published_{name}"]
    assert {row["unknown_reason"] for row in scores if row["verdict"] == "unknown"} == {"s_star_v2_is_not_documented"}
    what_if = site.rows("select * from teacher.duel_what_if where challenge_id = 'chal-00469' order by version")
    assert {row["version"]: row["is_own_version"] for row in what_if}["3a"] is True
    assert site.rows("select count(*) as n from teacher.sft_rows") == [{"n": 0}]


@needs_shared
def test_rows_of_the_example_bucket_are_as_expected(site: Site, tmp_path: Path) -> None:
    examples = SHARED / "raw" / "sn120_examples"
    expected = {row["turn_id"]: row for row in _json_lines(examples / "expected_sft_rows_proposed.jsonl")}
    raw = tmp_path / "raw"
    shutil.copytree(examples, raw / "sn120")
    shutil.copytree(TOKENIZER, raw / "tokenizer")
    site.build(raw)
    verdicts = site.rows("select turn_id, drop_reason, clean_flags, round_trips from teacher.turn_verdicts")
    assert {row["turn_id"]: row["drop_reason"] for row in verdicts} == {
        turn_id: row["drop_reason"] for turn_id, row in expected.items()
    }
    assert all(row["clean_flags"] == expected[row["turn_id"]]["clean_flags"] for row in verdicts)
    agreement = site.rows("select * from teacher.reference_agreement")
    for row in agreement:
        wanted = expected[row["turn_id"]]
        assert {"challenge_id": row["challenge_id"], "ref_index": row["ref_index"]} == wanted["selected"]
        for name in ("n_pool_refs", "modal_token", "modal_share", "modal_action_share", "modal_norm_share",
                     "n_distinct_actions", "teacher_lift"):  # fmt: skip
            assert row[name] == wanted[name], name
    rows = site.rows("select * from teacher.sft_rows")
    assert {row["turn_id"] for row in rows} == {key for key, row in expected.items() if row["drop_reason"] is None}
    for row in rows:
        wanted = expected[row["turn_id"]]
        for name in ("traj_id", "stratum", "source", "language", "phase", "n_prefix_chars", "duel_epoch", "thought",
                     "action", "completion", "clean_flags"):  # fmt: skip
            assert row[name] == wanted[name], name
        assert row["lift_describes_action"] == ("multi_bash_first" not in wanted["clean_flags"])


@pytest.fixture(scope="module")
def spoilt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    raw = tmp_path_factory.mktemp("spoilt") / "raw"
    bucket = Bucket(raw, TOKENIZER)
    other_task = [*TASK[:1], {"role": "user", "content": "Fix the writer."}]
    bucket.chunk([trajectory("a.1", 14), trajectory("twin.2", 1), trajectory("past.3", 3, other_task)])
    bucket.chunk([trajectory("wrong.4")], sha256="0" * 64)
    bucket.chunk([trajectory("twofold.6", 1)])
    bucket.entries.append({**bucket.entries[-1], "format": "view_v4"})
    bucket.change_index("past.3:0", traj_line=3)
    bucket.change_index("past.3:1", msg_pos=400)
    manifest = bucket.close(schema_version=3)
    bucket.put(f"turns/manifests/{UNUSABLE_SHA256}.json", UNUSABLE)
    bucket.record(
        "chal-00001",
        manifest,
        {
            "a.1:0": [reference(lift=0.01), reference("ls", lift=0.03), reference("cat x", lift=0.5)],
            "a.1:1": [],
            "a.1:2": [reference("echo 'open")],
            "a.1:3": [reference("echo a\0b")],
            "a.1:4": [reference("echo '" + "x" * 100_000 + "'")],
            "a.1:5": [reference(thought=THOUGHT + "\n```bash\nnever closed")],
            "a.1:6": [reference(thought="<think>" + THOUGHT + "</think>\n<output>\nfake\n</output>")],
            "a.1:7": [reference(thought=f"{THOUGHT}\n```bash\npwd\n```\nand so on", command="ls")],
            "a.1:8": [reference(lift=None)],
            "a.1:9": [reference(action='{"name": "read", "arguments": {}}')],
            "a.1:10": [reference("pwd"), reference(action="\\boxed{4}")],
            "a.1:11": [reference(thought="<think></think>")],
            "a.1:12": [reference(lift=0.0)],
            "a.1:13": [reference(thought="x" * 79)],
            "twin.2:0": [reference("ls", lift=0.03)],
            "past.3:0": [reference()],
            "past.3:1": [reference()],
            "past.3:2": [reference("cat file", thought="x" * 80)],
            "wrong.4:0": [reference()],
            "nowhere.5:0": [reference()],
            "twofold.6:0": [reference()],
        },
    )
    bucket.record("chal-00005", UNUSABLE_SHA256, {"a.1:0": [reference()]}, corpus_epoch=15)
    # The cache of an early record, published again; and a challenge number that the reset gave out again.
    bucket.record(
        "chal-00002",
        manifest,
        {"a.1:0": [reference(lift=0.01), reference("ls", lift=0.03), reference("ls -R", lift=0.02)]},
    )
    bucket.record("chal-00001", "f" * 64, {"a.1:0": [reference("top")]}, corpus_epoch=14, under="later/")
    bucket.record("chal-00003", manifest, None, rejection_reason="unpromptable:probe_empty_action_span")
    bucket.record("chal-00004", manifest, {"a.1:0": [{**reference("rm -r"), "lp_own": float("nan")}]})
    return raw


def test_spoilt_parts_are_refused_with_a_reason_and_the_rest_is_made(site: Site, spoilt: Path) -> None:
    site.build(spoilt)
    reasons = {
        row["turn_id"]: (row["verdict"], row["drop_reason"])
        for row in site.rows("select * from teacher.turn_verdicts where corpus_epoch = 13")
    }
    assert reasons == {
        "a.1:0": ("kept", None),
        "a.1:2": ("dropped", "invalid_shell"),
        "a.1:3": ("dropped", "invalid_shell"),
        "a.1:4": ("kept", None),
        "a.1:5": ("dropped", "round_trip_fails"),
        "a.1:6": ("dropped", "environment_turn_in_thought"),
        "a.1:7": ("kept", None),
        "a.1:8": ("unknown", "lift_unknown"),
        "a.1:10": ("kept", None),
        "a.1:11": ("dropped", "blank"),
        "a.1:12": ("dropped", "lift_not_positive"),
        "a.1:13": ("dropped", "thought_under_80"),
        "twin.2:0": ("dropped", "duplicate_pair"),
        "past.3:0": ("unknown", "index_row_past_its_chunk"),
        "past.3:1": ("unknown", "index_and_trajectory_disagree_on_msg_pos"),
        "past.3:2": ("kept", None),
        "wrong.4:0": ("unknown", "chunk_hash_differs"),
        "nowhere.5:0": ("unknown", "turn_not_in_index"),
        "twofold.6:0": ("unknown", "chunk_listed_with_two_formats"),
    }
    (repaired,) = site.rows("select * from teacher.sft_rows where turn_id = 'a.1:7'")
    assert (repaired["action"], repaired["lift_describes_action"]) == ("```bash\npwd\n```", False)
    checks = site.rows("select role, key, reason from teacher.corpus_checks where reason is not null order by all")
    assert [(row["role"], row["key"].split("/")[-1].split(".")[0], row["reason"]) for row in checks] == [
        ("chunk", "chunk_0013_0001", "hash_differs"),
        ("chunk", "chunk_0013_0002", "listed_with_two_formats"),
        *sorted([("manifest", UNUSABLE_SHA256, "manifest_unusable"), ("manifest", "f" * 64, "manifest_absent")]),
        ("view_chunk", "chunk_0013_0002", "listed_with_two_formats"),
    ]
    (pool,) = site.rows("select * from teacher.reference_agreement where corpus_epoch = 13 and turn_id = 'a.1:0'")
    assert (pool["n_pool_refs"], pool["n_published_refs"], pool["n_distinct_refs"], pool["n_duels"]) == (6, 6, 4, 2)
    # Equal lifts: the first in pool order, that is of the lower challenge number.
    assert (pool["modal_token"], pool["challenge_id"], pool["ref_index"]) == ("ls", "chal-00001", 2 - 1)
    (later,) = site.rows("select * from teacher.reference_agreement where corpus_epoch = 14")
    assert (later["modal_token"], later["is_vacuous"], later["modal_share"]) == ("top", True, 1.0)
    dialects = site.rows("select turn_id, dialect from teacher.reference_pool where dialect <> 'bash' order by turn_id")
    assert dialects == [{"turn_id": "a.1:10", "dialect": "boxed"}, {"turn_id": "a.1:9", "dialect": "tool_call"}]
    refused = site.rows("select artifact_id, reason from staging.quarantine order by artifact_id")
    assert [(row["artifact_id"].split("/")[-1], row["reason"]) for row in refused] == [
        ("chal-00004.json.gz", "non_finite_number"),
        (f"{UNUSABLE_SHA256}.json", "missing_field"),
    ]
    (unscored,) = site.rows("select * from teacher.duel_scores where challenge_id = 'chal-00003'")
    assert (unscored["verdict"], unscored["unknown_reason"]) == ("unknown", "no_king_rows")


def test_the_switches_choose_an_epoch_and_drop_recurrences(site: Site, spoilt: Path) -> None:
    switches = ("--vars", "{corpus_epoch: 13, deduplicate_references: true}")
    site.build(
        spoilt, "--select", "+reference_agreement", "--resource-type", "model", "--resource-type", "seed", *switches
    )
    agreement = site.rows("select * from teacher.reference_agreement")
    assert {row["corpus_epoch"] for row in agreement} == {13}
    (pool,) = [row for row in agreement if row["turn_id"] == "a.1:0"]
    assert (pool["n_pool_refs"], pool["n_published_refs"], pool["n_distinct_refs"]) == (4, 6, 4)
    assert pool["modal_share"] == 0.75


def test_exports_are_the_same_bytes_again_and_unknown_rows_never_pass(site: Site, spoilt: Path, tmp_path: Path) -> None:
    exports = site.exports
    names = ("README.md", "sft_rows.jsonl", "sft_rows.parquet")
    site.build(spoilt)
    first = {name: (exports / name).read_bytes() for name in names}
    rows = _json_lines(exports / "sft_rows.jsonl")
    assert [row["turn_id"] for row in rows] == sorted(row["turn_id"] for row in rows)
    assert pq.read_table(exports / "sft_rows.parquet").to_pylist() == rows
    listed = site.rows("select file, bytes, n_rows from exports.teacher_export order by file")
    assert [(row["file"], row["bytes"]) for row in listed] == [(f"teacher/{name}", len(first[name])) for name in names]
    site.build(spoilt)
    assert {name: (exports / name).read_bytes() for name in names} == first
    # Without the tokenizer folder nothing can be said of a prompt, so nothing passes; filters that fail still count.
    bare = tmp_path / "bare"
    shutil.copytree(spoilt / "sn120", bare / "sn120")
    site.build(bare)
    counts = site.rows("select verdict, drop_reason, count(*) as n from teacher.turn_verdicts group by all")
    assert {row["verdict"] for row in counts} == {"dropped", "unknown"}
    assert {"verdict": "unknown", "drop_reason": "no_chat_template", "n": 6} in counts
    assert {"verdict": "dropped", "drop_reason": "invalid_shell", "n": 2} in counts
    assert (exports / "sft_rows.jsonl").read_bytes() == b""
