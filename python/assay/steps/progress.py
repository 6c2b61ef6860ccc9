"""Progress of a long step, on a terminal only."""

import os
import time
from types import TracebackType
from typing import TextIO

_SECONDS_BETWEEN = 0.5


class Progress:
    """Shows done, total, rate and the time left in one line that it keeps rewriting; silent without a terminal."""

    def __init__(self, title: str, total: int) -> None:
        """`total` counts steps of any unit."""
        self._title, self._total = title, total
        self._stream: TextIO | None = None
        self._started = time.monotonic()
        self._last = 0.0
        self._done = 0

    def __enter__(self) -> "Progress":
        """Open the terminal, since a step's own standard error is read by the build."""
        if is_watched():
            try:
                self._stream = open("/dev/tty", "w", encoding="utf-8")  # noqa: PTH123 - closed on exit
            except OSError:
                self._stream = None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Clear the line."""
        if self._stream is not None:
            self._stream.write("\r\x1b[K")
            self._stream.close()
            self._stream = None

    def add(self, steps: int, note: str = "") -> None:
        """Count finished steps; `note` says something about the rate, such as tokens a second."""
        self._done += steps
        now = time.monotonic()
        if self._stream is None or now - self._last < _SECONDS_BETWEEN:
            return
        self._last = now
        self._stream.write(f"\r\x1b[K{progress_line(self._title, self._done, self._total, now - self._started, note)}")
        self._stream.flush()


def progress_line(title: str, done: int, total: int, seconds: float, note: str = "") -> str:
    """One line: how much is done, and how long the rest will take at the same rate."""
    left = seconds * (total - done) / done if done else 0.0
    share = done / total if total else 1.0
    words = [f"{title}: {done:,} of {total:,} ({share:.0%})", f"{left:.0f} s left" if done else "starting"]
    return ", ".join([*words, note] if note else words)


_watched: bool | None = None


def watch(shows: bool) -> None:
    """Say whether a person watches this process; without it, that is whether standard error is a terminal."""
    global _watched
    _watched = shows


def is_watched() -> bool:
    """Whether a person watches."""
    if _watched is not None:
        return _watched
    try:
        return os.isatty(2)
    except OSError:
        return False
