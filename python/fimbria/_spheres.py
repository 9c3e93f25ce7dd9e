"""Fits that give a function on the sphere."""

from __future__ import annotations

from math import factorial, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core
from ._maps import FibreOrientationMaps, HigherOrderTensorMaps
from .gradients import as_gradients

Array = npt.NDArray[Any]


def along(entries: Array, sphere: Any) -> Array:
    """A symmetric tensor's form in directions, from its unique entries [..., n]: [..., directions]."""
    dirs = np.asarray(getattr(sphere, "vertices", sphere), dtype=np.float64)
    n = entries.shape[-1]
    order = next(order for order in range(2, 17) if (order + 1) * (order + 2) // 2 == n)
    columns = []
    for index in _core.index_classes(order, 3):
        # How many entries of the whole tensor are this one.
        times = factorial(order) // prod(factorial(index.count(axis)) for axis in range(3))
        columns.append(times * np.prod(dirs[:, index], axis=1))
    return entries @ np.array(columns)


def anisotropy_of_harmonics(harmonics: Array) -> Array:
    """Generalised fractional anisotropy √(1 - mean² / mean square), from orthonormal harmonics [..., n]."""
    square = np.square(harmonics.astype(np.float64)).sum(axis=-1)
    return _anisotropy(np.square(harmonics[..., 0].astype(np.float64)), square)


def anisotropy_of_entries(entries: Array) -> Array:
    """The same from the unique entries of a symmetric tensor [..., n], whose form is the function."""
    n = entries.shape[-1]
    order = next(order for order in range(2, 17) if (order + 1) * (order + 2) // 2 == n)
    powers = [[index.count(axis) for axis in range(3)] for index in _core.index_classes(order, 3)]
    weights = np.array([factorial(order) // prod(map(factorial, power)) for power in powers], dtype=np.float64)
    one = weights * [_moment(power) for power in powers]
    two = np.outer(weights, weights) * [[_moment([a + b for a, b in zip(p, q)]) for q in powers] for p in powers]
    entries = entries.astype(np.float64)
    return _anisotropy(np.square(entries @ one), np.einsum("...i,ij,...j->...", entries, two, entries))


def _moment(power: list[int]) -> float:
    """The mean of x^a y^b z^c over the sphere."""
    if any(a % 2 for a in power):
        return 0.0
    odd = [prod(range(a - 1, 0, -2)) for a in power]
    return prod(odd) / prod(range(sum(power) + 1, 0, -2))


def _anisotropy(mean_square: Array, square_mean: Array) -> Array:
    share = np.divide(mean_square, square_mean, out=np.ones_like(square_mean), where=square_mean > 0)
    return np.sqrt(np.clip(1 - share, 0, 1))


class FibreOrientationFit(FibreOrientationMaps):
    """Fibre orientation densities: `fod` are their harmonics, MRtrix3's basis and order."""

    @property
    def shm_coeff(self) -> Array:
        """The harmonics, as DIPY calls them; MRtrix3's basis and order: [..., n]."""
        return self.maps["fod"]

    def odf(self, sphere: Any) -> Array:
        """The density in directions (a sphere of DIPY, or an array [n, 3]): [..., n]."""
        return along(self.maps["hot"], sphere)


class HigherOrderTensorFit(HigherOrderTensorMaps):
    """A diffusivity of order 4, 6 or 8: `hot` are its unique entries."""

    @property
    def S0_hat(self) -> Array:
        """The signal without diffusion weighting."""
        return self.maps["S0"]

    def adc(self, sphere: Any) -> Array:
        """The diffusivity along directions (a sphere of DIPY, or an array [n, 3]), mm²/s: [..., n]."""
        return along(self.maps["hot"], sphere)

    def predict(self, gtab: Any = None, S0: npt.ArrayLike | None = None) -> Array:
        """S0 exp(-b D(n)) for a gradient table: [..., volumes]."""
        table = self.gtab if gtab is None else as_gradients(gtab)
        amplitude = self.S0_hat if S0 is None else np.broadcast_to(np.asarray(S0), self.shape)
        return amplitude[..., None] * np.exp(-table.bvals * self.adc(table.bvecs))
