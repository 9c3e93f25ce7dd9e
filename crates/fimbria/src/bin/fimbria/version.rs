//! What `fimbria --version -v` says: how this program was built, and what it takes of this processor.

use std::sync::LazyLock;

use fimbria_compute::SimdLevel;

/// True where the words ask to say more, should they ask for the version.
pub(crate) fn more_is_asked<'a>(mut words: impl Iterator<Item = &'a str>) -> bool {
    words.any(|word| match word.strip_prefix("--") {
        Some(long) => long.split('=').next() == Some("verbose"),
        None => word.starts_with('-') && word.contains('v'),
    })
}

/// The version, and lines on build, SIMD and features.
pub(crate) static VERSION: LazyLock<String> = LazyLock::new(version);

fn version() -> String {
    let profile = if cfg!(debug_assertions) { "development" } else { "release" };
    // Those who release a program say what it was made of.
    let commit =
        option_env!("FIMBRIA_COMMIT").filter(|said| !said.is_empty()).unwrap_or("not said");
    let mpi = if cfg!(feature = "mpi") { "MPI" } else { "no MPI" };
    let levels: Vec<String> = SimdLevel::available().iter().map(|l| format!("{l:?}")).collect();
    format!(
        "{}\n\
         build      {profile}, {}, commit {commit}\n\
         simd       {:?}, the widest of {}\n\
         features   {mpi}; OpenCL and CUDA where their libraries are found (fimbria devices)",
        env!("CARGO_PKG_VERSION"),
        target(),
        SimdLevel::best(),
        levels.join(", "),
    )
}

/// Processor, system and C library that the program is for.
fn target() -> String {
    let library = if cfg!(target_env = "gnu") {
        " gnu"
    } else if cfg!(target_env = "musl") {
        " musl"
    } else if cfg!(target_env = "msvc") {
        " msvc"
    } else {
        ""
    };
    format!("{} {}{library}", std::env::consts::ARCH, std::env::consts::OS)
}
