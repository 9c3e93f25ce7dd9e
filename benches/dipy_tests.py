"""DIPY's own tests with our models in the place of its own: how many assertions pass, and which do not.

    python benches/dipy_tests.py [dti dki msdki ivim peaks]

A test counts where it makes one of the replaced models. Its assertions are recorded and do not end it, so that all
are tried that can be reached; a plain `assert` or an exception ends it. Nothing of DIPY is changed on the disk.
"""

import argparse
import importlib
import inspect
import re
import sys
import warnings

import numpy as np

import fimbria

made = 0


def counted():
    global made
    made += 1


class Tensor(fimbria.TensorModel):
    """DIPY's arguments."""

    def __init__(self, gtab, *args, fit_method="WLS", return_S0_hat=False, **kwargs):
        counted()
        super().__init__(gtab, fit_method, *args, compat="dipy", **kwargs)


class KurtosisFit(fimbria.KurtosisFit):
    """Ours has one way to compute, which `analytical` chooses in DIPY."""

    def mk(self, *, min_kurtosis=-3 / 7, max_kurtosis=10, analytical=True, fast=True):
        return super().mk(min_kurtosis, max_kurtosis)

    def ak(self, *, min_kurtosis=-3 / 7, max_kurtosis=10, analytical=True, fast=True):
        return super().ak(min_kurtosis, max_kurtosis)

    def rk(self, *, min_kurtosis=-3 / 7, max_kurtosis=10, analytical=True, fast=True):
        return super().rk(min_kurtosis, max_kurtosis)

    def kmax(self, **_):
        return self.maps["Kmax"]


class Kurtosis(fimbria.KurtosisModel):
    _fit = KurtosisFit

    def __init__(self, gtab, *args, fit_method="WLS", return_S0_hat=False, **kwargs):
        counted()
        super().__init__(gtab, fit_method, *args, compat="dipy", **kwargs)


class MeanSignal(fimbria.MeanSignalKurtosisModel):
    def __init__(self, gtab, *args, bmag=None, return_S0_hat=False, **kwargs):
        counted()
        if bmag is not None:
            kwargs["bmag"] = bmag
        super().__init__(gtab, *args, **kwargs)


class TrustRegion(fimbria.IvimModel):
    def __init__(self, gtab, **kwargs):
        counted()
        super().__init__(gtab, **kwargs)


def Ivim(gtab, *, fit_method="trr", **kwargs):
    """Ours for DIPY's default; the other is its own, and is not counted."""
    from dipy.reconst.ivim import IvimModelVP

    return TrustRegion(gtab, **kwargs) if fit_method.lower() == "trr" else IvimModelVP(gtab, **kwargs)


REPLACED = {
    "dti": ("dipy.reconst.tests.test_dti", {"dipy.reconst.dti": {"TensorModel": Tensor}}),
    "dki": ("dipy.reconst.tests.test_dki", {"dipy.reconst.dki": {"DiffusionKurtosisModel": Kurtosis}}),
    "msdki": ("dipy.reconst.tests.test_msdki", {"dipy.reconst.msdki": {"MeanDiffusionKurtosisModel": MeanSignal}}),
    "ivim": ("dipy.reconst.tests.test_ivim", {"dipy.reconst.ivim": {"IvimModel": Ivim}}),
    "peaks": ("dipy.direction.tests.test_peaks", {}),
}


class Recorder:
    """Assertions of a module, recorded."""

    def __init__(self, module):
        self.module, self.file = module, module.__file__
        self.passed, self.failed = 0, []

    def line(self):
        frame = sys._getframe()
        line = 0
        while frame:
            if frame.f_code.co_filename == self.file:
                line = frame.f_lineno
                break
            frame = frame.f_back
        return line

    def of(self, function):
        def asserted(*given, **named):
            waits = getattr(function, "__name__", "") in ("assert_raises", "assert_warns") and len(given) < 2
            if waits:
                return function(*given, **named)
            try:
                result = function(*given, **named)
            except Exception as error:  # noqa: BLE001
                self.failed.append((self.line(), said(error)))
                return None
            self.passed += 1
            return result

        return asserted

    def install(self):
        for name, value in list(vars(self.module).items()):
            if name.startswith("assert_") and callable(value):
                setattr(self.module, name, self.of(value))
            elif value is np.testing:
                self.module.npt = Proxy(self)


class Proxy:
    def __init__(self, recorder):
        self._recorder = recorder

    def __getattr__(self, name):
        value = getattr(np.testing, name)
        return self._recorder.of(value) if name.startswith("assert_") else value


def said(error):
    """An exception in a line."""
    text = " ".join(str(error).split())
    worst = re.search(r"Max absolute difference[^:]*: ([^ ]+)", text)
    kind = type(error).__name__
    if kind == "AssertionError" and worst:
        return f"differs by up to {worst[1]}"
    return f"{kind}: {text[:150]}"


def uses_fits_of_the_module(test, module):
    """True where a test looks at a fit or a model that the whole file shares."""
    shared = {name for name, value in vars(module).items() if isinstance(value, (fimbria.Fit, fimbria.Model))}
    return bool(shared & set(getattr(test, "__wrapped__", test).__code__.co_names))


def tried(name):
    module_name, replaced = REPLACED[name]
    module = importlib.import_module(module_name)
    for source, classes in replaced.items():
        whole = importlib.import_module(source)
        for title, ours in classes.items():
            theirs = getattr(whole, title)
            for other, value in list(vars(module).items()):
                if value is theirs:
                    setattr(module, other, ours)
            setattr(whole, title, ours)
    recorder = Recorder(module)
    recorder.install()
    if hasattr(module, "setup_module"):
        module.setup_module()
    rows = []
    tests = [(title, test) for title, test in vars(module).items() if title.startswith("test_") and callable(test)]
    for title, test in tests:
        recorder.passed, recorder.failed = 0, []
        before, ended = made, None
        np.random.seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                needed = [p for p in inspect.signature(test).parameters.values() if p.default is p.empty]
                test(*[np.random.default_rng(0) for _ in needed])
            except Exception as error:  # noqa: BLE001
                trace, line = error.__traceback__, 0
                while trace:
                    if trace.tb_frame.f_code.co_filename == module.__file__:
                        line = trace.tb_lineno
                    trace = trace.tb_next
                ended = (line, said(error))
        if made > before or uses_fits_of_the_module(test, module):
            rows.append((title, recorder.passed, recorder.failed, ended))
    return rows, len(tests)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", default=list(REPLACED))
    arguments = parser.parse_args()
    for name in arguments.files:
        rows, tests = tried(name)
        passed, failed = sum(row[1] for row in rows), sum(len(row[2]) for row in rows)
        ended = sum(row[3] is not None for row in rows)
        print(f"\n{name}: {len(rows)} of {tests} tests make a model; assertions: {passed} pass, {failed} do not; "
              f"{ended} tests end early")
        for title, passed, failed, ended in rows:
            print(f"  {title}: {passed} pass")
            for line, why in failed:
                print(f"    {line}: {why}")
            if ended:
                print(f"    ended at {ended[0]}: {ended[1]}")


if __name__ == "__main__":
    main()
