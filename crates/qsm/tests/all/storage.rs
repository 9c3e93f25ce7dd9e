//! Maps whose differences are one-sided do not depend on how a volume is stored.

use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::{Affine, Grid};
use fimbria_qsm::fourier::{FourierMethod, invert};
use fimbria_qsm::ilsqr::{Ilsqr, invert_ilsqr};
use fimbria_qsm::variation::{
    Guidance, Prior, Supported, Variation, VariationMap, reconstruct_variation,
};
use fimbria_qsm::{FieldModel, Geometry, Shape, dir_vox};

use crate::support::{normal_numbers, stored};

const DIMS: [usize; 3] = [15, 12, 13];
/// Voxel axes in the scanner, as long as a voxel: near its own, 20° about z and 15° about x.
const AXES: [[f64; 3]; 3] = [[0.846, 0.308, 0.0], [-0.33, 0.908, 0.259], [0.098, -0.27, 1.073]];
const RADIANS: f64 = 16.0;

/// Numbers of every voxel, as of a head: a field, and what diffusion and a magnitude know.
struct Scene {
    inside: Vec<bool>,
    field: Vec<f32>,
    weights: Vec<f32>,
    fa: Vec<f32>,
    md: Vec<f32>,
    magnitude: Vec<f32>,
    /// Scanner axes.
    fibres: Vec<[f64; 3]>,
}

impl Scene {
    fn new() -> Self {
        let n: usize = DIMS.iter().product();
        let at = |v: usize| {
            [v % DIMS[0], v / DIMS[0] % DIMS[1], v / (DIMS[0] * DIMS[1])].map(|i| i as f64)
        };
        let numbers = |seed: u64, mean: f32, by: f32| -> Vec<f32> {
            normal_numbers(seed, n).iter().map(|x| mean + by * *x as f32).collect()
        };
        // An egg that is nearer to some sides than to others.
        let inside = |v: usize| {
            let [x, y, z] = at(v);
            ((x - 6.0) / 6.5).powi(2) + ((y - 6.5) / 5.0).powi(2) + ((z - 5.0) / 6.0).powi(2)
                < 1.0 - 0.03 * x
        };
        let fibre = |v: usize| {
            let [x, y, z] = at(v);
            let (angle, height) = (0.2 * (x + z), (0.3 * y).sin());
            let across = (1.0 - height * height).sqrt();
            [across * angle.cos(), across * angle.sin(), height]
        };
        Self {
            inside: (0..n).map(inside).collect(),
            field: numbers(1, 0.0, 0.03),
            weights: numbers(2, 1.0, 0.1),
            fa: numbers(3, 0.4, 0.15),
            md: numbers(4, 1.0, 0.2),
            magnitude: numbers(5, 100.0, 30.0),
            fibres: (0..n).map(fibre).collect(),
        }
    }

    /// The maps of every method that compares neighbours, with its name, of a volume that is stored so; as the scene is.
    fn maps(
        &self,
        order: [usize; 3],
        backwards: [bool; 3],
        on: &Backend<'_>,
    ) -> Vec<(&'static str, Vec<f32>)> {
        let column = |a: usize| AXES[order[a]].map(|c| if backwards[a] { -c } else { c });
        let columns = [0, 1, 2].map(column);
        let ras_from_vox =
            Affine([0, 1, 2].map(|i| [columns[0][i], columns[1][i], columns[2][i], 5.0]));
        let grid = Grid { dims: order.map(|a| DIMS[a]), ras_from_vox };
        let geometry = Geometry::new(&grid, [0.0, 0.0, 1.0]).unwrap();
        let voxels = stored(order, backwards, DIMS);
        let mask: Vec<u32> =
            (0..voxels.len() as u32).filter(|&v| self.inside[voxels[v as usize]]).collect();
        let pick =
            |of: &[f32]| -> Vec<f32> { mask.iter().map(|&v| of[voxels[v as usize]]).collect() };
        let shape = |&v: &u32| {
            Shape::Cylinder(dir_vox(&grid.ras_from_vox, self.fibres[voxels[v as usize]]))
        };
        let shapes = mask.iter().map(shape).collect();
        let model = FieldModel::new(&geometry, &mask, shapes, &mask).unwrap();
        let (field, weights) = (pick(&self.field), pick(&self.weights));
        let guidance = Guidance { fa: pick(&self.fa), images: vec![pick(&self.md)] };
        let magnitude = pick(&self.magnitude);
        let map = |prior: Prior<'_>, radians: Option<f64>| -> VariationMap {
            let how = Variation { iterations: 20, tolerance: 0.0, radians, ..Variation::default() };
            reconstruct_variation(&model, &field, Some(&weights), prior, how, on, &Silent).unwrap()
        };
        let (tv, all) = (map(Prior::Total, None), map(Prior::Explained(&guidance), None));
        let supported =
            Supported { guidance: &guidance, coefficients: &all.coefficients, own: &tv.chi };
        let mut volume = vec![0.0; geometry.len()];
        mask.iter().zip(&field).for_each(|(&v, b)| volume[v as usize] = *b);
        let rts = invert(&geometry, &volume, FourierMethod::RTS, on, &Silent).unwrap().0;
        let how = Ilsqr { iterations: 5, tolerance: 0.0, ..Ilsqr::default() };
        let ilsqr = invert_ilsqr(&model, &field, None, how, on, &Silent).unwrap().chi;
        let maps = [
            ("dtv", map(Prior::Supported(&supported), None).chi),
            ("the phase", map(Prior::Total, Some(RADIANS)).chi),
            ("medi", map(Prior::Magnitude(&magnitude), Some(RADIANS)).chi),
            ("tgv", map(Prior::Generalised, None).chi),
            ("rts", mask.iter().map(|&v| rts[v as usize]).collect()),
            ("ilsqr", ilsqr),
            ("tv", tv.chi),
            ("dtv-all", all.chi),
        ];
        let as_the_scene = |chi: Vec<f32>| {
            let mut map = vec![0.0; voxels.len()];
            mask.iter().zip(chi).for_each(|(&v, x)| map[voxels[v as usize]] = x);
            map
        };
        maps.map(|(name, chi)| (name, as_the_scene(chi))).into()
    }
}

/// How the axes stand: each way round, and in another order.
fn storages() -> Vec<([usize; 3], [bool; 3])> {
    let flips = (1..8).map(|bits: u8| ([0, 1, 2], [0, 1, 2].map(|a| bits >> a & 1 == 1)));
    flips.chain([([2, 0, 1], [false; 3]), ([1, 2, 0], [true, false, true])]).collect()
}

/// The largest difference of two maps, as a part of the spread of one.
fn apart(map: &[f32], other: &[f32]) -> f64 {
    let square: f64 = map.iter().map(|x| f64::from(*x).powi(2)).sum();
    let spread = (square / map.iter().filter(|x| **x != 0.0).count() as f64).sqrt();
    let largest =
        map.iter().zip(other).fold(0.0, |largest: f32, (a, b)| largest.max((a - b).abs()));
    f64::from(largest) / spread
}

/// 20 iterations of transforms whose sums run in another order where the axes do: each leaves some 1e-6, and dtv has three
/// maps after each other.
const ROUNDING: f64 = 1e-4;

fn assert_alike(on: &Backend<'_>) {
    let scene = Scene::new();
    let maps = scene.maps([0, 1, 2], [false; 3], on);
    for (order, backwards) in storages() {
        for ((name, map), (_, other)) in scene.maps(order, backwards, on).iter().zip(&maps) {
            // Its percentiles are of half a spectrum, which is another half where axes stand in another order.
            if *name == "ilsqr" && order != [0, 1, 2] {
                continue;
            }
            let apart = apart(other, map);
            assert!(apart < ROUNDING, "{name}, {order:?}, {backwards:?}: {apart} of the spread");
        }
    }
}

#[test]
fn a_map_does_not_depend_on_how_the_volume_is_stored() {
    assert_alike(&Backend::cpu(&Workers::new(2).unwrap()));
}

#[test]
fn a_map_of_a_device_does_not_depend_on_how_the_volume_is_stored() {
    let Some(device) = fimbria_testing::opencl_device() else { return };
    let workers = Workers::new(2).unwrap();
    assert_alike(&Backend::new(&workers, std::slice::from_ref(&device)));
}
