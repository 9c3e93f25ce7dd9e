//! Maps of susceptibility of heads whose white matter is hollow cylinders of myelin, beside the truth:
//! guidance by diffusion, field strengths, oblique heads and lesions of each kind.
//!
//! ```sh
//! cargo run --release -p fimbria-phantoms --example susceptibility -- [TABLE] [SCENE ...]
//! ```
//!
//! TABLE is one of `tables::TABLES`, `all` by default; a SCENE is NAME, NAME:MM in voxels of so many mm, or NAME:MM:BOX,
//! the middle BOX mm of the head along each axis alone. Errors are in % of the truth's spread 3 mm inside the brain, with means
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

use self::scene::{SCENES, Scene, SceneSpec};

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let table = words.next().unwrap_or_else(|| "all".to_owned());
    let wanted: Vec<String> = words.collect();
    let workers = Workers::new(2)?;
    let specs: Vec<SceneSpec> = match wanted.is_empty() {
        true => SCENES.to_vec(),
        false => wanted.iter().map(|word| asked_for(word)).collect::<Result<_, _>>()?,
    };
    for spec in &specs {
        let scene = Scene::new(spec, &workers)?;
        for (name, rows) in tables::TABLES {
            if table == "all" || table == *name {
                rows(&scene, &workers)?;
            }
        }
    }
    Ok(())
}

/// The scene of a word of the command line.
fn asked_for(word: &str) -> Result<SceneSpec, Box<dyn Error>> {
    let mut parts = word.split(':');
    let name = parts.next().unwrap_or_default();
    let mut spec = *SCENES.iter().find(|spec| spec.name == name).ok_or("no such scene")?;
    if let Some(mm) = parts.next() {
        spec.voxel_mm = mm.parse()?;
    }
    if let Some(mm) = parts.next() {
        spec.box_mm = [mm.parse()?; 3];
    }
    Ok(spec)
}
