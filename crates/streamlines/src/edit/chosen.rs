//! Which streamlines of a tractogram are meant.

use fimbria_compute::philox::Philox;

use crate::Group;

/// A bit for each streamline, in the order of the tractogram.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    bits: Vec<u64>,
    len: u64,
    count: u64,
}

impl Chosen {
    /// The next streamline is chosen, or not.
    pub fn push(&mut self, is_chosen: bool) {
        if self.len.is_multiple_of(64) {
            self.bits.push(0);
        }
        if is_chosen {
            self.bits[(self.len / 64) as usize] |= 1 << (self.len % 64);
            self.count += 1;
        }
        self.len += 1;
    }

    /// Number of streamlines.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True without streamlines.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many are chosen.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// True where streamline `index` is chosen; one that there is not is not.
    pub fn contains(&self, index: u64) -> bool {
        let word = usize::try_from(index / 64).ok().and_then(|at| self.bits.get(at));
        word.is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    /// Those of the chosen for which `keep` holds, asked in order.
    fn retain(&mut self, mut keep: impl FnMut(u64) -> bool) {
        for index in 0..self.len {
            if self.contains(index) && !keep(index) {
                self.leave_out(index);
            }
        }
    }

    /// No longer chosen.
    pub fn leave_out(&mut self, index: u64) {
        if self.contains(index) {
            self.bits[(index / 64) as usize] &= !(1 << (index % 64));
            self.count -= 1;
        }
    }

    /// Leaves out the first `n` of those chosen.
    pub fn skip(&mut self, n: u64) {
        let mut left = n;
        self.retain(|_| {
            let keep = left == 0;
            left = left.saturating_sub(1);
            keep
        });
    }

    /// Keeps `n` of those chosen, or all where there are fewer: each set of `n` is as likely as any other
    /// (selection sampling, Knuth 3.4.2, algorithm S). The numbers drawn depend on the seed and the index of
    /// the streamline alone.
    pub fn sample(&mut self, n: u64, seed: u64) {
        let random = Philox::new(seed);
        let (mut needed, mut left) = (n, self.count);
        self.retain(|index| {
            let [low, high, ..] = random.at(index, 0);
            let word = u128::from(u64::from(high) << 32 | u64::from(low));
            // Below `left`, each as likely as any other to 2^-64.
            let drawn = (word * u128::from(left)) >> 64;
            let keep = drawn < u128::from(needed);
            left -= 1;
            needed -= u64::from(keep);
            keep
        });
    }

    /// The groups with the members that are chosen, by their new numbers; groups that lose all stay empty.
    pub fn groups(&self, groups: &[Group]) -> Vec<Group> {
        let mut before = Vec::with_capacity(self.bits.len());
        let mut sum = 0;
        for word in &self.bits {
            before.push(sum);
            sum += u64::from(word.count_ones());
        }
        let renumbered = |member: &u32| {
            let index = u64::from(*member);
            let below = self.bits.get((index / 64) as usize)? & ((1 << (index % 64)) - 1);
            let new = before[(index / 64) as usize] + u64::from(below.count_ones());
            self.contains(index).then_some(new as u32)
        };
        let kept = |group: &Group| Group {
            members: group.members.iter().filter_map(renumbered).collect(),
            ..group.clone()
        };
        groups.iter().map(kept).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(n: u64) -> Chosen {
        let mut chosen = Chosen::default();
        (0..n).for_each(|_| chosen.push(true));
        chosen
    }

    fn listed(chosen: &Chosen) -> Vec<u64> {
        (0..chosen.len()).filter(|i| chosen.contains(*i)).collect()
    }

    #[test]
    fn a_sample_has_the_number_asked_for_and_each_is_as_likely() {
        let mut times = [0u32; 20];
        for seed in 0..2000 {
            let mut chosen = all(20);
            chosen.leave_out(3);
            chosen.sample(5, seed);
            assert_eq!((chosen.count(), listed(&chosen).len()), (5, 5));
            listed(&chosen).iter().for_each(|i| times[*i as usize] += 1);
        }
        assert_eq!(times[3], 0);
        // 2000 × 5 / 19 = 526, standard deviation 20: five of them.
        let others = times.iter().enumerate().filter(|(i, _)| *i != 3);
        assert!(others.clone().all(|(_, n)| (426..627).contains(n)), "{times:?}");
    }

    #[test]
    fn a_seed_gives_one_sample_and_another_seed_another() {
        let of = |seed| {
            let mut chosen = all(1000);
            chosen.sample(100, seed);
            listed(&chosen)
        };
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        let mut few = all(10);
        few.sample(100, 0);
        assert_eq!(few.count(), 10);
    }

    #[test]
    fn the_first_are_left_out() {
        let mut chosen = all(5);
        chosen.leave_out(0);
        chosen.skip(2);
        assert_eq!(listed(&chosen), [3, 4]);
        chosen.skip(9);
        assert_eq!(chosen.count(), 0);
    }

    #[test]
    fn groups_keep_their_members_under_new_numbers() {
        let mut chosen = all(200);
        (0..200).filter(|i| i % 3 != 0).for_each(|i| chosen.leave_out(i));
        let group =
            |name: &str, members: Vec<u32>| Group { name: name.into(), members, data: vec![] };
        let groups = [group("a", vec![150, 3, 4, 0]), group("b", vec![1, 2])];
        let kept = chosen.groups(&groups);
        assert_eq!(kept, [group("a", vec![50, 1, 0]), group("b", vec![])]);
    }
}
