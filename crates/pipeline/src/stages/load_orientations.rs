//! The stage that reads a function on the sphere in every voxel.

mod odx;

use std::path::{Path, PathBuf};

use clap::Args;
use fimbria_compute::{Progress as _, Workers};
use fimbria_image::arrays::ArraysError;
use fimbria_image::odx::Odx;
use fimbria_image::{
    BvecFrame, GridMismatch, ImageError, ImageHeader, Mask, OpenOptions, SignalSource, StoredImage,
    counted, read_mask,
};
use fimbria_tensors::peaks::ORDERS;
use fimbria_tensors::sh::{ShBasis, lmax_of_count, sh_count};
use fimbria_workflow::with_sidecar;
use serde_json::{Value, json};

use super::contents::{Claim, Contents, ContentsError, Looks};
use super::doubts::warn_of_place;
use crate::options::{Described as _, Takes, at_least, choice};
use crate::{
    ByteSize, Carried, Choice, Input, Logbook, Named, Product, Products, Stage, StageError,
};

impl Choice for ShBasis {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Mrtrix, "mrtrix", "MRtrix3; DIPY's tournier07, legacy=False"),
        (Self::Dipy, "dipy", "DIPY's descoteaux07, legacy=False"),
        (Self::DipyLegacy, "dipy-legacy", "DIPY's descoteaux07, legacy=True"),
    ];
}

/// Where the coefficients are and what they are.
#[derive(Clone, Debug, Default, PartialEq, Args)]
pub struct OrientationFiles {
    /// Coefficients, 4-D: unique entries of symmetric tensors, or spherical harmonics (--sh-basis,
    /// where the image itself does not say so), of order 4 to 12 (15, 28, 45, 66 or 91 volumes);
    /// or the harmonics of an ODX
    #[arg(value_name = "IMAGE")]
    #[arg(takes = Takes::IMAGE.frame("as --frame says"))]
    pub image: PathBuf,

    /// The coefficients are spherical harmonics of this basis
    #[arg(long, value_name = "BASIS", value_parser = choice::<ShBasis>(), help_heading = "Input")]
    #[arg(usually = "what the image says of itself; unique entries where it says nothing")]
    pub sh_basis: Option<Named<ShBasis>>,

    /// Order of the tensors, or highest degree of the harmonics
    #[arg(long, value_name = "ORDER", help_heading = "Input")]
    #[arg(usually = "what the number of volumes says")]
    #[arg(number = at_least(0_usize, ""))]
    pub order: Option<usize>,

    /// Axes the coefficients refer to
    #[arg(long, value_name = "FRAME", value_parser = choice::<BvecFrame>(), help_heading = "Input")]
    #[arg(usually = "voxel with a basis of DIPY, else scanner")]
    pub frame: Option<Named<BvecFrame>>,

    /// Voxels to work on: a 3-D image on the same grid, inside where above zero
    #[arg(long, value_name = "FILE", help_heading = "Input", usually = "all")]
    #[arg(takes = Takes::MASK)]
    pub mask: Option<PathBuf>,

    /// Memory that the program may take.
    #[arg(skip)]
    pub memory: Option<ByteSize>,

    /// Folder for a scratch file where the samples take more than their share.
    #[arg(skip)]
    pub scratch: Option<PathBuf>,
}

/// Why there is no function on the sphere.
#[derive(Debug, thiserror::Error)]
pub enum FieldError {
    /// An image cannot be read.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The mask is on another grid.
    #[error(transparent)]
    Grid(#[from] GridMismatch),
    /// No even order has that many coefficients.
    #[error(
        "{} has {}; unique entries or spherical harmonics of order 4 are 15, of order 6 are 28, of \
         order 8 are 45, of order 10 are 66, of order 12 are 91", path.display(), counted(*volumes, "volume")
    )]
    Volumes {
        /// The image.
        path: PathBuf,
        /// What it has.
        volumes: usize,
    },
    /// The order asked for has another number.
    #[error(
        "{} has {}; order {order} has {expected}", path.display(), counted(*volumes, "volume")
    )]
    Order {
        /// The image.
        path: PathBuf,
        /// What it has.
        volumes: usize,
        /// What was asked for.
        order: usize,
        /// What that would take.
        expected: usize,
    },
    /// It holds something else than was asked for.
    #[error(transparent)]
    Contents(#[from] ContentsError),
    /// Harmonics of no known basis.
    #[error(
        "{} holds spherical harmonics, says its {}, and does not say of which basis", path.display(),
        claim.place
    )]
    NoBasis {
        /// The image.
        path: PathBuf,
        /// What it says.
        claim: Claim,
    },
    /// The mask has no voxels.
    #[error("the mask {} has no voxel above zero", .0.display())]
    EmptyMask(PathBuf),
    /// An ODX cannot be read.
    #[error(transparent)]
    Odx(#[from] ArraysError),
    /// An ODX of fixels alone.
    #[error("{} has no densities as spherical harmonics (sh/coefficients)", .0.display())]
    NoHarmonics(PathBuf),
    /// Harmonics of another basis than was asked for, or of none that is known.
    #[error("{} has spherical harmonics of {says}{}", path.display(), wanted(*asked))]
    OdxBasis {
        /// The ODX.
        path: PathBuf,
        /// What it says.
        says: String,
        /// What was asked for.
        asked: Option<ShBasis>,
    },
}

/// A function on the sphere in every voxel, as a homogeneous form or as harmonics.
pub struct OrientationField {
    /// The coefficients, one volume for each.
    pub coefficients: Box<dyn SignalSource + Send + Sync>,
    /// Order of the form, or the highest degree.
    pub order: usize,
    /// The basis; `None` for unique entries.
    pub basis: Option<ShBasis>,
    /// The axes they refer to.
    pub frame: BvecFrame,
    /// The voxels to work on.
    pub mask: Mask,
    /// What of the header of the image goes on into maps.
    pub carried: Carried,
}

impl OrientationField {
    /// Of coefficients in memory, which messages call `name`: harmonics of `basis`, or unique entries.
    ///
    /// # Errors
    /// [`FieldError`] where their number or their values are those of neither.
    pub fn in_memory(
        name: &Path,
        coefficients: Box<dyn SignalSource + Send + Sync>,
        basis: Option<ShBasis>,
        frame: Option<BvecFrame>,
        mask: Mask,
        workers: &Workers,
    ) -> Result<Self, FieldError> {
        let order = order_of(name, None, coefficients.n_volumes())?;
        check_values(name, &*coefficients, asked(basis), workers)?;
        let frame = frame.unwrap_or(usual_frame(basis));
        Ok(Self { coefficients, order, basis, frame, mask, carried: Carried::default() })
    }
}

/// What else could be done about harmonics of another basis.
fn wanted(asked: Option<ShBasis>) -> String {
    match asked {
        Some(asked) => format!(", not of {}: leave --sh-basis out", asked.name()),
        None => ": --sh-basis says which it is, dipy or dipy-legacy".to_owned(),
    }
}

/// What coefficients are to be.
fn asked(basis: Option<ShBasis>) -> Contents {
    basis.map_or(Contents::Entries, |basis| Contents::Harmonics(Some(basis)))
}

/// The axes of coefficients where nothing is said.
fn usual_frame(basis: Option<ShBasis>) -> BvecFrame {
    match basis {
        Some(ShBasis::Dipy | ShBasis::DipyLegacy) => BvecFrame::Voxel,
        Some(ShBasis::Mrtrix) | None => BvecFrame::Scanner,
    }
}

/// The order of so many coefficients, or that asked for.
fn order_of(path: &Path, asked: Option<usize>, volumes: usize) -> Result<usize, FieldError> {
    let path = path.to_owned();
    match asked {
        None => lmax_of_count(volumes)
            .filter(|order| ORDERS.contains(order))
            .ok_or(FieldError::Volumes { path, volumes }),
        Some(order) if order > 1000 || sh_count(order) != volumes => {
            let expected = sh_count(order.min(1000));
            Err(FieldError::Order { path, volumes, order, expected })
        }
        Some(order) => Ok(order),
    }
}

impl OrientationFiles {
    /// The axes in effect.
    pub fn frame(&self) -> BvecFrame {
        self.frame.map_or(usual_frame(self.sh_basis.map(|basis| basis.0)), |frame| frame.0)
    }

    /// What the volumes of the image are to be read as.
    fn asked(&self) -> Contents {
        asked(self.sh_basis.map(|basis| basis.0))
    }

    /// The same, with what the image says of itself: its basis and its axes, where neither was
    /// given.
    ///
    /// # Errors
    /// [`FieldError`] where it cannot be read, or says that it holds something else.
    pub fn settled(mut self) -> Result<Self, FieldError> {
        if Odx::is_named(&self.image) {
            return Ok(self);
        }
        let header = ImageHeader::read(&self.image)?;
        let Some(claim) = Claim::from_header(&header) else { return Ok(self) };
        match claim.what {
            // What DIPY writes is of either of its bases, and mostly does not say which.
            Contents::Harmonics(Some(ShBasis::Mrtrix)) if self.sh_basis.is_none() => {
                self.sh_basis = Some(Named(ShBasis::Mrtrix));
            }
            Contents::Harmonics(_) if self.sh_basis.is_none() => {
                return Err(FieldError::NoBasis { path: self.image, claim });
            }
            _ => {}
        }
        Claim::checked(&header, self.asked())?;
        self.frame = self.frame.or(claim.frame.map(Named));
        Ok(self)
    }

    /// Reads the coefficients, and says what they are.
    ///
    /// # Errors
    /// [`FieldError`].
    pub fn read(&self, log: &Logbook<'_>) -> Result<OrientationField, FieldError> {
        if Odx::is_named(&self.image) {
            return self.read_odx(log);
        }
        let workers = log.session().on.workers;
        let options = OpenOptions {
            memory_limit: self.memory.map(ByteSize::for_samples),
            scratch_dir: self.scratch.clone(),
        };
        let stored = workers.install(|| StoredImage::open(&self.image, &options))?;
        let (basis, asked) = (self.sh_basis.map(|basis| basis.0), self.asked());
        let claim = Claim::checked(&stored, asked)?;
        warn_of_place(&stored, log);
        let order = order_of(&self.image, self.order, stored.n_volumes())?;
        if claim.is_none() {
            check_values(&self.image, &stored, asked, workers)?;
        }
        log.note(&format!("{asked} of order {order}"));
        let mask = match &self.mask {
            Some(path) => workers.install(|| read_mask(path, stored.grid()))?,
            None => Mask::full(*stored.grid()),
        };
        if let (Some(path), true) = (&self.mask, mask.is_empty()) {
            return Err(FieldError::EmptyMask(path.clone()));
        }
        log.count("voxels", mask.len() as u64);
        let carried = Carried::from_header(&stored);
        let said = claim.and_then(|claim| claim.frame);
        let frame = self.frame.map(|frame| frame.0).or(said).unwrap_or_else(|| self.frame());
        let coefficients = Box::new(stored);
        Ok(OrientationField { coefficients, order, basis, frame, mask, carried })
    }
}

/// Refuses values that cannot be what was asked for, of an image that says nothing of itself.
fn check_values(
    path: &Path,
    stored: &dyn SignalSource,
    asked: Contents,
    workers: &Workers,
) -> Result<(), ContentsError> {
    let looks = workers.install(|| Looks::of_source(stored));
    let can_be = if asked == Contents::Entries { looks.like_entries } else { looks.like_harmonics };
    let looks = if can_be {
        return Ok(());
    } else if looks.like_directions {
        Contents::Directions
    } else if asked == Contents::Entries && looks.like_harmonics {
        Contents::Harmonics(None)
    } else if asked == Contents::Entries {
        // Perhaps entries in another order, as MRtrix3 writes kurtosis.
        Contents::Numbers
    } else {
        return Ok(());
    };
    let (path, volumes) = (path.to_owned(), stored.n_volumes());
    Err(ContentsError::Looks { path, volumes, looks, asked })
}

/// Reads an [`OrientationField`].
pub struct LoadOrientations(pub OrientationFiles);

impl Stage for LoadOrientations {
    fn name(&self) -> &'static str {
        "load"
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<OrientationField>()]
    }

    fn inputs(&self) -> Vec<Input> {
        let mask = self.0.mask.iter().map(|path| ("mask".to_owned(), path.clone()));
        with_sidecar("image", &self.0.image).chain(mask).collect()
    }

    fn parameters(&self) -> Value {
        json!({
            "sh_basis": self.0.sh_basis,
            "order": self.0.order,
            "frame": Named(self.0.frame()),
            "mask": if self.0.mask.is_some() { "given" } else { "all voxels" },
        })
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        products.put(self.0.read(log)?);
        Ok(())
    }
}
