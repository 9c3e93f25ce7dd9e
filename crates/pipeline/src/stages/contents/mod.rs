//! What the volumes of a derived image are: what the file says of itself, and where it says
//! nothing, what its values can be.

mod values;
mod words;

use std::fmt;
use std::path::{Path, PathBuf};

use fimbria_image::{BvecFrame, Image, ImageError, ImageHeader, counted};
use fimbria_tensors::sh::{ShBasis, lmax_of_count};

pub(crate) use self::values::Looks;

/// What volumes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Directions, three volumes each.
    Directions,
    /// The second or third eigenvector of a tensor: a direction across the fibres.
    Across,
    /// Unique entries of a symmetric tensor of order 4 or above, lexicographic.
    Entries,
    /// The diffusion tensor, in any order of its six entries.
    Tensor,
    /// The kurtosis tensor in an order of its entries that is not the lexicographic one.
    Kurtosis,
    /// Spherical harmonics, of this basis where it is known.
    Harmonics(Option<ShBasis>),
    /// Numbers by themselves: maps, labels, samples, series.
    Numbers,
}

impl Contents {
    /// True where this can have so many volumes.
    fn can_have(self, n_volumes: usize) -> bool {
        let order = lmax_of_count(n_volumes).unwrap_or(0);
        match self {
            Self::Directions => n_volumes.is_multiple_of(3),
            Self::Across => n_volumes == 3,
            Self::Entries => order >= 4,
            Self::Tensor => n_volumes == 6,
            Self::Kurtosis => n_volumes == 15,
            Self::Harmonics(_) => order >= 2,
            Self::Numbers => true,
        }
    }

    /// True where what is asked for may be this.
    pub(super) fn allows(self, asked: Self) -> bool {
        match (self, asked) {
            (Self::Harmonics(None), Self::Harmonics(_)) => true,
            // Which of its two DIPY means, files do not say.
            (Self::Harmonics(Some(a)), Self::Harmonics(Some(b))) => {
                (a == ShBasis::Mrtrix) == (b == ShBasis::Mrtrix)
            }
            (claimed, asked) => claimed == asked,
        }
    }
}

impl fmt::Display for Contents {
    /// In words that are understood when they are read as a description.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directions => f.write_str("fibre directions"),
            Self::Across => f.write_str("the second or third eigenvector of a tensor"),
            Self::Entries => f.write_str("unique entries of a symmetric tensor"),
            Self::Tensor => f.write_str("a diffusion tensor"),
            Self::Kurtosis => f.write_str("a kurtosis tensor"),
            Self::Harmonics(None) => f.write_str("spherical harmonics"),
            Self::Harmonics(Some(basis)) => {
                write!(f, "spherical harmonics in the basis {}", basis.name())
            }
            Self::Numbers => f.write_str("plain numbers"),
        }
    }
}

/// What a file says of its volumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// What they are.
    pub what: Contents,
    /// The axes they refer to, where that is said.
    pub frame: Option<BvecFrame>,
    /// Where that stands.
    pub place: &'static str,
}

/// An image that holds something else than it is read as.
#[derive(Debug, thiserror::Error)]
pub enum ContentsError {
    /// The file says so.
    #[error(
        "{} holds {}, says its {}; it was to be read as {asked}", path.display(), claim.what,
        claim.place
    )]
    Said {
        /// The image.
        path: PathBuf,
        /// What it says.
        claim: Claim,
        /// What was asked for.
        asked: Contents,
    },
    /// It says nothing, and its values are unlike what was asked for.
    #[error(
        "{} does not say what it holds, and its values look like {looks} ({}); it was to be read as {asked}",
        path.display(), counted(*volumes, "volume")
    )]
    Looks {
        /// The image.
        path: PathBuf,
        /// How many it has.
        volumes: usize,
        /// What its values can be.
        looks: Contents,
        /// What was asked for.
        asked: Contents,
    },
    /// The file says that its numbers are none of labels.
    #[error("{} holds {}, says its {}: no labels of regions", path.display(), claim.what, claim.place)]
    NoLabels {
        /// The image.
        path: PathBuf,
        /// What it says.
        claim: Claim,
    },
    /// Labels by the volume.
    #[error("{} has {volumes} volumes: an image of labels has one", path.display())]
    LabelVolumes {
        /// The image.
        path: PathBuf,
        /// How many it has.
        volumes: usize,
    },
}

impl Claim {
    /// The first of: sidecar, description, command history of a .mif, intent of a NIfTI header,
    /// name. What an image of so many volumes cannot be it does not say, nor does a description where
    /// another program made the image: headers are copied to what is made of an image.
    pub fn from_header(header: &ImageHeader) -> Option<Self> {
        let can_be = |claim: &Self| claim.what.can_have(header.n_volumes());
        words::of_sidecar(header.path())
            .filter(can_be)
            .or_else(|| {
                let is_its_own = !words::is_made_anew(header);
                let said = is_its_own.then(|| words::of_description(header.description()));
                said.flatten().filter(can_be)
            })
            .or_else(|| words::of_history(header).filter(can_be))
            .or_else(|| words::of_intent(header))
            .or_else(|| words::of_name(header))
    }

    /// The claim as a description, where a file has none that makes it.
    pub fn description(&self) -> String {
        let frame = match self.frame {
            None => "",
            Some(BvecFrame::Scanner) => ", scanner RAS axes",
            Some(BvecFrame::Voxel) => ", voxel axes",
            Some(BvecFrame::Fsl) => ", the axes of FSL's bvecs",
        };
        format!("{}{frame}", self.what)
    }

    /// Refuses an image that says that it holds something else than `asked`; hands back what it
    /// says otherwise.
    ///
    /// # Errors
    /// [`ContentsError::Said`].
    pub(crate) fn checked(
        header: &ImageHeader,
        asked: Contents,
    ) -> Result<Option<Self>, ContentsError> {
        match Self::from_header(header) {
            Some(claim) if !claim.what.allows(asked) => {
                Err(ContentsError::Said { path: header.path().to_owned(), claim, asked })
            }
            claim => Ok(claim),
        }
    }
}

/// Refuses what cannot be an image of labels: whatever has several volumes, and what says that it is
/// something else, such as a status map.
///
/// # Errors
/// [`ContentsError::LabelVolumes`], [`ContentsError::NoLabels`].
pub fn check_labels(path: &Path) -> Result<(), ContentsError> {
    // What cannot be read is the business of who reads it.
    let Ok(header) = ImageHeader::read(path) else { return Ok(()) };
    let path = path.to_owned();
    match (header.n_volumes(), Claim::from_header(&header)) {
        (1, None) => Ok(()),
        (1, Some(claim)) => Err(ContentsError::NoLabels { path, claim }),
        (volumes, _) => Err(ContentsError::LabelVolumes { path, volumes }),
    }
}

/// Refuses an image of several volumes for a region.
///
/// # Errors
/// [`ImageError::MaskVolumes`].
pub(crate) fn check_region(path: &Path, image: &Image) -> Result<(), ImageError> {
    let (path, n_volumes) = (path.to_owned(), image.n_volumes);
    if n_volumes == 1 { Ok(()) } else { Err(ImageError::MaskVolumes { path, n_volumes }) }
}

/// Refuses directions that are none: an image that says so, or whose values cannot be some. Hands
/// back what it says of itself.
///
/// # Errors
/// [`ContentsError`].
pub(crate) fn check_directions(
    header: &ImageHeader,
    image: &Image,
) -> Result<Option<Claim>, ContentsError> {
    let claim = Claim::checked(header, Contents::Directions)?;
    if claim.is_none() {
        check_directions_in_memory(header.path(), image)?;
    }
    Ok(claim)
}

/// Refuses directions whose values cannot be some.
///
/// # Errors
/// [`ContentsError::Looks`].
pub(crate) fn check_directions_in_memory(path: &Path, image: &Image) -> Result<(), ContentsError> {
    let Some(looks) = Looks::of_source(image).unlike_directions() else { return Ok(()) };
    let (path, volumes, asked) = (path.to_owned(), image.n_volumes, Contents::Directions);
    Err(ContentsError::Looks { path, volumes, looks, asked })
}

#[cfg(test)]
mod tests {

    use fimbria_image::{MapKind, MapSpec};

    use super::*;
    use crate::options::usual;
    use crate::stages::fits::FITS;
    use crate::stages::peaks::PeaksParameters;
    use crate::{Choice as _, MapLayout, MapStyle, Named};

    /// What NIfTI's header keeps of a description.
    const KEPT: usize = 79;

    fn all_maps() -> Vec<MapSpec> {
        let mut maps = usual::<PeaksParameters>().maps().to_vec();
        maps.extend(FITS.iter().flat_map(|fit| fit.maps()));
        maps
    }

    #[test]
    fn every_map_says_in_every_layout_what_it_is() {
        for &(layout, ..) in MapLayout::CHOICES {
            let style = MapStyle { layout: Named(layout), ..MapStyle::default() };
            let of_fsl = layout == MapLayout::Fsl;
            for map in all_maps() {
                let mut description = style.description(&map);
                while description.len() > KEPT {
                    description.pop();
                }
                let claim = words::of_description(&description);
                let what = claim.map(|claim| claim.what);
                let turned = if of_fsl { BvecFrame::Fsl } else { BvecFrame::Scanner };
                let (expected, frame) = match map.kind {
                    MapKind::Vector if matches!(&*map.name, "V2" | "V3") => {
                        (Contents::Across, turned)
                    }
                    MapKind::Vector | MapKind::Peaks => (Contents::Directions, turned),
                    MapKind::Tensor => (Contents::Tensor, turned),
                    MapKind::Kurtosis if layout == MapLayout::Mrtrix => {
                        (Contents::Kurtosis, turned)
                    }
                    MapKind::Kurtosis => (Contents::Entries, turned),
                    MapKind::Form(_) => (Contents::Entries, BvecFrame::Scanner),
                    MapKind::Harmonics(_) => {
                        (Contents::Harmonics(Some(ShBasis::Mrtrix)), BvecFrame::Scanner)
                    }
                    // One volume is nothing else; of several it must be said.
                    MapKind::Scalar | MapKind::Code => {
                        let is_plain = map.n_volumes == 1 && what.is_none();
                        assert!(is_plain || what == Some(Contents::Numbers), "{description}");
                        continue;
                    }
                };
                assert_eq!(what, Some(expected), "{layout:?}: {description}");
                let said = claim.and_then(|claim| claim.frame);
                let is_short = map.description.len() < KEPT;
                assert!(said == Some(frame) || (said.is_none() && !is_short), "{description}");
            }
        }
    }
}
