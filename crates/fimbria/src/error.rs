//! Why something could not be done.

use std::error::Error as StdError;
use std::fmt;

/// Why something could not be done: one sentence; [`source`](StdError::source) gives its causes.
#[derive(Debug)]
pub struct Error(Box<dyn StdError + Send + Sync>);

impl Error {
    pub(crate) fn new(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self(cause.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source()
    }
}
