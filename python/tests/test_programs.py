"""What is called with files: folders and pages of the program, its errors, its progress."""

import os
import signal
import subprocess
import threading
import time

import numpy as np
import pytest

import fimbria
from fimbria import _program


@pytest.fixture(scope="module", autouse=True)
def found(program):
    """The program under test is the one that is called."""
    before = _program.program
    _program.program = lambda: program
    yield
    _program.program = before


@pytest.fixture(scope="module")
def phantom(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs") / "in"
    return fimbria.phantom_crossing(folder, size="12,12,8", voxel=8, shells="1000:20,2000:20")


def test_a_run_gives_maps_and_its_record(phantom, tmp_path):
    settings = ["track.samples=1", "dti.method=ols"]
    stages = tmp_path / "run.toml"
    stages.write_text(f'[input]\ndwi = "{phantom.path}/dwi.nii.gz"\nmask = "{phantom.path}/mask.nii.gz"\n[dti]\n[fod]\n[peaks]\n')
    told = []
    made = fimbria.run(None, tmp_path / "out", config=stages, settings=settings[1:], progress=lambda *s: told.append(s))
    fa = made.maps["dti/FA"]
    assert fa.shape == (12, 12, 8) and made.maps["L1"].path == made.maps["dti/L1"].path
    assert made.record["stages"] and "dti" in str(made.record["stages"])
    assert all(0 <= done <= total == 100 for _, done, total in told)
    html = made._repr_html_()
    assert "data:image/png;base64," in html and "dti" in html
    ours = fimbria.TensorModel(phantom_table(phantom), "OLS").fit(phantom.maps["dwi"], mask=phantom.maps["mask"].read() > 0)
    np.testing.assert_array_equal(fa.read(), ours.fa)
    for name in ("nothing", "FA"):
        with pytest.raises(KeyError, match=f"there is no `{name}`, or several are"):
            made.maps[name]
    page = fimbria.report(made.path, tmp_path / "page.html", title="a <run>")
    assert page._repr_html_().startswith("<iframe") and "a &lt;run&gt;" in page.path.read_text()


def phantom_table(phantom):
    table = fimbria.load(phantom.path / "dwi.nii.gz").gradients
    assert table is not None
    return table


def test_probtrackx2_writes_what_fsls_does(program, phantom, tmp_path):
    sticks = tmp_path / "sticks"
    words = ["--burn-in", "20", "--jumps", "20", "--sample-every", "10", "-q", "-o", sticks]
    subprocess.run([program, "sticks", phantom.path / "dwi.nii.gz", "--mask", phantom.path / "mask.nii.gz", *words], check=True)
    mask = sticks / "nodif_brain_mask.nii.gz"
    made = fimbria.probtrackx2(tmp_path / "tracks", samples=sticks / "merged", mask=mask, seed=mask, opd=True, nsamples=2)
    assert made.maps["fdt_paths"].read().max() > 0
    assert int((made.path / "waytotal").read_text()) > 0


def test_errors_and_warnings_are_those_of_the_program_in_words_of_python(phantom, tmp_path):
    with pytest.raises(fimbria.FimbriaError, match="nothing.nii"):
        fimbria.convert(tmp_path / "nothing.nii", tmp_path / "a.nii")
    made = fimbria.convert(phantom.path / "mask.nii.gz", tmp_path / "mask.mif")
    with pytest.raises(fimbria.FimbriaError, match=r"mask.mif(.|\n)*: force overwrites"):
        fimbria.convert(phantom.path / "mask.nii.gz", made.path)
    with pytest.warns(fimbria.FimbriaWarning, match="no mask given"):
        fimbria.run(phantom.path / "dwi.nii.gz", tmp_path / "run", settings=["fod.tissues=white"])


def test_ctrl_c_ends_the_program_and_leaves_no_folder(phantom, tmp_path):
    def interrupt():
        time.sleep(1.0)
        os.kill(os.getpid(), signal.SIGINT)

    # What runs in the background of a shell is born deaf to Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            fimbria.demo(tmp_path / "demo", threads=1)
    finally:
        thread.join()
        signal.signal(signal.SIGINT, before)
    assert not (tmp_path / "demo").exists()


def test_options_become_the_words_of_a_command_line():
    words = _program.words_of
    said = _program.Said
    assert words(said("--force", True)) == ["--force"] and words(said("--force", False)) == []
    assert words(said("--shells", [1000, 2000], delimiter=",")) == ["--shells", "1000,2000"]
    assert words(said("--set", ["a=1", "b=2"], is_repeated=True)) == ["--set", "a=1", "--set", "b=2"]
    assert words(said("--fslgrad", ["a", "b"])) == ["--fslgrad", "a", "b"]
    assert words(said("--gre", "siemens", is_optional=True)) == ["--gre=siemens"]
    assert words(said("--gre", True, is_optional=True)) == ["--gre"] and words(said("--gre", None)) == []


def test_every_option_of_a_program_reaches_its_command_line(monkeypatch):
    import inspect

    for name in fimbria.programs.__all__:
        if name == "Made":
            continue
        function = getattr(fimbria, name)
        heard = []
        monkeypatch.setattr(fimbria.programs, "made", lambda *given: heard.append(given))
        names = [one for one in inspect.signature(function).parameters if one != "progress"]
        function(**{one: f"value of {one}" for one in names})
        _, written, options, _ = heard[0]
        values = [option.value for option in options]
        assert sorted(values) == sorted(f"value of {one}" for one in names) and written in values
