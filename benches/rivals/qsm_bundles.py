#!/usr/bin/env python3
"""Where does diffusion guidance help a susceptibility map? Bundles of known susceptibility.

    python3 benches/rivals/qsm_bundles.py --fimbria target/release/fimbria

Needs numpy and nibabel. Makes volumes of 40^3 voxels with a bundle of fibres and a spherical nucleus,
their field by routes that share nothing with fimbria's kernels, and maps them by every method:

    straight   an infinite bundle, its field by the closed form of an infinite cylinder
    bending    half a torus, its field by dipoles on a grid three times finer, zero-padded FFT
    crossing   two bundles, likewise
    ending     a bundle that ends within the volume, likewise
    none       no bundle: two nuclei only

Fibre axes are known exactly, or are turned by an angle at random (wrong V1). Prints NRMSE, XSIM and
correlation over the mask; also of conjugate gradients without guidance (all voxels spheres). Nothing
is anisotropic here: what tensors do shows in qsm_head.py.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import nibabel as nib
import numpy as np

SIDE, FINE = 40, 3
CHI_BUNDLE, CHI_NUCLEUS, RADIUS = -0.06, 0.12, 4.0
METHODS = ["dqsm", "spheres", "tensor", "tkd", "tikhonov", "tv", "rts"]


def coordinates(fine):
    """Voxel centres in coarse voxels from the volume's centre, on a grid `fine` times finer."""
    n = SIDE * fine
    x = (np.arange(n) + 0.5) / fine - 0.5 - (SIDE - 1) / 2
    return np.meshgrid(x, x, x, indexing="ij")


def tube(axis, through, ends=None):
    """Inside and axis of a straight bundle along `axis` through a point."""
    axis = np.array(axis) / np.linalg.norm(axis)

    def inside(x, y, z):
        p = np.stack([x - through[0], y - through[1], z - through[2]])
        along = np.tensordot(axis, p, 1)
        across = np.sqrt(np.maximum((p**2).sum(0) - along**2, 0))
        within = across < RADIUS
        return within if ends is None else within & (np.abs(along) < ends)

    return inside, lambda x, y, z: np.broadcast_to(axis[:, None, None, None], (3, *x.shape))


def torus(radius):
    """Half a ring in the plane of B0, with its tangent."""

    def inside(x, y, z):
        return ((np.hypot(x, z + 8) - radius) ** 2 + y**2 < RADIUS**2) & (z > -8)

    def tangent(x, y, z):
        r = np.maximum(np.hypot(x, z + 8), 1e-9)
        return np.stack([-(z + 8) / r, 0 * x, x / r])

    return inside, tangent


SCENES = {
    "straight": [tube([1, 0.4, 0.5], [0, -4, -5])],
    "bending": [torus(11.0)],
    "crossing": [tube([1, 0, 0.6], [0, -5, 0]), tube([0.2, 1, 0], [-6, 0, 0])],
    "ending": [tube([1, 0.4, 0.5], [0, -4, -5], ends=8.0)],
    "none": [],
}
NUCLEI = [([7, 8, 6], 3.5), ([-8, 9, -8], 3.0)]


def ball(centre, radius):
    return lambda x, y, z: (x - centre[0]) ** 2 + (y - centre[1]) ** 2 + (z - centre[2]) ** 2 < radius**2


def chi_of(scene, fine, with_bundles=True):
    x, y, z = coordinates(fine)
    chi = np.zeros(x.shape)
    if with_bundles:
        for inside, _ in SCENES[scene]:
            chi[inside(x, y, z)] = CHI_BUNDLE
    for centre, radius in NUCLEI:
        chi[ball(centre, radius)(x, y, z)] = CHI_NUCLEUS
    return chi


def blocks(volume, fine):
    return volume.reshape(SIDE, fine, SIDE, fine, SIDE, fine).mean((1, 3, 5))


def dipole_field(chi):
    """The field of every voxel a dipole, B0 along z, by a transform padded to twice the size."""
    n = chi.shape[0]
    k = np.fft.fftfreq(2 * n)
    kx, ky, kz = np.meshgrid(k, k, np.fft.rfftfreq(2 * n), indexing="ij")
    squared = kx**2 + ky**2 + kz**2
    squared[0, 0, 0] = 1
    kernel = 1 / 3 - kz**2 / squared
    kernel[0, 0, 0] = 0
    spectrum = np.fft.rfftn(chi, (2 * n,) * 3, (0, 1, 2))
    return np.fft.irfftn(kernel * spectrum, (2 * n,) * 3, (0, 1, 2))[:n, :n, :n]


def cylinder_field(axis, through):
    """The closed form of an infinite cylinder, at the centres of coarse voxels."""
    axis = np.array(axis) / np.linalg.norm(axis)
    b = np.array([0, 0, 1.0])
    across = b - (b @ axis) * axis
    sin2, cos2 = across @ across, (b @ axis) ** 2
    x, y, z = coordinates(1)
    p = np.stack([x - through[0], y - through[1], z - through[2]])
    along = np.tensordot(axis, p, 1)
    r2 = (p**2).sum(0) - along**2
    cosphi2 = np.tensordot(across, p, 1) ** 2 / np.maximum(sin2 * r2, 1e-12)
    outside = CHI_BUNDLE / 2 * RADIUS**2 / np.maximum(r2, 1e-9) * sin2 * (2 * cosphi2 - 1)
    return np.where(r2 < RADIUS**2, CHI_BUNDLE / 6 * (3 * cos2 - 1), outside)


def field_of(scene):
    if scene == "straight":
        nuclei = blocks(dipole_field(chi_of(scene, FINE, with_bundles=False)), FINE)
        return nuclei + cylinder_field([1, 0.4, 0.5], [0, -4, -5])
    return blocks(dipole_field(chi_of(scene, FINE)), FINE)


def directions(scene, wrong_deg, rng):
    """FA and V1; where bundles cross, that of the first."""
    x, y, z = coordinates(1)
    fa, v1 = np.full(x.shape, 0.05), np.zeros((3, *x.shape))
    v1[0] = 1
    for inside, axis in reversed(SCENES[scene]):
        here = inside(x, y, z)
        fa[here] = 0.7
        v1[:, here] = axis(x, y, z)[:, here]
    if wrong_deg:
        noise = rng.normal(size=v1.shape)
        noise -= (noise * v1).sum(0) * v1
        noise /= np.linalg.norm(noise, axis=0)
        angle = np.radians(wrong_deg)
        v1 = np.cos(angle) * v1 + np.sin(angle) * noise
    return fa, np.moveaxis(v1, 0, -1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--fimbria", default="target/release/fimbria")
    parser.add_argument("--kappa", nargs="*", type=float, default=[None])
    parser.add_argument("--scenes", nargs="*", default=list(SCENES))
    args = parser.parse_args()
    rng = np.random.default_rng(1)
    x, y, z = coordinates(1)
    mask = x**2 + y**2 + z**2 < 17.5**2
    print(f"{'scene':<9} {'noise':>6} {'V1 off':>6}  {'method':<16} {'NRMSE %':>8} {'XSIM':>6} {'corr.':>6}")
    cases = [(s, 0.0, 0) for s in args.scenes] + [(s, 0.002, 0) for s in args.scenes]
    cases += [(s, 0.002, off) for s in args.scenes if s != "none" for off in (15, 45)]
    for scene, noise, off in cases:
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)

            def save(name, data):
                nib.save(nib.Nifti1Image(np.float32(data), np.eye(4)), folder / name)

            fa, v1 = directions(scene, off, rng)
            save("field.nii", field_of(scene) + noise * rng.normal(size=x.shape))
            save("mask.nii", mask)
            save("fa.nii", fa)
            save("v1.nii", v1)
            save("truth.nii", blocks(chi_of(scene, FINE), FINE))
            methods = METHODS if off == 0 else ["dqsm", "tensor"]
            for method in methods:
                guided = method in ("dqsm", "spheres", "tensor")
                for kappa in args.kappa if guided else [None]:
                    words = [args.fimbria, "qsm", "field.nii", "--mask", "mask.nii", "--truth", "truth.nii",
                             "-o", "out", "--force", "-q"]
                    if method in ("dqsm", "tensor"):
                        words += ["--v1", "v1.nii", "--fa", "fa.nii"]
                    words += ["--iterations", "40"] if guided else []
                    words += ["--method", method] if method not in ("dqsm", "spheres") else []
                    words += ["--kappa", str(kappa)] if kappa else []
                    subprocess.run(words, cwd=folder, check=True)
                    found = json.loads((folder / "out/metrics.json").read_text())
                    name = method + (f" κ {kappa}" if kappa else "")
                    print(f"{scene:<9} {noise:>6} {off:>6}  {name:<16} {found['nrmse_percent']:>8.1f} "
                          f"{found['xsim']:>6.3f} {found['correlation']:>6.3f}", flush=True)


if __name__ == "__main__":
    main()
