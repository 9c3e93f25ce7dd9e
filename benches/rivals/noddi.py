#!/usr/bin/env python3
"""NODDI: fimbria's `--compat amico` and its default beside AMICO, on voxels of known neurites and on a brain.

    python3 benches/rivals/noddi.py --fimbria target/release/fimbria [DWI.nii.gz BVAL BVEC MASK]

Needs nibabel, numpy and AMICO (dmri-amico), which is for research only; nothing of it is in fimbria. Known voxels
are made here from the definition of the model, without noise and with that of one coil at SNR 30; of a brain the
middle slices (--slices) are taken. Times are user CPU of a voxel: ours of the whole command on one thread, reading
and writing included; AMICO's of its fit alone, without the kernels that it makes once.
"""

import argparse
import contextlib
import functools
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import nibabel as nib
import numpy as np

MAPS = ["icvf", "od", "isovf"]


def user_seconds(who):
    return resource.getrusage(who).ru_utime


def even_directions(n):
    """Directions all over a half sphere, unit."""
    at = np.arange(n) + 0.5
    z, angle = 1 - at / n, np.pi * (1 + 5**0.5) * at
    return np.c_[np.sqrt(1 - z * z) * np.cos(angle), np.sqrt(1 - z * z) * np.sin(angle), z]


NODES, WEIGHTS = np.polynomial.legendre.leggauss(200)
ORDER = 24
POLYNOMIALS = np.polynomial.legendre.legvander(NODES, ORDER)[:, ::2]


@functools.cache
def moments(exponent):
    """Means of Legendre's even polynomials under exp(exponent t²) on [-1, 1]; the mean of that itself."""
    density = WEIGHTS * np.exp(exponent * (NODES**2 - (exponent > 0)))
    return density @ POLYNOMIALS / density.sum(), density.sum() / 2


def signals(b, g, density, dispersion, water, axis):
    """The model's signals without noise, b in ms/µm²: dispersed sticks, their zeppelin, water."""
    along, free = 1.7, 3.0
    spread, _ = moments(1 / np.tan(np.pi / 2 * dispersion))
    cosine = g @ axis
    sticks = np.empty_like(b)
    for one in np.unique(b):
        decay, size = moments(-one * along)
        terms = np.zeros(ORDER + 1)
        terms[::2] = (2 * np.arange(0, ORDER + 1, 2) + 1) * spread * decay * size
        sticks[b == one] = np.polynomial.legendre.legval(cosine[b == one], terms)
    square = (1 + 2 * spread[1]) / 3
    across = along * (1 - density)
    on, off = across + (along - across) * square, across + (along - across) * (1 - square) / 2
    zeppelin = np.exp(-b * (off + (on - off) * cosine**2))
    return (1 - water) * (density * sticks + (1 - density) * zeppelin) + water * np.exp(-b * free)


def known_voxels(snr):
    """A series of known voxels with its table, and their density, dispersion and water, [voxel, map]."""
    b = np.concatenate([np.zeros(8), np.full(24, 1.0), np.full(32, 2.0), np.full(32, 3.0)])
    g = np.concatenate([np.zeros((8, 3)), *(even_directions(n) for n in (24, 32, 32))])
    grid = np.meshgrid(np.linspace(0.12, 0.9, 9), [0.04, 0.08, 0.13, 0.2, 0.3, 0.45, 0.65, 0.8], [0.0, 0.07, 0.2, 0.45])
    truth = np.stack([each.ravel() for each in grid], axis=-1)
    axes = even_directions(len(truth))
    clean = np.array([signals(b, g, *values, axis) for values, axis in zip(truth, axes)])
    if snr is None:
        return b, g, 1000 * clean, truth
    random = np.random.default_rng(1)
    real, imaginary = (random.normal(0, 1 / snr, (8, *clean.shape)) for _ in range(2))
    noisy = np.hypot(clean + real, imaginary).reshape(-1, len(b))
    return b, g, 1000 * noisy, np.tile(truth, (8, 1))


def brain_voxels(args):
    """The same of a file's middle slices, without truth; directions in voxel axes."""
    image, mask = nib.load(args.series[0]), np.asarray(nib.load(args.series[3]).dataobj) > 0
    mask = mask.reshape(image.shape[:3])
    first = max(0, image.shape[2] // 2 - args.slices // 2)
    some = slice(first, first + args.slices)
    samples = np.asarray(image.dataobj)[:, :, some][mask[:, :, some]].astype(np.float64)
    b, g = np.loadtxt(args.series[1]), np.loadtxt(args.series[2])
    return np.where(b < 50, 0, b / 1000), g.T if g.shape[0] == 3 else g, samples, None


def written(folder, b, g, samples):
    """The files of a series of one row of voxels, x in the direction that needs no flip."""
    affine = np.diag([-2.0, 2.0, 2.0, 1.0])
    rows = samples.reshape(-1, 1, 1, len(b)).astype(np.float32)
    nib.save(nib.Nifti1Image(rows, affine), folder / "dwi.nii")
    nib.save(nib.Nifti1Image(np.ones(rows.shape[:3], np.uint8), affine), folder / "mask.nii")
    np.savetxt(folder / "dwi.bval", 1000 * b[None], fmt="%.1f")
    np.savetxt(folder / "dwi.bvec", g.T, fmt="%.8f")


def ours(args, folder, *options):
    """Maps [voxel, map] of a command, its directions, its processor time of a voxel in µs."""
    out = folder / "out"
    command = [args.fimbria, "fit", "noddi", folder / "dwi.nii", "--mask", folder / "mask.nii", "-o", out, "--force"]
    command += ["-q", "--threads", "1", "--device", "cpu", "--format", "nii", *options]
    before = user_seconds(resource.RUSAGE_CHILDREN)
    run = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(run.stderr)
    seconds = user_seconds(resource.RUSAGE_CHILDREN) - before
    load = lambda name: np.asarray(nib.load(out / f"{name}.nii").dataobj, np.float64)
    maps = np.stack([load(name).ravel() for name in MAPS], axis=-1)
    return maps, load("direction").reshape(-1, 3) * [-1, 1, 1], 1e6 * seconds / len(maps)


def theirs(folder):
    """The same of AMICO."""
    import amico

    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        scheme = str(folder / "dwi.scheme")
        amico.util.fsl2scheme(str(folder / "dwi.bval"), str(folder / "dwi.bvec"), scheme)
        amico.setup()
        run = amico.Evaluation(str(folder), ".", output_path=str(folder / "AMICO"))
        run.set_config("nthreads", 1)
        run.load_data("dwi.nii", "dwi.scheme", mask_filename="mask.nii", b0_thr=10)
        run.set_model("NODDI")
        run.generate_kernels(regenerate=True)
        run.load_kernels()
        before = user_seconds(resource.RUSAGE_SELF)
        run.fit()
        seconds = user_seconds(resource.RUSAGE_SELF) - before
        run.save_results()
    load = lambda name: np.asarray(nib.load(next((folder / "AMICO").rglob(f"*{name}.nii.gz"))).dataobj, np.float64)
    maps = np.stack([load(name).ravel() for name in ("NDI", "ODI", "FWF")], axis=-1)
    return maps, load("dir").reshape(-1, 3), 1e6 * seconds / len(maps)


def line(name, differences, micro=""):
    """A row: mean and root mean square of differences in each map."""
    cells = [f"{np.nanmean(d):+.4f} {np.sqrt(np.nanmean(d * d)):.4f}" for d in differences.T]
    print(f"{name:34s} {'   '.join(cells)}   {micro}")


def compared(args, title, b, g, samples, truth):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        written(folder, b, g, samples)
        fits = {
            "AMICO": theirs(folder),
            "--compat amico": ours(args, folder, "--compat", "amico"),
            "default": ours(args, folder),
        }
    print(f"\n{title}: {len(samples)} voxels; mean and rms difference in icvf, od, isovf; µs a voxel")
    for name, (maps, _, micro) in fits.items():
        if truth is not None:
            line(f"{name} - truth", maps - truth, f"{micro:.0f}")
        elif name != "AMICO":
            print(f"{name}: {micro:.1f} µs, AMICO: {fits['AMICO'][2]:.0f}")
    maps, directions, _ = fits["AMICO"]
    # Where there is tissue to tell of.
    tissue = maps[:, 2] < 0.9
    for name in ("--compat amico", "default"):
        off = fits[name][0] - maps
        line(f"{name} - AMICO", off[tissue])
        worst = np.nanquantile(np.abs(off[tissue]), [0.5, 0.95], axis=0)
        print(f"{'':34s} median {worst[0].round(4)}, 95 % within {worst[1].round(4)}")
    cosine = np.abs((fits["--compat amico"][1] * directions).sum(axis=1))[tissue]
    angles = np.degrees(np.arccos(np.minimum(cosine, 1)))
    print(f"direction, --compat amico to AMICO: median {np.median(angles):.2f}°, 95 % within {np.quantile(angles, 0.95):.2f}°")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("series", nargs="*", help="DWI BVAL BVEC MASK of a brain")
    parser.add_argument("--fimbria", default="target/release/fimbria")
    parser.add_argument("--slices", type=int, default=5)
    args = parser.parse_args()
    compared(args, "known, no noise", *known_voxels(None))
    compared(args, "known, SNR 30", *known_voxels(30))
    if args.series:
        compared(args, "brain", *brain_voxels(args))


if __name__ == "__main__":
    main()
