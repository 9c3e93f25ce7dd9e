//! NVRTC, NVIDIA's run-time compiler, found at run time.
//!
//! Where the compiler knows the card, machine code is asked for instead of PTX: a driver loads PTX
//! only up to its own version.

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::{Path, PathBuf};
use std::ptr;

use super::{cache, packages};
use crate::device::KernelSource;
use crate::device::error::{DeviceError, Fault};
use crate::device::library::shared_library;
use crate::dialect;

type Program = *mut std::ffi::c_void;
type Status = c_int;
const COMPILATION_FAILED: Status = 6;

/// Contraction is off: fma() is written where it is meant.
const OPTIONS: [&str; 2] = ["--fmad=false", "--std=c++17"];

/// The compiler, opened.
pub struct Nvrtc {
    version: (i32, i32),
    /// Compute capabilities it writes machine code for, as 10 major + minor, ascending.
    architectures: Vec<i32>,
    api: Api,
    /// What it compiles with, kept open: a compiler that is opened by its path does not look for it
    /// beside itself.
    _builtins: Option<libloading::Library>,
}

/// What NVRTC made of a kernel text.
#[derive(Clone, Debug)]
pub struct CompiledKernel {
    /// PTX text (ending in NUL) or a cubin, as `cuModuleLoadData` takes them.
    pub image: Vec<u8>,
    /// True where the image is machine code.
    pub is_machine_code: bool,
}

shared_library! {
    /// NVRTC of CUDA 11.2 or later.
    Api {
        version: "nvrtcVersion", unsafe extern "C" fn(*mut c_int, *mut c_int) -> Status;
        architecture_count: "nvrtcGetNumSupportedArchs",
            unsafe extern "C" fn(*mut c_int) -> Status;
        architectures: "nvrtcGetSupportedArchs", unsafe extern "C" fn(*mut c_int) -> Status;
        create: "nvrtcCreateProgram", unsafe extern "C" fn(
            *mut Program, *const c_char, *const c_char, c_int, *const *const c_char,
            *const *const c_char) -> Status;
        compile: "nvrtcCompileProgram",
            unsafe extern "C" fn(Program, c_int, *const *const c_char) -> Status;
        destroy: "nvrtcDestroyProgram", unsafe extern "C" fn(*mut Program) -> Status;
        log_size: "nvrtcGetProgramLogSize", unsafe extern "C" fn(Program, *mut usize) -> Status;
        log: "nvrtcGetProgramLog", unsafe extern "C" fn(Program, *mut c_char) -> Status;
        ptx_size: "nvrtcGetPTXSize", unsafe extern "C" fn(Program, *mut usize) -> Status;
        ptx: "nvrtcGetPTX", unsafe extern "C" fn(Program, *mut c_char) -> Status;
        cubin_size: "nvrtcGetCUBINSize", unsafe extern "C" fn(Program, *mut usize) -> Status;
        cubin: "nvrtcGetCUBIN", unsafe extern "C" fn(Program, *mut c_char) -> Status;
    }
}

impl Nvrtc {
    /// Looks where the loader does, then in the folders of `CUDA_PATH` and `CUDA_HOME`, in the
    /// toolkit's usual place, and among the packages of the Python that this is installed in; `None`
    /// where it is nowhere.
    pub fn find() -> Option<Self> {
        Self::all_up_to(i32::MAX).next()
    }

    /// All that are found there, passing over those of a CUDA later than `major`: its drivers do not
    /// load what they write.
    pub(super) fn all_up_to(major: i32) -> impl Iterator<Item = Self> {
        const NAMES: &[&str] = if cfg!(windows) {
            &["nvrtc64_130_0.dll", "nvrtc64_120_0.dll", "nvrtc64_112_0.dll"]
        } else {
            &["libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"]
        };
        let roots = ["CUDA_PATH", "CUDA_HOME"]
            .into_iter()
            .filter_map(std::env::var_os)
            .map(PathBuf::from)
            .chain(cfg!(unix).then(|| PathBuf::from("/usr/local/cuda")));
        let folders = roots
            .flat_map(|root| ["lib64", "lib", "bin/x64", "bin"].map(|folder| root.join(folder)))
            .chain(packages::folders());
        std::iter::once(PathBuf::new())
            .chain(folders)
            .flat_map(|folder| NAMES.iter().map(move |name| folder.join(name)))
            .filter_map(|path| Self::open(&path))
            .filter(move |nvrtc| nvrtc.version.0 <= major)
    }

    /// True where it writes machine code for the capability or, for a card that is newer than itself,
    /// text that the driver translates.
    pub(super) fn knows(&self, (major, minor): (u32, u32)) -> bool {
        self.architectures.first().is_some_and(|&oldest| oldest <= (10 * major + minor) as i32)
    }

    /// Opens the library at `path`; `None` where it is not an NVRTC of CUDA 11.2 or later.
    pub fn open(path: &Path) -> Option<Self> {
        let api = Api::open(path)?;
        let (mut major, mut minor, mut count) = (0, 0, 0);
        // SAFETY: each call writes one int.
        let failed = unsafe {
            (api.version)(&raw mut major, &raw mut minor) != 0
                || (api.architecture_count)(&raw mut count) != 0
        };
        if failed {
            return None;
        }
        let mut architectures = vec![0; usize::try_from(count).ok()?];
        // SAFETY: the array holds the number of entries just asked for.
        if unsafe { (api.architectures)(architectures.as_mut_ptr()) } != 0 {
            return None;
        }
        architectures.sort_unstable();
        let _builtins = builtins_beside(path, (major, minor));
        Some(Self { version: (major, minor), architectures, api, _builtins })
    }

    /// Version of CUDA it belongs to.
    pub fn version(&self) -> (i32, i32) {
        self.version
    }

    /// The compute capabilities (major, minor) it writes machine code for, ascending.
    pub fn compute_capabilities(&self) -> impl Iterator<Item = (u32, u32)> {
        self.architectures.iter().map(|&known| (known as u32 / 10, known as u32 % 10))
    }

    /// Compiles a kernel for a compute capability, as a [`Device`](crate::device::Device) would;
    /// needs no card.
    ///
    /// # Errors
    /// [`DeviceError::Compile`] with the compiler's log.
    pub fn compile(
        &self,
        source: &KernelSource,
        compute_capability: (u32, u32),
    ) -> Result<CompiledKernel, DeviceError> {
        let text = source.assemble(dialect::PRELUDE_CUDA);
        self.compile_text(&text, compute_capability).map_err(|fault| {
            let device = format!("NVRTC {}.{}", self.version.0, self.version.1);
            match fault {
                Fault::Compile(log) => {
                    DeviceError::Compile { device, program: source.name.clone(), log }
                }
                other => {
                    DeviceError::Runtime { device, call: "NVRTC", detail: format!("{other:?}") }
                }
            }
        })
    }

    /// What the kernel of a text is kept under: everything that it depends on.
    pub(super) fn key(&self, text: &str, compute_capability: (u32, u32)) -> Result<String, Fault> {
        let (architecture, _) = self.architecture(compute_capability)?;
        let (major, minor) = self.version;
        Ok(cache::key(&[&format!("NVRTC {major}.{minor}"), &architecture, &OPTIONS.concat(), text]))
    }

    /// The option that names the architecture, and whether machine code is written for it.
    fn architecture(&self, (major, minor): (u32, u32)) -> Result<(String, bool), Fault> {
        let wanted = (10 * major + minor) as i32;
        if self.architectures.contains(&wanted) {
            return Ok((format!("--gpu-architecture=sm_{wanted}"), true));
        }
        // PTX of the newest capability below the card's: the driver translates it.
        let below = self.architectures.iter().rfind(|&&known| known < wanted);
        let Some(known) = below else {
            let (compiler_major, compiler_minor) = self.version;
            return Err(Fault::Compile(format!(
                "NVRTC {compiler_major}.{compiler_minor} does not know compute capability \
                 {major}.{minor}"
            )));
        };
        Ok((format!("--gpu-architecture=compute_{known}"), false))
    }

    pub(crate) fn compile_text(
        &self,
        text: &str,
        compute_capability: (u32, u32),
    ) -> Result<CompiledKernel, Fault> {
        let (architecture, is_machine_code) = self.architecture(compute_capability)?;
        let options = std::iter::once(architecture.as_str()).chain(OPTIONS);
        let options: Vec<_> =
            options.map(|option| CString::new(option).unwrap_or_default()).collect();
        let option_pointers: Vec<_> = options.iter().map(|option| option.as_ptr()).collect();
        let Ok(source) = CString::new(text) else {
            return Err(Fault::Compile("the text holds a NUL".to_owned()));
        };

        let mut program = OpenProgram { api: &self.api, handle: ptr::null_mut() };
        // SAFETY: the strings live until `program` is dropped; there are no headers.
        let status = unsafe {
            (self.api.create)(
                &raw mut program.handle,
                source.as_ptr(),
                c"fimbria.cu".as_ptr(),
                0,
                ptr::null(),
                ptr::null(),
            )
        };
        check("nvrtcCreateProgram", status)?;
        // SAFETY: the program was created; the pointers are to C strings.
        let status = unsafe {
            (self.api.compile)(
                program.handle,
                option_pointers.len() as c_int,
                option_pointers.as_ptr(),
            )
        };
        if status == COMPILATION_FAILED {
            return Err(Fault::Compile(program.log()?));
        }
        check("nvrtcCompileProgram", status).map_err(|fault| match fault {
            Fault::Runtime { call, detail } => {
                // What is missing or broken stands there alone.
                let log = program.log().unwrap_or_default();
                Fault::Runtime { call, detail: format!("{detail} {log}").trim_end().to_owned() }
            }
            other => other,
        })?;
        let image = if is_machine_code {
            program.output("nvrtcGetCUBIN", self.api.cubin_size, self.api.cubin)?
        } else {
            program.output("nvrtcGetPTX", self.api.ptx_size, self.api.ptx)?
        };
        Ok(CompiledKernel { image, is_machine_code })
    }
}

/// The library of what NVRTC knows of CUDA, from the folder that it is in itself. Not every package
/// of NVRTC tells the loader to look there.
fn builtins_beside(nvrtc: &Path, (major, minor): (i32, i32)) -> Option<libloading::Library> {
    let folder = nvrtc.parent().filter(|folder| !folder.as_os_str().is_empty())?;
    let file = folder.join(format!("libnvrtc-builtins.so.{major}.{minor}"));
    // SAFETY: a library without initialisers, of the compiler that is open already.
    unsafe { libloading::Library::new(file) }.ok()
}

struct OpenProgram<'a> {
    api: &'a Api,
    handle: Program,
}

impl OpenProgram<'_> {
    fn output(
        &self,
        call: &'static str,
        size: unsafe extern "C" fn(Program, *mut usize) -> Status,
        read: unsafe extern "C" fn(Program, *mut c_char) -> Status,
    ) -> Result<Vec<u8>, Fault> {
        let mut bytes = 0;
        // SAFETY: the program is open; one size is written.
        check(call, unsafe { size(self.handle, &raw mut bytes) })?;
        let mut output = vec![0_u8; bytes];
        // SAFETY: `output` holds the bytes just asked for.
        check(call, unsafe { read(self.handle, output.as_mut_ptr().cast()) })?;
        Ok(output)
    }

    fn log(&self) -> Result<String, Fault> {
        let log = self.output("nvrtcGetProgramLog", self.api.log_size, self.api.log)?;
        let text = CStr::from_bytes_until_nul(&log).unwrap_or_default();
        Ok(text.to_string_lossy().trim().to_owned())
    }
}

impl Drop for OpenProgram<'_> {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: the program was created and is destroyed once.
            unsafe { (self.api.destroy)(&raw mut self.handle) };
        }
    }
}

fn check(call: &'static str, status: Status) -> Result<(), Fault> {
    match status {
        0 => Ok(()),
        1 => Err(Fault::OutOfMemory),
        other => Err(Fault::Runtime { call, detail: format!("NVRTC status {other}") }),
    }
}
