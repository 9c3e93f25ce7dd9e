//! Everything about a fit that is the same for all voxels.

use fimbria_image::GradientTable;

use super::design::Design;
use super::layout::{MapLayout, parameter_row};
use super::recipe::Recipe;
use super::tables::Tables;
use super::{DtiError, DtiMap, DtiOptions, Method};

/// A checked acquisition and checked options, in the forms that the backends read.
///
/// The operators of [`operators`](super::operators) are made from it. Signals are
/// `[volume][voxel]`, parameters `[row][voxel]` with [`n_parameter_rows`](Self::n_parameter_rows)
/// rows, maps `[row][voxel]` with [`n_map_rows`](Self::n_map_rows) rows.
#[derive(Clone, Debug)]
pub struct Problem {
    pub(crate) design: Design,
    pub(crate) tables: Tables,
    pub(crate) recipe: Recipe,
    pub(crate) layout: MapLayout,
}

impl Problem {
    /// The problem of fitting series acquired with `gradients` as `options` say.
    ///
    /// # Errors
    /// Where the table cannot determine a tensor or an option makes no sense.
    pub fn new(gradients: &GradientTable, options: &DtiOptions) -> Result<Self, DtiError> {
        if let Some(sigma) = options.sigma {
            if options.method != Method::Restore {
                return Err(DtiError::SigmaUnused);
            }
            if !(sigma.is_finite() && sigma > 0.0) {
                return Err(DtiError::Sigma(sigma));
            }
        }
        let design = Design::new(gradients)?;
        Ok(Self {
            tables: Tables::new(&design),
            recipe: Recipe::new(options, design.b_max),
            layout: MapLayout::new(&options.maps),
            design,
        })
    }

    /// Number of volumes.
    pub fn n_volumes(&self) -> usize {
        self.design.n_volumes()
    }

    /// Rows of the fitted parameters: S0 in input units; the tensor xx xy xz yy yz zz in scanner
    /// RAS axes, µm²/ms; the residual in input units (zero where its map is not wanted); the
    /// number of samples raised to have a logarithm; the [`Status`](fimbria_image::Status).
    pub fn n_parameter_rows(&self) -> usize {
        parameter_row::COUNT
    }

    /// Rows of the maps.
    pub fn n_map_rows(&self) -> usize {
        self.layout.n_rows()
    }

    /// The row at which a map begins, `None` where it is not wanted. The status is always
    /// computed.
    pub fn map_row(&self, map: DtiMap) -> Option<usize> {
        self.layout.first_row(map)
    }

    /// Elements of a tensor no larger than this, µm²/ms, change no sample by more than a part in a
    /// million: rounding of `f32`.
    pub(crate) fn rounding_of_tensor(&self) -> f32 {
        (1e-6 / self.design.b_max) as f32
    }

    pub(crate) fn wants_residual(&self) -> bool {
        self.layout.has_any(&[DtiMap::Residual])
    }
}
