//! What tells one iteration from another, so that none goes on from where another was.

use fimbria_qsm::Shape;
use serde_json::json;
use xxhash_rust::xxh3::Xxh3;

use super::QsmParameters;
use super::job::Job;

/// Of the options, the field and its mask.
pub(super) fn fingerprint(job: &Job<'_>) -> u128 {
    let field = job.field;
    let mut hash = Xxh3::new();
    hash.update(env!("CARGO_PKG_VERSION").as_bytes());
    // The rule for stopping may change on the way, and what the mean is taken off afterwards.
    let same = QsmParameters {
        zero_mean: false,
        reference: None,
        iterations: None,
        tolerance: None,
        gradient_tolerance: None,
        noise: None,
        ..(**job.parameters).clone()
    };
    hash.update(json!(same).to_string().as_bytes());
    hash.update(format!("{:?} {:?}", field.geometry, field.shapes.len()).as_bytes());
    for shape in &field.shapes {
        match shape {
            Shape::Sphere => hash.update(b"s"),
            Shape::Cylinder(axis) => axis.iter().for_each(|x| hash.update(&x.to_le_bytes())),
            Shape::Crossing(all) => all.iter().for_each(|x| hash.update(&x.to_le_bytes())),
        }
    }
    field.mask.voxels.iter().for_each(|v| hash.update(&v.to_le_bytes()));
    let numbers = field.field_ppm.iter().chain(field.weights.iter().flatten());
    numbers.for_each(|v| hash.update(&v.to_le_bytes()));
    hash.digest128()
}
