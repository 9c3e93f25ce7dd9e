#!/usr/bin/env python3
"""How many times as fast as other programs: the chart of the README and the
table of docs/speed.md, from the records in benches/runs.

    python3 benches/chart.py            # writes docs/speed.svg, and the table between marks in docs/speed.md
    python3 benches/chart.py --check    # fails where they are not what the records say

A row names a record and finds in it what the other program and fimbria took (seconds, microseconds a voxel), or
did a second. Nothing is measured here.
"""

import math
import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
EPYC, XEON = "2026-11-21-epyc-2core", "2026-11-22-xeon-2core"
MODELS = "2026-11-28-epyc-2core"


class Row(NamedTuple):
    what: str
    rival: str
    record: str
    pattern: str
    unit: str
    is_rate: bool = False
    is_first: bool = True  # ours is the first number
    in_readme: bool = False


ROWS = [
    Row("tensor, whole command", "MRtrix3 dwi2tensor", f"{EPYC}/rivals-dti.txt", r"simulated brain.*?MRtrix3 default.*?user CPU ([\d.]+) s against ([\d.]+) s", "s"),
    Row("tensor and all its maps", "DIPY TensorModel", f"{EPYC}/rivals-dti.txt", r"simulated brain.*?DIPY WLS.*?user CPU ([\d.]+) s against ([\d.]+) s", "s", in_readme=True),
    Row("kurtosis, whole command", "MRtrix3 dwi2tensor -dkt", f"{EPYC}/rivals-dki.txt", r"147,624 voxels, 134.*?MRtrix3 -iter 0.*?user CPU ([\d.]+) s against ([\d.]+) s", "s"),
    Row("kurtosis", "DIPY DiffusionKurtosisModel", f"{EPYC}/rivals-dki.txt", r"147,624 voxels, 134.*?DIPY WLS.*?user CPU ([\d.]+) s against ([\d.]+) s", "s", in_readme=True),
    Row("densities of three tissues", "MRtrix3 dwi2fod msmt_csd", f"{EPYC}/rivals-fod.txt", r"fimbria \(auto\)[^\n]*\|\s+([\d.]+)\n.*?dwi2fod msmt_csd[^\n]*\|\s+([\d.]+)\n", "µs a voxel", in_readme=True),
    Row("NODDI, whole command", "AMICO's fit", f"{MODELS}/rivals-noddi.txt", r"default: ([\d.]+) µs, AMICO: (\d+)", "µs a voxel"),
    Row("free water", "DIPY FreeWaterTensorModel", f"{MODELS}/rivals-models.txt", r"free water, NLS\s+([\d.]+)\s+(\d+)", "µs a voxel"),
    Row("tissue of bundles from kurtosis", "DIPY KurtosisMicrostructureModel", f"{MODELS}/rivals-models.txt", r"tissue of bundles\s+([\d.]+)\s+(\d+)", "µs a voxel"),
    Row("propagators, order 6", "DIPY MapmriModel", f"{MODELS}/rivals-models.txt", r"MAP-MRI 6, 0.2\s+([\d.]+)\s+(\d+)", "µs a voxel"),
    Row("peaks of densities", "MRtrix3 sh2peaks", f"{EPYC}/rivals-peaks.txt", r"sh2peaks\s+([\d.]+) s.*?fimbria maxima\s+([\d.]+) s", "s", is_first=False, in_readme=True),
    Row("streamlines (transport, the default)", "MRtrix3 tckgen iFOD2", "2026-11-26-epyc-2core/rivals-tracking.txt", r"tckgen iFOD2[^\n]*?(\d+)\n.*?fimbria transport[^\n]*?(\d+)\n", "a second", is_rate=True, is_first=False, in_readme=True),
    Row("streamlines, probabilistic", "MRtrix3 tckgen iFOD2", "2026-11-26-epyc-2core/rivals-tracking.txt", r"tckgen iFOD2[^\n]*?(\d+)\nfimbria probabilistic[^\n]*?(\d+)\n", "a second", is_rate=True, is_first=False),
    Row("streamlines, deterministic", "MRtrix3 tckgen SD_STREAM", "2026-11-26-epyc-2core/rivals-tracking.txt", r"tckgen SD_STREAM[^\n]*?(\d+)\n.*?fimbria, its step[^\n]*?(\d+)\n", "a second", is_rate=True, is_first=False),
    Row("weights of streamlines (LiFE)", "DIPY FiberModel", f"{XEON}/rivals-life.txt", r"DIPY, exact directions\s+([\d.]+) s.*?grid:360 --rank auto\s+([\d.]+) s", "s", is_first=False, in_readme=True),
    Row("weights of streamlines, to 0.1 %", "COMMIT", f"{XEON}/rivals-life.txt", r"COMMIT to 0.1 %\s+([\d.]+) s.*?rank full[^\n]*\nfimbria life to 0.1 %\s+([\d.]+) s", "s", is_first=False),
]


def numbers(row):
    """What fimbria took, and what the other program did."""
    found = re.search(row.pattern, (ROOT / "benches/runs" / row.record).read_text(), re.S)
    if not found:
        sys.exit(f"benches/runs/{row.record} has no line for {row.rival}")
    ours, theirs = map(float, found.groups() if row.is_first else found.groups()[::-1])
    return ours, theirs


def times(row):
    ours, theirs = numbers(row)
    return ours / theirs if row.is_rate else theirs / ours


def rounded(ratio):
    return f"{ratio:.1f}" if ratio < 10 else f"{ratio:.0f}"


def table(rows):
    lines = ["| | fimbria | beside it | |", "|---|---|---|---|"]
    for row in rows:
        ours, theirs = (f"{number:,.10g} {row.unit}" for number in numbers(row))
        record = f"[{rounded(times(row))} times](UP/benches/runs/{row.record})"
        lines.append(f"| {row.what} | {ours} | {row.rival}: {theirs} | **{record}** |")
    return "\n".join(lines)


def chart(rows):
    """Bars on an axis of powers of ten."""
    width, left, right, top, step = 760, 250, 70, 34, 30
    most = 3.0  # 10^3
    height = top + step * len(rows) + 34
    x = lambda ratio: left + (width - left - right) * math.log10(ratio) / most
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="system-ui, sans-serif" font-size="13">',
        "<title>How many times as fast as other programs</title>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#fcfcfa"/>',
        f'<text x="16" y="21" fill="#1f2328" font-weight="600">Processor time of other programs, in units of fimbria\'s</text>',
    ]
    for power in range(4):
        at = x(10**power)
        parts.append(f'<line x1="{at:.1f}" y1="{top}" x2="{at:.1f}" y2="{height - 28}" stroke="#d9d9d4"/>')
        parts.append(f'<text x="{at:.1f}" y="{height - 11}" fill="#59636e" text-anchor="middle">{10**power:,}×</text>')
    for number, row in enumerate(rows):
        y, ratio = top + step * number + 5, times(row)
        parts.append(f'<text x="{left - 8}" y="{y + 9}" fill="#1f2328" text-anchor="end">{row.what}</text>')
        parts.append(f'<text x="{left - 8}" y="{y + 22}" fill="#59636e" font-size="11" text-anchor="end">{row.rival}</text>')
        parts.append(f'<rect x="{left}" y="{y}" width="{x(ratio) - left:.1f}" height="20" rx="2" fill="#2f6f8f"/>')
        parts.append(f'<text x="{x(ratio) + 6:.1f}" y="{y + 15}" fill="#1f2328" font-weight="600">{rounded(ratio)}×</text>')
    return "\n".join([*parts, "</svg>", ""])


def between_marks(text, table_):
    marked = re.compile(r"(<!-- from benches/chart\.py -->\n).*?(<!-- end -->)", re.S)
    if not marked.search(text):
        sys.exit("no marks for the table")
    return marked.sub(lambda found: f"{found[1]}\n{table_}\n\n{found[2]}", text)


def main():
    page = ROOT / "docs/speed.md"
    made = {
        ROOT / "docs/speed.svg": chart([row for row in ROWS if row.in_readme]),
        page: between_marks(page.read_text(), table(ROWS).replace("UP", "..")),
    }
    for path, text in made.items():
        if "--check" not in sys.argv:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            sys.exit(f"{path.relative_to(ROOT)} is not what the records say: run benches/chart.py")


if __name__ == "__main__":
    main()
