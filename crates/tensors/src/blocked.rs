//! Symmetric tensor times many vectors, in register tiles: for sizes too large to unroll.
//!
//! The blocking that Ballard, Kolda and Plantenga leave for later (section VI), for several vectors
//! x (starts) side by side in the lanes of a register:
//!
//! * The classes that share their first m - 2 indices are stored one after the other, as the packed
//!   upper triangle of a matrix. Prefixes are walked in order, so that the unique entries are read
//!   once from front to back, and neither indices nor coefficients are stored.
//! * A triangle is worked off in strips of `ROWS` rows. In a strip there are two shapes: a small
//!   triangle at the diagonal, and rectangles of `ROWS` x 1 to its right, in which one load of x_k
//!   and one load and store of y_k serve 2 · `ROWS` multiply-adds per lane. Of the shapes a
//!   symmetric tensor has, no others remain, for any order.
//! * The multinomial coefficient of a class is a product of one factor per index, (its position) /
//!   (length of the run that ends there), and goes into the weight of the prefix.
//! * A xᵐ⁻¹ is the gradient of (1/m) A xᵐ: an entry adds to y at its last two indices in the tile,
//!   and at those of the prefix once per prefix, through the tile's sum. That is 4 flops per unique
//!   entry and lane.

use fimbria_compute::SimdLevel;
use pulp::{Simd, WithSimd};

use crate::Scalar;
use crate::layout::{Layout, MAX_ORDER};

/// Rows of a tile: 2 · 4 accumulators and what they are combined with fill 32 registers of AVX-512
/// at 16 lanes of `f32`.
const ROWS: usize = 4;

/// y = A xᵐ⁻¹ for `L` vectors at once: component j of vector l is `x[j][l]`, and so for `y`.
///
/// The lanes do not influence each other. Levels that fuse multiply-add give the same bits.
///
/// # Panics
/// Where `a`, `x` or `y` is not as long as the layout says, or the order is below 2.
pub fn gradient<T: Scalar, const L: usize>(
    layout: &Layout,
    a: &[T],
    x: &[[T; L]],
    y: &mut [[T; L]],
    simd: SimdLevel,
) {
    assert_eq!(a.len(), layout.len(), "unique entries");
    assert_eq!(x.len(), layout.dimension(), "components of x");
    assert_eq!(y.len(), layout.dimension(), "components of A x^(m-1)");
    assert!(layout.order() >= 2, "blocked products are of order 2 or more");
    if simd.fuses() {
        simd.run(Product::<T, L, true> { order: layout.order(), a, x, y });
    } else {
        simd.run(Product::<T, L, false> { order: layout.order(), a, x, y });
    }
}

/// A xᵐ from A xᵐ⁻¹, lane by lane.
pub fn form_of_gradient<T: Scalar, const L: usize>(x: &[[T; L]], y: &[[T; L]]) -> [T; L] {
    let mut sum = [T::ZERO; L];
    for (x, y) in x.iter().zip(y) {
        (0..L).for_each(|lane| sum[lane] = x[lane] * y[lane] + sum[lane]);
    }
    sum
}

struct Product<'a, T, const L: usize, const FUSED: bool> {
    order: usize,
    a: &'a [T],
    x: &'a [[T; L]],
    y: &'a mut [[T; L]],
}

impl<T: Scalar, const L: usize, const FUSED: bool> WithSimd for Product<'_, T, L, FUSED> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { order, a, x, y } = self;
        for y in y.iter_mut() {
            *y = [T::ZERO; L];
        }
        let n = x.len();
        let depth = order - 2;
        // Of each prefix of the prefix: its last index and the length of the run that ends there,
        // its weight, and the sum of its tiles so far.
        let mut index = [0usize; MAX_ORDER];
        let mut run = [0u32; MAX_ORDER];
        let mut weight = [[T::ONE; L]; MAX_ORDER];
        let mut sum = [[T::ZERO; L]; MAX_ORDER];
        let mut from = 0;
        let mut place = 0;
        loop {
            for t in from..depth {
                let continues = t > 0 && index[t] == index[t - 1];
                run[t + 1] = if continues { run[t] + 1 } else { 1 };
                let factor = coefficient::<T>(t + 1, run[t + 1]);
                scale(&mut weight, t, factor, &x[index[t]]);
                sum[t + 1] = [T::ZERO; L];
            }
            // A prefix that is empty has no run to continue.
            let (first, continued) =
                if depth == 0 { (0, 0) } else { (index[depth - 1], run[depth]) };
            let entries = (n - first) * (n - first + 1) / 2;
            let tile = Tile { order, first, continued, weight: weight[depth] };
            sum[depth] = tile.add::<FUSED>(&a[place..place + entries], x, y);
            place += entries;
            // Back to the last index that can grow; what is left behind adds to y at its index.
            let mut t = depth;
            loop {
                if t == 0 {
                    return;
                }
                let factor = coefficient::<T>(t, run[t]);
                let i = index[t - 1];
                for lane in 0..L {
                    let part = factor * sum[t][lane];
                    y[i][lane] = madd::<T, FUSED>(weight[t - 1][lane], part, y[i][lane]);
                    sum[t - 1][lane] = madd::<T, FUSED>(x[i][lane], part, sum[t - 1][lane]);
                }
                t -= 1;
                if index[t] + 1 < n {
                    let next = index[t] + 1;
                    for later in t..depth {
                        index[later] = next;
                    }
                    from = t;
                    break;
                }
            }
        }
    }
}

/// weight[t + 1] = weight[t] · factor · x.
#[inline(always)]
fn scale<T: Scalar, const L: usize>(weight: &mut [[T; L]], t: usize, factor: T, x: &[T; L]) {
    for lane in 0..L {
        weight[t + 1][lane] = weight[t][lane] * (factor * x[lane]);
    }
}

/// What index number `position`, the last of a run of this length, contributes to the multinomial
/// coefficient.
#[inline(always)]
fn coefficient<T: Scalar>(position: usize, run: u32) -> T {
    T::from_f64(position as f64 / f64::from(run))
}

#[inline(always)]
fn madd<T: Scalar, const FUSED: bool>(a: T, b: T, c: T) -> T {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// The packed upper triangle of the classes that share a prefix.
struct Tile<T, const L: usize> {
    order: usize,
    /// Last index of the prefix: rows and columns count from it.
    first: usize,
    /// How often it stands at the end of the prefix.
    continued: u32,
    weight: [T; L],
}

impl<T: Scalar, const L: usize> Tile<T, L> {
    /// Adds to y what the entries contribute at their last two indices, and returns their sum
    /// without the prefix's weight.
    #[inline(always)]
    fn add<const FUSED: bool>(&self, a: &[T], x: &[[T; L]], y: &mut [[T; L]]) -> [T; L] {
        let n = x.len();
        let mut sum = [T::ZERO; L];
        let mut row = self.first;
        let mut place = 0;
        while row + ROWS <= n {
            self.strip::<ROWS, FUSED>(row, &a[place..], x, y, &mut sum);
            for r in row..row + ROWS {
                place += n - r;
            }
            row += ROWS;
        }
        while row < n {
            self.strip::<1, FUSED>(row, &a[place..], x, y, &mut sum);
            place += n - row;
            row += 1;
        }
        sum
    }

    /// `R` rows from `row` on, whose entries begin at `a`.
    #[inline(always)]
    fn strip<const R: usize, const FUSED: bool>(
        &self,
        row: usize,
        a: &[T],
        x: &[[T; L]],
        y: &mut [[T; L]],
        sum: &mut [T; L],
    ) {
        let n = x.len();
        let order = self.order;
        // Where each row begins, with its entry at the diagonal.
        let mut start = [0usize; R];
        let mut place = 0;
        for r in 0..R {
            start[r] = place;
            place += n - (row + r);
        }
        // Per row: what its entries add to y at their columns, and their sum over the columns.
        let mut along = [[T::ZERO; L]; R];
        let mut inner = [[T::ZERO; L]; R];
        for r in 0..R {
            let run = if row + r == self.first { self.continued + 1 } else { 1 };
            let factor = coefficient::<T>(order - 1, run);
            for lane in 0..L {
                along[r][lane] = self.weight[lane] * (factor * x[row + r][lane]);
            }
        }
        // The triangle at the diagonal.
        for r in 0..R {
            let run = if row + r == self.first { self.continued + 2 } else { 2 };
            let diagonal = T::from_f64(1.0 / f64::from(run)) * a[start[r]];
            for lane in 0..L {
                inner[r][lane] = madd::<T, FUSED>(diagonal, x[row + r][lane], inner[r][lane]);
                y[row + r][lane] = madd::<T, FUSED>(diagonal, along[r][lane], y[row + r][lane]);
            }
            for k in r + 1..R {
                let entry = a[start[r] + k - r];
                for lane in 0..L {
                    inner[r][lane] = madd::<T, FUSED>(entry, x[row + k][lane], inner[r][lane]);
                    y[row + k][lane] = madd::<T, FUSED>(entry, along[r][lane], y[row + k][lane]);
                }
            }
        }
        // The rectangle to its right.
        for k in row + R..n {
            let xk = x[k];
            let mut yk = y[k];
            for r in 0..R {
                let entry = a[start[r] + k - row - r];
                for lane in 0..L {
                    inner[r][lane] = madd::<T, FUSED>(entry, xk[lane], inner[r][lane]);
                    yk[lane] = madd::<T, FUSED>(entry, along[r][lane], yk[lane]);
                }
            }
            y[k] = yk;
        }
        // The rows' own indices.
        for r in 0..R {
            let run = if row + r == self.first { self.continued + 1 } else { 1 };
            let factor = coefficient::<T>(order - 1, run);
            for lane in 0..L {
                let part = factor * inner[r][lane];
                let yr = y[row + r][lane];
                y[row + r][lane] = madd::<T, FUSED>(self.weight[lane], part, yr);
                sum[lane] = madd::<T, FUSED>(x[row + r][lane], part, sum[lane]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::general;
    use crate::testing::{random_entries, random_unit};

    /// Against the general kernels, every lane with another x.
    fn compare<T: Scalar, const L: usize>(m: usize, n: usize, seed: u64, epsilon: f64) {
        let layout = Layout::new(m, n).unwrap();
        let a: Vec<T> = random_entries(seed, layout.len()).into_iter().map(T::from_f64).collect();
        let starts: Vec<Vec<T>> = (0..L as u64)
            .map(|lane| random_unit(seed ^ lane, n).into_iter().map(T::from_f64).collect())
            .collect();
        let x: Vec<[T; L]> = (0..n).map(|j| std::array::from_fn(|lane| starts[lane][j])).collect();
        // Rounding of a sum of n^(m-1) terms whose squares sum to less than 1, with room.
        let tolerance = 4.0 * epsilon * m as f64 * (n as f64).powf(m as f64 / 2.0);
        for simd in SimdLevel::available() {
            let mut y = vec![[T::ONE; L]; n];
            gradient(&layout, &a, &x, &mut y, simd);
            let form = form_of_gradient(&x, &y);
            for lane in 0..L {
                let mut expected = vec![T::ZERO; n];
                general::gradient(&layout, &a, &starts[lane], &mut expected);
                for j in 0..n {
                    let difference = (y[j][lane] - expected[j]).to_f64().abs();
                    assert!(difference <= tolerance, "({m}, {n}) at {simd:?}: {difference}");
                }
                let expected = general::form(&layout, &a, &starts[lane]);
                let difference = (form[lane] - expected).to_f64().abs();
                assert!(difference <= tolerance, "A x^m, ({m}, {n}) at {simd:?}: {difference}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn tiles_agree_with_the_general_kernels(m in 2usize..7, n in 1usize..11, seed: u64) {
            prop_assume!(Layout::new(m, n).unwrap().len() < 6000);
            compare::<f32, 16>(m, n, seed, f64::from(f32::EPSILON));
            compare::<f64, 3>(m, n, seed, f64::EPSILON);
        }
    }

    #[test]
    fn levels_that_fuse_give_the_same_bits() {
        let layout = Layout::new(4, 9).unwrap();
        let a: Vec<f32> = random_entries(1, layout.len()).into_iter().map(|a| a as f32).collect();
        let x: Vec<[f32; 8]> = (0..9)
            .map(|j| std::array::from_fn(|lane| random_unit(lane as u64, 9)[j] as f32))
            .collect();
        let products: Vec<Vec<[f32; 8]>> = SimdLevel::available()
            .into_iter()
            .filter(|level| level.fuses())
            .map(|level| {
                let mut y = vec![[0.0; 8]; 9];
                gradient(&layout, &a, &x, &mut y, level);
                y
            })
            .collect();
        assert!(products.iter().all(|product| *product == products[0]));
    }
}
