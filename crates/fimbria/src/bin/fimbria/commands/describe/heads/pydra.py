"""The commands of fimbria as tasks of pydra 1. Written by
`fimbria describe --format pydra` of fimbria VERSION: not to be edited.

Where no gradient table is named, it is found beside the series; name it (bval, bvec) where results are cached.
"""

import glob
import os

from fileformats.generic import FsObject
from pydra.compose import shell

__all__ = [
CLASSES]

FOUND


def _written(option, is_file, names=None, is_many=False):
    """What gives the files of these names that a task wrote, or all that it wrote."""

    def files(inputs, cache_dir):
        written = os.path.join(cache_dir, inputs[option] if isinstance(inputs, dict) else getattr(inputs, option))
        return written if names is None else _found(written, is_file, names, is_many)

    return files
