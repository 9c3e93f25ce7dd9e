//! What tests of several modules need.

use fimbria_compute::philox::{Philox, uniform};

/// Numbers uniform in (-1, 1).
pub(crate) fn random_entries(seed: u64, len: usize) -> Vec<f64> {
    let words = (0..len.div_ceil(4)).flat_map(|item| Philox::new(seed).at(item as u64, 0));
    words.take(len).map(|word| 2.0 * f64::from(uniform::<f32>(word)) - 1.0).collect()
}

/// A vector of length 1.
pub(crate) fn random_unit(seed: u64, n: usize) -> Vec<f64> {
    let x = random_entries(seed, n);
    let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
    x.iter().map(|x| x / norm).collect()
}

/// The (4, 3) tensor of Kofidis and Regalia 2002, example 1 (Kolda and Mayo 2011, example 3.5).
pub(crate) const KOFIDIS_REGALIA: [f64; 15] = [
    0.2883, -0.0031, 0.1973, -0.2485, -0.2939, 0.3847, 0.2972, 0.1862, 0.0919, -0.3619, 0.1241,
    -0.3420, 0.2127, 0.2727, -0.3054,
];
