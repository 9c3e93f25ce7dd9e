"""What others run around fits: pools of processes and threads, many fits one after another, files in place."""

import sys
import threading

import numpy as np
import pytest

import fimbria


def fa_of(data):
    table, series = data
    return fimbria.TensorModel(table).fit(series, threads=2).fa


@pytest.fixture
def work(gtab, series):
    return [((gtab.bvals, gtab.bvecs), series)] * 4, fimbria.TensorModel(gtab).fit(series).fa


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_workers_of_joblib_fit(work, backend):
    joblib = pytest.importorskip("joblib")
    jobs, expected = work
    made = joblib.Parallel(n_jobs=2, backend=backend, timeout=300)(joblib.delayed(fa_of)(job) for job in jobs)
    for fa in made:
        np.testing.assert_array_equal(fa, expected)


@pytest.mark.parametrize("scheduler", ["threads", "processes"])
def test_workers_of_dask_fit(work, scheduler):
    dask = pytest.importorskip("dask")
    jobs, expected = work
    made = dask.compute(*[dask.delayed(fa_of)(job) for job in jobs], scheduler=scheduler, num_workers=2)
    for fa in made:
        np.testing.assert_array_equal(fa, expected)


def resident() -> int:
    """Bytes of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is asked of Linux")
def test_a_thousand_fits_do_not_grow_memory(gtab, series):
    model = fimbria.TensorModel(gtab)
    for _ in range(200):
        model.fit(series, threads=2)
    before, threads = resident(), threading.active_count()
    for _ in range(1000):
        model.fit(series, threads=2)
    # What a fit gives has 22 volumes of 60 voxels, 5 kB, and its threads have stacks of 2 MB: a thousand of
    # either left behind would be 5 MB or more. Pages of the allocator come and go within less.
    assert resident() - before < 4e6
    assert threading.active_count() == threads


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is asked of Linux")
def test_a_memmapped_image_is_read_where_it_lies(tmp_path, gtab):
    nibabel = pytest.importorskip("nibabel")
    shape = (64, 64, 40)
    rng = np.random.default_rng(2)
    data = rng.uniform(100, 200, (*shape, len(gtab))).astype(np.float32)
    nibabel.save(nibabel.Nifti1Image(data, np.eye(4)), tmp_path / "dwi.nii")
    size = data.nbytes
    del data
    image = nibabel.load(tmp_path / "dwi.nii")
    mask = np.zeros(shape, dtype=bool)
    mask[:, :, 20] = True
    fimbria.TensorModel(gtab).fit(np.asarray(image.dataobj[:2, :2, :2]), threads=2)
    before = anonymous()
    made = fimbria.TensorModel(gtab, maps=["FA"]).fit(image, mask=mask, threads=2)
    # The two maps in and out and the work of the threads, but no copy of the series of 81 MB.
    assert anonymous() - before < size / 4
    assert made.counts["fitted"] > 0


def anonymous() -> int:
    """Bytes of this process that are no pages of files."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("RssAnon"))
