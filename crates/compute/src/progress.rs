//! How far a computation is, and whether it should go on.

/// The work was stopped because the caller asked for it (Ctrl-C).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// What a long computation tells its caller. Libraries never print; they call this.
pub trait Progress: Sync {
    /// A stage of `total` items begins (`what` is a short phrase such as "fitting tensors").
    fn start(&self, what: &str, total: u64);

    /// `items` more items of the current stage are done. Called from any thread.
    fn advance(&self, items: u64);

    /// Something the user should know, though the work goes on.
    fn warn(&self, message: &str);

    /// Something worth saying that is no warning: what was found or chosen. Dropped by default.
    fn note(&self, _message: &str) {}

    /// True once the user wants the work to stop.
    fn is_cancelled(&self) -> bool;

    /// `Err(Interrupted)` once the user wants the work to stop.
    ///
    /// # Errors
    /// [`Interrupted`] where [`is_cancelled`](Self::is_cancelled) is true.
    fn check(&self) -> Result<(), Interrupted> {
        if self.is_cancelled() { Err(Interrupted) } else { Ok(()) }
    }
}

/// Says nothing and never stops; for tests and small work.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn start(&self, _what: &str, _total: u64) {}
    fn advance(&self, _items: u64) {}
    fn warn(&self, _message: &str) {}
    fn is_cancelled(&self) -> bool {
        false
    }
}
