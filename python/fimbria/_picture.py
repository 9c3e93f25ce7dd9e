"""Small pictures for notebooks: maps, directions, streamlines, matrices."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

#: Streamlines that a picture shows at most.
MOST_LINES = 2000


def image(pixels: Array, most: int = 200, alt: str = "middle slice") -> str:
    """Pixels [row, column] of grey, or [row, column, 3] of colours, 8 bits, as an <img> of HTML."""
    pixels = np.ascontiguousarray(pixels, dtype=np.uint8)
    height, width = pixels.shape[:2]
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    colour = 2 if pixels.ndim == 3 else 0
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    times = max(1, most // max(width, height))
    text = base64.b64encode(png).decode()
    style = "image-rendering: pixelated"
    return f'<img src="data:image/png;base64,{text}" width="{times * width}" height="{times * height}" style="{style}" alt="{alt}">'


def _scaled(values: Array) -> Array:
    """Values from 0 to 1 between 0, or what lies below, and the 98th percentile of those that are not 0."""
    inside = values[np.isfinite(values) & (values != 0)]
    if inside.size == 0:
        return np.zeros(values.shape)
    low, high = np.percentile(inside, [2, 98])
    low = min(low, 0.0)
    return np.clip((np.nan_to_num(values) - low) / max(high - low, 1e-30), 0, 1)


def _shown(slice_: Array) -> Array:
    """A slice [x, y] or [x, y, 3] as rows of a picture, y upwards, 8 bits."""
    return np.flipud(np.swapaxes((255 * slice_).astype(np.uint8), 0, 1))


def picture(volume: Array) -> str:
    """The middle axial slice; the window is that of the 2nd to 98th percentile."""
    slice_ = volume[:, :, volume.shape[2] // 2]
    grey = slice_ if slice_.ndim == 2 else np.abs(slice_[..., 0])
    scaled = _scaled(grey)
    return image(_shown(scaled)) if scaled.any() else ""


def coloured(directions: Array, values: Array) -> str:
    """The middle axial slice of directions [x, y, z, 3]: red, green and blue by axis, bright by value."""
    middle = directions.shape[2] // 2
    bright = _scaled(values[:, :, middle])[..., None]
    return image(_shown(np.abs(directions[:, :, middle]) * bright), alt="directions of the middle slice")


def drawn(points: Array, offsets: Array, size: int = 240) -> str:
    """Streamlines from three sides, coloured by direction; some of them where they are many."""
    n = len(offsets) - 1
    chosen = np.arange(n) if n <= MOST_LINES else np.linspace(0, n - 1, MOST_LINES).astype(np.int64)
    first, last = offsets[:-1][chosen].astype(np.int64), offsets[1:][chosen].astype(np.int64)
    starts = np.concatenate([np.arange(a, b - 1) for a, b in zip(first, last)] or [np.zeros(0, np.int64)])
    if starts.size == 0:
        return ""
    low, high = points[starts].min(axis=0), points[starts].max(axis=0)
    pixel = max(float((high - low).max()) / (size - 1), 1e-6)
    steps = points[starts + 1] - points[starts]
    lengths = np.linalg.norm(steps, axis=1, keepdims=True)
    ways = np.abs(np.divide(steps, lengths, out=np.zeros_like(steps), where=lengths > 0))
    # A segment is as many dots as pixels, 16 at most.
    times = int(np.clip(np.ceil(lengths.max() / pixel), 1, 16))
    views = []
    for across, up in ((0, 1), (0, 2), (1, 2)):
        sums, counts = np.zeros((size, size, 3)), np.zeros((size, size))
        for k in range(times):
            dots = ((points[starts] + steps * (k / times) - low) / pixel).astype(np.int64)
            place = (np.clip(dots[:, across], 0, size - 1), np.clip(dots[:, up], 0, size - 1))
            np.add.at(sums, place, ways)
            np.add.at(counts, place, 1)
        mean = sums / np.maximum(counts, 1)[..., None]
        views.append(image(_shown(mean), size, alt="streamlines"))
    return "".join(views)


def matrix(values: Array) -> str:
    """A matrix as grey squares, on a logarithmic scale."""
    return image((255 * _scaled(np.log1p(np.maximum(values, 0)))).astype(np.uint8), alt="matrix")


def table(rows: dict[str, Any]) -> str:
    """Names and values."""
    said = {name: f"{value:,}" if isinstance(value, int) else f"{value:.6g}" if isinstance(value, float) else value for name, value in rows.items()}
    return "<table>" + "".join(f"<tr><td>{name}</td><td>{value}</td></tr>" for name, value in said.items()) + "</table>"
