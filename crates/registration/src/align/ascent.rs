//! The way up: quasi-Newton steps.

use super::information::PARAMETERS;

type Vector = [f64; PARAMETERS];

/// More steps than any ascent takes.
const MOST_STEPS: usize = 60;

fn dot(a: &Vector, b: &Vector) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Climbs from `start` by BFGS steps, shortened until each gains; the first is `first_step` long and none is longer than
/// twice that. Ends where steps are shorter than `last_step`. Gives where it ended, and the value there.
pub(super) fn ascend<E>(
    start: Vector,
    first_step: f64,
    last_step: f64,
    mut value_and_slope: impl FnMut(&Vector) -> Result<(f64, Vector), E>,
) -> Result<(Vector, f64), E> {
    /// Of the gain that the slope promises a step has this part at least.
    const LEAST_GAIN: f64 = 1e-4;
    let mut at = start;
    let (mut value, mut slope) = value_and_slope(&at)?;
    let mut curvature = None;
    for _ in 0..MOST_STEPS {
        let length = dot(&slope, &slope).sqrt();
        if length == 0.0 {
            break;
        }
        let inverse = curvature.get_or_insert_with(|| scaled(first_step / length));
        let mut step: Vector = std::array::from_fn(|i| dot(&inverse[i], &slope));
        if dot(&step, &slope) <= 0.0 {
            *inverse = scaled(first_step / length);
            step = slope.map(|x| x * first_step / length);
        }
        let shorten = (2.0 * first_step / dot(&step, &step).sqrt()).min(1.0);
        step = step.map(|x| shorten * x);
        let next = loop {
            if dot(&step, &step).sqrt() < last_step {
                break None;
            }
            let tried: Vector = std::array::from_fn(|i| at[i] + step[i]);
            let (there, turned) = value_and_slope(&tried)?;
            if there > value + LEAST_GAIN * dot(&step, &slope) {
                break Some((tried, there, turned));
            }
            step = step.map(|x| 0.4 * x);
        };
        let Some((tried, there, turned)) = next else { break };
        let fell: Vector = std::array::from_fn(|i| slope[i] - turned[i]);
        update(inverse, &step, &fell);
        (at, value, slope) = (tried, there, turned);
    }
    Ok((at, value))
}

fn scaled(by: f64) -> [Vector; PARAMETERS] {
    std::array::from_fn(|i| std::array::from_fn(|j| if i == j { by } else { 0.0 }))
}

/// Learns from a step by how much the slope fell along it: (I - s yᵀ/yᵀs) H (I - y sᵀ/yᵀs) + s sᵀ/yᵀs.
fn update(inverse: &mut [Vector; PARAMETERS], step: &Vector, fell: &Vector) {
    let along = dot(step, fell);
    if along <= 1e-12 * dot(step, step).sqrt() * dot(fell, fell).sqrt() {
        return;
    }
    let product: Vector = std::array::from_fn(|i| dot(&inverse[i], fell));
    let grown = (1.0 + dot(fell, &product) / along) / along;
    for i in 0..PARAMETERS {
        for j in 0..PARAMETERS {
            inverse[i][j] +=
                grown * step[i] * step[j] - (product[i] * step[j] + step[i] * product[j]) / along;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[test]
    fn the_top_of_a_narrow_ridge_is_reached() {
        let top = [1.0, -2.0, 3.0, 0.5, 4.0, -1.0];
        let width = [1.0, 10.0, 3.0, 0.3, 5.0, 1.0];
        let mut evaluations = 0;
        let hill = |at: &Vector| -> Result<(f64, Vector), Infallible> {
            evaluations += 1;
            let off: Vector = std::array::from_fn(|i| (at[i] - top[i]) / width[i]);
            let height = (-0.5 * dot(&off, &off) / 25.0).exp();
            Ok((height, std::array::from_fn(|i| -height * off[i] / width[i] / 25.0)))
        };
        let Ok((at, value)) = ascend([0.0; PARAMETERS], 1.0, 1e-4, hill);
        (0..PARAMETERS).for_each(|i| assert!((at[i] - top[i]).abs() < 0.01, "{at:?}"));
        assert!(value > 0.999_999 && evaluations < 100, "{value} {evaluations}");
    }
}
