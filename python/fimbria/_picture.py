"""A small picture of a map, for notebooks."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
import numpy.typing as npt


def picture(volume: npt.NDArray[np.float32], most: int = 200) -> str:
    """The middle axial slice as an <img> of HTML; the window is that of the 2nd to 98th percentile."""
    slice_ = volume[:, :, volume.shape[2] // 2]
    grey = slice_ if slice_.ndim == 2 else np.abs(slice_[..., 0])
    inside = grey[np.isfinite(grey) & (grey != 0)]
    if inside.size == 0:
        return ""
    low, high = np.percentile(inside, [2, 98])
    low = min(low, 0.0)
    scaled = np.clip((np.nan_to_num(grey) - low) / max(high - low, 1e-30), 0, 1)
    pixels = np.flipud((255 * scaled).astype(np.uint8).T)
    height, width = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    times = max(1, most // max(width, height))
    text = base64.b64encode(png).decode()
    style = "image-rendering: pixelated"
    return f'<img src="data:image/png;base64,{text}" width="{times * width}" height="{times * height}" style="{style}" alt="middle slice">'
