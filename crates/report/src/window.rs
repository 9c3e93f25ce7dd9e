//! Which range of values a colour scale spans.

use fimbria_image::Window;

/// What a window is for these values; values that are not finite do not count.
///
/// The result is finite and increasing, also where no value is finite or all are equal.
pub(crate) fn range_of(window: Window, values: impl Iterator<Item = f32>) -> [f64; 2] {
    let finite = values.filter(|v| v.is_finite());
    let [low, high] = match window {
        Window::Fixed(range) => range,
        Window::Robust => {
            let mut values: Vec<f32> = finite.collect();
            [percentile(&mut values, 0.01), percentile(&mut values, 0.99)]
        }
        Window::FromZero => [0.0, percentile(&mut finite.collect::<Vec<_>>(), 0.99)],
        Window::Symmetric => {
            let high = percentile(&mut finite.map(f32::abs).collect::<Vec<_>>(), 0.99);
            [-high, high]
        }
    };
    if low.is_finite() && high.is_finite() && high > low {
        [low, high]
    } else if window == Window::Symmetric {
        [-1.0, 1.0]
    } else if low.is_finite() {
        [low, low + if low == 0.0 { 1.0 } else { low.abs() }]
    } else {
        [0.0, 1.0]
    }
}

/// The value that a share of the values does not exceed (nearest rank); 0 where there is none.
pub(crate) fn percentile(values: &mut [f32], share: f64) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let rank = (share * (values.len() - 1) as f64).round() as usize;
    f64::from(*values.select_nth_unstable_by(rank, f32::total_cmp).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn robust_window_ignores_outliers_nans_and_infinities() {
        let mut values: Vec<f32> = (0..=1000).map(|i| i as f32 / 1000.0).collect();
        values[500] = f32::NAN;
        values[501] = f32::INFINITY;
        values[1000] = 1e9;
        let [low, high] = range_of(Window::Robust, values.into_iter());
        // 1 % of 1000 steps of 0.001; two values are missing, so one step either way.
        assert!((low - 0.01).abs() <= 0.001 && (high - 0.99).abs() <= 0.001, "{low} {high}");
    }

    #[test]
    fn windows_are_increasing_whatever_the_values() {
        let cases = [vec![], vec![f32::NAN], vec![0.0; 9], vec![-3.0; 4], vec![7.0]];
        let windows =
            [Window::Robust, Window::FromZero, Window::Symmetric, Window::Fixed([2.0, 2.0])];
        for values in &cases {
            for window in windows {
                let [low, high] = range_of(window, values.iter().copied());
                assert!(high > low && low.is_finite() && high.is_finite(), "{window:?} {values:?}");
            }
        }
    }

    #[test]
    fn symmetric_window_is_centred_on_zero() {
        let [low, high] = range_of(Window::Symmetric, [-4.0, 1.0, 2.0].into_iter());
        assert_eq!([low, high], [-4.0, 4.0]);
    }
}
