//! Problems of any size for measurements: a brain-sized ellipsoid full of bundles that cross, and
//! the signal of some of its streamlines.

use std::ops::Range;

use fimbria_compute::comm::Comm;
use fimbria_compute::philox::{Philox, normals};
use fimbria_compute::{Progress, Workers};
use fimbria_image::{Affine, GradientTable, Grid};
use fimbria_life::{
    Demean, EncodeOptions, Encoder, Encoding, LifeError, Protocol, Response, Signal, Surveyor,
};
use rayon::prelude::*;

/// The size of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// Number of streamlines.
    pub(super) streamlines: usize,
    /// Weighted volumes, all at b = 2000 s/mm².
    pub(super) directions: usize,
    /// Voxels of the ellipsoid, about.
    pub(super) voxels: usize,
}

impl Size {
    /// The paper's problem, as far as its table of memory tells: 96 directions, 204,060 voxels,
    /// 500,000 streamlines.
    pub(super) const PAPER: Self = Self { streamlines: 500_000, directions: 96, voxels: 204_060 };

    /// One of so many parts of it, of few voxels and streamlines at least.
    pub(super) fn part(self, parts: usize) -> Self {
        Self {
            streamlines: (self.streamlines / parts).max(10),
            voxels: (self.voxels / parts).max(100),
            ..self
        }
    }
}

/// A problem.
#[derive(Clone, Debug)]
pub(crate) struct Synthetic {
    /// Its acquisition.
    pub(super) protocol: Protocol,
    /// Its streamlines, encoded.
    pub(super) encoding: Encoding,
    /// Its signal: a third of the streamlines have weights, and there is noise.
    pub(super) signal: Signal,
}

/// Half axes of the ellipsoid over the radius of a ball of its volume.
const SHAPE: [f64; 3] = [0.93, 1.17, 0.92];
/// Points of a streamline at most, and their distance in voxels.
const POINTS: usize = 120;
const STEP: f64 = 0.6;
/// Streamlines made and encoded at a time.
const CHUNK: usize = 20_000;

impl Synthetic {
    /// Makes a problem, of several processes each its part: the same for any number of threads and
    /// processes.
    ///
    /// # Errors
    /// Where options or size are impossible, or the caller asked to stop.
    pub(super) fn new(
        size: Size,
        options: &EncodeOptions,
        workers: &Workers,
        comm: &dyn Comm,
        progress: &dyn Progress,
    ) -> Result<Self, LifeError> {
        let radius = (size.voxels as f64 * 0.75 / std::f64::consts::PI).cbrt();
        let dims = SHAPE.map(|shape| (2.0 * shape * radius).ceil() as usize + 3);
        let grid = Grid { dims, ras_from_vox: Affine::from_spacing([1.5; 3]) };
        let table = table(size.directions);
        let protocol = Protocol::new(&table, &Affine::IDENTITY.linear(), Demean::Mean)?;
        let chunks = || {
            let firsts = (0..size.streamlines).step_by(CHUNK);
            firsts.map(|first| first..(first + CHUNK).min(size.streamlines))
        };
        let lines_of = |chunk: Range<usize>| {
            let lines: Vec<Vec<[f32; 3]>> = workers.install(|| {
                chunk.into_par_iter().map(|f| streamline(f as u64, &grid, radius)).collect()
            });
            let mut offsets = vec![0_u64];
            let mut end = 0;
            offsets.extend(lines.iter().map(|line| {
                end += line.len() as u64;
                end
            }));
            (offsets, lines.concat())
        };
        let mut encoder = Encoder::new(grid, None, options, workers, progress)?;
        if comm.size() > 1 {
            let mut surveyor = Surveyor::new(grid, None, options, workers)?;
            for (number, chunk) in chunks().enumerate() {
                if number % comm.size() == comm.rank() {
                    let (offsets, points) = lines_of(chunk);
                    surveyor.add(&offsets, &points);
                } else {
                    surveyor.skip(chunk.len());
                }
            }
            let (_, deal) = surveyor.finish(protocol.rows(), comm);
            encoder = encoder.share(&deal, comm);
        }
        progress.start("encoding streamlines", size.streamlines as u64);
        for chunk in chunks() {
            let (offsets, points) = lines_of(chunk);
            encoder.add(&offsets, &points)?;
        }
        let encoding = encoder.finish()?;
        let signal = signal(&encoding, &protocol, workers);
        Ok(Self { protocol, encoding, signal })
    }
}

/// One unweighted volume, then `directions` at b = 2000 s/mm² on a spiral over the half sphere.
fn table(directions: usize) -> GradientTable {
    let dir = |k: usize| {
        let z = (k as f64 + 0.5) / directions as f64;
        let (sin, cos) = (k as f64 * std::f64::consts::PI * (3.0 - 5.0_f64.sqrt())).sin_cos();
        let rho = (1.0 - z * z).sqrt();
        [rho * cos, rho * sin, z]
    };
    let mut table =
        GradientTable { b_s_per_mm2: vec![0.0], dirs_ras: vec![[0.0; 3]], b0_threshold: 50.0 };
    table.b_s_per_mm2.extend(vec![2000.0; directions]);
    table.dirs_ras.extend((0..directions).map(dir));
    table
}

/// A streamline through the ellipsoid: one of three smooth fields of directions, each streamline
/// a little off it.
fn streamline(f: u64, grid: &Grid, radius: f64) -> Vec<[f32; 3]> {
    let philox = Philox::new(41);
    let [a, b, c, length] = normals::<f32>(philox.at(f, 0)).map(f64::from);
    let [u, v, w, _] = normals::<f32>(philox.at(f, 1)).map(f64::from);
    let centre = grid.dims.map(|n| (n as f64 - 1.0) / 2.0);
    // Within the ellipsoid, more densely in the middle.
    let mut at: [f64; 3] = [a, b, c];
    let norm = at.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-9);
    let out = (0.95 * norm / 2.5).min(0.95) / norm;
    at = at.map(|x| x * out);
    let field = |p: [f64; 3]| -> [f64; 3] {
        let [x, y, z] = p.map(|c| 2.5 * c);
        let dir = match f % 3 {
            0 => [1.0, 0.5 * (y + z).sin(), 0.4 * x.sin()],
            1 => [0.4 * (z - x).sin(), 1.0, 0.5 * y.cos()],
            _ => [0.5 * y.sin(), 0.3 * (x + z).cos(), 1.0],
        };
        let dir = [dir[0] + 0.08 * u, dir[1] + 0.08 * v, dir[2] + 0.08 * w];
        let norm = dir.iter().map(|c| c * c).sum::<f64>().sqrt();
        dir.map(|c| c / norm)
    };
    let count = ((0.6 + 0.2 * length).clamp(0.15, 1.0) * POINTS as f64) as usize;
    let mut points = Vec::with_capacity(count);
    for _ in 0..count {
        if at.iter().map(|c| c * c).sum::<f64>() > 1.0 {
            break;
        }
        let vox: [f64; 3] = std::array::from_fn(|i| centre[i] + at[i] * SHAPE[i] * radius);
        points.push(grid.ras_from_vox.apply(vox).map(|c| c as f32));
        let dir = field(at);
        at = std::array::from_fn(|i| at[i] + STEP * dir[i] / (SHAPE[i] * radius));
    }
    points
}

/// The signal of every third streamline with a weight, on an unweighted signal of 1000, with noise
/// of 20.
fn signal(encoding: &Encoding, protocol: &Protocol, workers: &Workers) -> Signal {
    const S0: f32 = 1000.0;
    const NOISE: f32 = 20.0;
    let (rows, voxels) = (protocol.rows(), encoding.voxels.len());
    let response = Response::default();
    let philox = Philox::new(43);
    let mut y = vec![0.0_f32; rows * voxels];
    workers.install(|| {
        let places = encoding.place.par_iter();
        y.par_chunks_mut(rows).zip(places).for_each(|(y, &place)| {
            let mut centred: Vec<f64> = (0..rows as u32)
                .map(|row| f64::from(NOISE * normals::<f32>(philox.at(u64::from(place), row))[0]))
                .collect();
            protocol.centre_signal(&mut centred, &mut vec![0.0; rows]);
            y.iter_mut().zip(&centred).for_each(|(to, from)| *to = *from as f32);
        });
    });
    let mut column = vec![0.0; rows];
    let mut columns = vec![0.0_f32; rows * encoding.atoms.len()];
    for (dir, to) in encoding.atoms.iter().zip(columns.chunks_mut(rows)) {
        protocol.column(&response, dir.map(f64::from), &mut column);
        to.iter_mut().zip(&column).for_each(|(to, from)| *to = *from as f32);
    }
    let crowd = encoding.counts.entries as f32 / encoding.passed.len() as f32;
    for f in (0..encoding.streamlines()).step_by(3) {
        let weight = 3.0 / crowd * (0.5 + (f / 3 % 8) as f32 / 8.0);
        for entry in encoding.entries_of(f) {
            let column = &columns[entry.atom as usize * rows..][..rows];
            let y = &mut y[entry.voxel as usize * rows..][..rows];
            for (y, c) in y.iter_mut().zip(column) {
                *y += S0 * weight * entry.value * c;
            }
        }
    }
    Signal {
        rows,
        y,
        taken: vec![0.0; rows * voxels],
        s0: vec![S0; voxels],
        dark: 0,
        not_finite: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fimbria_compute::Silent;
    use fimbria_compute::comm::Solo;

    #[test]
    fn problems_have_about_the_size_asked_for() {
        let workers = Workers::new(2).unwrap();
        let size = Size { streamlines: 3000, directions: 32, voxels: 4000 };
        let options = EncodeOptions::default();
        let problem = Synthetic::new(size, &options, &workers, &Solo, &Silent).unwrap();
        assert_eq!(problem.encoding.streamlines(), 3000);
        let voxels = problem.encoding.voxels.len();
        assert!((3000..4500).contains(&voxels), "{voxels}");
        assert_eq!(problem.signal.y.len(), 32 * voxels);
    }
}
