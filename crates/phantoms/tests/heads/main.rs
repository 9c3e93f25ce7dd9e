//! The head is what is said of it.
//!
//! Apart from the other tests, as all of these look at a few heads: a process makes each once, and nextest
//! has a process for every test.

mod bundles;
mod head;
mod signal;
