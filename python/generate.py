"""Writes fimbria/models.py from what the program says of its fits: a class for each, with its options.

    python generate.py path/to/fimbria
    python generate.py path/to/fimbria --check     # fails where the file is stale
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

# Names that users of DIPY know, and the shape of what such a fit gives; others are named after the fit.
CLASSES = {
    "dti": ("TensorModel", "TensorFit"),
    "dki": ("KurtosisModel", "KurtosisFit"),
    "msdki": ("MeanSignalKurtosisModel", "Fit"),
    "fod": ("FibreOrientationModel", "Fit"),
    "hot": ("HigherOrderTensorModel", "Fit"),
    "ivim": ("IvimModel", "Fit"),
    "stremi": ("StretchedExponentialModel", "Fit"),
    "dki1d": ("KurtosisPerDirectionModel", "Fit"),
    "stremi1d": ("StretchedExponentialPerDirectionModel", "Fit"),
    "mono": ("MonoExponentialModel", "Fit"),
    "expr": ("ExpressionModel", "Fit"),
}
# Options of all commands, which Python says otherwise.
OURS = {"Input", "Output", "Gradient table", "Machine", "Messages"}
WIDTH = 96
HEAD = '''"""The models, a class each. Made by generate.py from `fimbria describe`: not to be edited."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any, Literal

from ._diffusion import KurtosisFit, TensorFit
from .fits import Fit, Model
'''


def described(program: str, *command: str) -> Any:
    done = subprocess.run(
        [program, "describe", *command, "--format", "json"], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def fits(program: str) -> list[dict[str, Any]]:
    every = described(program)
    return [one for one in every if one["name"].startswith("fit ")]


def type_of(option: dict[str, Any]) -> str:
    one = {
        "choice": "Literal[" + ", ".join(f'"{c["name"]}"' for c in option["choices"]) + "]",
        "number": "float",
        "integer": "int",
        "flag": "bool",
        "path": "str | PathLike[str]",
        "text": "str | float",
    }[option["type"]]
    return f"{one} | Sequence[{one}]" if option["repeatable"] or option["delimiter"] else one


def wrapped(text: str, indent: int) -> str:
    # What help says of files and command lines, in Python's words.
    text = text.replace("in scanner RAS axes", "in the axes of gtab").replace("--method", "fit_method")
    text = text.replace(", separated by commas", "").replace("Maps to write", "Maps to make").replace("--", "")
    lines = textwrap.wrap(text, WIDTH - indent, break_long_words=False)
    return "\n".join(" " * indent + line for line in lines)


def names_of(one: dict[str, Any]) -> tuple[str, str, str]:
    """The name of a fit, of its class, and of the class of what it gives."""
    name = one["name"].removeprefix("fit ")
    return (name, *CLASSES.get(name, (f"{name.capitalize()}Model", "Fit")))


def class_of(one: dict[str, Any]) -> str:
    name, title, fit = names_of(one)
    own = [o for o in one["options"] if o["group"] not in OURS and o["name"] != "dwi" or o["name"] == "maps"]
    needed = [o for o in own if o["required"]]
    has_method = any(o["name"] == "method" for o in own)
    arguments = ["self", "gtab: Any"]
    arguments += [f"{o['name']}: {type_of(o)}" for o in needed]
    if has_method:
        arguments.append("fit_method: str | None = None")
    arguments.append("*")
    kept = [o for o in own if not o["required"] and o["name"] != "method"]
    arguments += [f"{o['name']}: {type_of(o)} | None = None" for o in kept]

    doc = [f'    """{one["sentence"]}.', "", "    Parameters", "    ----------"]
    doc += ["    gtab : gradient table", wrapped("Of fimbria or DIPY, or (bvals, bvecs).", 8)]
    for o in own:
        shown = "fit_method" if o["name"] == "method" else o["name"]
        kind = "{" + ", ".join(c["name"] for c in o["choices"]) + "}" if o["choices"] else o["type"]
        doc.append(f"    {shown} : {kind}")
        parts = [o["help"].rstrip(".")]
        limits = ", ".join(p for p in (o["range"], o["unit"]) if p)
        if limits:
            parts.append(f"[{limits}]")
        if o["default"] not in (None, ""):
            parts.append(f"[default: {o['default']}]")
        doc.append(wrapped(" ".join(parts), 8))
    doc += ["", "    Maps", "    ----"]
    for o in one["outputs"]:
        if o["volumes"] is None or o["kind"] is None:
            continue
        doc.append(f"    {o['file']}")
        doc.append(wrapped(o["holds"], 8))
    doc += ["", "    References", "    ----------"]
    for reference in one["references"]:
        doc.append(wrapped(reference if isinstance(reference, str) else reference["citation"], 4))
    doc.append('    """')
    lines = ["", "", f"class {title}(Model):", *doc, "", f'    name = "{name}"', f"    _fit = {fit}", ""]
    lines.append("    def __init__(")
    lines += [f"        {argument}," for argument in arguments]
    lines.append("    ) -> None:")
    lines.append("        super().__init__(")
    lines.append("            gtab,")
    if has_method:
        lines.append("            method=method_of(fit_method),")
    lines += [f"            {o['name']}={o['name']}," for o in needed + kept]
    lines.append("        )")
    return "\n".join(lines)


METHOD_OF = '''

# DIPY's names of methods.
_METHODS = {"LS": "ols", "OLS": "ols", "RT": "restore", "CLS": "cwls", "CWLS": "cwls"}


def method_of(name: str | None) -> str | None:
    """A method as fimbria names it."""
    return None if name is None else _METHODS.get(name.upper(), name.lower())
'''


def main() -> None:
    program, check = sys.argv[1], "--check" in sys.argv
    made = fits(program)
    titles = sorted(names_of(one)[1] for one in made)
    exported = "\n__all__ = [\n" + "".join(f'    "{title}",\n' for title in titles) + "]\n"
    text = HEAD + exported + METHOD_OF + "".join(class_of(one) for one in made) + "\n"
    path = Path(__file__).parent / "fimbria" / "models.py"
    if check:
        if path.read_text() != text:
            sys.exit(f"{path} is stale: run `python {Path(__file__).name} {program}`")
    else:
        path.write_text(text)


if __name__ == "__main__":
    main()
