//! One threshold between two groups of numbers.

/// Bins of the histogram that is split.
const BINS: usize = 256;

/// The value that splits numbers into two groups with the largest variance between them (Otsu,
/// IEEE Trans Syst Man Cybern 9, 62, 1979).
pub(crate) fn otsu(numbers: &[f64]) -> f64 {
    let (low, high) = numbers
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &x| (low.min(x), high.max(x)));
    if high <= low {
        return high;
    }
    let width = (high - low) / BINS as f64;
    let mut counts = [0.0; BINS];
    for &x in numbers {
        counts[(((x - low) / width) as usize).min(BINS - 1)] += 1.0;
    }
    let centre = |bin: usize| low + (bin as f64 + 0.5) * width;
    let total = numbers.len() as f64;
    let sum: f64 = counts.iter().enumerate().map(|(bin, n)| n * centre(bin)).sum();
    let (mut below, mut sum_below) = (0.0, 0.0);
    let (mut first, mut last, mut largest) = (high, high, 0.0);
    for (bin, n) in counts.iter().enumerate().take(BINS - 1) {
        below += n;
        sum_below += n * centre(bin);
        let above = total - below;
        if below > 0.0 && above > 0.0 {
            let difference = sum_below / below - (sum - sum_below) / above;
            let between = below * above * difference * difference;
            let edge = low + (bin + 1) as f64 * width;
            if between > largest {
                (first, last, largest) = (edge, edge, between);
            } else if between == largest {
                last = edge;
            }
        }
    }
    // Where nothing lies between the groups every edge there is as good.
    (first + last) / 2.0
}

#[cfg(test)]
mod tests {
    use super::otsu;

    #[test]
    fn two_groups_are_split_between_them() {
        let numbers: Vec<f64> = (0..100).map(|i| f64::from(i % 10) * 0.01).collect();
        let far: Vec<f64> = numbers.iter().take(30).map(|x| x + 2.0).collect();
        let threshold = otsu(&[numbers, far].concat());
        assert!(threshold > 0.09 && threshold < 2.0, "{threshold}");
    }
}
