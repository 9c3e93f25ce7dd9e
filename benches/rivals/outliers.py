#!/usr/bin/env python3
"""Kurtosis of a series that lost samples: fimbria's methods beside DIPY's, error of MD and MK and processor time.

    python3 benches/rivals/outliers.py --fimbria target/release/fimbria DWI.nii.gz BVAL BVEC MASK

Needs nibabel, numpy and DIPY. Of the middle slices (--slices) a share of the samples with weighting (--lost), others
in each voxel, keeps a tenth of its signal, as in a dropped slice. Errors are mean relative differences, and their
median size, from the same program's plain fit of the whole series. Times are user CPU of a voxel: ours of the whole
command on one thread, DIPY's of the fit and its maps, of --voxels voxels.
"""

import resource
import sys
import tempfile
from pathlib import Path

import nibabel as nib
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from models import ours, parser, slices_of, table_of, user_seconds

MAPS = ["MD", "MK"]


def theirs(table, samples, method):
    from dipy.reconst.dki import DiffusionKurtosisModel

    before = user_seconds(resource.RUSAGE_SELF)
    fit = DiffusionKurtosisModel(table, fit_method=method).fit(samples)
    maps = {"MD": fit.md, "MK": fit.mk(min_kurtosis=-3 / 7, max_kurtosis=10)}
    return maps, (user_seconds(resource.RUSAGE_SELF) - before) / len(samples) * 1e6


def line(name, maps, whole, micro):
    words = []
    for each in MAPS:
        with np.errstate(all="ignore"):
            off = maps[each] / whole[each] - 1
        off = off[np.isfinite(off) & (np.abs(off) < 10)]
        words.append(f"{each} {100 * off.mean():+6.1f} % {100 * np.median(np.abs(off)):5.1f} %")
    print(f"{name:28s} {'   '.join(words)}   {micro:8.1f} µs", flush=True)


def main():
    words = parser(__doc__, 1000)
    words.add_argument("--lost", type=float, default=0.03)
    args = words.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tmp = Path(folder)
        data, bval, bvec, mask = slices_of(args, tmp)
        affine, inside = nib.load(tmp / "dwi.nii").affine, np.flatnonzero(mask)
        plain = ["--unconstrained", "--bmax", "9999"]
        fits = [(name, ["--method", name, *plain]) for name in ("wls", "nlls", "restore")]
        whole, _ = ours(args, tmp, "dki", fits[0][1], MAPS)
        random = np.random.default_rng(2)
        lost = (random.random(data.shape) < args.lost) & (bval > 50)
        nib.save(nib.Nifti1Image(np.where(lost, 0.1 * data, data).astype(np.float32), affine), tmp / "dwi.nii")
        print(f"{len(inside)} voxels of {len(bval)} volumes, {100 * args.lost:.0f} % of samples lost: mean and median error")
        for name, options in fits:
            maps, seconds = ours(args, tmp, "dki", options, MAPS)
            flat = lambda maps: {each: maps[each].reshape(-1)[inside] for each in MAPS}
            line(f"fimbria --method {name}", flat(maps), flat(whole), seconds / len(inside) * 1e6)

        table = table_of(bval, bvec)
        drawn = random.permutation(inside)[: args.voxels]
        samples = data.reshape(-1, len(bval))[drawn].astype(np.float64)
        spoilt = np.where(lost.reshape(-1, len(bval))[drawn], 0.1 * samples, samples)
        whole, _ = theirs(table, samples, "WLS")
        for method in ("WLS", "RWLS"):
            maps, micro = theirs(table, spoilt, method)
            line(f"DIPY {method}", maps, whole, micro)


if __name__ == "__main__":
    main()
