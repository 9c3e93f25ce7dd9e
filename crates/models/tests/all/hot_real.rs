//! Generalised diffusion tensors of real series.

#![allow(clippy::print_stderr)]

use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::Status;
use fimbria_models::hot::{HotOptions, HotOrder, fit};
use fimbria_testing::{Series, refdata};

#[test]
fn real_series_are_fitted_in_all_but_a_few_voxels() {
    let Some(real) = refdata("dwi_real") else { return };
    let workers = Workers::new(0).unwrap();
    for name in ["human_b1k_b2k", "human_b6k"] {
        let folder = real.join(name);
        let series = Series::read(&folder.join("dwi.nii.gz"), &folder.join("mask.nii.gz"));
        for order in [HotOrder::Four, HotOrder::Six, HotOrder::Eight] {
            for positive in [false, true] {
                let options = HotOptions { order, positive, ..HotOptions::default() };
                let on = Backend::cpu(&workers);
                let fitted =
                    fit(&series.dwi, &series.mask, &series.gradients, &options, &on, &Silent)
                        .unwrap();
                let of = |status| fitted.status.count(status);
                let counts = Status::ALL.map(of);
                eprintln!("{name} {order:?} {positive} {counts:?} {:.3} s", fitted.seconds);
                let n = series.mask.len() as u64;
                let settled =
                    of(Status::Fitted) + of(Status::Constrained) + of(Status::NotPositive);
                assert_eq!(settled, n, "{counts:?}");
                assert_eq!(of(Status::Constrained) > 0, positive);
                // Water diffuses at 3e-3 mm²/s; means of tissue and fluid lie below.
                let md = fitted.map("MD").unwrap();
                let sane = |&&v: &&u32| (1e-4..5e-3).contains(&md.data[v as usize]);
                let share = series.mask.voxels.iter().filter(sane).count() as f64 / n as f64;
                assert!(share > 0.95, "{name} {order:?}: MD is sane in {share}");
            }
        }
    }
}
