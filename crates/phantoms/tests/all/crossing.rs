//! The crossing phantom against what it promises.

use fimbria_compute::{Silent, Workers};
use fimbria_image::Image;
use fimbria_phantoms::{
    Acquisition, CrossingSpec, Diffusivities, PhantomError, Placement, ShellSpec, Subject, crossing,
};

/// 5 mm voxels, oblique, few volumes, no noise.
fn small() -> CrossingSpec {
    let shell = |b_s_per_mm2, directions| ShellSpec { b_s_per_mm2, directions };
    CrossingSpec {
        placement: Placement {
            dims: [32, 38, 30],
            voxel_mm: [5.0, 5.0, 4.5],
            tilt_deg: [12.0, -9.0, 17.0],
            x_right_to_left: true,
        },
        acquisition: Acquisition { b0s: 1, shells: vec![shell(1000.0, 6), shell(2000.0, 12)] },
        snr: f64::INFINITY,
        ..CrossingSpec::default()
    }
}

fn subject(spec: &CrossingSpec) -> Subject {
    crossing(spec, &Workers::new(2).unwrap(), &Silent).unwrap()
}

fn truth<'a>(subject: &'a Subject, name: &str) -> &'a Image {
    subject.truth.map(name).unwrap_or_else(|| panic!("no truth {name}"))
}

fn vector(image: &Image, first_volume: usize, voxel: usize) -> [f64; 3] {
    std::array::from_fn(|axis| f64::from(image.volume(first_volume + axis)[voxel]))
}

#[test]
fn fractions_sum_to_one_in_the_mask_and_vanish_outside() {
    let subject = subject(&small());
    let fractions = truth(&subject, "fractions");
    let mut inside = subject.mask.voxels.iter().peekable();
    for voxel in 0..fractions.grid.len() {
        let sum: f64 = (0..5).map(|k| f64::from(fractions.volume(k)[voxel])).sum();
        let is_inside = inside.next_if(|v| **v as usize == voxel).is_some();
        let expected = f64::from(u8::from(is_inside));
        // Five numbers rounded to f32.
        assert!((sum - expected).abs() < 1e-6, "voxel {voxel}: {sum}");
        assert_eq!(truth(&subject, "S0").data[voxel] > 0.0, is_inside);
    }
}

#[test]
fn fibres_are_unit_and_sorted_by_fraction() {
    let subject = subject(&small());
    let (dirs, fractions) = (truth(&subject, "dirs"), truth(&subject, "fractions"));
    let mut seen = [0; 4];
    for voxel in subject.mask.voxels.iter().map(|&v| v as usize) {
        let f: [f32; 3] = std::array::from_fn(|k| fractions.volume(k)[voxel]);
        assert!(f[0] >= f[1] && f[1] >= f[2], "{f:?}");
        let count = f.iter().filter(|f| **f > 0.0).count();
        assert_eq!(truth(&subject, "count").data[voxel] as usize, count);
        seen[count] += 1;
        for k in 0..3 {
            let norm = vector(dirs, 3 * k, voxel).iter().map(|c| c * c).sum::<f64>().sqrt();
            let expected = if f[k] > 0.0 { 1.0 } else { 0.0 };
            assert!((norm - expected).abs() < 1e-6, "{norm}");
        }
    }
    assert!(seen.iter().all(|n| *n > 20), "voxels with 0 to 3 fibres: {seen:?}");
}

#[test]
fn every_crossing_angle_is_there() {
    let subject = subject(&small());
    let angles = &truth(&subject, "angle").data;
    for angle in [30.0, 45.0, 60.0, 75.0, 90.0] {
        let near = angles.iter().filter(|a| (**a - angle).abs() < 0.01).count();
        assert!(near >= 5, "{near} voxels at {angle} degrees");
    }
}

#[test]
fn the_unweighted_signal_is_s0_and_unmixed_voxels_decay_by_their_tensor() {
    let subject = subject(&small());
    let s0 = truth(&subject, "S0");
    let (fa, v1) = (truth(&subject, "FA"), truth(&subject, "V1"));
    let d = Diffusivities::default();
    let mut tested = 0;
    for voxel in subject.mask.voxels.iter().map(|&v| v as usize) {
        // Five fractions, each rounded to f32.
        let unweighted = subject.dwi.volume(0)[voxel] / s0.data[voxel];
        assert!((unweighted - 1.0).abs() < 5e-7, "{unweighted}");
        let axis = vector(v1, 0, voxel);
        if axis[0].is_nan() {
            continue;
        }
        assert!(fa.data[voxel] > 0.7);
        for volume in 1..subject.gradients.len() {
            let g = subject.gradients.dirs_ras[volume];
            let cosine: f64 = (0..3).map(|i| g[i] * axis[i]).sum();
            let along = d.radial + (d.axial - d.radial) * cosine * cosine;
            let b = subject.gradients.b_s_per_mm2[volume];
            let expected = f64::from(s0.data[voxel]) * (-b * along).exp();
            let found = f64::from(subject.dwi.volume(volume)[voxel]);
            // An exponent of at most 4 in f32.
            assert!((found / expected - 1.0).abs() < 2e-6, "{found} {expected}");
        }
        tested += 1;
    }
    assert!(tested > 100, "{tested}");
}

/// The bundle along scanner z (front right): its voxels point along scanner z and lie along a line
/// of scanner z, on an oblique grid of either handedness.
#[test]
fn a_bundle_along_a_scanner_axis_stays_so_on_oblique_grids() {
    for x_right_to_left in [false, true] {
        let mut spec = small();
        spec.placement.x_right_to_left = x_right_to_left;
        let subject = subject(&spec);
        let v1 = truth(&subject, "V1");
        let mut at = Vec::new();
        for voxel in subject.mask.voxels.iter().map(|&v| v as usize) {
            let pos_vox = subject.mask.grid.voxel(voxel).map(|i| i as f64);
            let pos_ras = subject.mask.grid.ras_from_vox.apply(pos_vox);
            if vector(v1, 0, voxel)[2].abs() > 0.999_999 && pos_ras[0] > 0.0 && pos_ras[1] > 0.0 {
                at.push(pos_ras);
            }
        }
        assert!(at.len() > 10, "{} voxels", at.len());
        let mean = |axis: usize| at.iter().map(|p| p[axis]).sum::<f64>() / at.len() as f64;
        let moment = |a: usize, b: usize| {
            at.iter().map(|p| (p[a] - mean(a)) * (p[b] - mean(b))).sum::<f64>() / at.len() as f64
        };
        // Long in z, and the line of its voxels does not lean: within 3 degrees, though the grid
        // leans by more.
        assert!(moment(2, 2) > 20.0 * moment(0, 0).max(moment(1, 1)));
        for axis in [0, 1] {
            let lean = (moment(axis, 2) / moment(2, 2)).atan().to_degrees();
            assert!(lean.abs() < 3.0, "{lean} degrees");
        }
    }
}

/// Bessel functions I0 and I1 times exp(-x), by their power series (all terms positive).
fn scaled_bessel(x: f64) -> [f64; 2] {
    [0, 1].map(|order| {
        let mut term = if order == 0 { 1.0 } else { 0.5 * x };
        let mut sum = term;
        for k in 1..500 {
            term *= 0.25 * x * x / (f64::from(k) * f64::from(k + order));
            sum += term;
        }
        sum * (-x).exp()
    })
}

/// Mean and variance of a Rician magnitude of true value `nu`.
fn rician(nu: f64, sigma: f64) -> [f64; 2] {
    // L_{1/2}(-2y) with y = nu²/(4 sigma²): exp(-y) ((1 + 2y) I0(y) + 2y I1(y)).
    let y = nu * nu / (4.0 * sigma * sigma);
    let [i0, i1] = scaled_bessel(y);
    let mean = sigma * (0.5 * std::f64::consts::PI).sqrt() * ((1.0 + 2.0 * y) * i0 + 2.0 * y * i1);
    [mean, nu * nu + 2.0 * sigma * sigma - mean * mean]
}

#[test]
fn noise_has_the_mean_and_variance_of_rice() {
    let clean = subject(&small());
    let noisy = subject(&CrossingSpec { snr: 5.0, seed: 3, ..small() });
    let sigma = noisy.truth.noise_sigma;
    assert!((sigma - 160.0).abs() < 1e-4);
    let inside: Vec<usize> = clean.mask.voxels.iter().map(|&v| v as usize).collect();
    let outside: Vec<usize> = (0..clean.mask.grid.len())
        .filter(|&v| clean.mask.voxels.binary_search(&(v as u32)).is_err())
        .collect();
    for (voxels, what) in [(inside, "tissue"), (outside, "background")] {
        let (mut deviation, mut variance, mut square, mut n) = (0.0, 0.0, 0.0, 0.0);
        for volume in 0..clean.gradients.len() {
            for &voxel in voxels.iter().step_by(5) {
                let nu = f64::from(clean.dwi.volume(volume)[voxel]);
                let [mean, var] = rician(nu, sigma);
                let d = f64::from(noisy.dwi.volume(volume)[voxel]) - mean;
                deviation += d;
                variance += var;
                square += d * d / var;
                n += 1.0;
            }
        }
        // Sums of n independent numbers: normal; 4 standard deviations happen once in 16000.
        let z: f64 = deviation / f64::sqrt(variance);
        assert!(z.abs() < 4.0, "{what}: mean is off by {z} standard errors");
        // The variance of d²/var is at most 2.3 for Rice, 2 for a normal number.
        let z = (square - n) / f64::sqrt(2.3 * n);
        assert!(z.abs() < 4.0, "{what}: variance is off by {z} standard errors");
    }
}

#[test]
fn noise_of_neighbours_and_volumes_is_independent() {
    let noisy = subject(&CrossingSpec { snr: 5.0, ..small() });
    let n = noisy.mask.grid.len();
    let outside: Vec<usize> = (0..n - 1)
        .filter(|&v| noisy.mask.voxels.binary_search(&(v as u32)).is_err())
        .filter(|&v| noisy.mask.voxels.binary_search(&(v as u32 + 1)).is_err())
        .collect();
    let [mean, variance] = rician(0.0, noisy.truth.noise_sigma);
    let d = |volume: usize, voxel: usize| f64::from(noisy.dwi.volume(volume)[voxel]) - mean;
    let pairs = outside.len() as f64;
    for (volume, step) in [(1, 0), (0, 1), (2, 0)] {
        let sum: f64 = outside.iter().map(|&v| d(0, v) * d(volume, v + step)).sum();
        let z = sum / (variance * pairs.sqrt());
        assert!(z.abs() < 4.0, "volume {volume}, voxel +{step}: {z} standard errors");
    }
}

#[test]
fn another_seed_is_other_noise_on_the_same_truth() {
    let [a, b] = [1, 2].map(|seed| subject(&CrossingSpec { snr: 20.0, seed, ..small() }));
    let same = a.dwi.data.iter().zip(&b.dwi.data).filter(|(x, y)| x == y).count();
    assert!(same < a.dwi.data.len() / 1000, "{same} samples are the same");
    assert_eq!(a.truth.map("dirs"), b.truth.map("dirs"));
}

#[test]
fn descriptions_fit_a_nifti_header() {
    for map in &subject(&small()).truth.maps {
        assert!(map.description.len() < 80, "{}", map.name);
    }
}

#[test]
fn impossible_specifications_are_refused() {
    let workers = Workers::new(1).unwrap();
    let error = |spec: CrossingSpec| crossing(&spec, &workers, &Silent).unwrap_err().to_string();
    let message = error(CrossingSpec { snr: 0.0, ..small() });
    assert_eq!(message, "SNR = 0.0: it must be positive (infinite for no noise)");
    assert!(error(CrossingSpec { snr: f64::NAN, ..small() }).starts_with("SNR = NaN"));
    assert!(error(CrossingSpec { samples_per_axis: 0, ..small() }).contains("samples per axis"));
    let diffusivities = Diffusivities { axial: 1.7, ..Diffusivities::default() };
    assert!(
        error(CrossingSpec { diffusivities, ..small() }).starts_with("axial diffusivity = 1.7")
    );
    let mut spec = small();
    spec.placement.dims = [0, 1, 1];
    let error = crossing(&spec, &workers, &Silent).unwrap_err();
    assert_eq!(error, PhantomError::Grid { dims: [0, 1, 1] });
}

#[test]
fn kurtosis_is_that_of_the_mixture() {
    let subject = subject(&small());
    let (mk, fractions) = (truth(&subject, "MK"), truth(&subject, "fractions"));
    let (mut pure, mut mixed) = (0, 0);
    for &voxel in &subject.mask.voxels {
        let voxel = voxel as usize;
        let f: Vec<f64> = (0..5).map(|k| f64::from(fractions.volume(k)[voxel])).collect();
        let found = f64::from(mk.data[voxel]);
        if f.iter().any(|&f| f > 1.0 - 1e-6) {
            // A Gaussian has none; f32 leaves 3 <D²>/<D>² - 3 some ulps of 3.
            assert!(found.abs() < 5e-6, "{f:?}: {found}");
            pure += 1;
        } else if f[3] + f[4] > 1.0 - 1e-6 {
            // Two isotropic compartments of 0.8 and 3 µm²/ms.
            let mean = 0.8 * f[3] + 3.0 * f[4];
            let expected = 3.0 * f[3] * f[4] * (3.0f64 - 0.8).powi(2) / (mean * mean);
            assert!((found - expected).abs() < 1e-5, "{f:?}: {found} for {expected}");
            mixed += 1;
        }
    }
    assert!(pure > 100 && mixed > 100, "{pure} pure and {mixed} mixed voxels");
}
