"""Fits of the diffusion tensor and of kurtosis, as DIPY shapes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ._maps import KurtosisMaps, TensorMaps
from .fits import Model
from .gradients import as_gradients

Array = npt.NDArray[Any]

# xx xy xz yy yz zz as rows and columns of a matrix.
_MATRIX = np.array([[0, 1, 2], [1, 3, 4], [2, 4, 5]])


class TensorFit(TensorMaps):
    """A fit of the diffusion tensor: fa md ad rd, evals evecs, mode, S0_hat and more.

    Diffusivities are in mm²/s, directions in the axes of the gradient table.
    """

    @property
    def evals(self) -> Array:
        """Eigenvalues, the largest first: [..., 3]."""
        return np.stack([self.maps[name] for name in ("L1", "L2", "L3")], axis=-1)

    @property
    def evecs(self) -> Array:
        """Unit eigenvectors as columns: [..., component, eigenvalue]."""
        return np.stack([self.maps[name] for name in ("V1", "V2", "V3")], axis=-1)

    @property
    def directions(self) -> Array:
        """The principal direction: [..., 1, 3]."""
        return self.maps["V1"][..., None, :]

    @property
    def quadratic_form(self) -> Array:
        """The tensor as a matrix: [..., 3, 3]."""
        return self.maps["tensor"][..., _MATRIX]

    def lower_triangular(self, b0: float | None = None) -> Array:
        """Dxx Dxy Dyy Dxz Dyz Dzz, followed by -ln(b0) where it is given."""
        lower = self.maps["tensor"][..., [0, 1, 3, 2, 4, 5]]
        if b0 is None:
            return lower
        last = np.full((*lower.shape[:-1], 1), -np.log(b0), dtype=lower.dtype)
        return np.concatenate([lower, last], axis=-1)

    @property
    def mode(self) -> Array:
        """From -1 (planar) to 1 (linear)."""
        if "MO" in self.maps:
            return self.maps["MO"]
        part = self.evals - self.evals.mean(axis=-1, keepdims=True)
        size = np.linalg.norm(part, axis=-1)
        return np.divide(3 * np.sqrt(6) * part.prod(axis=-1), size**3, out=np.zeros_like(size), where=size > 0)

    @property
    def S0_hat(self) -> Array:
        """The signal without diffusion weighting."""
        return self.maps["S0"]

    @property
    def model_params(self) -> Array:
        """Eigenvalues, then the rows of `evecs`: [..., 12]."""
        vectors = self.evecs
        return np.concatenate([self.evals, vectors.reshape(*vectors.shape[:-2], 9)], axis=-1)

    @classmethod
    def _of_params(cls, model: Model[Any], params: Array) -> TensorFit:
        vectors = params[..., 3:12].reshape(*params.shape[:-1], 3, 3)
        form = np.einsum("...ik,...k,...jk->...ij", vectors, params[..., :3], vectors)
        rows, columns = np.triu_indices(3)
        maps: dict[str, Any] = {"tensor": form[..., rows, columns], "status": np.ones(params.shape[:-1])}
        if params.shape[-1] == 27:
            maps["kurtosis"] = params[..., 12:][..., [_DIPY_ORDER.index(entry) for entry in _CLASSES]]
        return cls(model.name, maps, model.gtab, model=model)

    @property
    def ga(self) -> Array:
        """Geodesic anisotropy, √Σ (ln λ - mean ln λ)²; 0 where an eigenvalue is not positive."""
        values = self.evals
        usable = (values > 0).all(axis=-1, keepdims=True)
        logs = np.log(np.where(usable, values, 1.0))
        return np.sqrt(np.square(logs - logs.mean(axis=-1, keepdims=True)).sum(axis=-1))

    @property
    def trace(self) -> Array:
        """Three times the mean diffusivity."""
        return 3 * self.maps["MD"]

    @property
    def linearity(self) -> Array:
        """(λ1 - λ2) / (λ1 + λ2 + λ3)."""
        return self._share(self.evals[..., 0] - self.evals[..., 1])

    @property
    def planarity(self) -> Array:
        """2 (λ2 - λ3) / (λ1 + λ2 + λ3)."""
        return self._share(2 * (self.evals[..., 1] - self.evals[..., 2]))

    @property
    def sphericity(self) -> Array:
        """3 λ3 / (λ1 + λ2 + λ3)."""
        return self._share(3 * self.evals[..., 2])

    def _share(self, part: Array) -> Array:
        trace = self.evals.sum(axis=-1)
        return np.divide(part, trace, out=np.zeros_like(part), where=trace != 0)

    @property
    def color_fa(self) -> Array:
        """FA times |V1|, red green blue from 0 to 1: [..., 3]."""
        return np.clip(self.maps["FA"], 0, 1)[..., None] * np.abs(self.maps["V1"])

    def adc(self, sphere: Any) -> Array:
        """The diffusivity along directions (a sphere of DIPY, or an array [n, 3]): [..., n]."""
        dirs = np.asarray(getattr(sphere, "vertices", sphere), dtype=np.float64)
        return np.einsum("ni,...ij,nj->...n", dirs, self.quadratic_form, dirs)

    def odf(self, sphere: Any) -> Array:
        """The orientation distribution of the tensor, 1 / (4π √|D| (uᵀD⁻¹u)^{3/2}): [..., n]."""
        dirs = np.asarray(getattr(sphere, "vertices", sphere), dtype=np.float64)
        form = self.quadratic_form.astype(np.float64)
        determinant = np.linalg.det(form)
        usable = (self.maps["status"] != 0) & (determinant > 0)
        odf = np.zeros((*self.shape, len(dirs)))
        inverse = np.linalg.inv(form[usable])
        square = np.einsum("ni,vij,nj->vn", dirs, inverse, dirs)
        odf[usable] = 1 / (4 * np.pi * np.sqrt(determinant[usable])[:, None] * square**1.5)
        return odf

    def predict(self, gtab: Any = None, S0: npt.ArrayLike | None = None) -> Array:
        """The signal that the model gives for a gradient table: [..., volumes]."""
        table = self.gtab if gtab is None else as_gradients(gtab)
        signal = np.exp(-table.bvals * self.adc(table.bvecs))
        amplitude = self.S0_hat if S0 is None else np.broadcast_to(np.asarray(S0), self.shape)
        return amplitude[..., None] * signal


# Entries of W in this package's order, as index classes.
_CLASSES = [
    "xxxx", "xxxy", "xxxz", "xxyy", "xxyz", "xxzz", "xyyy", "xyyz", "xyzz", "xzzz",
    "yyyy", "yyyz", "yyzz", "yzzz", "zzzz",
]  # fmt: skip
_DIPY_ORDER = [
    "xxxx", "yyyy", "zzzz", "xxxy", "xxxz", "xyyy", "yyyz", "xzzz", "yzzz",
    "xxyy", "xxzz", "yyzz", "xxyz", "xyyz", "xyzz",
]  # fmt: skip


#: What DIPY's `mkt` and `rtk` are clipped to where nothing is said.
_DIPY_RANGE = (-3 / 7, 10.0)
#: mm²/s: what DIPY takes for no diffusion.
_DIPY_LEAST = 2e-7


def _multiplicity(entry: str) -> int:
    """How many entries of the whole tensor are this one."""
    times = 24
    for axis in "xyz":
        times //= (1, 1, 2, 6, 24)[entry.count(axis)]
    return times


class KurtosisFit(KurtosisMaps, TensorFit):
    """A fit of diffusion kurtosis: mk() ak() rk() mkt(), kfa, kt, and what a tensor fit has."""

    @property
    def evals(self) -> Array:
        """Eigenvalues, the largest first: [..., 3]."""
        return np.linalg.eigvalsh(self.quadratic_form)[..., ::-1]

    @property
    def evecs(self) -> Array:
        """Unit eigenvectors as columns: [..., component, eigenvalue]."""
        return np.linalg.eigh(self.quadratic_form)[1][..., ::-1]

    def mk(self, min_kurtosis: float = -np.inf, max_kurtosis: float = np.inf) -> Array:
        """Mean kurtosis, within limits; the fit has clipped it already, see its option `clip`."""
        return np.clip(self.maps["MK"], min_kurtosis, max_kurtosis)

    def ak(self, min_kurtosis: float = -np.inf, max_kurtosis: float = np.inf) -> Array:
        """Axial kurtosis, within limits."""
        return np.clip(self.maps["AK"], min_kurtosis, max_kurtosis)

    def rk(self, min_kurtosis: float = -np.inf, max_kurtosis: float = np.inf) -> Array:
        """Radial kurtosis, within limits."""
        return np.clip(self.maps["RK"], min_kurtosis, max_kurtosis)

    def _within(self, values: Array, min_kurtosis: float | None, max_kurtosis: float | None) -> Array:
        """Clipped; where no limits are given, to DIPY's usual ones if the model follows DIPY."""
        low, high = _DIPY_RANGE if self._is_dipys else (-np.inf, np.inf)
        return np.clip(values, low if min_kurtosis is None else min_kurtosis, high if max_kurtosis is None else max_kurtosis)

    def _known(self, values: Array, least: Array) -> Array:
        """The values; of a model that follows DIPY 0 where it takes the least eigenvalue for none."""
        return np.where(least > _DIPY_LEAST, values, 0) if self._is_dipys else values

    @property
    def _is_dipys(self) -> bool:
        options = {} if self.model is None else self.model.options
        return str(options.get("compat")).lower() == "dipy"

    def mkt(self, min_kurtosis: float | None = None, max_kurtosis: float | None = None) -> Array:
        """Mean of the kurtosis tensor, within limits: none by default, -3/7 to 10 with compat="dipy"."""
        return self._within(self.maps["MKT"], min_kurtosis, max_kurtosis)

    def akc(self, sphere: Any) -> Array:
        """Kurtosis along directions (a sphere of DIPY, or an array [n, 3]), MD² W(n) / D(n)²: [..., n].

        With compat="dipy" -3/7 at least, and 0 where an eigenvalue is not positive, as DIPY's.
        """
        dirs = np.asarray(getattr(sphere, "vertices", sphere), dtype=np.float64)
        mean = np.trace(self.quadratic_form, axis1=-2, axis2=-1)[..., None] / 3
        diffusivity = self.adc(dirs)
        whole = mean**2 * self._form(dirs)
        along = np.divide(whole, diffusivity**2, out=np.zeros_like(whole), where=diffusivity > 0)
        return self._within(self._known(along, self.evals[..., 2, None]), None, np.inf)

    def _form(self, dirs: Array) -> Array:
        """W along directions: [..., n]."""
        columns = [
            _multiplicity(entry) * np.prod([dirs[:, "xyz".index(axis)] for axis in entry], axis=0)
            for entry in _CLASSES
        ]
        return np.einsum("...e,en->...n", self.maps["kurtosis"], np.array(columns))

    @property
    def model_params(self) -> Array:
        """Those of the tensor, then `kt`: [..., 27]."""
        return np.concatenate([super().model_params, self.kt], axis=-1)

    def rtk(self, min_kurtosis: float | None = None, max_kurtosis: float | None = None) -> Array:
        """MD² / RD² times the mean of the kurtosis tensor across the principal direction, within limits as of `mkt`.

        Hansen B et al. Magn Reson Med 69, 1754 (2013).
        """
        vectors, values = self.evecs, self.evals
        angles = np.pi * np.arange(5) / 5  # a form of order 4 is averaged exactly by five directions
        across = np.cos(angles) * vectors[..., :, 1, None] + np.sin(angles) * vectors[..., :, 2, None]
        columns = [
            _multiplicity(entry) * np.prod([across[..., "xyz".index(axis), :] for axis in entry], axis=0)
            for entry in _CLASSES
        ]
        mean = np.einsum("...e,e...n->...n", self.maps["kurtosis"], np.array(columns)).mean(axis=-1)
        radial = values[..., 1:].mean(axis=-1)
        scale = np.divide(values.mean(axis=-1), radial, out=np.zeros_like(radial), where=radial > 0)
        return self._within(self._known(scale**2 * mean, values[..., 2]), min_kurtosis, max_kurtosis)

    @property
    def kfa(self) -> Array:
        """Kurtosis fractional anisotropy."""
        return self.maps["KFA"]

    @property
    def kt(self) -> Array:
        """The 15 entries of the kurtosis tensor in DIPY's order; `maps["kurtosis"]` has fimbria's."""
        return self.maps["kurtosis"][..., [_CLASSES.index(entry) for entry in _DIPY_ORDER]]

    def predict(self, gtab: Any = None, S0: npt.ArrayLike | None = None) -> Array:
        """S0 exp(-b D + b² MD² W / 6) for a gradient table: [..., volumes]."""
        table = self.gtab if gtab is None else as_gradients(gtab)
        n = table.bvecs
        kurtosis = self._form(n)
        mean = np.trace(self.quadratic_form, axis1=-2, axis2=-1)[..., None] / 3
        exponent = -table.bvals * self.adc(n) + table.bvals**2 * mean**2 * kurtosis / 6
        amplitude = self.S0_hat if S0 is None else np.broadcast_to(np.asarray(S0), self.shape)
        return amplitude[..., None] * np.exp(exponent)
