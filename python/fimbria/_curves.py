"""Fits of curves over b, as DIPY shapes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ._maps import IvimMaps, MeanSignalKurtosisMaps
from .fits import Fit, Model
from .gradients import as_gradients

Array = npt.NDArray[Any]


def amplitude(fit: Fit, S0: npt.ArrayLike | None) -> Array:
    """The signal without weighting: given, or that of the fit; for each voxel and all volumes."""
    given = fit.maps["S0"] if S0 is None else np.broadcast_to(np.asarray(S0), fit.shape)
    return given[..., None]


class IvimFit(IvimMaps):
    """A fit of intravoxel incoherent motion: `perfusion_fraction`, `D_star` and `D` (mm²/s), `S0_predicted`."""

    @property
    def S0_predicted(self) -> Array:
        """The signal without diffusion weighting."""
        return self.maps["S0"]

    @property
    def perfusion_fraction(self) -> Array:
        """Part of the signal that is of moving blood, 0 to 1."""
        return self.maps["f"]

    @property
    def D_star(self) -> Array:
        """Pseudo-diffusivity of that part, mm²/s."""
        return self.maps["Dstar"]

    @property
    def D(self) -> Array:
        """Diffusivity of the tissue, mm²/s."""
        return self.maps["D"]

    @property
    def model_params(self) -> Array:
        """S0, fraction, D*, D: [..., 4]."""
        return np.stack([self.S0_predicted, self.perfusion_fraction, self.D_star, self.D], axis=-1)

    @classmethod
    def _of_params(cls, model: Model[Any], params: Array) -> IvimFit:
        maps: dict[str, Any] = dict(zip(("S0", "f", "Dstar", "D"), np.moveaxis(params, -1, 0)))
        maps["status"] = np.ones(params.shape[:-1])
        return cls(model.name, maps, model.gtab, model=model)

    def predict(self, gtab: Any = None, S0: npt.ArrayLike | None = None) -> Array:
        """S0 (f exp(-b D*) + (1 - f) exp(-b D)) for a gradient table: [..., volumes]."""
        b = (self.gtab if gtab is None else as_gradients(gtab)).bvals
        part, fast, slow = (x[..., None] for x in (self.perfusion_fraction, self.D_star, self.D))
        return amplitude(self, S0) * (part * np.exp(-b * fast) + (1 - part) * np.exp(-b * slow))


class MeanSignalKurtosisFit(MeanSignalKurtosisMaps):
    """A fit of the mean signal's kurtosis: `msd` (mm²/s), `msk`, and what DIPY derives of them."""

    @property
    def S0_hat(self) -> Array:
        """The signal without diffusion weighting."""
        return self.maps["S0"]

    @property
    def model_params(self) -> Array:
        """MSD and MSK: [..., 2]."""
        return np.stack([self.maps["MSD"], self.maps["MSK"]], axis=-1)

    @property
    def smt2f(self) -> Array:
        """Axonal water fraction, 0 to 1."""
        return self.maps["AWF"]

    @property
    def smt2di(self) -> Array:
        """Intrinsic diffusivity, mm²/s."""
        return self.maps["DI"]

    @property
    def smt2uFA(self) -> Array:
        """Microscopic fractional anisotropy, 0 to 1."""
        return self.maps["MFA"]

    @classmethod
    def _of_params(cls, model: Model[Any], params: Array) -> MeanSignalKurtosisFit:
        maps: dict[str, Any] = {"MSD": params[..., 0], "MSK": params[..., 1], "status": np.ones(params.shape[:-1])}
        return cls(model.name, maps, model.gtab, model=model)

    def predict(self, gtab: Any = None, S0: npt.ArrayLike | None = None) -> Array:
        """S0 exp(-b MSD + b² MSD² MSK / 6) for a gradient table: [..., volumes]."""
        b = (self.gtab if gtab is None else as_gradients(gtab)).bvals
        mean, excess = self.maps["MSD"][..., None], self.maps["MSK"][..., None]
        return amplitude(self, S0) * np.exp(-b * mean + b**2 * mean**2 * excess / 6)
