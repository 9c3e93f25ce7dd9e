"""The commands of fimbria as interfaces of nipype. Written by
`fimbria describe --format nipype` of fimbria VERSION: not to be edited.

Where no gradient table is named, it is found beside the series; name it (bval, bvec) where nodes are cached.
"""

import glob
import os

from nipype.interfaces.base import (
    CommandLine,
    CommandLineInputSpec,
    Directory,
    File,
    InputMultiObject,
    OutputMultiPath,
    TraitedSpec,
    isdefined,
    traits,
)

__all__ = [
CLASSES]

FOUND


class _Command(CommandLine):
    """A command of fimbria: `_written` names the option with what it writes, `_files` what that is."""

    _cmd = "fimbria"
    _is_file = False

    def _list_outputs(self):
        outputs = self.output_spec().get()
        written = getattr(self.inputs, self._written)
        if isdefined(written):
            written = os.path.abspath(written)
            outputs["written"] = written
            for name, names, is_many in self._files:
                hits = _found(written, self._is_file, names, is_many)
                if hits:
                    outputs[name] = hits
        return outputs
