#!/usr/bin/env python3
"""Histograms of the differences of two folders of maps, as Figure 2 of Palombo et al. (2014) shows
them for MK and Mgamma by CPU and by GPU.

    fimbria fit dki1d DWI --mask MASK -o cpu --device cpu
    fimbria fit dki1d DWI --mask MASK -o gpu --device gpu
    fimbria fit dki1d DWI --mask MASK -o double --precision double
    python3 benches/rivals/differences.py MASK differences.svg MK cpu gpu MK double cpu ...

Triples MAP A B: the map MAP of folder A minus that of folder B, in the voxels of the mask that both
fits settled in (status 1, 2 or 6). Prints shares and percentiles, draws one panel each. Needs nibabel
and numpy.
"""

import sys

import nibabel as nib
import numpy as np

BINS, WIDTH, HEIGHT, MARGIN = 41, 300, 200, 30


def load(path):
    return np.squeeze(np.asarray(nib.load(path).dataobj, dtype=np.float64))


def differences(mask, name, a, b):
    settled = mask.copy()
    for folder in (a, b):
        status = load(f"{folder}/status.nii.gz")
        settled &= np.isin(status, [1, 2, 6])
    return (load(f"{a}/{name}.nii.gz") - load(f"{b}/{name}.nii.gz"))[settled]


def panel(title, d, left):
    """One histogram over the central 98 % of the differences."""
    most = max(np.percentile(np.abs(d), 98), 1e-12)
    counts, _ = np.histogram(np.clip(d, -most, most), bins=BINS, range=(-most, most))
    step = WIDTH / BINS
    bars = "".join(
        f'<rect x="{left + i * step:.1f}" y="{MARGIN + HEIGHT * (1 - c / counts.max()):.1f}" '
        f'width="{step - 0.5:.1f}" height="{HEIGHT * c / counts.max():.1f}" fill="#456"/>'
        for i, c in enumerate(counts)
    )
    text = lambda x, y, s, anchor: (  # noqa: E731
        f'<text x="{x:.0f}" y="{y:.0f}" font-size="12" font-family="sans-serif" '
        f'text-anchor="{anchor}">{s}</text>'
    )
    bottom = MARGIN + HEIGHT
    return (
        bars
        + f'<line x1="{left}" x2="{left + WIDTH}" y1="{bottom}" y2="{bottom}" stroke="black"/>'
        + text(left + WIDTH / 2, 18, title, "middle")
        + text(left, bottom + 16, f"{-most:.1e}", "start")
        + text(left + WIDTH / 2, bottom + 16, "0", "middle")
        + text(left + WIDTH, bottom + 16, f"{most:.1e}", "end")
    )


def main():
    if len(sys.argv) < 6 or (len(sys.argv) - 3) % 3:
        sys.exit(__doc__)
    mask, svg = load(sys.argv[1]) > 0, sys.argv[2]
    triples = [sys.argv[i:i + 3] for i in range(3, len(sys.argv), 3)]
    panels = []
    for place, (name, a, b) in enumerate(triples):
        d = differences(mask, name, a, b)
        size = np.percentile(np.abs(d), [50, 99, 100])
        print(f"{name} {a} - {b}: {d.size} voxels, {np.mean(d == 0):.1%} equal to the bit, |difference| "
              f"median {size[0]:.1e}, 99 % {size[1]:.1e}, largest {size[2]:.1e}")
        panels.append(panel(f"{name}: {a} - {b}", d, MARGIN + place * (WIDTH + 2 * MARGIN)))
    width = len(panels) * (WIDTH + 2 * MARGIN)
    with open(svg, "w", encoding="utf-8") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
                   f'height="{HEIGHT + 2 * MARGIN}">'
                   f'<rect width="100%" height="100%" fill="white"/>{"".join(panels)}</svg>\n')


if __name__ == "__main__":
    main()
