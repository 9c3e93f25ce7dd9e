//! Every kernel beside its reference, on every device.

use fimbria_compute::check::{Check, CheckReport, Comparison, Extent, Outcome};
use fimbria_compute::device::{Device, DeviceError, DeviceInfo, DeviceOptions};
use serde_json::{Value, json};

use super::Output;
use crate::failure::Failure;

/// Runs the checks on every device, those after an error too. Returns how many did not pass.
pub(super) fn check_all(
    chosen: &[DeviceInfo],
    only: Option<&str>,
    output: &mut Output<'_>,
) -> Result<usize, Failure> {
    let is_wanted = |check: &Check| only.is_none_or(|text| check.name().contains(text));
    if let Some(text) = only
        && !every_check().any(|check| is_wanted(&check))
    {
        return Err(NoSuchCheck(text.to_owned()).into());
    }
    let mut failed = 0;
    for (index, info) in chosen.iter().enumerate() {
        output.text(|| format!("\n{} ({})\n", info.name, info.runtime))?;
        let device = match Device::open(info, &DeviceOptions::default()) {
            Ok(device) => device,
            Err(error) => {
                failed += 1;
                output.text(|| format!("  FAILED  {error}\n"))?;
                output.of_device(index, "checks", json!([{"error": error.to_string()}]));
                continue;
            }
        };
        let mut checks = Vec::new();
        for check in every_check().filter(is_wanted) {
            let report = check.run(&device, Extent::Full);
            failed += usize::from(!report.as_ref().is_ok_and(CheckReport::passed));
            output.text(|| checked(check.name(), &report))?;
            checks.push(check_as_json(check.name(), &report));
        }
        output.of_device(index, "checks", checks.into());
    }
    Ok(failed)
}

fn verdict(report: &Result<CheckReport, DeviceError>) -> &'static str {
    match report {
        Ok(CheckReport { outcome: Outcome::NotRun(_), .. }) => "not run",
        Ok(report) if report.passed() => "ok",
        _ => "FAILED",
    }
}

fn checked(name: &str, report: &Result<CheckReport, DeviceError>) -> String {
    let found = match report {
        Err(error) => error.to_string(),
        Ok(CheckReport { outcome: Outcome::NotRun(why), .. }) => (*why).to_owned(),
        Ok(CheckReport { outcome: Outcome::Compared(comparison), .. }) => {
            let Comparison { results, max_error, tolerance } = comparison;
            format!("{results:>9} results, error {max_error:.2e}, tolerance {tolerance:.2e}")
        }
    };
    format!("  {:<8}{name:<44}{found}\n", verdict(report))
}

fn check_as_json(name: &str, report: &Result<CheckReport, DeviceError>) -> Value {
    let mut entry = json!({"name": name, "verdict": verdict(report)});
    match report {
        Err(error) => entry["error"] = error.to_string().into(),
        Ok(CheckReport { outcome, seconds }) => {
            entry["seconds"] = (*seconds).into();
            match outcome {
                Outcome::NotRun(why) => entry["reason"] = (*why).into(),
                Outcome::Compared(Comparison { results, max_error, tolerance }) => {
                    entry["results"] = (*results).into();
                    entry["max_error"] = (*max_error).into();
                    entry["tolerance"] = (*tolerance).into();
                }
            }
        }
    }
    entry
}

/// The checks of all crates, lowest first.
fn every_check() -> impl Iterator<Item = Check> {
    let crates = [
        fimbria_compute::checks,
        fimbria_tensors::checks,
        fimbria_fitting::checks,
        fimbria_models::checks,
        fimbria_sticks::checks,
        fimbria_life::checks,
        fimbria_tracking::checks,
        fimbria_qsm::checks,
        fimbria_bench::checks,
    ];
    crates.into_iter().flat_map(|checks| checks())
}

/// Kernels that do not compute what they should.
#[derive(Debug, thiserror::Error)]
#[error("{0} checks failed: do not trust results of that device")]
pub(super) struct ChecksFailed(pub(super) usize);

/// A word that is in the name of no check.
#[derive(Debug, thiserror::Error)]
#[error("no check has `{0}` in its name; --check alone lists them")]
struct NoSuchCheck(String);
