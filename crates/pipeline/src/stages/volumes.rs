//! Which volumes of a series a fit takes, and the view of the subject that has only these.

use std::fmt;
use std::sync::Arc;

use clap::Args;
use fimbria_image::gradients::Shell;
use fimbria_image::{GradientTable, Grid, SignalSource};
use serde::Serialize;

use super::load::Subject;
use crate::options::{Described as _, at_least};

/// How far above the largest b a volume may lie: scanners report 3010 for 3000.
const SLACK: f64 = 1.05;

/// Shells by their b: options of every fit.
#[derive(Clone, Debug, Default, PartialEq, Args, Serialize)]
pub struct ShellOptions {
    /// Use only the shells nearest to these b, separated by commas, and the unweighted volumes
    #[arg(long, value_name = "B,B", value_delimiter = ',')]
    #[arg(number = at_least(0.0, "s/mm²"), usually = "all")]
    pub shells: Option<Vec<f64>>,
}

impl ShellOptions {
    /// These with b up to `bmax`, s/mm².
    pub fn up_to(&self, bmax: Option<f64>) -> VolumeChoice {
        VolumeChoice { shells: self.shells.clone(), bmax, usual_bmax: None }
    }
}

/// Which volumes a fit takes. Unweighted ones are always among them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VolumeChoice {
    /// Those of the shells nearest to these b, s/mm²; `None` for all.
    pub shells: Option<Vec<f64>>,
    /// Those of b up to this, s/mm² (by 5 % more); `None` for all.
    pub bmax: Option<f64>,
    /// The same where neither is given, and where that still determines the fit.
    pub usual_bmax: Option<f64>,
}

/// A choice that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum VolumesError {
    /// A shell that there is not.
    #[error("no shell of the series lies near b = {wanted} s/mm²: it has {there}")]
    NoShell {
        /// As asked for.
        wanted: f64,
        /// The shells of the series.
        there: String,
    },
    /// The limit is no b-value.
    #[error("the largest b to use is {0}; it must be a number above 0, in s/mm²")]
    LargestB(f64),
}

/// The volumes chosen, ascending, and their gradient table.
#[derive(Clone, Debug, PartialEq)]
pub struct ChosenVolumes {
    /// Which of the series.
    pub volumes: Vec<usize>,
    /// Their part of the table.
    pub gradients: GradientTable,
    /// How many the series has.
    pub of: usize,
    /// The largest b that the fit usually takes, where it was not enough.
    pub not_enough: Option<f64>,
}

impl VolumeChoice {
    /// The volumes of a series acquired with `gradients`; `determines` says whether those of a
    /// table would do.
    ///
    /// # Errors
    /// [`VolumesError`].
    pub fn choose(
        &self,
        gradients: &GradientTable,
        determines: impl Fn(&GradientTable) -> bool,
    ) -> Result<ChosenVolumes, VolumesError> {
        let all = ChosenVolumes::new(gradients, |_| true);
        let mut chosen = match &self.shells {
            None => all.volumes.clone(),
            Some(wanted) => of_shells(gradients, wanted)?,
        };
        if let Some(bmax) = self.bmax {
            if !(bmax.is_finite() && bmax > 0.0) {
                return Err(VolumesError::LargestB(bmax));
            }
            chosen.retain(|v| is_within(gradients, *v, bmax));
        }
        match self.usual_bmax {
            Some(bmax) if self.shells.is_none() && self.bmax.is_none() => {
                let usual = ChosenVolumes::new(gradients, |v| is_within(gradients, v, bmax));
                if usual.volumes.len() == all.volumes.len() || determines(&usual.gradients) {
                    Ok(usual)
                } else {
                    Ok(ChosenVolumes { not_enough: Some(bmax), ..all })
                }
            }
            _ => Ok(ChosenVolumes::new(gradients, |v| chosen.binary_search(&v).is_ok())),
        }
    }
}

fn is_within(gradients: &GradientTable, volume: usize, bmax: f64) -> bool {
    gradients.is_b0(volume) || gradients.b_s_per_mm2[volume] <= bmax * SLACK
}

/// The volumes of the shells nearest to the b wanted, and those without weighting, ascending.
fn of_shells(gradients: &GradientTable, wanted: &[f64]) -> Result<Vec<usize>, VolumesError> {
    let shells = gradients.shells();
    let mut volumes: Vec<usize> = (0..gradients.len()).filter(|v| gradients.is_b0(*v)).collect();
    for &b in wanted {
        let distance = |shell: &&Shell| (shell.b_s_per_mm2 - b).abs();
        let nearest = shells.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
        let far = GradientTable::SHELL_GAP.max((SLACK - 1.0) * b);
        match nearest.filter(|shell| distance(shell) <= far) {
            Some(shell) => volumes.extend(&shell.volumes),
            None => return Err(VolumesError::NoShell { wanted: b, there: listed(&shells) }),
        }
    }
    volumes.sort_unstable();
    volumes.dedup();
    Ok(volumes)
}

fn listed(shells: &[Shell]) -> String {
    shells.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl ChosenVolumes {
    fn new(gradients: &GradientTable, takes: impl Fn(usize) -> bool) -> Self {
        let volumes: Vec<usize> = (0..gradients.len()).filter(|v| takes(*v)).collect();
        let of = gradients.len();
        let gradients = GradientTable {
            b_s_per_mm2: volumes.iter().map(|v| gradients.b_s_per_mm2[*v]).collect(),
            dirs_ras: volumes.iter().map(|v| gradients.dirs_ras[*v]).collect(),
            b0_threshold: gradients.b0_threshold,
        };
        Self { volumes, gradients, of, not_enough: None }
    }

    /// True where the fit takes the series as it is.
    pub fn is_all(&self) -> bool {
        self.volumes.len() == self.of
    }

    /// The subject with only these volumes.
    pub(crate) fn view(&self, subject: &Subject) -> Subject {
        let source = Arc::clone(&subject.dwi);
        Subject {
            dwi: Arc::new(SomeVolumes { source, volumes: self.volumes.clone() }),
            gradients: self.gradients.clone(),
            mask: subject.mask.clone(),
            grad_dev: subject.grad_dev.clone(),
            carried: subject.carried.clone(),
        }
    }
}

impl fmt::Display for ChosenVolumes {
    /// "40 of 104: b=0 (8 volumes), b=1000 (32 volumes)".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shells = listed(&self.gradients.shells());
        write!(f, "{} of {}: {shells}", self.volumes.len(), self.of)
    }
}

/// Some volumes of a series.
struct SomeVolumes {
    source: Arc<dyn SignalSource + Send + Sync>,
    /// Ascending.
    volumes: Vec<usize>,
}

impl SignalSource for SomeVolumes {
    fn grid(&self) -> &Grid {
        self.source.grid()
    }

    fn n_volumes(&self) -> usize {
        self.volumes.len()
    }

    fn gather_rows(&self, voxels: &[u32], rows: &mut [&mut [f32]]) {
        let n = voxels.len();
        let mut all = vec![0.0; self.source.n_volumes() * n];
        self.source.gather(voxels, n, &mut all);
        for (row, &volume) in rows.iter_mut().zip(&self.volumes) {
            row[..n].copy_from_slice(&all[volume * n..][..n]);
        }
    }

    fn held_bytes(&self) -> u64 {
        self.source.held_bytes()
    }
}

#[cfg(test)]
mod tests {
    use fimbria_image::{Affine, Image};

    use super::*;

    fn table(b: &[f64]) -> GradientTable {
        GradientTable {
            b_s_per_mm2: b.to_vec(),
            dirs_ras: vec![[1.0, 0.0, 0.0]; b.len()],
            b0_threshold: 50.0,
        }
    }

    fn chosen(choice: &VolumeChoice, b: &[f64]) -> Vec<usize> {
        choice.choose(&table(b), |table| table.len() > 2).unwrap().volumes
    }

    #[test]
    fn shells_are_the_nearest_and_unweighted_volumes_always_stay() {
        let choice = VolumeChoice { shells: Some(vec![1000.0, 3000.0]), ..VolumeChoice::default() };
        assert_eq!(chosen(&choice, &[1005.0, 0.0, 2000.0, 3010.0, 5.0]), [0, 1, 3, 4]);
        let error =
            choice.choose(&table(&[0.0, 1000.0, 2000.0]), |_| true).unwrap_err().to_string();
        assert!(error.contains("b = 3000") && error.contains("b=2000 (1 volume)"), "{error}");
    }

    #[test]
    fn the_largest_b_has_the_slack_of_scanners() {
        let choice = VolumeChoice { bmax: Some(1000.0), ..VolumeChoice::default() };
        assert_eq!(chosen(&choice, &[0.0, 1010.0, 1200.0, 700.0]), [0, 1, 3]);
        let choice = VolumeChoice { bmax: Some(f64::NAN), ..choice };
        let error = choice.choose(&table(&[0.0, 2000.0]), |_| true).unwrap_err().to_string();
        assert!(error.contains("the largest b to use is NaN"), "{error}");
    }

    #[test]
    fn what_is_usual_gives_way_where_it_is_not_enough() {
        let choice = VolumeChoice { usual_bmax: Some(1500.0), ..VolumeChoice::default() };
        assert_eq!(chosen(&choice, &[0.0, 1000.0, 1000.0, 3000.0]), [0, 1, 2]);
        assert_eq!(chosen(&choice, &[0.0, 1000.0, 3000.0, 3000.0]), [0, 1, 2, 3]);
        let all = choice.choose(&table(&[0.0, 3000.0, 3000.0]), |_| false).unwrap();
        assert!(all.is_all() && all.not_enough == Some(1500.0));
        let small = choice.choose(&table(&[0.0, 900.0]), |_| false).unwrap();
        assert!(small.is_all() && small.not_enough.is_none());
    }

    #[test]
    fn a_view_hands_out_the_samples_of_its_volumes() {
        let grid = Grid { dims: [3, 1, 1], ras_from_vox: Affine::IDENTITY };
        let data = (0..12).map(|i| i as f32).collect();
        let source = Arc::new(Image { grid, n_volumes: 4, data });
        let some = SomeVolumes { source, volumes: vec![1, 3] };
        let mut out = vec![-1.0; 6];
        some.gather(&[0, 2], 3, &mut out);
        assert_eq!(out, [3.0, 5.0, -1.0, 9.0, 11.0, -1.0]);
    }
}
