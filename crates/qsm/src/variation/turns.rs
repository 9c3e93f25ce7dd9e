//! Whole turns of a phase, which data that are a phase say nothing of.

use std::borrow::Cow;
use std::f32::consts::TAU;

use fimbria_compute::Workers;

use crate::fourier::KSpace;
use crate::{FieldModel, QsmError};

/// Frequencies with |D| below this have next to nothing of a field of dipoles.
const CONE: f32 = 0.1;

/// The field that the work begins at: as it is, or without its whole turns, whichever has less that no
/// dipoles make. A region that was unwrapped wrongly is a turn off, and would be explained before the phase
/// can say that it need not be; the field of a strong source is turns high where nothing is wrong.
///
/// # Errors
/// Where the volume cannot be transformed.
pub(super) fn without_needless<'f>(
    field: &'f [f32],
    model: &FieldModel,
    radians: f64,
    workers: &Workers,
) -> Result<Cow<'f, [f32]>, QsmError> {
    let s = radians as f32;
    let turned: Vec<f32> = field.iter().map(|&b| b - TAU * (s * b / TAU).round() / s).collect();
    if turned == field {
        return Ok(Cow::Borrowed(field));
    }
    let space = KSpace::new(&model.geometry, workers)?;
    let places = space.places(&model.geometry, &model.unknowns);
    let in_cone = |field: &[f32]| -> f64 {
        let mut volume = vec![0.0; space.elements()];
        places.iter().zip(field).for_each(|(&place, &b)| volume[place as usize] = b);
        let spectrum = space.forward(&volume);
        let energy = spectrum.iter().zip(&space.dipole).filter(|(_, d)| d.abs() < CONE);
        energy.map(|(x, _)| f64::from(x.norm_sqr())).sum()
    };
    Ok(if in_cone(&turned) < in_cone(field) { Cow::Owned(turned) } else { Cow::Borrowed(field) })
}

#[cfg(test)]
mod tests {
    use fimbria_image::{Affine, Grid};

    use super::*;
    use crate::fourier::dipole_field;
    use crate::{Geometry, Shape};

    #[test]
    fn turns_are_taken_off_where_they_are_needless_and_left_where_a_source_makes_them() {
        const GRID: Grid = Grid { dims: [20, 20, 20], ras_from_vox: Affine::IDENTITY };
        let workers = Workers::new(1).unwrap();
        let geometry = Geometry::new(&GRID, [0.0, 0.0, 1.0]).unwrap();
        let all: Vec<u32> = (0..geometry.len() as u32).collect();
        let shapes = vec![Shape::Sphere; all.len()];
        let model = FieldModel::new(&geometry, &all, shapes, &all).unwrap();
        let at = |v: u32| [v % 20, v / 20 % 20, v / 400].map(|c| f64::from(c) - 9.5);
        let ball = |v: &u32| f32::from(at(*v).iter().map(|c| c * c).sum::<f64>() < 20.0);
        let chi: Vec<f32> = all.iter().map(ball).collect();
        let field = dipole_field(&geometry, &chi, &workers).unwrap();
        // At 16 rad a ppm the field at the poles is more than a turn and a half high: nothing is wrong.
        let kept = without_needless(&field, &model, 16.0, &workers).unwrap();
        assert!(field.iter().any(|b| b.abs() * 16.0 > TAU) && *kept == *field);
        // A weak field, of which one side is a turn off.
        let weak: Vec<f32> = field.iter().map(|b| 0.1 * b).collect();
        let turn = TAU / 16.0;
        let off = |(&b, v): (&f32, &u32)| b + turn * f32::from(at(*v)[0] > 4.0);
        let wrong: Vec<f32> = weak.iter().zip(&all).map(off).collect();
        let mended = without_needless(&wrong, &model, 16.0, &workers).unwrap();
        assert!(mended.iter().zip(&weak).all(|(a, b)| (a - b).abs() < 1e-5));
    }
}
