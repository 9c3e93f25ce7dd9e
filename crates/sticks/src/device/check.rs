//! The kernel against the CPU, for `fimbria devices --check`.

use fimbria_compute::check::{Check, Comparison, Extent};
use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::philox::{Philox, normals};

use super::{DeviceSampler, source};
use crate::batch::{BatchRows, Recorded};
use crate::lanes::{Constants, sample_singly};
use crate::oracle::Posterior;
use crate::protocol::Protocol;
use crate::slots::{DIFFUSIVITY, MOST, OFFSET, PRECISION, RATIO, S0, SPREAD, fraction, phi, theta};
use crate::{Diffusivity, Noise, Offset, SticksOptions};

/// A check of one sampling, with so much group memory for rows of measurements; the samples must have the
/// bits of the CPU's.
pub(crate) fn check(
    name: &'static str,
    options: SticksOptions,
    is_bent: bool,
    group_bytes: usize,
) -> Check {
    let sources = vec![source(&Constants::new(&options, &acquisition()), is_bent, group_bytes)];
    Check::new(name, sources, move |device, extent| {
        compare(device, extent, &options, is_bent, group_bytes)
    })
}

/// A volume without weighting, then 40 directions at b = 1 and 2 ms/µm² in turn.
pub(crate) fn acquisition() -> Protocol {
    let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
    let mut protocol = Protocol { root: vec![[0.0; 3]], b: vec![0.0] };
    for i in 0..40 {
        let z = (f64::from(i) + 0.5) / 40.0;
        let (s, c) = (golden * f64::from(i)).sin_cos();
        let b = f64::from(1 + i % 2);
        protocol.b.push(b);
        let r = (1.0 - z * z).sqrt();
        protocol.root.push([r * c, r * s, z].map(|g| g * b.sqrt()));
    }
    protocol
}

/// Two crossing fibres that differ from voxel to voxel, noise of SNR 25, and starts near by.
pub(crate) fn simulate(options: &SticksOptions, n: usize, is_bent: bool) -> BatchRows {
    let protocol = acquisition();
    let mut rows = BatchRows::new(n, protocol.len(), is_bent);
    let stride = rows.stride;
    for voxel in 0..n {
        let item = voxel as u64;
        rows.items[voxel] = 1000 + 7 * voxel as u32;
        let noise: Vec<f64> = (0..16)
            .flat_map(|step| normals::<f32>(Philox::new(3).at(item, step)))
            .map(f64::from)
            .collect();
        let mut p = [0.0; MOST];
        (p[S0], p[DIFFUSIVITY], p[SPREAD], p[RATIO]) = (1.5, 1.4, 0.4, 0.13);
        p[OFFSET] = if options.offset == Offset::None { 0.0 } else { 0.03 };
        p[PRECISION] = 400.0;
        for k in 0..options.n_fibres {
            p[theta(k)] = 0.25 + 0.03 * noise[60 + k % 2];
            p[phi(k)] = 0.2 * k as f64 + 0.05 * noise[62 + k % 2];
            p[fraction(k)] = 0.4 / (1.0 + k as f64);
        }
        for k in 0..MOST {
            rows.starts[k * stride + voxel] = p[k] as f32;
        }
        let posterior = Posterior { options, protocol: &protocol, y: &[], bend: None };
        for i in 0..protocol.len() {
            let signal = p[S0] * posterior.attenuation(&p, i) + 0.04 * noise[i];
            rows.y[i * stride + voxel] = signal.max(0.01) as f32;
        }
        if let Some(bend) = &mut rows.bend {
            for k in 0..9 {
                let nominal = f64::from(u8::from(k % 4 == 0));
                bend[k * stride + voxel] = (nominal + 0.02 * noise[44 + k]) as f32;
            }
        }
    }
    rows.pad();
    rows
}

/// Short chains, long enough to adapt and to meet every branch.
pub(crate) fn short(diffusivity: Diffusivity, noise: Noise, offset: Offset) -> SticksOptions {
    SticksOptions {
        diffusivity,
        noise,
        offset,
        n_fibres: 2,
        burn_in: 20,
        jumps: 40,
        sample_every: 10,
        adapt_every: 8,
        seed: 11,
        ..SticksOptions::default()
    }
}

fn compare(
    device: &Device,
    extent: Extent,
    options: &SticksOptions,
    is_bent: bool,
    group_bytes: usize,
) -> Result<Comparison, DeviceError> {
    let (n, options) = match extent {
        Extent::Toy => {
            (2, SticksOptions { burn_in: 2, jumps: 4, sample_every: 2, ..options.clone() })
        }
        Extent::Full => (40, options.clone()),
    };
    let constants = Constants::new(&options, &acquisition());
    let rows = simulate(&options, n, is_bent);
    let empty = || Recorded::new(options.n_samples(), constants.sampled.len(), rows.stride);
    let (mut expected, mut found) = (empty(), empty());
    sample_singly(&rows.batch(), &constants, &mut expected);
    let source = source(&constants, is_bent, group_bytes);
    DeviceSampler::with_source(device, &constants, &source)?.sample(&rows.batch(), &mut found)?;
    let bits = |recorded: &Recorded| -> Vec<u32> {
        recorded.samples.iter().chain(&recorded.acceptance).map(|x| x.to_bits()).collect()
    };
    Ok(Comparison::of_bits(&bits(&expected), &bits(&found)))
}
