//! How far a map is from the truth: the measures of the QSM challenges.
//!
//! Langkammer C et al., "Quantitative susceptibility mapping: report from the 2016 reconstruction
//! challenge", MRM 79 (2018); QSM Challenge 2.0, MRM 86 (2021). XSIM: Milovic C et al., "XSIM: a
//! structural similarity index measure optimized for MRI QSM", MRM 93 (2025).

/// The measures over a set of voxels, maps in ppm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metrics {
    /// 100 ‖x - t‖ / ‖t‖ of maps less their means.
    pub nrmse: f64,
    /// The same after the line through (t, x) has been taken out of x.
    pub nrmse_detrended: f64,
    /// 100 ‖LoG(x) - LoG(t)‖ / ‖LoG(t)‖ with a Laplacian of a Gaussian of σ 1.5 voxels.
    pub hfen: f64,
    /// Structural similarity for susceptibility, -1 to 1.
    pub xsim: f64,
    /// Pearson's, -1 to 1.
    pub correlation: f64,
    /// The slope of the line of x over t: below 1 the map is too pale.
    pub slope: f64,
}

/// Standard deviation of the Gaussian of HFEN, voxels.
const HFEN_SIGMA: f64 = 1.5;
/// Half the window of XSIM, voxels: 5³.
const XSIM_HALF: i64 = 2;
/// XSIM's constants, for maps in ppm.
const XSIM_C1: f64 = 0.01 * 0.01;
const XSIM_C2: f64 = 0.001 * 0.001;

/// Compares `map` with `truth`, both volumes of `dims` (x fastest), at the voxels of `mask`.
pub fn compare(dims: [usize; 3], map: &[f32], truth: &[f32], mask: &[u32]) -> Metrics {
    let pick = |volume: &[f32]| -> Vec<f64> {
        mask.iter().map(|&v| f64::from(volume[v as usize])).collect()
    };
    let (x, t) = (centred(pick(map)), centred(pick(truth)));
    let (xx, tt, xt) = (dot(&x, &x), dot(&t, &t), dot(&x, &t));
    let slope = xt / tt;
    let detrended: Vec<f64> = x.iter().map(|x| x / slope).collect();
    let log = |volume: &[f32]| laplacian_of_gaussian(dims, volume, mask);
    let (lx, lt) = (log(map), log(truth));
    Metrics {
        nrmse: 100.0 * distance(&x, &t) / tt.sqrt(),
        nrmse_detrended: 100.0 * distance(&detrended, &t) / tt.sqrt(),
        hfen: 100.0 * distance(&lx, &lt) / dot(&lt, &lt).sqrt(),
        xsim: xsim(dims, map, truth, mask),
        correlation: xt / (xx * tt).sqrt(),
        slope,
    }
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

fn distance(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt()
}

fn centred(mut x: Vec<f64>) -> Vec<f64> {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    x.iter_mut().for_each(|x| *x -= mean);
    x
}

/// The volume, zero outside the mask, filtered, at the voxels of the mask.
fn laplacian_of_gaussian(dims: [usize; 3], volume: &[f32], mask: &[u32]) -> Vec<f64> {
    let mut inside = vec![0.0; volume.len()];
    mask.iter().for_each(|&v| inside[v as usize] = f64::from(volume[v as usize]));
    let reach = (4.0 * HFEN_SIGMA).ceil() as i64;
    let s2 = HFEN_SIGMA * HFEN_SIGMA;
    let gauss: Vec<f64> = (-reach..=reach).map(|i| (-(i * i) as f64 / (2.0 * s2)).exp()).collect();
    let sum: f64 = gauss.iter().sum();
    let gauss: Vec<f64> = gauss.iter().map(|g| g / sum).collect();
    let second: Vec<f64> =
        (-reach..=reach).zip(&gauss).map(|(i, g)| g * ((i * i) as f64 / s2 - 1.0) / s2).collect();
    let mut total = vec![0.0; mask.len()];
    for twice in 0..3 {
        let mut filtered = inside.clone();
        for axis in 0..3 {
            filtered = along(dims, &filtered, axis, if axis == twice { &second } else { &gauss });
        }
        for (total, &v) in total.iter_mut().zip(mask) {
            *total += filtered[v as usize];
        }
    }
    total
}

/// Filters along one axis; beyond the volume is zero.
fn along(dims: [usize; 3], volume: &[f64], axis: usize, taps: &[f64]) -> Vec<f64> {
    let stride: usize = dims[..axis].iter().product();
    let (n, reach) = (dims[axis] as i64, (taps.len() / 2) as i64);
    let mut filtered = vec![0.0; volume.len()];
    for (i, value) in filtered.iter_mut().enumerate() {
        let at = (i / stride % dims[axis]) as i64;
        let (from, to) = ((-reach).max(-at), reach.min(n - 1 - at));
        let first = (i as i64 + from * stride as i64) as usize;
        let taps = &taps[(from + reach) as usize..=(to + reach) as usize];
        *value = taps.iter().enumerate().map(|(k, tap)| tap * volume[first + k * stride]).sum();
    }
    filtered
}

/// The mean over the mask of the similarity in windows of 5³ voxels.
fn xsim(dims: [usize; 3], map: &[f32], truth: &[f32], mask: &[u32]) -> f64 {
    let mut inside = vec![false; map.len()];
    mask.iter().for_each(|&v| inside[v as usize] = true);
    let box_sum = |term: &dyn Fn(usize) -> f64| {
        let volume: Vec<f64> =
            (0..map.len()).map(|v| if inside[v] { term(v) } else { 0.0 }).collect();
        let taps = vec![1.0; (2 * XSIM_HALF + 1) as usize];
        (0..3).fold(volume, |volume, axis| along(dims, &volume, axis, &taps))
    };
    let (x, t) = (|v: usize| f64::from(map[v]), |v: usize| f64::from(truth[v]));
    let count = box_sum(&|_| 1.0);
    let (sx, st) = (box_sum(&x), box_sum(&t));
    let (sxx, stt) = (box_sum(&|v| x(v) * x(v)), box_sum(&|v| t(v) * t(v)));
    let sxt = box_sum(&|v| x(v) * t(v));
    let similarity = |&v: &u32| {
        let v = v as usize;
        let n = count[v];
        let (mx, mt) = (sx[v] / n, st[v] / n);
        let (vx, vt) = (sxx[v] / n - mx * mx, stt[v] / n - mt * mt);
        let covariance = sxt[v] / n - mx * mt;
        (2.0 * mx * mt + XSIM_C1) * (2.0 * covariance + XSIM_C2)
            / ((mx * mx + mt * mt + XSIM_C1) * (vx + vt + XSIM_C2))
    };
    mask.iter().map(similarity).sum::<f64>() / mask.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIMS: [usize; 3] = [12, 11, 10];

    fn truth() -> (Vec<f32>, Vec<u32>) {
        let volume = (0..1320).map(|i| ((i * 37 % 101) as f32 - 50.0) * 1e-3).collect();
        (volume, (0..1320).filter(|v| v % 7 != 0).collect())
    }

    #[test]
    fn the_truth_is_perfect() {
        let (truth, mask) = truth();
        let got = compare(DIMS, &truth, &truth, &mask);
        assert!(got.nrmse < 1e-12 && got.nrmse_detrended < 1e-12 && got.hfen < 1e-12);
        assert!((got.xsim - 1.0).abs() < 1e-12 && (got.correlation - 1.0).abs() < 1e-12);
    }

    #[test]
    fn scale_and_offset_are_told_apart_from_error() {
        let (truth, mask) = truth();
        let map: Vec<f32> = truth.iter().map(|t| 0.5 * t + 0.02).collect();
        let got = compare(DIMS, &map, &truth, &mask);
        // f32 maps of a few hundredths: 1e-7 of that.
        assert!((got.nrmse - 50.0).abs() < 1e-3, "{got:?}");
        assert!(got.nrmse_detrended < 1e-3 && (got.slope - 0.5).abs() < 1e-6, "{got:?}");
        assert!((got.correlation - 1.0).abs() < 1e-9, "{got:?}");
    }

    #[test]
    fn the_filter_passes_neither_constants_nor_lines() {
        let dims = [40, 40, 40];
        let index = |v: usize| [v % 40, v / 40 % 40, v / 1600];
        let volume: Vec<f32> = (0..64_000).map(|v| 3.0 + index(v)[1] as f32).collect();
        let middle = [20 + 40 * (20 + 40 * 20)];
        let full: Vec<u32> = (0..64_000).collect();
        let got = laplacian_of_gaussian(dims, &volume, &full)[middle[0] as usize];
        // Taps are cut off at four σ: 1e-3 of their sum is missing.
        assert!(got.abs() < 0.05, "{got}");
    }
}
