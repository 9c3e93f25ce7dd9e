#!/usr/bin/env python3
"""A moving head from raw BIDS to its connectome's page: minutes, processor time and memory, by `fimbria bids --raw`.

    python3 benches/raw_to_page.py target/release/fimbria [--voxel 2] [--shells 1000:60] [--threads 2] [--keep FOLDER]

`fimbria phantom head` makes the series (head motion, dropped slices, noise) and a T1w image with labels and tissues of the
head as it lay first, turned in the scanner by some degrees as an anatomical scan after a pause would be; all goes into a raw
data set, and one command into derivatives. A row for each preset. Needs numpy and nibabel; the table is Markdown.
"""

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import nibabel as nib
import numpy as np

PRESETS = ("maps", "fibres", "connectome")
# How the T1w image lies in the scanner: degrees about z, and mm.
TURN, SHIFT = 4.0, (3.0, -2.0, 5.0)


def head(fimbria: str, to: Path, voxel: float, shells: str) -> None:
    """The series and its truth."""
    command = [fimbria, "phantom", "head", "--voxel", str(voxel), "--b0s", "5", "--shells", shells, "--motion", "3",
               "--dropped-slices", "8", "-o", str(to), "--quiet"]
    subprocess.run(command, check=True)


def elsewhere(image: Path, to: Path) -> None:
    """An image as it is, whose header says that the head lay turned."""
    loaded = nib.load(image)
    c, s = np.cos(np.radians(TURN)), np.sin(np.radians(TURN))
    moved = np.array([[c, -s, 0, SHIFT[0]], [s, c, 0, SHIFT[1]], [0, 0, 1, SHIFT[2]], [0, 0, 0, 1]])
    nib.save(nib.Nifti1Image(np.asanyarray(loaded.dataobj), moved @ loaded.affine), to)


def raw(made: Path, to: Path) -> None:
    """A raw data set of one subject."""
    dwi, anat = to / "sub-01/dwi", to / "sub-01/anat"
    dwi.mkdir(parents=True)
    anat.mkdir()
    (to / "dataset_description.json").write_text(json.dumps({"Name": "head", "BIDSVersion": "1.9.0"}))
    for end in ("nii.gz", "bval", "bvec"):
        shutil.copy(made / f"dwi.{end}", dwi / f"sub-01_dwi.{end}")
    sidecar = {"PhaseEncodingDirection": "j", "TotalReadoutTime": 0.05}
    (dwi / "sub-01_dwi.json").write_text(json.dumps(sidecar))
    for name, end in (("t1w", "T1w"), ("labels", "desc-regions_dseg"), ("5tt", "seg-5tt_probseg")):
        elsewhere(made / f"{name}.nii.gz", anat / f"sub-01_{end}.nii.gz")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fimbria")
    parser.add_argument("--voxel", type=float, default=2.0)
    parser.add_argument("--shells", default="1000:60")
    parser.add_argument("--threads", default="2")
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    print("| preset | minutes | processor, minutes | memory, GB | page, MB |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / "made"
        head(given.fimbria, made, given.voxel, given.shells)
        folder = given.keep or Path(scratch)
        raw(made, folder / "raw")
        for preset in PRESETS:
            out = folder / preset
            command = [given.fimbria, "bids", str(folder / "raw"), str(out), "participant", "--raw", "--preset", preset,
                       "--threads", given.threads]
            started = time.monotonic()
            child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=(folder / f"{preset}.log").open("w"))
            _, status, used = os.wait4(child.pid, 0)
            if status:
                raise SystemExit((folder / f"{preset}.log").read_text())
            minutes = (time.monotonic() - started) / 60
            page = next(out.rglob("*.html")).stat().st_size / 1e6
            print(f"| {preset} | {minutes:.1f} | {(used.ru_utime + used.ru_stime) / 60:.1f} | {used.ru_maxrss / 1e6:.1f} "
                  f"| {page:.1f} |", flush=True)


if __name__ == "__main__":
    main()
