"""How the program is called for what it makes of files, and what is read back."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import signal
import subprocess
import sysconfig
import warnings
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

from ._core import FimbriaError
from ._picture import picture
from ._progress import Shown
from ._work import FimbriaWarning, Progress, plain
from .images import Image, load

_IMAGES = (".nii.gz", ".nii", ".mif.gz", ".mif")
#: What the program says of its progress where nobody watches.
_SHARE = re.compile(r"^(.+): (\d+) %$")
_OPTION = re.compile(r"--([a-z][a-z0-9-]*)")


def program() -> str:
    """The program that came with the package, or the one in PATH."""
    beside = Path(sysconfig.get_path("scripts")) / ("fimbria.exe" if os.name == "nt" else "fimbria")
    found = str(beside) if beside.exists() else shutil.which("fimbria")
    if found is None:
        raise FimbriaError("the program fimbria is not there: it is installed with the package")
    return found


class Said(NamedTuple):
    """An option of the command line with its value."""

    flag: str
    value: Any
    #: What stands between several values; None where each is a word of its own.
    delimiter: str | None = None
    #: Each value has the flag before it.
    is_repeated: bool = False
    #: The value may be left out, and then follows an equals sign.
    is_optional: bool = False


def words_of(option: Said) -> list[str]:
    """The option as words."""
    value = plain(option.value)
    flag = [option.flag] if option.flag else []
    if value is None or value is False:
        return []
    if value is True:
        return flag
    several = value if isinstance(value, list) else [value]
    if option.is_optional:
        return [f"{option.flag}={several[0]}"]
    if option.delimiter:
        return [*flag, option.delimiter.join(map(str, several))]
    if option.is_repeated:
        return [word for one in several for word in (*flag, str(one))]
    return [*flag, *map(str, several)]


def in_python(message: str) -> str:
    """A message with options as Python calls them."""
    return _OPTION.sub(lambda option: option[1].replace("-", "_"), message)


def ran(command: str, options: Sequence[Said], progress: Progress) -> None:
    """Calls the program: errors and warnings as those of all functions, progress as it tells it."""
    # Those without a flag stand first, so that none is taken for the value of an option, and what follows
    # a bare -- last.
    ordered = sorted(options, key=lambda option: ("" if option.flag == "" else "x", option.flag == "--"))
    words = [word for option in ordered for word in words_of(option)]
    last: list[str] = []
    said: list[str] = []
    with Shown(progress) as shown:
        running = subprocess.Popen(
            [program(), *command.split(), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
        try:
            assert running.stderr is not None
            for line in running.stderr:
                share = _SHARE.match(line.rstrip())
                if share:
                    if shown:
                        shown(share[1], int(share[2]), 100)
                elif line.startswith("warning: "):
                    said.append(line.removeprefix("warning: ").rstrip())
                else:
                    last = [*last[-20:], line]
            code = running.wait()
        except BaseException:
            # The program then leaves nothing half-written.
            running.send_signal(signal.SIGINT) if os.name == "posix" else running.terminate()
            running.communicate()
            raise
    if code == 130:
        raise KeyboardInterrupt
    if code != 0:
        text = "".join(last)
        _, _, error = text.rpartition("error: ")
        raise FimbriaError(in_python(error.strip() or f"fimbria ended with the code {code}"))
    for message in said:
        warnings.warn(in_python(message), FimbriaWarning, stacklevel=4)


class Maps(Mapping[str, Image]):
    """The images in a folder, by their paths without extension; by the last part alone where only one has it."""

    def __init__(self, folder: Path) -> None:
        self._paths: dict[str, Path] = {}
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            extension = next((e for e in _IMAGES if name.endswith(e)), None)
            if extension and not any(part.startswith(".") for part in name.split("/")):
                self._paths[name.removesuffix(extension)] = path

    def _found(self, name: object) -> Path | None:
        if name in self._paths:
            return self._paths[str(name)]
        ends = [path for key, path in self._paths.items() if key.rpartition("/")[2] == name]
        return ends[0] if len(ends) == 1 else None

    def __contains__(self, name: object) -> bool:
        return self._found(name) is not None

    def __getitem__(self, name: str) -> Image:
        found = self._found(name)
        if found is None:
            raise KeyError(f"there is no `{name}`, or several are; there are {', '.join(self)}")
        return load(found)

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


class Made:
    """What a command left on the disk.

    Attributes
    ----------
    path : Path
        The folder, or the file.
    record : dict
        What run.json says: version, command line, inputs, parameters, seconds and counts of stages.
    maps : mapping of `fimbria.Image`
        The images in the folder, opened when they are asked for: `made.maps["dti/FA"].read()`.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        beside = self.path / "run.json" if self.path.is_dir() else Path(fspath(path) + ".run.json")
        self.record: dict[str, Any] = json.loads(beside.read_text()) if beside.exists() else {}
        self.maps = Maps(self.path)

    def __repr__(self) -> str:
        return f"<Made: {self.path}, {len(self.maps)} images>"

    def _repr_html_(self) -> str:
        if self.path.suffix == ".html":
            page = html.escape(self.path.read_text(encoding="utf-8"), quote=True)
            return f'<iframe srcdoc="{page}" width="100%" height="600"></iframe>'
        shown = next((name for name in ("dti/FA", "FA", "dki/FA", "chi", "mask") if name in self.maps), None)
        if shown is None:
            shown = next((name for name in self.maps), None)
        image = "" if shown is None else f"{html.escape(shown)}<br>{picture(self.maps[shown].read())}"
        rows = "".join(
            f"<tr><td>{html.escape(str(stage.get('name', '')))}</td><td>{stage.get('seconds', 0):.1f} s</td></tr>"
            for stage in self.record.get("stages", [])
        )
        return f"<b>{html.escape(str(self.path))}</b><br>{image}<table>{rows}</table>"


def made(command: str, written: str | PathLike[str], options: Sequence[Said], progress: Progress) -> Made:
    """Calls the program, and what it left."""
    ran(command, options, progress)
    return Made(written)
