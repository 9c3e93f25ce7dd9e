//! From numbers to a checked table: the rules every format shares.

use super::{GradientError, GradientTable, Repair};
use crate::frames::{Matrix3, turned};

/// What the length of a direction says about b.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BScaling {
    /// By the format. FSL: lengths mean nothing; within 5 % of 1 they are normalised, beyond that
    /// the table is refused. MRtrix tables: as [`Yes`](Self::Yes) where b would change by more
    /// than 1 % anywhere (MRtrix3's own rule), else as [`No`](Self::No).
    #[default]
    Auto,
    /// b is multiplied by the squared length, as for schemes that are defined at the largest b and
    /// scale their directions down. A zero direction then is an unweighted volume.
    Yes,
    /// Directions are normalised whatever their length, b stays.
    No,
}

/// How a table is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableOptions {
    /// Number of volumes of the image; a table of any other length is refused.
    pub n_volumes: Option<usize>,
    /// b at or below which a volume counts as unweighted, in s/mm².
    pub b0_threshold: f64,
    /// What lengths other than 1 mean.
    pub b_scaling: BScaling,
}

impl Default for TableOptions {
    fn default() -> Self {
        Self {
            n_volumes: None,
            b0_threshold: GradientTable::DEFAULT_B0_THRESHOLD,
            b_scaling: BScaling::Auto,
        }
    }
}

/// A table and what had to be resolved to read it.
#[derive(Clone, Debug, PartialEq)]
pub struct GradientsRead {
    /// The table, checked, in scanner RAS+ axes.
    pub table: GradientTable,
    /// What was repaired; to be told to the user.
    pub repairs: Vec<Repair>,
}

/// The convention of a format for lengths other than 1, under [`BScaling::Auto`].
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Lengths {
    /// They are rounding, or an error.
    AreRounding,
    /// They scale b once that matters.
    ScaleB,
}

/// Directions shorter than this are none.
const SHORTEST: f64 = 1e-6;
/// Lengths this close to 1 are rounding of text with four decimals: normalised without a word.
const SILENT_LENGTH_ERROR: f64 = 1e-3;
/// Lengths this close to 1 may be rounding of text with one or two decimals.
const LARGEST_LENGTH_ERROR: f64 = 0.05;
/// MRtrix3 scales b once |ln |g|²| exceeds this anywhere in the table.
const MRTRIX_LOG_SCALE: f64 = 0.01;
/// No scanner reaches this b in s/mm²; a b of 1 s/mm² is this in s/m².
const LARGEST_B: f64 = 1e6;

/// Checks the numbers of a table, turns directions into scanner axes, and normalises them.
pub(super) fn assemble(
    mut b: Vec<f64>,
    dirs_file: Vec<[f64; 3]>,
    ras_from_file: &Matrix3,
    lengths: Lengths,
    options: &TableOptions,
) -> Result<GradientsRead, GradientError> {
    if b.len() != dirs_file.len() {
        return Err(GradientError::Count { b_values: b.len(), directions: dirs_file.len() });
    }
    if let Some(volumes) = options.n_volumes.filter(|&n| n != b.len()) {
        return Err(GradientError::Volumes { entries: b.len(), volumes });
    }
    let mut repairs = Vec::new();
    take_nan_as_unweighted(&mut b, &dirs_file, &mut repairs);
    check_b_values(&b)?;
    let (unit_dirs, norms) = normalise(&b, &dirs_file, options, &mut repairs)?;
    resolve_lengths(&mut b, &norms, lengths, options, &mut repairs)?;
    check_b_values(&b)?;
    let dirs_ras = unit_dirs.iter().map(|&g| turned(ras_from_file, g)).collect();
    let table = GradientTable { b_s_per_mm2: b, dirs_ras, b0_threshold: options.b0_threshold };
    Ok(GradientsRead { table, repairs })
}

/// b that is NaN where there is no direction either becomes 0: so some programs mark volumes without
/// weighting. With a direction it is a weighted volume of unknown b, which is refused later.
fn take_nan_as_unweighted(b: &mut [f64], dirs: &[[f64; 3]], repairs: &mut Vec<Repair>) {
    let mut volumes = 0;
    for (b, dir) in b.iter_mut().zip(dirs) {
        let norm = dir[0].hypot(dir[1]).hypot(dir[2]);
        if b.is_nan() && (norm.is_nan() || norm < SHORTEST) {
            *b = 0.0;
            volumes += 1;
        }
    }
    if volumes > 0 {
        repairs.push(Repair::NanB { volumes });
    }
}

/// Refuses what is no b-value, or is one in another unit.
fn check_b_values(b: &[f64]) -> Result<(), GradientError> {
    for (volume, &b_s_per_mm2) in b.iter().enumerate() {
        if !b_s_per_mm2.is_finite() || b_s_per_mm2 < 0.0 {
            return Err(GradientError::BValue { volume, b_s_per_mm2 });
        }
        if b_s_per_mm2 > LARGEST_B {
            return Err(GradientError::BUnit { volume, b_s_per_mm2 });
        }
    }
    Ok(())
}

/// Unit directions (zero where there is none), and the lengths of those of weighted volumes
/// (1 elsewhere: the length of an unweighted volume's direction means nothing).
fn normalise(
    b: &[f64],
    dirs: &[[f64; 3]],
    options: &TableOptions,
    repairs: &mut Vec<Repair>,
) -> Result<(Vec<[f64; 3]>, Vec<f64>), GradientError> {
    let mut unit_dirs = Vec::with_capacity(dirs.len());
    let mut norms = Vec::with_capacity(dirs.len());
    let mut nan_volumes = 0;
    for (volume, (&b_s_per_mm2, &dir)) in b.iter().zip(dirs).enumerate() {
        let weighted = b_s_per_mm2 > options.b0_threshold;
        let norm = dir[0].hypot(dir[1]).hypot(dir[2]);
        // NaN compares as false: it is no direction either.
        let has_direction = norm.is_finite() && norm >= SHORTEST;
        let may_scale_to_zero = options.b_scaling == BScaling::Yes && norm.is_finite();
        if weighted && !has_direction && !may_scale_to_zero {
            let b0_threshold = options.b0_threshold;
            return Err(GradientError::NoDirection { volume, b_s_per_mm2, b0_threshold, dir });
        }
        nan_volumes += usize::from(norm.is_nan());
        unit_dirs.push(if has_direction { dir.map(|c| c / norm) } else { [0.0; 3] });
        norms.push(match (weighted, has_direction) {
            (false, _) => 1.0,
            (true, true) => norm,
            (true, false) => 0.0,
        });
    }
    if nan_volumes > 0 {
        repairs.push(Repair::NanDirections { volumes: nan_volumes });
    }
    Ok((unit_dirs, norms))
}

/// Scales b by squared lengths, or refuses them, or says that they were normalised.
fn resolve_lengths(
    b: &mut [f64],
    norms: &[f64],
    lengths: Lengths,
    options: &TableOptions,
    repairs: &mut Vec<Repair>,
) -> Result<(), GradientError> {
    let off = |norm: &f64| (norm - 1.0).abs() > SILENT_LENGTH_ERROR;
    let volumes = norms.iter().filter(|n| off(n)).count();
    // Asked for in words, even rounding scales b, as it does in MRtrix3.
    if volumes == 0 && options.b_scaling != BScaling::Yes {
        return Ok(());
    }
    let shortest = norms.iter().copied().fold(f64::INFINITY, f64::min);
    let longest = norms.iter().copied().fold(0.0, f64::max);
    let matters = |norm: &f64| (norm * norm).ln().abs() > MRTRIX_LOG_SCALE;
    let scale = match (options.b_scaling, lengths) {
        (BScaling::Yes, _) => true,
        (BScaling::No, _) => false,
        (BScaling::Auto, Lengths::ScaleB) => norms.iter().any(matters),
        (BScaling::Auto, Lengths::AreRounding) => {
            let too_far = norms.iter().position(|n| (n - 1.0).abs() > LARGEST_LENGTH_ERROR);
            if let Some(volume) = too_far {
                return Err(GradientError::NotUnit { volume, length: norms[volume] });
            }
            false
        }
    };
    if scale {
        for (b, norm) in b.iter_mut().zip(norms) {
            *b *= norm * norm;
        }
        let (smallest, largest) = (shortest * shortest, longest * longest);
        if volumes > 0 {
            repairs.push(Repair::BScaled { volumes, smallest, largest });
        }
    } else {
        repairs.push(Repair::Normalised { volumes, shortest, longest });
    }
    Ok(())
}
