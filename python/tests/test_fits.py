import json
import multiprocessing
import threading

import numpy as np
import pytest

import fimbria
from fimbria import _core


def test_the_tensor_is_that_of_the_signal(gtab, series, tensors):
    fit = fimbria.TensorModel(gtab).fit(series)
    # Rounding of float32 in samples and sums.
    np.testing.assert_allclose(fit.quadratic_form, tensors, atol=2e-9)
    values = np.linalg.eigvalsh(tensors)[..., ::-1]
    np.testing.assert_allclose(fit.evals, values, atol=2e-9)
    np.testing.assert_allclose(fit.md, values.mean(axis=-1), atol=2e-9)
    rebuilt = np.einsum("...ik,...k,...jk->...ij", fit.evecs, fit.evals, fit.evecs)
    np.testing.assert_allclose(rebuilt, tensors, atol=2e-9)
    np.testing.assert_allclose(fit.S0_hat, 1000, rtol=1e-5)
    np.testing.assert_allclose(fit.predict(gtab), series, rtol=1e-4, atol=1e-2)
    assert fit.counts == {"fitted": 60}


def test_order_type_and_axes_of_the_array_do_not_matter(gtab, series):
    model = fimbria.TensorModel(gtab)
    expected = model.fit(series).maps
    doubled = series.astype(np.float64)
    whole = np.round(series).astype(np.int16)
    several = {
        "fortran": np.asfortranarray(series),
        "double": doubled,
        "strided": np.repeat(series, 2, axis=1)[:, ::2],
        "backwards": np.ascontiguousarray(series[::-1])[::-1],
        "big endian": series.astype(">f4"),
        "rows": series.reshape(-1, series.shape[-1]),
    }
    for what, data in several.items():
        maps = model.fit(data).maps
        for name, values in maps.items():
            np.testing.assert_array_equal(values.reshape(expected[name].shape), expected[name], f"{what}: {name}")
    for kind in (np.int16, np.uint16, np.int32, np.uint32, np.int64):
        maps = model.fit(whole.astype(kind)).maps
        np.testing.assert_array_equal(maps["FA"], model.fit(whole.astype(np.float32)).maps["FA"])


def test_a_single_voxel_has_maps_without_axes(gtab, series):
    fit = fimbria.TensorModel(gtab).fit(series[1, 2, 0])
    assert fit.fa.shape == () and fit.evecs.shape == (3, 3)
    assert fit.fa == fimbria.TensorModel(gtab).fit(series)[1, 2, 0].fa


def test_outside_the_mask_everything_is_zero(gtab, series):
    mask = np.zeros(series.shape[:3], dtype=bool)
    mask[1:3, :, 1] = True
    fit = fimbria.TensorModel(gtab).fit(series, mask=mask)
    assert (fit.status[mask] == 1).all() and (fit.status[~mask] == 0).all()
    assert (fit.md[~mask] == 0).all() and (fit.md[mask] > 0).all()


def test_threads_do_not_change_a_bit(gtab, series):
    one, two = (fimbria.KurtosisModel(gtab).fit(series, threads=n) for n in (1, 2))
    for name, values in one.maps.items():
        np.testing.assert_array_equal(values, two.maps[name])


def test_every_model_can_be_fitted_by_its_class_and_by_its_name(gtab, series):
    needs = {"fod": {"tissues": "white", "order": 4}, "expr": {"model": "S0*exp(-b*D)", "param": ["S0=1000,0,-", "D=1e-3,0,0.01"]}}
    classes = {getattr(fimbria.models, name).name: getattr(fimbria.models, name) for name in fimbria.models.__all__}
    assert sorted(classes) == sorted(fimbria.fit_names())
    spread = np.r_[0, 10, 20, 40, np.repeat([80.0, 400.0, 1000.0], (len(gtab) - 4) // 3)]
    ivim = fimbria.Gradients(spread, np.where(spread[:, None] > 0, gtab.bvecs[-1], 0), b0_threshold=0)
    for name, one in classes.items():
        table = ivim if name == "ivim" else gtab
        options = needs.get(name, {})
        try:
            by_class = one(table, **options).fit(series)
        except fimbria.FimbriaError as error:
            pytest.fail(f"{name}: {error}")
        by_name = fimbria.fit(name, series, table, **options)
        assert by_class.status.shape == series.shape[:3]
        for map_, values in by_class.maps.items():
            np.testing.assert_array_equal(values, by_name.maps[map_], f"{name}: {map_}")


def test_a_fit_by_name_is_that_of_its_class(gtab, series):
    fit = fimbria.fit("dti", series, gtab, method="ols")
    assert isinstance(fit, fimbria.TensorFit) and fit.evals.shape == (5, 4, 3, 3)
    assert fit.model.options == {"method": "ols"} and fit[0].model is fit.model and fit.name == "dti"
    with pytest.raises(KeyError, match="`nothing` is no fit"):
        fimbria.fit("nothing", series, gtab)


def test_predictions_are_the_signal_that_was_fitted(gtab, series):
    """Noiseless signals that the models can be, so that what is left is single precision."""
    n, b = gtab.bvecs, gtab.bvals
    spread = np.r_[0, 10, 20, 40, np.repeat([80.0, 400.0, 1000.0], 40)]
    moving = fimbria.Gradients(spread, np.where(spread[:, None] > 0, n[-1], 0), b0_threshold=0)
    two = 500 * (0.1 * np.exp(-spread * 10e-3) + 0.9 * np.exp(-spread * 1e-3))
    ivim = fimbria.IvimModel(moving).fit(two)
    np.testing.assert_allclose(ivim.predict(), two, rtol=1e-4)
    np.testing.assert_allclose(ivim.model_params, [500, 0.1, 10e-3, 1e-3], rtol=1e-2)
    np.testing.assert_allclose(ivim.predict(moving, S0=1) * 500, two, rtol=1e-3)

    excess = 800 * np.exp(-b * 1e-3 + b**2 * 1e-6 * 0.6 / 6)
    mean = fimbria.MeanSignalKurtosisModel(gtab).fit(excess)
    np.testing.assert_allclose(mean.predict(), excess, rtol=1e-4)
    np.testing.assert_allclose(mean.model_params, [1e-3, 0.6], rtol=1e-3)
    assert 0 < mean.smt2f < 1 and mean.smt2di > 1e-3 and 0 < mean.smt2uFA < 1

    tensor = fimbria.HigherOrderTensorModel(gtab, order="4").fit(series)
    np.testing.assert_allclose(tensor.predict(), series, rtol=1e-3, atol=0.1)


def test_models_predict_from_parameters_of_their_fits(gtab, series):
    mixed = 0.6 * series + 0.4 * series[::-1]
    for model in (fimbria.TensorModel(gtab), fimbria.KurtosisModel(gtab), fimbria.MeanSignalKurtosisModel(gtab)):
        fit = model.fit(mixed)
        # Eigenvectors of single precision are turned back into a tensor.
        np.testing.assert_allclose(model.predict(fit.model_params, S0=fit.S0_hat), fit.predict(), rtol=1e-3, err_msg=model.name)
    with pytest.raises(TypeError, match="a fit of stremi has no parameters to predict from"):
        fimbria.StretchedExponentialModel(gtab).predict(np.ones(3))


def test_kurtosis_across_the_axis_is_the_mean_of_the_form_there(gtab, series):
    fit = fimbria.KurtosisModel(gtab).fit(0.6 * series + 0.4 * series[::-1])[2, 1, 1]
    angles = np.linspace(0, np.pi, 180, endpoint=False)
    first, second = fit.evecs[:, 1], fit.evecs[:, 2]
    ways = np.cos(angles)[:, None] * first + np.sin(angles)[:, None] * second
    # K = MD² W / D², so that MD² W along a direction is K D²; single precision of RD is left.
    form = fit.akc(ways) * fit.adc(ways) ** 2
    np.testing.assert_allclose(fit.rtk(), form.mean() / fit.rd**2, rtol=1e-5)


def test_options_that_cannot_be_are_refused_when_the_model_is_made(gtab):
    with pytest.raises(fimbria.FimbriaError, match="magic"):
        fimbria.TensorModel(gtab, "magic")
    with pytest.raises(fimbria.FimbriaError, match="nonsense"):
        fimbria.KurtosisModel(gtab, compat="nonsense")


def test_functions_on_the_sphere_are_their_harmonics(gtab, series):
    fit = fimbria.FibreOrientationModel(gtab, tissues="white", order="4").fit(series)
    # Degree 0 of an orthonormal basis is a constant 1 / sqrt(4 pi); the mean over many directions is its part.
    z = np.linspace(-1, 1, 4001)[:-1] + 1 / 4000
    phi = np.pi * (1 + 5**0.5) * np.arange(4000)
    dirs = np.stack([np.sqrt(1 - z**2) * np.cos(phi), np.sqrt(1 - z**2) * np.sin(phi), z], axis=1)
    odf = fit.odf(dirs)
    # A lattice of 4000 points integrates degree 4 to better than a thousandth.
    scale = np.abs(fit.shm_coeff[..., 0]).max() / np.sqrt(4 * np.pi)
    np.testing.assert_allclose(odf.mean(axis=-1), fit.shm_coeff[..., 0] / np.sqrt(4 * np.pi), atol=2e-3 * scale)
    peaks = fimbria.peaks(fit, number=1)
    best = dirs[np.argmax(odf[0, 0, 0])]
    # Points of the lattice are up to 2 degrees from the maximum.
    assert abs(best @ peaks.peak_dirs[0, 0, 0, 0]) > np.cos(np.radians(3))


def test_geodesic_anisotropy_is_the_spread_of_logarithms(gtab, series, tensors):
    logs = np.log(np.linalg.eigvalsh(tensors))
    expected = np.sqrt(((logs - logs.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1))
    np.testing.assert_allclose(fimbria.TensorModel(gtab).fit(series).ga, expected, rtol=1e-4)


def test_signatures_have_the_options_of_the_extension():
    import inspect

    for name in fimbria.models.__all__:
        one = getattr(fimbria.models, name)
        said = set(inspect.signature(one).parameters) - {"gtab"}
        said = {"method" if option == "fit_method" else option for option in said}
        assert said == set(_core.fit_options(one.name)), name


def test_errors_say_what_is_wrong(gtab, series):
    with pytest.raises(ValueError, match="volumes"):
        fimbria.TensorModel(gtab).fit(series[..., :10])
    with pytest.raises(fimbria.FimbriaError):
        fimbria.TensorModel((np.zeros(len(gtab)), gtab.bvecs)).fit(series)
    with pytest.raises(ValueError, match="mask has the shape"):
        fimbria.TensorModel(gtab).fit(series, mask=np.ones((2, 2, 2)))
    with pytest.raises(fimbria.FimbriaError, match="magic"):
        fimbria.TensorModel(gtab, "magic").fit(series)
    with pytest.raises(TypeError, match="complex64"):
        fimbria.TensorModel(gtab).fit(series.astype(np.complex64))
    with pytest.raises(ValueError, match="no voxel"):
        fimbria.TensorModel(gtab).fit(series, mask=np.zeros(series.shape[:3]))
    with pytest.raises(AttributeError, match="its maps are FA"):
        fimbria.TensorModel(gtab).fit(series).colour


def test_doubtful_tables_are_refused_or_warned_of_as_by_the_program(gtab, series):
    def fitted(b, first=0, **options):
        table = fimbria.Gradients(b[first:], gtab.bvecs[first:], **options)
        return fimbria.TensorModel(table, bmax=1e9).fit(series[..., first:])

    with pytest.raises(fimbria.FimbriaError, match="the largest b is 2 s/mm².*1 ms/µm² is 1000 s/mm²"):
        fitted(gtab.bvals / 1000)
    with pytest.warns(fimbria.FimbriaWarning, match="is it in ms/µm²"):
        fitted(gtab.bvals / 1000, b0_threshold=0.1)
    with pytest.warns(fimbria.FimbriaWarning, match=r"no volume is unweighted \(b up to 50 s/mm²; b0_threshold"):
        fitted(gtab.bvals, first=4)


def test_diffusivities_that_cannot_be_are_warned_of(gtab, series):
    with pytest.warns(fimbria.FimbriaWarning, match="the diffusivity is outside what diffusion can be"):
        fimbria.TensorModel(fimbria.Gradients(gtab.bvals * 1000, gtab.bvecs), bmax=1e9).fit(series)


def test_a_unit_direction_keeps_its_bits(gtab):
    again = fimbria.Gradients(gtab.bvals, gtab.bvecs)
    np.testing.assert_array_equal(again.bvecs, gtab.bvecs)


def test_progress_is_told_on_the_calling_thread_and_may_raise(gtab, series):
    told = []

    def progress(what: str, done: int, total: int) -> None:
        assert threading.current_thread() is threading.main_thread()
        told.append((what, done, total))

    fimbria.TensorModel(gtab).fit(series, progress=progress)
    assert told[-1][1] == told[-1][2] == 60

    class Enough(Exception):
        pass

    def raising(*_: object) -> None:
        raise Enough

    big = np.tile(series, (20, 20, 4, 1))
    with pytest.raises(Enough):
        fimbria.StretchedExponentialModel(gtab).fit(big, progress=raising)
    # The interpreter and the next fit are sound.
    assert fimbria.TensorModel(gtab).fit(series).counts == {"fitted": 60}


def test_an_interrupt_is_answered_soon(gtab, series):
    import os
    import signal
    import time

    big = np.tile(series, (30, 30, 10, 1))
    began = []

    def interrupt() -> None:
        time.sleep(0.3)
        began.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    # What runs in the background of a shell is born deaf to Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            fimbria.StretchedExponentialModel(gtab).fit(big)
    finally:
        thread.join()
        signal.signal(signal.SIGINT, before)
    # A busy machine may take longer than the 0.2 s of an idle one; a fit that is not stopped takes minutes.
    assert time.monotonic() - began[0] < 5


def fa_of(data):
    table, series = data
    return fimbria.TensorModel(table).fit(series, threads=1).fa


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_work_after_the_parent_has(gtab, series, method):
    expected = fimbria.TensorModel(gtab).fit(series).fa
    with multiprocessing.get_context(method).Pool(2) as pool:
        pair = (gtab.bvals, gtab.bvecs)
        for fa in pool.map(fa_of, [(pair, series)] * 2):
            np.testing.assert_array_equal(fa, expected)


def test_many_threads_fit_at_once(gtab, series):
    expected = fimbria.TensorModel(gtab).fit(series).fa
    made = []
    threads = [
        threading.Thread(target=lambda: made.append(fimbria.TensorModel(gtab).fit(series, threads=1).fa))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 8 and all((fa == expected).all() for fa in made)


def test_a_fit_is_shown_in_a_notebook(gtab, series):
    html = fimbria.TensorModel(gtab).fit(series)._repr_html_()
    assert "data:image/png;base64," in html and "<td>fitted</td><td>60</td>" in html


def test_options_of_every_kind_are_passed_on(gtab, series):
    fit = fimbria.TensorModel(gtab, "WLS", shells=[1000], maps=["FA", "MD"])
    assert json.dumps(fit.options)
    assert set(fit.fit(series).maps) == {"FA", "MD", "status"}


def test_shapes_of_the_tensor_are_those_of_the_kurtosis_fit_too(gtab, series):
    fit = fimbria.KurtosisModel(gtab).fit(series)
    assert np.allclose(fit.linearity, fit.maps["linearity"], atol=1e-5)
    assert np.allclose(fit.planarity + fit.linearity + fit.sphericity, 1, atol=1e-5)
    tensor = fimbria.TensorModel(gtab).fit(series)
    values = tensor.evals - tensor.evals.mean(axis=-1, keepdims=True)
    mode = 3 * np.sqrt(6) * values.prod(axis=-1) / np.linalg.norm(values, axis=-1) ** 3
    assert np.allclose(tensor.mode, mode, atol=1e-3) and np.all(np.abs(fit.mode) <= 1 + 1e-5)


def test_a_map_that_is_missing_is_an_attribute_error_that_names_those_there(gtab, series):
    fit = fimbria.TensorModel(gtab, maps="FA").fit(series)
    for name in ("evals", "linearity", "nothing"):
        assert not hasattr(fit, name)
        with pytest.raises(AttributeError, match="FA"):
            getattr(fit, name)
    with pytest.raises(KeyError, match="there is no map `L1`; there are FA"):
        fit.maps["L1"]


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        (lambda gtab, data: fimbria.TensorModel(gtab.bvals, gtab.bvecs), TypeError, "a pair"),
        (lambda gtab, data: fimbria.TensorModel(gtab).fit(data, threads=-1), ValueError, "threads is -1"),
        (lambda gtab, data: fimbria.TensorModel(gtab).fit(data, threads="all"), TypeError, "threads is 'all'"),
        (lambda gtab, data: fimbria.TensorModel(gtab).fit(data, affine=np.eye(3)), ValueError, r"affine has the shape \(3, 3\)"),
        (lambda gtab, data: fimbria.load("nowhere.nii.gz"), FileNotFoundError, "nowhere.nii.gz"),
        (lambda gtab, data: fimbria.fit("dit", data, gtab), KeyError, "`dit` is no fit"),
    ],
)
def test_wrong_calls_say_what_is_wrong(gtab, series, wrong, error, says):
    with pytest.raises(error, match=says):
        wrong(gtab, series)


def test_a_model_says_which_volumes_it_is_for(gtab):
    assert "by default it takes b up to 1500" in repr(fimbria.TensorModel(gtab))
    assert "by default" not in repr(fimbria.TensorModel(gtab, bmax=2000))
    assert "clip='0,3'" in repr(fimbria.KurtosisModel(gtab, clip=(0, 3)))


def test_a_model_in_a_file_is_fitted_as_one_of_the_package(series, gtab, tmp_path):
    file = tmp_path / "adc.toml"
    file.write_text('[expr]\nmodel = "S0*exp(-b*D)"\nparam = ["S0=900,0,-", "D=1,0,5"]\nbmax = 1000\n')
    by_file = fimbria.fit(file, series, gtab)
    by_hand = fimbria.ExpressionModel(gtab, model="S0*exp(-b*D)", param=["S0=900,0,-", "D=1,0,5"], bmax=1000).fit(series)
    assert np.array_equal(by_file.D, by_hand.D)
    assert by_file.name == "expr" and by_file.model.options["bmax"] == 1000
    # What is given counts before the file, and a string is a path too.
    assert not np.array_equal(fimbria.fit(str(file), series, gtab, bmax=2000).D, by_file.D)
    file.write_text("[smt]\n[dti]\n")
    with pytest.raises(fimbria.FimbriaError, match="one table"):
        fimbria.fit(file, series, gtab)
    with pytest.raises(fimbria.FimbriaError):
        fimbria.fit(tmp_path / "none.toml", series, gtab)
