//! Every operator against the scalar oracle, and against its own adjoint.

use crate::support::{inner, model, narrow, norm, normal_numbers, relative_error, wide};
use fimbria_compute::operator::{LinearOperator, Operator};
use fimbria_compute::{HostSpace, SimdLevel, Workers};
use fimbria_qsm::{
    Distributed, DoubleOperator, Edges, FieldModel, HostOperator, Laplacian, Products, Share,
    oracle,
};
use fimbria_testing::as_processes;

const BOTH: [Products; 2] = [Products::Fast, Products::Dense];

/// Rounding of f32 products that the issue allows, as a share of the result's norm.
const SINGLE: f64 = 3e-6;
/// The same in f64.
const DOUBLE: f64 = 1e-12;

fn apply<'w>(
    operator: &impl Operator<Domain = HostSpace<'w>, Range = HostSpace<'w>>,
    x: &[f64],
    rows: usize,
) -> Vec<f64> {
    let mut y = vec![0.0; rows];
    operator.apply(&narrow(x), &mut y).unwrap();
    wide(&y)
}

fn adjoint<'w, A>(operator: &A, y: &[f64], columns: usize) -> Vec<f64>
where
    A: LinearOperator + Operator<Domain = HostSpace<'w>, Range = HostSpace<'w>>,
{
    let mut x = vec![0.0; columns];
    operator.adjoint(&narrow(y), &mut x).unwrap();
    wide(&x)
}

/// f32 numbers, so that operators of either precision see the same.
fn vectors(model: &FieldModel) -> (Vec<f64>, Vec<f64>) {
    let x = normal_numbers(1, model.unknowns.len());
    let y = normal_numbers(2, model.receivers.len());
    (wide(&narrow(&x)), wide(&narrow(&y)))
}

#[test]
fn products_are_the_oracles_in_f32() {
    let workers = Workers::new(2).unwrap();
    let model = model([22, 19, 25]);
    let (x, y) = vectors(&model);
    let (ax, aty) = (oracle::apply(&model, &x), oracle::adjoint(&model, &y));
    for products in BOTH {
        let operator = HostOperator::new(&model, products, &workers).unwrap();
        let error = relative_error(&apply(&operator, &x, y.len()), &ax);
        assert!(error < SINGLE, "{products:?} {error:e}");
        let error = relative_error(&adjoint(&operator, &y, x.len()), &aty);
        assert!(error < SINGLE, "{products:?} adjoint {error:e}");
    }
}

#[test]
fn products_are_the_oracles_in_f64() {
    let workers = Workers::new(2).unwrap();
    let model = model([13, 18, 11]);
    let (x, y) = vectors(&model);
    let (ax, aty) = (oracle::apply(&model, &x), oracle::adjoint(&model, &y));
    for products in BOTH {
        let operator = DoubleOperator::new(&model, products, &workers).unwrap();
        let error = relative_error(&operator.apply(&x), &ax);
        assert!(error < DOUBLE, "{products:?} {error:e}");
        let error = relative_error(&operator.adjoint(&y), &aty);
        assert!(error < DOUBLE, "{products:?} adjoint {error:e}");
    }
}

#[test]
fn a_limited_support_is_the_oracles() {
    let workers = Workers::new(2).unwrap();
    let model = model([22, 19, 25]).with_support(Some(6));
    let (x, y) = vectors(&model);
    let (ax, aty) = (oracle::apply(&model, &x), oracle::adjoint(&model, &y));
    for products in BOTH {
        let operator = HostOperator::new(&model, products, &workers).unwrap();
        let error = relative_error(&apply(&operator, &x, y.len()), &ax);
        assert!(error < SINGLE, "{products:?} {error:e}");
        let error = relative_error(&adjoint(&operator, &y, x.len()), &aty);
        assert!(error < SINGLE, "{products:?} adjoint {error:e}");
    }
}

#[test]
fn adjoints_are_adjoint() {
    let workers = Workers::new(2).unwrap();
    let model = model([30, 33, 28]);
    let (x, y) = vectors(&model);
    for products in BOTH {
        let weights = normal_numbers(3, y.len()).iter().map(|w| w.abs() as f32).collect();
        let operator =
            HostOperator::new(&model, products, &workers).unwrap().weighted(weights).unwrap();
        let ax = apply(&operator, &x, y.len());
        let aty = adjoint(&operator, &y, x.len());
        let difference = (inner(&ax, &y) - inner(&x, &aty)).abs();
        assert!(difference <= 1e-6 * norm(&ax) * norm(&y), "{products:?} {difference}");
    }
}

#[test]
fn the_penalty_is_its_own_definition_and_adjoint() {
    let workers = Workers::new(2).unwrap();
    let model = model([9, 8, 7]);
    let geometry = &model.geometry;
    let x = normal_numbers(1, model.unknowns.len());
    let y = normal_numbers(2, geometry.len());
    for edges in [Edges::Free, Edges::Zero] {
        let operator = Laplacian::new(&model, edges, &workers);
        let dx = apply(&operator, &x, y.len());
        let value = |at: [i64; 3]| {
            if (0..3).any(|a| at[a] < 0 || at[a] >= geometry.dims[a] as i64) {
                return None;
            }
            let [i, j, k] = at.map(|i| i as usize);
            let voxel = (i + geometry.dims[0] * (j + geometry.dims[1] * k)) as u32;
            model.unknowns.binary_search(&voxel).ok().map(|unknown| x[unknown])
        };
        let mut expected = vec![0.0; y.len()];
        for voxel in 0..y.len() {
            let at = geometry.voxel(voxel).map(|i| i as i64);
            let here = value(at);
            if edges == Edges::Free && here.is_none() {
                continue;
            }
            for step in 0..27 {
                let d = [step % 3 - 1, step / 3 % 3 - 1, step / 9 - 1];
                let weight = match d.iter().map(|d| d * d).sum::<i64>() {
                    1 => 10.0 / 96.0,
                    2 => 3.0 / 96.0,
                    _ => continue,
                };
                let there = value([0, 1, 2].map(|a| at[a] + d[a]));
                let there = if edges == Edges::Zero { Some(there.unwrap_or(0.0)) } else { there };
                expected[voxel] += weight * there.map_or(0.0, |t| t - here.unwrap_or(0.0));
            }
        }
        // Sums of 19 f32.
        assert!(relative_error(&dx, &expected) < 1e-6, "{edges:?}");
        let dty = adjoint(&operator, &y, x.len());
        let difference = (inner(&dx, &y) - inner(&x, &dty)).abs();
        assert!(difference <= 1e-6 * norm(&dx) * norm(&y), "{edges:?} {difference}");
    }
}

#[test]
fn products_have_the_same_bits_for_any_threads_and_fusing_level() {
    let model = model([22, 19, 25]);
    let (x, y) = vectors(&model);
    for products in BOTH {
        let mut seen: Option<(Vec<f64>, Vec<f64>)> = None;
        for level in SimdLevel::available().into_iter().filter(|level| level.fuses()) {
            for threads in [1, 3] {
                let workers = Workers::new(threads).unwrap().with_simd(level);
                let operator = HostOperator::new(&model, products, &workers).unwrap();
                let got = (apply(&operator, &x, y.len()), adjoint(&operator, &y, x.len()));
                let same = seen.get_or_insert_with(|| got.clone()) == &got;
                assert!(same, "{products:?} {level:?} {threads}");
            }
        }
    }
}

#[test]
fn levels_that_do_not_fuse_agree_to_rounding() {
    let model = model([14, 13, 12]);
    let (x, y) = vectors(&model);
    let ax = oracle::apply(&model, &x);
    let levels = SimdLevel::available().into_iter().filter(|level| !level.fuses());
    for level in levels {
        let workers = Workers::new(1).unwrap().with_simd(level);
        let operator = HostOperator::new(&model, Products::Dense, &workers).unwrap();
        let error = relative_error(&apply(&operator, &x, y.len()), &ax);
        assert!(error < SINGLE, "{level:?} {error:e}");
    }
}

#[test]
fn processes_that_share_the_sources_agree_with_one() {
    let model = model([22, 19, 25]);
    let (x, y) = vectors(&model);
    for products in BOTH {
        let workers = Workers::new(1).unwrap();
        let whole = HostOperator::new(&model, products, &workers).unwrap();
        let (ax, aty) = (apply(&whole, &x, y.len()), adjoint(&whole, &y, x.len()));
        for size in [2, 4] {
            as_processes(size, |comm| {
                let workers = Workers::new(1).unwrap();
                let share = Share { rank: comm.rank(), size };
                let part = HostOperator::of_share(&model, products, &workers, share).unwrap();
                let operator = Distributed::new(part, comm);
                let error = relative_error(&apply(&operator, &x, y.len()), &ax);
                // Sums of other groups of the same f32 terms.
                assert!(error < 1e-6, "{products:?} {error:e}");
                let error = relative_error(&adjoint(&operator, &y, x.len()), &aty);
                assert!(error < 1e-6, "{products:?} {error:e}");
            });
        }
    }
}

#[test]
fn the_loop_that_is_timed_against_computes_the_same() {
    let model = model([13, 18, 11]);
    let x = vectors(&model).0;
    let mut expected = oracle::apply(&model, &x);
    let lattice = fimbria_qsm::Lattice::new(&model.geometry);
    for (unknown, shape) in model.shapes.iter().enumerate() {
        // It leaves out what a source does in its own voxel.
        let inside = match shape {
            fimbria_qsm::Shape::Cylinder(axis) => {
                lattice.cylinder(&fimbria_qsm::Cylinder::new(&model.geometry, *axis).unwrap())
            }
            _ => lattice.sphere(),
        };
        let receiver = model.receivers.binary_search(&model.unknowns[unknown]).unwrap();
        expected[receiver] -= inside * x[unknown];
    }
    let got = wide(&oracle::plain_loop(&model, &narrow(&x), 1));
    // One f32 sum of thousands of terms.
    assert!(relative_error(&got, &expected) < 1e-5);
}
