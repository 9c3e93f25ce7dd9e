//! Files that lead from one space to another: which they are, by what they say of themselves, and where they take
//! points.
//!
//! Each brings images of a moving space onto a fixed one, and takes points the other way: scanner mm of the fixed space
//! to scanner mm of the moving one.
//!
//! * `itk`: linear transforms of ITK and ANTs, text and binary; their displacement fields are a [`Field`];
//! * `fsl`: matrices of FLIRT, fields of FNIRT and convertwarp;
//! * MRtrix3's matrices, and its fields of places, a [`Field`] too.

mod field;
mod fsl;
mod itk;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use fimbria_image::{
    Affine, ImageError, ImageHeader, NumberRows, NumbersError, is_image_name, read_image,
    read_regular,
};
use fimbria_tracking::WarpError;
use serde::{Deserialize, Serialize};

use self::field::{Field, Vectors};
use self::fsl::FslField;
pub(crate) use self::fsl::FslSpaces;
pub(crate) use self::itk::to_text as itk_text;
use crate::{Logbook, Page};

/// A file that is no transform of the kind asked for.
#[derive(Debug, thiserror::Error)]
pub enum TransformError {
    /// A matrix that holds anything but numbers.
    #[error(transparent)]
    Numbers(#[from] NumbersError),
    /// An image that cannot be read.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// A file that cannot be read.
    #[error("could not read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
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
    /// A matrix or an image without a way back.
    #[error("{}: its matrix cannot be inverted", .0.display())]
    Singular(PathBuf),
    /// A field whose way back would be asked for.
    #[error("{} is a field, and only matrices are inverted: the program that made it writes the other one too", .0.display())]
    NoInverse(PathBuf),
    /// A transform of ITK that is none, or of a kind that is not read.
    #[error("{}: as a transform of ITK {reason}", path.display())]
    Itk {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A composite of ITK in HDF5.
    #[error(
        "{} is HDF5, which is not read: CompositeTransformUtil --disassemble {} PREFIX (ANTs) makes parts that are",
        .0.display(), .0.display()
    )]
    Hdf5(PathBuf),
    /// Coefficients of splines or cosines.
    #[error("{} holds coefficients; FSL's fnirtfileutils --withaff makes a field of them", .0.display())]
    Coefficients(PathBuf),
    /// A field of ITK where one of FSL is asked for.
    #[error(
        "{} holds vectors along a fifth dimension (intent {intent}), as the displacements of ANTs and ITK, and a field of \
         FSL is asked for",
        path.display()
    )]
    Vectors {
        /// The image.
        path: PathBuf,
        /// NIfTI's code.
        intent: i32,
    },
    /// A transform of FSL without the images it lies between.
    #[error("{} is a field of FSL (intent {intent}): --fsl-in and --fsl-ref say between which images", path.display())]
    Fsl {
        /// The image.
        path: PathBuf,
        /// NIfTI's code.
        intent: i32,
    },
    /// A field of vectors has three volumes.
    #[error("{} has {volumes} volumes, and a field three: x, y and z", path.display())]
    Volumes {
        /// The image.
        path: PathBuf,
        /// How many it has.
        volumes: usize,
    },
    /// An image that is no field of FSL.
    #[error("{}", path.display())]
    Warp {
        /// The image.
        path: PathBuf,
        /// Why not.
        source: WarpError,
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

/// The text of a matrix that [`matrix`] reads.
pub(crate) fn matrix_text(affine: &Affine) -> String {
    let row = |row: &[f64; 4]| row.map(|x| format!("{x:?}")).join(" ") + "\n";
    affine.0.iter().chain([&[0.0, 0.0, 0.0, 1.0]]).map(row).collect()
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
    // NIfTI's codes of FNIRT's and topup's fields, and of their coefficients of splines and cosines.
    match header.intent().code {
        intent if is_itk(header) => Err(TransformError::Vectors { path, intent }),
        intent @ (2006 | 2018) if wanted == FieldKind::Places => {
            Err(TransformError::Fsl { path, intent })
        }
        2007 | 2008 | 2009 | 2016 | 2017 => Err(TransformError::Coefficients(path)),
        _ => Ok(()),
    }
}

/// NIfTI's code of displacements, RAS mm; ITK writes that of vectors, and LPS mm.
const DISPLACEMENTS: i32 = 1006;

/// Vectors along dimension 5, as ITK has them.
fn is_itk(header: &ImageHeader) -> bool {
    matches!(header.intent().code, DISPLACEMENTS | 1007) && *header.volume_dims() == [1, 3]
}

/// One file on the way, perhaps taken backwards; antsApplyTransforms's words for it are understood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct TransformFile {
    /// The file.
    pub path: PathBuf,
    /// Whether its inverse is meant.
    pub is_inverse: bool,
}

impl FromStr for TransformFile {
    type Err = std::convert::Infallible;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let bracketed = word.strip_prefix('[').and_then(|word| word.strip_suffix(']'));
        let (path, is_inverse) = match bracketed.and_then(|word| word.rsplit_once(',')) {
            Some((path, "1")) => (path, true),
            Some((path, "0")) => (path, false),
            _ => (word, false),
        };
        Ok(Self { path: PathBuf::from(path), is_inverse })
    }
}

impl From<String> for TransformFile {
    fn from(word: String) -> Self {
        let Ok(file) = word.parse();
        file
    }
}

impl fmt::Display for TransformFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        if self.is_inverse { write!(f, "[{path},1]") } else { write!(f, "{path}") }
    }
}

impl From<TransformFile> for String {
    fn from(file: TransformFile) -> Self {
        file.to_string()
    }
}

/// One step on the way of a point.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    Affine(Affine),
    Field(Field),
    Fsl(FslField),
}

/// The way from scanner mm of the fixed space to scanner mm of the moving one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Transform {
    steps: Vec<Step>,
}

impl From<Affine> for Transform {
    fn from(affine: Affine) -> Self {
        Self { steps: vec![Step::Affine(affine)] }
    }
}

impl Transform {
    /// Of files, the first of which takes points first. `fsl` says between which images transforms of FSL lie.
    ///
    /// # Errors
    /// [`TransformError`].
    pub(crate) fn read(
        files: &[TransformFile],
        fsl: Option<FslSpaces<'_>>,
        log: &Logbook<'_>,
        page: Page,
    ) -> Result<Self, TransformError> {
        let mut steps = Vec::new();
        for TransformFile { path, is_inverse } in files {
            let mut own = steps_of(path, fsl, log, page)?;
            if *is_inverse {
                own.reverse();
                for step in &mut own {
                    let Step::Affine(affine) = step else {
                        return Err(TransformError::NoInverse(path.clone()));
                    };
                    let inverse = affine.inverse();
                    *affine = inverse.ok_or_else(|| TransformError::Singular(path.clone()))?;
                }
            }
            steps.extend(own);
        }
        Ok(Self { steps })
    }

    /// The whole way as one matrix; `None` where it has a field.
    pub(crate) fn affine(&self) -> Option<Affine> {
        self.steps.iter().try_fold(Affine::IDENTITY, |whole, step| match step {
            Step::Affine(affine) => Some(affine.after(&whole)),
            Step::Field(_) | Step::Fsl(_) => None,
        })
    }

    /// Where a point of the fixed space lies in the moving one, scanner mm; `None` where a field does not say.
    pub(crate) fn apply(&self, pos_ras: [f64; 3]) -> Option<[f64; 3]> {
        self.steps.iter().try_fold(pos_ras, |pos, step| match step {
            Step::Affine(affine) => Some(affine.apply(pos)),
            Step::Field(field) => field.apply(pos),
            Step::Fsl(field) => Some(field.apply(pos)),
        })
    }
}

fn steps_of(
    path: &Path,
    fsl: Option<FslSpaces<'_>>,
    log: &Logbook<'_>,
    page: Page,
) -> Result<Vec<Step>, TransformError> {
    if is_image_name(path) {
        return Ok(vec![field(path, fsl, log, page)?]);
    }
    let unread = |source| TransformError::Read { path: path.to_owned(), source };
    let bytes = read_regular(path).map_err(unread)?;
    if bytes.starts_with(b"\x89HDF") {
        return Err(TransformError::Hdf5(path.to_owned()));
    }
    let of_itk = match bytes.starts_with(itk::TEXT_START) {
        true => Some(itk::from_text(&String::from_utf8_lossy(&bytes))),
        false => itk::from_binary(&bytes),
    };
    let affines = match (of_itk, fsl) {
        (Some(of_itk), _) => {
            of_itk.map_err(|reason| TransformError::Itk { path: path.to_owned(), reason })?
        }
        (None, Some(fsl)) => vec![fsl.linear(path)?],
        (None, None) => vec![matrix(path)?],
    };
    if affines.iter().any(|affine| affine.inverse().is_none()) {
        return Err(TransformError::Singular(path.to_owned()));
    }
    Ok(affines.into_iter().map(Step::Affine).collect())
}

fn field(
    path: &Path,
    fsl: Option<FslSpaces<'_>>,
    log: &Logbook<'_>,
    page: Page,
) -> Result<Step, TransformError> {
    let header = ImageHeader::read(path)?;
    if header.n_volumes() != 3 {
        let volumes = header.n_volumes();
        return Err(TransformError::Volumes { path: path.to_owned(), volumes });
    }
    let of_itk = is_itk(&header);
    if let (Some(fsl), false) = (fsl, of_itk) {
        return Ok(Step::Fsl(fsl.field(&header, log, page)?));
    }
    if !of_itk {
        check_field(&header, FieldKind::Places)?;
    }
    let image = log.session().on.workers.install(|| read_image(path))?;
    Ok(Step::Field(match (of_itk, header.intent().code) {
        (false, _) => Field::new(&image, Vectors::Places, [1.0; 3]),
        (true, DISPLACEMENTS) => Field::new(&image, Vectors::Displacements, [1.0; 3]),
        (true, _) => Field::new(&image, Vectors::Displacements, [-1.0, -1.0, 1.0]),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_ants_name_inverses() {
        let file = |word: &str| word.parse::<TransformFile>().unwrap();
        assert_eq!(file("a.mat"), TransformFile { path: "a.mat".into(), is_inverse: false });
        assert_eq!(file("[a,b.mat,1]"), TransformFile { path: "a,b.mat".into(), is_inverse: true });
        assert_eq!(file("[a.mat,0]"), file("a.mat"));
        for word in ["a.mat", "[a.mat,1]"] {
            assert_eq!(file(word).to_string(), word);
        }
    }
}
