"""A function in a process of its own: it gives its memory back when it ends, and ends when its caller does.

The caller sends the function and its arguments on standard input and holds that pipe open; its end is the sign that
the caller is gone, whatever killed it. The answer comes on standard output.
"""

import os
import pickle
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from typing import IO, ParamSpec, TypeVar

from assay.errors import AssayError
from assay.names import shown
from assay.steps import progress

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

# The pool has the cores, and one thread of the matrix library gives the same last bits on every machine.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_FAULT, _STOPPED = 2, 130


def apart(function: Callable[Parameters, Result], *arguments: Parameters.args, **named: Parameters.kwargs) -> Result:
    """Call a function of a module in a process of its own and return what it returns.

    Raises AssayError when it does, and when the process ends without an answer.
    """
    with tempfile.TemporaryFile() as words:
        process = subprocess.Popen(
            [sys.executable, "-X", "utf8", "-m", "assay.steps"],  # any file name in a message survives any locale
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=words,
            env={**os.environ, **_ONE_THREAD},
        )
        assert process.stdin is not None and process.stdout is not None
        with process:
            try:
                pickle.dump((progress.is_watched(), function, arguments, named), process.stdin)
                process.stdin.flush()
                answer = process.stdout.read()
                process.wait()  # before the pipe is closed, which would end it
            except BrokenPipeError:
                answer = b""
            except BaseException:
                process.kill()
                raise
        if process.returncode in (0, _FAULT) and answer:
            made = pickle.loads(answer)
            if process.returncode == _FAULT:
                raise AssayError(made)
            result: Result = made
            return result
        raise AssayError(_ended(function.__name__, process.returncode, _last_line(words)))


def _last_line(words: IO[bytes]) -> str:
    words.seek(0, os.SEEK_END)
    words.seek(max(words.tell() - 10_000, 0))
    lines = words.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else ""


def _ended(name: str, code: int, last_line: str) -> str:
    if code == _STOPPED:
        return "stopped"
    if code < 0:
        return f"the step {name} was killed by signal {-code}, perhaps for want of memory"
    return f"the step {name} ended with code {code}: {shown(last_line)}"


def main() -> int:
    """Do what standard input asks; what is printed meanwhile goes to standard error."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    shows, function, arguments, named = pickle.load(sys.stdin.buffer)
    progress.watch(shows)
    threading.Thread(target=_end_with_caller, daemon=True).start()
    try:
        answer, code = function(*arguments, **named), 0
    except AssayError as error:
        answer, code = str(error), _FAULT
    except KeyboardInterrupt:
        return _STOPPED
    pickle.dump(answer, answers)
    answers.flush()
    return code


def _end_with_caller() -> None:
    # Past the buffer: a thread that waits in it would be in the way of python's own end.
    while os.read(0, 1):
        pass
    os._exit(1)
