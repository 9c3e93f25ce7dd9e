//! A diffusion series and its gradient table.

use std::sync::Arc;

use fimbria_compute::Progress as _;
use fimbria_image::frames::turned;
use fimbria_image::{BvecFrame, GradientTable, Grid, Image, Mask};
use fimbria_models::brain_mask::brain_mask;
use fimbria_pipeline::stages::doubts::{check_table, warn_of_decay};
use fimbria_pipeline::stages::load::Subject;
use fimbria_pipeline::{Carried, Logbook, StageError};
use ndarray::{Array3, Array4, ArrayView3, CowArray, Ix4, ShapeBuilder as _};

use crate::{Engine, Error};

/// The upper three rows of the matrix that takes voxel indices to scanner RAS+ millimetres, as NIfTI has it.
pub type Affine = [[f64; 4]; 3];

/// The axes that directions refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Frame {
    /// Scanner RAS+ axes, as in MRtrix3.
    Scanner,
    /// Voxel axes, as in DIPY.
    Voxel,
    /// Voxel axes, x reversed where the affine's determinant is positive: FSL's bvecs.
    Fsl,
}

impl Frame {
    pub(crate) fn bvec_frame(self) -> BvecFrame {
        match self {
            Self::Scanner => BvecFrame::Scanner,
            Self::Voxel => BvecFrame::Voxel,
            Self::Fsl => BvecFrame::Fsl,
        }
    }
}

/// What was measured in each volume.
#[derive(Clone, Debug)]
pub struct Gradients {
    b_s_per_mm2: Vec<f64>,
    directions: Vec<[f64; 3]>,
    frame: Frame,
    b0_threshold: f64,
}

impl Gradients {
    /// b-values in s/mm², and unit directions in the axes of `frame`, zero where b is.
    pub fn new(b_s_per_mm2: Vec<f64>, directions: Vec<[f64; 3]>, frame: Frame) -> Self {
        Self { b_s_per_mm2, directions, frame, b0_threshold: 50.0 }
    }

    /// The same with volumes of b up to `threshold` s/mm², 50 by default, taken as unweighted.
    #[must_use]
    pub fn with_b0_threshold(self, threshold: f64) -> Self {
        Self { b0_threshold: threshold, ..self }
    }

    fn table(self, grid: &Grid, volumes: usize) -> Result<GradientTable, Error> {
        let Self { b_s_per_mm2, mut directions, frame, b0_threshold } = self;
        let (rows, columns) = (b_s_per_mm2.len(), directions.len());
        if rows != volumes || columns != volumes {
            return Err(Error::new(format!(
                "the series has {volumes} volumes, and the table {rows} b-values and {columns} directions"
            )));
        }
        let turn = frame.bvec_frame().ras_from_frame(&grid.ras_from_vox);
        directions.iter_mut().for_each(|direction| *direction = turned(&turn, *direction));
        Ok(GradientTable { b_s_per_mm2, dirs_ras: directions, b0_threshold })
    }
}

/// A diffusion series: samples, where they lie, what was measured, and the voxels to work on.
pub struct Series {
    samples: Arc<Image>,
    gradients: GradientTable,
    mask: Mask,
}

impl Series {
    /// Samples with the axes x, y, z, volume; all voxels are worked on. An owned array in Fortran's order is
    /// taken without a copy.
    ///
    /// # Errors
    /// Where the table has another number of volumes, and where the affine has no inverse.
    pub fn new<'a>(
        samples: impl Into<CowArray<'a, f32, Ix4>>,
        affine: Affine,
        gradients: Gradients,
    ) -> Result<Self, Error> {
        let samples = image(samples.into(), affine)?;
        let gradients = gradients.table(&samples.grid, samples.n_volumes)?;
        Ok(Self { mask: Mask::full(samples.grid), samples: Arc::new(samples), gradients })
    }

    /// The same, worked on where `mask` is true.
    ///
    /// # Errors
    /// Where it has another shape, or no voxel.
    pub fn with_mask(self, mask: ArrayView3<'_, bool>) -> Result<Self, Error> {
        Ok(Self { mask: masked(mask, &self.samples.grid)?, ..self })
    }

    pub(crate) fn subject(&self, log: &Logbook<'_>) -> Result<Subject, StageError> {
        let Self { samples, gradients, mask } = self;
        check_table(gradients, log)?;
        warn_of_decay(&**samples, gradients, mask, log);
        log.check()?;
        Ok(Subject {
            dwi: Arc::clone(samples) as _,
            gradients: gradients.clone(),
            mask: mask.clone(),
            grad_dev: None,
            carried: Carried::default(),
        })
    }
}

impl Engine {
    /// The brain, with the fluid around it, as `fimbria mask` makes it; pass it to
    /// [`with_mask`](Series::with_mask).
    pub fn brain_mask(&self, series: &Series) -> Array3<bool> {
        let mask = brain_mask(&*series.samples, &series.gradients, self.workers());
        let mut inside = Array3::default(mask.grid.dims.f());
        let cells = inside.as_slice_memory_order_mut().expect("a new array lies close together");
        mask.voxels.iter().for_each(|&voxel| cells[voxel as usize] = true);
        inside
    }
}

/// The voxels of `grid` where `mask` is true.
pub(crate) fn masked(mask: ArrayView3<'_, bool>, grid: &Grid) -> Result<Mask, Error> {
    let [x, y, z] = grid.dims;
    if mask.dim() != (x, y, z) {
        let shape = mask.dim();
        return Err(Error::new(format!("the mask has the shape {shape:?}, not {:?}", (x, y, z))));
    }
    // With x fastest, as voxels are numbered.
    let inside =
        mask.t().into_iter().zip(0..).filter_map(|(inside, voxel)| inside.then_some(voxel));
    let mask = Mask { grid: *grid, voxels: inside.collect() };
    if mask.is_empty() { Err(Error::new("the mask has no voxel")) } else { Ok(mask) }
}

/// An image of an array.
pub(crate) fn image(array: CowArray<'_, f32, Ix4>, affine: Affine) -> Result<Image, Error> {
    let (x, y, z, n_volumes) = array.dim();
    let grid = Grid { dims: [x, y, z], ras_from_vox: fimbria_image::Affine(affine) };
    if array.is_empty() || u32::try_from(grid.len()).is_err() {
        let shape = array.dim();
        return Err(Error::new(format!(
            "an array of the shape {shape:?} has no voxels, or too many"
        )));
    }
    if grid.ras_from_vox.inverse().is_none() {
        return Err(Error::new("the affine has no inverse"));
    }
    let is_ordered = array.t().is_standard_layout();
    let data = if is_ordered && array.is_owned() {
        let (mut data, offset) = array.into_owned().into_raw_vec_and_offset();
        data.drain(..offset.unwrap_or(0));
        data.truncate(grid.len() * n_volumes);
        data
    } else {
        array.t().iter().copied().collect()
    };
    Ok(Image { grid, n_volumes, data })
}

/// An array of an image, without a copy.
pub(crate) fn array(image: Image) -> Array4<f32> {
    let [x, y, z] = image.grid.dims;
    let shape = (x, y, z, image.n_volumes).f();
    Array4::from_shape_vec(shape, image.data)
        .expect("an image has as many samples as its shape says")
}
