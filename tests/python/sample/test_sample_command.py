import hashlib
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from assay.cli import main
from assay.sample import sn97


def digests(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def test_same_arguments_give_the_same_bytes_in_another_process_with_two_workers(
    tree: Path, options: list[str], tmp_path: Path
) -> None:
    words = [sys.executable, "-m", "assay.cli", "sample", "--out", str(tmp_path / "t"), *options, "--workers", "2"]
    subprocess.run(words, check=True, capture_output=True, env=os.environ | {"PYTHONHASHSEED": "7"})
    assert digests(tmp_path / "t") == digests(tree)


def test_another_seed_gives_other_bytes(tree: Path, generate: Callable[..., Path], tmp_path: Path) -> None:
    other = generate(
        tmp_path / "t", "--runs", "1", "--samples", "2", "--seed", "98", "--scale", "small", "--sources", "sn97"
    )
    assert not set(os.listdir(other / "sn97/runs")) & set(os.listdir(tree / "sn97/runs"))


def test_eras_and_sources_can_be_chosen(generate: Callable[..., Path], tmp_path: Path) -> None:
    root = generate(
        tmp_path / "t",
        "--runs",
        "3",
        "--samples",
        "2",
        "--scale",
        "small",
        "--era",
        "V5b",
        "--era",
        "V2",
        "--sources",
        "sn97",
    )
    assert sorted(os.listdir(root)) == ["sn97"]
    modes = [json.loads(p.read_bytes())["scoring_mode"] for p in root.glob("sn97/runs/*/verdict.json")]
    assert sorted(modes) == ["binary", "binary", "graded_20"]


def test_a_full_folder_is_refused_and_force_leaves_strangers_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    words = ["sample", "--out", str(tmp_path), "--sources", "tokenizer"]
    assert main(words) == 2
    assert "is not empty" in capsys.readouterr().err
    assert sorted(os.listdir(tmp_path)) == ["mine.txt"]
    assert main([*words, "--force"]) == 0
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert "tokenizer" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--out", "/dev/null/x"], "cannot write"),
        (["--out", "/dev/null"], "is not a folder"),
        (["--out", "{tmp}/t", "--sources", "sn98"], "unknown source sn98"),
    ],
)
def test_faults_are_one_sentence(
    words: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sample", *(word.replace("{tmp}", str(tmp_path)) for word in words)]) == 2
    message = capsys.readouterr().err
    assert message.startswith("assay: ") and sentence in message and message.count("\n") == 1


def test_a_full_disk_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "t" / "tokenizer"
    target.mkdir(parents=True)
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    (target / "tokenizer.json").symlink_to("/dev/full")
    assert main(["sample", "--out", str(tmp_path / "t"), "--sources", "tokenizer", "--force"]) == 2
    message = capsys.readouterr().err
    assert "cannot write" in message and "No space left" in message and message.count("\n") == 1


def test_memory_does_not_grow_with_the_number_of_samples(tmp_path: Path) -> None:
    def written(samples: int) -> int:
        plan = sn97.plans(5, 1, samples, "full", ["V5a"])[0]
        summary = sn97.write_run(tmp_path / str(samples), plan)
        return sum(file.size for file in summary.files.values())

    written(4)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    size = written(60)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert size > 5_000_000
    assert grown < 40_000_000


def test_full_scale_lines_are_as_long_as_published_ones(tmp_path: Path) -> None:
    plan = sn97.plans(5, 1, 12, "full", ["V4"])[0]
    summary = sn97.write_run(tmp_path, plan)
    assert 180_000 < summary.files["generated_samples"].size / 12 < 330_000


def test_the_tree_is_small_enough_to_bundle(tree: Path) -> None:
    assert sum(path.stat().st_size for path in tree.rglob("*") if path.is_file()) < 2_000_000
