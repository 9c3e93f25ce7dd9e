#!/usr/bin/env python3
"""Bundles of known course in seven small worlds, and how well trackers find them.

    python3 benches/strand_phantoms.py make FOLDER [--world NAME ...] [--draws 3]
    python3 benches/strand_phantoms.py score FOLDER --fimbria PROGRAM [--only ROW ...] [--count 4000]
    python3 benches/strand_phantoms.py --check

Each world is a set of tubes of fibres around a path, in grey matter that each bundle ends in, measured at
b 0/700/2000/3000 with Rician noise (8/12/32/64 volumes, SNR 20, 2 mm). Signals are those of sticks and
zeppelins by sub-voxel sampling (27 places a voxel), so that nothing of what is tested made them.
Densities are MRtrix3's dwi2fod csd at b 3000 of each noise draw, with the response of a true fibre.

Worlds: crossings (pairs at 30, 45, 60 and 90 degrees), ushapes (U-fibres of radius 6 and 10 mm under a
straight bundle), fan (one that spreads, one that narrows and spreads again), kissing (two that touch and
part), arc (half circles and a spiral), strands (random smooth strands in a ball, as DiSCo has), and mixed
(all kinds in another arrangement), which is for scoring last: nothing is chosen by it.

A streamline is valid where one end lies within 4 mm of one end of a bundle, the other of its other end, and
9 of 10 of its points within 3 mm of the bundle; unconnected where an end lies near no end of a bundle. Overlap and
overreach are of the voxels that valid streamlines of a bundle pass, in percent of its own; F1 is the harmonic mean
of the overlap and the part of passed voxels that is right; all three are means over bundles, a bundle that is
not found counts as 0. Needs numpy, scipy, nibabel; MRtrix3 for densities and its rows.
"""

import argparse
import itertools
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import nibabel as nib
import numpy as np
from scipy.ndimage import distance_transform_edt
from scipy.spatial import cKDTree

EDGE = 2.0
SNR = 20.0
SHELLS = ((0, 8), (700, 12), (2000, 32), (3000, 64))
ENDS, WITHIN, INSIDE = 4.0, 3.0, 0.9
GREY = 4.0  # mm of cortex beyond each end


class Bundle:
    """Fibres: a polyline each, from one end to the other."""

    def __init__(self, name, path, radius, spread=None):
        """`path` is N x 3 mm; `spread` the radius along it as a part of `radius`, 1 everywhere by default."""
        self.name, self.path, self.radius = name, np.asarray(path, float), radius
        part = np.ones(len(path)) if spread is None else np.asarray(spread, float)
        tangent = np.gradient(self.path, axis=0)
        tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
        # A frame that does not turn about the path.
        u = np.cross(tangent[0], np.eye(3)[np.abs(tangent[0]).argmin()])
        frames = []
        for t in tangent:
            u = u - t * (u @ t)
            u /= np.linalg.norm(u)
            frames.append((u, np.cross(t, u)))
        frames = np.array(frames)
        self.fibres = []
        for a, b in lattice(radius, 0.5):
            offset = a * frames[:, 0] + b * frames[:, 1]
            self.fibres.append(self.path + offset * part[:, None])


def lattice(radius, step):
    n = int(radius / step) + 1
    grid = [(i * step, j * step) for i in range(-n, n + 1) for j in range(-n, n + 1)]
    return [(a, b) for a, b in grid if a * a + b * b <= radius * radius]


def line(start, end, n=None):
    start, end = np.asarray(start, float), np.asarray(end, float)
    n = n or int(np.linalg.norm(end - start) / 0.4) + 2
    return start + np.linspace(0, 1, n)[:, None] * (end - start)


def arc(centre, radius, first, last, axes=(0, 1), rise=0.0, grow=0.0):
    """Part of a circle, degrees; `rise` mm along the third axis and `grow` mm of radius over all of it."""
    n = int(abs(np.radians(last - first)) * radius / 0.4) + 2
    turn = np.radians(np.linspace(first, last, n))
    part = np.linspace(0, 1, n)
    out = np.tile(np.asarray(centre, float), (n, 1))
    third = 3 - sum(axes)
    out[:, axes[0]] += (radius + grow * part) * np.cos(turn)
    out[:, axes[1]] += (radius + grow * part) * np.sin(turn)
    out[:, third] += rise * part
    return out


def u_fibre(x, y, z, radius, leg=8.0):
    """Down, around and up again: legs along z."""
    down = line((x - radius, y, z + leg), (x - radius, y, z))[:-1]
    bend = arc((x, y, z), radius, 180, 360, axes=(0, 2))
    up = line((x + radius, y, z), (x + radius, y, z + leg))[1:]
    return np.concatenate([down, bend, up])


def turned(path, degrees, axis=2):
    s, c = np.sin(np.radians(degrees)), np.cos(np.radians(degrees))
    a, b = [k for k in range(3) if k != axis]
    m = np.eye(3)
    m[a, a], m[a, b], m[b, a], m[b, b] = c, -s, s, c
    return np.asarray(path) @ m.T


def crossings():
    out = []
    for k, angle in enumerate((30, 45, 60, 90)):
        z = 14 * k - 21
        for sign in (-1, 1):
            path = turned(line((-26, 0, 0), (26, 0, 0)), sign * angle / 2) + (0, 0, z)
            out.append(Bundle(f"cross{angle}{'ab'[sign > 0]}", path, 4))
    return out


def ushapes():
    out = []
    for k, (radius, y) in enumerate(itertools.product((6, 10), (-13, 13))):
        out.append(Bundle(f"u{radius}_{k}", u_fibre(-13 + 26 * (radius == 10), y, 0, radius), 2.5))
    out.append(Bundle("below", line((-30, 0, -8), (30, 0, -8)), 5))
    out.append(Bundle("across", line((0, -26, -17), (0, 26, -17)), 4))
    return out


def fan():
    wide = lambda n: 0.35 + 0.65 * np.linspace(0, 1, n) ** 1.5
    neck = lambda n: 0.3 + 0.7 * np.abs(np.linspace(-1, 1, n)) ** 1.5
    first, second = line((-14, 0, -28), (-14, 0, 24)), line((14, 0, -28), (14, 0, 28))
    through = line((-30, 0, 4), (30, 0, 4))
    return [Bundle("fan", first, 11, wide(len(first))), Bundle("bottleneck", second, 9, neck(len(second))),
            Bundle("through", through, 3)]


def kissing():
    out = []
    for sign, z in itertools.product((-1, 1), (-12, 12)):
        x = np.linspace(-28, 28, 142)
        gap = 4 + 16 * (1 - np.exp(-((x / 14) ** 2)))
        path = np.stack([x, sign * gap, 0 * x + z], 1)
        out.append(Bundle(f"kiss{'lr'[sign > 0]}{'du'[z > 0]}", path, 3.5))
    return out


def arcs():
    return [Bundle("half24", arc((0, -6, 0), 24, 0, 180), 4),
            Bundle("half12", arc((0, -6, 0), 12, 0, 180), 4),
            Bundle("spiral", arc((0, -6, -16), 16, -90, 340, rise=40, grow=6), 3)]


def strands(n=14, seed=5):
    """Smooth curves between places of a sphere: chords bent by a sinus."""
    rng, out, reach = np.random.default_rng(seed), [], 30
    while len(out) < n:
        a, b, c = rng.normal(size=(3, 3))
        a, b = reach * a / np.linalg.norm(a), reach * b / np.linalg.norm(b)
        if np.linalg.norm(a - b) < 25 or any(
                min(np.linalg.norm(e - f) for e in (a, b) for f in (o.path[0], o.path[-1])) < 11 for o in out):
            continue
        n_points = int(np.linalg.norm(b - a) / 0.35)
        t = np.linspace(0, 1, n_points)[:, None]
        across = np.cross(b - a, c)
        across *= rng.uniform(4, 11) / np.linalg.norm(across)
        path = a + t * (b - a) + np.sin(np.pi * t) * across
        out.append(Bundle(f"strand{len(out):02}", path, rng.uniform(2.5, 3.5)))
    return out


def mixed():
    """Other angles, radii and places."""
    out = []
    for k, angle in enumerate((35, 75)):
        for sign in (-1, 1):
            path = turned(line((-24, 0, 0), (24, 0, 0)), 20 + sign * angle / 2) + (-4, 2, 13 * k - 20)
            out.append(Bundle(f"cross{angle}{'ab'[sign > 0]}", path, 3.5))
    out.append(Bundle("u7", turned(u_fibre(-16, -16, 16, 7), 30), 2.5))
    out.append(Bundle("u9", turned(u_fibre(12, 14, 18, 9), -20), 2.5))
    out.append(Bundle("u6", turned(u_fibre(18, -12, 14, 6), 70), 2.2))
    bend = turned(arc((0, 0, 4), 20, -20, 150), 15)
    out.append(Bundle("bend", bend, 3))
    path = turned(line((-20, -24, 2), (16, 22, 6)), 0)
    out.append(Bundle("spread", path, 7, 0.4 + 0.6 * np.linspace(0, 1, len(path))))
    return out


WORLDS = {f.__name__: f for f in (crossings, ushapes, fan, kissing, arcs, strands, mixed)}


class World:
    """The voxels: fibres, tissues, truth."""

    def __init__(self, bundles):
        self.bundles = bundles
        points = np.concatenate([f for b in bundles for f in b.fibres])
        # Off the lattice of fibres, which would lie on the faces of voxels.
        low = np.floor((points.min(0) - 10) / EDGE) * EDGE + 0.313
        self.dims = np.ceil((points.max(0) + 10 - low) / EDGE).astype(int) + 1
        # Oblique and of negative determinant, as scanners' are.
        s, c = np.sin(0.2), np.cos(0.2)
        self.turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])
        self.affine = np.eye(4)
        self.affine[:3, :3] = self.turn @ np.diag([-EDGE, EDGE, EDGE])
        self.affine[:3, 3] = self.turn @ np.array([low[0] + EDGE * (self.dims[0] - 1), low[1], low[2]])
        self.low = low
        self.sample()

    def world(self, local):
        return np.asarray(local) @ self.turn.T

    def voxel_of(self, local, per=1):
        """Voxels of a grid `per` times as fine, x reversed as the affine has it."""
        at = np.floor((local - self.low + EDGE / 2) / EDGE * per).astype(int)
        at[..., 0] = self.dims[0] * per - 1 - at[..., 0]
        return at

    def sample(self):
        per = 3
        fine = tuple(self.dims * per)
        kinds, self.masks = [], []
        tissue = np.zeros(fine, np.uint8)  # 0 nothing, 1 white, 2 grey
        for b in self.bundles:
            direction, share = np.zeros(fine + (3,)), np.zeros(fine)
            for fibre in b.fibres:
                step = np.diff(fibre, axis=0)
                middle = fibre[:-1] + step / 2
                at = tuple(self.voxel_of(middle, per).T)
                np.add.at(share, at, np.linalg.norm(step, axis=1))
                np.add.at(direction, at, step)
            inside = share > 0
            direction[inside] /= np.linalg.norm(direction[inside], axis=1)[:, None]
            kinds.append((inside, direction))
            tissue[inside] = 1
            voxels = np.zeros(tuple(self.dims), bool)
            for fibre in dense(b.fibres):
                voxels[tuple(self.voxel_of(fibre).T)] = True
            self.masks.append(voxels)
        self.kinds = kinds
        # Cortex beyond each end, a cap over all fibres that end there.
        centres = np.stack(np.meshgrid(*[np.arange(n) for n in fine], indexing="ij"), -1).reshape(-1, 3)
        places = centres[:, :].astype(float)
        places[:, 0] = fine[0] - 1 - places[:, 0]
        places = self.low - EDGE / 2 + (places + 0.5) * EDGE / per
        tree = cKDTree(places)
        flat = tissue.reshape(-1)
        for b in self.bundles:
            for end, inner in ((0, 4), (-1, -5)):
                for fibre in b.fibres:
                    out = fibre[end] - fibre[inner]
                    out /= np.linalg.norm(out)
                    for mm in np.arange(0.0, GREY, 0.6):
                        near = tree.query_ball_point(fibre[end] + mm * out, 0.9)
                        near = np.array([n for n in near if flat[n] == 0], int)
                        flat[near] = 2
        tissue = flat.reshape(fine)
        # What is around is other white matter's: a mask a little wider, filled with grey water.
        block = lambda x: x.reshape(self.dims[0], per, self.dims[1], per, self.dims[2], per).mean((1, 3, 5))
        self.white, self.grey = block(tissue == 1), block(tissue == 2)
        around = distance_transform_edt(tissue == 0) * EDGE / per <= 3
        self.around = block(around & (tissue == 0))
        self.tissue, self.per = tissue, per
        self.mask = self.white + self.grey + self.around > 0.5

    def series(self, draw, bvals, dirs):
        """`dirs` in local axes of the world."""
        per, dims = self.per, self.dims
        block = lambda x: x.reshape(dims[0], per, dims[1], per, dims[2], per).mean((1, 3, 5))
        count = sum(inside.astype(np.float32) for inside, _ in self.kinds)
        rng = np.random.default_rng(draw)
        out = np.zeros(tuple(dims) + (len(bvals),), np.float32)
        grey = self.tissue == 2
        for v, (b, g) in enumerate(zip(bvals, dirs)):
            b = b * 1e-3
            signal = np.zeros(self.tissue.shape, np.float32)
            for inside, direction in self.kinds:
                cos2 = (direction[inside] @ g) ** 2
                signal[inside] += fibre_signal(b, cos2) / count[inside]
            signal[grey] = 1.15 * np.exp(-b * 0.8)
            mean = block(signal) + self.around * 1.3 * np.exp(-b * 2.2)
            noise = rng.normal(scale=1 / SNR, size=(2,) + mean.shape)
            out[..., v] = 1000 * np.hypot(mean + noise[0], noise[1])
        return out

    def tissues(self):
        """MRtrix3's five."""
        out = np.zeros(tuple(self.dims) + (5,), np.float32)
        out[..., 0], out[..., 2], out[..., 3] = self.grey, self.white, self.around
        return out


def spread(n, seed):
    """Directions that repel each other and each other's opposites."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    for _ in range(300):
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        both = np.concatenate([x, -x])
        d = x[:, None] - both[None]
        r = np.linalg.norm(d, axis=2)
        r[np.arange(n), np.arange(n)] = np.inf
        x = x + 0.3 / n * (d / r[..., None] ** 3).sum(1)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def protocol():
    bvals = np.concatenate([[b] * n for b, n in SHELLS])
    dirs = np.concatenate([spread(n, b) if b else np.zeros((n, 3)) for b, n in SHELLS])
    return bvals, dirs


def response(b):
    """Of one fibre at this b: even zonal harmonics to order 8, in MRtrix's norm."""
    from numpy.polynomial.legendre import Legendre, leggauss

    x, w = leggauss(64)
    signal = 1000 * fibre_signal(b * 1e-3, x * x)
    zonal = lambda l: np.sqrt((2 * l + 1) / (4 * np.pi)) * Legendre.basis(l)(x)
    return [2 * np.pi * (w * signal * zonal(l)).sum() for l in range(0, 9, 2)]


def fibre_signal(b, cos2):
    """A stick and a zeppelin; b in ms/µm²."""
    return 0.6 * np.exp(-b * 1.9 * cos2) + 0.4 * np.exp(-b * (0.6 + 1.1 * cos2))


def run(*command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    finished = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if finished.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{finished.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def make(folder, names, draws):
    bvals, dirs = protocol()
    for name in names:
        world = World(WORLDS[name]())
        here = folder / name
        here.mkdir(parents=True, exist_ok=True)
        save = lambda data, file: nib.save(nib.Nifti1Image(data, world.affine), here / file)
        save(world.mask.astype(np.uint8), "mask.nii.gz")
        save(((world.white > 0.5) & world.mask).astype(np.uint8), "seeds.nii.gz")
        save(world.tissues(), "5tt.nii.gz")
        grad = here / "grad.b"
        np.savetxt(grad, np.column_stack([dirs @ world.turn.T, bvals]), "%.8f")
        np.savetxt(here / "response.txt", [response(3000)])
        for draw in draws:
            # Compression would take most of the time.
            save(world.series(draw, bvals, dirs), f"dwi{draw}.nii")
            run("dwi2fod", "csd", "-quiet", "-force", "-nthreads", 0, "-grad", grad, "-shells", "3000", here / f"dwi{draw}.nii",
                here / "response.txt", here / f"fod{draw}.nii", "-mask", here / "mask.nii.gz")
        print(name, *world.dims, f"{int(world.mask.sum())} voxels", flush=True)


class Truth:
    def __init__(self, name):
        self.world = world = World(WORLDS[name]())
        self.inverse = np.linalg.inv(world.affine)
        self.far = [distance_transform_edt(~m) * EDGE for m in world.masks]
        self.ends = [[cKDTree(world.world(np.array([f[e] for f in b.fibres]))) for e in (0, -1)]
                     for b in world.bundles]

    def voxels(self, points):
        at = np.rint(points @ self.inverse[:3, :3].T + self.inverse[:3, 3]).astype(int)
        return np.clip(at, 0, self.world.dims - 1)

    def score(self, lines):
        n = len(lines)
        if n == 0:
            return dict(valid=0.0, unconnected=0.0, overlap=0.0, overreach=0.0, f1=0.0, found=0)
        points = np.concatenate(lines)
        starts = np.cumsum([0] + [len(x) for x in lines])[:-1]
        firsts, lasts = np.array([x[0] for x in lines]), np.array([x[-1] for x in lines])
        at = tuple(self.voxels(points).T)
        ids = np.repeat(np.arange(n), [len(x) for x in lines])
        near = [[tree.query(e, distance_upper_bound=ENDS)[0] < np.inf for tree in trees for e in (firsts, lasts)]
                for trees in self.ends]
        joined = [np.any([near[k][e] for k in range(len(near)) for e in (i, i + 2)], axis=0) for i in (0, 1)]
        valid_all, rows = np.zeros(n, bool), []
        for k, mask in enumerate(self.world.masks):
            (f0, l0, f1, l1) = near[k]
            inside = np.add.reduceat((self.far[k][at] <= WITHIN).astype(float), starts) / np.bincount(ids)
            valid = ((f0 & l1) | (f1 & l0)) & (inside >= INSIDE)
            valid_all |= valid
            if not valid.any():
                rows.append((0.0, 0.0, 0.0))
                continue
            passed = np.zeros_like(mask)
            passed[tuple(a[valid[ids]] for a in at)] = True
            hit = (passed & mask).sum()
            overlap, over = hit / mask.sum(), (passed & ~mask).sum() / mask.sum()
            precision = hit / passed.sum()
            rows.append((overlap, over, 2 * overlap * precision / (overlap + precision) if hit else 0.0))
        rows = 100 * np.array(rows)
        self.per_bundle = rows
        return dict(valid=100 * valid_all.mean(), unconnected=100 * (~(joined[0] & joined[1])).mean(),
                    overlap=rows[:, 0].mean(), overreach=rows[:, 1].mean(), f1=rows[:, 2].mean(),
                    found=int((rows[:, 0] > 0).sum()))


def dense(lines, mm=0.5):
    """Points close enough to pass no voxel by."""
    out = []
    for x in lines:
        x = np.asarray(x, float)
        if len(x) < 2:
            continue
        step = np.linalg.norm(np.diff(x, axis=0), axis=1)
        at = np.concatenate([[0], np.cumsum(step)])
        where = np.linspace(0, at[-1], max(2, int(at[-1] / mm) + 1))
        out.append(np.stack([np.interp(where, at, x[:, k]) for k in range(3)], 1))
    return out


def fimbria(*options):
    def track(args, here, fod, out, seed):
        folder = out.with_suffix("")
        act = [x if x != "5TT" else here / "5tt.nii.gz" for x in options]
        seconds = run(args.fimbria, "track", fod, "--sh-basis", "mrtrix", "--mask", here / "mask.nii.gz", "--seeds",
                      here / "seeds.nii.gz", "--select", args.count, "--rng-seed", seed + 1, "--threads", 1, "--device", "cpu",
                      "--tracks", "tck", "-o", folder, "-f", "-q", *act)
        (folder / "tracks.tck").rename(out)
        return seconds
    return track


def tckgen(*options):
    def track(args, here, fod, out, seed):
        act = [x if x != "5TT" else here / "5tt.nii.gz" for x in options]
        with_seed = ["env", f"MRTRIX_RNG_SEED={seed + 1}"]
        return run(*with_seed, "tckgen", "-quiet", "-force", "-nthreads", 0, "-seed_image", here / "seeds.nii.gz", "-mask",
                   here / "mask.nii.gz", "-select", args.count, *act, fod, out)
    return track


ROWS = {
    "track": fimbria(),
    "probabilistic": fimbria("--algorithm", "probabilistic"),
    "deterministic": fimbria("--algorithm", "deterministic"),
    "iFOD2": tckgen(),
    "SD_STREAM": tckgen("-algorithm", "SD_STREAM"),
    "act": fimbria("--act", "5TT"),
    "act plain": fimbria("--act", "5TT", "--backtrack=false", "--crop=false"),
    "act plain probabilistic": fimbria("--act", "5TT", "--backtrack=false", "--crop=false", "--algorithm", "probabilistic"),
    "act probabilistic": fimbria("--act", "5TT", "--algorithm", "probabilistic"),
    "iFOD2 -act": tckgen("-act", "5TT"),
    "iFOD2 -act -backtrack -crop": tckgen("-act", "5TT", "-backtrack", "-crop_at_gmwmi"),
}

COLUMNS = ("valid", "unconnected", "overlap", "overreach", "f1", "found", "cpu")


def measured(truth, tool, args, here, fod, seed):
    with tempfile.TemporaryDirectory() as tmp:
        out = Path(tmp) / "tracks.tck"
        seconds = tool(args, here, fod, out, seed)
        lines = list(nib.streamlines.load(out).streamlines)
    return truth.score(dense(lines)) | dict(cpu=seconds)


def table(args):
    names = [n for n in args.world or WORLDS if (args.folder / n).is_dir()]
    rows = {key: ROWS[key] for key in (args.only or ROWS)}
    everything = {key: [] for key in rows}
    heading = f"{'':32}" + "".join(f"{c:>18}" for c in COLUMNS)
    for name in names:
        truth, here = Truth(name), args.folder / name
        print(f"\n{name} ({len(truth.world.bundles)} bundles)\n{heading}")
        for key, tool in rows.items():
            fods = sorted(here.glob("fod*.nii"))
            got = [measured(truth, tool, args, here, fod, seed) for seed, fod in enumerate(fods)]
            everything[key].append(got)
            print(row(key, got), flush=True)
    print(f"\nmeans over {len(names)} worlds\n{heading}")
    for key, worlds in everything.items():
        draws = [{c: np.mean([w[d][c] for w in worlds]) for c in COLUMNS} for d in range(len(worlds[0]))]
        print(row(key, draws))


def row(key, got):
    cells = [(np.mean([g[c] for g in got]), np.std([g[c] for g in got])) for c in COLUMNS]
    return f"{key:32}" + "".join(f"{m:10.2f} ± {s:5.2f}" for m, s in cells)


def check():
    """The truth itself is valid, fills each bundle and no more; its mirror image is nothing."""
    for name in WORLDS:
        truth = Truth(name)
        lines = dense([truth.world.world(f) for b in truth.world.bundles for f in b.fibres])
        got = truth.score(lines)
        assert got["valid"] == 100 and got["unconnected"] == 0, (name, got)
        assert got["overlap"] > 97 and got["overreach"] < 3, (name, got)
        half = truth.score([x[: len(x) // 2] for x in lines])
        assert half["valid"] < 2, (name, half)
        print(name, {k: round(float(v), 2) for k, v in got.items()})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("task", nargs="?", choices=("make", "score"))
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--world", nargs="*", choices=list(WORLDS))
    parser.add_argument("--draws", nargs="*", type=int, default=[0, 1, 2], help="seeds of the noise")
    parser.add_argument("--fimbria", default="fimbria")
    parser.add_argument("--only", nargs="*", choices=list(ROWS))
    parser.add_argument("--count", type=int, default=4000)
    args = parser.parse_args()
    if args.check:
        check()
    elif args.task == "make":
        make(args.folder, args.world or list(WORLDS), args.draws)
    elif args.task == "score":
        table(args)
    else:
        parser.error("say make or score")


if __name__ == "__main__":
    main()
