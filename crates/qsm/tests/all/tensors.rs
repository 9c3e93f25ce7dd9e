//! Susceptibility tensors about known axes: the operator against a double loop, its adjoint, and
//! both maps from a field.

use crate::support::{inner, model, narrow, norm, normal_numbers, relative_error, wide};
use fimbria_compute::comm::Solo;
use fimbria_compute::operator::{LinearOperator, Operator as _};
use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::{Affine, Grid, Image, Mask};
use fimbria_qsm::dqsm::{DqsmOptions, Journey};
use fimbria_qsm::solver::StoppingRule;
use fimbria_qsm::tensor::{TensorOperator, TensorPenalty, magnetisation, reconstruct_tensors};
use fimbria_qsm::{
    Edges, FieldModel, Geometry, HostOperator, Lattice, Products, Shape, Share, dipole_fields,
    shapes_of, whole_length,
};

/// The axis of each unknown that has one.
fn axes(model: &FieldModel) -> Vec<(usize, [f64; 3])> {
    let axis = |(i, shape): (usize, &Shape)| match shape {
        Shape::Sphere | Shape::Crossing(_) => None,
        Shape::Cylinder(axis) => Some((i, *axis)),
    };
    model.shapes.iter().enumerate().filter_map(axis).collect()
}

/// Means and anisotropies as random numbers, of f32 precision.
fn unknowns(model: &FieldModel) -> Vec<f64> {
    wide(&narrow(&normal_numbers(1, model.unknowns.len() + model.cylinders())))
}

/// The field at the receivers, pair by pair.
fn double_loop(model: &FieldModel, x: &[f64]) -> Vec<f64> {
    let (geometry, n) = (&model.geometry, model.unknowns.len());
    let mut m: Vec<[f64; 3]> = x[..n].iter().map(|x| geometry.b0.map(|b| b * x)).collect();
    for ((i, axis), delta) in axes(model).into_iter().zip(&x[n..]) {
        m[i] = magnetisation(x[i], *delta, axis, geometry.b0);
    }
    let at = |voxel: u32| geometry.voxel(voxel as usize).map(|i| i as i64);
    let lattice = Lattice::new(geometry);
    let field = |&receiver: &u32| {
        let to = at(receiver);
        let pairs = model.unknowns.iter().zip(&m).map(|(&source, m)| {
            let from = at(source);
            let kernel = match [0, 1, 2].map(|a| to[a] - from[a]) {
                [0, 0, 0] => lattice.magnetised(),
                steps => dipole_fields(geometry, steps),
            };
            inner(&kernel, m)
        });
        pairs.sum()
    };
    model.receivers.iter().map(field).collect()
}

#[test]
fn the_field_of_tensors_is_that_of_a_double_loop() {
    let workers = Workers::new(2).unwrap();
    let model = model([13, 18, 11]);
    let x = unknowns(&model);
    let operator = TensorOperator::new(&model, &workers).unwrap();
    let mut y = vec![0.0; model.receivers.len()];
    operator.apply(&narrow(&x), &mut y).unwrap();
    let error = relative_error(&wide(&y), &double_loop(&model, &x));
    // Rounding of f32 products, as of the other operators.
    assert!(error < 3e-6, "{error:e}");
}

#[test]
fn products_and_penalties_of_tensors_have_their_adjoints() {
    let workers = Workers::new(2).unwrap();
    let model = model([30, 33, 28]);
    let x = unknowns(&model);
    let weights = normal_numbers(3, model.receivers.len());
    let weights = weights.iter().map(|w| w.abs() as f32).collect();
    let operator = TensorOperator::new(&model, &workers).unwrap().weighted(weights).unwrap();
    let penalty = TensorPenalty::new(&model, Edges::Free, &workers).unwrap();
    fn check<'w, A>(operator: &A, x: &[f64])
    where
        A: LinearOperator<
                Domain = fimbria_compute::HostSpace<'w>,
                Range = fimbria_compute::HostSpace<'w>,
            >,
    {
        use fimbria_compute::operator::VectorSpace as _;
        let y = wide(&narrow(&normal_numbers(2, operator.range().len())));
        let (mut ax, mut aty) = (vec![0.0; y.len()], vec![0.0; x.len()]);
        operator.apply(&narrow(x), &mut ax).unwrap();
        operator.adjoint(&narrow(&y), &mut aty).unwrap();
        let (ax, aty) = (wide(&ax), wide(&aty));
        let difference = (inner(&ax, &y) - inner(x, &aty)).abs();
        assert!(difference <= 1e-6 * norm(&ax) * norm(&y), "{difference}");
    }
    check(&operator, &x);
    check(&penalty, &x);
}

/// A ball of tensors in voxels of 1 x 1 x 2 mm: nothing within, a dipole along its magnetisation outside.
#[test]
fn a_ball_in_voxels_that_are_no_cubes_has_the_field_of_a_ball() {
    let workers = Workers::new(2).unwrap();
    let unit = 2.0_f64.cbrt();
    let spacing = [1.0 / unit, 1.0 / unit, 2.0 / unit];
    for b0 in [[0.0, 0.0, 1.0], [0.6, 0.0, 0.8]] {
        let geometry = Geometry { dims: [40, 40, 20], spacing, b0, reversed: [false; 3] };
        let from_centre = |v: u32| {
            let at = geometry.voxel(v as usize);
            [0, 1, 2].map(|a| (at[a] as f64 - (geometry.dims[a] / 2) as f64) * spacing[a])
        };
        let all: Vec<u32> = (0..geometry.len() as u32).collect();
        let radius = 7.0;
        let mask: Vec<u32> =
            all.iter().copied().filter(|&v| norm(&from_centre(v)) < radius).collect();
        let axis = [0.0, 0.6, 0.8];
        for shape in [Shape::Sphere, Shape::Cylinder(axis)] {
            let model = FieldModel::new(&geometry, &mask, vec![shape; mask.len()], &all).unwrap();
            let operator = TensorOperator::new(&model, &workers).unwrap();
            let delta = if shape == Shape::Sphere { 0.0 } else { 0.5 };
            let mut x = vec![1.0_f32; mask.len()];
            x.extend(vec![delta as f32; model.cylinders()]);
            let mut field = vec![0.0; all.len()];
            operator.apply(&x, &mut field).unwrap();
            let m = magnetisation(1.0, delta, axis, b0);
            let (mut within, mut outside): (f64, f64) = (0.0, 0.0);
            for (&v, field) in all.iter().zip(&field) {
                let d = from_centre(v);
                let r = norm(&d);
                if r < radius - 4.0 {
                    within = within.max(f64::from(*field).abs());
                } else if r > radius + 2.0 {
                    let dipole = (3.0 * inner(&m, &d) * inner(&b0, &d) / (r * r) - inner(&m, &b0))
                        * mask.len() as f64
                        / (4.0 * std::f64::consts::PI * r.powi(3));
                    outside = outside.max((f64::from(*field) - dipole).abs());
                }
            }
            // The ball is made of blocks; without a field of its own 0.77 is left within for B0 along z.
            assert!(within < 0.06 && outside < 0.02, "{b0:?} {shape:?}: {within} {outside}");
        }
    }
}

/// Of any number of processes: each has components of the magnetisation, or nothing.
#[test]
fn the_parts_of_several_sum_to_the_field_of_tensors() {
    let workers = Workers::new(2).unwrap();
    let model = model([13, 18, 11]);
    let (x, y) = (narrow(&unknowns(&model)), normal_numbers(2, model.receivers.len()));
    let y = narrow(&y);
    for size in [2, 3, 5] {
        let (mut field, mut seen) = (vec![0.0; y.len()], vec![0.0; x.len()]);
        for rank in 0..size {
            let share = Share { rank, size };
            let part = TensorOperator::of_share(&model, &workers, share).unwrap();
            let (mut ax, mut aty) = (vec![1.0; y.len()], vec![1.0; x.len()]);
            part.apply(&x, &mut ax).unwrap();
            part.adjoint(&y, &mut aty).unwrap();
            field.iter_mut().zip(ax).for_each(|(sum, part)| *sum += part);
            seen.iter_mut().zip(aty).for_each(|(sum, part)| *sum += part);
        }
        let whole = TensorOperator::new(&model, &workers).unwrap();
        let (mut ax, mut aty) = (vec![0.0; y.len()], vec![0.0; x.len()]);
        whole.apply(&x, &mut ax).unwrap();
        whole.adjoint(&y, &mut aty).unwrap();
        // f32 sums in another order.
        assert!(relative_error(&wide(&field), &wide(&ax)) < 1e-6);
        assert!(relative_error(&wide(&seen), &wide(&aty)) < 1e-6);
    }
}

#[test]
fn tensors_that_are_isotropic_are_spheres() {
    let workers = Workers::new(2).unwrap();
    let mut model = model([22, 19, 25]);
    model.shapes.fill(Shape::Sphere);
    let x = narrow(&normal_numbers(1, model.unknowns.len()));
    let [mut tensors, mut spheres] = [(); 2].map(|()| vec![0.0; model.receivers.len()]);
    TensorOperator::new(&model, &workers).unwrap().apply(&x, &mut tensors).unwrap();
    let products = HostOperator::new(&model, Products::Fast, &workers).unwrap();
    products.apply(&x, &mut spheres).unwrap();
    // f32 transforms of three volumes against that of one.
    assert!(relative_error(&wide(&tensors), &wide(&spheres)) < 3e-6);
}

#[test]
fn tensors_explain_what_spheres_cannot() {
    let workers = Workers::new(2).unwrap();
    let side = 16;
    let geometry =
        Geometry { dims: [side; 3], spacing: [1.0; 3], b0: [0.0, 0.0, 1.0], reversed: [false; 3] };
    let voxels: Vec<u32> = (0..geometry.len() as u32).collect();
    let centre = (side as f64 - 1.0) / 2.0;
    let from_centre = |v: u32| geometry.voxel(v as usize).map(|i| i as f64 - centre);
    // A shell of fibres that run outwards, as into a cortex, about a nucleus.
    let shape = |&v: &u32| {
        let p = from_centre(v);
        let r = norm(&p);
        if (3.5..6.5).contains(&r) { Shape::Cylinder(p.map(|x| x / r)) } else { Shape::Sphere }
    };
    let shapes: Vec<Shape> = voxels.iter().map(shape).collect();
    let model = FieldModel::new(&geometry, &voxels, shapes, &voxels).unwrap();
    let mean = |&v: &u32| if norm(&from_centre(v)) < 3.0 { 0.05 } else { 0.0 };
    let mut truth: Vec<f32> = voxels.iter().map(mean).collect();
    truth.resize(truth.len() + model.cylinders(), 0.03);
    let operator = TensorOperator::new(&model, &workers).unwrap();
    let mut field = vec![0.0; voxels.len()];
    operator.apply(&truth, &mut field).unwrap();
    let stop = StoppingRule { iterations: 40, ..StoppingRule::default() };
    let options = DqsmOptions { kappa: 0.999, stop, ..DqsmOptions::default() };
    let found = |model: &FieldModel| {
        let journey = Journey { start: None, resume: None, after: &mut |_| Ok(()) };
        {
            let on = Backend::cpu(&workers);
            reconstruct_tensors(model, &field, None, &options, &on, &Solo, &Silent, journey)
                .unwrap()
                .chi
        }
    };
    let error = |found: &[f32]| {
        let means = voxels.len();
        relative_error(&wide(&found[..means]), &wide(&truth[..means]))
    };
    let tensors = found(&model);
    let isotropic = vec![Shape::Sphere; voxels.len()];
    let spheres = found(&FieldModel { shapes: isotropic, ..model.clone() });
    let (guided, unguided) = (error(&tensors), error(&spheres));
    assert!(guided < 0.7 * unguided, "{guided} {unguided}");
    // Along the fibre more than across it.
    let mean = tensors[voxels.len()..].iter().sum::<f32>() / model.cylinders() as f32;
    assert!((0.01..0.03).contains(&mean), "{mean}");
}

#[test]
fn fibres_that_cross_are_magnetised_each_by_its_share() {
    let workers = Workers::new(2).unwrap();
    let mut model = model([13, 18, 11]);
    let (first, second) = ([0.6, 0.0, 0.8], [0.0, 0.8, -0.6]);
    let x = narrow(&normal_numbers(1, 2 * model.unknowns.len()));
    let mut field = |shape: Shape| {
        model.shapes.fill(shape);
        let mut y = vec![0.0; model.receivers.len()];
        TensorOperator::new(&model, &workers).unwrap().apply(&x, &mut y).unwrap();
        wide(&y)
    };
    let moment = |i: usize, j: usize| 0.7 * first[i] * first[j] + 0.3 * second[i] * second[j];
    let pairs = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)];
    let both = field(Shape::Crossing(pairs.map(|(i, j)| moment(i, j))));
    let [one, other] = [first, second].map(|axis| field(Shape::Cylinder(axis)));
    let expected: Vec<f64> = one.iter().zip(&other).map(|(a, b)| 0.7 * a + 0.3 * b).collect();
    // Rounding of f32 products; the two alone are another field.
    assert!(relative_error(&both, &expected) < 3e-6);
    assert!(relative_error(&one, &expected) > 0.05);
}

#[test]
fn vectors_of_several_fibres_are_fractions_and_missing_ones_are_none() {
    let grid = Grid { dims: [4, 1, 1], ras_from_vox: Affine::IDENTITY };
    let mut vectors = Image::zeros(grid, 6);
    let mut set = |voxel: usize, fibres: [[f32; 3]; 2]| {
        for (volume, value) in fibres.concat().into_iter().enumerate() {
            vectors.volume_mut(volume)[voxel] = value;
        }
    };
    set(0, [[0.6, 0.0, 0.0], [0.0, 0.12, 0.16]]);
    set(1, [[0.0, 0.0, 0.5], [f32::NAN; 3]]);
    // Neither is above the threshold, both together are.
    set(2, [[0.15, 0.0, 0.0], [0.0, 0.15, 0.0]]);
    set(3, [[0.1, 0.0, 0.0], [0.0, 0.05, 0.0]]);
    let mask = Mask::full(grid);
    let shapes = shapes_of(&vectors, None, &mask, 0.2).unwrap();
    // 0.6 and 0.2 of a whole of 0.8.
    let expected = [0.75, 0.0, 0.0, 0.25 * 0.36, 0.25 * 0.48, 0.25 * 0.64];
    let Shape::Crossing(found) = shapes[0] else { panic!("{:?}", shapes[0]) };
    assert!(found.iter().zip(expected).all(|(f, e)| (f - e).abs() < 1e-7), "{found:?}");
    assert_eq!(shapes[1], Shape::Cylinder([0.0, 0.0, 1.0]));
    assert!(matches!(shapes[2], Shape::Crossing(_)), "{:?}", shapes[2]);
    assert_eq!(shapes[3], Shape::Sphere);
    assert!((whole_length(&vectors, 0) - 0.8).abs() < 1e-6);
    assert!((whole_length(&vectors, 1) - 0.5).abs() < 1e-6);
}
