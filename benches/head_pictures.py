#!/usr/bin/env python3
"""Pictures of the phantom head for docs/phantom-head.md, by matplotlib and nibabel.

beside PERSON HEAD OUT.png [--slice K] [--turns N]   fits of one axial slice of a person and of the head, of the
                                         same protocol, side by side; the person's turned by N quarters
bundles HEAD OUT.png [--people ZIP]      its bundles in three planes, three of them beside those of five people
                                         (DIPY's minimal_bundles.zip), and its susceptibility
template MNI_T1 HEAD OUT.png             its T1-weighted picture beside the mean of 152 people, at the same places
truth HEAD OUT.png                       T1-weighted picture, FA, direction and MK of the truth in four planes

A folder holds dwi.nii.gz, dwi.bval and mask.nii.gz; dti/ and dki/ in it are fits of it. HEAD is what
`fimbria phantom head` writes.
"""

import argparse
import io
import zipfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import nibabel
import numpy


def canonical(path: Path) -> nibabel.Nifti1Image:
    return nibabel.as_closest_canonical(nibabel.load(path))


def axial(image: numpy.ndarray, k: int) -> numpy.ndarray:
    """Front up, right on the left, as radiologists look."""
    plane = image[::-1, :, k]
    return numpy.swapaxes(plane, 0, 1)[::-1]


def cropped(picture: numpy.ndarray, inside: numpy.ndarray, margin: int = 3) -> numpy.ndarray:
    rows, columns = (numpy.flatnonzero(inside.any(axis)) for axis in (1, 0))
    low = [max(a[0] - margin, 0) for a in (rows, columns)]
    return picture[low[0] : rows[-1] + margin + 1, low[1] : columns[-1] + margin + 1]


def columns_of(folder: Path, k: int) -> list[tuple[str, numpy.ndarray, tuple[float, float] | None]]:
    """Name, picture and window of each column."""
    b = numpy.loadtxt(folder / "dwi.bval")
    series = canonical(folder / "dwi.nii.gz").get_fdata(dtype=numpy.float32)
    inside = axial(canonical(folder / "mask.nii.gz").get_fdata() > 0, k)

    def of(name: str) -> numpy.ndarray:
        return axial(canonical(folder / f"{name}.nii.gz").get_fdata(dtype=numpy.float32), k)

    unweighted = axial(series[..., b < 50].mean(-1), k)
    weighted = axial(series[..., abs(b - 1000) < 50].mean(-1), k)
    colours = numpy.abs(of("dti/V1")) * numpy.clip(of("dti/FA"), 0, 1)[..., None] * inside[..., None]
    pictures = [
        ("b = 0", unweighted, (0, numpy.percentile(unweighted[inside], 97))),
        ("mean at b = 1000", weighted, (0, numpy.percentile(weighted[inside], 99))),
        ("FA, 0 to 1", of("dti/FA"), (0, 1)),
        ("V1", numpy.clip(1.4 * colours, 0, 1), None),
        ("MD, 0 to 2.5 µm²/ms", 1e3 * of("dti/MD"), (0, 2.5)),
        ("MK, 0 to 1.8", of("dki/MK"), (0, 1.8)),
    ]
    return [(name, cropped(picture, inside), window) for name, picture, window in pictures]


def beside(person: Path, head: Path, out: Path, k: int | None, turns: int) -> None:
    middle = canonical(head / "mask.nii.gz").shape[2] // 2
    rows = [("a person", columns_of(person, 0)), ("the head", columns_of(head, middle if k is None else k))]
    turned = [(name, numpy.rot90(picture, turns), window) for name, picture, window in rows[0][1]]
    rows[0] = (rows[0][0], turned)
    figure, axes = plt.subplots(2, 6, figsize=(12, 4.9), facecolor="black")
    for (label, pictures), line in zip(rows, axes):
        for (name, picture, window), ax in zip(pictures, line):
            low, high = window or (None, None)
            ax.imshow(picture, cmap="gray", vmin=low, vmax=high, interpolation="nearest")
            ax.set_xticks([]), ax.set_yticks([])
            if label == rows[0][0]:
                ax.set_title(name, color="white", fontsize=9)
        line[0].set_ylabel(label, color="white", fontsize=10)
    figure.tight_layout(pad=0.4)
    figure.savefig(out, dpi=110)


def template(mean: Path, head: Path, out: Path) -> None:
    t1w, mask = canonical(head / "t1w.nii.gz"), canonical(head / "mask.nii.gz")
    brain = nibabel.Nifti1Image(t1w.get_fdata() * mask.get_fdata(), t1w.affine)
    rows = [("152 people, mean", canonical(mean)), ("the head", brain)]
    places = [(2, 4.0), (2, 18.0), (1, -14.0), (0, 4.0)]
    figure, axes = plt.subplots(2, len(places), figsize=(12, 6.4), facecolor="black")
    for (label, image), line in zip(rows, axes):
        for (axis, at), ax in zip(places, line):
            show(ax, image, axis, at, "gray", None)
            across = [a for a in range(3) if a != axis]
            for limit, a in ((ax.set_xlim, across[0]), (ax.set_ylim, across[1])):
                limit(*[(-78, 78), (-112, 82), (-62, 86)][a])
            if image is rows[0][1]:
                ax.set_title(f"{'xyz'[axis]} = {at:g} mm", color="white", fontsize=9)
        line[0].set_ylabel(label, color="white", fontsize=10)
    figure.tight_layout(pad=0.4)
    figure.savefig(out, dpi=110)


def truth(head: Path, out: Path) -> None:
    named = {name: canonical(head / f"{name}.nii.gz") for name in ("t1w", "truth/FA", "truth/MK")}
    dirs = canonical(head / "truth/dirs.nii.gz")
    largest = numpy.abs(dirs.get_fdata(dtype=numpy.float32)[..., :3])
    fa = named["truth/FA"].get_fdata(dtype=numpy.float32)
    colours = nibabel.Nifti1Image(numpy.clip(1.4 * largest * fa[..., None], 0, 1), dirs.affine)
    columns = [(named["t1w"], (0, 1300)), (named["truth/FA"], (0, 1)), (colours, None), (named["truth/MK"], (0, 1.8))]
    places = [(2, 5.0), (2, 27.0), (1, -14.0), (0, 2.0)]
    figure, axes = plt.subplots(len(places), len(columns), figsize=(9, 9.6), facecolor="black")
    for (axis, at), line in zip(places, axes):
        for (image, window), ax in zip(columns, line):
            show(ax, image, axis, at, "gray", window)
    figure.tight_layout(pad=0.3)
    figure.savefig(out, dpi=110)


# A bundle of people in DIPY's package, that of the head, and the axis along which both are seen.
BESIDE = [("AF_L", "arcuate_left", 0), ("CST_R", "corticospinal_right", 1), ("CC_ForcepsMajor", "forceps_major", 2)]


def bundles(head: Path, out: Path, people: Path | None) -> None:
    lines = load_trx(head / "truth/tracts.trx")
    t1w = canonical(head / "t1w.nii.gz")
    chi = canonical(head / "gre/truth/chi.nii.gz")
    rows = 2 if people is None else 4
    figure, axes = plt.subplots(rows, 3, figsize=(10, 3.5 * rows), facecolor="black")
    planes = [(0, "left to right"), (1, "front to back"), (2, "top to bottom")]
    for (axis, _), ax in zip(planes, axes[0]):
        show(ax, t1w, axis, -6 if axis == 0 else 0, "gray", (0, 1300))
        draw(ax, axis, [line for group in lines.values() for line in group[:: max(1, len(group) // 40)]], 0.35)
    if people is not None:
        for (theirs, ours, axis), upper, lower in zip(BESIDE, axes[1], axes[2]):
            of_head = lines[ours][:: max(1, len(lines[ours]) // 50)]
            middle = numpy.concatenate(of_head).mean(0)
            for ax, drawn in ((upper, of_people(people, theirs, middle)), (lower, of_head)):
                draw(ax, axis, drawn, 0.5)
                across = [a for a in range(3) if a != axis]
                for limit, a in ((ax.set_xlim, across[0]), (ax.set_ylim, across[1])):
                    limit(middle[a] - 75, middle[a] + 75)
                ax.set_aspect("equal"), ax.set_facecolor("black")
                ax.set_xticks([]), ax.set_yticks([])
        axes[1][0].set_ylabel("five people", color="white"), axes[2][0].set_ylabel("the head", color="white")
    places = [(0, 12.0), (1, 2.0), (2, 0.0)]
    for (axis, at), ax in zip(places, axes[-1]):
        show(ax, chi, axis, at, "gray", (-0.15, 0.2))
    figure.tight_layout(pad=0.3)
    figure.savefig(out, dpi=110)


def draw(ax, axis: int, lines: list[numpy.ndarray], width: float) -> None:
    across = [a for a in range(3) if a != axis]
    for line in lines:
        colour = numpy.abs(numpy.diff(line, axis=0)).sum(0)
        colour /= max(colour.max(), 1e-6)
        ax.plot(line[:, across[0]], line[:, across[1]], color=colour, linewidth=width, alpha=0.75)


def of_people(path: Path, name: str, middle: numpy.ndarray) -> list[numpy.ndarray]:
    """A fifth of a bundle of each person, moved to a common middle: people lie differently in their scanners."""
    found = []
    with zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            if Path(member).stem == name:
                lines = list(nibabel.streamlines.load(io.BytesIO(archive.read(member))).streamlines)
                moved = middle - numpy.concatenate(lines).mean(0)
                found += [line + moved for line in lines[::5]]
    return found


def show(ax, image: nibabel.Nifti1Image, axis: int, at_mm: float, colours: str, window) -> None:
    """The plane of an image nearest to a coordinate, in mm."""
    data = image.get_fdata(dtype=numpy.float32)
    affine = image.affine
    middle = numpy.array(data.shape[:3]) / 2.0
    centre = affine[:3, :3] @ middle + affine[:3, 3]
    centre[axis] = at_mm
    k = int(round((numpy.linalg.inv(affine) @ [*centre, 1.0])[axis]))
    plane = numpy.take(data, k, axis=axis)
    across = [a for a in range(3) if a != axis]
    corners = [affine[a, 3] - affine[a, a] / 2 for a in across]
    ends = [c + affine[a, a] * data.shape[a] for c, a in zip(corners, across)]
    low, high = window or (0, numpy.percentile(plane, 99.5))
    extent = [corners[0], ends[0], corners[1], ends[1]]
    picture = numpy.swapaxes(plane, 0, 1)
    ax.imshow(picture, origin="lower", cmap=colours, vmin=low, vmax=high, extent=extent)
    ax.set_xlim(corners[0], ends[0]), ax.set_ylim(corners[1], ends[1])
    ax.set_xticks([]), ax.set_yticks([])


def load_trx(path: Path) -> dict[str, list[numpy.ndarray]]:
    """The streamlines of each group."""
    with zipfile.ZipFile(path) as archive:
        def array(start: str, kind: str) -> numpy.ndarray:
            name = next(n for n in archive.namelist() if n.startswith(start))
            return numpy.frombuffer(archive.read(name), kind)

        points = array("positions", "f4").reshape(-1, 3)
        offsets = array("offsets", "u8" if any("uint64" in n for n in archive.namelist()) else "u4")
        groups = {}
        for name in archive.namelist():
            if name.startswith("groups/"):
                members = numpy.frombuffer(archive.read(name), "u4")
                stem = name.removeprefix("groups/").split(".")[0]
                ends = [*offsets.tolist(), len(points)]
                groups[stem] = [points[ends[i] : ends[i + 1]] for i in members]
        return groups


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    jobs = parser.add_subparsers(required=True, dest="job")
    job = jobs.add_parser("beside")
    for name in ("person", "head", "out"):
        job.add_argument(name, type=Path)
    job.add_argument("--slice", type=int, dest="k")
    job.add_argument("--turns", type=int, default=0)
    job = jobs.add_parser("bundles")
    for name in ("head", "out"):
        job.add_argument(name, type=Path)
    job.add_argument("--people", type=Path)
    job = jobs.add_parser("template")
    for name in ("mean", "head", "out"):
        job.add_argument(name, type=Path)
    job = jobs.add_parser("truth")
    for name in ("head", "out"):
        job.add_argument(name, type=Path)
    given = vars(parser.parse_args())
    {"beside": beside, "bundles": bundles, "template": template, "truth": truth}[given.pop("job")](**given)


if __name__ == "__main__":
    main()
