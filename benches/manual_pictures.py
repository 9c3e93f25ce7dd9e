#!/usr/bin/env python3
"""The pictures of the manual's pages, taken out of pages that the program has drawn.

    fimbria demo -o demo
    fimbria phantom head --voxel 5 -o head
    fimbria run head/dwi.nii.gz --mask head/mask.nii.gz --set 'run.fits=["peaks","track","msdki"]' \\
      --set connectome.labels=head/labels.nii.gz -o subject
    fimbria phantom head --voxel 6 --shells 60:6,120:6,180:6,400:12,800:12 -o perf
    fimbria fit ivim perf/dwi.nii.gz --mask perf/mask.nii.gz --b0-threshold 0 -o ivim
    fimbria report ivim -o ivim.html
    python3 benches/manual_pictures.py docs/pictures demo/report/report.html subject/report/report.html ivim.html

Of a figure that several pages have the first one's is taken.
"""

import html
import re
import sys
from pathlib import Path

# What a figure says of itself to those who do not see it, or the words below it, and the name of its file.
FIGURES = {
    "Black is 0, white is 1.": "fa",
    "Colour is the direction of V1": "v1",
    "Every maximum of the fibre orientation density": "peaks",
    "The principal direction of each fibre's samples": "sticks",
    "Streamlines through each voxel": "visits",
    "How far diffusion is from Gaussian": "mk",
    "Where the local field is known": "chi",
    "Residual of the field": "residual",
    "Errors before and after": "errors",
    "weights.csv": "matrix",
    "Mean-signal kurtosis": "msk",
    "f: Perfusion fraction": "ivim",
}

# Plots are drawn in the reader's colour of text.
THEME = "<style>svg{color:#23262b}@media(prefers-color-scheme:dark){svg{color:#dfe2e7}}</style>"

folder = Path(sys.argv[1])
folder.mkdir(exist_ok=True)
left = dict(FIGURES)
for page in sys.argv[2:]:
    for figure in re.findall(r"<figure.*?</figure>", Path(page).read_text(), re.S):
        picture = re.search(r"<svg.*?</svg>", figure, re.S)
        if not picture:
            continue
        caption = html.unescape(re.sub("<[^>]+>", "", (re.search(r"<figcaption.*", figure, re.S) or [""])[0]))
        said = html.unescape(re.search(r'aria-label="([^"]*)"', picture[0])[1])
        for start, name in list(left.items()):
            if caption.strip().startswith(start) or said.startswith(start):
                svg = picture[0].replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
                svg = svg.replace(">", ">" + THEME, 1)
                (folder / f"{name}.svg").write_text(svg + "\n")
                print(f"{name}.svg: {len(svg) // 1000} kB")
                del left[start]
                break
if left:
    sys.exit(f"no page has {', '.join(left.values())}")
