//! Scans of the head of formulas with known faults.

use fimbria_compute::Workers;
use fimbria_image::{GradientTable, Image};
use fimbria_phantoms::{Acquisition, ShellSpec};
use fimbria_registration::{Eddy, Place};
use fimbria_testing::Noise;

use crate::phantom;

/// What goes wrong in a scan.
pub(crate) struct Scan {
    pub(crate) name: &'static str,
    pub(crate) shells: &'static [(f64, usize)],
    pub(crate) b0: usize,
    /// Largest motion, mm and degrees.
    pub(crate) motion: f64,
    /// Whether it happens at once, in the middle of the scan.
    pub(crate) is_sudden: bool,
    /// Largest linear field at b = 1000 s/mm², mm at 100 mm from the middle; those of second order are half as large.
    pub(crate) eddy_mm: f64,
    pub(crate) model: Eddy,
    /// Of 1000 in white matter without weighting.
    pub(crate) sigma: f64,
    pub(crate) dropped: usize,
    /// Whether directions are on one half of the sphere.
    pub(crate) is_half: bool,
}

const STILL: Scan = Scan {
    name: "still",
    shells: &[(1000.0, 30)],
    b0: 3,
    motion: 0.0,
    is_sudden: false,
    eddy_mm: 0.0,
    model: Eddy::Quadratic,
    sigma: 25.0,
    dropped: 0,
    is_half: false,
};

pub(crate) const ALL: &[Scan] = &[
    STILL,
    Scan { name: "still, half", is_half: true, ..STILL },
    Scan { name: "drift 2", motion: 2.0, ..STILL },
    Scan { name: "drift 5", motion: 5.0, ..STILL },
    Scan { name: "sudden 5", motion: 5.0, is_sudden: true, ..STILL },
    Scan { name: "eddy", eddy_mm: 3.0, ..STILL },
    Scan { name: "drift 3, eddy, dropped", motion: 3.0, eddy_mm: 3.0, dropped: 12, ..STILL },
    Scan {
        name: "the same, 3 shells",
        shells: &[(1000.0, 20), (2000.0, 20), (3000.0, 20)],
        b0: 5,
        motion: 3.0,
        eddy_mm: 3.0,
        dropped: 12,
        ..STILL
    },
    Scan {
        name: "20 directions, noisy",
        shells: &[(2500.0, 20)],
        b0: 1,
        motion: 2.0,
        eddy_mm: 2.0,
        sigma: 40.0,
        ..STILL
    },
];

/// A scan, and where the head was.
pub(crate) struct Made {
    pub(crate) series: Image,
    pub(crate) table: GradientTable,
    pub(crate) places: Vec<Place>,
    pub(crate) dropped: Vec<(usize, usize)>,
}

impl Scan {
    pub(crate) fn table(&self) -> GradientTable {
        let shells = self.shells.iter();
        let acquisition = Acquisition {
            shells: shells
                .map(|&(b_s_per_mm2, directions)| ShellSpec { b_s_per_mm2, directions })
                .collect(),
            b0s: self.b0,
        };
        let mut table = acquisition.gradients().unwrap();
        if !self.is_half {
            // As scanners have them, on the whole sphere: fields change their sign with the gradient.
            let odd = table.dirs_ras.iter_mut().skip(1).step_by(2);
            odd.for_each(|dir| *dir = dir.map(|x| -x));
        }
        table
    }

    /// Where the head is in each volume, and the fields that eddy currents make.
    pub(crate) fn places(&self, table: &GradientTable) -> Vec<Place> {
        let n = table.len();
        let mut random = Noise(11);
        let mut walk = [0.0; 6];
        let mut places = Vec::new();
        let mut signed = || 2.0 * random.uniform() - 1.0;
        let target: [f64; 6] = std::array::from_fn(|_| signed());
        for v in 0..n {
            if self.is_sudden {
                walk = if v > n / 2 { target } else { [0.0; 6] };
            } else if v > 0 {
                walk.iter_mut().for_each(|w| *w += signed());
            }
            places.push(walk);
        }
        let length = |w: &[f64]| w.iter().map(|x| x * x).sum::<f64>().sqrt();
        let most: [f64; 2] = [0, 1].map(|part| {
            places.iter().map(|w| length(&w[3 * part..3 * part + 3])).fold(1e-9, f64::max)
        });
        // Which gradient makes how much of which term.
        let mixing: Vec<[f64; 3]> = (0..8).map(|_| std::array::from_fn(|_| signed())).collect();
        let place = |v: usize| {
            let is_b0 = table.is_b0(v);
            let mut place = Place::still(1, if is_b0 { Eddy::None } else { Eddy::Quadratic });
            let w = places[v];
            let by =
                |part: usize| std::array::from_fn(|a| self.motion * w[3 * part + a] / most[part]);
            let turned: [f64; 3] = by(1);
            place.turn = fimbria_registration::rotation(turned.map(f64::to_radians));
            place.shift_mm = by(0);
            if !is_b0 {
                let strength = self.eddy_mm * (table.b_s_per_mm2[v] / 1000.0).sqrt();
                for (k, a) in place.eddy.iter_mut().enumerate() {
                    let order = if k < 3 { 1.0 } else { 0.5 };
                    let of: f64 = (0..3).map(|i| mixing[k][i] * table.dirs_ras[v][i]).sum();
                    *a = order * strength * of;
                }
                // The constant part is seen as a shift.
                place.shift_mm[1] += 0.3 * strength * table.dirs_ras[v][0];
            }
            place
        };
        (0..n).map(place).collect()
    }

    pub(crate) fn made(&self, workers: &Workers) -> Made {
        let table = self.table();
        let places = self.places(&table);
        let mut series = workers.install(|| phantom::series(&table, &places, self.sigma));
        let weighted: Vec<usize> = (0..table.len()).filter(|&v| !table.is_b0(v)).collect();
        let [nx, ny, nz] = series.grid.dims;
        let mut dropped = Vec::new();
        for at in 0..self.dropped {
            let (volume, slice) =
                (weighted[(7 * at + 3) % weighted.len()], nz / 3 + (5 * at) % (nz / 3));
            let samples = &mut series.volume_mut(volume)[slice * nx * ny..(slice + 1) * nx * ny];
            samples.iter_mut().for_each(|s| *s *= 0.3);
            dropped.push((volume, slice));
        }
        Made { series, table, places, dropped }
    }
}

impl Made {
    /// Median distance over the head, mm, of each volume's place from the truth: as if nothing had moved, and as
    /// found.
    pub(crate) fn errors(&self, found: &[Place]) -> [Vec<f64>; 2] {
        let mask = phantom::mask();
        let still = Place::still(1, Eddy::None);
        let of = |(truth, found): (&Place, &Place)| phantom::distance(truth, found, &mask)[0];
        [
            self.places.iter().map(|truth| of((truth, &still))).collect(),
            self.places.iter().zip(found).map(of).collect(),
        ]
    }

    pub(crate) fn angles(&self, found: &[Place]) -> Vec<f64> {
        self.places.iter().zip(found).map(|(a, b)| phantom::angle_deg(a, b)).collect()
    }
}

/// The value that this part of values are below.
pub(crate) fn part(values: &[f64], part: f64) -> f64 {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get((part * sorted.len().saturating_sub(1) as f64) as usize).copied().unwrap_or(f64::NAN)
}
