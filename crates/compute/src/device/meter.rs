//! Where the time of a device and of the host beside it goes, for benchmarks.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use super::error::Fault;
use super::runtime::{Handle, RawArgument, Runtime};

/// Seconds of a device and of the host that serves it, all of them, one after the other; and what was done.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// Kernels made from their text, or from a cache.
    pub compile: f64,
    /// The host between calls: samples gathered, tables and starts made, steps of solvers.
    pub prepare: f64,
    /// Memory taken and given back, and copies to it; memory of the host locked for copies.
    pub upload: f64,
    /// Kernels, each until it is done, and copies within the device.
    pub kernel: f64,
    /// Copies to the host.
    pub download: f64,
    /// The host putting results where they belong, up to [`Device::stored`](super::Device::stored).
    pub store: f64,
    /// Kernels launched.
    pub launches: f64,
    /// Bytes copied to the device.
    pub bytes_up: f64,
    /// Bytes copied to the host.
    pub bytes_down: f64,
}

impl Spent {
    /// The seconds by what for.
    pub fn parts(&self) -> [(&'static str, f64); 6] {
        let Self { compile, prepare, upload, kernel, download, store, .. } = *self;
        [
            ("compile", compile),
            ("prepare", prepare),
            ("upload", upload),
            ("kernel", kernel),
            ("download", download),
            ("store", store),
        ]
    }

    /// True where the device was asked for anything.
    pub fn is_of_work(&self) -> bool {
        self.launches + self.bytes_up + self.bytes_down > 0.0
    }

    /// With another's beside it.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.with(other, |a, b| a + b)
    }

    /// Each part so many times.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        self.with(self, |a, _| factor * a)
    }

    /// What came after `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        self.with(earlier, |a, b| a - b)
    }

    fn with(self, other: Self, of: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            compile: of(self.compile, other.compile),
            prepare: of(self.prepare, other.prepare),
            upload: of(self.upload, other.upload),
            kernel: of(self.kernel, other.kernel),
            download: of(self.download, other.download),
            store: of(self.store, other.store),
            launches: of(self.launches, other.launches),
            bytes_up: of(self.bytes_up, other.bytes_up),
            bytes_down: of(self.bytes_down, other.bytes_down),
        }
    }
}

/// A clock that always runs for one part of [`Spent`].
pub(super) struct Meter(Mutex<State>);

struct State {
    spent: Spent,
    /// Until when all is accounted for.
    until: Instant,
}

impl State {
    /// What has passed since the last time goes to a part.
    fn goes_to(&mut self, part: impl FnOnce(&mut Spent) -> &mut f64) {
        let now = Instant::now();
        *part(&mut self.spent) += (now - self.until).as_secs_f64();
        self.until = now;
    }
}

impl Meter {
    pub(super) fn new() -> Self {
        Self(Mutex::new(State { spent: Spent::default(), until: Instant::now() }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Until now; the host prepared since the last call.
    pub(super) fn spent(&self) -> Spent {
        let mut state = self.lock();
        state.goes_to(|spent| &mut spent.prepare);
        state.spent
    }

    /// Counts something.
    fn count(&self, what: impl FnOnce(&mut Spent)) {
        what(&mut self.lock().spent);
    }

    /// The host stored since the last call.
    pub(super) fn stored(&self) {
        self.lock().goes_to(|spent| &mut spent.store);
    }

    /// The host prepared before `call`, which belongs to a part.
    fn during<R>(&self, part: fn(&mut Spent) -> &mut f64, call: impl FnOnce() -> R) -> R {
        self.lock().goes_to(|spent| &mut spent.prepare);
        let result = call();
        self.lock().goes_to(part);
        result
    }
}

/// A runtime that waits for each kernel and measures each call. It has one queue: what runs side by side
/// cannot be told apart.
pub(super) struct Metered {
    runtime: Arc<dyn Runtime>,
    meter: Arc<Meter>,
}

impl Metered {
    pub(super) fn new(runtime: Arc<dyn Runtime>, meter: Arc<Meter>) -> Self {
        Self { runtime, meter }
    }

    fn compiling<R>(&self, call: impl FnOnce() -> R) -> R {
        self.meter.during(|spent| &mut spent.compile, call)
    }

    fn uploading<R>(&self, call: impl FnOnce() -> R) -> R {
        self.meter.during(|spent| &mut spent.upload, call)
    }

    /// Of a call that is only queued.
    fn running(&self, call: impl FnOnce() -> Result<(), Fault>) -> Result<(), Fault> {
        let wait = || call().and_then(|()| self.runtime.synchronize());
        self.meter.during(|spent| &mut spent.kernel, wait)
    }
}

impl Runtime for Metered {
    fn another_queue(&self) -> Result<Arc<dyn Runtime>, Fault> {
        let detail = "what it does is measured".to_owned();
        Err(Fault::Runtime { call: "another queue", detail })
    }

    fn allocate(&self, bytes: usize) -> Result<Handle, Fault> {
        self.uploading(|| self.runtime.allocate(bytes))
    }

    fn free(&self, memory: Handle) {
        self.uploading(|| self.runtime.free(memory));
    }

    fn write(&self, memory: Handle, offset: usize, bytes: &[u8]) -> Result<(), Fault> {
        self.meter.count(|spent| spent.bytes_up += bytes.len() as f64);
        self.uploading(|| self.runtime.write(memory, offset, bytes))
    }

    fn read(&self, memory: Handle, offset: usize, bytes: &mut [u8]) -> Result<(), Fault> {
        self.meter.count(|spent| spent.bytes_down += bytes.len() as f64);
        let read = || self.runtime.read(memory, offset, bytes);
        self.meter.during(|spent| &mut spent.download, read)
    }

    fn copy(&self, from: (Handle, usize), to: (Handle, usize), bytes: usize) -> Result<(), Fault> {
        self.running(|| self.runtime.copy(from, to, bytes))
    }

    fn zero(&self, memory: Handle, bytes: usize) -> Result<(), Fault> {
        self.running(|| self.runtime.zero(memory, bytes))
    }

    unsafe fn lock(&self, memory: *mut u8, bytes: usize) -> bool {
        // SAFETY: the caller's promise.
        self.uploading(|| unsafe { self.runtime.lock(memory, bytes) })
    }

    unsafe fn unlock(&self, memory: *mut u8) -> bool {
        // SAFETY: the caller's promise.
        self.uploading(|| unsafe { self.runtime.unlock(memory) })
    }

    fn prelude(&self) -> &'static str {
        self.runtime.prelude()
    }

    fn compile(&self, name: &str, text: &str) -> Result<Handle, Fault> {
        self.compiling(|| self.runtime.compile(name, text))
    }

    fn release_program(&self, program: Handle) {
        self.runtime.release_program(program);
    }

    fn kernel(&self, program: Handle, name: &str) -> Result<Handle, Fault> {
        self.compiling(|| self.runtime.kernel(program, name))
    }

    fn release_kernel(&self, kernel: Handle) {
        self.runtime.release_kernel(kernel);
    }

    unsafe fn launch(
        &self,
        kernel: Handle,
        groups: usize,
        group_size: usize,
        arguments: &[RawArgument],
    ) -> Result<(), Fault> {
        self.meter.count(|spent| spent.launches += 1.0);
        // SAFETY: the caller's promise.
        self.running(|| unsafe { self.runtime.launch(kernel, groups, group_size, arguments) })
    }

    fn synchronize(&self) -> Result<(), Fault> {
        self.running(|| Ok(()))
    }

    fn free_memory(&self) -> Option<u64> {
        self.runtime.free_memory()
    }
}
