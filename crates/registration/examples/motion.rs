//! How near `correct` comes to known motion and known fields, on a head of formulas.
//! cargo run --release -p fimbria-registration --example motion

#[path = "../tests/suite/phantom.rs"]
mod phantom;
#[path = "../tests/suite/scans.rs"]
mod scans;

use fimbria_compute::{Silent, Workers};
use fimbria_registration::{CorrectOptions, Scan, correct};
use scans::part;

#[allow(clippy::print_stdout)]
fn main() {
    let workers = Workers::new(0).expect("threads");
    println!("voxels of 2.5 mm; error of a volume: its median over the head");
    println!(
        "scan: mm before (median, max), mm after (median, 95 %, max), degrees after (median, max),"
    );
    println!("outliers found and made, what predictions leave of the mean before and after");
    let only = std::env::args().nth(1).unwrap_or_default();
    for scan in scans::ALL.iter().filter(|scan| scan.name.contains(&only)) {
        let made = scan.made(&workers);
        let mut series = made.series.clone();
        let mask = phantom::mask();
        let options = CorrectOptions { eddy: scan.model, ..CorrectOptions::default() };
        let corrected = correct(
            &mut series,
            &[Scan::new(&made.series)],
            &made.table,
            &mask,
            &options,
            &workers,
            &Silent,
        )
        .expect("nobody stops it");
        let [before, after] = made.errors(&corrected.places);
        let angles = made.angles(&corrected.places);
        println!(
            "{:24} {:7.2} {:7.2}   {:7.3} {:7.3} {:7.3}   {:7.3} {:7.3}   {:3} {:3}   {:7.4} {:7.4}",
            scan.name,
            part(&before, 0.5),
            part(&before, 1.0),
            part(&after, 0.5),
            part(&after, 0.95),
            part(&after, 1.0),
            part(&angles, 0.5),
            part(&angles, 1.0),
            corrected.outliers.len(),
            made.dropped.len(),
            part(&corrected.left[0], 0.5),
            part(&corrected.left[1], 0.5),
        );
    }
}
