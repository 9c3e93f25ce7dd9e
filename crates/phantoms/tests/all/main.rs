//! Subjects are what their specification says.

mod crossing;
mod protocol;
