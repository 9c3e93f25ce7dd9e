import numpy as np
import pytest

import fimbria


def test_pairs_of_a_matrix_are_its_eigenpairs():
    rng = np.random.default_rng(2)
    a = rng.standard_normal((4, 4))
    a = a + a.T
    pairs = fimbria.eigenpairs(a)
    assert pairs.complete
    np.testing.assert_allclose(sorted(p.value for p in pairs), np.linalg.eigvalsh(a), atol=1e-12)


def test_pairs_of_order_four_solve_the_equation_and_none_is_missing():
    # Kolda and Mayo 2011, example 3.5: a tensor of order 3.
    a = np.zeros((3, 3, 3))
    entries = {
        (0, 0, 0): -0.1281, (0, 0, 1): 0.0516, (0, 0, 2): -0.0954, (0, 1, 1): -0.1958, (0, 1, 2): -0.1790,
        (0, 2, 2): -0.2676, (1, 1, 1): 0.3251, (1, 1, 2): 0.2513, (1, 2, 2): 0.1773, (2, 2, 2): 0.0338,
    }  # fmt: skip
    from itertools import permutations

    for index, value in entries.items():
        for p in permutations(index):
            a[p] = value
    pairs = fimbria.eigenpairs(a)
    # The largest of the paper's table, to its four digits.
    assert max(p.value for p in pairs) == pytest.approx(0.8730, abs=1e-4)
    for p in pairs:
        np.testing.assert_allclose(np.einsum("ijk,j,k->i", a, p.vector, p.vector), p.value * p.vector, atol=1e-10)


def test_batches_and_what_is_not_symmetric():
    many = fimbria.eigenpairs(np.stack([np.eye(2) * k + np.diag([1.0, 0.0]) for k in range(3)]), batch=True)
    assert [max(p.value for p in one) for one in many] == pytest.approx([1, 2, 3])
    with pytest.raises(ValueError, match="not symmetric"):
        fimbria.eigenpairs([[1.0, 2.0], [3.0, 4.0]])
