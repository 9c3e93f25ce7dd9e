//! Acquisitions and signals with known truth, for the tests.

use fimbria_image::GradientTable;
use fimbria_tensors::starts::half_sphere;

/// `n_b0` unweighted volumes, then shells of (b in s/mm², directions).
pub fn acquisition(n_b0: usize, shells: &[(f64, usize)]) -> GradientTable {
    let mut table = GradientTable {
        b_s_per_mm2: vec![0.0; n_b0],
        dirs_ras: vec![[0.0; 3]; n_b0],
        b0_threshold: GradientTable::DEFAULT_B0_THRESHOLD,
    };
    for &(b, n) in shells {
        table.b_s_per_mm2.extend(std::iter::repeat_n(b, n));
        table.dirs_ras.extend(half_sphere(n));
    }
    table
}

/// S = S0 exp(-b gᵀDg) of every volume; D in mm²/s, xx xy xz yy yz zz.
pub fn signals(table: &GradientTable, s0: f64, d: [f64; 6]) -> Vec<f64> {
    let attenuate = |(&b, g): (&f64, &[f64; 3])| s0 * (-b * quadratic(d, *g)).exp();
    table.b_s_per_mm2.iter().zip(&table.dirs_ras).map(attenuate).collect()
}

/// gᵀDg.
pub fn quadratic(d: [f64; 6], [x, y, z]: [f64; 3]) -> f64 {
    d[0] * x * x + d[3] * y * y + d[5] * z * z + 2.0 * (d[1] * x * y + d[2] * x * z + d[4] * y * z)
}

/// The tensor with these eigenvalues in the frame of the given Euler angles (z, y, z), and its
/// eigenvectors in the same order.
pub fn tensor(eigenvalues: [f64; 3], angles: [f64; 3]) -> ([f64; 6], [[f64; 3]; 3]) {
    let [(sa, ca), (sb, cb), (sc, cc)] = angles.map(f64::sin_cos);
    let v = [
        [ca * cb * cc - sa * sc, sa * cb * cc + ca * sc, -sb * cc],
        [-ca * cb * sc - sa * cc, -sa * cb * sc + ca * cc, sb * sc],
        [ca * sb, sa * sb, cb],
    ];
    let entry = |i: usize, j: usize| (0..3).map(|k| eigenvalues[k] * v[k][i] * v[k][j]).sum();
    ([entry(0, 0), entry(0, 1), entry(0, 2), entry(1, 1), entry(1, 2), entry(2, 2)], v)
}

/// Reproducible noise: uniform in [0, 1) from a 64-bit mixing of a counter (SplitMix64).
pub struct Noise(pub u64);

impl Noise {
    /// The next, uniform in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Standard normal (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// A magnitude: the signal with complex noise of standard deviation `sigma`.
    pub fn rician(&mut self, signal: f64, sigma: f64) -> f64 {
        (signal + sigma * self.normal()).hypot(sigma * self.normal())
    }
}
