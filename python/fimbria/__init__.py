"""fimbria: diffusion MRI at full speed, on NumPy arrays.

>>> import fimbria
>>> sorted(fimbria.fit_names())[:3]
['dki', 'dki1d', 'dti']
"""

from __future__ import annotations

from . import methods, models
from ._core import FimbriaError, __version__, fit_names
from ._diffusion import KurtosisFit, TensorFit
from .eigen import Eigenpair, Eigenpairs, eigenpairs
from .fits import STATUS, FimbriaWarning, Fit, Model, fit
from .gradients import Gradients
from .images import Image, load
from .machine import Device, describe, devices
from .methods import *  # noqa: F403
from .models import *  # noqa: F403
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
    "Fit",
    "Gradients",
    "Image",
    "KurtosisFit",
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
    "open_tractogram",
    *methods.__all__,
    *models.__all__,
]
