//! What makes a series or an image doubtful although it can be read.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::Path;

use fimbria_image::gradients::Shell;
use fimbria_image::{
    GradientTable, ImageHeader, Mask, Orientation, SignalSource, beside_image, counted,
};

use crate::{Logbook, Page};

/// Something that is likely a mistake. `Display` gives one sentence for the user.
#[derive(Clone, Debug, PartialEq)]
pub enum Doubt {
    /// No volume is weighted.
    Unweighted {
        /// The largest b, s/mm².
        largest: f64,
        /// b at or below which a volume counts as unweighted, s/mm².
        threshold: f64,
    },
    /// The largest b is one that hardly weights.
    SmallB(f64),
    /// No volume is unweighted.
    NoB0 {
        /// The smallest b, s/mm².
        smallest: f64,
        /// As above.
        threshold: f64,
    },
    /// b-values that lie close together form no shell.
    NoShell(Shell),
    /// Volumes are weighted along more than one direction, says the file beside the series.
    Shaped {
        /// How many.
        volumes: usize,
    },
    /// The file does not say how it lies in the scanner.
    NoOrientation,
}

/// Largest b, s/mm², that no series of diffusion has: at 100 water itself keeps 70 % of its signal.
const SMALL_B: f64 = 100.0;

impl Doubt {
    /// What is doubtful about a gradient table.
    pub fn about_table(table: &GradientTable) -> Option<Self> {
        let threshold = table.b0_threshold;
        let (least, most) = (f64::INFINITY, 0.0);
        let b = table.b_s_per_mm2.iter().copied();
        let (smallest, largest) = (b.clone().fold(least, f64::min), b.fold(most, f64::max));
        if largest <= threshold {
            Some(Self::Unweighted { largest, threshold })
        } else if largest <= SMALL_B {
            Some(Self::SmallB(largest))
        } else if smallest > threshold {
            Some(Self::NoB0 { smallest, threshold })
        } else {
            table.shells().into_iter().find(Shell::is_spread).map(Self::NoShell)
        }
    }

    /// What is doubtful about the shapes of b-tensors: numbers in NAME.bshape beside the series, 1 where
    /// they are linear.
    pub fn about_shapes(series: &Path) -> Option<Self> {
        let text = fimbria_image::read_regular_text(beside_image(series, "bshape")?).ok()?;
        let shaped = text.split_whitespace().filter(|word| word.parse() != Ok(1.0));
        let volumes = shaped.count();
        (volumes > 0).then_some(Self::Shaped { volumes })
    }

    /// What is doubtful about the place of an image.
    pub fn about_place(header: &ImageHeader) -> Option<Self> {
        (header.orientation() == Orientation::Absent).then_some(Self::NoOrientation)
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unweighted { largest, threshold } => write!(
                f,
                "no volume is weighted: the largest b is {largest} s/mm², and up to {threshold} \
                 volumes count as unweighted; b must be in s/mm² (1 ms/µm² is 1000 s/mm²)"
            ),
            Self::SmallB(largest) => write!(
                f,
                "the largest b is {largest} s/mm²: is it in ms/µm²? (1 ms/µm² is 1000 s/mm²)"
            ),
            Self::NoB0 { smallest, threshold } => write!(
                f,
                "no volume is unweighted (b up to {threshold} s/mm²; --b0-threshold changes that): \
                 the signal without weighting is extrapolated from b = {smallest} on"
            ),
            Self::NoShell(shell) => {
                let [low, high] = shell.range_s_per_mm2;
                write!(
                    f,
                    "b-values from {low:.0} to {high:.0} s/mm² run into each other and are no shell: densities, \
                     spherical means, mean-signal kurtosis and corrections take these volumes for one at {:.0} \
                     (--shells chooses others)",
                    shell.b_s_per_mm2
                )
            }
            Self::Shaped { volumes } => write!(
                f,
                "the .bshape beside it says that b-tensors of {} are not linear, as all models here need \
                 them: take those volumes out",
                counted(*volumes, "volume")
            ),
            Self::NoOrientation => f.write_str(
                "the header does not say how the image lies in the scanner (sform_code and \
                 qform_code 0, or no transform): x is taken to run from right to left, and left and \
                 right may be exchanged in all that follows",
            ),
        }
    }
}

impl std::error::Error for Doubt {}

/// Warns of a gradient table that is likely wrong.
///
/// # Errors
/// [`Doubt::Unweighted`], of which nothing can be made.
pub fn check_table(table: &GradientTable, log: &Logbook<'_>) -> Result<(), Doubt> {
    match Doubt::about_table(table) {
        Some(doubt @ Doubt::Unweighted { .. }) => return Err(doubt),
        Some(doubt) => log.warn(Page::Troubleshooting, &doubt.to_string()),
        None => {}
    }
    Ok(())
}

/// Warns of a signal that decays as in no tissue in most voxels: b is in another unit then, or the table
/// is that of another series.
pub fn warn_of_decay(
    series: &dyn SignalSource,
    table: &GradientTable,
    mask: &Mask,
    log: &Logbook<'_>,
) {
    let mut found = apparent_diffusivities(series, table, mask);
    let outside = found.iter().filter(|d| !DIFFUSIVITIES.contains(*d)).count();
    if 2 * outside <= found.len() {
        return;
    }
    let (middle, percent) = (found.len() / 2, 100 * outside / found.len());
    let (_, median, _) = found.select_nth_unstable_by(middle, f64::total_cmp);
    log.warn(Page::Troubleshooting, &format!(
        "the diffusivity is outside what diffusion can be, 1e-5 to 5e-3 mm²/s, in {percent} % of the \
         voxels (median {median:.1e}): is b in s/mm², and is the gradient table that of the series?"
    ));
}

/// Diffusivities of tissue and of free water at any temperature of a body, mm²/s.
const DIFFUSIVITIES: RangeInclusive<f64> = 1e-5..=5e-3;

/// ln(S(0) / S(b)) / b, mm²/s, of some voxels of the mask: both are means over volumes, and b is that of
/// the smallest shell that weights enough to tell, else the largest. Of voxels without signal, and without unweighted
/// volumes, there is none.
fn apparent_diffusivities(
    series: &dyn SignalSource,
    table: &GradientTable,
    mask: &Mask,
) -> Vec<f64> {
    /// About so many voxels are looked at.
    const LOOKED_AT: usize = 4096;
    let shells = table.shells();
    let mut weighted = shells.iter().filter(|shell| shell.b_s_per_mm2 > table.b0_threshold);
    let (Some(none), Some(some)) = (
        shells.iter().find(|shell| shell.b_s_per_mm2 <= table.b0_threshold),
        weighted.clone().find(|shell| shell.b_s_per_mm2 > SMALL_B).or(weighted.next_back()),
    ) else {
        return Vec::new();
    };
    let mut row = vec![0.0_f32; series.n_volumes()];
    let mean = |row: &[f32], shell: &Shell| {
        let sum: f64 = shell.volumes.iter().map(|volume| f64::from(row[*volume])).sum();
        sum / shell.volumes.len() as f64
    };
    let step = (mask.len() / LOOKED_AT).max(1);
    let looked_at = mask.voxels.iter().step_by(step).filter_map(|voxel| {
        series.gather(&[*voxel], 1, &mut row);
        let (without, with) = (mean(&row, none), mean(&row, some));
        (without > 0.0 && with > 0.0).then(|| (without / with).ln() / some.b_s_per_mm2)
    });
    looked_at.filter(|diffusivity| diffusivity.is_finite()).collect()
}

/// [`warn_of_place`] of a file, if it is an image.
pub(crate) fn warn_of_place_of(file: &Path, log: &Logbook<'_>) {
    if let Ok(header) = ImageHeader::read(file) {
        warn_of_place(&header, log);
    }
}

/// Warns where an image does not say how it lies.
pub(crate) fn warn_of_place(header: &ImageHeader, log: &Logbook<'_>) {
    if let Some(doubt) = Doubt::about_place(header) {
        log.warn(Page::Troubleshooting, &format!("{}: {doubt}", header.path().display()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubt_of(b: &[f64], b0_threshold: f64) -> Option<Doubt> {
        let dirs_ras = vec![[1.0, 0.0, 0.0]; b.len()];
        Doubt::about_table(&GradientTable { b_s_per_mm2: b.to_vec(), dirs_ras, b0_threshold })
    }

    #[test]
    fn b_in_another_unit_and_a_missing_b0_are_doubtful() {
        assert_eq!(doubt_of(&[0.0, 1000.0], 50.0), None);
        let none = Doubt::Unweighted { largest: 3.0, threshold: 50.0 };
        assert_eq!(doubt_of(&[0.0, 1.0, 2.0, 3.0], 50.0), Some(none));
        assert_eq!(doubt_of(&[0.0, 1.0, 2.0, 3.0], 0.5), Some(Doubt::SmallB(3.0)));
        assert_eq!(doubt_of(&[0.0, 50.0, 100.0], 50.0), Some(Doubt::SmallB(100.0)));
        assert_eq!(doubt_of(&[0.0, 950.0, 1000.0, 1050.0], 50.0), None, "as scanners spread one b");
        let running: Vec<_> = (0..50).map(|step| f64::from(step) * 70.0).collect();
        assert!(matches!(doubt_of(&running, 50.0), Some(Doubt::NoShell(_))));
        let smallest = Doubt::NoB0 { smallest: 700.0, threshold: 50.0 };
        assert_eq!(doubt_of(&[1000.0, 700.0], 50.0), Some(smallest));
    }
}
