#!/usr/bin/env python3
"""The pictures of the manual's pages, taken out of a page that the program has drawn.

    fimbria demo -o demo && python3 benches/manual_pictures.py demo/report/report.html docs/pictures
"""

import html
import re
import sys
from pathlib import Path

# What a figure says of itself, and the name of its file.
FIGURES = {
    "Black is 0, white is 1.": "fa",
    "Colour is the direction of V1": "v1",
    "Every maximum of the fibre orientation density": "peaks",
    "The principal direction of each fibre's samples": "sticks",
    "Streamlines through each voxel": "visits",
    "How far diffusion is from Gaussian": "mk",
    "Where the local field is known": "chi",
}

page, folder = Path(sys.argv[1]).read_text(), Path(sys.argv[2])
folder.mkdir(exist_ok=True)
for figure in re.findall(r"<figure.*?</figure>", page, re.S):
    caption = html.unescape(re.sub("<[^>]+>", "", (re.search(r"<figcaption.*", figure, re.S) or [""])[0]))
    for start, name in FIGURES.items():
        picture = re.search(r"<svg.*?</svg>", figure, re.S)
        if picture and caption.strip().startswith(start):
            svg = picture[0].replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
            (folder / f"{name}.svg").write_text(svg + "\n")
            print(f"{name}.svg: {len(svg) // 1000} kB")
