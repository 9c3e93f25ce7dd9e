#!/usr/bin/env python3
"""Scores tractograms against the bundles of `fimbria phantom head`, as the ISMRM 2015 challenge did.

    python3 benches/bundle_scores.py HEAD TRACKS... [--ends 5] [--within 4] [--bundles TABLE.tsv]
    python3 benches/bundle_scores.py --check

HEAD is the folder that `fimbria phantom head` wrote, TRACKS are .tck, .trk or .trx files in the same
scanner space. Needs numpy, scipy and nibabel.

Every streamline is one of these (Maier-Hein et al., Nat Commun 8, 1349 (2017)):

  valid       it joins the two ends of a bundle: one end lies within --ends mm of a true fibre's first
              point, the other of one's last point, and 95 % of its points within --within mm of the
              bundle. U-fibres join neighbours everywhere, so theirs must be the ends of one true fibre.
  invalid     both ends lie within --ends mm of ends of true fibres, and it is not valid
  unconnected one end or both do not

`no bundle` is the part of the streamlines that are not valid whose points mostly lie where fibres of no
named bundle are the largest: the head has such fibres but no streamlines of them, so that what follows
them is no mistake. `of_named` is the part of the others that is valid.

Of a bundle, with the voxels that its valid streamlines pass and those that its true ones pass:

  overlap     true voxels that are passed, in percent of the true voxels
  overreach   other voxels that are passed, in percent of the true voxels

Of the streamlines themselves: `mm`, the median of their lengths; `turn`, the median turn between steps in
degrees per mm; `angle`, the median angle in degrees of steps to the nearest true direction of their voxel. Three
columns more where the head has truth/dirs.nii.gz.

Bundles without a valid streamline are missing. The ends of the bundles, two of each, are regions; an end of
a streamline is in that of the true end nearest to it, in one of U-fibres, which are everywhere, only where
no other is within --ends mm. Invalid bundles are pairs of regions, of no one bundle, that invalid
streamlines join.
"""

import argparse
import os
import sys
import tempfile
import zipfile

import numpy as np
from scipy.ndimage import distance_transform_edt
from scipy.spatial import cKDTree

from rivals.tracking import Truth, quality

U_FIBRES = "u_fibres"
INSIDE = 0.95


class Lines:
    """Streamlines as one array of points, scanner mm, and where each begins."""

    def __init__(self, points, starts):
        self.points, self.starts = points, starts
        self.lengths = np.diff(np.append(starts, len(points)))

    def ends(self):
        return self.points[self.starts], self.points[self.starts + self.lengths - 1]

    def of(self, members):
        rows = [np.arange(self.starts[i], self.starts[i] + self.lengths[i]) for i in members]
        starts = np.cumsum([0] + [len(row) for row in rows])[:-1]
        return Lines(self.points[np.concatenate(rows)], starts)

    def share(self, is_true):
        """Of every streamline the part of its points."""
        return np.add.reduceat(is_true.astype(float), self.starts) / self.lengths


def from_list(lines):
    lines = [np.asarray(line, np.float32) for line in lines if len(line) > 1]
    if not lines:
        return Lines(np.zeros((0, 3), np.float32), np.zeros(0, int))
    return Lines(np.concatenate(lines), np.cumsum([0] + [len(line) for line in lines])[:-1])


def read_trx(path):
    """Streamlines and groups of a TRX file."""
    groups, points, starts = {}, None, None
    with zipfile.ZipFile(path) as trx:
        for name in trx.namelist():
            kind = name.rsplit(".", 1)[-1]
            if name.startswith("positions."):
                points = np.frombuffer(trx.read(name), kind).reshape(-1, 3).astype(np.float32)
            elif name.startswith("offsets."):
                starts = np.frombuffer(trx.read(name), kind).astype(np.int64)
            elif name.startswith("groups/") and not name.endswith("/"):
                key = name[len("groups/") :].rsplit(".", 1)[0]
                groups[key] = np.frombuffer(trx.read(name), kind).astype(np.int64)
    # The last offset is the number of points, in files that have it.
    if len(starts) and starts[-1] == len(points):
        starts = starts[:-1]
    return Lines(points, starts), groups


def read(path):
    if path.endswith(".trx"):
        return read_trx(path)[0]
    import nibabel

    return from_list(nibabel.streamlines.load(path).streamlines)


class Head:
    """What is true."""

    def __init__(self, folder):
        import nibabel

        lines, groups = read_trx(os.path.join(folder, "truth", "tracts.trx"))
        numbers = nibabel.load(os.path.join(folder, "truth", "bundles.nii.gz"))
        self.affine, self.numbers = numbers.affine, np.asarray(numbers.dataobj)
        self.no_bundle = len(groups) + 1
        self.bundles = {name: lines.of(members) for name, members in groups.items()}
        self.masks, self.distances = {}, {}
        edges = np.linalg.norm(self.affine[:3, :3], axis=0)
        for name in groups:
            mask = nibabel.load(os.path.join(folder, "truth", "bundles", name + ".nii.gz"))
            self.masks[name] = np.asarray(mask.dataobj) > 0
            self.distances[name] = distance_transform_edt(~self.masks[name], sampling=edges)
        self.trees = {name: [cKDTree(end) for end in b.ends()] for name, b in self.bundles.items()}
        dirs = os.path.join(folder, "truth", "dirs.nii.gz")
        self.directions = Truth(dirs) if os.path.exists(dirs) else None
        self.ends = cKDTree(np.concatenate([e for b in self.bundles.values() for e in b.ends()]))
        # Regions are numbered 2 k and 2 k + 1 by the bundle; U-fibres have one for both ends.
        self.regions = [
            (name.startswith(U_FIBRES), 2 * k + (0 if name.startswith(U_FIBRES) else end), tree)
            for k, (name, trees) in enumerate(self.trees.items())
            for end, tree in enumerate(trees)
        ]

    def region(self, points, mm):
        """The number of the region that each point is in, -1 in none."""
        found = np.full(len(points), -1)
        for wanted in (False, True):
            of = [(number, tree) for is_u, number, tree in self.regions if is_u == wanted]
            if not of:
                continue
            far = np.array([tree.query(points, distance_upper_bound=mm)[0] for _, tree in of])
            nearest = np.array([number for number, _ in of])[far.argmin(0)]
            found = np.where((found < 0) & np.isfinite(far.min(0)), nearest, found)
        return found

    def voxels(self, points):
        inverse = np.linalg.inv(self.affine)
        voxels = np.rint(points @ inverse[:3, :3].T + inverse[:3, 3]).astype(int)
        return np.clip(voxels, 0, np.array(self.numbers.shape[:3]) - 1)


def near(tree, points, mm):
    return np.isfinite(tree.query(points, distance_upper_bound=mm)[0])


def pairs_near(bundle, first, last, mm):
    """Whether both ends are those of one true fibre."""
    a, b = bundle.ends()
    tree = cKDTree(np.hstack([a, b]))
    found = np.zeros(len(first), bool)
    for ends in (np.hstack([first, last]), np.hstack([last, first])):
        found |= near(tree, ends, np.sqrt(2.0) * mm)
    return found


def score(head, lines, ends_mm, within_mm):
    """The scores of a tractogram: a table of all and one of bundles."""
    n = len(lines.starts)
    if n == 0:
        return dict(streamlines=0, valid=0.0, invalid=0.0, unconnected=0.0), {}
    first, last = lines.ends()
    voxels = tuple(head.voxels(lines.points).T)
    valid, of_bundles = np.zeros(n, bool), {}
    for name, bundle in head.bundles.items():
        if name.startswith(U_FIBRES):
            joins = pairs_near(bundle, first, last, ends_mm)
        else:
            head_end, tail_end = head.trees[name]
            joins = near(head_end, first, ends_mm) & near(tail_end, last, ends_mm)
            joins |= near(tail_end, first, ends_mm) & near(head_end, last, ends_mm)
        if joins.any():
            inside = head.distances[name][voxels] <= within_mm
            joins &= lines.share(inside) >= INSIDE
        valid |= joins
        mask, passed = head.masks[name], np.zeros(head.masks[name].shape, bool)
        if joins.any():
            passed[tuple(v[np.repeat(joins, lines.lengths)] for v in voxels)] = True
        of_bundles[name] = dict(
            streamlines=int(joins.sum()),
            overlap=100.0 * (passed & mask).sum() / mask.sum(),
            overreach=100.0 * (passed & ~mask).sum() / mask.sum(),
        )
    connected = near(head.ends, first, ends_mm) & near(head.ends, last, ends_mm)
    invalid = connected & ~valid
    joined = np.sort([head.region(end[invalid], ends_mm) for end in (first, last)], axis=0).T
    wrong = {(a, b) for a, b in joined.tolist() if a // 2 != b // 2}
    unnamed = lines.share(head.numbers[..., 0][voxels] == head.no_bundle) > 0.5
    percent = lambda which: 100.0 * which.sum() / n
    found = [b for b in of_bundles.values() if b["streamlines"]]
    mean = lambda key: float(np.mean([b[key] for b in found])) if found else 0.0
    return (
        dict(
            streamlines=n,
            valid=percent(valid),
            invalid=percent(invalid),
            unconnected=percent(~connected & ~valid),
            no_bundle=100.0 * (unnamed & ~valid).sum() / max((~valid).sum(), 1),
            of_named=100.0 * valid.sum() / max(n - (unnamed & ~valid).sum(), 1),
            found=len(found),
            missing=len(of_bundles) - len(found),
            wrong=len(wrong),
            overlap=mean("overlap"),
            overreach=mean("overreach"),
            **course(head, lines),
        ),
        of_bundles,
    )


def course(head, lines):
    if head.directions is None:
        return {}
    every = [lines.points[s : s + n] for s, n in zip(lines.starts, lines.lengths)]
    median, _, turn, angle = quality(every, head.directions)
    return dict(mm=float(median), turn=float(turn), angle=float(angle))


COLUMNS = (
    "streamlines valid invalid unconnected no_bundle of_named found missing wrong overlap overreach mm turn angle".split()
)


def line_of(name, scores):
    cell = lambda v: f"{v:.1f}" if isinstance(v, float) else str(v)
    return f"{name:<28}" + "".join(f"{cell(scores.get(c, 0)):>12}" for c in COLUMNS)


def check():
    """Tractograms made to have known scores have them."""
    import nibabel

    with tempfile.TemporaryDirectory() as folder:
        made_head(folder, nibabel)
        head = Head(folder)
        true = [head.bundles[name] for name in ("along_x", "along_y")]
        lists = [[b.points[s : s + l] for s, l in zip(b.starts, b.lengths)] for b in true]
        scores = lambda lines: score(head, from_list(lines), 2.0, 1.5)

        all_, of = scores(lists[0] + lists[1])
        assert all_["valid"] == 100.0 and all_["missing"] == 0, all_
        assert all(b["overlap"] == 100.0 and b["overreach"] == 0.0 for b in of.values()), of
        # Either way round.
        assert scores([line[::-1] for line in lists[0]])[0]["valid"] == 100.0
        # One bundle alone: the other is missing.
        all_, of = scores(lists[0])
        assert (all_["found"], all_["missing"]) == (1, 1) and of["along_y"]["overlap"] == 0.0
        # Half of a bundle's fibres fill half of its voxels.
        overlap = scores(lists[0][: len(lists[0]) // 2])[1]["along_x"]["overlap"]
        assert abs(overlap - 50.0) < 1e-9, overlap
        # From one bundle's end to the other's: an invalid connection, three of four.
        corner = [np.vstack([a[: len(a) // 2], b[len(b) // 2 :]]) for a, b in zip(*lists)][:3]
        all_, _ = scores(corner + lists[0][:1])
        assert (all_["valid"], all_["invalid"], all_["unconnected"]) == (25.0, 75.0, 0.0), all_
        # All three join the same two regions; from the other ends it is another pair; valid ones join none.
        assert all_["wrong"] == 1, all_
        other = [np.vstack([b[: len(b) // 2], a[len(a) // 2 :]]) for a, b in zip(*lists)][:3]
        assert scores(corner + other)[0]["wrong"] == 2 and scores(lists[0])[0]["wrong"] == 0
        # The right ends by another way are no wrong pair.
        line = lists[0][0]
        bent = np.insert(line, [12] * 5, line[12] + np.float32([0.0, 0.0, 6.0]), axis=0)
        all_, _ = scores([bent])
        assert (all_["invalid"], all_["wrong"]) == (100.0, 0), all_
        # Cut short: it connects nothing.
        all_, _ = scores([line[:-10] for line in lists[0]])
        assert (all_["valid"], all_["unconnected"]) == (0.0, 100.0), all_
        # A voxel beside the bundle, still within the limit: all overreach where no fibre was.
        beside = [line + np.float32([0.0, 0.0, 1.0]) for line in lists[0]]
        all_, of = scores(beside)
        assert all_["valid"] == 100.0 and abs(of["along_x"]["overreach"] - 100.0) < 1e-9, of
        # Two voxels beside it is another way.
        far = [line + np.float32([0.0, 0.0, 3.0]) for line in lists[0]]
        assert scores(far)[0]["valid"] == 0.0
        # What is not valid and follows fibres of no bundle.
        stray = [np.float32([[x, 2.0, 2.0] for x in range(3, 25)])]
        assert scores(stray)[0]["no_bundle"] == 100.0
        assert scores(stray + lists[0])[0]["of_named"] == 100.0
        assert scores([])[0]["streamlines"] == 0
    print("scores of made tractograms are as they were made")


def made_head(folder, nibabel):
    """Two straight bundles that cross, in voxels of 1 mm."""
    size = 28
    os.makedirs(os.path.join(folder, "truth", "bundles"))
    span, across = np.arange(2.0, 26.0), (12.0, 13.0, 14.0, 15.0)
    lines = {
        "along_x": [np.float32([[t, y, 10.0] for t in span]) for y in across],
        "along_y": [np.float32([[x, t, 10.0] for t in span]) for x in across],
    }
    every = from_list([line for bundle in lines.values() for line in bundle])
    with zipfile.ZipFile(os.path.join(folder, "truth", "tracts.trx"), "w") as trx:
        trx.writestr("positions.3.float32", every.points.tobytes())
        offsets = np.append(every.starts, len(every.points)).astype(np.uint64)
        trx.writestr("offsets.uint64", offsets.tobytes())
        for i, name in enumerate(lines):
            trx.writestr(f"groups/{name}.uint32", np.arange(4 * i, 4 * i + 4, dtype=np.uint32).tobytes())
    numbers = np.full((size,) * 3 + (4,), 3.0, np.float32)
    save = lambda data, *name: nibabel.save(
        nibabel.Nifti1Image(data, np.eye(4)), os.path.join(folder, "truth", *name)
    )
    for number, (name, bundle) in enumerate(lines.items(), 1):
        mask = np.zeros((size,) * 3, np.uint8)
        mask[tuple(np.concatenate(bundle).astype(int).T)] = 1
        numbers[..., 0][mask > 0] = number
        save(mask, "bundles", name + ".nii.gz")
    save(numbers, "bundles.nii.gz")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("head", nargs="?")
    parser.add_argument("tracks", nargs="*")
    parser.add_argument("--ends", type=float, default=5.0, help="mm")
    parser.add_argument("--within", type=float, default=4.0, help="mm")
    parser.add_argument("--bundles", help="write a table of every bundle")
    parser.add_argument("--check", action="store_true", help="prove it on made tractograms")
    options = parser.parse_args()
    if options.check:
        return check()
    if not options.tracks:
        parser.error("name the head and at least one tractogram")
    head, rows = Head(options.head), []
    print(f"{'':<28}" + "".join(f"{c:>12}" for c in COLUMNS))
    for path in options.tracks:
        whole, of_bundles = score(head, read(path), options.ends, options.within)
        print(line_of(os.path.basename(path), whole), flush=True)
        rows += [(path, name, b) for name, b in of_bundles.items()]
    if options.bundles:
        with open(options.bundles, "w") as table:
            table.write("tracks\tbundle\tstreamlines\toverlap\toverreach\n")
            for path, name, b in rows:
                table.write(f"{path}\t{name}\t{b['streamlines']}\t{b['overlap']:.1f}\t{b['overreach']:.1f}\n")


if __name__ == "__main__":
    sys.exit(main())
