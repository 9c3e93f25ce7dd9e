#!/usr/bin/env python3
"""What a phantom head measures, for the tables of docs/phantom-head.md: volumes, surfaces, lengths, diffusion,
susceptibility. It ends with 1 where one of them is out of its range.

head_norms.py HEAD            HEAD is what `fimbria phantom head --voxel 2 --snr inf` writes; susceptibility
                              where it was made with --gre, surfaces in voxels of 1 mm and less alone
head_norms.py --bundles ZIP   lengths of the bundles of five people in DIPY's package (minimal_bundles.zip)

Surfaces are counted by the rule of Cauchy and Crofton on labels: every face between two voxels along an
axis stands for the same piece of a surface, whatever its direction, and there are 1.5 of them for each.
"""

import argparse
import io
import sys
import zipfile
from pathlib import Path

import nibabel
import numpy

from head_pictures import load_trx


# What is measured, and its range in adults (docs/phantom-head.md says whose). Volumes in ml.
RANGES = {
    "Cerebral-Cortex": (400, 620),
    "Cerebral-White-Matter": (380, 600),
    "Lateral-Ventricle": (7, 40),
    "Thalamus": (10, 17),
    "Caudate": (5.5, 9.5),
    "Putamen": (7.5, 12.5),
    "Pallidum": (2, 5),
    "Hippocampus": (4.5, 9.5),
    "Brain-Stem": (18, 30),
    "surface of cortex, cm²": (1600, 2300),
    "surface over volume, 1/cm": (3.1, 4.3),
    "white FA": (0.29, 0.87),
    "white MD": (0.62, 0.90),
    "white MK": (0.9, 1.38),
    "nuclei MK": (0.6, 1.1),
    "cortex FA": (0.08, 0.20),
    "cortex MD": (0.75, 1.0),
    "cortex MK": (0.55, 0.9),
    "arcuate_left, mm": (109, 124),
    "corticospinal_right, mm": (123, 141),
    "forceps_major, mm": (148, 165),
}


def image(path: Path) -> numpy.ndarray:
    return nibabel.load(path).get_fdata(dtype=numpy.float32)


def spread(values: numpy.ndarray, low: int = 5, high: int = 95) -> str:
    a, b, c = numpy.percentile(values, [50, low, high])
    return f"{a:.2f} ({b:.2f} to {c:.2f})"


def surface_cm2(inside: numpy.ndarray, voxel_mm: numpy.ndarray) -> float:
    area = 0.0
    for axis in range(3):
        faces = numpy.count_nonzero(numpy.diff(inside, axis=axis))
        area += faces * numpy.prod(voxel_mm) / voxel_mm[axis]
    return area * 2.0 / 3.0 / 100.0


def lengths(lines: list[numpy.ndarray]) -> numpy.ndarray:
    return numpy.array([numpy.linalg.norm(numpy.diff(line, axis=0), axis=1).sum() for line in lines])


def head(folder: Path) -> int:
    """Prints all and returns how many are out of range."""
    labels = nibabel.load(folder / "labels.nii.gz")
    numbers = numpy.asarray(labels.dataobj)
    voxel = numpy.array(labels.header.get_zooms()[:3], float)
    ml = numpy.prod(voxel) * 1e-3
    names: dict[str, list[int]] = {}
    for line in (folder / "labels.txt").read_text().splitlines():
        number, name, *_ = line.split()
        # All gyri together are cortex.
        name = "Cerebral-Cortex" if name.startswith("ctx-") else name
        names.setdefault(name.removeprefix("Left-").removeprefix("Right-"), []).append(int(number))
    print("ml:")
    volumes = {name: numpy.isin(numbers, of).sum() * ml for name, of in names.items()}
    for name, volume in volumes.items():
        print(f"  {name:32}{volume:8.1f}")
    found = dict(volumes)

    five, fa, md, mk = (image(folder / f"{n}.nii.gz") for n in ("5tt", "truth/FA", "truth/MD", "truth/MK"))
    print("median (5 to 95 %) where a tissue is more than 0.95 of a voxel:")
    for k, name in enumerate(["cortex", "nuclei", "white", "fluid"]):
        pure = five[..., k] > 0.95
        print(f"  {name:8} FA {spread(fa[pure])}  MD {spread(1e3 * md[pure])} µm²/ms  MK {spread(mk[pure])}")
        for of, values in (("FA", fa), ("MD", 1e3 * md), ("MK", mk)):
            found[f"{name} {of}"] = numpy.median(values[pure])

    cortex, white = (numpy.isin(numbers, names[n]) for n in ("Cerebral-Cortex", "Cerebral-White-Matter"))
    inner = numpy.isin(numbers, [n for name, of in names.items() for n in of if is_within(name)]) | white
    pial, inner_area = surface_cm2(inner | cortex, voxel), surface_cm2(inner, voxel)
    middle = 0.5 * (pial + inner_area)
    print(f"surface of cortex: outer {pial:.0f}, inner {inner_area:.0f}, their mean {middle:.0f} cm²")
    print(f"thickness, volume over that mean: {10 * volumes['Cerebral-Cortex'] / middle:.2f} mm")
    print(f"surface over volume: {middle / volumes['Cerebral-Cortex']:.2f} /cm")
    if voxel.max() <= 1.0:
        found["surface of cortex, cm²"] = middle
        found["surface over volume, 1/cm"] = middle / volumes["Cerebral-Cortex"]

    print("lengths of bundles, mm, median (5 to 95 %):")
    sides: dict[str, list[numpy.ndarray]] = {}
    for name, lines in load_trx(folder / "truth/tracts.trx").items():
        sides.setdefault(name.removesuffix("_left").removesuffix("_right"), []).extend(lines)
        found[f"{name}, mm"] = numpy.median(lengths(lines))
    for name, lines in sorted(sides.items()):
        print(f"  {name:24}{len(lines):6}  {spread(lengths(lines))}")

    if (folder / "gre").exists():
        chi, inside = image(folder / "gre/truth/chi.nii.gz"), image(folder / "gre/mask.nii.gz") > 0
        of_scan = image(folder / "gre/truth/labels.nii.gz")
        print("mean susceptibility, ppm:")
        for name, of in names.items():
            of_part = inside & numpy.isin(of_scan, of)
            if of_part.any():
                print(f"  {name:32}{chi[of_part].mean():8.3f}")

    print("in their ranges:")
    out = 0
    for name, (low, high) in RANGES.items():
        if name in found:
            is_out = not low <= found[name] <= high
            out += is_out
            print(f"  {name:32}{found[name]:8.2f}  {low:g} to {high:g}{'  OUT OF RANGE' if is_out else ''}")
    return out


def is_within(name: str) -> bool:
    """Whether a label lies inside the cortex of the cerebrum."""
    return name in {
        "Lateral-Ventricle", "3rd-Ventricle", "Thalamus", "Caudate", "Putamen", "Pallidum", "Hippocampus",
        "Amygdala", "Accumbens-area", "Corpus-Callosum", "Fornix", "Subthalamic-Nucleus",
    }


def bundles(path: Path) -> None:
    found: dict[str, list[float]] = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.endswith(".trk"):
                lines = nibabel.streamlines.load(io.BytesIO(archive.read(name))).streamlines
                found.setdefault(Path(name).stem, []).append(float(numpy.median(lengths(list(lines)))))
    for name, medians in found.items():
        print(f"{name:16} medians of {len(medians)} people, mm: {', '.join(f'{m:.0f}' for m in sorted(medians))}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--bundles", action="store_true")
    given = parser.parse_args()
    if given.bundles:
        bundles(given.path)
        return 0
    return int(head(given.path) > 0)


if __name__ == "__main__":
    sys.exit(main())
