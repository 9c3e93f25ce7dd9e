//! Where Python's packages of NVRTC lie beside this program, or beside the extension module that it is in.

use std::path::{Path, PathBuf};

/// The folders of the libraries in `nvidia-cuda-nvrtc-cu12` and its successor, within site-packages.
const LIBRARIES: [&str; 4] =
    ["nvidia/cuda_nvrtc/lib", "nvidia/cuda_nvrtc/bin", "nvidia/cu13/lib", "nvidia/cu13/bin/x86_64"];

/// The folders that may hold NVRTC where this was installed by pip: none where it was not.
pub(super) fn folders() -> Vec<PathBuf> {
    let files = [std::env::current_exe().ok(), own_library()];
    files.iter().flatten().flat_map(|file| beside(file)).collect()
}

/// Those that exist beside a file that pip has put into a scripts folder or into a package.
fn beside(file: &Path) -> Vec<PathBuf> {
    let Some(folder) = file.parent() else { return Vec::new() };
    let Some(prefix) = folder.parent() else { return Vec::new() };
    // A package lies in site-packages; a script in `bin` of the environment that has them, below `lib`
    // in a folder that is named for the version of Python.
    let versions = std::fs::read_dir(prefix.join("lib")).into_iter().flatten().flatten();
    let of_versions = versions.flat_map(|version| {
        // The second is Debian's.
        ["site-packages", "dist-packages"].map(|packages| version.path().join(packages))
    });
    let sites =
        [prefix.to_owned(), prefix.join("Lib/site-packages")].into_iter().chain(of_versions);
    let libraries = sites.flat_map(|site| LIBRARIES.map(|library| site.join(library)));
    libraries.filter(|library| library.is_dir()).collect()
}

/// The file that holds this code where that is a library, as it is in Python.
#[cfg(unix)]
fn own_library() -> Option<PathBuf> {
    use std::ffi::{CStr, OsStr};
    use std::os::unix::ffi::OsStrExt as _;

    let mut found = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    let here = own_library as fn() -> Option<PathBuf>;
    // SAFETY: the address is that of a function of this file, and `found` is written.
    if unsafe { libc::dladdr(here as *const libc::c_void, &raw mut found) } == 0
        || found.dli_fname.is_null()
    {
        return None;
    }
    // SAFETY: a name that ends in NUL, which lives as long as the file is loaded.
    let name = unsafe { CStr::from_ptr(found.dli_fname) };
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}

/// Elsewhere only the program finds its neighbours.
#[cfg(not(unix))]
fn own_library() -> Option<PathBuf> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_and_the_package_of_an_environment_find_what_pip_has_put_beside_them() {
        let environment =
            std::env::temp_dir().join(format!("fimbria-packages-{}", std::process::id()));
        let site = environment.join("lib/python3.12/site-packages");
        let library = site.join("nvidia/cuda_nvrtc/lib");
        std::fs::create_dir_all(&library).unwrap();
        let found =
            ["bin/fimbria", "lib/python3.12/site-packages/fimbria/_core.abi3.so", "fimbria"]
                .map(|file| beside(&environment.join(file)));
        std::fs::remove_dir_all(&environment).unwrap();
        assert_eq!(found, [vec![library.clone()], vec![library], Vec::new()]);
    }
}
