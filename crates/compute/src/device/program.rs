//! Kernel texts, compiled for one device and one set of constants, and how they are run.

use std::fmt::Write as _;
use std::sync::Arc;

use bytemuck::Pod;

use super::runtime::{Handle, RawArgument, Runtime};
use super::{Buffer, Device, DeviceError};

/// A text in the [dialect](crate::dialect) and the constants it is specialised by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSource {
    /// What error messages call it.
    pub name: String,
    /// Kernels and the functions they use.
    pub text: String,
    /// Names and values, each a `#define` before the text.
    pub constants: Vec<(String, String)>,
}

impl KernelSource {
    /// A text without constants.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into(), constants: Vec::new() }
    }

    /// Defines a constant.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl std::fmt::Display) -> Self {
        self.constants.push((name.into(), value.to_string()));
        self
    }

    /// Defines a floating-point constant with exactly this value; finite.
    #[must_use]
    pub fn with_f32(self, name: impl Into<String>, value: f32) -> Self {
        // `{:e}` is the shortest decimal that reads back as the same number.
        self.with(name, format_args!("({value:e}f)"))
    }

    /// Puts `library`, functions that the text uses, before it.
    #[must_use]
    pub fn after(mut self, library: &str) -> Self {
        self.text.insert(0, '\n');
        self.text.insert_str(0, library);
        self
    }

    /// What the compiler gets to see.
    pub(crate) fn assemble(&self, prelude: &str) -> String {
        let mut text = String::with_capacity(prelude.len() + self.text.len() + 64);
        text.push_str(prelude);
        for (name, value) in &self.constants {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "#define {name} {value}");
        }
        text.push_str(&self.text);
        text
    }
}

/// A compiled text.
pub(super) struct Program {
    runtime: Arc<dyn Runtime>,
    handle: Handle,
}

impl Program {
    pub(super) fn new(runtime: Arc<dyn Runtime>, handle: Handle) -> Self {
        Self { runtime, handle }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.runtime.release_program(self.handle);
    }
}

/// How many items run a kernel, and how they are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    groups: usize,
    group_size: usize,
}

impl Launch {
    /// At least `items` items in groups of 128; the last group may reach beyond `items`, so that
    /// kernels test their index.
    pub fn items(items: usize) -> Self {
        Self::groups_of(128, items.div_ceil(128))
    }

    /// Exactly `groups` groups of `group_size` items; a kernel that declares its group size needs
    /// that size.
    pub fn groups_of(group_size: usize, groups: usize) -> Self {
        Self { groups, group_size }
    }
}

/// One argument of a kernel: a buffer or a number of the parameter's exact type.
#[derive(Clone, Copy, Debug)]
pub struct Argument(RawArgument);

impl<T: Pod> From<&Buffer<T>> for Argument {
    fn from(buffer: &Buffer<T>) -> Self {
        Self(RawArgument::Memory(buffer.handle()))
    }
}

impl<T: Pod> From<&mut Buffer<T>> for Argument {
    fn from(buffer: &mut Buffer<T>) -> Self {
        Self(RawArgument::Memory(buffer.handle()))
    }
}

macro_rules! number_arguments {
    ($($number:ty => $variant:ident),*) => {$(
        impl From<$number> for Argument {
            fn from(value: $number) -> Self {
                Self(RawArgument::$variant(value))
            }
        }
    )*};
}
number_arguments!(i32 => I32, u32 => U32, i64 => I64, u64 => U64, f32 => F32, f64 => F64);

/// A kernel of a compiled text.
pub struct Kernel {
    device: Device,
    handle: Handle,
    // Dropped after the kernel's own handle is released.
    _program: Arc<Program>,
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Kernel(on {:?})", self.device)
    }
}

impl Kernel {
    pub(super) fn new(
        device: &Device,
        program: &Arc<Program>,
        name: &str,
    ) -> Result<Self, DeviceError> {
        let handle =
            device.runtime().kernel(program.handle, name).map_err(|fault| device.error(fault))?;
        Ok(Self { device: device.clone(), handle, _program: Arc::clone(program) })
    }

    /// Queues the kernel; a launch of no groups does nothing.
    ///
    /// # Safety
    /// `arguments` match the kernel's parameters in number, order and type; their buffers still
    /// live, lie on the kernel's device, and are as large as the kernel assumes.
    ///
    /// # Errors
    /// Where the runtime refuses; faults inside the kernel surface in a later call.
    pub unsafe fn launch(&self, launch: Launch, arguments: &[Argument]) -> Result<(), DeviceError> {
        if launch.groups == 0 {
            return Ok(());
        }
        let arguments: Vec<RawArgument> = arguments.iter().map(|argument| argument.0).collect();
        // SAFETY: the caller's promise.
        let launched = unsafe {
            self.device.runtime().launch(self.handle, launch.groups, launch.group_size, &arguments)
        };
        launched.map_err(|fault| self.device.error(fault))
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        self.device.runtime().release_kernel(self.handle);
    }
}
