#!/usr/bin/env python3
"""Turns gradient tables in all 24 ways and asks `fimbria info --check-gradients` of each.

    python3 benches/gradient_check.py target/release/fimbria SERIES... [--mask MASK]

SERIES are images with .bval and .bvec beside them (rows x y z, FSL's axes) and, where there is one, a mask
called mask.nii.gz in their folder. A table is found right if it is as given, and wrong by a change that
gives it back, done to the file. Needs numpy.
"""

import argparse
import itertools
import re
import subprocess
import tempfile
from pathlib import Path

import numpy as np

ORDERS = {
    "": (0, 1, 2),
    "x and y swapped": (1, 0, 2),
    "x and z swapped": (2, 1, 0),
    "y and z swapped": (0, 2, 1),
    "x y z replaced by y z x": (1, 2, 0),
    "x y z replaced by z x y": (2, 0, 1),
}


def changed(table: np.ndarray, order: tuple[int, ...], flipped: int | None) -> np.ndarray:
    """Rows of a table in another order, one of them flipped."""
    made = table[list(order)].copy()
    if flipped is not None:
        made[flipped] *= -1
    return made


def asked_for(text: str) -> tuple[tuple[int, ...], int | None]:
    """The change that the program says: "x and y swapped, z flipped"."""
    flipped = re.search(r"([xyz]) flipped", text)
    swapped = re.sub(r",? ?[xyz] flipped", "", text).strip()
    return ORDERS[swapped], "xyz".index(flipped[1]) if flipped else None


def verdict(program: str, series: Path, table: np.ndarray, right: np.ndarray) -> str:
    with tempfile.TemporaryDirectory() as folder:
        bvec = Path(folder) / "dwi.bvec"
        np.savetxt(bvec, table)
        mask = series.parent / "mask.nii.gz"
        command = [program, "info", "--check-gradients", str(series), "--bvec", str(bvec)]
        command += ["--bval", str(series.parent / (series.name.split(".")[0] + ".bval"))]
        command += ["--mask", str(mask)] if mask.exists() else []
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = said.split("checked", 1)[1].strip()
    if "do not tell" in found or "to tell whether" in found:
        return "unclear"
    change = re.search(r".* mm with (.*) \(in the bvecs", found)
    made = changed(table, *asked_for(change[1])) if change else table
    is_right = min(np.abs(made - right).max(), np.abs(made + right).max()) < 1e-6
    return ("given" if not change else "mended") if is_right else "missed"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("series", nargs="+", type=Path)
    options = parser.parse_args()
    print("series\tas given\tfound and mended\tunclear\tmissed")
    for series in options.series:
        right = np.loadtxt(series.parent / (series.name.split(".")[0] + ".bvec"))
        counts = {"given": 0, "mended": 0, "unclear": 0, "missed": 0}
        for order, flipped in itertools.product(ORDERS.values(), [None, 0, 1, 2]):
            table = changed(right, order, flipped)
            counts[verdict(options.program, series, table, right)] += 1
        print("\t".join([series.parent.name, *(str(n) for n in counts.values())]), flush=True)


if __name__ == "__main__":
    main()
