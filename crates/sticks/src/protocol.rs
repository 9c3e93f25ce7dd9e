//! The measurements of a series, in the units of the sampler.

use fimbria_image::GradientTable;

/// Gradients of every volume.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Protocol {
    /// √b g, scanner axes, √(ms/µm²): its product with a direction, squared, is b (g·v)².
    pub(crate) root: Vec<[f64; 3]>,
    /// b, ms/µm².
    pub(crate) b: Vec<f64>,
}

impl Protocol {
    pub(crate) fn new(gradients: &GradientTable) -> Self {
        let b: Vec<f64> = gradients.b_s_per_mm2.iter().map(|b| b * 1e-3).collect();
        let scaled = |(g, b): (&[f64; 3], &f64)| g.map(|c| c * b.sqrt());
        Self { root: gradients.dirs_ras.iter().zip(&b).map(scaled).collect(), b }
    }

    pub(crate) fn len(&self) -> usize {
        self.b.len()
    }

    /// √b g as rows x y z of `f32`.
    pub(crate) fn root_rows(&self) -> [Vec<f32>; 3] {
        std::array::from_fn(|axis| self.root.iter().map(|g| g[axis] as f32).collect())
    }
}
