//! Groups of streamlines that keep or lose their weights together.

use crate::LifeError;

/// Disjoint groups of streamlines, such as the bundles of an atlas or the connections between
/// regions. Streamlines in none of them are not penalised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    members: Vec<Vec<u32>>,
}

/// A penalty on [`Groups`], and how strong it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Grouped {
    /// The groups.
    pub groups: Groups,
    /// Its strength as a share of the least that leaves no group any weight.
    pub share: f64,
}

/// Σ λ √n ‖w‖ over groups of n streamlines with weights w (Yuan and Lin, J R Stat Soc B 68, 49
/// (2006); on tractograms Schiavi et al., Sci Adv 6, eaba8245 (2020)): a group that as a whole
/// explains little gets no weight at all.
///
/// Unknowns x are weights over `factors`: w = f x.
#[derive(Clone, Debug)]
pub struct GroupPenalty<'a> {
    groups: &'a Groups,
    factors: &'a [f32],
    lambda: f64,
}

impl Groups {
    /// Groups of some of so many streamlines; empty ones are left out.
    ///
    /// # Errors
    /// [`LifeError::GroupMember`], [`LifeError::GroupOverlap`].
    pub fn new(members: Vec<Vec<u32>>, streamlines: usize) -> Result<Self, LifeError> {
        let mut is_taken = vec![false; streamlines];
        for &f in members.iter().flatten() {
            match is_taken.get_mut(f as usize) {
                None => return Err(LifeError::GroupMember { streamline: f, streamlines }),
                Some(true) => return Err(LifeError::GroupOverlap(f)),
                Some(taken) => *taken = true,
            }
        }
        let members = members.into_iter().filter(|group| !group.is_empty()).collect();
        Ok(Self { members })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// True where there are none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The streamlines of each.
    pub fn members(&self) -> &[Vec<u32>] {
        &self.members
    }
}

impl<'a> GroupPenalty<'a> {
    /// The penalty of strength λ = `share` times the least that leaves no group any weight, where
    /// `gradient` is that of the rest of the objective at zero, by unknowns.
    pub fn new(grouped: &'a Grouped, factors: &'a [f32], gradient: &[f32]) -> Self {
        let Grouped { groups, share } = grouped;
        // Zero is the best for a group where the slope into the orthant is at most λ √n.
        let least = |group: &Vec<u32>| {
            let slope = |f: &u32| match f64::from(factors[*f as usize]) {
                0.0 => 0.0,
                factor => f64::from(-gradient[*f as usize]).max(0.0) / factor,
            };
            let squares: f64 = group.iter().map(|f| slope(f).powi(2)).sum();
            (squares / group.len() as f64).sqrt()
        };
        let most = groups.members.iter().map(least).fold(0.0, f64::max);
        Self { groups, factors, lambda: share * most }
    }

    /// λ √n of each group, and its streamlines.
    fn strengths(&self) -> impl Iterator<Item = (f64, &[u32])> {
        let strength = |group: &Vec<u32>| self.lambda * (group.len() as f64).sqrt();
        self.groups.members.iter().map(move |group| (strength(group), &group[..]))
    }

    /// Its value at `x`.
    pub fn value(&self, x: &[f32]) -> f64 {
        let weight = |f: &u32| f64::from(self.factors[*f as usize]) * f64::from(x[*f as usize]);
        let norm = |group: &[u32]| group.iter().map(|f| weight(f).powi(2)).sum::<f64>().sqrt();
        self.strengths().map(|(strength, group)| strength * norm(group)).sum()
    }

    /// Replaces `x` by the minimiser z ≥ 0 of ½‖z - x‖² + `step` times the penalty at z.
    pub fn shrink(&self, x: &mut [f32], step: f64) {
        x.iter_mut().for_each(|x| *x = x.max(0.0));
        for (strength, group) in self.strengths() {
            let pairs = || {
                let pair = |f: &u32| (self.factors[*f as usize], x[*f as usize]);
                group.iter().map(pair).filter(|(factor, _)| *factor > 0.0)
            };
            let norm = norm_of_shrunk(pairs, step * strength);
            for &f in group {
                let factor = f64::from(self.factors[f as usize]);
                let x = &mut x[f as usize];
                // 0 where the group loses its weights, 1 where there is no penalty.
                let shrunk = if norm > 0.0 {
                    1.0 / (1.0 + step * strength * factor * factor / norm)
                } else {
                    0.0
                };
                *x = (f64::from(*x) * shrunk) as f32;
            }
        }
    }
}

/// s = ‖f z‖ of the minimiser z of ½‖z - x‖² + t ‖f z‖, from pairs of f and x: 0 where
/// ‖x / f‖ <= t, else the root of Σ (f x / (s + t f²))² = 1, for z is x s / (s + t f²).
fn norm_of_shrunk<I: Iterator<Item = (f32, f32)>>(pairs: impl Fn() -> I, t: f64) -> f64 {
    const MOST_STEPS: usize = 50;
    let mut s = 0.0;
    for _ in 0..MOST_STEPS {
        let (mut squares, mut cubes) = (0.0, 0.0);
        for (factor, x) in pairs() {
            let (factor, x) = (f64::from(factor), f64::from(x));
            let (above, below) = (factor * x, s + t * factor * factor);
            if below > 0.0 {
                squares += (above / below).powi(2);
                cubes += above * above / below.powi(3);
            } else if above > 0.0 {
                // Without penalty nothing shrinks.
                return f64::INFINITY;
            }
        }
        if s == 0.0 && squares <= 1.0 {
            return 0.0;
        }
        // Newton's method on the reciprocal root of the sum, which is nearly straight; from below
        // it never passes the root.
        let more = squares * (squares.sqrt() - 1.0) / cubes;
        s += more.max(0.0);
        if more <= 1e-14 * s {
            break;
        }
    }
    s
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grouped(members: Vec<Vec<u32>>) -> Grouped {
        Grouped { groups: Groups::new(members, 5).unwrap(), share: 1.0 }
    }

    #[test]
    fn groups_are_disjoint_sets_of_streamlines() {
        let members = vec![vec![0, 3], vec![], vec![1]];
        assert_eq!(Groups::new(members, 5).unwrap().len(), 2);
        let twice = Groups::new(vec![vec![0, 3], vec![3]], 5);
        assert!(matches!(twice, Err(LifeError::GroupOverlap(3))), "{twice:?}");
        let beyond = Groups::new(vec![vec![5]], 5);
        assert!(matches!(beyond, Err(LifeError::GroupMember { streamline: 5, .. })), "{beyond:?}");
    }

    #[test]
    fn the_shrunk_is_the_minimiser() {
        let grouped = grouped(vec![vec![0, 1, 3], vec![2]]);
        let factors = [0.5, 2.0, 1.0, 0.25, 3.0];
        let penalty = GroupPenalty { groups: &grouped.groups, factors: &factors, lambda: 0.4 };
        let x = [1.5_f32, 0.7, 0.3, -0.2, 0.9];
        let mut z = x;
        penalty.shrink(&mut z, 0.8);
        // λ √1 of 0.32 is more than the 0.3 of the second group; the fifth is in none.
        assert_eq!((z[2], z[3], z[4]), (0.0, 0.0, 0.9));
        let at = |z: &[f32]| {
            let off: f64 = z.iter().zip(&x).map(|(z, x)| f64::from(z - x).powi(2)).sum();
            0.5 * off + 0.8 * penalty.value(z)
        };
        for (i, by) in [(0, 0.01), (0, -0.01), (1, 0.01), (1, -0.01), (2, 0.01), (3, 0.01)] {
            let mut other = z;
            other[i] += by;
            assert!(at(&other) > at(&z), "{i} {by}");
        }
    }

    #[test]
    fn equal_factors_shrink_by_the_closed_form() {
        let grouped = grouped(vec![vec![0, 1]]);
        let factors = [1.0; 5];
        let penalty = GroupPenalty { groups: &grouped.groups, factors: &factors, lambda: 1.0 };
        let mut x = [3.0_f32, 4.0, 0.0, 0.0, 0.0];
        penalty.shrink(&mut x, 1.0);
        let shrunk = 1.0 - 2.0_f64.sqrt() / 5.0;
        for (x, before) in x.iter().zip([3.0, 4.0]) {
            assert!((f64::from(*x) - before * shrunk).abs() < 1e-6);
        }
        let mut unmoved = [3.0_f32, -4.0, 0.0, 0.0, 0.0];
        GroupPenalty { lambda: 0.0, ..penalty }.shrink(&mut unmoved, 1.0);
        assert_eq!(unmoved, [3.0, 0.0, 0.0, 0.0, 0.0]);
    }
}
