//! `-` on a command line: the image of the MRtrix3 command before the pipe.
//!
//! MRtrix3 sends no image through a pipe, but the name of a file that the command behind it takes away
//! when it is done.

use std::ffi::OsString;
use std::fs;
use std::io::{IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// A file that came through a pipe, taken away when this goes.
#[derive(Debug, Default)]
pub(crate) struct Piped(Option<PathBuf>);

impl Drop for Piped {
    fn drop(&mut self) {
        /// What MRtrix3 calls files that are not to stay.
        const PASSING: &str = "mrtrix-tmp-";
        let Some(path) = &self.0 else { return };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(PASSING) {
            // Where it cannot be taken away nothing of ours is wrong.
            let _ = fs::remove_file(path);
        }
    }
}

/// Puts the file that the command before the pipe names in the place of `-`.
///
/// # Errors
/// [`Failure::Usage`] for an output, since those are folders and files that appear whole; for more than
/// one `-`; and where what comes is no name of a file.
pub(crate) fn taken(mut words: Vec<OsString>) -> Result<(Vec<OsString>, Piped), Failure> {
    let mut places = (0..words.len()).filter(|i| words[*i] == "-");
    let Some(place) = places.next() else { return Ok((words, Piped::default())) };
    let is_output = ["-o", "--output", "-output"].iter().any(|o| words[place - 1] == *o);
    if is_output || places.next().is_some() {
        return Err(Failure::usage(
            "`-` stands for one image that an MRtrix3 command gives, as in `dwidenoise dwi.mif - | \
             fimbria fit dti - -o out`: outputs and all else are files with a name",
        ));
    }
    let path = named_by_a_pipe().ok_or_else(|| {
        Failure::usage(
            "`-` is the image of an MRtrix3 command before the pipe, and none came: write a file and \
             name it, as in `fimbria fit dti dwi.nii.gz -o out`",
        )
    })?;
    words[place] = path.clone().into();
    Ok((words, Piped(Some(path))))
}

/// The file whose name comes through standard input.
fn named_by_a_pipe() -> Option<PathBuf> {
    /// Longer than any path.
    const LONGEST: u64 = 1 << 16;
    let input = std::io::stdin();
    if input.is_terminal() {
        return None;
    }
    let mut text = String::new();
    input.lock().take(LONGEST).read_to_string(&mut text).ok()?;
    let path = Path::new(text.trim_end_matches(['\n', '\r']));
    path.is_file().then(|| path.to_owned())
}
