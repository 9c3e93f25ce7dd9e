//! Where devices that nobody named are used: one table, of what was measured.
//!
//! `benches/null_gpu.py` runs each fit on threads, and on a card whose kernels take no time. What is left
//! under that card is the host's: gathering, preparing, sending, storing. Where that is a large part of
//! what threads take for everything, no card gains enough to be worth its own time.

/// Processor time of a voxel in µs, reading and writing of the whole command included: a fit by threads, and
/// what the host does where a card fits in no time (`null-gpu.txt` of `benches/runs/2026-11-25-epyc-2core`, tensors
/// in double precision of `2026-11-26-epyc-2core`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    threads: f64,
    host: f64,
}

/// The most that the host may have of the threads' time.
const MOST_SHARE: f64 = 0.25;

/// Seconds that threads must need for all voxels: less than that a card takes to begin, with kernels
/// that were compiled before.
const LEAST_SECONDS: f64 = 0.5;

impl Cost {
    /// Tensors by linear least squares, 70 volumes.
    pub const TENSOR: Self = Self { threads: 1.2, host: 1.8 };
    /// The same in double precision, whose maps are the host's.
    pub const TENSOR_IN_DOUBLE: Self = Self { threads: 6.0, host: 3.0 };
    /// Non-linear tensor fits in double precision; robust ones take threads twice as long.
    pub const TENSOR_NONLINEAR_IN_DOUBLE: Self = Self { threads: 19.0, host: 3.0 };
    /// Homogeneous forms, 70 volumes.
    pub const FORM: Self = Self { threads: 1.1, host: 2.1 };
    /// Kurtosis, 70 volumes, without constraints, which are the processor's in either case.
    pub const KURTOSIS: Self = Self { threads: 2.3, host: 2.2 };
    /// A curve through all samples (the largest of three, 305 volumes).
    pub const CURVE: Self = Self { threads: 17.0, host: 11.0 };
    /// A curve along each direction, 305 volumes.
    pub const CURVES: Self = Self { threads: 8.1, host: 8.8 };
    /// Densities of fibres, 70 volumes.
    pub const DENSITY: Self = Self { threads: 301.0, host: 11.0 };
    /// What a formula takes nobody knows beforehand; whole curves are simple ones.
    pub const FORMULA: Self = Self::CURVE;

    /// A curve in double precision, of which a thread fits one voxel after the other: at least 14 times as
    /// slow as in lanes (`benches/runs/2026-11-21-epyc-2core/lm-fits.txt`).
    pub(crate) fn in_double(self) -> Self {
        Self { threads: 14.0 * self.threads, ..self }
    }

    /// True where a device is expected to gain over `n_threads` threads for so many voxels.
    pub fn pays(self, n_voxels: usize, n_threads: usize) -> bool {
        let seconds = 1e-6 * self.threads * n_voxels as f64 / n_threads as f64;
        self.host <= MOST_SHARE * self.threads && seconds >= LEAST_SECONDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_for_what_keeps_threads_busy() {
        let brain = 200_000;
        for cheap in [
            Cost::TENSOR,
            Cost::TENSOR_IN_DOUBLE,
            Cost::FORM,
            Cost::KURTOSIS,
            Cost::CURVE,
            Cost::CURVES,
        ] {
            assert!(!cheap.pays(brain, 2) && !cheap.pays(100 * brain, 2), "{cheap:?}");
        }
        assert!(Cost::DENSITY.pays(brain, 2) && Cost::DENSITY.pays(brain, 64));
        assert!(Cost::CURVE.in_double().pays(brain, 2));
        assert!(Cost::TENSOR_NONLINEAR_IN_DOUBLE.pays(brain, 2));
    }

    #[test]
    fn a_card_is_not_opened_for_a_few_voxels() {
        // 3300 voxels are a second of one thread, and a quarter of one of four.
        assert!(Cost::DENSITY.pays(3300, 1));
        assert!(!Cost::DENSITY.pays(3300, 4));
    }
}
