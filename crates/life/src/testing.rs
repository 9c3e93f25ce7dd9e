//! What tests share: a small acquisition, bundles, and their signal.

use fimbria_compute::comm::Solo;
use fimbria_compute::philox::{Philox, normals};
use fimbria_compute::{Silent, Workers};
use fimbria_image::{Affine, GradientTable, Grid, Image};

use crate::{
    Basis, Blocks, Compartments, Demean, Dictionary, EncodeOptions, Encoder, Encoding, Protocol,
    Rank, Response, Signal,
};

/// One unweighted volume, then `directions` spread directions at each b.
pub(crate) fn table(b_values: &[f64], directions: usize) -> GradientTable {
    let mut table = GradientTable {
        b_s_per_mm2: vec![0.0],
        dirs_ras: vec![[0.0; 3]],
        b0_threshold: GradientTable::DEFAULT_B0_THRESHOLD,
    };
    for &b in b_values {
        for k in 0..directions {
            let z = (k as f64 + 0.5) / directions as f64;
            let (sin, cos) = (k as f64 * 2.399_963).sin_cos();
            let rho = (1.0 - z * z).sqrt();
            table.b_s_per_mm2.push(b);
            table.dirs_ras.push([rho * cos, rho * sin, z]);
        }
    }
    table
}

/// The protocol of such a table, in scanner axes.
pub(crate) fn shells(b_values: &[f64], directions: usize, demean: Demean) -> Protocol {
    let table = table(b_values, directions);
    Protocol::new(&table, &Affine::IDENTITY.linear(), demean).expect("a sound table")
}

/// A grid of 2 x 2 x 2.5 mm voxels.
pub(crate) const GRID: Grid = Grid {
    dims: [14, 12, 8],
    ras_from_vox: Affine([[2.0, 0.0, 0.0, -9.0], [0.0, 2.0, 0.0, 4.0], [0.0, 0.0, 2.5, -7.0]]),
};

/// Streamlines that cross the grid on bent ways, flat: offsets and points.
pub(crate) fn streamlines(count: usize) -> (Vec<u64>, Vec<[f32; 3]>) {
    let philox = Philox::new(5);
    let (mut offsets, mut points) = (vec![0], Vec::new());
    for f in 0..count {
        let [a, b, c, d] = normals::<f32>(philox.at(f as u64, 0)).map(f64::from);
        let steps = 40;
        for step in 0..steps {
            let t = f64::from(step) / f64::from(steps - 1);
            let along = -0.3 + 13.6 * t;
            let across = 5.5 + 2.0 * a + 2.0 * b * (t - 0.5) + 1.5 * (3.0 * t + c).sin();
            let up = 3.5 + 1.3 * d + c * (t - 0.5);
            let vox = if f % 2 == 0 { [along, across, up] } else { [across, along * 0.85, up] };
            points.push(GRID.ras_from_vox.apply(vox).map(|c| c as f32));
        }
        offsets.push(points.len() as u64);
    }
    (offsets, points)
}

/// A connectome of `count` streamlines, the signal of planted weights, and the weights: every
/// third streamline has one.
pub(crate) struct Planted {
    pub(crate) protocol: Protocol,
    pub(crate) response: Response,
    pub(crate) encoding: Encoding,
    pub(crate) image: Image,
    pub(crate) weights: Vec<f64>,
}

impl Planted {
    pub(crate) fn new(count: usize, options: &EncodeOptions, noise: f32) -> Self {
        let protocol = shells(&[2000.0], 30, Demean::Mean);
        let response = Response::default();
        let workers = Workers::new(2).expect("threads");
        let (offsets, points) = streamlines(count);
        let mut encoder = Encoder::new(GRID, None, options, &workers, &Silent).expect("options");
        encoder.add(&offsets, &points).expect("streamlines");
        let encoding = encoder.finish().expect("an encoding");
        let weights: Vec<f64> = (0..count)
            .map(|f| if f % 3 == 0 { 0.1 + 0.01 * (f % 7) as f64 } else { 0.0 })
            .collect();
        let mut image = Image::zeros(GRID, protocol.rows() + 1);
        let philox = Philox::new(9);
        for (v, voxels) in image.data.chunks_mut(GRID.len()).enumerate() {
            for (voxel, sample) in voxels.iter_mut().enumerate() {
                let s0 = 300.0 + (voxel % 50) as f32;
                let noise = noise * normals::<f32>(philox.at(voxel as u64, v as u32))[0];
                *sample = if v == 0 { s0 } else { 0.5 * s0 + noise };
            }
        }
        let mut column = vec![0.0; protocol.rows()];
        for (f, weight) in weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
            for entry in encoding.entries_of(f) {
                let dir = encoding.atoms[entry.atom as usize].map(f64::from);
                protocol.column(&response, dir, &mut column);
                let voxel = encoding.voxels[entry.voxel as usize] as usize;
                let s0 = 300.0 + (voxel % 50) as f64;
                for (row, c) in column.iter().enumerate() {
                    let add = weight * s0 * f64::from(entry.value) * c;
                    image.volume_mut(row + 1)[voxel] += add as f32;
                }
            }
        }
        Self { protocol, response, encoding, image, weights }
    }

    pub(crate) fn signal(&self, workers: &Workers) -> Signal {
        let Self { protocol, encoding, image, .. } = self;
        Signal::gather(image, &GRID, &encoding.voxels, protocol, workers, &Solo, &Silent)
            .expect("signal")
    }

    pub(crate) fn system(&self, rank: Rank, workers: &Workers) -> System {
        let basis = Basis::new(&self.protocol, &self.response, &Compartments::default(), rank);
        let atoms = &self.encoding.atoms;
        let dictionary = Dictionary::new(
            &self.protocol,
            &self.response,
            &basis,
            atoms,
            &Compartments::default(),
            workers,
        );
        let signal = self.signal(workers);
        let blocks = Blocks::new(&self.encoding, &signal.s0, &Compartments::default(), workers)
            .expect("blocks");
        let (stride, order) = (dictionary.stride(), blocks.voxel_order());
        let (data, _) = signal.in_basis(&basis, stride, order, false, workers);
        System { basis, dictionary, signal, blocks, data }
    }
}

/// What products need.
pub(crate) struct System {
    pub(crate) basis: Basis,
    pub(crate) dictionary: Dictionary,
    pub(crate) signal: Signal,
    pub(crate) blocks: Blocks,
    pub(crate) data: Vec<f32>,
}
