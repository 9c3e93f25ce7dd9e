#!/usr/bin/env python3
"""Streamlines through MRtrix3's harmonics by one of DIPY's trackers, as tracking.py runs it.

    python3 benches/rivals/dipy_tracks.py probabilistic|ptt FOD MASK SEEDS COUNT OUT.tck

With DIPY's defaults, on one thread, from points drawn in the seed voxels until COUNT streamlines of 10 to
250 mm are there; it ends them outside MASK. Those that end of themselves before are kept too, as is DIPY's
default (return_all); few come to the edge of MASK with both ends. DIPY tracks along voxel axes: the harmonics
are turned to these first, by values at many directions, which determine them to rounding, and the streamlines
back. Needs dipy and nibabel.
"""

import sys

import nibabel as nib
import numpy as np
from dipy.data import default_sphere
from dipy.io.stateful_tractogram import Space, StatefulTractogram
from dipy.io.streamline import save_tractogram
from dipy.reconst.shm import real_sh_tournier
from dipy.tracking.stopping_criterion import BinaryStoppingCriterion
from dipy.tracking.tracker import probabilistic_tracking, ptt_tracking
from dipy.tracking.utils import random_seeds_from_mask

TRACKERS = {"probabilistic": probabilistic_tracking, "ptt": ptt_tracking}


def canonical(path):
    return nib.as_closest_canonical(nib.load(path))


def turned(coefficients, turn):
    """Harmonics of the function whose value at d is theirs at turn @ d."""
    order = int((np.sqrt(8 * coefficients.shape[-1] + 1) - 3) / 2)
    dirs = default_sphere.vertices

    def basis(to):
        theta, phi = np.arccos(np.clip(to[:, 2], -1, 1)), np.arctan2(to[:, 1], to[:, 0])
        return real_sh_tournier(order, theta, phi, legacy=False)[0]

    return coefficients @ (np.linalg.pinv(basis(dirs)) @ basis(dirs @ turn.T)).T


def main():
    kind, fod, mask, seeds, count, out = sys.argv[1:]
    count, sh = int(count), canonical(fod)
    edges = np.array(sh.header.get_zooms()[:3], float)
    turn, along = sh.affine[:3, :3] / edges, np.diag([*edges, 1.0])
    coefficients = turned(sh.get_fdata(dtype=np.float32).astype(float), turn)
    inside = BinaryStoppingCriterion(canonical(mask).get_fdata() > 0)
    start = canonical(seeds).get_fdata() > 0
    # A few points more than are needed, as most streamlines are kept.
    kept, seed = [], 1
    while len(kept) < count:
        points = random_seeds_from_mask(
            start, along, seeds_count=(count - len(kept)) * 11 // 10 + 10, seed_count_per_voxel=False,
            random_seed=seed,
        )
        kept += TRACKERS[kind](
            points, inside, along, sh=coefficients, basis_type="tournier07", legacy=False,
            sphere=default_sphere, min_len=10, max_len=250, nbr_threads=1, random_seed=seed,
            voxel_size=edges,
        )
        seed += 1
    kept = [line @ turn.T + sh.affine[:3, 3] for line in kept[:count]]
    lines = StatefulTractogram(kept, sh, Space.RASMM)
    save_tractogram(lines, out, bbox_valid_check=False)


if __name__ == "__main__":
    main()
