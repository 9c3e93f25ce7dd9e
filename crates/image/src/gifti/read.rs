//! From the text of a GIFTI file to a surface.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::Surface;
use super::array::{Announced, Content};
use super::error::Problem;

impl Surface {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Problem> {
        let text = std::str::from_utf8(bytes).map_err(|error| Problem::Xml(error.to_string()))?;
        let mut reader = Reader::from_str(text);
        let mut building = Building::with_limit(bytes.len());
        let mut array: Option<Announced> = None;
        let mut data: Option<String> = None;
        let mut is_whole = false;
        loop {
            let event = reader.read_event().map_err(|error| Problem::Xml(error.to_string()))?;
            match event {
                Event::Start(start) => match start.name().as_ref() {
                    "DataArray" => array = Some(Announced::new(|name| attribute(&start, name))?),
                    "Data" => data = Some(String::new()),
                    _ => {}
                },
                Event::Text(part) => {
                    if let Some(data) = &mut data {
                        data.push_str(&part);
                    }
                }
                Event::CData(part) => {
                    if let Some(data) = &mut data {
                        data.push_str(&part);
                    }
                }
                Event::End(end) if end.name().as_ref() == "DataArray" => {
                    if let (Some(array), Some(data)) = (array.take(), data.take()) {
                        building.add(&array, &data)?;
                    }
                }
                Event::End(end) if end.name().as_ref() == "GIFTI" => is_whole = true,
                Event::Eof if is_whole => return building.finish(),
                Event::Eof => return Err(Problem::Cut),
                _ => {}
            }
        }
    }
}

fn attribute(start: &BytesStart<'_>, name: &'static str) -> Result<Option<String>, Problem> {
    let found = start.try_get_attribute(name).map_err(|error| Problem::Xml(error.to_string()))?;
    Ok(found.map(|attribute| attribute.value.into_owned()))
}

/// What has been read so far.
#[derive(Default)]
struct Building {
    vertices: Option<Vec<[f32; 3]>>,
    triangles: Vec<[i64; 3]>,
    values: Vec<Vec<f32>>,
    /// How many numbers may still come.
    room: usize,
}

impl Building {
    /// Of a file of so many bytes. Coordinates take two bytes a number or more, triangles of a
    /// regular mesh half of one, and labels of nothing none to speak of: eight numbers a byte, or
    /// four million, are a surface, and more are made to fill memory.
    fn with_limit(bytes: usize) -> Self {
        Self { room: bytes.saturating_mul(8).max(1 << 22), ..Self::default() }
    }

    fn add(&mut self, array: &Announced, text: &str) -> Result<(), Problem> {
        let numbers = array.decoded(text, self.room)?;
        self.room -= numbers.len();
        match array.content {
            Content::Points if self.vertices.is_none() => {
                let points = threes(array, &numbers, "points")?;
                self.vertices = Some(points.map(|p| p.map(|x| x as f32)).collect());
            }
            Content::Triangles if self.triangles.is_empty() => {
                let triangles = threes(array, &numbers, "triangles")?;
                self.triangles = triangles.map(|t| t.map(|x| x as i64)).collect();
            }
            Content::Values => self.values.push(numbers.iter().map(|x| *x as f32).collect()),
            // A second surface in one file is not this one.
            _ => {}
        }
        Ok(())
    }

    fn finish(self) -> Result<Surface, Problem> {
        let vertices = self.vertices.ok_or(Problem::NoPoints)?;
        if let Some(at) = vertices.iter().position(|v| v.iter().any(|x| !x.is_finite())) {
            return Err(Problem::NotFinite(at));
        }
        let n = vertices.len();
        let vertex = |v: i64| {
            u32::try_from(v).ok().filter(|at| (*at as usize) < n).ok_or(Problem::NoVertex(v, n))
        };
        let triangle = |[a, b, c]: [i64; 3]| Ok::<_, Problem>([vertex(a)?, vertex(b)?, vertex(c)?]);
        Ok(Surface {
            triangles: self.triangles.into_iter().map(triangle).collect::<Result<_, _>>()?,
            values: self.values.into_iter().find(|values| values.len() == n),
            vertices,
        })
    }
}

/// Rows of three.
fn threes<'a>(
    array: &Announced,
    numbers: &'a [f64],
    what: &'static str,
) -> Result<impl Iterator<Item = [f64; 3]> + 'a, Problem> {
    let [n, 3] = array.dims[..] else {
        return Err(Problem::NoThrees { what, dims: array.dims.clone() });
    };
    let column_major = array.column_major;
    Ok((0..n).map(move |i| {
        std::array::from_fn(|k| numbers[if column_major { k * n + i } else { 3 * i + k }])
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tetrahedron() -> Surface {
        Surface {
            vertices: vec![[0.0, 0.0, 0.0], [1.5, 0.0, 0.0], [0.0, -2.0, 0.0], [0.0, 0.0, 3.25]],
            triangles: vec![[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]],
            values: Some(vec![0.0, 1.0, 0.0, 2.5]),
        }
    }

    fn with_arrays(arrays: &str) -> String {
        format!("<?xml version=\"1.0\"?>\n<GIFTI Version=\"1.0\">{arrays}</GIFTI>")
    }

    const POINTS: &str = "<DataArray Intent=\"NIFTI_INTENT_POINTSET\" DataType=\"NIFTI_TYPE_FLOAT32\" \
        ArrayIndexingOrder=\"RowMajorOrder\" Dimensionality=\"2\" Dim0=\"2\" Dim1=\"3\" \
        Encoding=\"ASCII\" Endian=\"LittleEndian\"><Data>1 2 3\n4 5 6</Data></DataArray>";

    fn problem(xml: &str) -> Problem {
        Surface::from_bytes(xml.as_bytes()).unwrap_err()
    }

    #[test]
    fn what_is_written_is_read() {
        let surface = tetrahedron();
        assert_eq!(Surface::from_bytes(surface.to_xml().as_bytes()).unwrap(), surface);
        let bare = Surface { values: None, ..surface };
        assert_eq!(Surface::from_bytes(bare.to_xml().as_bytes()).unwrap(), bare);
    }

    #[test]
    fn text_column_major_order_and_big_ends_are_read() {
        let read = |xml: &str| Surface::from_bytes(with_arrays(xml).as_bytes()).unwrap().vertices;
        assert_eq!(read(POINTS), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
        let columns = POINTS.replace("RowMajor", "ColumnMajor");
        assert_eq!(read(&columns), [[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]);
        use base64::Engine as _;
        let bytes: Vec<u8> = (1..=6).flat_map(|x| (x as f32).to_be_bytes()).collect();
        let data = base64::engine::general_purpose::STANDARD.encode(bytes);
        let big = POINTS
            .replace("LittleEndian", "BigEndian")
            .replace("ASCII", "Base64Binary")
            .replace("1 2 3\n4 5 6", &data);
        assert_eq!(read(&big), read(POINTS));
    }

    #[test]
    fn what_is_no_surface_is_one_error() {
        assert_eq!(problem(&with_arrays("")), Problem::NoPoints);
        assert!(matches!(problem("<GIFTI"), Problem::Xml(_)));
        let wrong = |from: &str, to: &str| problem(&with_arrays(&POINTS.replace(from, to)));
        assert_eq!(
            wrong("Dim0=\"2\"", "Dim0=\"3\""),
            Problem::Length { dims: vec![3, 3], found: 6 }
        );
        assert_eq!(
            wrong("FLOAT32", "RGB24"),
            Problem::Unknown { name: "DataType", value: "NIFTI_TYPE_RGB24".into() }
        );
        assert_eq!(wrong("Dimensionality=\"2\"", ""), Problem::Missing("Dimensionality"));
        assert!(matches!(wrong("ASCII", "GZipBase64Binary"), Problem::Data(_)));
        assert_eq!(wrong("5", "nan"), Problem::NotFinite(1));
        let mut surface = tetrahedron();
        surface.triangles[2][1] = 4;
        assert_eq!(problem(&surface.to_xml()), Problem::NoVertex(4, 4));
    }

    #[test]
    fn a_small_file_that_inflates_to_fill_memory_is_refused() {
        use std::io::Write as _;

        use base64::Engine as _;
        let mut zeros = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        zeros.write_all(&vec![0; 3 << 20]).unwrap();
        let data = base64::engine::general_purpose::STANDARD.encode(zeros.finish().unwrap());
        let values = format!(
            "<DataArray Intent=\"NIFTI_INTENT_NONE\" DataType=\"NIFTI_TYPE_UINT8\" \
             Dimensionality=\"1\" Dim0=\"{}\" Encoding=\"GZipBase64Binary\"><Data>{data}</Data>\
             </DataArray>",
            3 << 20
        );
        // One array of so many is a surface with labels of nothing, many are not.
        assert!(
            Surface::from_bytes(with_arrays(&(POINTS.to_owned() + &values)).as_bytes()).is_ok()
        );
        let found = problem(&with_arrays(&values.repeat(2)));
        assert!(matches!(found, Problem::Implausible { .. }), "{found}");
    }

    #[test]
    fn a_file_cut_between_its_arrays_is_no_surface() {
        let xml = tetrahedron().to_xml();
        let after_points = xml.find("</DataArray>").unwrap() + "</DataArray>".len();
        assert_eq!(problem(&xml[..after_points]), Problem::Cut);
        assert_eq!(problem(&xml[..xml.rfind("</GIFTI>").unwrap()]), Problem::Cut);
    }

    #[test]
    fn a_header_that_asks_for_the_world_allocates_nothing() {
        let huge = POINTS.replace("Dim0=\"2\"", "Dim0=\"1000000000000\"");
        assert!(matches!(problem(&with_arrays(&huge)), Problem::Implausible { .. }));
        let most = POINTS.replace("Dim0=\"2\"", &format!("Dim0=\"{}\"", usize::MAX));
        assert!(matches!(problem(&with_arrays(&most)), Problem::Length { .. }));
    }
}
