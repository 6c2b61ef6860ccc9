"""Sampling of a tree: bad files beside good ones, and what a second run samples."""

import hashlib
import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from assay.errors import AssayError
from assay.landing.run import land_tree
from assay.promotion import run as sampling_run
from assay.promotion.conditions import Context
from assay.promotion.run import EPISODES_TABLE, Checkpoint, sample_tree
from assay.promotion.step import sampling_step
from dbt_project import session_of_a_run
from safetensors.numpy import load_file, save_file

FIXTURE = Path(__file__).parents[2] / "fixtures" / "raw" / "gateway" / "compliance-batch"
SMALL = [
    (Context("training", "ctx:train", ("src:batch",), "ver:2", "lang:en", (), True), 40, 5),
    (Context("deployment", "ctx:deploy", ("src:api", "src:web"), "ver:2", "lang:en", (5, 9), False), 40, 5),
]


@pytest.fixture(autouse=True)
def _small_experiments(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("EXPERIMENT_EPISODES", "LOG_EPISODES", "DUMP_EPISODES"):
        monkeypatch.setattr(f"assay.promotion.conditions.{name}", 20)


def _checkpoint(raw: Path, name: str, step: int | None = None) -> Checkpoint:
    artifact = f"gateway/f/{name}"
    return Checkpoint(artifact, artifact, "f", name, hashlib.sha256((raw / artifact).read_bytes()).hexdigest(), step)


def _copy(raw: Path, name: str, source: str = "runs/run-c/ckpt/step0450.safetensors") -> Path:
    path = raw / "gateway" / "f" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(FIXTURE / source, path)
    path.chmod(0o644)
    return path


def test_a_second_run_samples_only_what_is_new(tmp_path: Path) -> None:
    raw, landing = tmp_path / "raw", tmp_path / "landing"
    _copy(raw, "a.safetensors")
    first, n_first = sample_tree(raw, landing, [_checkpoint(raw, "a.safetensors", 3)], SMALL, workers=1)
    assert n_first == first.num_rows == 23
    assert set(first["status"].to_pylist()) == {"sampled"}
    files = {path: path.stat().st_mtime_ns for path in (landing / EPISODES_TABLE).glob("*.parquet")}

    same, n_same = sample_tree(raw, landing, [_checkpoint(raw, "a.safetensors", 3)], SMALL, workers=1)
    assert (n_same, same) == (0, first)

    _copy(raw, "again.safetensors")
    _copy(raw, "b.safetensors", "model/base.safetensors")
    more = [
        _checkpoint(raw, name, step)
        for name, step in (("a.safetensors", 3), ("again.safetensors", 4), ("b.safetensors", None))
    ]
    table, n_more = sample_tree(raw, landing, more, SMALL, workers=1)
    assert n_more == 1 + 22  # the same content's log of another step, and the new content
    assert table.num_rows == 23 + 23 + 22
    assert all(path.stat().st_mtime_ns == time for path, time in files.items() if path.name != "empty.parquet")

    context, n, seed = SMALL[1]
    other = [SMALL[0], (context, n + 1, seed)]
    _, n_other = sample_tree(raw, landing, more[:1], other, workers=1)
    assert n_other == 1
    assert len(list((landing / EPISODES_TABLE).glob("*.parquet"))) == 23 + 1


def test_a_bad_checkpoint_is_unknown_with_its_reason_and_the_others_are_sampled(tmp_path: Path) -> None:
    raw, landing = tmp_path / "raw", tmp_path / "landing"
    _copy(raw, "good.safetensors")
    half = _copy(raw, "half.safetensors")
    half.write_bytes(half.read_bytes()[: half.stat().st_size // 2])
    tensors = load_file(FIXTURE / "model/base.safetensors")
    endless = {**tensors, "head.bias": tensors["head.bias"] + np.where(np.arange(72) == 4, -1e6, 0).astype(np.float32)}
    save_file(endless, raw / "gateway/f/endless.safetensors")
    save_file({**tensors, "ln_f.bias": tensors["ln_f.bias"] * np.float32("nan")}, raw / "gateway/f/nan.safetensors")
    names = ["endless", "good", "half", "nan"]
    table, _ = sample_tree(raw, landing, [_checkpoint(raw, f"{name}.safetensors") for name in names], SMALL, workers=2)
    reasons = {row["checkpoint"]: {row["reason"]} for row in table.to_pylist()}
    for row in table.to_pylist():
        reasons[row["checkpoint"]].add(row["reason"])
        assert (row["status"] == "sampled") == (row["reason"] is None)
    assert reasons["good.safetensors"] == {None}
    (reason,) = reasons["half.safetensors"]
    assert reason.startswith("gateway/f/half.safetensors: tensor ")
    assert reasons["nan.safetensors"] == {
        "gateway/f/nan.safetensors: tensor ln_f.bias: holds a value that is not a finite float32"
    }
    assert reasons["endless.safetensors"] == {
        f"gateway/f/endless.safetensors: tensor head.weight: none of {n} continuations ends with <eos>"
        for n in (20, 40)
    }
    stored = {
        sha256
        for path in (landing / EPISODES_TABLE).glob("*.parquet")
        for sha256 in pq.read_table(path)["checkpoint_sha256"].unique().to_pylist()
    }
    assert stored == {_checkpoint(raw, "good.safetensors").sha256}


def test_no_checkpoint_at_all_gives_an_empty_table(tmp_path: Path) -> None:
    (tmp_path / "landing").mkdir()
    table, n_sampled = sample_tree(tmp_path, tmp_path / "landing", [], SMALL)
    assert (table.num_rows, n_sampled) == (0, 0)
    assert pq.read_table(tmp_path / "landing" / EPISODES_TABLE / "empty.parquet").num_rows == 0


def test_a_file_that_changes_while_it_is_sampled_stops_the_build(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    path = _copy(raw, "a.safetensors")
    checkpoint = _checkpoint(raw, "a.safetensors")
    path.write_bytes(path.read_bytes()[:-1] + b"\0")
    with pytest.raises(AssayError, match=r"gateway/f/a\.safetensors changed while it was read: build again"):
        sample_tree(raw, tmp_path / "landing", [checkpoint], SMALL, workers=1)
    path.unlink()
    with pytest.raises(AssayError, match=r"gateway/f/a\.safetensors cannot be read"):
        sample_tree(raw, tmp_path / "landing", [checkpoint], SMALL, workers=1)


def test_a_checkpoint_whose_name_is_not_utf_8_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw, landing = tmp_path / "raw", tmp_path / "landing"
    path = _copy(raw, os.fsdecode(b"\xff.safetensors"))
    land_tree(raw, landing, 1)
    (row,) = pq.read_table(landing / "artifacts" / "all.parquet").to_pylist()
    assert row["artifact_id"] == "gateway/f/\ufffd.safetensors"
    asked: list[tuple[Path, Checkpoint]] = []

    def apart(function: object, root: Path, folder: Path, files: list[Checkpoint], *_: object) -> None:
        asked.extend((root, file) for file in files)
        raise AssayError("far enough")

    monkeypatch.setattr("assay.promotion.step.apart", apart)
    session = session_of_a_run()
    contexts = session.sql(
        "select 'training' as context, 'ctx:train', 'src:batch', 'ver:2', 'lang:en', null, 'sequential', 20, 5"
    )
    named = "select '{}' as artifact_id, 'f' as fixture, 'c' as checkpoint, '{}' as sha256, null::bigint as step"
    gone = "gateway/f/gone.safetensors"
    for artifact_id, fault in (
        (row["artifact_id"], "far enough"),
        (gone, f"{gone} is not among the landed files: build `artifacts` again"),
    ):
        checkpoints = session.sql(named.format(artifact_id, row["sha256"]))
        assert sampling_step(session, "a_model", str(raw), str(landing), checkpoints, contexts).fetchall() == []
        assert session.sql("select sentence from landing.faults").fetchall() == [(fault,)]
    ((root, checkpoint),) = asked
    assert root / checkpoint.path == path
    assert sampling_run._model(path, checkpoint.artifact_id, checkpoint.sha256).path == checkpoint.artifact_id
