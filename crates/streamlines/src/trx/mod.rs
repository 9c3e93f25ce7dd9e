//! TRX: a zip archive or a folder with one plain array per file, little endian, and `header.json`.
//! Coordinates are scanner RAS+ mm. Described at <https://tee-ar-ex.github.io/trx-specification>.
//!
//! | file | holds |
//! |---|---|
//! | `header.json` | affine, dimensions, counts |
//! | `positions.3.TYPE` | points |
//! | `offsets.TYPE` | where each streamline starts, then the number of points |
//! | `dpv/NAME[.WIDTH].TYPE` | data per point (vertex) |
//! | `dps/NAME[.WIDTH].TYPE` | data per streamline |
//! | `groups/NAME.TYPE` | indices of streamlines |
//! | `dpg/GROUP/NAME[.WIDTH].TYPE` | data per group |

mod about;
mod name;
mod parts;
mod read;
mod write;

pub(crate) use read::Reader;
pub(crate) use write::Writer;
