//! Writes the unrolled products of the orders that the application uses.

#[allow(dead_code, unreachable_pub)] // kernels are the crate's part
#[path = "src/unrolled/generate.rs"]
mod generate;

use std::error::Error;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/unrolled/generate.rs");
    let folder = env::var("OUT_DIR")?;
    fs::write(Path::new(&folder).join("forms.rs"), generate::rust_forms(&[4, 6, 8, 10, 12]))?;
    Ok(())
}
