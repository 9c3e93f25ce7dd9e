//! Products against their definition, and by whom they are made.

mod devices;
mod locked;

use fimbria_compute::comm::Solo;
use fimbria_compute::operator::{LinearOperator as _, Operator as _, VectorSpace as _};
use fimbria_compute::philox::{Philox, normals};
use fimbria_compute::{Silent, SimdLevel, Workers};
use fimbria_testing::as_processes;

use super::*;
use crate::oracle::Oracle;
use crate::testing::{GRID, Planted, streamlines};
use crate::{Atoms, EncodeOptions, Encoder, Normalise, Rank, Shared, Surveyor};

fn numbers(seed: u64, n: usize) -> Vec<f32> {
    let philox = Philox::new(seed);
    (0..n as u64).map(|item| normals::<f32>(philox.at(item, 0))[0]).collect()
}

fn options() -> [EncodeOptions; 3] {
    let grid = EncodeOptions::default();
    let exact = EncodeOptions { atoms: Atoms::Exact, ..grid };
    let nodes = EncodeOptions { normalise: Normalise::Nodes, ..exact.clone() };
    [grid, exact, nodes]
}

#[test]
fn products_are_those_of_the_definition() {
    let workers = Workers::new(2).unwrap();
    for options in options() {
        let planted = Planted::new(50, &options, 3.0);
        let system = planted.system(Rank::Full, &workers);
        let product = DealtProduct::on_threads(&system.blocks, &system.dictionary, &workers);
        let (offsets, points) = streamlines(50);
        let lines: Vec<&[[f32; 3]]> =
            offsets.windows(2).map(|w| &points[w[0] as usize..w[1] as usize]).collect();
        let encoding = &planted.encoding;
        let s0 = |voxel: u32| {
            let place = encoding.voxels.binary_search(&voxel).unwrap();
            f64::from(system.signal.s0[place])
        };
        let (protocol, response) = (&planted.protocol, &planted.response);
        let oracle = Oracle::new(&lines, GRID, &options, protocol, response, s0).unwrap();
        assert_eq!(oracle.voxels, encoding.voxels);

        let x: Vec<f32> = numbers(1, 50).iter().map(|x| x.max(0.0)).collect();
        let mut y = product.range().zeros().unwrap();
        product.apply(&x, &mut y).unwrap();
        let expected = oracle.apply(&x.iter().map(|x| f64::from(*x)).collect::<Vec<_>>());
        let largest = expected.iter().fold(0.0_f64, |m, y| m.max(y.abs()));
        for (at, &voxel) in system.blocks.voxel_order().iter().enumerate() {
            for row in 0..oracle.rows {
                let found = f64::from(y[at * system.dictionary.stride() + row]);
                let expected = expected[voxel as usize * oracle.rows + row];
                // Values, columns and directions of exact atoms are rounded to f32.
                assert!((found - expected).abs() < 2e-6 * largest, "{found} {expected}");
            }
        }
        let mut back = product.domain().zeros().unwrap();
        product.adjoint(&y, &mut back).unwrap();
        let mut in_order = vec![0.0; expected.len()];
        for (at, &voxel) in system.blocks.voxel_order().iter().enumerate() {
            for row in 0..oracle.rows {
                let from = y[at * system.dictionary.stride() + row];
                in_order[voxel as usize * oracle.rows + row] = f64::from(from);
            }
        }
        let expected = oracle.adjoint(&in_order);
        let largest = expected.iter().fold(0.0_f64, |m, y| m.max(y.abs()));
        for (found, expected) in back.iter().zip(&expected) {
            assert!((f64::from(*found) - expected).abs() < 2e-6 * largest, "{found} {expected}");
        }
    }
}

#[test]
fn the_adjoint_is_the_adjoint() {
    let workers = Workers::new(2).unwrap();
    let system = Planted::new(80, &EncodeOptions::default(), 3.0).system(Rank::Full, &workers);
    let product = DealtProduct::on_threads(&system.blocks, &system.dictionary, &workers);
    let (domain, range) = (product.domain(), product.range());
    let (x, y) = (numbers(1, domain.len()), numbers(2, range.len()));
    let (mut mx, mut mty) = (range.zeros().unwrap(), domain.zeros().unwrap());
    product.apply(&x, &mut mx).unwrap();
    product.adjoint(&y, &mut mty).unwrap();
    let (left, right) = (range.dot(&mx, &y).unwrap(), domain.dot(&x, &mty).unwrap());
    // Every element of the products is off by a few ε of its size, in random directions.
    let scale = (range.dot(&mx, &mx).unwrap() * range.dot(&y, &y).unwrap()).sqrt();
    assert!((left - right).abs() < f64::from(f32::EPSILON) * scale, "{left} {right}");
}

#[test]
fn the_fused_gradient_is_that_of_two_products() {
    let workers = Workers::new(2).unwrap();
    let system = Planted::new(80, &EncodeOptions::default(), 3.0).system(Rank::Full, &workers);
    let product = DealtProduct::on_threads(&system.blocks, &system.dictionary, &workers);
    let (domain, range) = (product.domain(), product.range());
    let x: Vec<f32> = numbers(1, domain.len()).iter().map(|x| x.max(0.0)).collect();
    let mut g = domain.zeros().unwrap();
    let squares = product.gradient(&x, &system.data, &mut g).unwrap();
    let mut residual = range.zeros().unwrap();
    product.apply(&x, &mut residual).unwrap();
    range.axpy(-1.0, &system.data, &mut residual).unwrap();
    let mut expected = domain.zeros().unwrap();
    product.adjoint(&residual, &mut expected).unwrap();
    let norm = domain.dot(&expected, &expected).unwrap().sqrt();
    // The fused one begins its sums with -b, the other subtracts it last.
    for (g, expected) in g.iter().zip(&expected) {
        assert!(f64::from((g - expected).abs()) < 1e-6 * norm, "{g} {expected}");
    }
    let expected = range.dot(&residual, &residual).unwrap();
    assert!((squares - expected).abs() < 1e-6 * expected, "{squares} {expected}");
}

#[test]
fn products_have_the_same_bits_for_any_threads_and_fusing_level() {
    let mut found: Vec<(String, u64, Vec<u32>)> = Vec::new();
    for level in SimdLevel::available().into_iter().filter(|level| level.fuses()) {
        for threads in 1..=3 {
            let workers = Workers::new(threads).unwrap().with_simd(level);
            let planted = Planted::new(80, &EncodeOptions::default(), 3.0);
            let system = planted.system(Rank::Full, &workers);
            let product = DealtProduct::on_threads(&system.blocks, &system.dictionary, &workers);
            let x: Vec<f32> = numbers(1, 80).iter().map(|x| x.max(0.0)).collect();
            let mut g = product.domain().zeros().unwrap();
            let squares = product.gradient(&x, &system.data, &mut g).unwrap();
            let bits = g.iter().map(|g| g.to_bits()).collect();
            found.push((format!("{level:?}, {threads}"), squares.to_bits(), bits));
        }
    }
    for (what, squares, bits) in &found {
        assert!((squares, bits) == (&found[0].1, &found[0].2), "{what} and {}", found[0].0);
    }
}

#[test]
fn columns_of_norm_one_have_norm_one() {
    let workers = Workers::new(2).unwrap();
    let mut system = Planted::new(40, &EncodeOptions::default(), 3.0).system(Rank::Full, &workers);
    let squares = system.blocks.column_squares(&system.dictionary, &workers, &Solo);
    let inverse = |square: &f64| if *square > 0.0 { square.sqrt().recip() as f32 } else { 0.0 };
    let inverse: Vec<f32> = squares.iter().map(inverse).collect();
    system.blocks.scale_columns(&inverse, &workers);
    let product = DealtProduct::on_threads(&system.blocks, &system.dictionary, &workers);
    // Some streamlines miss the image.
    for f in (0..40).filter(|&f| squares[f] > 0.0) {
        let mut x = vec![0.0; 40];
        x[f] = 1.0;
        let mut y = product.range().zeros().unwrap();
        product.apply(&x, &mut y).unwrap();
        let norm = product.range().dot(&y, &y).unwrap().sqrt();
        assert!((norm - 1.0).abs() < 1e-6, "{norm}");
    }
}

#[test]
fn a_restriction_is_the_product_with_the_others_at_zero() {
    let workers = Workers::new(2).unwrap();
    let system = Planted::new(60, &EncodeOptions::default(), 3.0).system(Rank::Full, &workers);
    let kept: Vec<bool> = (0..60).map(|f| f % 4 != 1).collect();
    let all = DealtProduct::on_threads(&system.blocks, &system.dictionary, &workers);
    let mut few = DealtProduct::on_threads(&system.blocks, &system.dictionary, &workers);
    few.restrict(Some(&kept));
    let of_few: Vec<f32> = numbers(1, few.domain().len()).iter().map(|x| x.abs()).collect();
    let mut values = of_few.iter();
    let of_all: Vec<f32> =
        kept.iter().map(|kept| if *kept { *values.next().unwrap() } else { 0.0 }).collect();
    let (mut y, mut expected) = (few.range().zeros().unwrap(), all.range().zeros().unwrap());
    few.apply(&of_few, &mut y).unwrap();
    all.apply(&of_all, &mut expected).unwrap();
    // Entries at zero are left out of both sums.
    assert!(y == expected);
}

#[test]
fn parts_add_up_to_the_whole_to_the_bit() {
    let workers = Workers::new(2).unwrap();
    let planted = Planted::new(2000, &EncodeOptions::default(), 3.0);
    let (offsets, points) = streamlines(2000);
    let x: Vec<f32> = numbers(1, 2000).iter().map(|x| x.max(0.0)).collect();
    let products = |processes: usize| {
        let found = as_processes(processes, |comm| {
            let options = EncodeOptions::default();
            let mut surveyor = Surveyor::new(GRID, None, &options, &workers).unwrap();
            if comm.rank() == 0 {
                surveyor.add(&offsets, &points);
            } else {
                surveyor.skip(2000);
            }
            let (_, deal) = surveyor.finish(30, comm);
            let encoder = Encoder::new(GRID, None, &options, &workers, &Silent).unwrap();
            let mut encoder = encoder.share(&deal, comm);
            encoder.add(&offsets, &points).unwrap();
            let (encoding, image) = (encoder.finish().unwrap(), planted.image.clone());
            let (protocol, response) = (planted.protocol.clone(), planted.response);
            let part = Planted { protocol, response, encoding, image, weights: Vec::new() };
            let system = part.system(Rank::Full, &workers);
            let (blocks, _) = system.blocks.blocks_and_slots();
            let product = DealtProduct::on_threads(&system.blocks, &system.dictionary, &workers);
            let shared = Shared::new(&product, comm);
            let mut g = shared.domain().zeros().unwrap();
            let squares = shared.gradient(&x, &system.data, &mut g).unwrap();
            let dot = shared.range().dot(&system.data, &system.data).unwrap();
            let norms = system.blocks.column_squares(&system.dictionary, &workers, comm);
            (blocks, g, squares, dot, norms)
        });
        assert!(found.iter().all(|(_, g, ..)| *g == found[0].1), "processes part");
        found
    };
    let alone = products(1);
    assert!(alone[0].0 >= 4, "{} blocks: the test needs more streamlines", alone[0].0);
    for processes in [2, 3, 4] {
        let found = products(processes);
        assert!(found.iter().all(|(blocks, ..)| *blocks > 0), "a process has nothing to do");
        assert_eq!(found.iter().map(|(blocks, ..)| blocks).sum::<usize>(), alone[0].0);
        for (_, g, squares, dot, norms) in &found {
            assert!(*g == alone[0].1 && *norms == alone[0].4, "{processes} processes");
            assert_eq!((*squares, *dot), (alone[0].2, alone[0].3), "{processes} processes");
        }
    }
}

#[test]
fn exact_sums_are_those_of_the_blocks() {
    let workers = Workers::new(2).unwrap();
    let system = Planted::new(300, &EncodeOptions::default(), 3.0).system(Rank::Full, &workers);
    let product = DealtProduct::on_threads(&system.blocks, &system.dictionary, &workers);
    let y = numbers(2, product.range().len());
    let (by_blocks, plain) = (
        product.dot_sums(&y, &system.data, &|mine| mine).unwrap().iter().sum::<f64>(),
        y.iter().zip(&system.data).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>(),
    );
    let scale = product.range().dot(&system.data, &system.data).unwrap().sqrt();
    // f64 sums of some thousands of numbers, in another order.
    assert!((by_blocks - plain).abs() < 1e-11 * scale, "{by_blocks} {plain}");
}
