//! gzip, both ways, as fast as the machine allows.

mod deflate;
mod inflate;

pub(crate) use deflate::{BLOCK_BYTES, write_member};
pub(crate) use inflate::{InflateError, Members, inflate_exact, is_gzip, is_plausible, why};
