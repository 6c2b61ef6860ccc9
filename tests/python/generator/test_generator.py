"""The generator of benchmark trees: same bytes for the same options, readable by landing, and true to its own word."""

import hashlib
import json
from pathlib import Path

import pytest
from assay.landing.run import land_tree

from bench.generator.__main__ import main
from bench.generator.duels import P_YES, SIDES, Truth

OPTIONS = ["--seed", "5", "--runs", "6", "--samples", "6", "--scale", "small", "--turns", "12", "--duels", "2"]


def _hashes(root: Path) -> dict[str, str]:
    files = (path for path in sorted(root.rglob("*")) if path.is_file())
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("generator") / "raw"
    assert main(["--out", str(root), *OPTIONS]) == 0
    return root


def test_same_options_give_the_same_bytes_with_two_workers(tree: Path, tmp_path: Path) -> None:
    assert main(["--out", str(tmp_path / "raw"), *OPTIONS, "--workers", "2"]) == 0
    assert _hashes(tmp_path / "raw") == _hashes(tree)


def test_landing_reads_every_line(tree: Path, tmp_path: Path) -> None:
    report = land_tree(tree, tmp_path / "landed", workers=1)
    assert report.reasons == {}
    assert {row["source"] for row in report.artifacts} == {
        "sn97", "sn120", "mini_coder", "trajectories", "tokenizer",
    }  # fmt: skip
    assert {row["status"] for row in report.artifacts} == {"read", "listed"}


def test_the_stated_bayes_auc_is_that_of_the_chances(tree: Path) -> None:
    truth = json.loads(tree.with_name("raw.truth.json").read_text())
    answers = [
        answer == "1" or answer in tuple("OPQRST")
        for path in sorted(tree.rglob("scoring-results.jsonl"))
        for line in path.read_text().splitlines()
        for judged in json.loads(line)["judge_results"]
        if judged["parse_ok"] and not judged.get("looped") and not judged.get("corrupted")
        for answer in judged["answers"].values()
    ]
    assert (truth["n_answers"], truth["n_yes"]) == (len(answers), sum(answers))
    low, high = P_YES
    # Four pairs of one yes and one no: won, tied twice, lost.
    assert Truth([high, low, high, low], [True, True, False, False]).auc() == 0.5
    assert Truth([high, low], [True, False]).auc() == 1.0
    assert Truth([high], [True]).auc() is None
    assert 0.8 < truth["bayes_auc"] < 0.95


def test_every_era_has_its_marks(tree: Path) -> None:
    keys = set()
    for path in tree.rglob("generated-samples.jsonl"):
        for line in path.read_text().splitlines():
            record = json.loads(line)
            assert all(f"{side}_turns" in record for side in SIDES)
            keys.add(("submit_command" in record, "challenger_output" in record, "#r" in record["sample_id"]))
    assert keys == {(True, True, False), (False, True, False), (True, False, False), (True, False, True)}


def test_a_folder_with_something_in_it_and_an_unknown_source_are_refused(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--out", str(tree)]) == 2
    assert main(["--out", str(tmp_path / "new"), "--sources", "sn99"]) == 2
    assert "not an empty folder" in (said := capsys.readouterr().err)
    assert "unknown source sn99" in said
    assert not (tmp_path / "new").exists()
