//! One response for a group.

use super::Response;

impl Response {
    /// The mean of a tissue's responses of several subjects, so that none counts for more because its images
    /// are brighter: each is brought to the mean first, by the geometric mean over shells of the ratios of
    /// l = 0 terms (MRtrix3's `responsemean` does the same). `None` where they are none, or of other shells
    /// or degrees than the first.
    pub fn mean(subjects: &[Self]) -> Option<Self> {
        let first = subjects.first()?;
        let shape = |response: &Self| {
            (response.b_s_per_mm2.clone(), response.zonal.iter().map(Vec::len).collect::<Vec<_>>())
        };
        if subjects.iter().any(|subject| shape(subject) != shape(first)) {
            return None;
        }
        let n = subjects.len() as f64;
        let shells = first.zonal.len();
        let mean_signal =
            |shell: usize| subjects.iter().map(|s| s.zonal[shell][0]).sum::<f64>() / n;
        let means: Vec<f64> = (0..shells).map(mean_signal).collect();
        let mut zonal: Vec<Vec<f64>> = first.zonal.iter().map(|row| vec![0.0; row.len()]).collect();
        for subject in subjects {
            let ratios = means.iter().zip(&subject.zonal).map(|(mean, row)| (mean / row[0]).ln());
            let factor = (ratios.sum::<f64>() / shells as f64).exp();
            let rows = zonal.iter_mut().zip(&subject.zonal);
            for (sum, own) in rows.flat_map(|(sums, row)| sums.iter_mut().zip(row)) {
                *sum += factor * own / n;
            }
        }
        Some(Self { b_s_per_mm2: first.b_s_per_mm2.clone(), zonal })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(zonal: &[[f64; 2]]) -> Response {
        let b_s_per_mm2 = Some((0..zonal.len()).map(|shell| 1000.0 * shell as f64).collect());
        Response { b_s_per_mm2, zonal: zonal.iter().map(|row| row.to_vec()).collect() }
    }

    #[test]
    fn brightness_does_not_change_the_shape_of_the_mean() {
        let dim = response(&[[100.0, 0.0], [40.0, -10.0]]);
        let bright = response(&[[300.0, 0.0], [120.0, -30.0]]);
        let mean = Response::mean(&[dim, bright]).unwrap();
        let expected = response(&[[200.0, 0.0], [80.0, -20.0]]);
        for (got, wanted) in mean.zonal.concat().iter().zip(expected.zonal.concat()) {
            assert!((got - wanted).abs() < 1e-12, "{mean:?}");
        }
    }

    #[test]
    fn other_shells_have_no_mean() {
        let two = response(&[[100.0, 0.0], [40.0, -10.0]]);
        let one = response(&[[100.0, 0.0]]);
        assert_eq!(Response::mean(&[two, one]), None);
        assert_eq!(Response::mean(&[]), None);
    }
}
