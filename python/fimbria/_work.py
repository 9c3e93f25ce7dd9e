"""How every call is made: threads, device, progress, warnings."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike, fspath
from typing import Any, Union

import numpy as np

from ._given import as_threads
from ._progress import Shown

#: A callable `progress(step, done, total)`; True for a bar, False for none, None for a bar where it is seen.
Progress = Union[Callable[[str, int, int], object], bool, None]


class FimbriaWarning(UserWarning):
    """Something to know, though the work went on."""


@contextmanager
def machine(threads: int, device: str | None, progress: Progress) -> Iterator[dict[str, Any]]:
    """What the extension is told of the machine, while progress is shown."""
    threads = as_threads(threads)
    with Shown(progress) as shown:
        yield {"threads": threads, "device": device, "progress": shown}


def told(made: Mapping[str, Any], stacklevel: int) -> None:
    """Warns of what the work warned of, where the user called."""
    for message in made["warnings"]:
        warnings.warn(message, FimbriaWarning, stacklevel=stacklevel)


def worked(
    work: Callable[[dict[str, Any]], dict[str, Any]],
    threads: int,
    device: str | None,
    progress: Progress,
) -> dict[str, Any]:
    """What the extension makes on this machine, with progress shown and warnings given to the user two calls up."""
    with machine(threads, device, progress) as on:
        made = work(on)
    told(made, stacklevel=5)
    return made


def plain(value: Any) -> Any:
    """An option as JSON has it."""
    if isinstance(value, PathLike):
        return fspath(value)
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return [f"{name}={_words(one)}" for name, one in value.items()]
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def _words(value: Any) -> str:
    """What a name stands for in an expression: a start with its bounds, or a map."""
    several = value if isinstance(value, (list, tuple)) else [value]
    return ",".join("-" if one is None else str(plain(one)) for one in several)


def said(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given."""
    return {key: plain(value) for key, value in options.items() if value is not None}


def as_json(options: Mapping[str, Any]) -> str:
    """The options that were given, for the extension."""
    return json.dumps(said(options))
