#!/usr/bin/env python3
"""Streamlines through MRtrix3's harmonics by one of DIPY's trackers, as tracking.py runs it.

    python3 benches/rivals/dipy_tracks.py probabilistic|ptt FOD MASK SEEDS COUNT OUT.tck

With DIPY's defaults, on one thread, from points drawn in the seed voxels until COUNT streamlines of 10 to
250 mm are there; it ends them outside MASK. DIPY tracks along voxel axes: the images are turned to those
of the scanner first, which they must be parallel to. Needs dipy and nibabel.
"""

import sys

import nibabel as nib
import numpy as np
from dipy.data import default_sphere
from dipy.io.stateful_tractogram import Space, StatefulTractogram
from dipy.io.streamline import save_tractogram
from dipy.tracking.stopping_criterion import BinaryStoppingCriterion
from dipy.tracking.tracker import probabilistic_tracking, ptt_tracking
from dipy.tracking.utils import random_seeds_from_mask

TRACKERS = {"probabilistic": probabilistic_tracking, "ptt": ptt_tracking}


def upright(path):
    image = nib.as_closest_canonical(nib.load(path))
    turn = image.affine[:3, :3]
    if np.abs(turn - np.diag(np.diag(turn))).max() > 1e-3 * np.abs(turn).max():
        sys.exit(f"{path}: voxels lie askew to the scanner's axes")
    return image


def main():
    kind, fod, mask, seeds, count, out = sys.argv[1:]
    count, sh = int(count), upright(fod)
    coefficients = sh.get_fdata(dtype=np.float32).astype(float)
    inside = BinaryStoppingCriterion(upright(mask).get_fdata() > 0)
    start = upright(seeds).get_fdata() > 0
    # A point more than is needed where half are kept.
    kept, seed = [], 1
    while len(kept) < count:
        points = random_seeds_from_mask(
            start, sh.affine, seeds_count=2 * (count - len(kept)) + 100, seed_count_per_voxel=False,
            random_seed=seed,
        )
        kept += TRACKERS[kind](
            points, inside, sh.affine, sh=coefficients, basis_type="tournier07", legacy=False,
            sphere=default_sphere, min_len=10, max_len=250, nbr_threads=1, random_seed=seed,
            return_all=False, voxel_size=np.array(sh.header.get_zooms()[:3], float),
        )
        seed += 1
    lines = StatefulTractogram(kept[:count], sh, Space.RASMM)
    save_tractogram(lines, out, bbox_valid_check=False)


if __name__ == "__main__":
    main()
