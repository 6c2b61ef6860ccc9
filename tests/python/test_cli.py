"""The command line as a person meets it: help, wrong words, pipes, Ctrl-C, and what no command may show."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import published
import pytest
from assay import cli
from assay.cli import main
from assay.mixes.formats import FORMATS, PAIR_FORMATS
from dbt_project import REPOSITORY

COMMANDS = ("harvest", "land", "explain", "export", "conformance")
ASSAY = [sys.executable, "-m", "assay.cli"]


def _said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(list(words))
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_has_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _said(capsys, command, "--help")
    assert code == 0 and f"Example: assay {command} " in " ".join(out.split())


def test_help_names_the_exit_codes_and_loads_nothing_heavy() -> None:
    heavy = "import sys; from assay.cli import main; main(['--help']); print([m for m in sys.modules if m in H])"
    program = f"H = ('pyarrow', 'duckdb', 'numpy', 'tokenizers', 'urllib3'); {heavy}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert "Exit codes: 0 fine; 1 a fault in the data" in " ".join(done.stdout.split())
    assert "130 stopped by Ctrl-C" in " ".join(done.stdout.split())


def test_help_of_export_names_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    words = set(_said(capsys, "export", "--help")[1].replace(",", " ").replace(";", " ").split())
    assert {*FORMATS, *PAIR_FORMATS} <= words


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["harvset"], "Did you mean 'harvest'?"),
        (["land", "x", "--uot", "y"], "--out"),
        (["land", "x", "--out", "y", "--workers", "0"], "greater than or equal to 1"),
        (["harvest", "sn97", "x", "--since", "soon"], "soon"),
        (["harvest", "sn99", "x"], "no source is called sn99; there are sn97, sn120, mini-coder"),
        (["harvest", "sn97", __file__], "is not a folder"),
        (["harvest", "sn97", "x"], "name the site's address with --base"),
        (["export", "--mix", "credit", "--format", "trl", "--split", "test"], "no split is called test"),
    ],
)
def test_wrong_words_are_told_and_end_with_2(words: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = _said(capsys, *words)
    assert (code, out) == (2, "")
    assert reason in " ".join(err.replace("│", " ").split()) and "Traceback" not in err


def test_a_harvest_without_a_raw_tree_says_what_to_name(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ASSAY_RAW_ROOT", raising=False)
    assert _said(capsys, "harvest", "sn97")[::2] == (
        2,
        "assay: no raw tree is named: give its folder after the source, or set ASSAY_RAW_ROOT\n",
    )


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert _said(capsys, "--version") == (0, "assay 0.1.0\n", "")


def test_a_fault_of_assay_itself_is_a_sentence_and_a_traceback_with_debug_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: object) -> int:
        raise KeyError("\x1b[31m")

    monkeypatch.setattr("assay.landing.command.run", fails)
    code, _, err = _said(capsys, "land", "x", "--out", "y")
    assert code == 1 and err == (
        "assay: a fault of assay itself, KeyError: '\\x1b[31m' (assay --debug COMMAND shows where)\n"
    )
    code, _, err = _said(capsys, "--debug", "land", "x", "--out", "y")
    assert code == 1 and "Traceback" in err and "in fails" in err


def test_a_pipe_that_closes_ends_quietly(tmp_path: Path) -> None:
    (tmp_path / "raw" / "trajectories").mkdir(parents=True)
    for words in (["land", str(tmp_path / "raw"), "--out", str(tmp_path / "out")], ["--version"]):
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([*ASSAY, *words], stdout=writer, stderr=subprocess.PIPE, check=False)
        os.close(writer)
        assert done.stderr == b""


def test_land_says_the_same_to_a_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw = tmp_path / "raw"
    (raw / "trajectories").mkdir(parents=True)
    (raw / "trajectories" / "own.jsonl").write_text('{"messages": []}\nno json\n')
    (raw / "notes").mkdir()
    (raw / ".harvest").mkdir()
    code, out, err = _said(capsys, "land", str(raw), "--out", str(tmp_path / "out"), "--json")
    said = json.loads(out)
    assert (code, err) == (0, "")
    assert said["sources"] == {"trajectories": {"files": 1, "bytes": 25, "lines": 2, "quarantined": 2}}
    assert said["quarantined"] == {"invalid_json": 1, "nothing_read": 1}
    assert said["not_read"] == {"links_out_of_raw_root": [], "strangers": ["notes"]}


def test_a_harvest_from_a_folder_says_what_came(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = published.teacher(tmp_path / "site")
    words = ("harvest", "sn120", str(tmp_path / "raw"), "--base", str(tmp_path / "site"))
    code, out, _ = _said(capsys, *words, "--dry-run")
    assert code == 0 and "  sn120/evals/chal-00760.json.gz\n" in out and not (tmp_path / "raw").exists()
    code, out, err = _said(capsys, *words)
    assert (code, err) == (0, "")
    assert out.startswith("sn120: 4 objects listed, 4 fetched, 0 there already; ")
    assert published.tree(tmp_path / "raw") == expected
    code, out, _ = _said(capsys, *words, "--json")
    said = json.loads(out)
    assert (code, said["listed"], said["fetched"], said["present"], said["faults"]) == (0, 4, 0, 4, [])
    (tmp_path / "raw" / "sn120" / "evals" / "chal-00760.json.gz").write_bytes(b"")
    (tmp_path / "site" / "evals" / "chal-00760.json.gz").write_bytes(b"cut")
    code, out, _ = _said(capsys, *words)
    assert code == 1 and "with a fault: 1" in out


def test_ctrl_c_in_a_harvest_is_one_sentence_and_130(tmp_path: Path) -> None:
    from faulty_server import serving

    (tmp_path / "site").mkdir()
    with serving(tmp_path / "site") as site:
        published.duels(site.root, site.base.rstrip("/"))
        site.faults = {"data/dashboard.json": [("503", 100)]}
        words = ["harvest", "sn97", str(tmp_path / "raw"), "--base", site.base]
        process = subprocess.Popen([*ASSAY, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not site.asked:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "")
    assert out.splitlines()[-1] == "stopped: the next harvest goes on where this one was"


def test_sample_hands_its_options_to_the_generator(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["sample", "--sources", "trajectories", "--trajectories", "1", "--scale", "small", "--out"]
    assert main([*words, str(tmp_path / "raw")]) == 0
    assert [path.parent.name for path in (tmp_path / "raw").rglob("*.jsonl")] == ["trajectories"]
    assert main([*words, str(tmp_path / "raw")]) == 2
    monkeypatch.setattr(cli, "__file__", str(tmp_path / "lib" / "assay" / "cli.py"))
    monkeypatch.chdir(tmp_path)
    code, _, err = _said(capsys, *words, str(tmp_path / "other"))
    assert code == 2 and "assay: the generator of samples is bench/generator of assay's repository" in err
    monkeypatch.chdir(REPOSITORY)
    assert main([*words, str(tmp_path / "other")]) == 0
