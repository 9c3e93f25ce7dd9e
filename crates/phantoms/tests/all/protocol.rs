//! The protocol phantom against what it promises.

use fimbria_compute::{Silent, Workers};
use fimbria_phantoms::{
    B_VALUES_S_PER_MM2, DIRECTIONS, PerDirection, Placement, ProtocolSpec, Subject, protocol,
};

/// The paper's field of view at a fifth of its resolution, without noise.
fn subject(law: PerDirection) -> Subject {
    let full = ProtocolSpec::default();
    let placement = Placement { dims: [26, 26, 4], voxel_mm: [2.3, 2.3, 3.0], ..full.placement };
    let spec = ProtocolSpec { placement, law, snr: f64::INFINITY, ..full };
    protocol(&spec, &Workers::new(2).unwrap(), &Silent).unwrap()
}

#[test]
fn the_default_is_the_papers_acquisition() {
    let spec = ProtocolSpec::default();
    assert_eq!(spec.placement.dims, [128, 128, 16]);
    // 470 micrometres in plane.
    assert!((spec.placement.voxel_mm[0] - 0.47).abs() < 0.005);
    assert_eq!(spec.placement.voxel_mm[2], 0.75);
    let table = subject(spec.law).gradients;
    assert_eq!(table.len(), 305);
    let shells = table.shells();
    assert_eq!(shells.iter().map(|s| s.volumes.len()).collect::<Vec<_>>(), {
        let mut expected = vec![5];
        expected.extend([DIRECTIONS; 10]);
        expected
    });
    assert_eq!(shells[1].b_s_per_mm2, 100.0);
    assert_eq!(shells[10].b_s_per_mm2, 8000.0);
    for (shell, b) in shells[1..].iter().zip(B_VALUES_S_PER_MM2) {
        assert_eq!(shell.b_s_per_mm2, b);
        for (k, &volume) in shell.volumes.iter().enumerate() {
            assert_eq!(table.dirs_ras[volume], table.dirs_ras[5 + k], "direction {k} at b = {b}");
        }
    }
}

/// Calls `check(b, direction, voxel, S/S0)` for every sample in the mask.
fn for_samples(subject: &Subject, mut check: impl FnMut(f64, usize, usize, f64)) {
    let s0 = subject.truth.map("S0").unwrap();
    for (i, b) in B_VALUES_S_PER_MM2.into_iter().enumerate() {
        for direction in 0..DIRECTIONS {
            let volume = subject.dwi.volume(5 + i * DIRECTIONS + direction);
            for voxel in subject.mask.voxels.iter().map(|&v| v as usize) {
                check(b, direction, voxel, f64::from(volume[voxel]) / f64::from(s0.data[voxel]));
            }
        }
    }
}

#[test]
fn every_direction_follows_its_kurtosis() {
    let subject = subject(PerDirection::Kurtosis);
    let [d, k] = ["D", "K"].map(|name| subject.truth.map(name).unwrap());
    let (mut least, mut most) = (f64::INFINITY, 0.0f64);
    for_samples(&subject, |b, direction, voxel, ratio| {
        let (d, k) = (f64::from(d.volume(direction)[voxel]), f64::from(k.volume(direction)[voxel]));
        let expected = (-b * d + b * b * d * d * k / 6.0).exp();
        // An exponent of at most 2.4, its K known to 3e-7 of 3.5.
        assert!((ratio / expected - 1.0).abs() < 5e-6, "{ratio} {expected}");
        (least, most) = (least.min(k), most.max(k));
        // Beyond b D K = 3 the signal would rise again with b.
        assert!(8e3 * d * k < 3.0, "D = {d}, K = {k}");
    });
    assert!(least > 0.4 && most > 0.9, "K from {least} to {most}");
}

#[test]
fn every_direction_follows_its_stretched_exponential() {
    let subject = subject(PerDirection::Stretched);
    let [a, gamma] = ["A", "gamma"].map(|name| subject.truth.map(name).unwrap());
    for_samples(&subject, |b, direction, voxel, ratio| {
        let a = f64::from(a.volume(direction)[voxel]);
        let gamma = f64::from(gamma.volume(direction)[voxel]);
        assert!((0.6..0.9).contains(&gamma), "{gamma}");
        let expected = (-a * b.powf(gamma)).exp();
        // (b D)^gamma by logarithms of up to 9 in f32.
        assert!((ratio / expected - 1.0).abs() < 1e-5, "{ratio} {expected}");
    });
}

#[test]
fn means_are_means_over_directions() {
    for (law, each, mean) in
        [(PerDirection::Kurtosis, "K", "MK"), (PerDirection::Stretched, "gamma", "Mgamma")]
    {
        let subject = subject(law);
        let [each, mean] = [each, mean].map(|name| subject.truth.map(name).unwrap());
        for voxel in subject.mask.voxels.iter().map(|&v| v as usize) {
            let sum: f64 = (0..DIRECTIONS).map(|k| f64::from(each.volume(k)[voxel])).sum();
            assert!((sum / 30.0 - f64::from(mean.data[voxel])).abs() < 1e-6);
        }
    }
}

#[test]
fn a_fixed_brain_has_no_fluid() {
    let subject = subject(PerDirection::Kurtosis);
    assert!(subject.truth.map("fractions").unwrap().volume(4).iter().all(|f| *f == 0.0));
    assert!(subject.mask.len() > 300);
}
