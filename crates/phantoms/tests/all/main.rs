//! Subjects are what their specification says.

mod crossing;
mod head;
mod protocol;
