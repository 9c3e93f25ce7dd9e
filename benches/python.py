"""fimbria from Python beside DIPY on one series: times of the fits, and how far their maps are apart.

    python benches/python.py DWI [MASK] [--dipy-voxels 2000]

Wall and CPU time of each call; DIPY on some of the voxels only, scaled up. Run on idle cores.
"""

import argparse
import time
import tracemalloc

import numpy as np

import fimbria


def timed(work):
    wall, cpu = time.perf_counter(), time.process_time()
    made = work()
    return made, time.perf_counter() - wall, time.process_time() - cpu


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dwi")
    parser.add_argument("mask", nargs="?")
    parser.add_argument("--dipy-voxels", type=int, default=2000)
    arguments = parser.parse_args()
    image = fimbria.load(arguments.dwi)
    data = image.read()
    inside = data[..., 0] > 0
    if arguments.mask:
        inside = fimbria.load(arguments.mask).read() > 0
    table = image.gradients
    voxels = int(inside.sum())
    some = np.zeros_like(inside)
    rng = np.random.default_rng(0)
    some.flat[rng.choice(np.flatnonzero(inside), min(arguments.dipy_voxels, voxels), replace=False)] = True

    from dipy.core.gradients import gradient_table
    from dipy.reconst.dki import DiffusionKurtosisModel
    from dipy.reconst.dti import TensorModel
    from dipy.reconst.msdki import MeanDiffusionKurtosisModel

    theirs = gradient_table(table.bvals, bvecs=table.bvecs)
    jobs = [
        ("TensorModel WLS", lambda t: fimbria.TensorModel(t, "WLS", compat="dipy"),
         lambda t: TensorModel(t, fit_method="WLS"), lambda f: f.fa),
        ("KurtosisModel WLS", lambda t: fimbria.KurtosisModel(t, "WLS", compat="dipy"),
         lambda t: DiffusionKurtosisModel(t, fit_method="WLS"), lambda f: f.mk(0, 3)),
        ("mean signal kurtosis", fimbria.MeanSignalKurtosisModel,
         MeanDiffusionKurtosisModel, lambda f: getattr(f, "msk", None)),
    ]  # fmt: skip
    print(f"{data.shape}, {voxels} voxels\n")
    print("| model | fimbria s | CPU s | DIPY s (of all voxels) | times | median difference |")
    print("|---|---|---|---|---|---|")
    for name, ours, dipy, value in jobs:
        ours(table).fit(data, mask=some)
        fit, wall, cpu = timed(lambda: ours(table).fit(data, mask=inside))
        other, slow, _ = timed(lambda: value(dipy(theirs).fit(data, mask=some))[some])
        slow *= voxels / some.sum()
        apart = np.nanmedian(np.abs(value(fit)[some] - other))
        print(f"| {name} | {wall:.2f} | {cpu:.2f} | {slow:.0f} | {slow / wall:.0f} | {apart:.1e} |")
    tracemalloc.start()
    fimbria.TensorModel(table).fit(data, mask=inside)
    print(f"\nPython's own memory meanwhile: {tracemalloc.get_traced_memory()[1] / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
