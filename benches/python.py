"""fimbria from Python beside DIPY: times of calls, what the calls themselves cost, and their memory.

    python benches/python.py DWI [MASK] [--dipy-voxels 1000] [--threads 0] [--cases dti,dki]
    python benches/python.py --streamlines 10000000

Each case runs in a process of its own. `call` is what the thread that calls spends (arguments, arrays, waiting) as a
share of the processor time of all threads that work: what Python adds to the program's own stages. `memory` is the
peak of the process (VmHWM) above what there was before the call without its arrays, over the arrays in and out.
Wall times want idle cores, processor times do not. DIPY does some voxels (streamlines) only, scaled up.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import fimbria

#: b-values of a scan for perfusion, s/mm²
SMALL_B = [0, 10, 20, 30, 40, 60, 80, 100, 150, 200, 300, 400, 600, 800, 1000]
STREAMLINES = 1000


def of_memory(what):
    """Bytes of this process, as Linux counts them."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(what))


def arrays_in(made):
    """Bytes of the arrays that a result holds."""
    held = list(vars(made).values())
    for one in list(held):
        held += list(one.values()) if isinstance(one, dict) else []
    return sum({id(a): a.nbytes for a in held if isinstance(a, np.ndarray)}.values())


def measured(work, given):
    """Wall and processor times of a call, and its peak memory over its arrays."""
    before = of_memory("VmRSS")
    with open("/proc/self/clear_refs", "w") as file:
        # The peak is counted from here.
        file.write("5")
    wall, cpu, own = time.perf_counter(), time.process_time(), time.thread_time()
    made = work()
    wall, cpu, own = time.perf_counter() - wall, time.process_time() - cpu, time.thread_time() - own
    peak, bytes_in = of_memory("VmHWM"), sum(array.nbytes for array in given)
    arrays = bytes_in + arrays_in(made)
    return made, {
        "wall": wall,
        "cpu": cpu,
        "call": own / max(cpu - own, 1e-9),
        "memory": (peak - before + bytes_in) / arrays,
        "arrays_mb": arrays / 1e6,
    }


class Bench:
    """A series with its mask, and a case on it."""

    def __init__(self, arguments):
        self.threads = arguments.threads
        image = fimbria.load(arguments.dwi)
        self.affine, self.table = image.affine, image.gradients
        self.data = image.read()
        self.mask = self.data[..., 0] > 0
        if arguments.mask:
            self.mask = fimbria.load(arguments.mask).read() > 0
        self.some = np.zeros_like(self.mask)
        rng = np.random.default_rng(0)
        chosen = rng.choice(np.flatnonzero(self.mask), min(arguments.dipy_voxels, self.mask.sum()), replace=False)
        self.some.flat[chosen] = True
        self.share = self.mask.sum() / self.some.sum()

    def theirs(self):
        from dipy.core.gradients import gradient_table

        return gradient_table(self.table.bvals, bvecs=self.table.bvecs)

    def fit(self, model, dipy, value, data=None):
        """Both fits, and the median difference of a map."""
        data = self.data if data is None else data
        model.fit(data, mask=self.some, threads=self.threads)
        made, said = measured(lambda: model.fit(data, mask=self.mask, threads=self.threads), [data, self.mask])
        began = time.process_time()
        other = value(dipy().fit(data, mask=self.some))[self.some]
        said["dipy"] = (time.process_time() - began) * self.share
        said["difference"] = float(np.nanmedian(np.abs(value(made)[self.some] - other)))
        return said

    def dti(self):
        from dipy.reconst.dti import TensorModel

        return self.fit(fimbria.TensorModel(self.table, "WLS", compat="dipy"), lambda: TensorModel(self.theirs(), fit_method="WLS"), lambda f: f.fa)

    def dki(self):
        from dipy.reconst.dki import DiffusionKurtosisModel

        return self.fit(fimbria.KurtosisModel(self.table, "WLS", compat="dipy"), lambda: DiffusionKurtosisModel(self.theirs(), fit_method="WLS"), lambda f: f.mk(0, 3))

    def msdki(self):
        from dipy.reconst.msdki import MeanDiffusionKurtosisModel

        return self.fit(fimbria.MeanSignalKurtosisModel(self.table), lambda: MeanDiffusionKurtosisModel(self.theirs()), lambda f: f.msk)

    def ivim(self):
        """Signals of two exponentials at small b, with noise: the series has none."""
        from dipy.core.gradients import gradient_table
        from dipy.reconst.ivim import IvimModel

        b, rng = np.array(SMALL_B, dtype=float), np.random.default_rng(1)
        ways = np.where(b[:, None] > 0, [1.0, 0, 0], 0)
        part = rng.uniform(0.05, 0.2, (*self.mask.shape, 1)).astype(np.float32)
        data = 1000 * (part * np.exp(-b * 10e-3) + (1 - part) * np.exp(-b * 1e-3)) + rng.normal(0, 5, (*self.mask.shape, len(b)))
        data = data.astype(np.float32)
        table = fimbria.Gradients(b, ways, b0_threshold=0)
        theirs = gradient_table(b, bvecs=ways, b0_threshold=0)
        return self.fit(fimbria.IvimModel(table), lambda: IvimModel(theirs), lambda f: f.perfusion_fraction, data)

    def densities(self):
        return fimbria.FibreOrientationModel(self.table)

    def fod(self):
        """Densities of several shells and tissues; DIPY's need cvxpy."""
        from dipy.reconst.mcsd import MultiShellDeconvModel, multi_shell_fiber_response

        self.densities().fit(self.data, mask=self.mask & (np.arange(self.mask.shape[2]) == self.mask.shape[2] // 2), threads=self.threads)
        _, said = measured(lambda: self.densities().fit(self.data, mask=self.mask, threads=self.threads), [self.data, self.mask])
        theirs = self.theirs()
        # Responses of tissues with known tensors, so that only the fit is timed.
        fast, slow = np.array([1.7e-3, 0.3e-3, 0.3e-3, 1000.0]), [0.8e-3] * 3 + [1000.0]
        shells = np.unique(np.round(self.table.bvals[~self.table.b0s_mask], -2))
        of_shells = lambda one: np.tile(one, (len(shells), 1))  # noqa: E731
        response = multi_shell_fiber_response(8, np.r_[0, shells], of_shells(fast), of_shells(np.array(slow)), of_shells(np.array([3e-3] * 3 + [1000.0])))
        began = time.process_time()
        MultiShellDeconvModel(theirs, response).fit(self.data, mask=self.some)
        said["dipy"] = (time.process_time() - began) * self.share
        return said

    def harmonics(self):
        fit = fimbria.FibreOrientationModel(self.table).fit(self.data, mask=self.mask, threads=self.threads)
        return np.ascontiguousarray(fit.fod)

    def peaks(self):
        """Of the same densities; DIPY on its sphere of 724 points. The median angle between the first ones, degrees."""
        from dipy.data import get_sphere
        from dipy.direction.peaks import peak_directions
        from dipy.reconst.shm import sh_to_sf

        sh = self.harmonics()
        call = lambda: fimbria.peaks(sh, sh_basis="mrtrix", mask=self.mask, threads=self.threads)  # noqa: E731
        fimbria.peaks(sh, sh_basis="mrtrix", mask=self.some, threads=self.threads)
        made, said = measured(call, [sh, self.mask])
        sphere = get_sphere(name="repulsion724")
        began, angles = time.process_time(), []
        odf = sh_to_sf(sh[self.some], sphere, sh_order_max=8, basis_type="tournier07", legacy=False)
        for one, ours in zip(odf, made.peak_dirs[self.some][:, 0]):
            dirs, _, _ = peak_directions(one, sphere)
            if len(dirs) and ours.any():
                angles.append(np.degrees(np.arccos(min(1.0, abs(float(dirs[0] @ ours))))))
        said["dipy"] = (time.process_time() - began) * self.share
        said["difference"] = float(np.median(angles))
        return said

    def tracking(self):
        """Deterministic, a seed in each voxel; as many steps are timed of both. The median length beside DIPY's, mm."""
        from dipy.data import get_sphere
        from dipy.direction import DeterministicMaximumDirectionGetter
        from dipy.tracking.local_tracking import LocalTracking
        from dipy.tracking.stopping_criterion import BinaryStoppingCriterion
        from dipy.tracking.utils import seeds_from_mask

        sh = self.harmonics()
        options = {"sh_basis": "mrtrix", "affine": self.affine, "mask": self.mask, "algorithm": "deterministic", "samples": 1, "step": 1.0, "threads": self.threads}
        fimbria.track(sh, self.some, **options)
        made, said = measured(lambda: fimbria.track(sh, self.mask, **options), [sh, self.mask])
        few = self.some & (np.cumsum(self.some).reshape(self.some.shape) <= 200)
        getter = DeterministicMaximumDirectionGetter.from_shcoeff(sh, max_angle=45, sphere=get_sphere(name="repulsion724"), basis_type="tournier07", legacy=False)
        seeds = seeds_from_mask(few, np.eye(4), density=1)
        began = time.process_time()
        lines = list(LocalTracking(getter, BinaryStoppingCriterion(self.mask), seeds, np.eye(4), step_size=1.0 / np.cbrt(abs(np.linalg.det(self.affine)))))
        seconds = time.process_time() - began
        # By the streamline of each seed.
        said["dipy"] = seconds * self.mask.sum() / max(len(seeds), 1)
        said["difference"] = float(abs(np.median(made.lengths) - np.cbrt(abs(np.linalg.det(self.affine))) * np.median([np.linalg.norm(np.diff(line, axis=0), axis=1).sum() for line in lines])))
        return said

    def million(self):
        """As many probabilistic streamlines as a connectome has, from anywhere in the mask."""
        sh = self.harmonics()
        options = {"sh_basis": "mrtrix", "affine": self.affine, "mask": self.mask, "threads": self.threads}
        fimbria.track(sh, self.some, select=100, **options)
        _, said = measured(lambda: fimbria.track(sh, self.mask, select=1_000_000, **options), [sh, self.mask])
        return said

    def life(self):
        """Of the first streamlines; DIPY's model and its objective. Relative difference of the objectives."""
        import dipy.tracking.life as theirs

        sh = self.harmonics()
        lines = fimbria.track(sh, self.mask, sh_basis="mrtrix", affine=self.affine, mask=self.mask, select=STREAMLINES, threads=self.threads)
        # DIPY takes none that leaves the middles of voxels.
        turn = np.linalg.inv(self.affine)
        voxels = np.round(lines.points @ turn[:3, :3].T + turn[:3, 3])
        outside = ((voxels < 0) | (voxels >= self.mask.shape)).any(axis=1)
        lines = lines[[not outside[int(a) : int(b)].any() for a, b in zip(lines.offsets, lines.offsets[1:])]]
        call = lambda: fimbria.life(lines, self.data, self.table, affine=self.affine, mask=self.mask, compat="dipy", threads=self.threads)  # noqa: E731
        _, said = measured(call, [self.data, self.mask, lines.points])
        said["streamlines"] = len(lines)
        began = time.process_time()
        in_voxels = [line @ turn[:3, :3].T + turn[:3, 3] for line in lines]
        theirs.FiberModel(self.theirs()).fit(self.data, in_voxels, affine=np.eye(4))
        said["dipy"] = time.process_time() - began
        return said


CASES = ["dti", "dki", "msdki", "fod", "peaks", "ivim", "tracking", "million", "life"]


def of_streamlines(n):
    """Writes n streamlines in parts and reads them in chunks, in a process each; bytes of the file and peaks of memory."""
    folder = Path(tempfile.mkdtemp())
    print("| format | file | written | peak | read | peak |\n|---|---|---|---|---|---|")
    for extension in ("trx", "tck", "trk"):
        path = folder / f"lines.{extension}"
        said = [json.loads(subprocess.run([sys.executable, __file__, "--lines", f"{what}:{n}:{path}"], check=True, capture_output=True, text=True).stdout) for what in ("write", "read")]
        assert said[0]["points"] == said[1]["points"], said
        row = [f"{path.stat().st_size / 1e9:.2f} GB"]
        for one in said:
            row += [f"{one['cpu']:.1f} s", f"{one['peak'] / 1e6:.0f} MB"]
        print(f"| {extension} | {' | '.join(row)} |", flush=True)
        path.unlink()


def lines_of(what, n, path):
    part = 100_000
    steps = np.random.default_rng(0).normal(0, 1, (part, 20, 3)).astype(np.float32)
    points = (50 + np.cumsum(steps, axis=1)).reshape(-1, 3)
    some = fimbria.Tractogram(points, np.arange(0, 20 * part + 1, 20), affine=np.eye(4), shape=(100, 100, 100))
    began, count = time.process_time(), 0
    if what == "write":
        with fimbria.TractogramWriter(path, like=some) as writer:
            for _ in range(n // part):
                writer.write(some)
                count += len(some.points)
    else:
        del some, points, steps
        for chunk in fimbria.open_tractogram(path):
            count += len(chunk.points)
    print(json.dumps({"points": count, "cpu": time.process_time() - began, "peak": of_memory("VmHWM")}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dwi", nargs="?")
    parser.add_argument("mask", nargs="?")
    parser.add_argument("--dipy-voxels", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--streamlines", type=int)
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--lines", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.lines:
        what, n, path = arguments.lines.split(":", 2)
        lines_of(what, int(n), path)
    elif arguments.case:
        print(json.dumps(getattr(Bench(arguments), arguments.case)()))
    elif arguments.streamlines:
        of_streamlines(arguments.streamlines)
    else:
        several(arguments)


def several(arguments):
    given = [arguments.dwi, *([arguments.mask] if arguments.mask else [])]
    print(f"{' '.join(given)}; load {os.getloadavg()[0]:.1f}\n")
    print("| case | wall s | CPU s | call | memory | of MB | DIPY CPU s | times | difference |")
    print("|---|---|---|---|---|---|---|---|---|")
    for case in arguments.cases.split(","):
        words = [sys.executable, __file__, *given, "--case", case, "--dipy-voxels", str(arguments.dipy_voxels), "--threads", str(arguments.threads)]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            print(f"| {case} | {done.stderr.strip().splitlines()[-1]} |", flush=True)
            continue
        said = json.loads(done.stdout.splitlines()[-1])
        difference = f"{said['difference']:.1e}" if "difference" in said else ""
        theirs = f"{said['dipy']:.0f} | {said['dipy'] / said['cpu']:.0f}" if "dipy" in said else " |"
        print(
            f"| {case} | {said['wall']:.2f} | {said['cpu']:.2f} | {100 * said['call']:.2f} % | {said['memory']:.2f} | "
            f"{said['arrays_mb']:.0f} | {theirs} | {difference} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
