"""Ctrl-C and exceptions of callbacks: how soon they are answered, and what they leave.

python test_interrupts.py     # the delay of each method
"""

import os
import signal
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import fimbria

#: Seconds after which an interrupt must be answered. On an idle machine it takes up to 0.2 s (README.md); a busy
#: one gives threads their turn later. None of the works below ends by itself within it.
BOUND = 1.0
#: Seconds of work before the interrupt.
WAIT = 0.15


def table(b, seed=0):
    ways = np.random.default_rng(seed).standard_normal((len(b), 3))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    return fimbria.Gradients(b, np.where(np.asarray(b)[:, None] > 0, ways, 0), frame="voxel")


SHELLS = table(np.r_[np.zeros(4), np.repeat([700.0, 1000.0, 2000.0], 20)])
REPEATS = fimbria.Gradients(np.r_[0, 0, np.repeat([500.0, 1000, 1500, 2000], 3)], np.r_[np.zeros((2, 3)), np.tile(np.eye(3), (4, 1))])
SMALL_B = fimbria.Gradients(np.r_[0, 10, 20, 40, np.repeat([80.0, 400, 1000], 12)], np.r_[np.zeros((1, 3)), np.tile([1.0, 0, 0], (39, 1))], b0_threshold=0)
OPTIONS = {
    "fod": {"tissues": "white", "order": 4},
    "expr": {"model": "S0*exp(-b*D)+C", "param": {"S0": (500, 0, None), "D": (2, 0, 10), "C": (0, 0, 300)}},
}


def signals(gtab, n):
    """Noisy signals [40, 40, n, volumes] of tensors in all directions."""
    rng = np.random.default_rng(1)
    ways = rng.standard_normal((1600, 3))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    decay = gtab.bvals * (3e-4 + 1.2e-3 * (ways @ gtab.bvecs.T) ** 2)
    slice_ = 1000 * np.exp(-decay + decay**2 / 12) + rng.normal(0, 20, decay.shape)
    return np.repeat(slice_.astype(np.float32).reshape(40, 40, 1, -1), n, axis=2)


def fit_of(name):
    gtab = {"ivim": SMALL_B, "dki1d": REPEATS, "stremi1d": REPEATS}.get(name, SHELLS)

    def made(size):
        data = signals(gtab, 8 * size)
        return lambda **on: fimbria.fit(name, data, gtab, threads=1, **OPTIONS.get(name, {}), **on)

    return made


def harmonics(n):
    """Densities of lobes in all directions."""
    rng = np.random.default_rng(2)
    some = rng.normal(0, 0.1, (20, 20, n, 45)).astype(np.float32)
    some[..., 0] = 0.28
    some[..., 3] += 0.6
    return some


def peaks(size):
    data = harmonics(20 * size)
    return lambda **on: fimbria.peaks(data, sh_basis="mrtrix", threads=1, **on)


def sticks(size):
    data = signals(SHELLS, size)
    return lambda **on: fimbria.sample_sticks(data, SHELLS, threads=1, **on)


def track(size):
    data = harmonics(20)
    return lambda **on: fimbria.track(data, np.ones(data.shape[:3], bool), sh_basis="mrtrix", select=100_000 * size, threads=1, **on)


def track_peaks(size):
    data = np.zeros((30, 30, 30, 1, 3), np.float32)
    data[..., 0] = 1
    return lambda **on: fimbria.track(data, np.ones((30, 30, 30), bool), samples=20 * size, dispersion=10, threads=1, **on)


def streamlines(n):
    """Straight ones in all directions through [40, 40, 40]."""
    rng = np.random.default_rng(3)
    ways = rng.standard_normal((n, 1, 3))
    ways /= np.linalg.norm(ways, axis=-1, keepdims=True)
    middles = rng.uniform(12, 28, (n, 1, 3))
    points = (middles + ways * np.linspace(-10, 10, 41)[:, None]).astype(np.float32)
    return fimbria.Tractogram(points.reshape(-1, 3), np.arange(0, 41 * n + 1, 41), affine=np.eye(4), shape=(40, 40, 40))


def life(size):
    data, lines = signals(SHELLS, 40), streamlines(4000 * size)
    return lambda **on: fimbria.life(lines, data, SHELLS, threads=1, **on)


def sift2(size):
    data, lines = np.repeat(np.repeat(harmonics(40), 2, 0), 2, 1), streamlines(10_000 * size)
    return lambda **on: fimbria.sift2(lines, data, sh_basis="mrtrix", threads=1, **on)


def connectome(size):
    labels, lines = np.random.default_rng(4).integers(0, 50, (40, 40, 40)), streamlines(50_000 * size)
    return lambda **on: fimbria.connectome(lines, labels, threads=1, **on)


def local_field(size):
    n = 40 * size
    rng = np.random.default_rng(5)
    phase = rng.uniform(-np.pi, np.pi, (n, n, n, 3)).astype(np.float32)
    return lambda **on: fimbria.local_field(phase, mask=np.ones((n, n, n), bool), te=[4, 8, 12], b0=3, threads=1, **on)


def qsm(size):
    n = 32 * size
    field = np.random.default_rng(6).normal(0, 0.02, (n, n, n)).astype(np.float32)
    return lambda **on: fimbria.qsm(field, mask=np.ones((n, n, n), bool), threads=1, **on)


def eigenpairs(size):
    rng = np.random.default_rng(7)
    many = rng.standard_normal((200 * size, 15))
    index = np.array([sorted(i) for i in np.ndindex(3, 3, 3, 3)])
    classes = {tuple(c): n for n, c in enumerate(sorted({tuple(i) for i in index}))}
    whole = many[:, [classes[tuple(i)] for i in index]].reshape(-1, 3, 3, 3, 3)
    return lambda **on: fimbria.eigenpairs(whole, batch=True, threads=1, **on)


METHODS = {
    **{f"fit {name}": fit_of(name) for name in fimbria.fit_names()},
    "peaks": peaks,
    "sample_sticks": sticks,
    "track": track,
    "track along peaks": track_peaks,
    "life": life,
    "sift2": sift2,
    "connectome": connectome,
    "local_field": local_field,
    "qsm": qsm,
    "eigenpairs": eigenpairs,
}


def interrupted(made):
    """Seconds from an interrupt to its answer; of a work that is made larger until it lasts."""
    size = 1
    while True:
        work, sent = made(size), []

        def interrupt(sent=sent):
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        soon = threading.Timer(WAIT, interrupt)
        # What runs in the background of a shell is born deaf to Ctrl-C.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            soon.start()
            work()
            soon.cancel()
            soon.join()
            # It may come in here, where the work is done.
            time.sleep(0.01)
        except KeyboardInterrupt:
            answered = time.monotonic()
            soon.join()
            if answered - sent[0] > 0.001 or size > 128:
                return answered - sent[0]
        finally:
            soon.cancel()
            signal.signal(signal.SIGINT, before)
        assert size <= 128, "the work is too short"
        size *= 2


@pytest.mark.parametrize("name", METHODS)
def test_an_interrupt_is_answered_soon_and_leaves_nothing(name):
    threads = threading.active_count()
    assert interrupted(METHODS[name]) < BOUND
    assert threading.active_count() == threads


class Enough(Exception):
    pass


def raising(*_):
    raise Enough


def ended_by(made, callback):
    """Works that are made larger until the callback, which hears of them every now and then, ends one."""
    for size in (2, 4, 8, 16, 32, 64):
        try:
            made(size)(progress=callback)
        except Enough:
            return
    pytest.fail("the work is too short, or the exception of the callback is lost")


@pytest.mark.parametrize("name", ["peaks", "sample_sticks", "life", "sift2", "local_field", "qsm", "track", "connectome", "eigenpairs"])
def test_an_exception_of_the_callback_ends_the_work_and_the_next_one_is_sound(name):
    began = time.monotonic()
    ended_by(METHODS[name], raising)
    assert time.monotonic() - began < 60
    told = []
    # The next one goes on where the callback lets it.
    ended_by(METHODS[name], lambda *said: told.append(said) or len(told) > 2 and raising())
    assert len(told) > 2 and all(0 <= done <= total for _, done, total in told)
    assert fimbria.TensorModel(SHELLS).fit(signals(SHELLS, 1)).counts["fitted"] > 0


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A compressed image of 1.2 GB that takes seconds to read."""
    nibabel = pytest.importorskip("nibabel")
    path = tmp_path_factory.mktemp("large") / "large.nii.gz"
    save_large(nibabel, path)
    return path


def save_large(nibabel, path):
    noise = np.random.default_rng(8).integers(0, 1000, (100, 100, 100)).astype(np.int16)
    nibabel.openers.Opener.default_compresslevel = 1
    nibabel.save(nibabel.Nifti1Image(np.repeat(noise[..., None], 300, axis=3), np.diag([2.0, 2, 2, 1])), path)


def answered(work):
    """Seconds from an interrupt to its answer."""
    sent = []
    soon = threading.Timer(0.05, lambda: (sent.append(time.monotonic()), os.kill(os.getpid(), signal.SIGINT)))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        soon.start()
        with pytest.raises(KeyboardInterrupt):
            work()
            time.sleep(1)
        return time.monotonic() - sent[0]
    finally:
        soon.join()
        signal.signal(signal.SIGINT, before)


def test_reading_is_interrupted(large):
    assert answered(lambda: fimbria.load(large)) < BOUND
    image = fimbria.load(large)
    assert answered(image.read) < BOUND
    assert image.read().shape == (100, 100, 100, 300)


@pytest.mark.parametrize("extension", ["trx", "tck", "trk"])
def test_an_interrupted_writer_leaves_nothing(tmp_path, extension):
    lines = streamlines(200_000)
    lines.per_point = {"number": np.arange(len(lines.points), dtype=np.float32)}
    path = tmp_path / f"lines.{extension}"

    def write():
        with fimbria.TractogramWriter(path, like=lines) as writer:
            for _ in range(5):
                writer.write(lines)

    assert answered(write) < BOUND
    # What was being written on the disk ends by itself.
    deadline = time.monotonic() + 20
    while os.listdir(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert os.listdir(tmp_path) == []


def test_a_writer_that_is_lost_before_it_is_entered_leaves_nothing(tmp_path):
    lines = streamlines(10)
    # As an interrupt does that is answered once the writer is made.
    writer = fimbria.TractogramWriter(tmp_path / "lines.trx", like=lines)
    assert os.listdir(tmp_path) != []
    del writer
    assert os.listdir(tmp_path) == []


def test_a_writer_that_is_interrupted_before_it_is_closed_leaves_nothing(tmp_path, monkeypatch):
    lines = streamlines(10)

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(fimbria.TractogramWriter, "close", interrupted)
    with pytest.raises(KeyboardInterrupt), fimbria.TractogramWriter(tmp_path / "lines.tck", like=lines) as writer:
        writer.write(lines)
    assert os.listdir(tmp_path) == []


if __name__ == "__main__":
    print("| | s |\n|---|---|")
    for name, made in METHODS.items():
        print(f"| {name} | {max(interrupted(made) for _ in range(2)):.2f} |", flush=True)
    import nibabel

    path = Path(tempfile.mkdtemp()) / "large.nii.gz"
    save_large(nibabel, path)
    print(f"| load, compressed | {answered(lambda: fimbria.load(path)):.2f} |")
    print(f"| Image.read | {answered(fimbria.load(path).read):.2f} |")
