//! A subject and what is known about it.

use fimbria_image::{GradientTable, Image, Mask};

use crate::tissue::{FIBRES, Tissue};

/// A measured phantom.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The series.
    pub dwi: Image,
    /// Its weighting, in scanner RAS+ axes.
    pub gradients: GradientTable,
    /// Voxels of which at least half is tissue; elsewhere there is only noise.
    pub mask: Mask,
    /// What went in.
    pub truth: Truth,
}

/// Everything that is known about a phantom, as named maps.
#[derive(Clone, Debug)]
pub struct Truth {
    /// The maps, in the order of the tables at [`crossing`](crate::crossing) and
    /// [`protocol`](crate::protocol).
    pub maps: Vec<TruthMap>,
    /// Standard deviation of the noise in either part of the complex signal, in the units of the
    /// series; 0 for none.
    pub noise_sigma: f64,
}

/// A map of what is known.
#[derive(Clone, Debug)]
pub struct TruthMap {
    /// Its name, which also is its file's.
    pub name: &'static str,
    /// Content, unit and frame, in at most 79 characters (what a NIfTI header holds).
    pub description: &'static str,
    /// Its values.
    pub image: Image,
}

impl Truth {
    /// The map of this name.
    pub fn map(&self, name: &str) -> Option<&Image> {
        self.maps.iter().find(|m| m.name == name).map(|m| &m.image)
    }

    /// Names and maps.
    pub fn images(&self) -> Vec<(&'static str, &Image)> {
        self.maps.iter().map(|m| (m.name, &m.image)).collect()
    }

    /// The maps of the tissue, which every phantom has.
    pub(crate) fn of_tissue(tissue: Tissue, noise_sigma: f64) -> Self {
        let mut count = Image { data: vec![0.0; tissue.s0.data.len()], ..tissue.s0.clone() };
        for k in 0..FIBRES {
            for (count, fraction) in count.data.iter_mut().zip(tissue.fractions.volume(k)) {
                *count += f32::from(u8::from(*fraction > 0.0));
            }
        }
        let maps = vec![
            TruthMap {
                name: "dirs",
                description: "fibre directions, x y z per fibre, scanner axes, 0 = none",
                image: tissue.dirs_ras,
            },
            TruthMap {
                name: "fractions",
                description: "signal fractions at b=0: fibres 1 to 3, grey matter, fluid",
                image: tissue.fractions,
            },
            TruthMap { name: "count", description: "number of fibre populations", image: count },
            TruthMap {
                name: "S0",
                description: "unweighted signal without noise, units of the series",
                image: tissue.s0,
            },
        ];
        Self { maps, noise_sigma }
    }
}
