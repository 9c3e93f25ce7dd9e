//! Known motion, found.

mod align;
mod distorted;
mod known_motion;
mod phantom;
mod runs;
// The example `motion` uses the rest.
#[allow(dead_code)]
mod scans;
mod several;
