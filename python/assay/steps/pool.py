"""Tasks in a pool of processes of this machine."""

import ctypes
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, connection, get_context, parent_process
from typing import TypeVar

from assay.errors import AssayError
from assay.names import shown

Task = TypeVar("Task")
Result = TypeVar("Result")


def each(
    tasks: list[Task],
    work: Callable[[Task], Result],
    workers: int | None,
    alone: bool,
    name: Callable[[Task], str],
) -> Iterator[tuple[Task, Result]]:
    """Yield every task with what `work` made of it, in the order they finish.

    `workers` is the number of processes, this one among them (None: one a core); `alone` starts no other one, for work
    that takes less time than a process takes to start. Raises `AssayError` when another process dies.
    """
    others = min(workers or os.cpu_count() or 1, len(tasks)) - 1
    if others < 1 or alone:
        for task in tasks:
            yield task, work(task)
        return
    strangers = set(active_children())
    # Fresh processes: a forked copy of a process that runs threads may hang.
    with ProcessPoolExecutor(others, get_context("spawn"), initializer=_start_worker) as pool:
        waiting = deque(tasks)
        pending: dict[Future[Result], Task] = {}
        try:
            while waiting or pending:
                # A task ahead for each of them, since none is handed out while this process works; the last is its own.
                while waiting and (len(pending) < others or (len(waiting) > 1 and len(pending) < 2 * others)):
                    task = waiting.popleft()
                    pending[pool.submit(work, task)] = task
                is_mine = bool(waiting)
                if is_mine:
                    task = waiting.popleft()
                    yield task, work(task)
                yield from _finished(pending, name, 0 if is_mine else None)
        except BrokenProcessPool:
            near = ", ".join(sorted(shown(name(task)) for task in pending.values())[:3])
            raise AssayError(f"a worker process was killed, perhaps for want of memory, near {near}") from None
        except KeyboardInterrupt:
            for process in set(active_children()) - strangers:
                process.terminate()
            raise
        finally:
            pool.shutdown(cancel_futures=True)


def _finished(
    pending: dict[Future[Result], Task], name: Callable[[Task], str], seconds: int | None
) -> Iterator[tuple[Task, Result]]:
    """What is finished by now; without `seconds` wait for the first."""
    done, _ = wait(pending, seconds, return_when=FIRST_COMPLETED)
    for future in sorted(done, key=lambda future: name(pending[future])):
        result = future.result()
        yield pending.pop(future), result


_LINUX_PARENT_DEATH_SIGNAL = 1


def _start_worker() -> None:
    """Ctrl-C reaches the whole group, but the parent alone decides; a worker whose parent is gone ends itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        # At once, also where long work in C keeps the thread below from looking: the lock of the step is free by then.
        ctypes.CDLL(None).prctl(_LINUX_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
