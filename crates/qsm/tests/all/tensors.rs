//! Susceptibility tensors about known axes: the operator against a double loop, its adjoint, and
//! both maps from a field.

use crate::support::{inner, model, narrow, norm, normal_numbers, relative_error, wide};
use fimbria_compute::operator::{LinearOperator, Operator as _};
use fimbria_compute::{Silent, Workers};
use fimbria_qsm::dqsm::{DqsmOptions, Journey};
use fimbria_qsm::solver::StoppingRule;
use fimbria_qsm::tensor::{TensorOperator, TensorPenalty, magnetisation, reconstruct_tensors};
use fimbria_qsm::{Edges, FieldModel, Geometry, HostOperator, Products, Shape, dipole_fields};

/// The axis of each unknown that has one.
fn axes(model: &FieldModel) -> Vec<(usize, [f64; 3])> {
    let axis = |(i, shape): (usize, &Shape)| match shape {
        Shape::Sphere => None,
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
    let field = |&receiver: &u32| {
        let to = at(receiver);
        let pairs = model.unknowns.iter().zip(&m).map(|(&source, m)| {
            let from = at(source);
            let kernel = dipole_fields(geometry, [0, 1, 2].map(|a| to[a] - from[a]));
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
    let geometry = Geometry { dims: [side; 3], spacing: [1.0; 3], b0: [0.0, 0.0, 1.0] };
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
        reconstruct_tensors(model, &field, None, &options, &workers, &Silent, journey).unwrap().chi
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
