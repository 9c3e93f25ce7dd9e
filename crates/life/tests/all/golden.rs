//! The exact optima of ENCODE's and of DIPY's model on real data that come with DIPY, as scipy's
//! Lawson-Hanson finds them in the explicit matrix.

use fimbria_compute::comm::Solo;
use fimbria_compute::operator::{LinearOperator as _, Operator as _, VectorSpace as _};
use fimbria_compute::{Silent, Workers};
use fimbria_image::{Affine, GradientTable, Image, read_image};
use fimbria_life::oracle::Oracle;
use fimbria_life::solve::{Problem, Solution, Stop, conjugate, sbb};
use fimbria_life::{
    Atoms, Basis, Blocks, Compartments, DealtProduct, Demean, Dictionary, EncodeOptions, Encoder,
    Encoding, Normalise, Protocol, Rank, Response, Signal,
};
use fimbria_streamlines::Tractogram;

/// The data; `None`, said aloud, where they are not.
fn data() -> Option<(Image, Protocol, Tractogram)> {
    let folder = fimbria_testing::refdata("life")?;
    let image = read_image(folder.join("small_25.nii.gz")).unwrap();
    let tractogram = Tractogram::read(folder.join("EuDX_small_25.trk")).unwrap();
    let numbers = |file: &str| -> Vec<Vec<f64>> {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        let line = |line: &str| line.split_whitespace().map(|n| n.parse().unwrap()).collect();
        text.lines().filter(|line| !line.trim().is_empty()).map(line).collect()
    };
    // The directions as they stand, voxel axes, lengths of 1 to 5e-5: the optima were computed
    // with them. The affine is 2 mm times the identity, so that voxel axes are scanner axes.
    let dirs = numbers("small_25.bvec");
    let dirs_ras = if dirs.len() == 3 {
        (0..dirs[0].len()).map(|v| [dirs[0][v], dirs[1][v], dirs[2][v]]).collect()
    } else {
        dirs.iter().map(|d| [d[0], d[1], d[2]]).collect()
    };
    let b_s_per_mm2 = numbers("small_25.bval").concat();
    let table = GradientTable { b_s_per_mm2, dirs_ras, b0_threshold: 50.0 };
    let protocol = Protocol::new(&table, &Affine::IDENTITY.linear(), Demean::Mean).unwrap();
    Some((image, protocol, tractogram))
}

struct Model {
    encoding: Encoding,
    signal: Signal,
    dictionary: Dictionary,
    blocks: Blocks,
    data: Vec<f32>,
}

impl Model {
    fn new(
        image: &Image,
        protocol: &Protocol,
        tractogram: &Tractogram,
        options: &EncodeOptions,
        is_relative: bool,
        workers: &Workers,
    ) -> Self {
        let lines = &tractogram.streamlines;
        let mut encoder = Encoder::new(image.grid, None, options, workers, &Silent).unwrap();
        encoder.add(lines.offsets(), lines.positions()).unwrap();
        let encoding = encoder.finish().unwrap();
        let grid = &image.grid;
        let signal =
            Signal::gather(image, grid, &encoding.voxels, protocol, workers, &Solo, &Silent)
                .unwrap();
        let response = Response::default();
        let basis = Basis::new(protocol, &response, &Compartments::default(), Rank::Full);
        let atoms = &encoding.atoms;
        let dictionary =
            Dictionary::new(protocol, &response, &basis, atoms, &Compartments::default(), workers);
        let blocks = Blocks::new(
            &encoding,
            &signal.unweighted(is_relative),
            &Compartments::default(),
            workers,
        )
        .unwrap();
        let (stride, order) = (dictionary.stride(), blocks.voxel_order());
        let (data, _) = signal.in_basis(&basis, stride, order, is_relative, workers);
        Self { encoding, signal, dictionary, blocks, data }
    }

    fn solve(&self, workers: &Workers) -> Solution<Vec<f32>> {
        let product = DealtProduct::on_threads(&self.blocks, &self.dictionary, workers);
        let problem = Problem { operator: &product, data: &self.data, linear: None };
        let stop = Stop { max_iterations: 3000, gradient: 2e-7, objective: 0.0 };
        let zero = product.domain().zeros().unwrap();
        conjugate(&problem, zero, &stop, &Silent, &mut |_, _| ()).unwrap()
    }

    /// Root mean squared residual of every voxel.
    fn rmse(&self, x: &Vec<f32>, workers: &Workers) -> Vec<f64> {
        let product = DealtProduct::on_threads(&self.blocks, &self.dictionary, workers);
        let mut y = product.range().zeros().unwrap();
        product.apply(x, &mut y).unwrap();
        let (stride, rows) = (self.dictionary.stride(), self.signal.rows());
        let voxels = y.chunks(stride).zip(self.data.chunks(stride));
        let square = |(y, b): (&f32, &f32)| (f64::from(*y) - f64::from(*b)).powi(2);
        let mean =
            |(y, b): (&[f32], &[f32])| y.iter().zip(b).map(square).sum::<f64>() / rows as f64;
        voxels.map(|voxel| mean(voxel).sqrt()).collect()
    }
}

fn encode_options() -> EncodeOptions {
    EncodeOptions { atoms: Atoms::Exact, normalise: Normalise::Nodes, in_voxel_axes: true }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn encodes_model_has_its_optimum() {
    let Some((image, protocol, tractogram)) = data() else { return };
    let workers = Workers::new(2).unwrap();
    let model = Model::new(&image, &protocol, &tractogram, &encode_options(), false, &workers);
    assert_eq!((model.encoding.voxels.len(), model.encoding.streamlines()), (111, 60));
    let found = model.solve(&workers);
    assert!((found.objective / 201_114.341_847 - 1.0).abs() < 1e-6, "{}", found.objective);
    assert_eq!(found.x.iter().filter(|w| **w > 0.0).count(), 59, "{:?}", found.x);
    let rmse = model.rmse(&found.x, &workers);
    // At an optimum errors of 1e-6 in the objective are errors of 1e-3 in weights, of which
    // errors of single voxels feel some.
    let mean = rmse.iter().sum::<f64>() / rmse.len() as f64;
    assert!((mean - 11.69272).abs() < 1e-3, "{mean}");
    assert!((median(rmse) - 11.53074).abs() < 2e-3);
}

#[test]
fn dipys_model_has_its_optimum() {
    let Some((image, protocol, tractogram)) = data() else { return };
    let workers = Workers::new(2).unwrap();
    let options = EncodeOptions { normalise: Normalise::None, ..encode_options() };
    let model = Model::new(&image, &protocol, &tractogram, &options, true, &workers);
    let found = model.solve(&workers);
    assert!((found.objective / 4.158_687_167 - 1.0).abs() < 1e-6, "{}", found.objective);
    assert_eq!(found.x.iter().filter(|w| **w > 0.0).count(), 58, "{:?}", found.x);
}

/// The definition on the same data.
fn oracle(image: &Image, protocol: &Protocol, lines: &[&[[f32; 3]]]) -> Oracle {
    let s0 = |voxel: u32| f64::from(image.volume(0)[voxel as usize]);
    let response = Response::default();
    Oracle::new(lines, image.grid, &encode_options(), protocol, &response, s0).unwrap()
}

#[test]
fn the_definition_is_the_explicit_matrix() {
    let Some((image, protocol, tractogram)) = data() else { return };
    let lines: Vec<&[[f32; 3]]> = tractogram.streamlines.iter().collect();
    let oracle = oracle(&image, &protocol, &lines);
    let vox_from_ras = image.grid.ras_from_vox.inverse().unwrap();
    let mut largest = 0.0_f64;
    for (f, line) in lines.iter().enumerate() {
        // Column f of M as the publications define it, by voxel.
        let at: Vec<[f64; 3]> = line.iter().map(|p| vox_from_ras.apply(p.map(f64::from))).collect();
        let mut column = vec![0.0; oracle.rows * oracle.voxels.len()];
        let nearest: Vec<usize> =
            at.iter().map(|p| image.grid.index(p.map(|c| c.round() as usize))).collect();
        for node in 0..at.len() {
            let (before, after) = (node.saturating_sub(1), (node + 1).min(at.len() - 1));
            let step: Vec<f64> = (0..3).map(|i| at[after][i] - at[before][i]).collect();
            let norm = step.iter().map(|s| s * s).sum::<f64>().sqrt();
            let dir = [step[0] / norm, step[1] / norm, step[2] / norm];
            let mut tissue = vec![0.0; oracle.rows];
            protocol.column(&Response::default(), dir, &mut tissue);
            let nodes = nearest.iter().filter(|v| **v == nearest[node]).count() as f64;
            let s0 = f64::from(image.volume(0)[nearest[node]]);
            let voxel = oracle.voxels.binary_search(&(nearest[node] as u32)).unwrap();
            for (row, t) in tissue.iter().enumerate() {
                column[voxel * oracle.rows + row] += s0 / nodes * t;
            }
        }
        let mut unit = vec![0.0; lines.len()];
        unit[f] = 1.0;
        let found = oracle.apply(&unit);
        let norm = column.iter().map(|c| c * c).sum::<f64>().sqrt();
        for (found, expected) in found.iter().zip(&column) {
            largest = largest.max((found - expected).abs() / norm);
        }
        let found = oracle.adjoint(&column);
        largest = largest.max((found[f] - norm * norm).abs() / (norm * norm));
    }
    assert!(largest < 1e-12, "{largest}");
}

#[test]
fn sbb_takes_the_published_steps() {
    let Some((image, protocol, tractogram)) = data() else { return };
    let workers = Workers::new(2).unwrap();
    let model = Model::new(&image, &protocol, &tractogram, &encode_options(), false, &workers);
    let lines: Vec<&[[f32; 3]]> = tractogram.streamlines.iter().collect();
    let oracle = oracle(&image, &protocol, &lines);
    let y: Vec<f64> = model.signal.y.iter().map(|y| f64::from(*y)).collect();
    let (expected, _) = oracle.sbb(&y, 40);

    let product = DealtProduct::on_threads(&model.blocks, &model.dictionary, &workers);
    let problem = Problem { operator: &product, data: &model.data, linear: None };
    let stop = Stop { max_iterations: 40, gradient: 0.0, objective: 0.0 };
    let zero = product.domain().zeros().unwrap();
    let mut path = Vec::new();
    sbb(&problem, zero, &stop, &Silent, &mut |step, _| path.push(step.objective)).unwrap();
    // The method is chaotic: the step lengths of f32 part from those of f64 after some twenty
    // steps, and both come to the same end.
    for (iteration, (found, expected)) in path.iter().zip(&expected).enumerate() {
        let tolerance = if iteration < 10 { 1e-5 } else { 1e-2 };
        assert!((found / expected - 1.0).abs() < tolerance, "{iteration}: {found} {expected}");
    }
    assert!((path[39] / expected[39] - 1.0).abs() < 1e-4);
}

#[test]
fn the_adjoint_has_the_direction_of_the_fall() {
    let Some((image, protocol, tractogram)) = data() else { return };
    let workers = Workers::new(2).unwrap();
    let model = Model::new(&image, &protocol, &tractogram, &encode_options(), false, &workers);
    let product = DealtProduct::on_threads(&model.blocks, &model.dictionary, &workers);
    let w = vec![0.05; 60];
    let mut g = product.domain().zeros().unwrap();
    let here = product.gradient(&w, &model.data, &mut g).unwrap();
    let mut scratch = product.domain().zeros().unwrap();
    for f in [0, 17, 59] {
        let mut there = w.clone();
        there[f] += 0.01;
        let after = product.gradient(&there, &model.data, &mut scratch).unwrap();
        let mut before = w.clone();
        before[f] -= 0.01;
        let before = product.gradient(&before, &model.data, &mut scratch).unwrap();
        // Central differences of a quadratic are exact; sums of 1e7 are so to 1e-7.
        let slope = 0.5 * (after - before) / 0.02;
        assert!((slope - f64::from(g[f])).abs() < 1e-6 * here, "{slope} {}", g[f]);
    }
}
