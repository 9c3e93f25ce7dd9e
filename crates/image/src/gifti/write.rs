//! From a surface to the text of a GIFTI file.

use std::fmt::Write as _;
use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::Surface;

impl Surface {
    /// The text of a file that holds it.
    pub fn to_xml(&self) -> String {
        let arrays = 2 + usize::from(self.values.is_some());
        let mut xml = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <!DOCTYPE GIFTI SYSTEM \"http://www.nitrc.org/frs/download.php/115/gifti.dtd\">\n\
             <GIFTI Version=\"1.0\" NumberOfDataArrays=\"{arrays}\">\n<MetaData/>\n<LabelTable/>\n"
        );
        let points: Vec<u8> =
            self.vertices.iter().flatten().flat_map(|x| x.to_le_bytes()).collect();
        array(&mut xml, "POINTSET", "FLOAT32", &[self.vertices.len(), 3], &points);
        let triangles: Vec<u8> =
            self.triangles.iter().flatten().flat_map(|v| v.to_le_bytes()).collect();
        array(&mut xml, "TRIANGLE", "INT32", &[self.triangles.len(), 3], &triangles);
        if let Some(values) = &self.values {
            let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
            array(&mut xml, "SHAPE", "FLOAT32", &[values.len()], &bytes);
        }
        xml + "</GIFTI>\n"
    }
}

fn array(xml: &mut String, intent: &str, datatype: &str, dims: &[usize], bytes: &[u8]) {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    // Nothing that is written to memory fails.
    let packed = encoder.write_all(bytes).and_then(|()| encoder.finish()).unwrap_or_default();
    let _ = write!(
        xml,
        "<DataArray Intent=\"NIFTI_INTENT_{intent}\" DataType=\"NIFTI_TYPE_{datatype}\" \
         ArrayIndexingOrder=\"RowMajorOrder\" Dimensionality=\"{}\"",
        dims.len()
    );
    for (number, dim) in dims.iter().enumerate() {
        let _ = write!(xml, " Dim{number}=\"{dim}\"");
    }
    let _ = write!(
        xml,
        " Encoding=\"GZipBase64Binary\" Endian=\"LittleEndian\" ExternalFileName=\"\" \
         ExternalFileOffset=\"\">\n<MetaData/>\n"
    );
    if intent == "POINTSET" {
        xml.push_str(
            "<CoordinateSystemTransformMatrix>\n\
             <DataSpace><![CDATA[NIFTI_XFORM_UNKNOWN]]></DataSpace>\n\
             <TransformedSpace><![CDATA[NIFTI_XFORM_UNKNOWN]]></TransformedSpace>\n\
             <MatrixData>1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1</MatrixData>\n\
             </CoordinateSystemTransformMatrix>\n",
        );
    }
    let _ = writeln!(xml, "<Data>{}</Data>\n</DataArray>", STANDARD.encode(packed));
}
