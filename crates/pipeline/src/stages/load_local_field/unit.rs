//! What the numbers of a field map are, and whether they can be that.

use fimbria_image::{Image, Mask};
use fimbria_qsm::QsmError;
use fimbria_qsm::phase::HZ_PER_TESLA;

use super::LocalFieldError;
use crate::{Choice, Logbook, Page};

/// What the numbers of a field map are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldUnit {
    /// Parts per million of B0.
    #[default]
    Ppm,
    /// Hertz of the proton's resonance.
    Hz,
    /// Radians per second of it.
    RadPerS,
    /// Tesla.
    Tesla,
    /// Any, as a phase whose echo time is not known: the map is relative, too.
    Relative,
}

impl Choice for FieldUnit {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Ppm, "ppm", "parts per million of B0"),
        (Self::Hz, "hz", "hertz; needs --b0"),
        (Self::RadPerS, "rad/s", "radians per second; needs --b0"),
        (Self::Tesla, "tesla", "tesla; needs --b0"),
        (Self::Relative, "relative", "any, as `field --relative` makes it; the map is in the same"),
    ];
}

impl FieldUnit {
    /// What a number of this unit is multiplied by to be in ppm at `b0_tesla`.
    pub fn ppm(self, b0_tesla: f64) -> f64 {
        let of_tesla = 1e6 / b0_tesla;
        match self {
            Self::Ppm => 1.0,
            Self::Hz => of_tesla / HZ_PER_TESLA,
            Self::RadPerS => of_tesla / HZ_PER_TESLA / std::f64::consts::TAU,
            Self::Tesla => of_tesla,
            // What it is is not known.
            Self::Relative => 1.0,
        }
    }
}

/// What the median magnitude of a relative field is taken for, so that the usual strengths are those of
/// such fields: in brains it is 0.003 to 0.02 ppm.
const MEDIAN_OF_RELATIVE: f64 = 0.01;

/// What the numbers of a relative `field` are multiplied by; 1 where half of them are 0.
pub(in crate::stages) fn factor_of_relative(field: &Image, mask: &Mask) -> f64 {
    let mut values: Vec<f32> = mask.voxels.iter().map(|&v| field.data[v as usize].abs()).collect();
    if values.is_empty() {
        return 1.0;
    }
    let middle = values.len() / 2;
    let median = f64::from(*values.select_nth_unstable_by(middle, f32::total_cmp).1);
    if median > 0.0 && median.is_finite() { MEDIAN_OF_RELATIVE / median } else { 1.0 }
}

/// Who says what the numbers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// Nobody: the default is taken.
    Nowhere,
    /// The user.
    ByUser,
    /// The format of the file.
    ByFormat,
}

/// Beyond this, in ppm, no voxel has a field: it would be a hundredth of B0.
const LARGEST_PPM: f64 = 1e4;
/// Beyond this, in ppm, the median magnitude of a local field is no local field.
const LARGEST_MEDIAN_PPM: f64 = 2.0;
/// Beyond this it is unlike one, whose median is some 0.003 to 0.02 in brains: 50 to 130 times that
/// in hertz.
const USUAL_MEDIAN_PPM: f64 = 0.1;
/// Below this the root mean square is below the noise of any scan.
const LEAST_RMS_PPM: f64 = 1e-5;
/// One voxel in twenty of a brain's field is beyond 0.01 ppm or more; where numbers were converted
/// and even these are below this, they were in ppm before.
const LEAST_CONVERTED_PPM: f64 = 2e-3;

/// Makes sure that numbers of `unit`, `factor` ppm each, can be those of a local field.
pub(super) fn check_numbers(
    field: &Image,
    mask: &Mask,
    (unit, said): (FieldUnit, Said),
    factor: f64,
    log: &Logbook<'_>,
) -> Result<(), LocalFieldError> {
    let mut values: Vec<f32> = mask.voxels.iter().map(|&v| field.data[v as usize].abs()).collect();
    let count = values.iter().filter(|v| !v.is_finite()).count();
    if count > 0 {
        return Err(QsmError::NotFinite { what: "the field", count }.into());
    }
    values.sort_unstable_by(f32::total_cmp);
    let ppm_each = match unit {
        FieldUnit::Relative => factor_of_relative(field, mask),
        _ => factor.abs(),
    };
    let beyond = values.len() - values.partition_point(|&v| f64::from(v) * ppm_each <= LARGEST_PPM);
    if let (1.., Some(&worst)) = (beyond, values.last()) {
        return Err(LocalFieldError::Beyond { count: beyond, most: LARGEST_PPM, worst });
    }
    let squares: f64 = values.iter().map(|&v| f64::from(v).powi(2)).sum();
    let rms = (squares / values.len() as f64).sqrt();
    let median = f64::from(values[values.len() / 2]);
    let strong = f64::from(values[values.len() * 19 / 20]);
    if unit == FieldUnit::Relative {
        return Ok(());
    }
    let (name, factor) = (unit.name(), factor.abs());
    if median * factor > LARGEST_MEDIAN_PPM {
        return Err(LocalFieldError::TooStrong { median, unit: name, ppm: median * factor });
    }
    if rms == 0.0 {
        log.warn(
            Page::Susceptibility,
            "the field is 0 in every voxel of the mask, and so will be the map",
        );
    } else if rms * factor < LEAST_RMS_PPM {
        return Err(LocalFieldError::TooWeak { rms, unit: name, ppm: rms * factor });
    }
    let is_converted = said == Said::ByUser && unit != FieldUnit::Ppm;
    if is_converted && strong * factor < LEAST_CONVERTED_PPM {
        return Err(LocalFieldError::RatherPpm { strong, unit: name, ppm: strong * factor });
    }
    if median * factor > USUAL_MEDIAN_PPM {
        if said == Said::Nowhere {
            return Err(LocalFieldError::Unsaid { median });
        }
        log.warn(Page::Susceptibility, &format!(
            "half of the field's voxels are beyond ±{:.2} ppm; a brain's local field is some 0.01 \
             ppm: is it in another unit (--field-unit), or with its background?",
            median * factor
        ));
    }
    Ok(())
}
