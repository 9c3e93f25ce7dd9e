//! What a piece of a streamline contributes to the signal, by volume.

use fimbria_image::GradientTable;
use fimbria_image::frames::{Matrix3, turned};

use crate::LifeError;

/// Diffusivities of the tissue along a streamline: a stick where `radial` is 0 (the default, as
/// in ENCODE), a zeppelin otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Response {
    /// Along the streamline, mm²/s.
    pub axial_mm2_per_s: f64,
    /// Across it, mm²/s.
    pub radial_mm2_per_s: f64,
}

impl Default for Response {
    fn default() -> Self {
        Self { axial_mm2_per_s: 1e-3, radial_mm2_per_s: 0.0 }
    }
}

impl Response {
    /// Refuses what no tissue has.
    ///
    /// # Errors
    /// [`LifeError::Diffusivity`].
    pub fn check(&self) -> Result<(), LifeError> {
        let Self { axial_mm2_per_s: axial, radial_mm2_per_s: radial } = *self;
        check_diffusivity("axial", axial)?;
        check_diffusivity("radial", radial)?;
        if axial == 0.0 {
            return Err(LifeError::Diffusivity { name: "axial", value_mm2_per_s: axial });
        }
        if radial >= axial {
            return Err(LifeError::Diffusivity { name: "radial", value_mm2_per_s: radial });
        }
        Ok(())
    }
}

/// Refuses a diffusivity beyond three times that of warm water, in mm²/s.
///
/// # Errors
/// [`LifeError::Diffusivity`], which calls it `name`.
pub fn check_diffusivity(name: &'static str, value: f64) -> Result<(), LifeError> {
    if (0.0..=0.01).contains(&value) {
        Ok(())
    } else {
        Err(LifeError::Diffusivity { name, value_mm2_per_s: value })
    }
}

/// What is taken from the signal and from every column of the dictionary before they are compared,
/// so that only what depends on direction counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Demean {
    /// The mean over all weighted volumes (LiFE, and ENCODE as published).
    #[default]
    Mean,
    /// The mean over each shell.
    ShellMean,
    /// From columns the median over each shell, from the signal the mean over all volumes: ENCODE
    /// since November 2020, whose two centres differ.
    ShellMedian,
    /// Nothing.
    None,
}

/// The weighted volumes of an acquisition, in the frame of the directions of streamlines.
#[derive(Clone, Debug)]
pub struct Protocol {
    /// Indices of the weighted volumes in the series, ascending: the rows of columns.
    pub weighted: Vec<usize>,
    /// Indices of the volumes without weighting.
    pub unweighted: Vec<usize>,
    /// b of each row, ms/µm².
    b_ms_per_um2: Vec<f64>,
    /// Unit direction of each row.
    dirs: Vec<[f64; 3]>,
    /// Rows of each shell.
    shells: Vec<Vec<usize>>,
    demean: Demean,
}

impl Protocol {
    /// The weighted volumes of `table`, with directions turned by `frame_from_ras` into the frame
    /// in which streamlines are encoded.
    ///
    /// # Errors
    /// Where there is no unweighted volume, or there are fewer than six others.
    pub fn new(
        table: &GradientTable,
        frame_from_ras: &Matrix3,
        demean: Demean,
    ) -> Result<Self, LifeError> {
        let (unweighted, weighted): (Vec<usize>, Vec<usize>) =
            (0..table.len()).partition(|&volume| table.is_b0(volume));
        if unweighted.is_empty() {
            return Err(LifeError::NoUnweighted { b0_threshold: table.b0_threshold });
        }
        if weighted.len() < 6 {
            return Err(LifeError::TooFewDirections(weighted.len()));
        }
        let row_of = |volume: &usize| weighted.binary_search(volume).ok();
        let shells = table.shells();
        let shells = shells.iter().map(|s| s.volumes.iter().filter_map(row_of).collect());
        let shells = shells.filter(|rows: &Vec<usize>| !rows.is_empty()).collect();
        Ok(Self {
            b_ms_per_um2: weighted.iter().map(|&v| 1e-3 * table.b_s_per_mm2[v]).collect(),
            dirs: weighted.iter().map(|&v| turned(frame_from_ras, table.dirs_ras[v])).collect(),
            weighted,
            unweighted,
            shells,
            demean,
        })
    }

    /// Number of weighted volumes.
    pub fn rows(&self) -> usize {
        self.weighted.len()
    }

    /// Number of shells.
    pub fn shells(&self) -> usize {
        self.shells.len()
    }

    /// What is taken from columns and signals.
    pub fn demean(&self) -> Demean {
        self.demean
    }

    /// The column of tissue along `dir`, demeaned: exp(-b (radial + (axial - radial) (g·u)²)).
    pub fn column(&self, response: &Response, dir: [f64; 3], column: &mut [f64]) {
        let (axial, radial) = (1e3 * response.axial_mm2_per_s, 1e3 * response.radial_mm2_per_s);
        for (row, value) in column.iter_mut().enumerate() {
            let g = self.dirs[row];
            let cos = g[0] * dir[0] + g[1] * dir[1] + g[2] * dir[2];
            let adc = radial + (axial - radial) * cos * cos;
            *value = (-self.b_ms_per_um2[row] * adc).exp();
        }
        self.centre_column(column);
    }

    /// The column of isotropic tissue, demeaned.
    pub fn isotropic_column(&self, diffusivity_mm2_per_s: f64, column: &mut [f64]) {
        for (value, b) in column.iter_mut().zip(&self.b_ms_per_um2) {
            *value = (-b * 1e3 * diffusivity_mm2_per_s).exp();
        }
        self.centre_column(column);
    }

    fn centre_column(&self, column: &mut [f64]) {
        match self.demean {
            Demean::None => {}
            Demean::Mean => subtract_mean(column, 0..self.rows()),
            Demean::ShellMean => {
                self.shells.iter().for_each(|rows| subtract_mean(column, rows.iter().copied()));
            }
            Demean::ShellMedian => {
                for rows in &self.shells {
                    let mut sorted: Vec<f64> = rows.iter().map(|&row| column[row]).collect();
                    sorted.sort_by(f64::total_cmp);
                    let n = sorted.len();
                    let median = 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]);
                    rows.iter().for_each(|&row| column[row] -= median);
                }
            }
        }
    }

    /// Demeans the weighted samples of a voxel; `taken` becomes what was taken from each.
    pub fn centre_signal(&self, signal: &mut [f64], taken: &mut [f64]) {
        taken.copy_from_slice(signal);
        match self.demean {
            Demean::None => {}
            Demean::Mean | Demean::ShellMedian => subtract_mean(signal, 0..self.rows()),
            Demean::ShellMean => {
                self.shells.iter().for_each(|rows| subtract_mean(signal, rows.iter().copied()));
            }
        }
        taken.iter_mut().zip(signal).for_each(|(taken, left)| *taken -= *left);
    }
}

fn subtract_mean(column: &mut [f64], rows: impl ExactSizeIterator<Item = usize> + Clone) {
    let mean = rows.clone().map(|row| column[row]).sum::<f64>() / rows.len() as f64;
    rows.for_each(|row| column[row] -= mean);
}

#[cfg(test)]
mod tests {
    use super::*;
    use fimbria_image::Affine;

    /// Two unweighted volumes, then three axes at each of two shells.
    fn table() -> GradientTable {
        let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let mut dirs_ras = vec![[0.0; 3]; 2];
        dirs_ras.extend(axes.iter().chain(&axes));
        let b_s_per_mm2 = vec![0.0, 5.0, 1e3, 1e3, 1e3, 2e3, 2e3, 2e3];
        GradientTable { b_s_per_mm2, dirs_ras, b0_threshold: 50.0 }
    }

    fn protocol(demean: Demean) -> Protocol {
        Protocol::new(&table(), &Affine::IDENTITY.linear(), demean).unwrap()
    }

    #[test]
    fn a_stick_loses_signal_along_itself_only() {
        let mut column = [0.0; 6];
        protocol(Demean::None).column(&Response::default(), [1.0, 0.0, 0.0], &mut column);
        let expected = [(-1.0_f64).exp(), 1.0, 1.0, (-2.0_f64).exp(), 1.0, 1.0];
        // exp and one product round a few times.
        assert!(column.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15), "{column:?}");
    }

    #[test]
    fn demeaning_by_shell_leaves_no_mean_in_any_shell() {
        let mut column = [0.0; 6];
        protocol(Demean::ShellMean).column(&Response::default(), [0.6, 0.8, 0.0], &mut column);
        for shell in [&column[..3], &column[3..]] {
            assert!(shell.iter().sum::<f64>().abs() < 1e-15, "{column:?}");
        }
    }

    #[test]
    fn the_shell_median_is_taken_from_columns_and_the_mean_from_signals() {
        let protocol = protocol(Demean::ShellMedian);
        let mut column = [0.0; 6];
        protocol.column(&Response::default(), [1.0, 0.0, 0.0], &mut column);
        assert_eq!((column[1], column[4]), (0.0, 0.0));
        let (mut signal, mut taken) = ([6.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0; 6]);
        protocol.centre_signal(&mut signal, &mut taken);
        assert_eq!((signal, taken), ([5.0, -1.0, -1.0, -1.0, -1.0, -1.0], [1.0; 6]));
    }

    #[test]
    fn an_isotropic_column_vanishes_in_one_shell_and_not_in_two() {
        let mut column = [0.0; 6];
        protocol(Demean::ShellMean).isotropic_column(3e-3, &mut column);
        assert!(column.iter().all(|c| c.abs() < 1e-15), "{column:?}");
        protocol(Demean::Mean).isotropic_column(3e-3, &mut column);
        assert!(column[0] > 0.01, "{column:?}");
    }

    #[test]
    fn a_series_without_unweighted_volumes_is_refused() {
        let mut table = table();
        table.b_s_per_mm2[..2].fill(1000.0);
        let refused = Protocol::new(&table, &Affine::IDENTITY.linear(), Demean::Mean);
        assert!(matches!(refused, Err(LifeError::NoUnweighted { .. })));
    }
}
