//! What `fimbria phantom protocol` may be told, and what it writes.

use clap::Args;
use fimbria_image::MapKind;
use fimbria_phantoms::{PerDirection, Placement, ProtocolSpec};
use serde::Serialize;

use crate::options::{Described as _, at_least, choice};
use crate::stages::head::{Snr, Three};
use crate::{FileKind, Named, Written};

/// The options of the phantom of a protocol.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct ProtocolOptions {
    /// Law that the signal of every direction follows exactly
    #[arg(long, value_name = "LAW", default_value = "kurtosis")]
    #[arg(value_parser = choice::<PerDirection>())]
    pub law: Named<PerDirection>,

    /// Number of voxels along x, y, z
    #[arg(long, value_name = "NX,NY,NZ", default_value = "128,128,16")]
    pub size: Three<usize>,

    /// Voxel size in mm
    #[arg(long, value_name = "MM", default_value = "0.46875,0.46875,0.75")]
    pub voxel: Three<f64>,

    /// Unweighted white-matter signal over the noise in either channel; inf for no noise
    #[arg(long, value_name = "SNR", default_value = "50")]
    pub snr: Snr,

    /// Seed of the noise
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    #[arg(number = at_least(0_u64, ""))]
    pub rng_seed: u64,
}

impl ProtocolOptions {
    /// What they describe.
    pub fn spec(&self) -> ProtocolSpec {
        let usual = ProtocolSpec::default();
        let (dims, voxel_mm) = (self.size.0, self.voxel.0);
        ProtocolSpec {
            placement: Placement { dims, voxel_mm, ..usual.placement },
            law: self.law.0,
            snr: self.snr.0,
            seed: self.rng_seed,
            ..usual
        }
    }
}

/// What `fimbria phantom protocol` writes.
pub const PROTOCOL_WRITES: &[Written] = &[
    Written::image("dwi", MapKind::Scalar, 305, "arbitrary", "the series"),
    Written::BVAL,
    Written::BVEC,
    Written::code("mask", "voxels at least half of which are brain"),
    Written::image("truth/dirs", MapKind::Peaks, 9, "", "as in `fimbria phantom crossing`"),
    Written::image("truth/fractions", MapKind::Scalar, 5, "", "the same"),
    Written::code("truth/count", "the same"),
    Written::scalar("truth/S0", "arbitrary", "the same"),
    Written::image("truth/D", MapKind::Scalar, 30, "mm^2/s", "diffusivity of every direction"),
    Written::image("truth/K", MapKind::Scalar, 30, "", "kurtosis of every direction")
        .only("with --law kurtosis"),
    Written::scalar("truth/MK", "", "mean of K").only("with --law kurtosis"),
    Written::image("truth/A", MapKind::Scalar, 30, "mm^2/s", "A of every direction")
        .only("with --law stretched"),
    Written::image("truth/gamma", MapKind::Scalar, 30, "", "gamma of every direction")
        .only("with --law stretched"),
    Written::scalar("truth/Mgamma", "", "mean of gamma").only("with --law stretched"),
    Written::file("run.json", FileKind::Json, "parameters, machine, times"),
];
