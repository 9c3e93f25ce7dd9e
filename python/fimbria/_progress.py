"""Who is told how far the work is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType

#: Work that is done sooner is not told of.
PATIENCE_S = 0.5


def _is_watched() -> bool:
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())


#: Columns of a bar, and the blocks that fill one of them in eighths.
WIDTH = 20
BLOCKS = " ▏▎▍▌▋▊▉█"


def clock(seconds: float) -> str:
    """Minutes and seconds, with hours where there are some."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"


def bar(what: str, done: int, total: int, seconds: float) -> str:
    """A line that says how far a step is: `what  43%|████▎     | 43/100 [00:06<00:08]`, time gone and left."""
    if total <= 0:
        return f"{what} [{clock(seconds)}]"
    eighths = 8 * WIDTH * done // total
    full, part = divmod(eighths, 8)
    filled = (BLOCKS[8] * full + (BLOCKS[part] if full < WIDTH else "")).ljust(WIDTH)
    left = clock(seconds * (total - done) / done) if done > 0 else "?"
    return f"{what} {100 * done // total:3}%|{filled}| {done}/{total} [{clock(seconds)}<{left}]"


class Shown:
    """The callable that the extension tells, or None: the user's, or a bar on standard error."""

    def __init__(self, progress: Callable[[str, int, int], object] | bool | None) -> None:
        self._progress = progress
        self._began = time.monotonic()
        self._step = ""
        self._step_began = self._began
        self._width = 0

    def __enter__(self) -> Callable[[str, int, int], object] | None:
        if callable(self._progress):
            return self._progress
        wanted = _is_watched() if self._progress is None else self._progress
        return self._line if wanted else None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()

    def _line(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if what != self._step:
            self._step, self._step_began = what, now
        if now - self._began < PATIENCE_S:
            return
        line = bar(what, done, total, now - self._step_began)
        sys.stderr.write("\r" + line.ljust(self._width))
        sys.stderr.flush()
        self._width = len(line)
