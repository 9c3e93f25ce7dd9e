//! Gradient files: reading them, and finding those of an image by name.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::{GradientError, GradientTable, GradientsRead, TableOptions};
use crate::{Affine, BvecFrame, ImageHeader, split_image_name};

/// The largest file taken for a gradient table, in bytes: some hundred thousand volumes.
const LARGEST_FILE: u64 = 64 << 20;

/// The file or files that hold a gradient table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GradientFiles {
    /// FSL's pair.
    Fsl {
        /// b-values.
        bvals: PathBuf,
        /// Directions.
        bvecs: PathBuf,
    },
    /// MRtrix3's table, scanner axes.
    Mrtrix(PathBuf),
    /// A table of b-matrices.
    BMatrix(PathBuf),
}

impl GradientFiles {
    /// Reads the table of an image with the given affine. `frame` says which axes bvecs and
    /// b-matrices are in; MRtrix3's tables always are in scanner axes.
    ///
    /// # Errors
    /// [`GradientError`], naming the file.
    pub fn read(
        &self,
        frame: BvecFrame,
        ras_from_vox: &Affine,
        options: &TableOptions,
    ) -> Result<GradientsRead, GradientError> {
        let read = match self {
            Self::Fsl { bvals, bvecs } => {
                let (b, g) = (text_of(bvals)?, text_of(bvecs)?);
                GradientTable::from_fsl(&b, &g, frame, ras_from_vox, options)
            }
            Self::Mrtrix(table) => GradientTable::from_mrtrix(&text_of(table)?, options),
            Self::BMatrix(table) => {
                GradientTable::from_bmatrix(&text_of(table)?, frame, ras_from_vox, options)
            }
        };
        read.map_err(|source| {
            let files = self.paths().map(|p| p.display().to_string()).collect::<Vec<_>>();
            GradientError::InFile { files: files.join(" and "), source: Box::new(source) }
        })
    }

    /// The files.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let (first, second) = match self {
            Self::Fsl { bvals, bvecs } => (bvals, Some(bvecs)),
            Self::Mrtrix(table) | Self::BMatrix(table) => (table, None),
        };
        std::iter::once(first).chain(second).map(PathBuf::as_path)
    }
}

/// The gradient files beside an image, for `NAME.nii.gz` the first of: `NAME.bval` with
/// `NAME.bvec`, `NAME.bvals` with `NAME.bvecs`, `NAME.b`, `bvals` with `bvecs`, `grad.b`.
///
/// # Errors
/// [`GradientError::NotFound`] lists what was looked for; [`GradientError::HalfPair`] where only
/// one of a pair is there.
pub fn find_beside(dwi: &Path) -> Result<GradientFiles, GradientError> {
    let name = dwi.file_name().unwrap_or_default().to_string_lossy();
    let stem = split_image_name(&name).map_or(&*name, |(stem, _)| stem);
    let beside = |file: String| dwi.with_file_name(file);
    let pair = |bvals: String, bvecs: String| GradientFiles::Fsl {
        bvals: beside(bvals),
        bvecs: beside(bvecs),
    };
    let candidates = [
        pair(format!("{stem}.bval"), format!("{stem}.bvec")),
        pair(format!("{stem}.bvals"), format!("{stem}.bvecs")),
        GradientFiles::Mrtrix(beside(format!("{stem}.b"))),
        pair("bvals".into(), "bvecs".into()),
        GradientFiles::Mrtrix(beside("grad.b".into())),
    ];
    for files in &candidates {
        // A pipe is there too, and reading says why it is not read.
        let (there, missing): (Vec<_>, Vec<_>) =
            files.paths().partition(|p| p.exists() && !p.is_dir());
        match (there.first(), missing.first()) {
            (Some(_), None) => return Ok(files.clone()),
            (Some(found), Some(missing)) => {
                return Err(GradientError::HalfPair {
                    found: found.into(),
                    missing: missing.into(),
                });
            }
            (None, _) => {}
        }
    }
    let looked_for = candidates.iter().flat_map(GradientFiles::paths).map(PathBuf::from).collect();
    Err(GradientError::NotFound { dwi: dwi.into(), looked_for })
}

/// The gradient table of a stored image: the `dw_scheme` of its header where it has one, else the
/// files [beside](find_beside) it. The table must have one entry per volume.
///
/// # Errors
/// [`GradientError`], naming the file.
pub fn of_image(
    header: &ImageHeader,
    frame: BvecFrame,
    options: &TableOptions,
) -> Result<GradientsRead, GradientError> {
    let options = TableOptions { n_volumes: Some(header.n_volumes()), ..*options };
    match header.dw_scheme() {
        Some(rows) => GradientTable::from_dw_scheme(rows, &options).map_err(|source| {
            let files = header.path().display().to_string();
            GradientError::InFile { files, source: Box::new(source) }
        }),
        None => find_beside(header.path())?.read(frame, &header.grid().ras_from_vox, &options),
    }
}

/// The text of a file of reasonable size. Bytes that are not UTF-8 become tokens that are not
/// numbers, which the parser reports with their place.
fn text_of(path: &Path) -> Result<String, GradientError> {
    let unreadable = |source| GradientError::Unreadable { path: path.into(), source };
    let file = crate::open_regular(path).map_err(unreadable)?;
    let bytes = file.metadata().map_err(unreadable)?.len();
    if bytes > LARGEST_FILE {
        return Err(GradientError::TooLarge { path: path.into(), bytes });
    }
    let mut text = Vec::new();
    file.take(LARGEST_FILE).read_to_end(&mut text).map_err(unreadable)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
