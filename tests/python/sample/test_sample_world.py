"""The invented world is no word soup: its commands give the same in a real shell, its tests really fail and pass."""

import ast
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from assay.sample.agent import Agent
from assay.sample.shell import Workspace
from assay.sample.world import Issue, issues, repositories


def materialise(issue: Issue, folder: Path) -> Path:
    for path, text in issue.files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return folder


def shell(command: str, folder: Path, tools: Path) -> tuple[str, int]:
    environment = {"PATH": f"{tools}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=30
    )
    return done.stdout + done.stderr, done.returncode


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tools")
    (folder / "python").symlink_to(sys.executable)
    return folder


def test_all_source_parses() -> None:
    for repository in [*repositories("small"), *repositories("full")[::4]]:
        for path, text in repository.files.items():
            if path.endswith(".py"):
                ast.parse(text)
    for issue in issues("small"):
        planted = issue.files[issue.path]
        assert issue.fault.bad in planted.split("\n")[issue.line - 1]
        ast.parse(planted)
        ast.parse(planted.replace(issue.fault.bad, issue.fault.wrong))
    assert len({issue.key for issue in issues("full")}) == len(issues("full")) == 192


@pytest.mark.parametrize("number", range(0, 192, 24))
def test_the_planted_fault_fails_its_own_test_only(number: int, tmp_path: Path) -> None:
    issue = issues("full")[number + number // 24 % 12]
    folder = materialise(issue, tmp_path)
    code = (
        "import importlib, sys\n"
        "failed = []\n"
        f"module = importlib.import_module('test_{issue.module}')\n"
        "for name in dir(module):\n"
        "    if name.startswith('test_'):\n"
        "        try:\n"
        "            getattr(module, name)()\n"
        "        except AssertionError:\n"
        "            failed.append(name)\n"
        "print(failed)\n"
    )
    environment = {"PYTHONPATH": f"{folder}:{folder}/tests", "PYTHONDONTWRITEBYTECODE": "1"}

    def failing() -> str:
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        return done.stdout.strip() + done.stderr

    assert failing() == repr([issue.fault.test])
    path = folder / issue.path
    path.write_text(path.read_text().replace(issue.fault.bad, issue.fault.good, 1))
    assert failing() == "[]"


def normal(text: str, command: str) -> list[str] | str:
    if command.startswith("grep -rn"):
        # A recursive search goes through folders in the order of the disk.
        return sorted(text.rstrip("\n").split("\n"))
    return text.rstrip("\n")


@pytest.mark.parametrize("number", [0, 37, 74, 111, 150, 188])
def test_commands_give_the_same_in_a_real_shell(number: int, tmp_path: Path, tools: Path) -> None:
    issue = issues("full" if number % 2 else "small")[number]
    folder = materialise(issue, tmp_path)
    agent = Agent(
        issue,
        random.Random(f"real shell {number}"),
        skill=0.999,
        form="returncode",
        scale="full" if number % 2 else "small",
        submit_command="echo DONE",
    )
    kinds = set()
    for index in range(24):
        _, step, _, _ = agent.step(index, 60)
        command = step.command
        if re.match(r"git|ls -la|python -m pytest|rg |echo DONE", command):
            continue
        output, code = shell(command, folder, tools)
        if "Traceback" in step.body:
            # Paths of the machine differ; the last line does not.
            assert output.strip().split("\n")[-1] == step.body.split("\n")[-1]
        else:
            assert normal(output, command) == normal(step.body, command), command
        assert code == step.returncode, command
        kinds.add(command.split()[0])
    for path, text in agent.space.files.items():
        assert (folder / path).read_text(encoding="utf-8") == text
    assert len(kinds) >= 3


@pytest.mark.parametrize("how", ["edit_sed", "edit_python", "edit_heredoc"])
@pytest.mark.parametrize("number", [3, 30, 61, 95, 127, 180])
def test_every_way_to_edit_does_what_it_says(how: str, number: int, tmp_path: Path, tools: Path) -> None:
    issue = issues("small")[number]
    if how == "edit_sed" and "'" in issue.fault.bad + issue.fault.good:
        pytest.skip("a single quote does not fit into the sed expression")
    folder = materialise(issue, tmp_path)
    space = Workspace(issue, "/testbed")
    arguments = (issue.path, issue.line) if how == "edit_sed" else (issue.path,)
    step = getattr(space, how)(*arguments, issue.fault.bad, issue.fault.good)
    output, code = shell(step.command, folder, tools)
    assert (output.strip(), code) == (step.body, step.returncode)
    assert (folder / issue.path).read_text() == space.files[issue.path]
    assert space.solved


def test_simulated_pytest_counts_like_pytest(tmp_path: Path, tools: Path) -> None:
    issue = next(i for i in issues("small") if i.repository.has_pytest)
    folder = materialise(issue, tmp_path)
    space = Workspace(issue, "/testbed")
    environment = os.environ | {"PYTHONPATH": f"{folder}:{folder}/tests", "PYTHONDONTWRITEBYTECODE": "1"}
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "pyproject.toml", "tests"]
    for _ in range(2):
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
        step = space.pytest(None, quiet=True)
        assert done.returncode == step.returncode
        counts = re.compile(r"\d+ (?:failed|passed)")
        assert counts.findall(done.stdout.split("\n")[-2]) == counts.findall(step.body.split("\n")[-1])
        edit = space.edit_python(issue.path, issue.fault.bad, issue.fault.good)
        if edit.returncode == 0:
            shell(edit.command, folder, tools)
    assert "passed" in step.body and "failed" not in step.body


def test_the_difference_applies(tmp_path: Path) -> None:
    issue = issues("full")[50]
    folder = materialise(issue, tmp_path)
    space = Workspace(issue, "/testbed")
    space.edit_python(issue.path, issue.fault.bad, issue.fault.good)
    patch = space.diff().body + "\n"
    done = subprocess.run(["git", "apply", "-"], cwd=folder, input=patch, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert (folder / issue.path).read_text() == space.files[issue.path]


def test_sides_differ() -> None:
    issue = issues("small")[5]
    texts = set()
    for number in range(20):
        agent = Agent(
            issue,
            random.Random(str(number)),
            skill=0.5,
            form="returncode",
            scale="small",
            submit_command="echo DONE",
        )
        texts.add("".join(turn["content"] for turn in agent.play(12, []).turns))
    assert len(texts) == 20
