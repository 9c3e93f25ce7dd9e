//! Volumes as pictures: mosaics of slices, sticks along fibre directions, streamlines.
//!
//! All are drawn upright in the neurological convention (the subject's left on the left) with
//! true proportions, cut to the box of the mask; voxels outside the mask stay dark. What is shown
//! is chosen from the mask alone, so that the maps of one subject have the same slices.

mod direction;
mod glyphs;
mod legend;
mod mosaic;
mod outline;
mod scalar;
mod status;
mod tracts;

pub use direction::{Direction, mosaic_rgb};
pub use glyphs::{Glyphs, glyphs};
pub use outline::mosaic_outline;
pub use scalar::{Scalar, mosaic_difference, mosaic_scalar};
pub use status::{Status, mosaic_status};
pub use tracts::{Tracts, tracts};

use fimbria_image::{GridMismatch, Image, Mask};

use crate::{
    numbers::coordinate,
    svg::{FONTS, escape},
};

/// A finished picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    alt: String,
    width: f64,
    height: f64,
    body: String,
}

impl Figure {
    pub(crate) fn new(alt: String, [width, height]: [f64; 2], body: String) -> Self {
        Self { alt, width, height, body }
    }

    /// One sentence for readers who cannot see the picture.
    pub fn alt(&self) -> &str {
        &self.alt
    }

    /// Width in CSS pixels at full size.
    pub fn width(&self) -> f64 {
        self.width
    }

    /// The picture as an SVG file of its own. Pictures without a ground of their own (plots) take
    /// the reader's light or dark preference.
    pub fn svg(&self) -> String {
        const THEME: &str = "<style>svg{color:#23262b}@media(prefers-color-scheme:dark){svg{color:#dfe2e7}}</style>";
        self.element(" xmlns=\"http://www.w3.org/2000/svg\"", THEME)
    }

    /// The picture as an element of a page, in the page's text colour.
    pub(crate) fn inline(&self) -> String {
        self.element("", "")
    }

    fn element(&self, namespace: &str, style: &str) -> String {
        let (w, h) = (coordinate(self.width), coordinate(self.height));
        // What has links in it is no single picture to those who listen to it.
        let role = if self.body.contains("<a ") { "group" } else { "img" };
        format!(
            "<svg{namespace} width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" role=\"{role}\" \
             aria-label=\"{}\" font-family=\"{FONTS}\">{style}\n{}</svg>",
            escape(&self.alt),
            self.body
        )
    }
}

/// A figure cannot be drawn from what was given.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FigureError {
    /// The image lies on another grid than the mask.
    #[error(transparent)]
    Grid(#[from] GridMismatch),
    /// The image has too few volumes, or not three per direction.
    #[error("{what} has {volumes} volumes where {needed} are needed")]
    Volumes {
        /// Which image.
        what: String,
        /// Number of volumes it has.
        volumes: usize,
        /// What would do.
        needed: String,
    },
}

/// Checks that an image covers the mask's grid and has at least `needed` volumes.
fn check(image: &Image, mask: &Mask, what: &str, needed: usize) -> Result<(), FigureError> {
    mask.grid.check_same(&image.grid, what)?;
    if image.n_volumes >= needed {
        return Ok(());
    }
    Err(FigureError::Volumes {
        what: what.into(),
        volumes: image.n_volumes,
        needed: format!("at least {needed}"),
    })
}

/// True where the voxel is in the mask.
fn contains(mask: &Mask, index: usize) -> bool {
    u32::try_from(index).is_ok_and(|index| mask.voxels.binary_search(&index).is_ok())
}
