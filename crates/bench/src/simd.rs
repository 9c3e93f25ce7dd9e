//! A level of SIMD as an option.

use fimbria_compute::SimdLevel;

/// A parser of the levels that this processor has, by their names in lower case.
pub(crate) fn simd_level(text: &str) -> Result<SimdLevel, String> {
    let name = |level: &SimdLevel| format!("{level:?}").to_lowercase();
    let levels = SimdLevel::available();
    levels.iter().copied().find(|level| name(level) == text).ok_or_else(|| {
        let names: Vec<_> = levels.iter().map(name).collect();
        format!("this processor has {}", names.join(", "))
    })
}
