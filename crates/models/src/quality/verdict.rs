//! What follows from the numbers. Each rule is a function of its own; each threshold says where it is from.
//!
//! Those that say "measured" were set by good series and by the same made to fail: docs/quality.md has the
//! table.

use fimbria_image::{Mask, Status};
use serde::{Deserialize, Serialize};

use super::SeriesQuality;
use super::series::median;
use crate::Fitted;
use crate::dti::DtiMap;
use crate::gradient_check::{GradientCheck, GradientVerdict};

/// How it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// As it should be.
    Good,
    /// The data do not tell.
    Unknown,
    /// To be looked at.
    Doubtful,
    /// Not to be worked with as it is.
    Bad,
}

/// One thing about a series, judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// What was looked at.
    pub name: String,
    /// How it is.
    pub level: Level,
    /// The number, with its unit; empty where there is none.
    pub value: String,
    /// Up to where it is good, and up to where it is doubtful.
    pub threshold: String,
    /// Where the threshold is from.
    pub source: String,
    /// What it says, in a sentence.
    pub says: String,
}

/// Edges, in voxels, below which a volume cannot be placed between its slices.
const THINNEST: usize = 8;
const TOO_THIN: &str = "the image is too thin to tell";

fn verdict(
    name: &str,
    level: Level,
    value: impl Into<String>,
    [threshold, source]: [&str; 2],
    says: impl Into<String>,
) -> Verdict {
    Verdict {
        name: name.to_owned(),
        level,
        value: value.into(),
        threshold: threshold.to_owned(),
        source: source.to_owned(),
        says: says.into(),
    }
}

/// Good below or at the first limit, bad above the second.
fn rising(value: f64, [good, doubtful]: [f64; 2]) -> Level {
    if value <= good {
        Level::Good
    } else if value <= doubtful {
        Level::Doubtful
    } else {
        Level::Bad
    }
}

/// Good above or at the first limit, bad below the second.
fn falling(value: f64, [good, doubtful]: [f64; 2]) -> Level {
    rising(-value, [-good, -doubtful])
}

/// "3 volumes: 4, 17, 20", numbered from 0 as in files.
fn listed(volumes: &[usize]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<_> = volumes.iter().take(SHOWN).map(ToString::to_string).collect();
    let more = if volumes.len() > SHOWN { " …" } else { "" };
    let s = if volumes.len() == 1 { "" } else { "s" };
    format!("volume{s} {}{more} (counted from 0)", shown.join(", "))
}

/// Good without any, bad where more than a tenth are odd.
fn of_outliers(odd: usize, all: usize) -> Level {
    match odd {
        0 => Level::Good,
        _ if 10 * odd > all => Level::Bad,
        _ => Level::Doubtful,
    }
}

/// Whether the gradient table lies as the image does.
pub fn gradients(check: &GradientCheck) -> Verdict {
    const NAME: &str = "Gradient table";
    const RULE: [&str; 2] = [
        "fibres 1.15 times as long as after any of 23 other flips and swaps",
        "Jeurissen B et al. Med Image Anal 18, 953 (2014); factor measured",
    ];
    let none = check.lengths_mm[0].0;
    let ratio = check.lengths_mm[0].1 / check.longest_but(none).max(1e-9);
    let value = format!("{ratio:.2} ×");
    match check.verdict() {
        GradientVerdict::Right => {
            verdict(NAME, Level::Good, value, RULE, "it lies as the image does")
        }
        GradientVerdict::Wrong(change) => verdict(
            NAME,
            Level::Bad,
            value,
            RULE,
            format!("wrong: fibres run on with {}; --fix-gradients applies it", change.change),
        ),
        GradientVerdict::Unclear => verdict(
            NAME,
            Level::Doubtful,
            value,
            RULE,
            "the data do not tell which flips are right",
        ),
        GradientVerdict::TooThin => {
            let says = "the image is too thin, or has too few fibres, to tell";
            verdict(NAME, Level::Unknown, "", RULE, says)
        }
    }
}

/// Whether volumes of nearly the same direction look alike: on average, and each as much as others of its
/// shell. What fails it: noise alone in a volume, volumes that were moved, directions in another order.
pub fn neighbour_correlation(series: &SeriesQuality) -> Verdict {
    const NAME: &str = "Neighbouring volumes";
    const RULE: [&str; 2] = [
        "mean correlation 0.40 or more (doubtful from 0.20), no volume 0.15 and six deviations below its shell",
        "measure: Yeh F-C et al. NeuroImage 202, 116131 (2019); 0.40 after common use, others measured",
    ];
    let near: Vec<f64> = series.volumes.iter().filter_map(|volume| volume.near).collect();
    if near.is_empty() {
        let says = "no shell has enough directions to tell";
        return verdict(NAME, Level::Unknown, "", RULE, says);
    }
    let mean = near.iter().sum::<f64>() / near.len() as f64;
    let odd = outliers(
        series,
        |volume| volume.alike.map(|alike| -alike),
        |middle, spread| middle + (6.0 * spread).max(0.15),
    );
    let level = falling(mean, [0.4, 0.2]).max(of_outliers(odd.len(), series.volumes.len()));
    let says = match &odd[..] {
        [] if level == Level::Good => "neighbours in q-space look alike".to_owned(),
        [] => {
            "neighbours in q-space look little alike: noise, motion, or directions in another order"
                .to_owned()
        }
        odd => format!("unlike their neighbours: {}", listed(odd)),
    };
    verdict(NAME, level, format!("{mean:.2}"), RULE, says)
}

/// Whether what directions differ in shows: correlation of nearest over that of perpendicular directions.
/// What fails it: directions that belong to other volumes, a series without weighting.
pub fn contrast(series: &SeriesQuality) -> Verdict {
    const NAME: &str = "Contrast ratio";
    const RULE: [&str; 2] = [
        "1.10 or more (doubtful from 1.05), and nearest above perpendicular in 90 % of the volumes (doubtful from 75 %)",
        "measure after DSI Studio's; limits measured",
    ];
    /// Perpendicular directions that have nothing in common say no more than this.
    const LEAST: f64 = 0.05;
    let of = |pick: fn(&super::VolumeQuality) -> Option<f64>| {
        let values: Vec<f64> = series.volumes.iter().filter_map(pick).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let (Some(near), Some(far)) = (of(|volume| volume.near), of(|volume| volume.far)) else {
        return verdict(NAME, Level::Unknown, "", RULE, "no shell has enough directions to tell");
    };
    let ratio = near / far.max(LEAST);
    let pairs: Vec<bool> =
        series.volumes.iter().filter_map(|volume| Some(volume.near? > volume.far?)).collect();
    let above = pairs.iter().filter(|is_above| **is_above).count() as f64 / pairs.len() as f64;
    let level = falling(ratio, [1.10, 1.05]).max(falling(above, [0.9, 0.75]));
    let says = match level {
        Level::Good => {
            "volumes of near directions have more in common than perpendicular ones".to_owned()
        }
        _ => format!(
            "nearest directions are above perpendicular ones in {:.0} % of the volumes: do they belong to these?",
            100.0 * above
        ),
    };
    verdict(NAME, level, format!("{ratio:.2}"), RULE, says)
}

/// Whether the signal stands out of the noise. What fails it: noise doubled.
pub fn noise(series: &SeriesQuality) -> Verdict {
    const NAME: &str = "Signal over noise";
    const RULE: [&str; 2] = [
        "20 unweighted (doubtful from 10), every shell 3",
        "20: Mukherjee P et al. AJNR 29, 843 (2008); 3: Gudbjartsson H, Patz S. Magn Reson Med 34, 910 (1995)",
    ];
    let is_b0 = |b: f64| b <= fimbria_image::GradientTable::DEFAULT_B0_THRESHOLD;
    let unweighted = series.shells.first().filter(|shell| is_b0(shell.b));
    let Some(snr) = unweighted.and_then(|shell| shell.snr) else {
        let says = "the noise level is not known: there is no unweighted volume, or nothing to estimate it from";
        return verdict(NAME, Level::Unknown, "", RULE, says);
    };
    let low = series.shells.iter().find(|shell| shell.snr.is_some_and(|snr| snr < 3.0));
    let of_b0 = falling(snr, [20.0, 10.0]);
    let level = of_b0.max(if low.is_some() { Level::Doubtful } else { Level::Good });
    let says = match (of_b0, low) {
        (Level::Good, None) => "the noise changes maps little".to_owned(),
        (_, Some(shell)) => format!(
            "the shell of b = {:.0} lies in the noise, where magnitudes are too large: diffusivities \
             come out too small, kurtosis too large",
            shell.b
        ),
        _ => "fractional anisotropy comes out too large where the signal is so low".to_owned(),
    };
    verdict(NAME, level, format!("{snr:.0}"), RULE, says)
}

/// Whether tensors can be those of water. What fails it: weighted and unweighted volumes exchanged, much
/// noise, b-values of another series.
pub fn unphysical(fit: &Fitted, mask: &Mask) -> Verdict {
    const NAME: &str = "Unphysical voxels";
    const RULE: [&str; 2] = [
        "1 % of the mask or less (doubtful up to 5 %) with a diffusivity of 0 or less, or above 4e-3 mm²/s",
        "free water at 37 °C has 3.0e-3: Holz M et al. Phys Chem Chem Phys 2, 4740 (2000); shares measured",
    ];
    /// Beyond free water by what noise adds.
    const LARGEST: f32 = 4.0e-3;
    let (Some(l1), Some(l3)) = (fit.map(DtiMap::L1), fit.map(DtiMap::L3)) else {
        return verdict(NAME, Level::Unknown, "", RULE, "the eigenvalues were not written");
    };
    let is_odd = |voxel: &&u32| {
        let (l1, l3) = (l1.data[**voxel as usize], l3.data[**voxel as usize]);
        !(l3 > 0.0 && l1 <= LARGEST)
    };
    let odd = mask.voxels.iter().filter(is_odd).count();
    let share = 100.0 * odd as f64 / mask.len().max(1) as f64;
    let says = format!("{odd} of {} voxels", mask.len());
    verdict(NAME, rising(share, [1.0, 5.0]), format!("{share:.2} %"), RULE, says)
}

/// Whether slices of a volume are darker than its neighbours let expect. What fails it: a dropped slice.
pub fn dropped_slices(series: &SeriesQuality) -> Verdict {
    const NAME: &str = "Dropped slices";
    const RULE: [&str; 2] = [
        "none below 75 % of what neighbours in q-space predict, and six deviations of that slice in its shell; \
         bad where more than a tenth of the volumes have one",
        "limit measured (good series stay above 80 %); the idea: Andersson JLR et al. NeuroImage 141, 556 (2016)",
    ];
    const DARK: f64 = 0.75;
    let most = series.slices.iter().map(|volume| volume.iter().flatten().count()).max();
    if most.unwrap_or(0) < THINNEST {
        return verdict(NAME, Level::Unknown, "", RULE, TOO_THIN);
    }
    let (mut dark, mut volumes) = (0, Vec::new());
    for shell in &series.shells {
        for slice in 0..series.slices.first().map_or(0, Vec::len) {
            let ratio = |volume: &usize| series.slices[*volume][slice];
            let away = shell.volumes.iter().filter_map(ratio).map(|ratio| (ratio - 1.0).abs());
            // Fibres of a whole slice may all run one way.
            let limit = DARK.min(1.0 - 6.0 * 1.4826 * median(away).unwrap_or(0.0));
            let odd = shell.volumes.iter().filter(|v| ratio(v).is_some_and(|ratio| ratio < limit));
            odd.for_each(|volume| {
                dark += 1;
                volumes.push(*volume);
            });
        }
    }
    volumes.sort_unstable();
    volumes.dedup();
    let says = match &volumes[..] {
        [] => "no slice is darker than its neighbours in q-space".to_owned(),
        volumes => {
            let s = if dark == 1 { "" } else { "s" };
            format!("{dark} slice{s}, of {}", listed(volumes))
        }
    };
    verdict(NAME, of_outliers(volumes.len(), series.volumes.len()), dark.to_string(), RULE, says)
}

/// Whether volumes lie where their neighbours lie. What fails it: a moved volume.
pub fn moved(series: &SeriesQuality) -> Verdict {
    const NAME: &str = "Moved volumes";
    const RULE: [&str; 2] = [
        "none by more than a quarter of a voxel; bad by half a voxel or where it is more than a tenth of them",
        "measured: good series stay below a tenth of a voxel",
    ];
    let moves =
        || series.volumes.iter().enumerate().filter_map(|(v, of)| Some((v, of.displacement_mm?)));
    let Some(largest) = moves().map(|(_, mm)| mm).max_by(f64::total_cmp) else {
        return verdict(NAME, Level::Unknown, "", RULE, TOO_THIN);
    };
    if series.extent.iter().any(|voxels| *voxels < THINNEST) {
        return verdict(NAME, Level::Unknown, "", RULE, TOO_THIN);
    }
    let edge = series.edge_mm;
    let moved: Vec<usize> = moves().filter(|(_, mm)| *mm > 0.25 * edge).map(|(v, _)| v).collect();
    let level =
        of_outliers(moved.len(), series.volumes.len()).max(rising(largest / edge, [0.25, 0.5]));
    let says = match &moved[..] {
        [] => "every volume lies where its neighbours in q-space lie".to_owned(),
        moved => format!("away from their neighbours: {}", listed(moved)),
    };
    verdict(NAME, level, format!("{largest:.2} mm"), RULE, says)
}

/// How much the head moved while it was scanned, by what its preprocessing noted: framewise displacement
/// of every volume, mm.
pub fn moved_by_confounds(framewise_mm: &[f64]) -> Verdict {
    const NAME: &str = "Motion in the scanner";
    const RULE: [&str; 2] = [
        "mean framewise displacement 0.5 mm or less (doubtful up to 1 mm)",
        "measure and 0.5 mm: Power JD et al. NeuroImage 84, 320 (2014)",
    ];
    let known: Vec<f64> = framewise_mm.iter().copied().filter(|mm| mm.is_finite()).collect();
    if known.is_empty() {
        return verdict(
            NAME,
            Level::Unknown,
            "",
            RULE,
            "no framewise displacement of this series is known",
        );
    }
    let mean = known.iter().sum::<f64>() / known.len() as f64;
    let largest = known.iter().copied().fold(0.0, f64::max);
    let says = format!("largest {largest:.2} mm; before correction, as the confounds have it");
    verdict(NAME, rising(mean, [0.5, 1.0]), format!("{mean:.2} mm"), RULE, says)
}

/// Whether neighbours leave as much of every volume as of the others of its shell. What fails it: noise
/// doubled in a volume, a spike, a moved volume.
pub fn residuals(series: &SeriesQuality) -> Verdict {
    const NAME: &str = "Residual of each volume";
    const RULE: [&str; 2] = [
        "none above 1.5 times the median of its shell; bad where it is more than a tenth of them",
        "measured",
    ];
    let odd = outliers(series, |volume| volume.residual, |middle, _| 1.5 * middle);
    let ratios = series.shells.iter().flat_map(|shell| {
        let of = |v: &usize| series.volumes[*v].residual;
        let middle =
            median(shell.volumes.iter().filter_map(of)).filter(|_| shell.volumes.len() > 2);
        shell.volumes.iter().filter_map(of).filter_map(move |residual| Some(residual / middle?))
    });
    let Some(largest) = ratios.filter(|ratio| ratio.is_finite()).max_by(f64::total_cmp) else {
        return verdict(NAME, Level::Unknown, "", RULE, "no shell has volumes enough to tell");
    };
    let says = match &odd[..] {
        [] => "no volume stands out of its shell".to_owned(),
        odd => format!("more is left of {}", listed(odd)),
    };
    verdict(
        NAME,
        of_outliers(odd.len(), series.volumes.len()),
        format!("{largest:.2} ×"),
        RULE,
        says,
    )
}

/// Whether voxels could be fitted, and to what was measured. What fails it: samples that are zero or no numbers.
pub fn status(fit: &Fitted, mask: &Mask) -> Verdict {
    const NAME: &str = "Voxels in doubt";
    const RULE: [&str; 2] = [
        "1 % of the mask or less (doubtful up to 5 %) without a fit, or of samples that are not positive",
        "measured",
    ];
    let count = |status: Status| fit.status.count(status);
    let lost = [
        Status::NotConverged,
        Status::BadSignal,
        Status::Singular,
        Status::NotPositive,
        Status::Undefined,
    ];
    let odd: u64 = lost.iter().map(|status| count(*status)).sum();
    let share = 100.0 * odd as f64 / mask.len().max(1) as f64;
    let says = format!(
        "{} not converged, {} bad signal, {} not determined, {} with samples not positive, {} undefined",
        count(lost[0]),
        count(lost[1]),
        count(lost[2]),
        count(lost[3]),
        count(lost[4])
    );
    verdict(NAME, rising(share, [1.0, 5.0]), format!("{share:.2} %"), RULE, says)
}

/// Whether b is in s/mm²: diffusion is as fast as water's in tissue. What fails it: b in another unit.
pub fn b_values(series: &SeriesQuality, fit: &Fitted, mask: &Mask) -> Verdict {
    const NAME: &str = "b-values";
    const RULE: [&str; 2] = [
        "median diffusivity 0.3e-3 to 2e-3 mm²/s (doubtful from 0.05e-3 to 3e-3), largest b above 100 s/mm²",
        "living tissue 0.6e-3 to 1.2e-3, fixed 0.1e-3 to 0.4e-3, free water 3e-3",
    ];
    let largest = series.volumes.iter().map(|volume| volume.b).fold(0.0, f64::max);
    let Some(md) = fit.map(DtiMap::Md) else {
        return verdict(NAME, Level::Unknown, "", RULE, "the mean diffusivity was not written");
    };
    let values = mask.voxels.iter().map(|voxel| f64::from(md.data[*voxel as usize]));
    let Some(md) = median(values) else {
        return verdict(NAME, Level::Bad, "", RULE, "no voxel has a diffusivity");
    };
    let level = match 1e3 * md {
        _ if largest <= 100.0 => Level::Bad,
        md if (0.3..=2.0).contains(&md) => Level::Good,
        md if (0.05..=3.0).contains(&md) => Level::Doubtful,
        _ => Level::Bad,
    };
    let says = match level {
        Level::Good => format!("b up to {largest:.0} s/mm² makes diffusivities those of tissue"),
        Level::Doubtful => {
            "slow or fast for living tissue: is it fixed, or is b in another unit?".to_owned()
        }
        _ => format!(
            "no tissue diffuses so: are b-values, up to {largest}, in s/mm²? (1 ms/µm² is 1000 s/mm²)"
        ),
    };
    verdict(NAME, level, format!("{:.2}e-3 mm²/s", 1e3 * md), RULE, says)
}

/// Volumes above what `limit` makes of the median of their shell and its deviation (1.4826 times the median
/// distance from it); shells of three volumes and more.
fn outliers(
    series: &SeriesQuality,
    of: impl Fn(&super::VolumeQuality) -> Option<f64>,
    limit: impl Fn(f64, f64) -> f64,
) -> Vec<usize> {
    let mut odd = Vec::new();
    for shell in series.shells.iter().filter(|shell| shell.volumes.len() > 2) {
        let value = |volume: &usize| of(&series.volumes[*volume]);
        let Some(middle) = median(shell.volumes.iter().filter_map(value)) else { continue };
        let distances = shell.volumes.iter().filter_map(value).map(|x| (x - middle).abs());
        let spread = 1.4826 * median(distances).unwrap_or(0.0);
        let highest = limit(middle, spread);
        odd.extend(shell.volumes.iter().filter(|v| value(v).is_some_and(|x| x > highest)));
    }
    odd.sort_unstable();
    odd
}
