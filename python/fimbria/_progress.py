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


class Shown:
    """The callable that the extension tells, or None: the user's, or a line on standard error."""

    def __init__(self, progress: Callable[[str, int, int], object] | bool | None) -> None:
        self._progress = progress
        self._began = time.monotonic()
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
        if time.monotonic() - self._began < PATIENCE_S:
            return
        share = f"{100 * done // total} %" if total else ""
        line = f"{what} {share}"
        sys.stderr.write("\r" + line.ljust(self._width))
        sys.stderr.flush()
        self._width = len(line)
