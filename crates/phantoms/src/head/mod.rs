//! A head of known truth: anatomy, bundles and signal.
//!
//! The head is made from surfaces, so that it is the same at any voxel size and on any grid. One
//! idea per file: `shapes` (solids), `waves` (randomness), `cerebrum` (envelope of a hemisphere),
//! `sulci` (where it folds), `cortex` (the folded shell), `deep` and `hindbrain` (nuclei,
//! ventricles, stem, cerebellum), `surround` (fluid, skull, air), `anatomy` (all of them), `gyri` and `parcels` (cortex by
//! name), `cells` (parts of voxels), `routes` and `lines` (bundles), `fixels` (their densities), `tissue` and
//! `watson` (what water does), `compartments`, `encoding`, `series` and `cumulants` (signal and its truth), `faults`
//! (motion, lost slices, uneven gradients), `sources`, `magnet`, `myelin` and `scan` (susceptibility, its field, water in
//! myelin, gradient echoes).

mod anatomy;
mod cells;
mod cerebrum;
mod compartments;
mod cortex;
mod cumulants;
mod deep;
mod encoding;
mod faults;
mod fixels;
mod gyri;
mod hindbrain;
mod labels;
mod lattice;
mod lines;
mod magnet;
mod myelin;
mod packing;
mod parcels;
mod routes;
mod scan;
mod series;
mod shapes;
mod sources;
mod sulci;
mod surround;
mod tissue;
mod watson;
mod waves;

use std::ops::Range;
use std::sync::Arc;

use fimbria_compute::{Interrupted, Progress, Workers};
use fimbria_image::{Grid, Image, Mask};
use rayon::prelude::*;

use crate::render::place;
use crate::zeros::zeros;
use crate::{Acquisition, GreSubject, PhantomError, Placement, Subject, Truth, TruthMap};
pub use encoding::Encoding;
pub use faults::{Dropped, Faults, Faulty, Pose};
pub use labels::{Label, Tissue, labels, lookup_table};
pub use lines::HeadBundle;
pub use myelin::Fibres;
pub use scan::HeadScan;

/// What [`head`] makes.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadSpec {
    /// The grid. Its middle is the head's; scanner coordinates are from the anterior commissure.
    pub placement: Placement,
    /// The volumes.
    pub acquisition: Acquisition,
    /// Shapes of the shells' b-tensors: one of all or one of each; none where all are linear.
    pub encodings: Vec<Encoding>,
    /// Unweighted white-matter signal over the standard deviation of the noise in either part of
    /// the complex signal; infinite for no noise.
    pub snr: f64,
    /// Seed of the noise.
    pub seed: u64,
    /// Which head: folds, size and ventricles.
    pub subject: u64,
    /// Points per axis at which voxels on a boundary are sampled, 2 to 8.
    pub samples_per_axis: usize,
    /// What goes wrong in the series.
    pub faults: Faults,
    /// A gradient-echo scan besides the series, if one is wanted.
    pub scan: Option<HeadScan>,
}

impl Default for HeadSpec {
    /// 2.5 mm voxels around the whole head, the default acquisition, SNR 30.
    fn default() -> Self {
        Self {
            placement: Placement {
                dims: [72, 88, 71],
                voxel_mm: [2.5; 3],
                tilt_deg: [6.0, -4.0, 3.0],
                x_right_to_left: true,
            },
            acquisition: Acquisition::default(),
            encodings: Vec::new(),
            snr: 30.0,
            seed: 1,
            subject: 1,
            samples_per_axis: 3,
            faults: Faults::default(),
            scan: None,
        }
    }
}

/// A measured head and all that is known of it.
#[derive(Clone, Debug)]
pub struct Head {
    /// The series, its mask (voxels at least half of which are brain or its fluid) and its truth: FA,
    /// MD, MK, dirs, fractions, bundles, ODI, NDI, S0, coil, PD, T1, T2.
    pub subject: Arc<Subject>,
    /// Δ of each volume's b-tensor: 1 linear, -0.5 planar, 0 spherical.
    pub shapes: Vec<f64>,
    /// What went wrong in the series. Masks and truth are of the head in its first volume.
    pub faults: Faulty,
    /// The gradient-echo scan.
    pub scan: Option<GreSubject>,
    /// A T1-weighted picture without noise.
    pub t1w: Image,
    /// Numbers of [`labels`]: of cortex those of its gyri.
    pub labels: Image,
    /// Cortical grey, subcortical grey, white, fluid and nothing: parts of a voxel of the brain, of
    /// sum 1, in the order of MRtrix's 5TT; zero outside the mask.
    pub five_tissues: Image,
    /// Parts of every voxel by [`Tissue::ALL`], of sum 1.
    pub tissues: Image,
    /// The bundles, numbered from 1 in `bundles` of the truth; the number after the last is that
    /// of fibres of no bundle.
    pub bundles: Vec<HeadBundle>,
}

/// The middle of the head in mm from the anterior commissure, where the middle of the grid is.
const MIDDLE_MM: [f64; 3] = [0.0, -14.0, 2.0];

/// Makes a head.
///
/// # Errors
/// [`PhantomError`] where the specification is out of range, memory is short or the user stops it.
pub fn head(
    spec: &HeadSpec,
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<Head, PhantomError> {
    let grid = spec.grid()?;
    let gradients = spec.acquisition.gradients()?;
    let shapes = encoding::shapes(&spec.encodings, &spec.acquisition, &gradients)?;
    let anatomy = anatomy::Anatomy::new(spec.subject, workers, progress)?;
    let bundles = lines::bundles(&anatomy, spec.subject, workers, progress)?;
    let cells = cells::Cells::sample(&anatomy, grid, spec.samples_per_axis, workers, progress)?;
    let fixels = fixels::Fixels::new(&bundles, workers, progress)?;
    let filled = |cells: &cells::Cells| {
        compartments::Compartments::new(&anatomy, cells, &fixels, workers, progress)
    };
    let compartments = filled(&cells)?;
    let mask = brain(&cells, &anatomy, 0.5);
    let scan = |of: &HeadScan| {
        let own = of.placement(&spec.placement).map(|placement| grid_of(&placement)).transpose()?;
        let Some(grid) = own else {
            return scan::scan(of, spec.seed, &anatomy, &compartments, &cells, workers, progress);
        };
        let samples = spec.samples_per_axis;
        let cells = cells::Cells::sample(&anatomy, grid, samples, workers, progress)?;
        let compartments = filled(&cells)?;
        scan::scan(of, spec.seed, &anatomy, &compartments, &cells, workers, progress)
    };
    let scan = spec.scan.as_ref().map(scan).transpose()?;
    let weighted: Vec<_> = (0..gradients.len()).map(|volume| !gradients.is_b0(volume)).collect();
    let faults = spec.faults.made(grid, &weighted, &mask.voxels, spec.seed)?;
    let measured = series::Measured { gradients: &gradients, shapes: &shapes, faults: &faults };
    let (snr, seed) = (spec.snr, spec.seed);
    let dwi = series::series(&compartments, &measured, snr, seed, workers, progress)?;
    let inside = inside(&mask);
    progress.start("mapping the truth", 3);
    let mut maps = cumulants::maps(&compartments, |v| inside[v as usize] > 0.0, workers, progress)?;
    progress.advance(1);
    maps.extend(cumulants::fibres(&compartments, progress)?);
    progress.advance(1);
    maps.extend(received(&compartments, workers, progress)?);
    maps.extend(compartments::water(&cells, workers, progress)?);
    progress.advance(1);
    let noise_sigma = tissue::WHITE_SIGNAL / spec.snr;
    Ok(Head {
        t1w: compartments::t1_picture(&cells, workers, progress)?,
        five_tissues: five_tissues(&cells, &mask)?,
        subject: Arc::new(Subject { dwi, gradients, mask, truth: Truth { maps, noise_sigma } }),
        shapes,
        faults,
        scan,
        labels: cells.labels,
        tissues: cells.tissues,
        bundles,
    })
}

/// What `make` makes of numbers, in their order, by all threads. Each item looks whether the user
/// stops it: some take milliseconds.
fn made<T: Send>(
    numbers: Range<usize>,
    workers: &Workers,
    progress: &dyn Progress,
    make: impl Fn(usize) -> Option<T> + Sync + Send,
) -> Result<Vec<T>, Interrupted> {
    let unless_stopped = |i| if progress.is_cancelled() { None } else { make(i) };
    let all = workers.install(|| numbers.into_par_iter().filter_map(unless_stopped).collect());
    progress.check()?;
    Ok(all)
}

/// What `make` is at the numbers below `n`, by all threads, which look every few thousand whether the
/// user stops it.
fn filled<T: Copy + Default + Send>(
    n: usize,
    workers: &Workers,
    progress: &dyn Progress,
    make: impl Fn(usize) -> T + Sync,
) -> Result<Vec<T>, Interrupted> {
    const STRETCH: usize = 4096;
    let mut all = vec![T::default(); n];
    workers.install(|| {
        all.par_chunks_mut(STRETCH).enumerate().try_for_each(|(stretch, values)| {
            progress.check()?;
            for (i, value) in values.iter_mut().enumerate() {
                *value = make(stretch * STRETCH + i);
            }
            Ok(())
        })
    })?;
    Ok(all)
}

impl HeadSpec {
    fn grid(&self) -> Result<Grid, PhantomError> {
        let valid = (2..=8).contains(&self.samples_per_axis);
        PhantomError::require(valid, "samples per axis", self.samples_per_axis, "2 to 8")?;
        PhantomError::require(self.snr > 0.0, "SNR", self.snr, "above 0 (infinite for no noise)")?;
        self.faults.check()?;
        let bent = self.faults.nonlinearity > 0.0 && self.encodings.iter().any(|e| e.shape() < 1.0);
        let needed = "0 with b-tensors that are not linear: it would bend their shapes";
        PhantomError::require(!bent, "non-linearity", self.faults.nonlinearity, needed)?;
        self.scan.as_ref().map_or(Ok(()), HeadScan::check)?;
        grid_of(&self.placement)
    }
}

/// A grid around the middle of the head.
fn grid_of(placement: &Placement) -> Result<Grid, PhantomError> {
    placement.check_head()?;
    let mut grid = placement.grid()?;
    for (row, middle) in grid.ras_from_vox.0.iter_mut().zip(MIDDLE_MM) {
        row[3] += middle;
    }
    Ok(grid)
}

impl Head {
    /// The true map of this name.
    pub fn truth(&self, name: &str) -> Option<&Image> {
        self.subject.truth.map(name)
    }

    /// The voxels that streamlines of a bundle pass, 1 there.
    pub fn bundle_mask(&self, bundle: &HeadBundle) -> Image {
        let grid = self.labels.grid;
        let mut image = Image::zeros(grid, 1);
        let Some(vox_from_ras) = grid.ras_from_vox.inverse() else { return image };
        // Points are a millimetre apart; halfway between them no small voxel is missed.
        for pair in bundle.streamlines.iter().flat_map(|line| line.windows(2)) {
            for part in [0.0, 0.5, 1.0_f64] {
                let p = [0, 1, 2].map(|a| {
                    let [from, to] = [pair[0][a], pair[1][a]].map(f64::from);
                    from + part * (to - from)
                });
                let v = vox_from_ras.apply(p).map(f64::round);
                if (0..3).all(|a| v[a] >= 0.0 && v[a] < grid.dims[a] as f64) {
                    let [x, y, z] = v.map(|c| c as usize);
                    image.data[x + grid.dims[0] * (y + grid.dims[1] * z)] = 1.0;
                }
            }
        }
        image
    }
}

/// Voxels above the great foramen of which at least such a part is brain.
fn brain(cells: &cells::Cells, anatomy: &anatomy::Anatomy, least: f32) -> Mask {
    let grid = cells.labels.grid;
    let is_brain = |v: usize| cells.brain(v) >= least && !anatomy.is_below_brain(place(&grid, v));
    let data = (0..grid.len()).map(|v| f32::from(u8::from(is_brain(v)))).collect();
    Mask::from_image(&Image { grid, n_volumes: 1, data })
}

fn inside(mask: &Mask) -> Vec<f32> {
    let mut inside = vec![0.0; mask.grid.len()];
    mask.voxels.iter().for_each(|&v| inside[v as usize] = 1.0);
    inside
}

/// The parts of the brain alone, of sum 1 in the mask: veins count as fluid.
fn five_tissues(cells: &cells::Cells, mask: &Mask) -> Result<Image, PhantomError> {
    use Tissue::{Blood, CorticalGrey, Fluid, SubcorticalGrey, White};
    let mut image = zeros(mask.grid, 5)?;
    for voxel in mask.voxels.iter().map(|&v| v as usize) {
        let whole = cells.brain(voxel);
        let [cortex, nuclei, white, fluid, blood] =
            [CorticalGrey, SubcorticalGrey, White, Fluid, Blood].map(|t| cells.water(t, voxel));
        for (k, part) in [cortex, nuclei, white, fluid + blood].into_iter().enumerate() {
            image.volume_mut(k)[voxel] = part / whole;
        }
    }
    Ok(image)
}

/// The unweighted signal without noise and how well the coil receives.
fn received(
    compartments: &compartments::Compartments,
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<Vec<TruthMap>, PhantomError> {
    let grid = compartments.grid;
    let mut s0 = zeros(grid, 1)?;
    for mixture in &compartments.voxels {
        s0.data[mixture.voxel as usize] = mixture.s0;
    }
    let receives = |voxel: usize| compartments::coil(place(&grid, voxel)) as f32;
    let data = filled(grid.len(), workers, progress, receives)?;
    let coil = Image { grid, n_volumes: 1, data };
    let map = |name, description, image| TruthMap { name, description, image };
    Ok(vec![
        map("S0", "unweighted signal without noise, units of the series", s0),
        map("coil", "sensitivity of the coil, by which every signal is multiplied", coil),
    ])
}
