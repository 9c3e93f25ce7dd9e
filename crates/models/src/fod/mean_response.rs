//! One response for a group.

use super::Response;
use super::response::is_same_b;

/// What becomes of how bright the images of a subject are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Brightness {
    /// All are brought to the mean first, so that no subject counts for more because its images are brighter.
    #[default]
    Common,
    /// It stays as it is.
    Own,
}

impl Response {
    /// The mean of a tissue's responses of several subjects, as MRtrix3's `responsemean` makes it: each is
    /// brought to the mean brightness by the geometric mean over shells of the ratios of l = 0 terms, or, as with
    /// its `-legacy`, stays as it is. `None` where there are none, or not all are of the same shells and degrees.
    pub fn mean(subjects: &[Self], brightness: Brightness) -> Option<Self> {
        let first = subjects.first()?;
        if !subjects.iter().all(|subject| subject.is_like(first)) {
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
            let factor = match brightness {
                Brightness::Common => (ratios.sum::<f64>() / shells as f64).exp(),
                Brightness::Own => 1.0,
            };
            let rows = zonal.iter_mut().zip(&subject.zonal);
            for (sum, own) in rows.flat_map(|(sums, row)| sums.iter_mut().zip(row)) {
                *sum += factor * own / n;
            }
        }
        Some(Self { b_s_per_mm2: first.b_s_per_mm2.clone(), zonal })
    }

    /// Whether another has the same shells, as scanners tell them apart, and degrees.
    pub fn is_like(&self, other: &Self) -> bool {
        let degrees = |response: &Self| response.zonal.iter().map(Vec::len).collect::<Vec<_>>();
        let shells = match (&self.b_s_per_mm2, &other.b_s_per_mm2) {
            (Some(own), Some(theirs)) => own.iter().zip(theirs).all(|(a, b)| is_same_b(*a, *b)),
            (None, None) => true,
            _ => false,
        };
        shells && degrees(self) == degrees(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(zonal: &[[f64; 2]]) -> Response {
        let b_s_per_mm2 = Some((0..zonal.len()).map(|shell| 1000.0 * shell as f64).collect());
        Response { b_s_per_mm2, zonal: zonal.iter().map(|row| row.to_vec()).collect() }
    }

    fn check_near(mean: &Response, expected: &Response) {
        for (got, wanted) in mean.zonal.concat().iter().zip(expected.zonal.concat()) {
            // A few roundings of numbers of hundreds.
            assert!((got - wanted).abs() < 1e-12, "{mean:?}");
        }
    }

    #[test]
    fn brightness_does_not_change_the_shape_of_the_mean() {
        let dim = response(&[[100.0, 0.0], [40.0, -10.0]]);
        let bright = response(&[[300.0, 0.0], [120.0, -30.0]]);
        let mean = Response::mean(&[dim, bright], Brightness::Common).unwrap();
        check_near(&mean, &response(&[[200.0, 0.0], [80.0, -20.0]]));
    }

    #[test]
    fn the_brighter_counts_for_more_where_brightness_stays() {
        let dim = response(&[[100.0, 0.0], [40.0, -10.0]]);
        let bright = response(&[[300.0, 0.0], [40.0, -90.0]]);
        let mean = Response::mean(&[dim, bright], Brightness::Own).unwrap();
        check_near(&mean, &response(&[[200.0, 0.0], [40.0, -50.0]]));
    }

    #[test]
    fn other_shells_have_no_mean() {
        let two = response(&[[100.0, 0.0], [40.0, -10.0]]);
        let one = response(&[[100.0, 0.0]]);
        let mean = |subjects: &[Response]| Response::mean(subjects, Brightness::Common);
        assert_eq!(mean(&[two.clone(), one]), None);
        assert_eq!(mean(&[]), None);
        // Scanners round b.
        let other_b = |b: f64| Response { b_s_per_mm2: Some(vec![0.0, b]), ..two.clone() };
        assert_eq!(mean(&[two.clone(), other_b(995.0)]).unwrap().b_s_per_mm2, two.b_s_per_mm2);
        assert_eq!(mean(&[two.clone(), other_b(2000.0)]), None);
    }
}
