//! The head is what is said of it.
//!
//! Apart from the other tests, as all of these look at a few heads: a process makes each once, and nextest
//! has a process for every test.

mod bundles;
mod guidance;
mod gyri;
mod head;
#[path = "../../examples/susceptibility/maps.rs"]
#[allow(dead_code, reason = "its example has tables of more")]
mod maps;
#[path = "../../examples/susceptibility/scene.rs"]
#[allow(dead_code, reason = "its example has tables of more")]
mod scene;
mod signal;
