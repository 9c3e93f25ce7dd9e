//! Pixels, and their PNG and data-URI forms.

use std::collections::BTreeMap;

use crate::colour::Rgb;

/// A picture, rows from top to bottom.
#[derive(Clone, Debug)]
pub(crate) struct Raster {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) pixels: Vec<Rgb>,
}

impl Raster {
    /// A picture whose pixel (column, row) has the colour `paint` says.
    pub(crate) fn new(width: usize, height: usize, paint: impl Fn(usize, usize) -> Rgb) -> Self {
        let rows = 0..height;
        let pixels = rows.flat_map(|row| (0..width).map(move |column| (column, row)));
        let pixels = pixels.map(|(column, row)| paint(column, row)).collect();
        Self { width, height, pixels }
    }

    /// `data:image/png;base64,…`
    pub(crate) fn data_uri(&self) -> String {
        let mut uri = String::from("data:image/png;base64,");
        push_base64(&self.png(), &mut uri);
        uri
    }

    /// The picture as a PNG file: indexed where 256 colours suffice, else 24 bits per pixel.
    fn png(&self) -> Vec<u8> {
        let mut palette = BTreeMap::new();
        for &pixel in &self.pixels {
            if palette.len() > 256 {
                break;
            }
            palette.insert(pixel, 0u8);
        }
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, self.width as u32, self.height as u32);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::Balanced);
        let samples: Vec<u8> = if palette.len() <= 256 {
            for (entry, index) in palette.values_mut().zip(0..=255) {
                *entry = index;
            }
            encoder.set_color(png::ColorType::Indexed);
            encoder.set_palette(palette.keys().flatten().copied().collect::<Vec<u8>>());
            // Neighbouring entries of a palette are no numbers to predict from.
            encoder.set_filter(png::Filter::NoFilter);
            self.pixels.iter().map(|pixel| palette[pixel]).collect()
        } else {
            encoder.set_color(png::ColorType::Rgb);
            self.pixels.iter().flatten().copied().collect()
        };
        encoder
            .write_header()
            .and_then(|mut writer| {
                writer.write_image_data(&samples)?;
                writer.finish()
            })
            .expect("a picture of at least one pixel is written to memory");
        file
    }
}

pub(crate) fn push_base64(bytes: &[u8], out: &mut String) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    out.reserve(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let word = (0..3).fold(0u32, |w, i| w << 8 | u32::from(*group.get(i).unwrap_or(&0)));
        for digit in 0..4 {
            let index = (word >> (18 - 6 * digit)) as usize & 63;
            out.push(if digit <= group.len() { char::from(DIGITS[index]) } else { '=' });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(raster: &Raster) -> Vec<Rgb> {
        let mut decoder = png::Decoder::new(std::io::Cursor::new(raster.png()));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut samples = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut samples).unwrap();
        samples.chunks(3).map(|rgb| [rgb[0], rgb[1], rgb[2]]).collect()
    }

    #[test]
    fn pixels_survive_the_png_with_and_without_palette() {
        let few = Raster::new(7, 3, |x, y| [x as u8, 10 * y as u8, 0]);
        let many = Raster::new(40, 30, |x, y| [x as u8, y as u8, (x * y) as u8]);
        assert_eq!(decoded(&few), few.pixels);
        assert_eq!(decoded(&many), many.pixels);
        assert!(few.png().windows(4).any(|w| w == b"PLTE"));
        assert!(!many.png().windows(4).any(|w| w == b"PLTE"));
    }

    #[test]
    fn exactly_256_colours_fit_the_palette() {
        let raster = Raster::new(256, 1, |x, _| [x as u8, 0, 0]);
        assert_eq!(decoded(&raster), raster.pixels);
    }

    #[test]
    fn base64_of_rfc_4648() {
        for (plain, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foobar", "Zm9vYmFy")] {
            let mut out = String::new();
            push_base64(plain.as_bytes(), &mut out);
            assert_eq!(out, coded);
        }
    }
}
