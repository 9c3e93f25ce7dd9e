"""fimbria: diffusion MRI at full speed, on NumPy arrays.

>>> import fimbria
>>> sorted(fimbria.fit_names())[:3]
['axdki', 'dki', 'dki1d']
"""

from __future__ import annotations

from . import methods, models, programs
from ._core import FimbriaError, __version__, fit_names
from ._curves import IvimFit, MeanSignalKurtosisFit
from ._diffusion import KurtosisFit, TensorFit
from ._fit import FitName, fit
from ._spheres import FibreOrientationFit, HigherOrderTensorFit
from .chunks import track_chunks
from .eigen import Eigenpair, Eigenpairs, eigenpairs
from .fits import STATUS, FimbriaWarning, Fit, Model
from .gradients import Gradients
from .images import Image, load
from .machine import Device, describe, devices, nvrtc
from .methods import *  # noqa: F403
from .models import *  # noqa: F403
from .programs import *  # noqa: F403
from .tractograms import (
    Tractogram,
    TractogramReader,
    TractogramWriter,
    load_tractogram,
    open_tractogram,
)

__all__ = [
    "STATUS",
    "Device",
    "Eigenpair",
    "Eigenpairs",
    "FimbriaError",
    "FimbriaWarning",
    "FibreOrientationFit",
    "Fit",
    "FitName",
    "Gradients",
    "HigherOrderTensorFit",
    "Image",
    "IvimFit",
    "KurtosisFit",
    "MeanSignalKurtosisFit",
    "Model",
    "TensorFit",
    "Tractogram",
    "TractogramReader",
    "TractogramWriter",
    "__version__",
    "describe",
    "devices",
    "eigenpairs",
    "fit",
    "fit_names",
    "load",
    "load_tractogram",
    "nvrtc",
    "open_tractogram",
    "track_chunks",
    *methods.__all__,
    *models.__all__,
    *programs.__all__,
]
