//! Laws that hold for every model: random boxes, shapes and directions of B0.

use fimbria_compute::operator::Operator as _;
use fimbria_compute::{SimdLevel, Workers};
use fimbria_qsm::{DoubleOperator, FieldModel, Geometry, HostOperator, Products, Shape};
use proptest::prelude::*;

use crate::support::{inner, narrow, norm, normal_numbers, relative_error};

/// In f64, of sums over some hundred voxels: about 1e-14 of the vectors' norms; the fast product
/// goes through Fourier transforms, which lose as much again.
const DOUBLE: f64 = 1e-12;

/// A box of voxels in a grid, B0, and whether cylinders are among the voxels.
#[derive(Clone, Debug)]
struct Case {
    dims: [usize; 3],
    b0: [f64; 3],
    cylinders: bool,
    seed: u64,
}

impl Case {
    /// Its voxels, all of them unknown and all receivers, `at` voxels from the corner of a grid.
    fn model_at(&self, at: [usize; 3]) -> FieldModel {
        self.model(at, self.b0)
    }

    fn model(&self, at: [usize; 3], b0: [f64; 3]) -> FieldModel {
        let grid: [usize; 3] = std::array::from_fn(|a| self.dims[a] + 5);
        let geometry = Geometry { dims: grid, spacing: [0.9, 1.0, 1.1], b0, reversed: [false; 3] };
        let mut voxels = Vec::new();
        for z in 0..self.dims[2] {
            for y in 0..self.dims[1] {
                for x in 0..self.dims[0] {
                    let [i, j, k] = [x + at[0], y + at[1], z + at[2]];
                    voxels.push((i + grid[0] * (j + grid[1] * k)) as u32);
                }
            }
        }
        let shape = |n: usize| match (self.cylinders, n % 3) {
            (true, 0) => Shape::Cylinder(unit([(n as f64).sin(), 0.4, (n as f64).cos()])),
            _ => Shape::Sphere,
        };
        let shapes = (0..voxels.len()).map(shape).collect();
        FieldModel::new(&geometry, &voxels, shapes, &voxels).unwrap()
    }

    fn len(&self) -> usize {
        self.dims.iter().product()
    }
}

fn unit(v: [f64; 3]) -> [f64; 3] {
    let length = norm(&v);
    v.map(|x| x / length)
}

fn case() -> impl Strategy<Value = Case> {
    let side = || 3_usize..9;
    // Never all zero, whatever the turn.
    let b0 = (-1.0..1.0_f64, 0.0..6.3_f64).prop_map(|(z, turn)| {
        let r = (1.0 - z * z).sqrt();
        [r * turn.cos(), r * turn.sin(), z]
    });
    (side(), side(), side(), b0, any::<bool>(), any::<u64>()).prop_map(
        |(nx, ny, nz, b0, cylinders, seed)| Case { dims: [nx, ny, nz], b0, cylinders, seed },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_field_is_linear(case in case(), a in -3.0..3.0_f64, b in -3.0..3.0_f64) {
        let workers = Workers::new(2).unwrap();
        let model = case.model_at([2; 3]);
        let (x, z) = (normal_numbers(case.seed, case.len()), normal_numbers(!case.seed, case.len()));
        for products in [Products::Fast, Products::Dense] {
            let operator = DoubleOperator::new(&model, products, &workers).unwrap();
            let (ax, az) = (operator.apply(&x), operator.apply(&z));
            let mixed: Vec<f64> = x.iter().zip(&z).map(|(x, z)| a * x + b * z).collect();
            let together = operator.apply(&mixed);
            let apart: Vec<f64> = ax.iter().zip(&az).map(|(x, z)| a * x + b * z).collect();
            let difference: Vec<f64> = together.iter().zip(&apart).map(|(t, s)| t - s).collect();
            let scale = a.abs() * norm(&ax) + b.abs() * norm(&az);
            prop_assert!(norm(&difference) <= DOUBLE * scale, "{products:?}");
        }
    }

    #[test]
    fn the_adjoint_is_adjoint(case in case()) {
        let workers = Workers::new(2).unwrap();
        let model = case.model_at([2; 3]);
        let (x, y) = (normal_numbers(case.seed, case.len()), normal_numbers(!case.seed, case.len()));
        for products in [Products::Fast, Products::Dense] {
            let operator = DoubleOperator::new(&model, products, &workers).unwrap();
            let (ax, aty) = (operator.apply(&x), operator.adjoint(&y));
            let scale = norm(&ax) * norm(&y) + norm(&x) * norm(&aty);
            prop_assert!((inner(&ax, &y) - inner(&x, &aty)).abs() <= DOUBLE * scale, "{products:?}");
        }
    }

    /// The field of a sphere is even: source and receiver may change places.
    #[test]
    fn spheres_see_each_other_alike(case in case()) {
        let workers = Workers::new(2).unwrap();
        let case = Case { cylinders: false, ..case };
        let operator = DoubleOperator::new(&case.model_at([2; 3]), Products::Fast, &workers).unwrap();
        let x = normal_numbers(case.seed, case.len());
        let (there, back) = (operator.apply(&x), operator.adjoint(&x));
        prop_assert!(relative_error(&there, &back) <= DOUBLE);
    }

    /// Where the voxels lie in their grid changes no bit.
    #[test]
    fn the_field_moves_with_its_sources(case in case(), at in prop::array::uniform3(0_usize..5)) {
        let workers = Workers::new(2).unwrap();
        let x = normal_numbers(case.seed, case.len());
        let field = |at| {
            let model = case.model_at(at);
            DoubleOperator::new(&model, Products::Fast, &workers).unwrap().apply(&x)
        };
        prop_assert_eq!(field([2; 3]), field(at));
    }

    /// The field has no sense of which way B0 points.
    #[test]
    fn turning_b0_round_changes_nothing(case in case()) {
        let workers = Workers::new(2).unwrap();
        let x = normal_numbers(case.seed, case.len());
        let field = |b0| {
            let model = case.model([2; 3], b0);
            DoubleOperator::new(&model, Products::Fast, &workers).unwrap().apply(&x)
        };
        prop_assert!(relative_error(&field(case.b0.map(|b| -b)), &field(case.b0)) <= DOUBLE);
    }

    #[test]
    fn threads_change_no_bit(case in case(), threads in 2_usize..5) {
        let model = case.model_at([2; 3]);
        let x = narrow(&normal_numbers(case.seed, case.len()));
        let field = |threads| {
            let workers = Workers::new(threads).unwrap().with_simd(SimdLevel::best());
            let operator = HostOperator::new(&model, Products::Fast, &workers).unwrap();
            let mut y = vec![0.0; case.len()];
            operator.apply(&x, &mut y).unwrap();
            y
        };
        prop_assert_eq!(field(1), field(threads));
    }
}
