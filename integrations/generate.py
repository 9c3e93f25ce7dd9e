"""Writes the interfaces for nipype and pydra, the functions for MATLAB and Octave, and QSIRecon's list of scalars
from what the program says of itself.

    python generate.py path/to/fimbria
    python generate.py path/to/fimbria --check     # fails where a file is stale
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
# What the Python package is made by knows how to ask the program, and how to say an option.
_spec = importlib.util.spec_from_file_location("package", HERE.parent / "python" / "generate.py")
package = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(package)

WIDTH = 108
# What names the folder or file that is written.
WRITTEN = ("output", "out", "dir")


class File(NamedTuple):
    """What a command writes: how it is called in programs, what it is, and its names in all layouts."""

    name: str
    doc: str
    names: tuple[str, ...]
    is_many: bool


class Command(NamedTuple):
    """A command that writes something."""

    name: str
    sentence: str
    options: list[dict[str, Any]]
    written: dict[str, Any]
    files: list[File]
    is_file: bool

    @property
    def title(self) -> str:
        return "".join(word.capitalize() for word in self.name.split())

    @property
    def default(self) -> str | None:
        """Where it is written to if nobody says."""
        return None if self.is_file else self.name.split()[-1]

    @property
    def positional(self) -> list[str]:
        return [option["name"] for option in self.options if option["long"] is None]


def commands(program: str) -> list[Command]:
    """The commands with outputs, measurements of the machine left out."""
    found = []
    for one in package.described(program):
        written = [option for option in one["options"] if option["name"] in WRITTEN]
        if one["outputs"] and written:
            is_file = any(output["file"] == "OUT" for output in one["outputs"])
            found.append(
                Command(one["name"], one["sentence"], one["options"], written[0], files_of(one["outputs"]), is_file)
            )
    return found


def files_of(outputs: list[dict[str, Any]]) -> list[File]:
    files: dict[str, File] = {}
    for output in outputs:
        file = output["file"]
        # The names that users choose are known to them.
        if file.startswith("NAME"):
            continue
        name = identifier(file)
        names = dict.fromkeys(pattern(layout, written, output) for layout, written in layouts(output))
        only = f"{output['only']}: " if output["only"] else ""
        unit = f" [{output['unit']}]" if output["unit"] else ""
        is_many = "*" in file.removesuffix(".*")
        doc = f"{only}{output['holds']}{unit}"
        if name in files:
            old = files[name]
            files[name] = File(name, f"{old.doc}; or {doc}", tuple(dict.fromkeys(old.names + tuple(names))), is_many)
        else:
            files[name] = File(name, doc, tuple(names), is_many)
    return list(files.values())


def layouts(output: dict[str, Any]) -> list[tuple[str, str]]:
    return list({"fimbria": output["file"], **output["files"]}.items())


def pattern(layout: str, name: str, output: dict[str, Any]) -> str:
    """What finds a file in the folder that is written; images have one of several extensions, `.?*`."""
    name = name.removeprefix("OUT").removesuffix("/")
    if output["type"] == "image" and output["file"] != "OUT":
        stem = name.removesuffix(".nii.gz").removesuffix(".mif")
        name = stem + ".{image}"
    return "*" + name if layout == "bids" else name


def identifier(file: str) -> str:
    """A name in programs: `run_json` of run.json, `truth_dirs` of truth/dirs."""
    file = re.sub(r"^OUT\b", "file.", file).removesuffix(".*").replace("*", "")
    name = re.sub(r"[\W_]+", "_", file).strip("_")
    return f"image_{name}" if name[0].isdigit() else name


def is_list(option: dict[str, Any]) -> bool:
    return bool(option["repeatable"] or option["delimiter"] or option["values"][1] not in (0, 1))


def is_optional(option: dict[str, Any]) -> bool:
    """True of an option whose value may be left out: --verbose, --verbose=2."""
    return option["values"] == [0, 1]


def is_repeated(option: dict[str, Any]) -> bool:
    """True where each value has the option before it."""
    return option["repeatable"] and not option["delimiter"] and option["values"] == [1, 1] and option["long"] is not None


def is_read(option: dict[str, Any]) -> bool:
    """True of files that must be there."""
    return option["type"] == "path" and option["name"] not in (*WRITTEN, "scratch", "work_dir", "samples")


def help_of(option: dict[str, Any]) -> str:
    return package.help_of(option)


def filled(text: str, indent: str) -> str:
    return textwrap.fill(
        text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


# ---- both Python engines ----

FOUND = '''
IMAGES = ("nii.gz", "nii", "mif", "mif.gz", "hdr", "img", "img.gz")


def _found(written, is_file, names, is_many):
    """The files of these names in the folder `written`, or beside the file `written`."""
    if is_file:
        stem = written
        for extension in IMAGES:
            stem = stem.removesuffix(f".{extension}")
        starts = [written, stem]
    else:
        starts = [os.path.join(written, "")]
    for name in names:
        for extension in IMAGES if "{image}" in name else [""]:
            hits = [h for s in starts for h in sorted(glob.glob(glob.escape(s) + name.replace("{image}", extension)))]
            if hits:
                return hits if is_many else hits[0]
    return None
'''


def literal(names: tuple[str, ...]) -> str:
    return "(" + ", ".join(json.dumps(name) for name in names) + ("," if len(names) == 1 else "") + ")"


def docstring(command: Command) -> str:
    about = f"the file {command.written['name']}" if command.is_file else f"a folder, {command.written['name']}"
    return f'    """{command.sentence}; writes {about}."""'


# ---- nipype ----

NIPYPE_HEAD = '''"""The commands of fimbria as interfaces of nipype. Made by generate.py from `fimbria describe`: not to be edited.

Where no gradient table is named, it is found beside the series; name it (bval, bvec) where nodes are cached.
"""

import glob
import os

from nipype.interfaces.base import (
    CommandLine,
    CommandLineInputSpec,
    Directory,
    File,
    InputMultiObject,
    OutputMultiPath,
    TraitedSpec,
    isdefined,
    traits,
)

__all__ = [
%s]
''' + FOUND + '''

class _Command(CommandLine):
    """A command of fimbria: `_written` names the option with what it writes, `_files` what that is."""

    _cmd = "fimbria"
    _is_file = False

    def _list_outputs(self):
        outputs = self.output_spec().get()
        written = getattr(self.inputs, self._written)
        if isdefined(written):
            written = os.path.abspath(written)
            outputs["written"] = written
            for name, names, is_many in self._files:
                hits = _found(written, self._is_file, names, is_many)
                if hits:
                    outputs[name] = hits
        return outputs
'''


def nipype_trait(command: Command, option: dict[str, Any]) -> str:
    name, long = option["name"], option["long"]
    kind = {
        "choice": "traits.Enum(" + ", ".join(json.dumps(c["name"]) for c in option["choices"]) + "%s)",
        "number": "traits.Float(%s)",
        "integer": "traits.Int(%s)",
        "flag": "traits.Bool(%s)",
        "path": "traits.Str(%s)",
        "text": "traits.Str(%s)",
    }[option["type"]]
    is_flag = option["type"] == "flag"
    # Either a file or a folder: directions are both.
    if is_read(option):
        kind = "traits.Either(File(exists=True), Directory(exists=True)%s)"
    value = "%s" if is_list(option) else {"number": "%.15g", "integer": "%d"}.get(option["type"], "%s")
    flag = f"--{long}" if long else ""
    if is_optional(option):
        argstr = f"{flag}={value}"
    elif is_flag:
        argstr = flag
    else:
        argstr = f"{flag} {value}".strip() + ("..." if is_repeated(option) else "")
    keywords = [f"argstr={json.dumps(argstr)}"]
    if is_list(option) and not is_repeated(option) and option["delimiter"]:
        keywords.append(f"sep={json.dumps(option['delimiter'])}")
    if long is None:
        keywords.append(f"position={command.positional.index(name)}")
    if name == command.written["name"] and command.default:
        inner = f'"{command.default}", usedefault=True, '
        keywords.append("desc=" + json.dumps(help_of(option)))
        return f"    {name} = traits.Str({inner}{', '.join(keywords)})"
    if option["required"]:
        keywords.append("mandatory=True")
    keywords.append("desc=" + json.dumps(help_of(option), ensure_ascii=False))
    said = ", ".join(keywords)
    if is_list(option):
        inner = kind.replace("%s", "")
        least, most = option["values"]
        if not option["repeatable"] and most is not None:
            return f"    {name} = traits.List({inner}, minlen={least}, maxlen={most}, {said})"
        return f"    {name} = InputMultiObject({inner}, {said})"
    comma = ", " if not kind.endswith("(%s)") else ""
    return f"    {name} = " + kind.replace("%s", comma + said)


def nipype(every: list[Command]) -> str:
    parts = [NIPYPE_HEAD % "".join(f'    "{command.title}",\n' for command in every)]
    for command in every:
        title = command.title
        lines = ["", "", f"class {title}InputSpec(CommandLineInputSpec):"]
        lines += [nipype_trait(command, option) for option in command.options]
        lines += ["", "", f"class {title}OutputSpec(TraitedSpec):"]
        lines.append(f'    written = traits.Str(desc="the {"file" if command.is_file else "folder"}")')
        for file in command.files:
            kind = "OutputMultiPath(traits.Str(), " if file.is_many else "traits.Str("
            lines.append(f"    {file.name} = {kind}desc={json.dumps(file.doc, ensure_ascii=False)})")
        lines += ["", "", f"class {title}(_Command):", docstring(command), ""]
        lines += [f'    _cmd = "fimbria {command.name}"', f'    _written = "{command.written["name"]}"']
        if command.is_file:
            lines.append("    _is_file = True")
        lines += [f"    input_spec = {title}InputSpec", f"    output_spec = {title}OutputSpec", "    _files = ("]
        lines += [f'        ("{file.name}", {literal(file.names)}, {file.is_many}),' for file in command.files]
        lines.append("    )")
        parts.append("\n".join(lines) + "\n")
    return "".join(parts)


# ---- pydra ----

PYDRA_HEAD = '''"""The commands of fimbria as tasks of pydra 1. Made by generate.py from `fimbria describe`: not to be edited.

Where no gradient table is named, it is found beside the series; name it (bval, bvec) where results are cached.
"""

import glob
import os

from fileformats.generic import FsObject
from pydra.compose import shell

__all__ = [
%s]
''' + FOUND + '''

def _written(option, is_file, names=None, is_many=False):
    """What gives the files of these names that a task wrote, or all that it wrote."""

    def files(inputs, cache_dir):
        written = os.path.join(cache_dir, inputs[option] if isinstance(inputs, dict) else getattr(inputs, option))
        return written if names is None else _found(written, is_file, names, is_many)

    return files
'''


def pydra_field(command: Command, option: dict[str, Any]) -> str:
    name, long = option["name"], option["long"]
    flag = f"--{long}" if long else ""
    keywords = [f"help={json.dumps(help_of(option), ensure_ascii=False)}"]
    if option["type"] == "flag":
        return f'    {name}: bool = shell.arg({keywords[0]}, argstr="{flag}", default=False)'
    kind = {"number": "float", "integer": "int"}.get(option["type"], "str")
    if is_read(option):
        kind = "FsObject"
    if is_list(option):
        kind = f"list[{kind}]"
    elif option["type"] == "choice":
        names = [choice["name"] for choice in option["choices"]]
        keywords.append(f"allowed_values={json.dumps(names)}")
    argstr = f"{flag}={{{name}}}" if is_optional(option) else flag + (" ..." if is_repeated(option) else "")
    keywords.append(f"argstr={json.dumps(argstr)}")
    if option["delimiter"]:
        keywords.append(f"sep={json.dumps(option['delimiter'])}")
    if long is None:
        keywords.append(f"position={command.positional.index(name) + 1}")
    if name == command.written["name"] and command.default:
        keywords.append(f'default="{command.default}"')
    elif not option["required"]:
        kind += " | None"
        keywords.append("default=None")
    return f"    {name}: {kind} = shell.arg({', '.join(keywords)})"


def pydra(every: list[Command]) -> str:
    parts = [PYDRA_HEAD % "".join(f'    "{command.title}",\n' for command in every)]
    for command in every:
        written = f'"{command.written["name"]}", {command.is_file}'
        lines = ["", "", "@shell.define", f'class {command.title}(shell.Task["{command.title}.Outputs"]):']
        lines += [docstring(command), ""]
        lines.append("    executable = [" + ", ".join(f'"{word}"' for word in f"fimbria {command.name}".split()) + "]")
        lines += [pydra_field(command, option) for option in command.options]
        lines += ["", "    class Outputs(shell.Outputs):"]
        lines.append(f'        written: str = shell.out(help="the {"file" if command.is_file else "folder"}", '
                     f"callable=_written({written}))")
        for file in command.files:
            kind = "list[FsObject]" if file.is_many else "FsObject"
            doc = json.dumps(file.doc, ensure_ascii=False)
            lines.append(f"        {file.name}: {kind} | None = shell.out(help={doc}, "
                         f"callable=_written({written}, {literal(file.names)}, {file.is_many}))")
        parts.append("\n".join(lines) + "\n")
    return "".join(parts)


# ---- MATLAB and Octave ----


def matlab(command: Command) -> str:
    """A function: positional files first, then pairs of name and value."""
    name = command.name.replace(" ", "_")
    given = [option for option in command.options if option["long"] is None]
    needed = ", ".join(option["name"].upper() for option in given)
    shown = ", ".join(filter(None, [needed, "NAME, VALUE, ..."]))
    lines = [f"function files = {name}(varargin)", f"%{name.upper()}  {command.sentence}."]
    lines += [f"%   FILES = FIMBRIA.{name.upper()}({shown})", "%"]
    lines.append("%   FILES says where each file is that was written. A list is a cell array or a vector.")
    for heading, is_needed in (("Given", True), ("Named", False)):
        chosen = [option for option in command.options if (option["long"] is None) == is_needed]
        if chosen:
            lines += ["%", f"%   {heading}:"]
        for option in chosen:
            lines.append(filled(f"{option['name']}: {help_of(option)}", "%     "))
    lines += ["%", "%   Written:"]
    lines += [filled(f"{file.name}: {file.doc}", "%     ") for file in command.files]
    lines += ["%", "%   Made by generate.py from `fimbria describe`: not to be edited.", ""]
    lines.append("  % name, option, what stands between its values")
    lines.append("  options = {")
    for option in command.options:
        flag = f"--{option['long']}" if option["long"] else ""
        if option["type"] == "flag":
            separator = "flag"
        elif is_optional(option):
            separator = "="
        elif is_repeated(option):
            separator = "again"
        else:
            separator = option["delimiter"] or (" " if is_list(option) else ",")
        lines.append(f"    '{option['name']}', '{flag}', '{separator}'")
    lines += ["  };", "  % name, patterns, are there many", "  written = {"]
    for file in command.files:
        names = ", ".join(f"'{each}'" for each in file.names)
        lines.append(f"    '{file.name}', {{{names}}}, {str(file.is_many).lower()}")
    lines.append("  };")
    default = f"'{command.default}'" if command.default else "''"
    is_file = str(command.is_file).lower()
    lines.append(
        f"  files = fimbria.internal.run('{command.name}', options, written, "
        f"'{command.written['name']}', {default}, {is_file}, varargin);"
    )
    return "\n".join([*lines, "end"]) + "\n"


# ---- QSIRecon ----

QSIRECON_HEAD = """# The scalar maps of fimbria under QSIRecon's labels. Made by generate.py from `fimbria describe`: not to be edited.
"""


def scalars(program: str) -> str:
    """What QSIRecon maps to templates and bundles, in the form of its data/scalars/*.yaml."""
    lines = [QSIRECON_HEAD.rstrip()]
    said: dict[str, str] = {}
    for one in package.described(program):
        for output in one["outputs"] if one["name"].startswith("fit ") else []:
            found = re.fullmatch(r"model-(\w+)_param-(\w+)_dwimap\.nii\.gz", output["files"].get("bids", ""))
            if not found or output["kind"] != "scalar" or output["volumes"] != 1:
                continue
            model, parameter = found.groups()
            name = f"{model}_{parameter}"
            # Two fits may have a map in common; it is said once.
            said.setdefault(
                name,
                f"{name}:\n    bids:\n        model: {model}\n        param: {parameter}\n    metadata:\n"
                f"        Description: {json.dumps(output['holds'], ensure_ascii=False)}",
            )
    return "\n".join([*lines, *said.values()]) + "\n"


def main() -> None:
    program, check = sys.argv[1], "--check" in sys.argv
    every = commands(program)
    made = {
        HERE / "nipype" / "fimbria_nipype.py": nipype(every),
        HERE / "pydra" / "fimbria_pydra.py": pydra(every),
        HERE / "qsirecon" / "scalars.yaml": scalars(program),
    }
    functions = HERE / "matlab" / "+fimbria"
    made |= {functions / f"{command.name.replace(' ', '_')}.m": matlab(command) for command in every}
    stale = [path for path in functions.glob("*.m") if path not in made]
    for path, text in made.items():
        if not check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path)
    if stale:
        names = ", ".join(str(path.relative_to(HERE)) for path in stale)
        sys.exit(f"stale: {names}; run `python {Path(__file__).name} {program}`, and delete what no command is left for")


if __name__ == "__main__":
    main()
