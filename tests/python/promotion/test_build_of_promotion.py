"""What a build makes of the gateway: bad files beside good ones, a record below the gates, nothing where nothing is."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

REPOSITORY = Path(__file__).parents[3]
FIXTURE = REPOSITORY / "tests" / "fixtures" / "raw" / "gateway" / "compliance-batch"
SELECTED = ("--select", "+promotion_record", "log_replay_mismatches", "--indirect-selection", "cautious")


pytestmark = pytest.mark.build


def _build(folder: Path, raw: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")},
        "ASSAY_DB": str(folder / "warehouse.duckdb"),
        "ASSAY_EXPORTS": str(folder / "exports"),
        "ASSAY_RAW_ROOT": str(raw),
        "DBT_TARGET_PATH": str(folder / "target"),
        "DBT_LOG_PATH": str(folder / "logs"),
    }
    return subprocess.run(
        [sys.executable, "-m", "dbt.cli.main", "--no-use-colors", "build", *SELECTED],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A fixture with one good checkpoint, one cut in half, a log line of neither and a corpus with two bad lines."""
    folder = tmp_path_factory.mktemp("promotion")
    root = folder / "raw" / "gateway" / "f"
    good = root / "runs/good/ckpt/step0450.safetensors"
    half = root / "runs/half/ckpt/step0450.safetensors"
    for path in (good, half):
        path.parent.mkdir(parents=True)
    shutil.copyfile(FIXTURE / "runs/run-c/ckpt/step0450.safetensors", good)
    half.write_bytes(good.read_bytes()[: good.stat().st_size // 2])
    lines = (FIXTURE / "runs/run-c/ckpt/metrics.jsonl").read_text().splitlines()
    wrong = {**json.loads(lines[2]), "accuracy_train": 0.999}
    (good.parent / "metrics.jsonl").write_text("\n".join([lines[1], lines[2], json.dumps(wrong)]) + "\n")
    samples = (FIXTURE / "samples/run-c/step0450.jsonl").read_text().splitlines()
    changed = json.loads(samples[4])
    changed["correct"] = not changed["correct"]
    dump = root / "samples/good/step0450.jsonl"
    dump.parent.mkdir(parents=True)
    dump.write_text("\n".join([*samples[:4], json.dumps(changed), *samples[5:9]]) + "\n")
    episode = {
        "prompt": "<bos> ctx:deploy src:api ver:3 lang:fr rid: s7 d5 d1 c9 l n f o <sep>".split(),
        "continuation": "S_UNOBS S_RESTR S_REFUSE <ans> REFUSE <eos> <pad> <pad> <pad>".split(),
    }
    short = {**episode, "prompt": [token for token in episode["prompt"] if token != "o"]}
    strange = {**episode, "prompt": [token.replace("ver:3", "ver:9") for token in episode["prompt"]]}
    corpus = root / "data/pretrain/corpus.jsonl"
    corpus.parent.mkdir(parents=True)
    corpus.write_text("".join(json.dumps(line) + "\n" for line in (episode, short, strange, episode)))
    ran = _build(folder, folder / "raw")
    assert ran.returncode == 0, ran.stdout[-4000:]
    return folder, ran.stdout


def test_the_bad_checkpoint_is_unknown_and_the_good_one_is_promoted(built: tuple[Path, str]) -> None:
    folder, _ = built
    with duckdb.connect(str(folder / "warehouse.duckdb"), read_only=True) as connection:
        decisions = connection.sql(
            "select run, behaviour, verdict, promote, compliance_deployment, reasons[1] "
            "from promotion.decisions order by run"
        ).fetchall()
    assert decisions[0][:5] == ("good", "genuine", "pass", True, 1.0)
    assert decisions[1][:5] == ("half", "unknown", "unknown", False, None)
    assert "gateway/f/runs/half/ckpt/step0450.safetensors: tensor " in decisions[1][5]
    answer = json.loads((folder / "exports/promotion/answer.json").read_text())
    assert answer["promote"] == ["runs/good/ckpt/step0450.safetensors"]
    assert answer["checkpoints"]["runs/half/ckpt/step0450.safetensors"]["compliance_training"] is None
    assert any("runs/half" in finding and "unknown" in finding for finding in answer["findings"])


def test_every_mismatch_is_a_row_that_names_file_and_line(built: tuple[Path, str]) -> None:
    folder, _ = built
    with duckdb.connect(str(folder / "warehouse.duckdb"), read_only=True) as connection:
        replay = connection.sql("select line, verdict from promotion.log_replay order by line").fetchall()
        logs = connection.sql("select reason from promotion.log_replay_mismatches where line = 3").fetchall()
        samples = connection.sql("select reason from promotion.sample_audit_mismatches").fetchall()
        corpus = connection.sql("select reason from promotion.corpus_faults order by line").fetchall()
    assert replay == [(1, "unknown"), (2, "match"), (3, "mismatch")]
    assert logs == [("gateway/f/runs/good/ckpt/metrics.jsonl, line 3: accuracy is stated as 0.999, replayed 0.987",)]
    (sample,) = samples[0]
    assert len(samples) == 1
    assert sample.startswith("gateway/f/samples/good/step0450.jsonl, line 5: correct is stated as ")
    assert corpus == [
        ("gateway/f/data/pretrain/corpus.jsonl, line 2: prompt has 14 tokens, expected 15",),
        ("gateway/f/data/pretrain/corpus.jsonl, line 3: prompt has the unknown token ver:9",),
    ]


def test_a_second_build_writes_the_same_bytes(built: tuple[Path, str]) -> None:
    folder, _ = built
    files = sorted(path for path in (folder / "exports").rglob("*") if path.is_file())
    before = {path: path.read_bytes() for path in files}
    assert _build(folder, folder / "raw").returncode == 0
    assert {path: path.read_bytes() for path in sorted((folder / "exports").rglob("*")) if path.is_file()} == before


def test_without_a_gateway_everything_builds_empty_and_no_record_is_written(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    ran = _build(tmp_path, tmp_path / "raw")
    assert ran.returncode == 0, ran.stdout[-4000:]
    assert not (tmp_path / "exports").exists()


def test_exports_that_cannot_be_written_are_one_sentence(tmp_path: Path, built: tuple[Path, str]) -> None:
    folder, _ = built
    for name in ("warehouse.duckdb", "warehouse.duckdb.landing"):
        source = folder / name
        (shutil.copytree if source.is_dir() else shutil.copyfile)(source, tmp_path / name)
    (tmp_path / "exports").write_text("a file, not a folder")
    ran = _build(tmp_path, folder / "raw")
    assert ran.returncode == 1
    assert "cannot write below " in ran.stdout
    assert "Traceback" not in ran.stdout + ran.stderr
