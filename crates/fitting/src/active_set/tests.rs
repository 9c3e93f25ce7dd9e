//! Small programmes against enumeration of all active sets, and the conditions of optimality.

use fimbria_compute::dense::lu;
use fimbria_compute::philox::{Philox, normals};
use proptest::prelude::*;
use pulp::{Simd, WithSimd};

use super::*;

/// Standard normal numbers.
fn normal(seed: u64, n: usize) -> Vec<f64> {
    let philox = Philox::new(seed);
    let all = (0..n.div_ceil(4) as u64).flat_map(|item| normals::<f32>(philox.at(item, 0)));
    all.take(n).map(f64::from).collect()
}

/// AᵀA of a random A with twice as many rows as unknowns.
fn hessian(seed: u64, n: usize) -> Vec<f64> {
    let a = normal(seed, 2 * n * n);
    let entry = |i, j| (0..2 * n).map(|r| a[r * n + i] * a[r * n + j]).sum();
    (0..n * n).map(|ij| entry(ij / n, ij % n)).collect()
}

/// The minimum by trying every active set: the only one whose solution is feasible with
/// non-negative multipliers.
fn by_enumeration(h: &[f64], f: &[f64], c: &[f64], d: &[f64]) -> Option<Vec<f64>> {
    let (n, m) = (f.len(), d.len());
    (0..1u32 << m).find_map(|set| {
        let active: Vec<usize> = (0..m).filter(|j| set >> j & 1 == 1).collect();
        if active.len() > n {
            // Of more constraints than unknowns some follow from the others, and nothing is solved.
            return None;
        }
        let size = n + active.len();
        let mut system = vec![0.0; size * size];
        let mut x = [f, &vec![0.0; active.len()]].concat();
        for i in 0..n {
            system[i * size..][..n].copy_from_slice(&h[i * n..][..n]);
            for (a, &j) in active.iter().enumerate() {
                system[i * size + n + a] = -c[j * n + i];
                system[(n + a) * size + i] = c[j * n + i];
                x[n + a] = d[j];
            }
        }
        if !lu::solve(&mut system, &mut x) {
            return None;
        }
        let multipliers = x.split_off(n);
        let slack = |j: usize| (0..n).map(|k| c[j * n + k] * x[k]).sum::<f64>() - d[j];
        let good = multipliers.iter().all(|&l| l >= -1e-12) && (0..m).all(|j| slack(j) >= -1e-9);
        good.then_some(x)
    })
}

/// Runs both solvers, asserts that they agree, and returns the solution.
fn solve(h: &[f64], f: &[f64], constraints: &Constraints) -> (Vec<f64>, Outcome, Work) {
    let mut work = Work::default();
    let mut own = f.to_vec();
    Programme::new(constraints).solve(h, &mut own, &mut work).unwrap();
    let shared = SharedProgramme::new(h, constraints.clone()).unwrap();
    let mut x = f.to_vec();
    let outcome = shared.solve(&mut x, &mut work);
    assert_eq!(x, own, "both form K from the same numbers in the same order");
    (x, outcome, work)
}

proptest! {
    /// Up to 5 unknowns and 8 constraints satisfied by some point, so that a solution exists.
    #[test]
    fn the_minimum_is_the_one_enumeration_finds(seed: u64, n in 1usize..6, m in 0usize..9) {
        let h = hessian(seed, n);
        let f = normal(seed ^ 1, n);
        let c = normal(seed ^ 2, n * m);
        let inside = normal(seed ^ 3, n);
        let d: Vec<f64> = c.chunks_exact(n)
            .map(|c| c.iter().zip(&inside).map(|(c, x)| c * x).sum::<f64>() - 0.1).collect();
        let constraints = Constraints::new(n, &c, d.clone()).unwrap();
        let (x, outcome, _) = solve(&h, &f, &constraints);
        let expected = by_enumeration(&h, &f, &c, &d);
        prop_assume!(expected.is_some());
        let expected = expected.unwrap();
        prop_assert!(matches!(outcome.verdict, Verdict::Free | Verdict::Bound), "{outcome:?}");
        // Conditioning of small random programmes stays below 1e5, regularisation is 1e-12.
        let size = expected.iter().fold(1.0f64, |s, x| s.max(x.abs()));
        for k in 0..n {
            prop_assert!((x[k] - expected[k]).abs() < 1e-6 * size, "{x:?} {expected:?}");
        }
    }
}

/// A cone of 300 half spaces in 30 dimensions, more binding than one can enumerate.
fn cone() -> (Vec<f64>, Vec<f64>, Constraints) {
    let (n, m) = (30, 300);
    let mut rows = normal(11, n * m);
    // A common direction keeps the cone from being the origin alone.
    rows.chunks_exact_mut(n).for_each(|row| row[0] = 4.0 + row[0].abs());
    (hessian(10, n), normal(12, n), Constraints::non_negative(n, &rows).unwrap())
}

#[test]
fn the_conditions_of_optimality_hold() {
    let (h, f, constraints) = cone();
    let (x, outcome, work) = solve(&h, &f, &constraints);
    assert_eq!(outcome.verdict, Verdict::Bound);
    assert!(work.active().len() > 10, "{}", work.active().len());
    let kkt = kkt(&h, &f, &constraints, &x, work.active(), work.multipliers());
    // Numbers of order 1 to 100 in f64, a regularisation of 1e-12, a tolerance of 1e-9.
    assert!(kkt.stationarity < 1e-10, "{kkt:?}");
    assert!(kkt.violation < 1e-7 && kkt.complementarity < 1e-8, "{kkt:?}");
    assert_eq!(kkt.negativity, 0.0);
}

#[test]
fn without_violations_the_solution_is_the_unconstrained_one() {
    let h = [4.0, 0.0, 0.0, 2.0];
    let constraints = Constraints::non_negative(2, &[1.0, 0.0, 0.0, 1.0]).unwrap();
    let (x, outcome, work) = solve(&h, &[8.0, 2.0], &constraints);
    // A few roundings.
    assert!((x[0] - 2.0).abs() < 1e-14 && (x[1] - 1.0).abs() < 1e-14, "{x:?}");
    assert_eq!((outcome.verdict, outcome.rounds, outcome.violation), (Verdict::Free, 0, 0.0));
    assert!(work.active().is_empty());
}

#[test]
fn no_constraints_are_no_trouble() {
    let (x, outcome, _) = solve(&[2.0], &[3.0], &Constraints::non_negative(1, &[]).unwrap());
    // A few roundings.
    assert!((x[0] - 1.5).abs() < 1e-14, "{x:?}");
    assert_eq!(outcome.verdict, Verdict::Free);
}

#[test]
fn where_everything_is_forbidden_but_zero_the_solution_is_zero() {
    let rows = [1.0, 0.0, -1.0, 0.0, 0.0, 1.0, 0.0, -1.0];
    let constraints = Constraints::non_negative(2, &rows).unwrap();
    let (x, outcome, _) = solve(&[1.0, 0.0, 0.0, 1.0], &[3.0, -2.0], &constraints);
    assert_eq!(outcome.verdict, Verdict::Bound);
    assert!(x.iter().all(|x| x.abs() < 1e-10), "{x:?}");
}

#[test]
fn a_contradiction_is_reported() {
    // x >= 1 and -x >= 1.
    let constraints = Constraints::new(1, &[1.0, -1.0], vec![1.0, 1.0]).unwrap();
    let (_, outcome, _) = solve(&[1.0], &[0.3], &constraints);
    assert_eq!(outcome.verdict, Verdict::Infeasible);
}

#[test]
fn doubled_constraints_do_no_harm() {
    let rows = [1.0, 1.0, 1.0, 1.0, 2.0, 2.0];
    let constraints = Constraints::new(2, &rows, vec![2.0, 2.0, 4.0]).unwrap();
    let (x, outcome, _) = solve(&[1.0, 0.0, 0.0, 1.0], &[0.0, 0.0], &constraints);
    assert_eq!(outcome.verdict, Verdict::Bound);
    assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-10), "{x:?}");
}

/// Inverts the forms of some seeds side by side; only the lower triangle of each.
struct SideBySide<'a>(&'a [Vec<f64>]);

impl WithSimd for SideBySide<'_> {
    type Output = Vec<(bool, Vec<f64>)>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        let n = self.0[0].len().isqrt();
        let mut inverted = Vec::new();
        for group in self.0.chunks(S::F64_LANES) {
            let mut matrices = vec![simd.splat_f64s(1.0); n * (n + 1) / 2];
            let lanes: &mut [f64] = bytemuck::cast_slice_mut(&mut matrices);
            let mut entries = lanes.chunks_exact_mut(S::F64_LANES);
            for (i, j) in (0..n).flat_map(|i| (0..=i).map(move |j| (i, j))) {
                let entry = entries.next().unwrap();
                entry.iter_mut().zip(group).for_each(|(entry, h)| *entry = h[i * n + j]);
            }
            let definite = [invert(simd, n, &mut matrices)];
            let definite: &[f64] = bytemuck::cast_slice(&definite);
            let lanes: &[f64] = bytemuck::cast_slice(&matrices);
            for (one, definite) in definite.iter().enumerate().take(group.len()) {
                let entries = lanes.iter().skip(one).step_by(S::F64_LANES).copied();
                inverted.push((*definite == 1.0, entries.collect()));
            }
        }
        inverted
    }
}

#[test]
fn inverses_side_by_side_are_inverses_at_every_level() {
    let n = 22;
    let mut forms: Vec<Vec<f64>> = (0..11).map(|seed| hessian(seed, n)).collect();
    // One that is singular, one that is not definite, one that is not a number.
    forms[3].iter_mut().for_each(|h| *h = 1.0);
    forms[4][n + 1] = -1.0;
    forms[5][0] = f64::NAN;
    for level in fimbria_compute::SimdLevel::available() {
        let inverted = level.run(SideBySide(&forms));
        for (at, (h, (definite, inverse))) in forms.iter().zip(&inverted).enumerate() {
            assert_eq!(*definite, !(3..6).contains(&at), "{level:?}: form {at}");
            if !definite {
                continue;
            }
            let entry = |i: usize, j: usize| inverse[i.max(j) * (i.max(j) + 1) / 2 + i.min(j)];
            for (i, row) in h.chunks_exact(n).enumerate() {
                for j in 0..n {
                    let product: f64 = (0..n).map(|k| row[k] * entry(k, j)).sum();
                    // Conditioning of these forms is some hundreds.
                    let expected = f64::from(u8::from(i == j));
                    assert!(
                        (product - expected).abs() < 1e-11,
                        "{level:?}: {at} {i} {j} {product}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_singular_form_and_an_empty_row_are_refused() {
    let constraints = Constraints::non_negative(2, &[1.0, 0.0]).unwrap();
    let error = SharedProgramme::new(&[1.0, 1.0, 1.0, 1.0], constraints).unwrap_err();
    assert!(matches!(error, ActiveSetError::NotPositiveDefinite), "{error}");
    let error = Constraints::non_negative(2, &[1.0, 0.0, 0.0, 0.0]).unwrap_err();
    assert_eq!(error, ActiveSetError::EmptyConstraint(1));
    let error = Constraints::new(2, &[1.0; 3], vec![0.0; 2]).unwrap_err();
    assert!(error.to_string().contains("3 numbers where 4"), "{error}");
}

#[test]
fn every_simd_level_gives_the_same_bits() {
    struct Solve<'a>(&'a SharedProgramme, &'a [f64]);
    impl WithSimd for Solve<'_> {
        type Output = Vec<u64>;
        #[inline(always)]
        fn with_simd<S: Simd>(self, _simd: S) -> Vec<u64> {
            let mut x = self.1.to_vec();
            self.0.solve(&mut x, &mut Work::default());
            x.iter().map(|x| x.to_bits()).collect()
        }
    }
    let (h, f, constraints) = cone();
    let shared = SharedProgramme::new(&h, constraints).unwrap();
    let levels = fimbria_compute::SimdLevel::available();
    let all: Vec<_> = levels.into_iter().map(|level| level.run(Solve(&shared, &f))).collect();
    assert!(all.iter().all(|bits| *bits == all[0]));
}

/// Guesses of the solutions of programmes with these f, those of one call side by side.
struct Guessed<'a> {
    splitting: &'a Splitting,
    linear: &'a [Vec<f64>],
    side_by_side: usize,
}

impl WithSimd for Guessed<'_> {
    type Output = Vec<Guess>;
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<Guess> {
        let mut guesses = Guesses::default();
        let mut all = Vec::new();
        for linear in self.linear.chunks(self.side_by_side.min(Splitting::width::<S>())) {
            self.splitting.approximate(simd, &linear.concat(), &mut guesses);
            for programme in 0..linear.len() {
                let mut guess = Guess::default();
                self.splitting.take(&guesses, programme, &mut guess);
                all.push(guess);
            }
        }
        all
    }
}

/// Twenty f beside the cone's.
fn many_linear() -> Vec<Vec<f64>> {
    (0..20).map(|seed| normal(100 + seed, 30)).collect()
}

#[test]
fn a_guess_is_near_the_solution_and_does_not_depend_on_those_beside_it() {
    let (h, _, constraints) = cone();
    let splitting = Splitting::new(&h, &constraints).unwrap();
    let shared = SharedProgramme::new(&h, constraints).unwrap();
    let linear = many_linear();
    for level in fimbria_compute::SimdLevel::available() {
        let guess = |side_by_side| {
            level.run(Guessed { splitting: &splitting, linear: &linear, side_by_side })
        };
        let guesses = guess(20);
        for (guess, other) in guesses.iter().zip(guess(1)) {
            assert_eq!((&guess.x, &guess.multipliers), (&other.x, &other.multipliers), "{level:?}");
        }
        for (guess, f) in guesses.iter().zip(&linear) {
            let mut x = f.clone();
            shared.solve(&mut x, &mut Work::default());
            let size = x.iter().fold(0.0f64, |size, x| size.max(x.abs()));
            let far = guess.x.iter().zip(&x).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            // A guess is to tell which constraints bind, and the path goes the rest: zero would be further off.
            assert!(far < 0.7 * size, "{level:?}: {far} of {size}");
        }
    }
}

#[test]
fn what_comes_out_does_not_depend_on_the_guess() {
    let (h, _, constraints) = cone();
    let splitting = Splitting::new(&h, &constraints).unwrap();
    let shared = SharedProgramme::new(&h, constraints).unwrap();
    let linear = many_linear();
    let level = fimbria_compute::SimdLevel::best();
    let good = level.run(Guessed { splitting: &splitting, linear: &linear, side_by_side: 20 });
    for (seed, (f, good)) in linear.iter().zip(good).enumerate() {
        let mut expected = f.clone();
        let outcome = shared.solve(&mut expected, &mut Work::default());
        let size = expected.iter().fold(0.0f64, |size, x| size.max(x.abs()));
        let noise = normal(seed as u64, 330);
        let absurd = |share: f64| Guess {
            x: noise[..30].to_vec(),
            multipliers: noise[30..].iter().map(|l| (l - share).max(0.0)).collect(),
        };
        let nothing = Guess { x: vec![0.0; 30], multipliers: vec![0.0; 300] };
        let no_number = Guess { x: vec![f64::NAN; 30], multipliers: good.multipliers.clone() };
        // Of many multipliers above zero, of few, of none.
        for guess in [good, absurd(-1.0), absurd(1.0), absurd(2.0), nothing, no_number] {
            let (mut x, mut work) = (f.clone(), Work::default());
            let improved = shared.improve(&guess, &mut x, &mut work);
            assert_eq!(improved.verdict, outcome.verdict);
            for (x, expected) in x.iter().zip(&expected) {
                // As the walk's own tolerance of 1e-9 allows.
                assert!((x - expected).abs() < 1e-7 * size, "{x} {expected}");
            }
            let kkt = kkt(&h, f, shared.constraints(), &x, work.active(), work.multipliers());
            assert!(kkt.stationarity < 1e-10 && kkt.violation < 1e-7, "{kkt:?}");
            assert_eq!(kkt.negativity, 0.0);
        }
    }
}

#[test]
fn a_good_guess_leaves_nothing_to_walk() {
    let (h, _, constraints) = cone();
    let splitting = Splitting::new(&h, &constraints).unwrap();
    let shared = SharedProgramme::new(&h, constraints).unwrap();
    let linear = many_linear();
    let level = fimbria_compute::SimdLevel::best();
    let good = level.run(Guessed { splitting: &splitting, linear: &linear, side_by_side: 20 });
    for (f, guess) in linear.iter().zip(good) {
        let outcome = shared.improve(&guess, &mut f.clone(), &mut Work::default());
        assert_eq!(outcome.rounds, 0, "{outcome:?}");
    }
}

#[test]
fn improved_solutions_have_the_same_bits_at_every_level_that_fuses() {
    struct Improve<'a>(&'a SharedProgramme, &'a Splitting, &'a [Vec<f64>]);
    impl WithSimd for Improve<'_> {
        type Output = Vec<u64>;
        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> Vec<u64> {
            let Self(shared, splitting, linear) = self;
            let guesses = Guessed { splitting, linear, side_by_side: 20 }.with_simd(simd);
            let mut bits = Vec::new();
            for (f, guess) in linear.iter().zip(guesses) {
                let mut x = f.clone();
                shared.improve(&guess, &mut x, &mut Work::default());
                bits.extend(x.iter().map(|x| x.to_bits()));
            }
            bits
        }
    }
    let (h, _, constraints) = cone();
    let splitting = Splitting::new(&h, &constraints).unwrap();
    let shared = SharedProgramme::new(&h, constraints).unwrap();
    let linear = many_linear();
    let levels = fimbria_compute::SimdLevel::available().into_iter().filter(|level| level.fuses());
    let all: Vec<_> =
        levels.map(|level| level.run(Improve(&shared, &splitting, &linear))).collect();
    assert!(all.iter().all(|bits| *bits == all[0]));
}

#[test]
fn a_contradiction_is_reported_from_a_guess_too() {
    let constraints = Constraints::new(1, &[1.0, -1.0], vec![1.0, 1.0]).unwrap();
    let shared = SharedProgramme::new(&[1.0], constraints).unwrap();
    for multipliers in [vec![0.0, 0.0], vec![1.0, 0.0], vec![1.0, 1.0]] {
        let guess = Guess { x: vec![0.0], multipliers };
        let outcome = shared.improve(&guess, &mut [0.3], &mut Work::default());
        assert_eq!(outcome.verdict, Verdict::Infeasible, "{guess:?}");
    }
}

/// Three hundred constraints through the origin of three unknowns, where all are met at once.
#[test]
fn a_corner_of_many_constraints_is_no_trouble() {
    let n = 3;
    let mut rows = normal(21, 300 * n);
    rows.chunks_exact_mut(n).for_each(|row| row[0] = 1.0 + row[0].abs());
    let constraints = Constraints::non_negative(n, &rows).unwrap();
    let h = hessian(22, n);
    let splitting = Splitting::new(&h, &constraints).unwrap();
    let shared = SharedProgramme::new(&h, constraints).unwrap();
    let linear: Vec<Vec<f64>> = (0..50).map(|seed| normal(200 + seed, n)).collect();
    let level = fimbria_compute::SimdLevel::best();
    let guesses = level.run(Guessed { splitting: &splitting, linear: &linear, side_by_side: 1 });
    let mut at_corner = 0;
    for (f, guess) in linear.iter().zip(guesses) {
        for guess in [None, Some(guess)] {
            let (mut x, mut work) = (f.clone(), Work::default());
            let outcome = match guess {
                None => shared.solve(&mut x, &mut work),
                Some(guess) => shared.improve(&guess, &mut x, &mut work),
            };
            assert!(matches!(outcome.verdict, Verdict::Free | Verdict::Bound), "{outcome:?}");
            assert!(work.active().len() <= n, "no more than there are unknowns");
            let kkt = kkt(&h, f, shared.constraints(), &x, work.active(), work.multipliers());
            assert!(kkt.stationarity < 1e-10 && kkt.violation < 1e-8, "{kkt:?}");
            at_corner += usize::from(x.iter().all(|x| x.abs() < 1e-8));
        }
    }
    assert!(at_corner > 10, "{at_corner}");
}

/// Twice as many half spaces as unknowns about a corner that is none of the origin's, of a stretched H: rounding
/// of the inverse makes constraints look independent that follow from others.
fn stretched(seed: u64) -> (Vec<f64>, Vec<f64>, Constraints) {
    let n = 24 + seed as usize % 12;
    let mut h = hessian(seed, n);
    for (at, entry) in h.iter_mut().enumerate() {
        *entry *= 10f64.powf(-4.0 * (at / n + at % n) as f64 / (n - 1) as f64);
    }
    (0..n).for_each(|i| h[i * n + i] += 1e-10);
    let (rows, corner) = (normal(seed ^ 1, 4 * n * n), normal(seed ^ 2, n));
    let bounds = rows.chunks_exact(n).map(|row| row.iter().zip(&corner).map(|(c, x)| c * x).sum());
    let constraints = Constraints::new(n, &rows, bounds.collect()).unwrap();
    (h, normal(seed ^ 3, n), constraints)
}

#[test]
fn rounding_that_spoils_the_inverse_leaves_numbers_and_true_verdicts() {
    let level = fimbria_compute::SimdLevel::best();
    for seed in 0..200 {
        let (h, f, constraints) = stretched(1000 + seed);
        let splitting = Splitting::new(&h, &constraints).unwrap();
        let shared = SharedProgramme::new(&h, constraints).unwrap();
        let (constraints, minimum, linear) =
            (shared.constraints(), shared.minimum(&f), [f.clone()]);
        let guesses =
            level.run(Guessed { splitting: &splitting, linear: &linear, side_by_side: 1 });
        for guess in [None, Some(&guesses[0])] {
            let (mut x, mut work) = (f.clone(), Work::default());
            let outcome = match guess {
                None => shared.solve(&mut x, &mut work),
                Some(guess) => shared.improve(guess, &mut x, &mut work),
            };
            assert!(
                x.iter().chain(work.multipliers()).all(|x| x.is_finite()),
                "{seed} {outcome:?}"
            );
            assert!(work.active().len() <= f.len(), "{seed}: more than there are unknowns");
            if matches!(outcome.verdict, Verdict::Free | Verdict::Bound) {
                let kkt = kkt(&h, &f, constraints, &x, work.active(), work.multipliers());
                let slacks = (0..constraints.len()).map(|j| constraints.slack(j, &minimum).abs());
                // What a verdict allows; slacks at the minimum have rounding of 1e-7 and less.
                let most = 1.01e-6 * slacks.fold(0.0, f64::max);
                assert!(kkt.violation < most && kkt.negativity == 0.0, "{seed} {most} {kkt:?}");
            }
        }
    }
}
