//! Files that lead from one space to another: which they are, by what they say of themselves.

use std::path::{Path, PathBuf};

use fimbria_image::{Affine, ImageHeader, NumberRows, NumbersError};

/// A file that is no transform of the kind asked for.
#[derive(Debug, thiserror::Error)]
pub enum TransformError {
    /// A matrix that holds anything but numbers.
    #[error(transparent)]
    Numbers(#[from] NumbersError),
    /// A matrix of another size.
    #[error("{}: a transform has four rows of four numbers", .0.display())]
    Shape(PathBuf),
    /// A matrix that is no affine one.
    #[error(
        "{}: the last row of a transform is 0 0 0 1, not {} {} {} {} (is it transposed?)",
        path.display(), row[0], row[1], row[2], row[3]
    )]
    LastRow {
        /// The file.
        path: PathBuf,
        /// What stands there.
        row: [f64; 4],
    },
    /// Coefficients of splines or cosines.
    #[error("{} holds coefficients; FSL's fnirtfileutils --withaff makes a field of them", .0.display())]
    Coefficients(PathBuf),
    /// A field of ITK.
    #[error(
        "{} holds vectors along a fifth dimension (intent {intent}), as the displacements of ANTs and ITK: they are \
         not read; antsApplyTransforms over the volumes of MRtrix3's warpinit makes a field for --warp",
        path.display()
    )]
    Vectors {
        /// The image.
        path: PathBuf,
        /// NIfTI's code.
        intent: i32,
    },
    /// A field of FSL where places in scanner mm are asked for.
    #[error(
        "{} is a field of FSL (intent {intent}), which --xfm takes; --warp takes places in scanner mm",
        path.display()
    )]
    Fsl {
        /// The image.
        path: PathBuf,
        /// NIfTI's code.
        intent: i32,
    },
}

/// A matrix of four rows, as FLIRT and MRtrix3 write it; the last may be left out.
///
/// # Errors
/// Where the file cannot be read or holds anything else.
pub(crate) fn matrix(path: &Path) -> Result<Affine, TransformError> {
    let read = NumberRows::read(path)?;
    let rows: Option<Vec<[f64; 4]>> = read.rows().map(|(_, row)| row.try_into().ok()).collect();
    match rows.as_deref() {
        Some(&[x, y, z]) | Some(&[x, y, z, [0.0, 0.0, 0.0, 1.0]]) => Ok(Affine([x, y, z])),
        Some(&[.., row]) if read.rows().count() == 4 => {
            Err(TransformError::LastRow { path: path.to_owned(), row })
        }
        _ => Err(TransformError::Shape(path.to_owned())),
    }
}

/// What a field of three volumes holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum FieldKind {
    /// Places or displacements in FSL's mm.
    Fsl,
    /// Places in scanner mm.
    Places,
}

/// Refuses an image whose header says that it is another field than the one asked for. Fields of MRtrix3 say nothing,
/// nor do those of many programs.
///
/// # Errors
/// [`TransformError`].
pub(crate) fn check_field(header: &ImageHeader, wanted: FieldKind) -> Result<(), TransformError> {
    let path = header.path().to_owned();
    // NIfTI's codes: of displacements and of vectors, which ITK keeps along dimension 5; of FNIRT's and topup's fields;
    // of their coefficients of splines and cosines.
    match header.intent().code {
        intent @ (1006 | 1007) if *header.volume_dims() == [1, 3] => {
            Err(TransformError::Vectors { path, intent })
        }
        intent @ (2006 | 2018) if wanted == FieldKind::Places => {
            Err(TransformError::Fsl { path, intent })
        }
        2007 | 2008 | 2009 | 2016 | 2017 => Err(TransformError::Coefficients(path)),
        _ => Ok(()),
    }
}
