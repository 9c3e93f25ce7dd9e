//! The options of a head, and of other digital subjects.

use std::fmt;
use std::str::FromStr;

use clap::Args;
use fimbria_phantoms::head::{Encoding, Faults, HeadScan, HeadSpec};
use fimbria_phantoms::{Acquisition, Placement, ShellSpec};
use serde::{Serialize, Serializer};

use crate::options::{Described as _, above, at_least, choice, within};
use crate::{Choice, Named};

/// The options of a head.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct HeadOptions {
    /// Which head: folds, size and ventricles differ from number to number
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(number = at_least(0_u64, ""))]
    pub subject: u64,

    /// Voxel size in mm
    #[arg(long, value_name = "MM", default_value = "2.5")]
    pub voxel: Three<f64>,

    /// Number of voxels along x, y, z
    #[arg(long, value_name = "NX,NY,NZ", usually = "what holds the whole head")]
    pub size: Option<Three<usize>>,

    /// Turns of the grid about scanner x, y, z in degrees
    #[arg(long, value_name = "DEG", default_value = "6,-4,3", allow_hyphen_values = true)]
    pub tilt: Three<f64>,

    /// Store x from left to right (det(affine) > 0) instead of right to left
    #[arg(long)]
    pub x_left_to_right: bool,

    /// Its series.
    #[command(flatten)]
    #[serde(flatten)]
    pub series: SeriesOptions,

    /// Shape of the b-tensors: of all shells, or of each
    #[arg(long, value_name = "SHAPE,...", value_delimiter = ',', value_parser = choice::<Encoding>())]
    #[arg(usually = "linear")]
    pub b_tensor: Option<Vec<Named<Encoding>>>,

    /// The head moves during the series, up to so far from where it was first, and turns by up to as
    /// many degrees
    #[arg(long, value_name = "MM", default_value_t = 0.0, number = within(0.0, 50.0, "mm"))]
    pub motion: f64,

    /// Slices of weighted volumes that lose 60 to 95 % of their signal
    #[arg(long, value_name = "N", default_value_t = 0)]
    #[arg(number = at_least(0_usize, ""))]
    pub dropped_slices: usize,

    /// Largest deviation of the gradients in the brain, as a fraction
    #[arg(long, value_name = "PART", default_value_t = 0.0, number = within(0.0, 0.3, ""))]
    pub nonlinearity: f64,

    /// Points along each axis at which a voxel on a boundary is sampled
    #[arg(long, value_name = "N", default_value_t = 3, number = within(2_usize, 8, ""))]
    pub samples: usize,

    /// Also a gradient-echo scan; echo times in milliseconds
    #[arg(long, value_name = "MS,...", num_args = 0..=1, default_missing_value = "4,12,20,28")]
    pub gre: Option<EchoTimes>,

    /// Strength of B0 in that scan; it is along scanner z
    #[arg(long, value_name = "TESLA", number = above(0.0, "T"), requires = "gre", usually = "3")]
    pub gre_b0: Option<f64>,

    /// Voxel size of that scan, the same along all axes
    #[arg(long, value_name = "MM", number = above(0.0, "mm"), requires = "gre")]
    #[arg(usually = "that of the series")]
    pub gre_voxel: Option<f64>,

    /// White matter's magnitude at echo time 0 over the noise in either channel; inf for no noise
    #[arg(long, value_name = "SNR", requires = "gre", usually = "100")]
    pub gre_snr: Option<Snr>,
}

/// The options of a phantom's diffusion series.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct SeriesOptions {
    /// Number of unweighted volumes
    #[arg(long, value_name = "N", default_value_t = 6)]
    #[arg(number = at_least(0_usize, ""))]
    pub b0s: usize,

    /// Shells, each b in s/mm² and number of directions
    #[arg(long, value_name = "B:N,...", default_value = "1000:30,2000:60", value_delimiter = ',')]
    pub shells: Vec<Shell>,

    /// Unweighted white-matter signal over the noise in either channel; inf for no noise
    #[arg(long, value_name = "SNR", default_value = "30")]
    pub snr: Snr,

    /// Seed of the noise
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    #[arg(number = at_least(0_u64, ""))]
    pub rng_seed: u64,
}

impl SeriesOptions {
    /// Which volumes it has.
    pub(crate) fn acquisition(&self) -> Acquisition {
        Acquisition { b0s: self.b0s, shells: self.shells.iter().map(|shell| shell.0).collect() }
    }
}

impl Choice for Encoding {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Linear, "linear", "along one direction, as in nearly every scan"),
        (Self::Planar, "planar", "in the plane across it"),
        (Self::Spherical, "spherical", "in all directions alike"),
    ];
}

/// The size of a box that holds the head, mm.
const HEAD_MM: [f64; 3] = [180.0, 220.0, 176.0];

impl HeadOptions {
    /// What they describe.
    pub fn spec(&self) -> HeadSpec {
        let voxel_mm = self.voxel.0;
        let whole = || [0, 1, 2].map(|a| (HEAD_MM[a] / voxel_mm[a]).ceil().max(1.0) as usize);
        HeadSpec {
            placement: Placement {
                dims: self.size.map_or_else(whole, |size| size.0),
                voxel_mm,
                tilt_deg: self.tilt.0,
                x_right_to_left: !self.x_left_to_right,
            },
            acquisition: self.series.acquisition(),
            snr: self.series.snr.0,
            seed: self.series.rng_seed,
            subject: self.subject,
            samples_per_axis: self.samples,
            encodings: self.b_tensor.iter().flatten().map(|named| named.0).collect(),
            faults: Faults {
                motion: self.motion,
                dropped_slices: self.dropped_slices,
                nonlinearity: self.nonlinearity,
            },
            scan: self.gre.as_ref().map(|times| {
                let usual = HeadScan::default();
                HeadScan {
                    echo_times_s: times.0.iter().map(|ms| 1e-3 * ms).collect(),
                    b0_tesla: self.gre_b0.unwrap_or(usual.b0_tesla),
                    snr: self.gre_snr.map_or(usual.snr, |snr| snr.0),
                    voxel_mm: self.gre_voxel,
                    ..usual
                }
            }),
        }
    }
}

/// Echo times in milliseconds, written with commas between.
#[derive(Clone, Debug, PartialEq)]
pub struct EchoTimes(pub Vec<f64>);

impl FromStr for EchoTimes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let times: Result<Vec<f64>, _> = text.split(',').map(|part| part.trim().parse()).collect();
        times.map(Self).map_err(|_| "write times in ms separated by commas".to_owned())
    }
}

impl Serialize for EchoTimes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let times: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        serializer.collect_str(&times.join(","))
    }
}

/// Two numbers, written with a comma between; one stands for both.
pub type Two<T> = Several<T, 2>;

/// Three numbers, written with commas between; one stands for all three.
pub type Three<T> = Several<T, 3>;

/// So many numbers, written with commas between; one stands for all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Several<T, const N: usize>(pub [T; N]);

impl<T: FromStr + Copy, const N: usize> FromStr for Several<T, N> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Result<Vec<T>, _> = text.split(',').map(|part| part.trim().parse()).collect();
        let numbers = numbers.unwrap_or_default();
        match (numbers.as_slice().try_into(), numbers.as_slice()) {
            (Ok(each), _) => Ok(Self(each)),
            (Err(_), &[all]) => Ok(Self([all; N])),
            _ if N == 2 => Err("write one number, or two separated by a comma".to_owned()),
            _ => Err("write one number, or three separated by commas".to_owned()),
        }
    }
}

impl<T: fmt::Display, const N: usize> Serialize for Several<T, N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let numbers: Vec<_> = self.0.iter().map(T::to_string).collect();
        serializer.serialize_str(&numbers.join(","))
    }
}

/// A shell, written as in `1000:30`: b in s/mm² and number of directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shell(pub ShellSpec);

impl FromStr for Shell {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once(':');
        let shell = parts.and_then(|(b, n)| {
            let (b_s_per_mm2, directions) = (b.trim().parse().ok()?, n.trim().parse().ok()?);
            Some(Self(ShellSpec { b_s_per_mm2, directions }))
        });
        shell.ok_or_else(|| "write b and number of directions, such as 1000:30".to_owned())
    }
}

impl Serialize for Shell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ShellSpec { b_s_per_mm2, directions } = self.0;
        serializer.collect_str(&format_args!("{b_s_per_mm2}:{directions}"))
    }
}

/// A signal-to-noise ratio, `inf` for no noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Snr(pub f64);

impl FromStr for Snr {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<f64>() {
            Ok(snr) if snr > 0.0 => Ok(Self(snr)),
            _ => Err("it must be a number above 0, or inf for no noise".to_owned()),
        }
    }
}

impl Serialize for Snr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // JSON has no infinity.
        if self.0.is_finite() {
            serializer.serialize_f64(self.0)
        } else {
            serializer.serialize_str("inf")
        }
    }
}
