//! What the program ends with.

/// Of a command that was interrupted: 128 and the number of SIGINT.
pub(crate) const INTERRUPTED: u8 = 130;
/// Of a command that failed.
pub(crate) const FAILED: u8 = 1;
/// Of a command line that cannot be understood.
pub(crate) const USAGE: u8 = 2;
