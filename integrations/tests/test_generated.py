"""What is made from the descriptions is of this program."""

import subprocess
import sys

from conftest import ROOT


def test_nothing_made_from_the_descriptions_is_stale(program):
    words = [sys.executable, str(ROOT / "generate.py"), program, "--check"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
