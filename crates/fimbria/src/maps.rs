//! Results by name.

use std::collections::BTreeMap;
use std::ops::Index;

use fimbria_image::Image;
use ndarray::Array4;

use crate::series::array;

/// Maps by the names of the files that the program writes, without their ends: `FA`, `MD`, `status`. Axes are x, y, z
/// and component: one for a scalar, three for a direction. Outside the mask they are zero, or NaN where zero
/// would be a result.
#[derive(Clone, Debug, Default)]
pub struct Maps(BTreeMap<String, Array4<f32>>);

impl Maps {
    pub(crate) fn new(images: impl IntoIterator<Item = (String, Image)>) -> Self {
        Self(images.into_iter().map(|(name, image)| (name, array(image))).collect())
    }

    /// The map of this name, where there is one.
    pub fn get(&self, name: &str) -> Option<&Array4<f32>> {
        self.0.get(name)
    }

    /// Takes out the map of this name.
    pub fn take(&mut self, name: &str) -> Option<Array4<f32>> {
        self.0.remove(name)
    }

    /// The names and maps, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Array4<f32>)> {
        self.0.iter().map(|(name, map)| (name.as_str(), map))
    }
}

impl Index<&str> for Maps {
    type Output = Array4<f32>;

    /// # Panics
    /// Where there is no map of this name; [`get`](Maps::get) returns `None` then.
    fn index(&self, name: &str) -> &Self::Output {
        self.get(name).unwrap_or_else(|| {
            let names: Vec<_> = self.0.keys().map(String::as_str).collect();
            panic!("there is no map {name}, only {}", names.join(", "))
        })
    }
}
