//! Which streamlines are kept.

use super::Met;

/// What a streamline must be to be kept. Regions are numbers of [`Regions`](super::Regions).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// Met, each of them.
    pub include: Vec<usize>,
    /// Met, one of them at least, where there are any.
    pub include_any: Vec<usize>,
    /// Not met.
    pub exclude: Vec<usize>,
    /// One: an end lies in it. Two: one end lies in the first, the other in the second.
    pub ends_in: Vec<usize>,
    /// Of a streamline only the ends are looked at.
    pub ends_only: bool,
    /// Least and greatest length, mm.
    pub length_mm: [Option<f64>; 2],
    /// Least and greatest weight.
    pub weight: [Option<f64>; 2],
    /// Those are kept that the rest would leave out.
    pub inverse: bool,
}

fn is_within(value: f64, [least, most]: [Option<f64>; 2]) -> bool {
    // What is no number is in no range.
    least.is_none_or(|least| value >= least) && most.is_none_or(|most| value <= most)
}

impl Rules {
    /// True where a streamline that meets this, and has this length and weight, is kept.
    ///
    /// # Panics
    /// Where there are more than two regions for ends.
    pub fn keep(&self, met: &Met, length_mm: f64, weight: f64) -> bool {
        let meets = |region: &usize| match self.ends_only {
            true => met.begins_in(*region) || met.ends_in(*region),
            false => met.passes(*region),
        };
        let ends = match self.ends_in[..] {
            [] => true,
            [a] => met.begins_in(a) || met.ends_in(a),
            [a, b] => met.begins_in(a) && met.ends_in(b) || met.begins_in(b) && met.ends_in(a),
            _ => panic!("a streamline has two ends"),
        };
        let all = ends
            && self.include.iter().all(meets)
            && (self.include_any.is_empty() || self.include_any.iter().any(meets))
            && !self.exclude.iter().any(meets)
            && is_within(length_mm, self.length_mm)
            && is_within(weight, self.weight);
        all != self.inverse
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::Regions;

    /// Balls of 1 mm at x = 0, 10, 20 and 30 mm, and what a line from `from` to `to` meets of them.
    fn met(from: f32, to: f32) -> Met {
        let mut regions = Regions::default();
        for i in 0..4 {
            regions.add_ball([10.0 * f64::from(i), 0.0, 0.0], 1.0);
        }
        let mut met = Met::default();
        regions.meet(&[[from, 0.0, 0.0], [to, 0.0, 0.0]], &mut met);
        met
    }

    #[test]
    fn regions_are_asked_for_by_and_or_not_and_ends() {
        let (short, long) = (met(0.0, 10.0), met(-5.0, 20.0));
        let keep = |rules: Rules| [&short, &long].map(|met| rules.keep(met, 1.0, 1.0));
        let none = Rules::default();
        assert_eq!(keep(none.clone()), [true, true]);
        assert_eq!(keep(Rules { inverse: true, ..none.clone() }), [false, false]);
        assert_eq!(keep(Rules { include: vec![0, 1], ..none.clone() }), [true, true]);
        assert_eq!(keep(Rules { include: vec![0, 2], ..none.clone() }), [false, true]);
        assert_eq!(keep(Rules { include_any: vec![2, 3], ..none.clone() }), [false, true]);
        assert_eq!(keep(Rules { exclude: vec![2], ..none.clone() }), [true, false]);
        assert_eq!(keep(Rules { ends_in: vec![0], ..none.clone() }), [true, false]);
        assert_eq!(keep(Rules { ends_in: vec![1, 0], ..none.clone() }), [true, false]);
        assert_eq!(keep(Rules { ends_in: vec![0, 0], ..none.clone() }), [false, false]);
        let at_ends = Rules { include: vec![0], ends_only: true, ..none.clone() };
        assert_eq!(keep(at_ends.clone()), [true, false]);
        assert_eq!(keep(Rules { inverse: true, ..at_ends }), [false, true]);
        let not_at_ends = Rules { exclude: vec![0], ends_only: true, ..none };
        assert_eq!(keep(not_at_ends), [false, true]);
    }

    #[test]
    fn lengths_and_weights_at_their_limits_are_kept_and_nan_is_not() {
        let rules = Rules {
            length_mm: [Some(10.0), Some(20.0)],
            weight: [Some(0.5), None],
            ..Rules::default()
        };
        let keep = |length, weight| rules.keep(&Met::default(), length, weight);
        assert!(keep(10.0, 0.5) && keep(20.0, 9.0));
        assert!(!keep(9.99, 1.0) && !keep(20.01, 1.0) && !keep(15.0, 0.49));
        assert!(!keep(f64::NAN, 1.0));
    }
}
