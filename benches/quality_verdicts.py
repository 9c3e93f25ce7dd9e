#!/usr/bin/env python3
"""Makes good series fail, one fault at a time, and notes the verdicts of `fimbria run`.

    python3 benches/quality_verdicts.py target/release/fimbria SERIES... [--thin SERIES...]

SERIES are images with .bval and .bvec beside them and, where there is one, mask.nii.gz in their folder; those
after --thin are only looked at as they are. Needs numpy, nibabel and scipy. The table is Markdown: a row for each
fault, of every verdict how it is (. good, ! doubtful, X bad, ? cannot be told).
"""

import argparse
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

import nibabel as nib
import numpy as np
from scipy.ndimage import affine_transform

SIGNS = {"good": ".", "doubtful": "!", "bad": "X", "unknown": "?"}


def sigma_of(data: np.ndarray, b: np.ndarray, mask: np.ndarray) -> float:
    """The noise of repeated unweighted volumes."""
    return float(np.median(data[mask][:, b <= 50].std(1, ddof=1)))


def noisier(data: np.ndarray, sigma: float, times: float, random: np.random.Generator) -> np.ndarray:
    """Magnitudes with so many times their noise."""
    more = sigma * np.sqrt(times**2 - 1)
    real, imaginary = (random.normal(0, more, data.shape).astype(np.float32) for _ in range(2))
    return np.hypot(data + real, imaginary)


def turned(volume: np.ndarray, degrees: float) -> np.ndarray:
    """Turned in the first two axes about the middle."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    middle = (np.array(volume.shape) - 1) / 2
    return affine_transform(volume, turn, middle - turn @ middle, order=1)


def faults(data, b, g, mask):
    """Name, data, b-values and directions of each fault."""
    random = np.random.default_rng(1)
    weighted = np.flatnonzero(b > 50)
    volume = int(weighted[len(weighted) // 3])
    sigma = sigma_of(data, b, mask)
    widest = int(np.argmax(mask.sum((0, 1))))

    def with_volume(made):
        changed = data.copy()
        changed[..., volume] = made
        return changed

    yield "none", data, b, g
    flipped = g.copy()
    flipped[0] *= -1
    yield "x of the directions flipped", data, b, flipped
    yield "x and y of the directions swapped", data, b, g[[1, 0, 2]]
    order = np.arange(len(b))
    for shell in np.unique(np.round(b[weighted], -2)):
        members = np.flatnonzero(np.round(b, -2) == shell)
        order[members] = random.permutation(members)
    yield "directions of other volumes", data, b, g[:, order]
    dropped = data.copy()
    dropped[:, :, widest, volume] *= 0.4
    yield "a dropped slice", dropped, b, g
    yield "a volume moved by a voxel", with_volume(np.roll(data[..., volume], 1, 0)), b, g
    yield "a volume turned by 4 degrees", with_volume(turned(data[..., volume], 4)), b, g
    yield "noise doubled", noisier(data, sigma, 2, random), b, g
    yield "noise times 5", noisier(data, sigma, 5, random), b, g
    yield "a volume of noise", with_volume(np.hypot(*random.normal(0, 4 * sigma, (2, *mask.shape)))), b, g
    yield "noise of a volume times 3", with_volume(noisier(data[..., volume], sigma, 3, random)), b, g
    yield "b in ms/µm², b0 threshold 0.05", data, b / 1000, g
    yield "b times 10", data, b * 10, g
    yield "b of other volumes", data, b[random.permutation(len(b))], g
    holes = data.copy()
    places = np.flatnonzero(mask)[::30]
    holes.reshape(-1, data.shape[3])[places] = 0
    yield "3 % of the voxels empty", holes, b, g


def verdicts(program: str, folder: Path, affine, data, b, g, mask) -> dict[str, str]:
    nib.save(nib.Nifti1Image(data.astype(np.float32), affine), folder / "dwi.nii")
    nib.save(nib.Nifti1Image(mask.astype(np.uint8), affine), folder / "mask.nii")
    np.savetxt(folder / "dwi.bval", b[None], fmt="%g")
    np.savetxt(folder / "dwi.bvec", g)
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    command = [program, "run", "dwi.nii", "--mask", "mask.nii", "--set", 'run.fits=["dti"]', "-o", "out", "-q"]
    command += ["--b0-threshold", "0.05"] if b.max() < 50 else []
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if ran.returncode:
        return {"error": ran.stderr.strip().splitlines()[0]}
    found = json.loads((out / "quality" / "quality.json").read_text())["verdicts"]
    return {verdict["name"]: SIGNS[verdict["level"]] for verdict in found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("series", nargs="+", type=Path)
    parser.add_argument("--thin", nargs="*", default=[], type=Path)
    options = parser.parse_args()
    program = str(options.program.resolve())
    heads: list[str] = []
    for series in [*options.series, *options.thin]:
        image = nib.load(series)
        data = np.asarray(image.dataobj, dtype=np.float32)
        stem = series.parent / series.name.split(".")[0]
        b, g = np.loadtxt(f"{stem}.bval").ravel(), np.loadtxt(f"{stem}.bvec")
        g = g if g.shape[0] == 3 else g.T
        at = series.parent / "mask.nii.gz"
        mask = np.asarray(nib.load(at).dataobj) > 0 if at.exists() else data[..., 0] > 0.1 * data[..., 0].max()
        mask = mask.reshape(data.shape[:3])
        all_faults = faults(data, b, g, mask)
        for name, *made in all_faults if series not in options.thin else [("none", data, b, g)]:
            with tempfile.TemporaryDirectory() as folder:
                found = verdicts(program, Path(folder), image.affine, *made, mask)
            if not heads and "error" not in found:
                heads = list(found)
                print("| series | fault |", " | ".join(heads), "|")
                print("|---|---|" + ":-:|" * len(heads))
            cells = [found.get(head, "") for head in heads] if "error" not in found else [found["error"]]
            print(f"| {series.parent.name} | {name} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
