//! Total variation, guided and not: maps of known susceptibility from fields by the exact operator of
//! tensors, which shares nothing with the inversion but the physics.

use crate::support::{narrow, normal_numbers, relative_error, wide};
use fimbria_compute::operator::Operator as _;
use fimbria_compute::{Backend, Silent, Workers};
use fimbria_qsm::nonlinear::{Nonlinear, NonlinearMap, invert_nonlinear};
use fimbria_qsm::tensor::TensorOperator;
use fimbria_qsm::variation::{
    Guidance, LAMBDA, Outside, Prior, Supported, Variation, VariationMap, reconstruct_variation,
};
use fimbria_qsm::{FieldModel, Geometry, QsmError, Shape};

const SIDE: usize = 28;
const OF_FA: f64 = -0.05;
const ANISOTROPY: f64 = 0.02;
const NOISE: f64 = 0.002;
/// Of the phase after 20 ms at 3 T by 1 ppm.
const RADIANS: f64 = 16.05;
const NOTHING: Variation = Variation {
    lambda: LAMBDA,
    outside: Outside::Nothing,
    radians: None,
    iterations: 100,
    tolerance: 2e-3,
};

/// A head of shells: fibres that run around it where FA is high, in a pattern fine enough that the field
/// alone does not show it, and a nucleus that diffusion does not see.
struct Scene {
    model: FieldModel,
    fa: Vec<f32>,
    chi: Vec<f64>,
    field: Vec<f32>,
}

impl Scene {
    fn new(workers: &Workers) -> Self {
        let geometry = Geometry {
            dims: [SIDE; 3],
            spacing: [0.9, 1.0, 1.0 / 0.9],
            b0: [0.0, 0.6, 0.8],
            reversed: [false; 3],
        };
        let from_middle = |v: u32| {
            let at = geometry.voxel(v as usize);
            at.map(|i| i as f64 + 0.5 - SIDE as f64 / 2.0)
        };
        let length = |p: [f64; 3]| p.iter().map(|x| x * x).sum::<f64>().sqrt();
        let mask: Vec<u32> =
            (0..geometry.len() as u32).filter(|&v| length(from_middle(v)) < 12.0).collect();
        let (mut shapes, mut fa, mut chi) = (Vec::new(), Vec::new(), Vec::new());
        for &v in &mask {
            let p = from_middle(v);
            let is_white = (0.9 * p[0]).sin() + (0.7 * p[1] + 1.0).sin() + (0.8 * p[2]).sin() > 0.3;
            let is_nucleus = length([p[0] - 4.0, p[1] + 3.0, p[2]]) < 3.0;
            let across = p[0].hypot(p[1]);
            shapes.push(Shape::Cylinder([-p[1] / across, p[0] / across, 0.0]));
            fa.push(if is_white { 0.6_f32 } else { 0.1 });
            chi.push(OF_FA * f64::from(fa[fa.len() - 1]) + if is_nucleus { 0.1 } else { 0.0 });
        }
        let model = FieldModel::new(&geometry, &mask, shapes, &mask).unwrap();
        let anisotropy = fa.iter().map(|fa| ANISOTROPY * f64::from(*fa));
        let x: Vec<f64> = chi.iter().copied().chain(anisotropy).collect();
        let mut field = vec![0.0; mask.len()];
        TensorOperator::new(&model, workers).unwrap().apply(&narrow(&x), &mut field).unwrap();
        let noise = normal_numbers(1, field.len());
        field.iter_mut().zip(noise).for_each(|(b, n)| *b += (NOISE * n) as f32);
        Self { model, fa, chi, field }
    }

    fn map(&self, guidance: Option<&Guidance>, workers: &Workers) -> VariationMap {
        let prior = guidance.map_or(Prior::Total, Prior::Explained);
        self.weighted(None, prior, workers).unwrap()
    }

    /// With the edges of `guidance` that the map without it supports.
    fn supported(&self, guidance: &Guidance, workers: &Workers) -> VariationMap {
        let (own, first) = (self.map(None, workers), self.map(Some(guidance), workers));
        let (coefficients, own) = (&first.coefficients[..], &own.chi[..]);
        let prior = Prior::Supported(&Supported { guidance, coefficients, own });
        self.weighted(None, prior, workers).unwrap()
    }

    fn weighted(
        &self,
        weights: Option<&[f32]>,
        prior: Prior<'_>,
        workers: &Workers,
    ) -> Result<VariationMap, QsmError> {
        self.by(weights, prior, NOTHING, workers)
    }

    fn by(
        &self,
        weights: Option<&[f32]>,
        prior: Prior<'_>,
        variation: Variation,
        workers: &Workers,
    ) -> Result<VariationMap, QsmError> {
        let Self { model, field, .. } = self;
        let on = Backend::cpu(workers);
        reconstruct_variation(model, field, weights, prior, variation, &on, &Silent)
    }

    fn downhill(&self, workers: &Workers) -> NonlinearMap {
        let how = Nonlinear {
            lambda: Nonlinear::LAMBDA,
            radians: RADIANS,
            iterations: 100,
            tolerance: 1e-3,
        };
        invert_nonlinear(&self.model, &self.field, None, how, &Backend::cpu(workers), &Silent)
            .unwrap()
    }

    /// Half the signal in fibres, and a third more in the nucleus.
    fn magnitude(&self) -> Vec<f32> {
        let of = |(fa, chi): (&f32, &f64)| {
            let is_nucleus = (chi - OF_FA * f64::from(*fa)).abs() > 0.05;
            (if *fa > 0.3 { 50.0 } else { 100.0 }) * if is_nucleus { 1.3 } else { 1.0 }
        };
        self.fa.iter().zip(&self.chi).map(of).collect()
    }

    /// NRMSE of maps less their means.
    fn error(&self, map: &VariationMap) -> f64 {
        self.error_of(&map.chi)
    }

    fn error_of(&self, chi: &[f32]) -> f64 {
        let centred = |x: &[f64]| {
            let mean = x.iter().sum::<f64>() / x.len() as f64;
            x.iter().map(|x| x - mean).collect::<Vec<f64>>()
        };
        relative_error(&centred(&wide(chi)), &centred(&self.chi))
    }
}

#[test]
fn what_diffusion_explains_is_found_with_its_sign() {
    let workers = Workers::new(2).unwrap();
    let scene = Scene::new(&workers);
    let alone = scene.error(&scene.map(None, &workers));
    // FA with the noise of a scan.
    let noise = normal_numbers(2, scene.fa.len());
    let fa = scene.fa.iter().zip(noise).map(|(fa, n)| fa + 0.03 * n as f32).collect();
    let found = scene.map(Some(&Guidance { fa, images: Vec::new() }), &workers);
    // Not all of it: a part is as cheap as means that vary slowly from place to place.
    let part = found.anisotropy / ANISOTROPY;
    assert!(part > 0.4 && part < 1.2, "{part}");
    let guided = scene.error(&found);
    assert!(guided < 0.8 * alone, "{guided}, alone {alone}");
}

#[test]
fn supported_edges_make_a_map_better() {
    let workers = Workers::new(2).unwrap();
    let scene = Scene::new(&workers);
    let guidance = Guidance { fa: scene.fa.clone(), images: Vec::new() };
    let [alone, guided] = [scene.map(None, &workers), scene.supported(&guidance, &workers)]
        .map(|map| scene.error(&map));
    assert!(guided < 0.95 * alone, "{guided}, alone {alone}");
}

#[test]
fn images_that_explain_nothing_change_nothing() {
    let workers = Workers::new(2).unwrap();
    let scene = Scene::new(&workers);
    let alone = scene.error(&scene.map(None, &workers));
    let mut elsewhere = scene.fa.clone();
    elsewhere.reverse();
    elsewhere.rotate_left(777);
    let n = elsewhere.len();
    // One of another tissue, one that is the same everywhere, one of which nothing is known.
    let images = vec![vec![7.0; n], vec![f32::NAN; n]];
    let found = scene.map(Some(&Guidance { fa: elsewhere, images }), &workers);
    let guided = scene.error(&found);
    assert!(guided < alone + 0.02, "{guided}, alone {alone}");
    assert!(found.chi.iter().all(|x| x.is_finite()), "{:?}", found.coefficients);
}

#[test]
fn a_map_has_the_same_bits_for_any_number_of_threads() {
    let [one, three] = [1, 3].map(|n| Workers::new(n).unwrap());
    let scene = Scene::new(&one);
    let guidance = Guidance { fa: scene.fa.clone(), images: vec![scene.fa.clone()] };
    let maps = [&one, &three].map(|workers| scene.map(Some(&guidance), workers));
    assert_eq!(maps[0], maps[1]);
    let magnitude = scene.magnitude();
    let phase = Variation { radians: Some(RADIANS), iterations: 10, ..NOTHING };
    for prior in [Prior::Magnitude(&magnitude), Prior::Generalised] {
        let [one, three] =
            [&one, &three].map(|workers| scene.by(None, prior, phase, workers).unwrap());
        assert_eq!(one, three);
    }
    let maps = [&one, &three].map(|workers| scene.downhill(workers));
    assert_eq!(maps[0], maps[1]);
}

#[test]
fn a_weight_of_zero_takes_a_voxel_out_of_the_data() {
    let workers = Workers::new(2).unwrap();
    let mut scene = Scene::new(&workers);
    let sound = scene.error(&scene.map(None, &workers));
    let mut weights = vec![1.0; scene.field.len()];
    for i in (0..weights.len()).step_by(40) {
        scene.field[i] += 0.5;
        weights[i] = 0.0;
    }
    let error = |map: Result<VariationMap, QsmError>| scene.error(&map.unwrap());
    let without = error(scene.weighted(None, Prior::Total, &workers));
    let with = error(scene.weighted(Some(&weights), Prior::Total, &workers));
    // One voxel of 40 less.
    assert!(with < 1.1 * sound && without > 2.0 * sound, "{with} {without} {sound}");
}

#[test]
fn no_field_has_no_susceptibility_and_bad_input_is_refused() {
    let workers = Workers::new(2).unwrap();
    let mut scene = Scene::new(&workers);
    let short = Guidance { fa: vec![0.0; 3], images: Vec::new() };
    let said = scene.weighted(None, Prior::Explained(&short), &workers).unwrap_err().to_string();
    assert!(said.contains("FA has 3 values"), "{said}");
    scene.field.fill(0.0);
    assert!(scene.map(None, &workers).chi.iter().all(|x| *x == 0.0));
    scene.field[5] = f32::NAN;
    let said = scene.weighted(None, Prior::Total, &workers).unwrap_err().to_string();
    assert!(said.contains("1 voxels of the field"), "{said}");
}

/// A dipole outside the mask, its field in closed form, as large inside as what is to be mapped: with
/// sources outside the map is nearly what it is without that field, without them it is none.
#[test]
fn what_a_background_left_is_told_from_the_map() {
    let workers = Workers::new(2).unwrap();
    let scene = Scene::new(&workers);
    let geometry = &scene.model.geometry;
    let square = |field: &[f32]| field.iter().map(|b| f64::from(*b).powi(2)).sum::<f64>();
    let of_source = |&v: &u32| {
        let at = geometry.voxel(v as usize);
        // 17 voxels from the middle, along x and z alike.
        let source = [12.0, 0.0, 12.0].map(|p| p + 0.5 * (SIDE as f64 - 1.0));
        let away: [f64; 3] =
            std::array::from_fn(|a| (at[a] as f64 - source[a]) * geometry.spacing[a]);
        let r = away.iter().map(|x| x * x).sum::<f64>().sqrt();
        let along: f64 = (0..3).map(|a| away[a] * geometry.b0[a]).sum::<f64>() / r;
        ((3.0 * along * along - 1.0) / r.powi(3)) as f32
    };
    let added: Vec<f32> = scene.model.unknowns.iter().map(of_source).collect();
    let scale = (square(&scene.field) / square(&added)).sqrt() as f32;
    let field: Vec<f32> = scene.field.iter().zip(&added).map(|(b, a)| b + scale * a).collect();
    let map = |field: &[f32], outside: Outside| {
        let variation = Variation { outside, ..NOTHING };
        let found = reconstruct_variation(
            &scene.model,
            field,
            None,
            Prior::Total,
            variation,
            &Backend::cpu(&workers),
            &Silent,
        );
        scene.error(&found.unwrap())
    };
    let without = map(&scene.field, Outside::Nothing);
    let (told, not_told) = (map(&field, Outside::Sources), map(&field, Outside::Nothing));
    // What is smooth of the map itself can come from outside as well, so that some of it is lost.
    assert!(told < 1.5 * without && told < 0.6 * not_told, "{without} {told} {not_told}");
}

#[test]
fn edges_of_the_magnitude_help_where_they_are_those_of_the_map() {
    let workers = Workers::new(2).unwrap();
    let scene = Scene::new(&workers);
    let alone = scene.error(&scene.map(None, &workers));
    let of = |magnitude: &[f32]| {
        scene.error(&scene.weighted(None, Prior::Magnitude(magnitude), &workers).unwrap())
    };
    let with = of(&scene.magnitude());
    // One without edges is TV of each axis by itself.
    let without = of(&vec![7.0; scene.fa.len()]);
    assert!(with < 0.9 * without && without < 1.3 * alone, "{with} {without} {alone}");
}

/// By a whole turn of the phase, as failed unwrapping leaves it: the phase does not feel it.
#[test]
fn whole_turns_are_nothing_to_the_phase() {
    let workers = Workers::new(2).unwrap();
    let mut scene = Scene::new(&workers);
    let phase = Variation { radians: Some(RADIANS), ..NOTHING };
    let error = |scene: &Scene, variation: Variation| {
        scene.error(&scene.by(None, Prior::Total, variation, &workers).unwrap())
    };
    let (sound, same) = (error(&scene, NOTHING), error(&scene, phase));
    // Residuals of some 0.03 radians: both are one.
    assert!((same - sound).abs() < 0.01 * sound, "{same} {sound}");
    let steps = scene.error_of(&scene.downhill(&workers).chi);
    for i in (0..scene.field.len()).step_by(40) {
        scene.field[i] += (std::f64::consts::TAU / RADIANS) as f32;
    }
    let (turned, field) = (error(&scene, phase), error(&scene, NOTHING));
    assert!(turned < 1.1 * sound && field > 2.0 * sound, "{turned} {field} {sound}");
    let turned = scene.error_of(&scene.downhill(&workers).chi);
    assert!((turned - steps).abs() < 0.02 * steps, "{turned} {steps}");
}

/// A head whose susceptibility rises evenly from one end to the other, and bends once. That slopes cost
/// nothing does not show in so small a head: where one begins or ends, at the border, |E v| has three
/// times its rise, and a radius of 12 voxels has a quarter as many there as inside. A program in numpy that
/// makes the same least finds both alike, too.
#[test]
fn generalised_variation_maps_slopes_of_a_small_head_as_total_variation_does() {
    let workers = Workers::new(2).unwrap();
    let mut scene = Scene::new(&workers);
    let geometry = scene.model.geometry;
    let slope = |&v: &u32| {
        let [x, y, _] = geometry.voxel(v as usize).map(|i| i as f64);
        0.01 * x + if y > 12.0 { 0.01 * (y - 12.0) } else { 0.0 }
    };
    scene.chi = scene.model.unknowns.iter().map(slope).collect();
    let x: Vec<f64> = scene.chi.iter().copied().chain(vec![0.0; scene.chi.len()]).collect();
    TensorOperator::new(&scene.model, &workers)
        .unwrap()
        .apply(&narrow(&x), &mut scene.field)
        .unwrap();
    let noise = normal_numbers(1, scene.field.len());
    scene.field.iter_mut().zip(noise).for_each(|(b, n)| *b += (0.01 * n) as f32);
    let strong = Variation { lambda: 1e-3, ..NOTHING };
    let error = |prior: Prior<'_>| scene.error(&scene.by(None, prior, strong, &workers).unwrap());
    let (total, generalised) = (error(Prior::Total), error(Prior::Generalised));
    assert!((generalised - total).abs() < 0.01 * total, "{generalised} {total}");
}

#[test]
fn steps_downhill_find_the_map_and_refuse_what_is_no_number() {
    let workers = Workers::new(2).unwrap();
    let mut scene = Scene::new(&workers);
    let found = scene.downhill(&workers);
    let error = scene.error_of(&found.chi);
    // Without a prior of edges noise stays, and what the dipole does not show comes slowly.
    assert!(error < 0.9, "{error}");
    scene.field.fill(0.0);
    let none = scene.downhill(&workers);
    assert!(none.has_settled && none.chi.iter().all(|x| *x == 0.0));
    let how = Nonlinear { lambda: 1e-3, radians: 0.0, iterations: 1, tolerance: 0.0 };
    let refused =
        invert_nonlinear(&scene.model, &scene.field, None, how, &Backend::cpu(&workers), &Silent);
    assert!(refused.unwrap_err().to_string().contains("radians"));
}
