//! The order in which a .mif file holds its axes.

use std::fmt;
use std::str::FromStr;

/// Rank and sign of x, y, z and volume in a .mif file: the axis of rank 0 varies fastest, a
/// negative one runs backwards. Displayed and parsed as MRtrix writes it: `+1,+2,+3,+0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MifLayout {
    /// (rank, runs backwards) of x, y, z and volume.
    pub(crate) order: [(usize, bool); 4],
}

impl MifLayout {
    /// x fastest, then y, z, volume: `+0,+1,+2,+3`, the order of NIfTI.
    pub const VOLUMES_LAST: Self = Self { order: [(0, false), (1, false), (2, false), (3, false)] };

    /// The samples of a voxel together: `+1,+2,+3,+0`, best for work voxel by voxel.
    pub const VOLUMES_FIRST: Self =
        Self { order: [(1, false), (2, false), (3, false), (0, false)] };

    /// The order of `n` axes: that of the first ones, further ones behind.
    pub(crate) fn of_all_axes(&self, n: usize) -> Vec<(usize, bool)> {
        let mut order = self.of_axes(n.min(4));
        order.extend((order.len()..n).map(|rank| (rank, false)));
        order
    }

    /// The order of the first `n` axes alone.
    pub(super) fn of_axes(&self, n: usize) -> Vec<(usize, bool)> {
        let kept = &self.order[..n];
        let rank = |r: usize| kept.iter().filter(|(other, _)| *other < r).count();
        kept.iter().map(|&(r, backwards)| (rank(r), backwards)).collect()
    }
}

impl Default for MifLayout {
    fn default() -> Self {
        Self::VOLUMES_LAST
    }
}

impl fmt::Display for MifLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format_order(&self.order))
    }
}

/// A text that is no layout of four axes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a layout: expected four signed ranks from 0 to 3, as in +1,+2,+3,+0")]
pub struct BadMifLayout(pub String);

impl FromStr for MifLayout {
    type Err = BadMifLayout;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let order = parse_order(text).and_then(|order| order.try_into().ok());
        order.map(|order| Self { order }).ok_or_else(|| BadMifLayout(text.into()))
    }
}

/// As a header writes it.
pub(super) fn format_order(order: &[(usize, bool)]) -> String {
    let axes = order.iter().map(|&(rank, backwards)| {
        format!("{}{rank}", if backwards { '-' } else { '+' }) // "-0" is a sign that counts
    });
    axes.collect::<Vec<_>>().join(",")
}

/// Signed ranks, each of 0 to n - 1 once; `None` for anything else.
pub(super) fn parse_order(text: &str) -> Option<Vec<(usize, bool)>> {
    let order = text
        .split(',')
        .map(|axis| {
            let axis = axis.trim();
            let (backwards, digits) = match axis.strip_prefix('-') {
                Some(digits) => (true, digits),
                None => (false, axis.strip_prefix('+').unwrap_or(axis)),
            };
            // usize's own parser would accept a second sign.
            let plain = digits.bytes().all(|b| b.is_ascii_digit());
            plain.then(|| digits.parse().ok().map(|rank| (rank, backwards))).flatten()
        })
        .collect::<Option<Vec<_>>>()?;
    let once = (0..order.len()).all(|rank| order.iter().filter(|o| o.0 == rank).count() == 1);
    once.then_some(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sign_of_rank_zero_counts() {
        let layout: MifLayout = "-0,+1,-2,+3".parse().unwrap();
        assert_eq!(layout.order, [(0, true), (1, false), (2, true), (3, false)]);
        assert_eq!(layout.to_string(), "-0,+1,-2,+3");
        assert_eq!(parse_order("0,1,2"), parse_order("+0,+1,+2"));
    }

    #[test]
    fn layouts_that_are_no_permutation_are_refused() {
        for text in ["", "+0,+1,+2", "+0,+1,+2,+2", "+0,+1,+2,+4", "+0,+1,+2,x", "+0,+1,+2,+-3"] {
            assert_eq!(text.parse::<MifLayout>(), Err(BadMifLayout(text.into())));
        }
    }

    #[test]
    fn without_volumes_the_other_ranks_close_up() {
        let order = MifLayout::VOLUMES_FIRST.of_axes(3);
        assert_eq!(order, [(0, false), (1, false), (2, false)]);
    }
}
