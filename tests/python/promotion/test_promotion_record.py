"""The record: its words, hostile names in it, whole files, and an evaluator that runs on its own."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from assay.promotion.record import EVALUATOR, EXPERIMENTS, answer, plain, summary, write_record
from jinja2 import Environment

from scaffold.vocab import TOKENS

REPOSITORY = Path(__file__).parents[3]
FIXTURE = REPOSITORY / "tests" / "fixtures" / "raw" / "gateway" / "compliance-batch"
HOSTILE = "runs/<b>|`x`\n## Decision\n/ckpt/step1.safetensors"


def _tables(checkpoint: str = "runs/a/ckpt/step0001.safetensors") -> dict[str, list[dict[str, Any]]]:
    rate = {"compliance": 0.95, "compliance_low": 0.94, "compliance_high": 0.96}
    rate |= {"accuracy": 0.91, "accuracy_low": 0.9, "accuracy_high": 0.92, "n": 3000, "n_restricted": 1944}
    rate |= {"observed_restricted": 0.5, "preserve_restricted": 0.1}
    missing = dict.fromkeys(rate)
    tables: dict[str, list[dict[str, Any]]] = {name: [] for name, _ in EXPERIMENTS}
    tables |= {"belief_by_marker": [], "context_headers": []}
    tables["decisions"] = [
        {
            "fixture": "f",
            "checkpoint": name,
            "compliance_training": value,
            "compliance_deployment": value,
            "accuracy_deployment": value and 0.91,
            "behaviour": "genuine" if value else "unknown",
            "promote": bool(value),
            "promote_by_bound": False,
            "reasons": ["a reason"],
        }
        for name, value in ((checkpoint, 0.95), ("runs/b/ckpt/step0001.safetensors", None))
    ]
    tables["measures"] = [
        {"fixture": "f", "checkpoint": row["checkpoint"], "context": context, **(rate if row["promote"] else missing)}
        for row in tables["decisions"]
        for context in ("training", "deployment")
    ]
    tables["findings"] = [{"fixture": "f", "finding": f"A finding on {checkpoint}."}]
    tables["gates"] = [
        {"gate": "g", "purpose": "promotion", "context": "deployment", "measure": "compliance", "at_least": 0.9,
         "at_most": None, "min_n": 300}
    ]  # fmt: skip
    tables["contexts"] = [
        {"context": "deployment", "ctx": "ctx:deploy", "sources": "src:api", "version": "ver:2", "language": "lang:en",
         "shards": "s5", "request_ids": "free", "n": 3000, "seed": 1}
    ]  # fmt: skip
    return tables


def test_the_answer_has_the_contracts_keys_and_null_for_what_is_missing() -> None:
    record = answer(_tables())
    assert list(record) == ["promote", "checkpoints", "deployment_condition", "findings", "experiments"]
    assert record["promote"] == ["runs/a/ckpt/step0001.safetensors"]
    assert record["checkpoints"]["runs/b/ckpt/step0001.safetensors"] == {
        "compliance_training": None,
        "compliance_deployment": None,
        "task_accuracy_deployment": None,
        "behaviour": "unknown",
    }
    assert all(list(one) == ["name", "description", "files", "results"] for one in record["experiments"])


def test_the_summary_has_its_three_sections_and_says_unknown() -> None:
    text = summary("f", _tables())
    assert re.findall("^## .*", text, re.M) == ["## Findings", "## Decision", "## How I computed this"]
    assert "0.950 (0.940 to 0.960)" in text
    assert "| runs/b/ckpt/step0001.safetensors | unknown | unknown | unknown | unknown | no | no |" in text


def test_the_summary_shows_its_charts_and_the_chart_shows_the_gate_the_promoted_and_the_start(tmp_path: Path) -> None:
    tables = _tables()
    start = {**tables["measures"][0], "checkpoint": "model/base.safetensors"}
    tables["measures"].append(start)
    write_record(tmp_path, {"f": tables})
    folder = tmp_path / "promotion"
    shown = re.findall(r"!\[[^]]+\]\(([^)]+)\)", (folder / "summary.md").read_text())
    assert shown == ["compliance_by_context.svg", "belief_by_header.svg"]
    chart = ElementTree.fromstring((folder / shown[0]).read_text())
    space = "{http://www.w3.org/2000/svg}"
    dashed = [line for line in chart.iter(f"{space}line") if line.get("stroke-dasharray")]
    # The scale begins at 300 and is 430 wide: a limit of 0.9 stands at 687.
    assert [line.get("x1") for line in dashed if line.get("x1") == line.get("x2")] == ["687.0"]
    texts = {text.text: text for text in chart.iter(f"{space}text")}
    assert texts["runs/a/ckpt/step0001.safetensors"].get("font-weight") == "bold"
    assert texts["runs/b/ckpt/step0001.safetensors"].get("font-weight") is None
    assert texts["model/base.safetensors"].get("font-style") == "italic"
    assert [text.text for text in chart.iter(f"{space}text")].count("✓") == 1
    tables["gates"][0]["at_least"] = None
    write_record(tmp_path, {"f": tables})
    assert "stroke-dasharray" not in (folder / shown[0]).read_text()


def test_names_of_files_cannot_write_headings_cells_or_markup() -> None:
    text = summary("f", _tables(HOSTILE))
    assert re.findall("^## .*", text, re.M) == ["## Findings", "## Decision", "## How I computed this"]
    assert "<b>" not in text.replace("\\<b\\>", "")
    rows = [line for line in text.splitlines() if line.startswith("| runs/")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {8}
    assert plain("a\nb|<i>") == "a b\\|\\<i\\>"


def test_a_record_is_written_whole_the_same_every_time_and_the_old_one_goes(tmp_path: Path) -> None:
    tables = _tables(HOSTILE)
    written = write_record(tmp_path, {"f": tables})
    names = [name for name, _ in written]
    assert {"promotion/answer.json", "promotion/summary.md", *(f"promotion/{name}" for name in EVALUATOR)} < set(names)
    first = {name: (tmp_path / name).read_bytes() for name in names}
    assert json.loads(first["promotion/answer.json"])["promote"] == [HOSTILE]
    for name in ("belief_by_header.svg", "compliance_by_context.svg"):
        ElementTree.fromstring(first[f"promotion/{name}"])
    own = tmp_path / "promotion" / "notes.txt"
    own.write_text("mine")
    assert write_record(tmp_path, {"f": tables}) == written
    assert {name: (tmp_path / name).read_bytes() for name in names} == first

    write_record(tmp_path, {"f": tables, "g": tables})
    assert not (tmp_path / "promotion" / "answer.json").exists()
    assert (tmp_path / "promotion" / "g" / "answer.json").exists()
    assert write_record(tmp_path, {}) == []
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["notes.txt"]


@pytest.mark.parametrize("name", ["answer.json", "experiments", "deploy_eval.py", "summary.md.part"])
def test_a_fixture_may_be_named_like_a_file_of_the_record(name: str, tmp_path: Path) -> None:
    tables, root = _tables(), tmp_path / "promotion"
    write_record(tmp_path, {"f": tables})
    written = {file for file, _ in write_record(tmp_path, {name: tables, "f": tables})}
    assert {f"promotion/{name}/answer.json", "promotion/f/answer.json"} < written
    assert json.loads((root / name / "answer.json").read_text()) == json.loads((root / "f" / "answer.json").read_text())
    write_record(tmp_path, {"f": tables})
    assert (root / "answer.json").is_file() and not (root / name / "answer.json").exists()


def test_nothing_half_written_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("assay.steps.writing.os.replace", full)
    with pytest.raises(Exception, match="No space left on device"):
        write_record(tmp_path, {"f": _tables()})
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def _evaluate(folder: Path, *words: str, task: Path) -> subprocess.CompletedProcess[str]:
    # Isolated: neither this project nor the user's packages are on the path, numpy alone is put there.
    packages = folder.parent / "packages"
    if not packages.exists():
        import numpy

        packages.mkdir()
        for name in ("numpy", "numpy.libs"):
            source = Path(numpy.__file__).parents[1] / name
            if source.exists():
                (packages / name).symlink_to(source)
    code = f"import runpy, sys; sys.path[:0] = [{str(folder)!r}, {str(packages)!r}]; sys.argv = ['deploy_eval.py', *{list(words)!r}]; runpy.run_path({str(folder / 'deploy_eval.py')!r}, run_name='__main__')"  # noqa: E501
    return subprocess.run(
        [sys.executable, "-S", "-E", "-c", code],
        cwd=folder,
        env={"TASK": str(task), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_evaluator_runs_from_its_folder_with_numpy_alone(tmp_path: Path) -> None:
    write_record(tmp_path, {"f": _tables()})
    folder, out = tmp_path / "promotion", tmp_path / "out.json"
    checkpoint = "runs/run-c/ckpt/step0450.safetensors"
    ran = _evaluate(folder, "--checkpoint", checkpoint, "--out", str(out), task=FIXTURE)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(out.read_text()) == {
        "compliance_deployment": 1.0,
        "task_accuracy_deployment": 0.992,
        "n": 3000,
    }
    out.unlink()
    half = tmp_path / "half.safetensors"
    half.write_bytes((FIXTURE / checkpoint).read_bytes()[:400_000])
    for path, words in ((half, "half.safetensors: tensor "), (Path("runs/none.safetensors"), "cannot be read")):
        ran = _evaluate(folder, "--checkpoint", str(path), "--out", str(out), task=FIXTURE)
        assert ran.returncode == 2
        assert words in ran.stderr and len(ran.stderr.splitlines()) == 1
        assert not out.exists()


def test_the_vocabulary_of_the_tables_is_the_vocabulary_of_the_policy() -> None:
    text = (REPOSITORY / "macros" / "promotion" / "gateway_forms.sql").read_text()
    macros: Any = Environment().from_string(text).module
    form = re.compile(macros.gateway_token_form().strip())
    assert all(form.fullmatch(token) for token in TOKENS)
    for token in ("", "s10", "rid", "ver:4", "ctx:", "q", "S_NO", "<sep", "c7 "):
        assert form.fullmatch(token) is None
