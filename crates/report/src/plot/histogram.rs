//! Distributions.

use std::fmt::Write;

use super::frame::{Axes, Frame, extent, proper};
use crate::{
    Figure,
    colour::{SERIES, hex},
    numbers::{coordinate, grouped},
};

/// Values of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample<'a> {
    /// Name in the key.
    pub name: &'a str,
    /// The values; those that are not finite do not count.
    pub values: &'a [f64],
}

/// Histograms of one or several samples over the same bins, drawn as steps with a soft filling.
/// The y axis is the share of each sample per bin in percent. Values beyond a given x range
/// are counted in a remark, and in the whole that the shares refer to.
pub fn histogram(samples: &[Sample<'_>], bins: usize, axes: &Axes<'_>) -> Figure {
    let bins = bins.clamp(1, 500);
    let all = samples.iter().flat_map(|s| s.values.iter().copied());
    let [low, high] = proper(axes.x.range.unwrap_or_else(|| extent(all.clone())));
    let beyond = all.filter(|v| v.is_finite() && !(low..=high).contains(v)).count();
    let shares: Vec<Vec<f64>> =
        samples.iter().map(|s| percent_per_bin(s.values, [low, high], bins)).collect();
    let most = shares.iter().flatten().copied().fold(0.0, f64::max);
    let mut frame =
        Frame::new(axes, [low, high], [0.0, if most > 0.0 { 1.06 * most } else { 1.0 }], false);
    for (shares, rgb) in shares.iter().zip(SERIES.into_iter().cycle()) {
        let outline = steps(&frame, [low, high], shares);
        frame.drawing.fill(&outline, &hex(rgb), 0.28);
        frame.drawing.path(&outline, &hex(rgb), 1.6, "");
    }
    let names: Vec<_> = samples.iter().map(|s| s.name).zip(SERIES.into_iter().cycle()).collect();
    if names.len() > 1 {
        frame.key(&names);
    }
    if beyond > 0 {
        frame.remark(&format!("{} values beyond the axis", grouped(beyond)));
    }
    frame.finish(format!("{}: distribution of {}.", axes.heading, axes.x.label))
}

/// The part of all finite values in each of `bins` equal parts of `low..=high`, in percent.
fn percent_per_bin(values: &[f64], [low, high]: [f64; 2], bins: usize) -> Vec<f64> {
    let mut counts = vec![0usize; bins];
    let mut total = 0usize;
    for &value in values.iter().filter(|v| v.is_finite()) {
        total += 1;
        if value >= low && value <= high {
            let bin = ((value - low) / (high - low) * bins as f64) as usize;
            counts[bin.min(bins - 1)] += 1;
        }
    }
    counts.into_iter().map(|n| 100.0 * n as f64 / total.max(1) as f64).collect()
}

fn steps(frame: &Frame<'_>, [low, high]: [f64; 2], shares: &[f64]) -> String {
    let place = |x: f64, y: f64| {
        format!("{} {}", coordinate(frame.x_px(x)), coordinate(frame.y_px(y.min(frame.y[1]))))
    };
    let edge = |i: usize| low + (high - low) * i as f64 / shares.len() as f64;
    let mut data = format!("M{}", place(low, 0.0));
    for (i, &share) in shares.iter().enumerate() {
        let _ = write!(data, "L{}L{}", place(edge(i), share), place(edge(i + 1), share));
    }
    let _ = write!(data, "L{}", place(high, 0.0));
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_closed_at_both_ends_of_the_axis() {
        let values = [0.0, 0.1, 0.6, 1.0, 2.0, f64::NAN];
        assert_eq!(percent_per_bin(&values, [0.0, 1.0], 2), [40.0, 40.0]);
    }

    #[test]
    fn values_beyond_a_given_range_are_named() {
        let mut axes = Axes::default();
        axes.x.range = Some([0.0, 1.0]);
        let values = [0.5, 7.0, 8.0];
        let figure = histogram(&[Sample { name: "a", values: &values }], 4, &axes);
        assert!(figure.svg().contains("2 values beyond the axis"));
    }
}
