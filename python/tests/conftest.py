import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import fimbria


@pytest.fixture(scope="session")
def program() -> str:
    """The program: that of the wheel, of the repository, or in PATH."""
    target = Path(__file__).parents[2] / "target"
    places = [Path(sys.executable).parent, target / "debug", target / "release"]
    there = [str(place / "fimbria") for place in places if (place / "fimbria").exists()]
    found = there[0] if there else shutil.which("fimbria")
    if found is None:
        if os.environ.get("FIMBRIA_REQUIRE_TOOLS") == "1":
            pytest.fail("the program fimbria is not there")
        pytest.skip("the program fimbria is not there")
    return found


@pytest.fixture(scope="session")
def directions() -> np.ndarray:
    """40 directions spread over the sphere."""
    n = np.arange(40) + 0.5
    z, phi = 1 - 2 * n / 40, np.pi * (1 + 5**0.5) * n
    r = np.sqrt(1 - z**2)
    return np.stack([r * np.cos(phi), r * np.sin(phi), z], axis=1)


@pytest.fixture(scope="session")
def gtab(directions: np.ndarray) -> fimbria.Gradients:
    """Four unweighted volumes, and 40 of b = 700, 1000 and 2000 each."""
    b = np.r_[np.zeros(4), np.repeat([700.0, 1000.0, 2000.0], 40)]
    return fimbria.Gradients(b, np.r_[np.zeros((4, 3)), directions, directions, directions])


@pytest.fixture(scope="session")
def tensors() -> np.ndarray:
    """A field of tensors [5, 4, 3, 3, 3] with known eigenvalues and turned eigenvectors, mm²/s."""
    rng = np.random.default_rng(1)
    shape = (5, 4, 3)
    turned = np.linalg.qr(rng.standard_normal((*shape, 3, 3)))[0]
    values = np.sort(rng.uniform(0.2e-3, 2.0e-3, (*shape, 3)))[..., ::-1]
    return np.einsum("...ik,...k,...jk->...ij", turned, values, turned)


@pytest.fixture(scope="session")
def series(gtab: fimbria.Gradients, tensors: np.ndarray) -> np.ndarray:
    """The signal of `tensors`, without noise, float32 in C order."""
    exponent = np.einsum("ni,...ij,nj->...n", gtab.bvecs, tensors, gtab.bvecs)
    return (1000 * np.exp(-gtab.bvals * exponent)).astype(np.float32)
