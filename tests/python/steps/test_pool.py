"""Work artifact by artifact in several processes: every task once, and an end whatever happens to a worker."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from assay.errors import AssayError
from assay.steps.pool import each

PARENT = "ASSAY_TEST_PARENT"


def _is_parent() -> bool:
    return os.environ[PARENT] == str(os.getpid())


def _who(task: int) -> bool:
    time.sleep(0.01)
    return _is_parent()


def _refused_in_parent(task: int) -> None:
    if _is_parent():
        raise AssayError("one clear sentence")


def _refused_in_worker(task: int) -> None:
    if not _is_parent():
        raise AssayError("one clear sentence")


@pytest.fixture(autouse=True)
def parent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PARENT, str(os.getpid()))


@pytest.mark.parametrize("n_tasks", [2, 3, 4, 25])
def test_every_task_is_done_once_and_this_process_has_its_share(n_tasks: int) -> None:
    done = list(each(list(range(n_tasks)), _who, 3, False, str))
    assert sorted(task for task, _ in done) == list(range(n_tasks))
    assert {by_parent for _, by_parent in done} == {True, False}


@pytest.mark.parametrize("work", [_refused_in_parent, _refused_in_worker])
def test_what_work_raises_comes_out_wherever_it_is_raised(work: object) -> None:
    with pytest.raises(AssayError, match=r"^one clear sentence$"):
        list(each(list(range(9)), work, 2, False, str))  # type: ignore[arg-type]


DYING = """
import os, time
from assay.steps.pool import each
from assay.errors import AssayError

def work(task):
    number, parent = task
    if os.getpid() != parent:
        if number == 0:
            os._exit(9)
        time.sleep(1)
    else:
        time.sleep(0.05)

if __name__ == "__main__":
    try:
        list(each([(number, os.getpid()) for number in range(11)], work, 6, False, lambda task: str(task[0])))
    except AssayError as error:
        print(error)
"""


def test_a_worker_that_dies_while_tasks_wait_is_one_sentence_and_an_end(tmp_path: Path) -> None:
    script = tmp_path / "dying.py"
    script.write_text(DYING, encoding="utf-8")
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=False)
    assert ended.stdout.startswith("a worker process was killed, perhaps for want of memory, near 0")
    assert ended.returncode == 0
