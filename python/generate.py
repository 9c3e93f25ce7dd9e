"""Writes fimbria/models.py, _maps.py, _fit.py, methods.py and programs.py from what the program says of itself: a
class for each fit, a function for each other method, and one for each command that works on files.

    python generate.py path/to/fimbria
    python generate.py path/to/fimbria --check     # fails where the file is stale
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

# Names that users of DIPY know, and the class of such a fit where it is written by hand.
CLASSES = {
    "dti": ("TensorModel", "TensorFit"),
    "dki": ("KurtosisModel", "KurtosisFit"),
    "msdki": ("MeanSignalKurtosisModel", "MeanSignalKurtosisFit"),
    "fod": ("FibreOrientationModel", "FibreOrientationFit"),
    "hot": ("HigherOrderTensorModel", "HigherOrderTensorFit"),
    "ivim": ("IvimModel", "IvimFit"),
    "stremi": ("StretchedExponentialModel", None),
    "dki1d": ("KurtosisPerDirectionModel", None),
    "stremi1d": ("StretchedExponentialPerDirectionModel", None),
    "mono": ("MonoExponentialModel", None),
    "noddi": ("NeuriteModel", None),
    "fwdti": ("FreeWaterTensorModel", None),
    "smt": ("SphericalMeanModel", None),
    "axdki": ("AxialKurtosisModel", None),
    "dkimicro": ("KurtosisMicrostructureModel", None),
    "mapmri": ("MapmriModel", None),
    "gqi": ("QSamplingModel", None),
    "expr": ("ExpressionModel", None),
}
# What examples of models fit: a table of two shells, and signals of it.
OF_A_TABLE = [
    "import numpy as np",
    "from fimbria import Gradients",
    "n = np.random.default_rng(0).standard_normal((60, 3))",
    "n /= np.linalg.norm(n, axis=1, keepdims=True)",
    "table = Gradients(np.r_[0, np.repeat([1000, 2000], 30)], np.r_[np.zeros((1, 3)), n], frame='voxel')",
]
OF_A_FIBRE = [*OF_A_TABLE, "signal = 100 * np.exp(-table.bvals * (3e-4 + 1.4e-3 * table.bvecs[:, 0] ** 2))"]
WITH_KURTOSIS = [*OF_A_TABLE, "signal = 100 * np.exp(-table.bvals * 1e-3 + 0.6 / 6 * (table.bvals * 1e-3) ** 2)"]
OF_REPEATS = [
    "import numpy as np",
    "from fimbria import Gradients",
    "b = np.r_[0, 0, np.repeat([500.0, 1000.0, 1500.0, 2000.0], 3)]",
    "table = Gradients(b, np.r_[np.zeros((2, 3)), np.tile(np.eye(3), (4, 1))], frame='voxel')",
]
# Examples of models, which are run as tests, with what the last line gives.
CLASS_EXAMPLES = {
    "dti": ([*OF_A_FIBRE, "made = TensorModel(table).fit(signal)", "bool(np.allclose(made.evals, [1.7e-3, 3e-4, 3e-4], rtol=1e-4)), abs(made.V1).round(2).tolist()"], "(True, [1.0, 0.0, 0.0])"),
    "dki": ([*WITH_KURTOSIS, "made = KurtosisModel(table).fit(signal)", "round(float(made.mk()), 2), round(float(made.md), 5)"], "(0.6, 0.001)"),
    "msdki": ([*WITH_KURTOSIS, "made = MeanSignalKurtosisModel(table).fit(signal)", "round(float(made.msk), 2), round(float(made.msd), 5)"], "(0.6, 0.001)"),
    "fod": (
        [
            *OF_A_TABLE,
            "ways = np.random.default_rng(1).standard_normal((40, 1, 1, 3))",
            "ways /= np.linalg.norm(ways, axis=-1, keepdims=True)",
            "series = 100 * np.exp(-table.bvals * (3e-4 + 1.4e-3 * (ways @ table.bvecs.T) ** 2))",
            'made = FibreOrientationModel(table, tissues="white", order="4").fit(series)',
            "made.fod.shape, made.odf([[1, 0, 0]]).shape",
        ],
        "((40, 1, 1, 15), (40, 1, 1, 1))",
    ),
    "hot": ([*OF_A_FIBRE, 'made = HigherOrderTensorModel(table, order="4").fit(signal)', "made.hot.shape, made.adc(np.eye(3)).round(5).tolist()"], "((15,), [0.0017, 0.0003, 0.0003])"),
    "ivim": (
        [
            "import numpy as np",
            "from fimbria import Gradients",
            "b = np.r_[0, 10, 20, 40, np.repeat([80.0, 400.0, 1000.0], 8)]",
            "table = Gradients(b, np.where(b[:, None] > 0, [1.0, 0, 0], 0), b0_threshold=0, frame='voxel')",
            "signal = 500 * (0.1 * np.exp(-b * 10e-3) + 0.9 * np.exp(-b * 1e-3))",
            "made = IvimModel(table).fit(signal)",
            "round(float(made.perfusion_fraction), 2), round(float(made.D), 5)",
        ],
        "(0.1, 0.001)",
    ),
    "stremi": (
        [
            *OF_A_TABLE[:2],
            "n = np.random.default_rng(0).standard_normal((40, 3))",
            "n /= np.linalg.norm(n, axis=1, keepdims=True)",
            "b = np.r_[0, 0, np.repeat([500.0, 1000.0, 1500.0, 2000.0], 10)]",
            "table = Gradients(b, np.r_[np.zeros((2, 3)), n], frame='voxel')",
            "made = StretchedExponentialModel(table).fit(100 * np.exp(-((b * 1e-3) ** 0.8)))",
            "made.gamma.shape, made.A.shape, made.counts",
        ],
        "((3,), (3,), {'fitted': 1})",
    ),
    "dki1d": (
        [*OF_REPEATS, "signal = 100 * np.exp(-b * 1e-3 + 0.6 / 6 * (b * 1e-3) ** 2)", "made = KurtosisPerDirectionModel(table).fit(signal)", "made.D.shape, round(float(made.MK), 2)"],
        "((3,), 0.6)",
    ),
    "stremi1d": (
        [*OF_REPEATS, "signal = 100 * np.exp(-((b * 1e-3) ** 0.8))", "made = StretchedExponentialPerDirectionModel(table).fit(signal)", "made.A.shape, round(float(made.Mgamma), 2)"],
        "((3,), 0.8)",
    ),
    "mono": ([*OF_REPEATS, "made = MonoExponentialModel(table).fit(100 * np.exp(-b * 1e-3))", "round(float(made.D), 5), round(float(made.S0), 2)"], "(0.001, 100.0)"),
    "noddi": (
        [*OF_A_FIBRE, "made = NeuriteModel(table).fit(signal)", "made.icvf.shape, made.direction.shape"],
        "((), (3,))",
    ),
    "fwdti": (
        [
            *OF_A_TABLE,
            "tissue = np.exp(-table.bvals * (3e-4 + 1.4e-3 * table.bvecs[:, 0] ** 2))",
            "made = FreeWaterTensorModel(table).fit(100 * (0.8 * tissue + 0.2 * np.exp(-table.bvals * 3e-3)))",
            "round(float(made.FWF), 2), round(float(made.MD), 5)",
        ],
        "(0.2, 0.00077)",
    ),
    "smt": ([*OF_A_FIBRE, "made = SphericalMeanModel(table).fit(signal)", "made.uFA.shape, made.long.shape"], "((), ())"),
    "axdki": ([*OF_A_FIBRE, "made = AxialKurtosisModel(table).fit(signal)", "made.MK.shape, made.direction.shape"], "((), (3,))"),
    "dkimicro": ([*OF_A_FIBRE, "made = KurtosisMicrostructureModel(table).fit(signal)", "made.AWF.shape, made.aligned.shape"], "((), ())"),
    "gqi": ([*OF_A_FIBRE, "made = QSamplingModel(table).fit(signal)", "made.QA.shape, made.odf.shape"], "((), (91,))"),
    "mapmri": (
        [*OF_A_FIBRE, 'made = MapmriModel(table, order="4", big_delta=43.1, small_delta=10.6).fit(signal)', "made.RTOP.shape, made.mapcoeffs.shape"],
        "((), (22,))",
    ),
    "expr": (
        [
            *OF_REPEATS,
            "signal = 100 * np.exp(-b * 1e-3) + 5",
            'start = {"S0": (80, 0, None), "D": (0.5, 0, 10), "C": (1, 0, 50)}  # b is in ms/µm², D in µm²/ms',
            'made = ExpressionModel(table, "S0*exp(-b*D)+C", param=start).fit(signal)',
            "round(float(made.S0), 1), round(float(made.D), 3), round(float(made.C), 1)",
        ],
        "(100.0, 1.0, 5.0)",
    ),
}
# Options of all commands, which Python says otherwise.
OURS = {"Input", "Output", "Gradient table", "Machine", "Messages"}
WIDTH = 96
HEAD = '''"""The models, a class each. Made by generate.py from `fimbria describe`: not to be edited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal

from ._curves import IvimFit, MeanSignalKurtosisFit
from ._diffusion import KurtosisFit, TensorFit
from ._given import GradientTable
from ._maps import (
    MAPS
)
from ._spheres import FibreOrientationFit, HigherOrderTensorFit
from .fits import Model
'''
MAPS_HEAD = '''"""Which maps each fit has, for type checkers. Made by generate.py from `fimbria describe`: not to be edited."""
# pyright: reportUninitializedInstanceVariable=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from .fits import Fit

Array = npt.NDArray[Any]
'''
FIT_HEAD = '''"""Any fit by its name. Made by generate.py from `fimbria describe`: not to be edited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy.typing as npt

from ._given import GradientTable, Series, Voxels
from ._work import Progress
from .fits import Fit, fit_by_name

__all__ = ["FitName", "fit"]

#: The names of all fits.
FitName = Literal[NAMES]

if TYPE_CHECKING:
    from typing_extensions import TypedDict, Unpack

    from ._curves import IvimFit, MeanSignalKurtosisFit
    from ._diffusion import KurtosisFit, TensorFit
    from ._maps import (
        MAPS
    )
    from ._spheres import FibreOrientationFit, HigherOrderTensorFit
'''
FIT_TAIL = '''

@overload
def fit(
    name: FitName, data: Series, gtab: GradientTable | None = None, mask: Voxels | None = None, *,
    affine: npt.ArrayLike | None = None, threads: int = 0, device: str | None = None, progress: Progress = None,
) -> Fit: ...  # fmt: skip
@overload
def fit(
    name: PathLike[str], data: Series, gtab: GradientTable | None = None, mask: Voxels | None = None, *,
    affine: npt.ArrayLike | None = None, threads: int = 0, device: str | None = None, progress: Progress = None,
    **options: Any,
) -> Fit: ...  # fmt: skip
def fit(
    name: str | PathLike[str],
    data: Any,
    gtab: Any = None,
    mask: Any = None,
    *,
    affine: npt.ArrayLike | None = None,
    threads: int = 0,
    device: str | None = None,
    progress: Progress = None,
    **options: Any,
) -> Any:
    """Fits any model by its name: `fit("ivim", data, gtab, mask)` is `fimbria fit ivim`.

    The options are those of the command, with underscores; the table of an `Image` is taken where none
    is given. What it takes and gives otherwise is that of the model's class.

    In place of a name there may be the file of a model, as `fimbria fit expr` leaves it: `fit(Path("model.toml"),
    data, gtab)`; what is given here counts before what the file says.

    Examples
    --------
    >>> import numpy as np
    >>> from fimbria import Gradients
    >>> axes = np.vstack([np.zeros((1, 3)), np.eye(3), np.sqrt(0.5) * (1 - np.eye(3))])
    >>> table = Gradients([0, *[1000] * 6], axes, frame="voxel")
    >>> signal = 100 * np.exp(-table.bvals * 1e-3) * np.ones((2, 2, 2, 1))
    >>> made = fit("dti", signal, table, affine=np.diag([2, 2, 2, 1]), method="ols")
    >>> made.md.shape, bool(np.allclose(made.md, 1e-3)), made.counts
    ((2, 2, 2), True, {'fitted': 8})
    """
    machine = {"affine": affine, "threads": threads, "device": device, "progress": progress}
    return fit_by_name(name, data, gtab, mask, machine, options)
'''


def described(program: str, *command: str) -> Any:
    done = subprocess.run(
        [program, "describe", *command, "--format", "json"], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def fits(program: str) -> list[dict[str, Any]]:
    every = described(program)
    return [one for one in every if one["name"].startswith("fit ")]


# A parameter of an expression: its start, its start and bounds, or its start and that it is fixed.
PARAMETERS = 'Mapping[str, float | tuple[float, float | None, float | None] | tuple[float, Literal["fixed"]]]'


def literals(option: dict[str, Any]) -> list[str]:
    """The choices, numbers as numbers, too."""
    names = [choice["name"] for choice in option["choices"]]
    return [f'"{name}"' for name in names] + [name for name in names if name.isdigit()]


# DIPY's names of methods of fits.
METHODS_OF_DIPY = {"LS": "ols", "RT": "restore"}


def type_of_method(option: dict[str, Any]) -> str:
    """The choices of fit_method, with DIPY's names for them."""
    names = [choice["name"] for choice in option["choices"]]
    names += [name.upper() for name in names] + [name for name, ours in METHODS_OF_DIPY.items() if ours in names]
    return "Literal[" + ", ".join(f'"{name}"' for name in dict.fromkeys(names)) + "]"


def is_pair(option: dict[str, Any]) -> bool:
    """Whether an option is two numbers."""
    return option["type"] == "text" and "," in (option["value"] or "") and not option["repeatable"]


def type_of(option: dict[str, Any]) -> str:
    if option["name"] == "param":
        return f"{PARAMETERS} | str | Sequence[str]"
    if {choice["name"] for choice in option["choices"]} == {"true", "false"}:
        return "bool"
    if is_pair(option):
        return "str | Sequence[float]"
    one = {
        "choice": "Literal[" + ", ".join(literals(option)) + "]",
        "number": "float",
        "integer": "int",
        "flag": "bool",
        "path": "str | PathLike[str]",
        "text": "str | float",
    }[option["type"]]
    if option["values"][0] > 1:
        return f"Sequence[{one}]"
    return f"{one} | Sequence[{one}]" if option["repeatable"] or option["delimiter"] else one


def of_fits(text: str) -> str:
    """What help says of the maps and options of fits, in Python's words."""
    if text.startswith("A parameter, where its fit starts"):
        return "Each parameter, in the order of the maps: where its fit starts; (start, low, high), None for no bound; or (start, 'fixed')"
    return text.replace("in scanner RAS axes", "in the axes of gtab").replace("--method", "fit_method")


def wrapped(text: str, indent: int) -> str:
    # What help says of files and command lines, in Python's words.
    text = re.sub(r"--[a-z-]+", lambda option: option[0][2:].replace("-", "_"), text)
    text = text.replace(", separated by commas", "").replace("Maps to write", "Maps to make")
    lines = textwrap.wrap(text, WIDTH - indent, break_long_words=False)
    return "\n".join(" " * indent + line for line in lines)


def names_of(one: dict[str, Any]) -> tuple[str, str, str]:
    """The name of a fit, of its class, and of the class of what it gives."""
    name = one["name"].removeprefix("fit ")
    title, by_hand = CLASSES.get(name, (f"{name.capitalize()}Model", None))
    return name, title, by_hand or title.replace("Model", "Fit")


def maps_class(one: dict[str, Any]) -> str:
    """The class that declares the maps of a fit; its fit itself where none is written by hand."""
    name, title, _ = names_of(one)
    is_by_hand = name in CLASSES and CLASSES[name][1] is not None
    return title.replace("Model", "Maps" if is_by_hand else "Fit")


def by_hand(folder: Path) -> dict[str, set[str]]:
    """What classes of fits that are written by hand define, with what they inherit."""
    own: dict[str, set[str]] = {}
    for file in ("_diffusion.py", "_curves.py", "_spheres.py"):
        for node in ast.parse((folder / file).read_text()).body:
            if isinstance(node, ast.ClassDef):
                names = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
                inherited = (own.get(base.id, set()) for base in node.bases if isinstance(base, ast.Name))
                own[node.name] = names.union(*inherited)
    return own


def declared_maps(one: dict[str, Any], defined: set[str]) -> str:
    """A class that says which maps a fit has, for type checkers."""
    title = maps_class(one)
    made = {"mask", "mean_b0"}  # by the command alone, where it makes a mask
    maps = [o["file"] for o in one["outputs"] if o["volumes"] is not None and o["kind"] is not None and o["file"] not in made]
    lines = ["", "", f"class {title}(Fit):", f'    """The maps of {one["name"]}."""', ""]
    if "NAME" in maps:
        # Named by the user.
        return "\n".join([*lines, "    if TYPE_CHECKING:", "", "        def __getattr__(self, name: str) -> Array: ..."])
    if "*_error" in maps:
        maps = [*(name for name in maps if name != "*_error"), *(f"{name}_error" for name in maps if name != "*_error")]
    names = [name for file in maps for name in (file, file.lower()) if name not in defined | {"status", "status_error"}]
    return "\n".join([*lines, *(f"    {name}: Array" for name in dict.fromkeys(names))])



def class_of(one: dict[str, Any]) -> str:
    name, title, fit = names_of(one)
    own = options_of(one)
    needed = [o for o in own if o["required"]]
    method = next((o for o in own if o["name"] == "method"), None)
    bmax = next((o["default"] for o in own if o["name"] == "bmax"), None)
    arguments = ["self", "gtab: GradientTable"]
    arguments += [f"{o['name']}: {type_of(o)}" for o in needed]
    if method:
        arguments.append(f"fit_method: {type_of_method(method)} | None = None")
    arguments.append("*")
    kept = [o for o in own if not o["required"] and o["name"] != "method"]
    arguments += [f"{o['name']}: {type_of(o)} | None = None" for o in kept]

    doc = [f'    """{one["sentence"]}.', "", "    Parameters", "    ----------"]
    doc += ["    gtab : gradient table", wrapped("Of fimbria or DIPY, or (bvals, bvecs); directions of maps come out in its axes.", 8)]
    for o in own:
        shown = "fit_method" if o["name"] == "method" else o["name"]
        doc.append(f"    {shown} : {kind_of(o)}")
        doc.append(wrapped(of_fits(help_of(o)), 8))
    doc += ["", "    Maps", "    ----"]
    for o in one["outputs"]:
        if o["volumes"] is None or o["kind"] is None:
            continue
        doc.append(f"    {o['file']}")
        doc.append(wrapped(of_fits(o["holds"]), 8))
    doc += ["", "    References", "    ----------"]
    for reference in one["references"]:
        doc.append(wrapped(reference if isinstance(reference, str) else reference["citation"], 4))
    lines_, result = CLASS_EXAMPLES[name]
    doc += ["", "    Examples", "    --------", *[f"    >>> {line}" for line in lines_], f"    {result}"]
    doc.append('    """')
    lines = ["", "", f"class {title}(Model[{fit}]):", *doc, "", f'    name = "{name}"', f"    _fit = {fit}"]
    if bmax:
        lines.append(f'    _volumes = "{bmax}"')
    pairs = [o["name"] for o in own if is_pair(o)]
    if pairs:
        lines.append("    _pairs = (" + "".join(f'"{name}", ' for name in pairs).rstrip() + ")")
    lines.append("")
    lines.append("    def __init__(")
    lines += [f"        {argument}," for argument in arguments]
    lines.append("    ) -> None:")
    lines.append("        super().__init__(")
    lines.append("            gtab,")
    if method:
        lines.append("            method=method_of(fit_method),")
    lines += [f"            {o['name']}={o['name']}," for o in needed + kept]
    lines.append("        )")
    return "\n".join(lines)


# Options of all commands by name, which Python says otherwise; not all have a group of their own.
COMMON = {
    "threads", "device", "device_memory", "quiet", "verbose", "memory", "scratch",
    "output", "force", "resume", "checkpoint", "format", "layout", "half", "tracks",
    "bval", "bvec", "fslgrad", "grad", "bmatrix", "bvec_frame", "b0_threshold", "bvalue_scaling", "grad_dev",
}  # fmt: skip


class Given(NamedTuple):
    """What a method is given besides its options: type, default (None: needed), and what it is."""

    type: str
    default: str | None = None
    doc: str | None = None


AFFINE = Given(
    "npt.ArrayLike | None",
    "None",
    "Scanner RAS mm from voxel of the array; by default that of the image or the fit, else the identity",
)
MASK = Given("Voxels | None", "None", "Voxels to work on [x, y, z]; all by default")
SERIES = {
    "data": Given("Series", None, "Series [x, y, z, volumes], `fimbria.Image`, or image of nibabel; float32 is read where it lies"),
    "gtab": Given("GradientTable | None", "None", "Gradient table of fimbria or DIPY, or (bvals, bvecs); that of the image by default"),
}
TRACTOGRAM = Given("Any", None, "`fimbria.Tractogram`, path, StatefulTractogram, or arrays [n, 3] in scanner RAS mm")
REGION = (
    "Voxels above zero of an array [x, y, z] or an image, or the path of an image or a surface; a list of "
    "several regions."
)


class Method(NamedTuple):
    """How a command is called in Python."""

    name: str
    gives: str
    given: dict[str, Given]
    notes: str
    example: list[str]
    leaves_out: tuple[str, ...] = ()
    has_device: bool = True


# The field of a ball of susceptibility 0.1 ppm, along z.
OF_A_BALL = [
    "import numpy as np",
    "x, y, z = np.indices((16, 16, 16)) - 8.0",
    "r = np.sqrt(x**2 + y**2 + z**2)",
    "mask = r < 7",
    "field = np.where(r < 3, 0, 0.1 / 3 * 27 * (3 * z**2 - r**2) / np.maximum(r, 1) ** 5)",
]

METHODS = {
    "peaks": Method(
        "peaks",
        "Peaks",
        {
            "directions": Given("Any", None, "A fit of `FibreOrientationModel` or `HigherOrderTensorModel`, or coefficients [x, y, z, n]: spherical harmonics with sh_basis, else unique entries of symmetric tensors"),
            "sh_basis": Given("", "None"),
            "frame": Given("", "None"),
            "mask": MASK,
            "affine": AFFINE,
        },
        "`peak_dirs` [x, y, z, n, 3] and `peak_values` [x, y, z, n], the largest first; `directions`, whose "
        "length is the value, are in scanner RAS axes, whatever axes the table of a fit was in. `shm_coeff`, `gfa`, "
        "and where DIPY is installed `peak_indices`, `sphere` and `to_pam()`.",
        [
            "import numpy as np",
            "harmonics = np.zeros((1, 1, 1, 15), np.float32)",
            "harmonics[..., [0, 3]] = 1.0, 2.0  # degree 2 along z",
            'peaks(harmonics, sh_basis="mrtrix", threads=1).peak_values.shape',
        ],
        ("image", "order"),
    ),
    "sticks": Method(
        "sample_sticks",
        "Sticks",
        {**SERIES, "mask": MASK, "affine": AFFINE},
        "Maps as bedpostX names them, `dyads1` and `mean_f1samples` and so on, directions in scanner RAS axes; "
        "`samples(fibre)` gives the samples, and `track` follows them.",
        [
            *OF_A_FIBRE,
            "signal = signal.reshape(1, 1, 1, -1)",
            "quick = {'fibres': 1, 'burn_in': 200, 'jumps': 100, 'sample_every': 5}",
            "sticks = sample_sticks(signal, table, **quick, threads=1)",
            "sticks.n_samples, bool(abs(sticks.dyads1[0, 0, 0, 0]) > 0.99)",
        ],
        ("dwi",),
    ),
    "track": Method(
        "track",
        "Tracks",
        {
            "directions": Given("Any", None, "A fit of `FibreOrientationModel`, `Sticks`, `Peaks`, or an array: spherical harmonics with sh_basis, unique entries with hot, else directions [x, y, z, n, 3] or [x, y, z, 3 n]"),
            "seeds": Given("Any", None, "Where to start: voxels above zero of an array [x, y, z] or an image; points [n, 3] in scanner RAS mm; the path of an image, a surface or a list; a list of several regions"),
            "sh_basis": Given("", "None"),
            "hot": Given("", "False"),
            "frame": Given("", "None"),
            "dispersion": Given("", "0.0"),
            "mask": MASK,
            "affine": AFFINE,
            "include": Given("Any", "None", "Where streamlines must pass, all of them. " + REGION),
            "include_any": Given("", "False"),
            "in_order": Given("", "False"),
            "exclude": Given("Any", "None", "Where streamlines must not pass. " + REGION),
            "stop": Given("Any", "None", "Where streamlines end. " + REGION),
            "target": Given("Any", "None", "Count for each seed the streamlines that reach this. " + REGION),
            "network": Given("", "False"),
            "act": Given("Any", "None", "Through densities: tissues that say where streamlines may end, an array [x, y, z, 5] (cortical grey, subcortical grey, white, fluid, other), labels [x, y, z], an image, or its path"),
        },
        "A `Tractogram` in scanner RAS mm, in the order of seeds, with `seeds` [streamlines, 3], `visits` [x, y, z] "
        "and counts. A fit is turned into scanner axes from those of its table; where these are not known and its "
        "voxels lie in a scanner, it is refused. Through harmonics and entries the defaults differ from those "
        "through samples and peaks.",
        [
            "import numpy as np",
            "along_x = np.zeros((30, 3, 3, 1, 3), np.float32)",
            "along_x[..., 0] = 1.0",
            "seeds = np.zeros((30, 3, 3), bool)",
            "seeds[15, 1, 1] = True",
            "tracks = track(along_x, seeds, samples=1, threads=1)",
            "len(tracks), int(np.ptp(tracks[0][:, 0])), tracks.seeds.tolist()",
        ],
        ("peaks",),
    ),
    "field": Method(
        "local_field",
        "Fields",
        {
            "phase": Given("Any", None, "Phase [x, y, z, echoes] in any scaling, an image of it, or its path"),
            "magnitude": Given("Any", "None", "Magnitude, likewise: weighs voxels and echoes, gives R2* and, without a mask, the mask"),
            "mask": Given("Voxels | None", "None", "Voxels to work on [x, y, z]; by default one made of the magnitudes, as `fimbria mask` makes it"),
            "affine": AFFINE,
        },
        "`local_field` and `total_field` [x, y, z] in ppm of B0, `mask`, the `quality` of the phase, with a magnitude `weights` of the data, "
        "and of two echoes `r2star` in 1/s. Echo times (`te`) and the strength of B0 (`b0`) must be said, or that the field is `relative`.",
        [
            *OF_A_BALL,
            "hz, te = 128 * field, np.array([4.0, 8.0, 12.0])",
            "phase = 2 * np.pi * hz[..., None] * te * 1e-3",
            "turn = (-np.pi, np.pi)",
            "made = local_field(phase, mask=mask, te=te, b0=3, phase_range=turn, threads=1)",
            "made.local_field.shape, sorted(made.maps)",
        ],
        ("imaginary",),
        has_device=False,
    ),
    "qsm": Method(
        "qsm",
        "Susceptibility",
        {
            "field": Given("Any", None, "What `local_field` gives, or a local field [x, y, z], an image of it, or its path"),
            "mask": Given("Voxels | None", "None", "Voxels to solve for [x, y, z]; that of `local_field`, or all but those where the field is 0 from there to the edge of the volume"),
            "v1": Given("Any", "None", "Fibre directions [x, y, z, 3], or a fit of the tensor, whose V1 is taken with its axes: voxels with a fibre are cylinders along them"),
            "fa": Given("Any", "None", "Fractional anisotropy [x, y, z], which says where there are fibres"),
            "md": Given("Any", "None", "Mean diffusivity [x, y, z], which tells tissues apart; with v1 and method dtv"),
            "s0": Given("Any", "None", "Signal without diffusion weighting [x, y, z], likewise"),
            "weights": Given("Any", "None", "Weights of the data [x, y, z]"),
            "magnitude": Given("Any", "None", "Magnitude [x, y, z] or [x, y, z, echoes] whose edges cost nothing; with method medi"),
            "two_pass": Given("Any", "None", "Voxels whose field is reliable [x, y, z]: mapped once more by themselves"),
            "truth": Given("Any", "None", "A map to compare with [x, y, z], ppm"),
            "reference": Given("Any", "None", "Region whose mean is zero in the map [x, y, z]"),
            "affine": AFFINE,
        },
        "`chi` [x, y, z] in ppm, with method tensor `msa`, and `residual`, what the map leaves of the field; "
        "`iterations`, a row each: number, rms of the map (ppm), relative change, data term, and of dqsm and tensor "
        "penalty and relative gradient, of dtv, tv and rts total variation; `metrics` with a truth.",
        [
            *OF_A_BALL,
            "made = qsm(field, mask=mask, method='tkd', threads=1)",
            "made.chi.shape, bool(0.09 < made.chi[r < 2].mean() < 0.11)",
        ],
        ("dti", "resample", "dqsm_files"),
    ),
    "life": Method(
        "life",
        "Evaluation",
        {"tractogram": TRACTOGRAM, **SERIES, "mask": MASK, "affine": AFFINE},
        "`weights` [streamlines], `errors` [x, y, z] and other maps, and `lesions` of all streamlines and of each "
        "group of the tractogram. Directions of the table are turned into scanner axes; where theirs are not known "
        "and the voxels lie in a scanner, it is refused.",
        [
            *OF_A_FIBRE,
            "from fimbria import Tractogram",
            "along_x = Tractogram([[0, 1, 1], [9, 1, 1], [0, 0, 0], [9, 2, 2]], [0, 2, 4])",
            "series = np.full((10, 3, 3, len(table)), 50.0)",
            "series[:, 1, 1] = signal",
            "made = life(along_x, series, table, threads=1)",
            "made.errors.shape, bool(made.weights[0] > 20 * made.weights[1])",
        ],
        ("dwi", "labels", "sets", "start", "second"),
    ),
    "sift2": Method(
        "sift2",
        "StreamlineWeights",
        {
            "tractogram": TRACTOGRAM,
            "densities": Given("Any", None, "A fit of `FibreOrientationModel`, or spherical harmonics [x, y, z, n] with sh_basis"),
            "sh_basis": Given("", "None"),
            "frame": Given("", "None"),
            "mask": MASK,
            "affine": AFFINE,
            "act": Given("", "None"),
        },
        "`weights` [streamlines], `mu` and `iterations`. A fit is turned into scanner axes from those of its table.",
        [
            "import numpy as np",
            "from fimbria import Tractogram",
            "along_z = np.zeros((3, 3, 10, 15), np.float32)",
            "along_z[..., [0, 3, 10]] = 0.28, 0.63, 0.85  # a lobe of degree 4",
            "lines = Tractogram([[1, 1, 0], [1, 1, 9], [1, 1, 0], [1, 1, 9]], [0, 2, 4])",
            'made = sift2(lines, along_z, sh_basis="mrtrix", threads=1)',
            "made.weights.shape, bool(np.isclose(*made.weights))",
        ],
        ("image", "order", "start"),
        has_device=False,
    ),
    "connectome": Method(
        "connectome",
        "Connectome",
        {
            "tractogram": TRACTOGRAM,
            "labels": Given("Any", None, "Whole numbers [x, y, z], 0 for no region; an image, or its path"),
            "weights": Given("npt.ArrayLike | str | None", "None", "A weight for each streamline, or the name of such data of the tractogram"),
            "map": Given("Mapping[str, Any] | None", "None", "Maps [x, y, z] by name, of which each edge gets the mean (or `of_edge`) along its streamlines; images, or their paths; arrays are of the voxels of the labels"),
            "affine": AFFINE,
        },
        "`weights`, `numbers` and `lengths` (mm) [n, n], `means` of the maps by name, and `labels` [n].",
        [
            "import numpy as np",
            "from fimbria import Tractogram",
            "labels = np.zeros((10, 1, 1), int)",
            "labels[0], labels[9] = 4, 7",
            "lines = Tractogram([[0, 0, 0], [9, 0, 0]], [0, 2])",
            "connectome(lines, labels, radius=2, threads=1).weights.tolist()",
        ],
        ("lut", "npy", "assignments"),
        has_device=False,
    ),
}

# Defaults that files say, or that differ in a run, as they are on arrays.
DEFAULTS = {
    ("track", "sh_basis"): "that of a fit; else directions are peaks",
    ("track", "frame"): "scanner; voxel with a basis of DIPY",
    ("track", "step"): "0.5; through densities half of the shortest voxel edge, deterministic a fifth",
    ("track", "max_length"): "1000; through densities 250",
    ("sift2", "sh_basis"): "that of a fit",
    ("sift2", "frame"): "scanner; voxel with a basis of DIPY",
    ("peaks", "sh_basis"): "that of a fit; else unique entries",
    ("field", "phase_range"): "told by the numbers",
    ("field", "te"): "none: they must be said",
    ("field", "b0"): "none: it must be said",
    ("qsm", "v1_frame"): "scanner",
}
IN_A_RUN = re.compile(r"[;,] [^;,]*\bin a run\b[^;]*")


def on_arrays(command: str, option: dict[str, Any]) -> dict[str, Any]:
    """An option with the default that it has in Python."""
    default = DEFAULTS.get((command, option["name"]), option["default"])
    return {**option, "default": IN_A_RUN.sub("", default) if default else default}


METHODS_HEAD = '''"""The methods that are no fits. Made by generate.py from `fimbria describe`: not to be edited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal

import numpy.typing as npt

from . import _methods
from ._given import GradientTable, Series, Voxels
from ._methods import Connectome, Evaluation, Fields, Peaks, Sticks, StreamlineWeights, Susceptibility, Tracks
from ._work import Progress
'''

# What the methods give.
GIVEN_BACK = ["Connectome", "Evaluation", "Fields", "Peaks", "Sticks", "StreamlineWeights", "Susceptibility", "Tracks"]

MACHINE_DOC = {
    "threads": "Threads to work with; 0 for one per core. Results do not depend on it.",
    "device": "Where to work: auto, cpu, gpu, gpu:0,1 or opencl:0; the threads alone by default.",
    "progress": "A callable progress(step, done, total), which may raise; True for a bar, False for none.",
}


def help_of(option: dict[str, Any]) -> str:
    """What help says, with limits and default."""
    parts = [option["help"].rstrip(".")]
    limits = ", ".join(p for p in (option["range"], option["unit"]) if p)
    if limits:
        parts.append(f"[{limits}]")
    if option["default"] not in (None, ""):
        parts.append(f"[default: {option['default']}]")
    return " ".join(parts)


def kind_of(option: dict[str, Any]) -> str:
    if type_of(option) == "bool":
        return "flag"
    return "{" + ", ".join(c["name"] for c in option["choices"]) + "}" if option["choices"] else option["type"]


def function_of(one: dict[str, Any], method: Method) -> str:
    """A method that is no fit."""
    options = [on_arrays(one["name"], option) for option in one["options"]]
    by_name = {option["name"]: option for option in options}
    left_out = COMMON | set(method.leaves_out) | set(method.given)
    own = [option for option in options if option["name"] not in left_out]
    arguments, doc, passed = [], [], []
    is_keyword = False
    for name, given in method.given.items():
        # What is given is data, and the rest is said by name.
        if given.default is not None and name != "gtab" and not is_keyword:
            arguments.append("*")
            is_keyword = True
        option = by_name.get(name)
        type_ = given.type or f"{type_of(option)}" + (" | None" if given.default == "None" else "")
        arguments.append(f"{name}: {type_}" + (f" = {given.default}" if given.default is not None else ""))
        kind = kind_of(option) if option and not given.doc else "optional" if given.default else "data"
        doc += [f"    {name} : {kind}", wrapped(given.doc or help_of(option), 8)]
        passed.append(f"{name}={name}" if given.default is not None and name != "gtab" else name)
    for option in own:
        arguments.append(f"{option['name']}: {type_of(option)} | None = None")
        doc += [f"    {option['name']} : {kind_of(option)}", wrapped(help_of(option), 8)]
    machine = {"threads": "int = 0", "device": "str | None = None", "progress": "Progress = None"}
    if not method.has_device:
        del machine["device"]
    for name, type_ in machine.items():
        arguments.append(f"{name}: {type_}")
        doc += [f"    {name} : optional", wrapped(MACHINE_DOC[name], 8)]
        passed.append(f"{name}={name}")
    passed.insert(-len(machine), "options={" + ", ".join(f'"{o["name"]}": {o["name"]}' for o in own) + "}")
    lines = ["", "", "", f"def {method.name}("]
    lines += [f"    {argument}," for argument in arguments]
    lines += [f") -> {method.gives}:", f'    """{one["sentence"]}.', "", "    Parameters", "    ----------", *doc]
    lines += ["", "    Returns", "    -------", f"    {method.gives}", wrapped(method.notes, 8)]
    if one["references"]:
        lines += ["", "    References", "    ----------"]
        for reference in one["references"]:
            lines.append(wrapped(reference if isinstance(reference, str) else reference["citation"], 4))
    if method.example:
        lines += ["", "    Examples", "    --------", *[f"    >>> {line}" for line in method.example]]
        lines.append(f"    {RESULTS[method.name]}")
    lines += ['    """', f"    return _methods.{method.name}("]
    lines += [f"        {argument}," for argument in passed]
    lines.append("    )")
    return "\n".join(lines)


# What examples give.
RESULTS = {
    "peaks": "(1, 1, 1, 3)",
    "sample_sticks": "(20, True)",
    "track": "(1, 29, [[15.0, 1.0, 1.0]])",
    "local_field": "((16, 16, 16), ['local_field', 'mask', 'quality', 'total_field'])",
    "qsm": "((16, 16, 16), True)",
    "life": "((10, 3, 3), True)",
    "sift2": "((2,), True)",
    "connectome": "[[0.0, 1.0], [1.0, 0.0]]",
}

# Commands that are called with files: their names in Python, and the option that says where they write.
PROGRAMS = {
    "run": ("run", "output"),
    "maps": ("fit_maps", "output"),
    "report": ("report", "output"),
    "probtrackx2": ("probtrackx2", "dir"),
    "bids": ("bids", "out"),
    "demo": ("demo", "output"),
    "convert": ("convert", "output"),
    "compare": ("compare", "output"),
    "mask": ("make_mask", "output"),
    "correct": ("correct", "output"),
    "align": ("align", "output"),
    "normalise": ("normalise", "output"),
    "fixel": ("fixel", "output"),
    "response": ("mean_response", "output"),
    "regions": ("regions", "output"),
    "tract edit": ("tract_edit", "output"),
    "tract bundles": ("tract_bundles", "output"),
    "tract clean": ("tract_clean", "output"),
    "tract profile": ("tract_profile", "output"),
    "tract map": ("tract_map", "output"),
    "tract cluster": ("tract_cluster", "output"),
    "tract sample": ("tract_sample", "output"),
    "phantom head": ("phantom_head", "output"),
    "phantom crossing": ("phantom_crossing", "output"),
    "phantom gre": ("phantom_gre", "output"),
}
# A small series with its truth, for examples.
IN_A_FOLDER = ["import tempfile", "from pathlib import Path", "out = Path(tempfile.mkdtemp())"]
OF_A_PHANTOM = [*IN_A_FOLDER, 'made = phantom_crossing(out / "in", size="8,8,4", shells="1000:12")']
# Examples of them, which are run as tests, with what the last line gives.
PROGRAM_EXAMPLES = {
    "run": ([*OF_A_PHANTOM, 'done = run(out / "in/dwi.nii.gz", out / "out", mask=out / "in/mask.nii.gz", settings=["run.preset=maps"])', 'done.maps["dti/FA"].shape'], "(8, 8, 4)"),
    "maps": ([*OF_A_PHANTOM, 'done = fit_maps(out / "in/dwi.nii.gz", out / "out", mask=out / "in/mask.nii.gz", models=["dti", "mono"])', 'done.maps["dti/FA"].shape, done.maps["mono/D"].shape'], "((8, 8, 4), (8, 8, 4))"),
    "report": (
        [
            *OF_A_PHANTOM,
            'done = run(out / "in/dwi.nii.gz", out / "out", mask=out / "in/mask.nii.gz", settings=["run.preset=maps"])',
            'report(out / "out", out / "page.html").path.name',
        ],
        "'page.html'",
    ),
    "probtrackx2": (
        [
            *IN_A_FOLDER,
            'made = phantom_crossing(out / "in", size="8,8,4", shells="1000:30")',
            """few = ['run.fits=["peaks", "sticks"]', "sticks.burn_in=100", "sticks.jumps=100"]""",
            'mask = out / "in/mask.nii.gz"',
            'done = run(out / "in/dwi.nii.gz", out / "out", mask=mask, settings=few)',
            'samples = out / "out/sticks/merged"',
            'tracked = probtrackx2(out / "paths", samples=samples, mask=mask, seed=mask, opd=True, nsamples=10)',
            'bool(tracked.maps["fdt_paths"].read().max() > 10)',
        ],
        "True",
    ),
    "bids": (
        [
            *IN_A_FOLDER,
            'made = phantom_head(out / "people", bids="1", size="20,22,16", voxel=8, shells="1000:12")',
            'done = bids(out / "people", out / "maps", "participant", threads=1)',
            'any(name.endswith("param-fa_dwimap") for name in done.maps)',
        ],
        "True",
    ),
    "demo": ([*IN_A_FOLDER, 'made = demo(out / "demo", voxel=10)', '(made.path / "report/report.html").exists()'], "True"),
    "convert": ([*OF_A_PHANTOM, 'convert(out / "in/dwi.nii.gz", out / "dwi.mif").path.name'], "'dwi.mif'"),
    "compare": (
        [
            *IN_A_FOLDER,
            'seeds = [phantom_crossing(out / f"{n}", size="8,8,4", snr=20, rng_seed=n) for n in range(8)]',
            'series = [made.path / "dwi.nii.gz" for made in seeds]',
            'made = compare(series[:4], series[4:], out / "differences")',
            'made.maps["z"].shape[:3]',
        ],
        "(8, 8, 4)",
    ),
    "mask": (
        [
            *IN_A_FOLDER,
            'head = phantom_head(out / "head", size="20,22,16", voxel=8, shells="1000:12")',
            'made = make_mask([head.path / "dwi.nii.gz"], out / "mask")',
            'made.maps["mask"].shape',
        ],
        "(20, 22, 16)",
    ),
    "correct": (
        [
            *IN_A_FOLDER,
            'head = phantom_head(out / "head", size="20,22,16", voxel=8, shells="1000:12", motion=3)',
            'made = correct(out / "head/dwi.nii.gz", out / "out", mask=out / "head/mask.nii.gz", phase_encoding="j", eddy="none")',
            '(made.path / "confounds.tsv").read_text().split()[:2]',
        ],
        "['trans_x', 'trans_y']",
    ),
    "align": (
        [
            *IN_A_FOLDER,
            'head = phantom_head(out / "head", size="20,22,16", voxel=8, shells="1000:12")',
            'made = align(out / "head/mask.nii.gz", out / "head/dwi.nii.gz", out / "out")',
            'sorted(made.maps)',
        ],
        "['moved']",
    ),
    "normalise": (
        [
            *IN_A_FOLDER,
            'made = phantom_crossing(out / "in", size="16,16,10", shells="1000:16,3000:30")',
            'done = run(out / "in/dwi.nii.gz", out / "run", mask=out / "in/mask.nii.gz", settings=["run.preset=fibres"])',
            'normalise(out / "run/fod", None, out / "out", mask=out / "in/mask.nii.gz").maps["gain"].shape',
        ],
        "(16, 16, 10)",
    ),
    "fixel": (
        [
            *OF_A_PHANTOM,
            'done = run(out / "in/dwi.nii.gz", out / "run", mask=out / "in/mask.nii.gz", settings=["run.preset=fibres", "fod.order=4"])',
            'fixel(out / "run/fod/fod.nii.gz", out / "out", mask=out / "in/mask.nii.gz").path.name',
        ],
        "'out'",
    ),
    "response": (
        [
            *IN_A_FOLDER,
            'texts = [out / name for name in ("a.txt", "b.txt")]',
            'lengths = [text.write_text("500 -200 40") for text in texts]',
            'mean_response(texts, out / "mean.txt").path.name',
        ],
        "'mean.txt'",
    ),
    "regions": (
        [
            *OF_A_PHANTOM,
            'made = regions(out / "in/mask.nii.gz", out / "regions", map=[out / "in/truth/S0.nii.gz"])',
            '(made.path / "regions.tsv").read_text().splitlines()[1].split()[:3]',
        ],
        "['1', '1', 'S0']",
    ),
    "tract edit": ([*OF_A_PHANTOM, 'lines = out / "in/truth/tracts.trx"', 'tract_edit([lines], out / "few.trx", number=5).path.name'], "'few.trx'"),
    "tract bundles": (
        [
            *OF_A_PHANTOM,
            'lines = out / "in/truth/tracts.trx"',
            """rules = (out / "rules.toml").write_text('all = { include = ["in/mask.nii.gz"] }')""",
            'done = tract_bundles([lines], out / "bundles", bundles=out / "rules.toml")',
            '(done.path / "bundles.tsv").exists()',
        ],
        "True",
    ),
    "tract clean": ([*OF_A_PHANTOM, 'lines = out / "in/truth/tracts.trx"', 'tract_clean(lines, out / "clean.trx").path.name'], "'clean.trx'"),
    "tract map": ([*OF_A_PHANTOM, 'tract_map([out / "in/truth/tracts.trx"], out / "density.nii.gz").path.name'], "'density.nii.gz'"),
    "tract cluster": (
        [
            *OF_A_PHANTOM,
            'done = tract_cluster(out / "in/truth/tracts.trx", out / "clusters")',
            '(done.path / "clusters.tsv").exists()',
        ],
        "True",
    ),
    "tract sample": (
        [
            *OF_A_PHANTOM,
            'lines = out / "in/truth/tracts.trx"',
            'tract_sample(lines, out / "S0.txt", map=[out / "in/truth/S0.nii.gz"]).path.name',
        ],
        "'S0.txt'",
    ),
    "tract profile": (
        [
            *OF_A_PHANTOM,
            'lines = out / "in/truth/tracts.trx"',
            'done = tract_profile(lines, out / "profile", map=[out / "in/truth/S0.nii.gz"])',
            '(done.path / "profile.tsv").exists()',
        ],
        "True",
    ),
    "phantom head": ([*IN_A_FOLDER, 'made = phantom_head(out / "head", size="20,22,16", voxel=8, shells="1000:12")', '"dwi" in made.maps, made.maps["dwi"].shape'], "(True, (20, 22, 16, 18))"),
    "phantom crossing": ([*OF_A_PHANTOM, 'made.maps["dwi"].shape, made.maps["dwi"].gradients.frame'], "((8, 8, 4, 18), 'scanner')"),
    "phantom gre": ([*IN_A_FOLDER, 'made = phantom_gre(out / "in", size="12,12,10", voxel=8)', 'sorted(made.maps)[:3]'], "['magnitude', 'mask', 'phase']"),
}
# What a function says in its own way.
OF_CONSOLES = {"quiet", "verbose"}

PROGRAMS_HEAD = '''"""The commands that work on files. Made by generate.py from `fimbria describe`: not to be edited."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Literal

from ._program import Made, Said, made
from ._work import Progress
'''


def program_of(one: dict[str, Any]) -> str:
    """A function that calls the program with files."""
    name, written = PROGRAMS[one["name"]]
    options = [option for option in one["options"] if option["name"] not in OF_CONSOLES]
    by_name = {option["name"]: option for option in options}
    is_needed = lambda option: option["required"] or option["name"] == written  # noqa: E731
    first = [o for o in options if o["long"] is None and o["type"] in ("path", "choice")] + [by_name[written]]
    first = list({o["name"]: o for o in first}.values())
    rest = [o for o in options if o not in first]
    # What is read stands before what is written, None where it may be left out.
    arguments = [f"{o['name']}: {type_of(o)}" + ("" if is_needed(o) else " | None") for o in first]
    arguments.append("*")
    arguments += [f"{o['name']}: {type_of(o)}" for o in rest if is_needed(o)]
    arguments += [f"{o['name']}: {type_of(o)} | None = None" for o in rest if not is_needed(o)]
    arguments.append("progress: Progress = None")
    doc = []
    for o in first + rest:
        doc += [f"    {o['name']} : {kind_of(o)}", wrapped(help_of(o), 8)]
    doc += ["    progress : optional", wrapped(MACHINE_DOC["progress"], 8)]
    lines = ["", "", "", f"def {name}("]
    lines += [f"    {argument}," for argument in arguments]
    lines += [") -> Made:", f'    """{one["sentence"]}.', "", "    Parameters", "    ----------", *doc]
    lines += ["", "    Returns", "    -------", "    Made", wrapped("What was written: `maps`, `record`, `path`.", 8)]
    if one["references"]:
        lines += ["", "    References", "    ----------"]
        lines += [wrapped(r if isinstance(r, str) else r["citation"], 4) for r in one["references"]]
    example, result = PROGRAM_EXAMPLES[one["name"]]
    lines += ["", "    Examples", "    --------", *[f"    >>> {line}" for line in example], f"    {result}"]
    lines += ['    """', "    options = ["]
    for o in options:
        flag = f"--{o['long']}" if o["long"] else ""
        # Two lists of words are told apart by what stands between them.
        if o is not first[0] and o["long"] is None and o["values"][1] is first[0]["values"][1] is None:
            flag = "--"
        said = [repr(flag).replace("'", '"'), o["name"]]
        if o["delimiter"]:
            said.append(f'delimiter="{o["delimiter"]}"')
        elif o["repeatable"] and o["values"] == [1, 1] and o["long"]:
            said.append("is_repeated=True")
        elif o["values"] == [0, 1]:
            said.append("is_optional=True")
        lines.append(f"        Said({', '.join(said)}),")
    lines += ["    ]", f'    return made("{one["name"]}", {written}, options, progress)']
    return "\n".join(lines)


METHOD_OF = f'''

# DIPY's names of methods.
_METHODS = {json.dumps(METHODS_OF_DIPY)}


def method_of(name: str | None) -> str | None:
    """A method as fimbria names it."""
    if name is not None and not isinstance(name, str):
        raise TypeError("fit_method must be a string; a table is one argument, a pair (bvals, bvecs) too")
    return None if name is None else _METHODS.get(name.upper(), name.lower())
'''


def options_of(one: dict[str, Any]) -> list[dict[str, Any]]:
    """The options of a fit that are not those of all commands."""
    return [o for o in one["options"] if o["group"] not in OURS and o["name"] != "dwi" or o["name"] == "maps"]


def fit_module(made: list[dict[str, Any]], maps: str) -> str:
    """The module with `fit`: an overload for each model, with its options."""
    text = FIT_HEAD.replace("NAMES", ", ".join(f'"{names_of(one)[0]}"' for one in made)).replace("MAPS", maps.replace("\n", "\n    "))
    overloads = ""
    for one in made:
        name, title, result = names_of(one)
        options = title.replace("Model", "Options")
        text += f"\n    class {options}(TypedDict, total=False):\n"
        for o in options_of(one):
            if not o["required"]:
                text += f"        {o['name']}: {type_of(o)}\n"
        needed = "".join(f" {o['name']}: {type_of(o)}," for o in options_of(one) if o["required"])
        overloads += f"""
@overload
def fit(
    name: Literal["{name}"], data: Series, gtab: GradientTable | None = None, mask: Voxels | None = None, *,{needed}
    affine: npt.ArrayLike | None = None, threads: int = 0, device: str | None = None, progress: Progress = None,
    **options: Unpack[{options}],
) -> {result}: ...  # fmt: skip"""
    return f"{text}\n{overloads}{FIT_TAIL[1:]}"


def main() -> None:
    program, check = sys.argv[1], "--check" in sys.argv
    made = fits(program)
    titles = sorted(names_of(one)[1] for one in made)
    exported = "\n__all__ = [\n" + "".join(f'    "{title}",\n' for title in titles) + "]\n"
    folder = Path(__file__).parent / "fimbria"
    own = by_hand(folder)
    imported = ",\n    ".join(sorted(names_of(one)[2] for one in made if maps_class(one) == names_of(one)[2])) + ","
    text = HEAD.replace("MAPS", imported) + exported + METHOD_OF + "".join(class_of(one) for one in made) + "\n"
    maps = MAPS_HEAD + "".join(declared_maps(one, own.get(names_of(one)[2], set())) for one in made) + "\n"
    described_ = {one["name"]: one for one in described(program)}
    functions = [function_of(described_[command], method) for command, method in METHODS.items()]
    names = sorted([method.name for method in METHODS.values()] + GIVEN_BACK)
    exported = "\n__all__ = [\n" + "".join(f'    "{name}",\n' for name in names) + "]\n"
    programs = [program_of(described_[command]) for command in PROGRAMS]
    names = sorted([*(name for name, _ in PROGRAMS.values()), "Made"])
    of_files = "\n__all__ = [\n" + "".join(f'    "{name}",\n' for name in names) + "]\n"
    files = {folder / "programs.py": PROGRAMS_HEAD + of_files + "".join(programs) + "\n", folder / "models.py": text, folder / "_maps.py": maps, folder / "_fit.py": fit_module(made, imported), folder / "methods.py": METHODS_HEAD + exported + "".join(functions) + "\n"}
    for path, made_ in files.items():
        if not check:
            path.write_text(made_)
        elif path.read_text() != made_:
            sys.exit(f"{path} is stale: run `python {Path(__file__).name} {program}`")


if __name__ == "__main__":
    main()
