//! Subjects are what their specification says.

mod crossing;
mod head;
mod head_bundles;
mod head_signal;
mod protocol;
