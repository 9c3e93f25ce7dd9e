"""fimbria: diffusion MRI at full speed, on NumPy arrays.

>>> import fimbria
>>> sorted(fimbria.fit_names())[:3]
['dki', 'dki1d', 'dti']
"""

from __future__ import annotations

from . import models
from ._core import FimbriaError, __version__, fit_names
from ._diffusion import KurtosisFit, TensorFit
from .eigen import Eigenpair, Eigenpairs, eigenpairs
from .fits import STATUS, FimbriaWarning, Fit, Model, fit
from .gradients import Gradients
from .images import Image, load
from .models import *  # noqa: F403

__all__ = [
    "STATUS",
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
    "__version__",
    "eigenpairs",
    "fit",
    "fit_names",
    "load",
    *models.__all__,
]
