//! `-` on a command line.

use std::ffi::OsString;

use crate::failure::Failure;

/// Refuses `-` for standard input or output, as MRtrix3's and other programs take it: results are
/// folders and files that appear whole, and inputs are read more than once.
pub(crate) fn refuse(words: &[OsString]) -> Result<(), Failure> {
    if words.iter().any(|word| word == "-") {
        return Err(Failure::usage(
            "`-` is not taken for a pipe: write a file and name it, as in `dwidenoise dwi.mif dn.mif \
             && fimbria fit dti dn.mif -o out`",
        ));
    }
    Ok(())
}
