//! Maps of susceptibility of heads whose white matter is hollow cylinders of myelin, beside the truth:
//! guidance by diffusion, field strengths, oblique heads and lesions of each kind.
//!
//! ```sh
//! cargo run --release -p fimbria-phantoms --example susceptibility -- [TABLE] [SCENE ...]
//! ```
//!
//! TABLE is one of `tables::TABLES`, `all` by default. Errors are in % of the truth's spread 3 mm inside the brain, with means
//! off; lesions in ppb: what a method's map has more with the lesions in the diffusion images than without.

#![allow(clippy::print_stdout, reason = "its tables are what it is for")]

#[path = "susceptibility/maps.rs"]
mod maps;
#[path = "susceptibility/scan.rs"]
mod scan;
#[path = "susceptibility/scene.rs"]
mod scene;
#[path = "susceptibility/tables.rs"]
mod tables;

use std::error::Error;

use fimbria_compute::Workers;

use self::scene::{SCENES, Scene};

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let table = words.next().unwrap_or_else(|| "all".to_owned());
    let wanted: Vec<String> = words.collect();
    let workers = Workers::new(2)?;
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|other| other == name);
    for spec in SCENES.iter().filter(|spec| is_wanted(spec.name)) {
        let scene = Scene::new(spec, &workers)?;
        for (name, rows) in tables::TABLES {
            if table == "all" || table == *name {
                rows(&scene, &workers)?;
            }
        }
    }
    Ok(())
}
