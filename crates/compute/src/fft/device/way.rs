//! Two ways of a transform, of which a device may refuse one.

use std::sync::OnceLock;

use crate::device::DeviceError;

/// Lines in the memory of groups, which are faster, or passes: these are made where lines do not fit, or once the
/// device has refused the kernels of lines. Some drivers take a text and then have not the registers for its
/// groups.
pub(super) struct Way<L, P> {
    lines: Option<L>,
    passes: OnceLock<P>,
    /// What the device said of lines that fit.
    refusal: OnceLock<DeviceError>,
}

/// One of them.
pub(super) enum Which<'a, L, P> {
    Lines(&'a L),
    Passes(&'a P),
}

impl<L, P> Way<L, P> {
    /// Of lines, if there are some and the device takes them; else `passes`.
    pub(super) fn new(
        lines: Result<Option<L>, DeviceError>,
        passes: impl FnOnce() -> Result<P, DeviceError>,
    ) -> Result<Self, DeviceError> {
        let refusal = OnceLock::new();
        let lines = match lines {
            Err(refused) if refused.is_of_one_kernel() => {
                refusal.get_or_init(|| refused);
                None
            }
            lines => lines?,
        };
        let way = Self { lines, passes: OnceLock::new(), refusal };
        if way.lines.is_none() {
            way.passes(passes)?;
        }
        Ok(way)
    }

    /// Goes by lines or by passes. A launch that is refused has changed nothing: what it was to do `passes` do,
    /// and all that comes later.
    pub(super) fn go(
        &self,
        passes: impl FnOnce() -> Result<P, DeviceError>,
        mut by: impl FnMut(Which<'_, L, P>) -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        if let (Some(lines), None) = (&self.lines, self.passes.get()) {
            match by(Which::Lines(lines)) {
                Err(refused) if refused.is_of_one_kernel() => {
                    self.refusal.get_or_init(|| refused);
                }
                done => return done,
            }
        }
        by(Which::Passes(self.passes(passes)?))
    }

    /// Why passes do what lines that fit were to do, where the device refused these.
    pub(super) fn refusal(&self) -> Option<&DeviceError> {
        self.refusal.get()
    }

    fn passes(&self, make: impl FnOnce() -> Result<P, DeviceError>) -> Result<&P, DeviceError> {
        if let Some(passes) = self.passes.get() {
            return Ok(passes);
        }
        let made = make()?;
        Ok(self.passes.get_or_init(|| made))
    }
}
