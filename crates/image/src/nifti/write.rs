//! A NIfTI header for an image.

use super::fields::{Fields, Version};
use super::{DATATYPES, orientation};
use crate::Grid;
use crate::error::UnwritableError;
use crate::header::Shape;
use crate::write::WriteOptions;

/// Which header to write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NiftiVersion {
    /// NIfTI-1, or NIfTI-2 where a dimension exceeds 32767.
    #[default]
    Auto,
    /// NIfTI-1: 348 bytes, dimensions up to 32767.
    One,
    /// NIfTI-2: 540 bytes, any dimension.
    Two,
}

/// Volumes go along dimension 5, dimension 4 being 1, where the standard says that the intent's
/// components do: codes 1003 to 1007 (ESTIMATE, GENMATRIX, SYMMATRIX, DISPVECT, VECTOR).
const INTENTS_ALONG_5: std::ops::RangeInclusive<i32> = 1003..=1007;

const MM_AND_SECONDS: i32 = 2 | 8;

/// The bytes before the data of a single file, or the whole header file of a pair.
pub(crate) fn encode_header(
    shape: &Shape,
    single: bool,
    options: &WriteOptions,
) -> Result<Vec<u8>, UnwritableError> {
    let Some((code, _)) = DATATYPES.iter().find(|(_, d)| *d == options.datatype) else {
        return Err(UnwritableError::Datatype(options.datatype));
    };
    let dims = &shape.dims;
    if dims.len() > 7 {
        return Err(UnwritableError::NiftiRank { dims: dims.clone() });
    }
    let version = version(dims, options)?;

    let mut fields = Fields {
        dim: [1; 8],
        intent_parameters: options.intent.parameters,
        intent_code: options.intent.code,
        intent_name: options.intent.name.clone(),
        datatype: *code,
        bitpix: options.datatype.bits() as i32,
        pixdim: [1.0; 8],
        data_offset: if single { version.data_offset() as f64 } else { 0.0 },
        slope: shape.scaling.slope,
        intercept: shape.scaling.intercept,
        shown: options.shown.map_or([0.0; 2], |[least, largest]| [largest, least].map(f64::from)),
        units: MM_AND_SECONDS,
        description: options.description.clone(),
        ..Fields::default()
    };
    fields.dim[0] = dims.len() as i64;
    for (field, dim) in fields.dim[1..].iter_mut().zip(dims) {
        *field = *dim as i64;
    }
    for (field, step) in fields.pixdim[4..].iter_mut().zip(&shape.volume_steps) {
        *field = if step.is_finite() { *step } else { 1.0 };
    }
    orientation::set(&mut fields, &shape.grid);
    if let Some(codes) = options.space_codes {
        // A qform that cannot hold the affine stays without code.
        fields.qform_code = if fields.qform_code > 0 { codes.qform } else { 0 };
        fields.sform_code = codes.sform;
    }

    let mut header = fields.write(version, options.byte_order);
    let magic: &[u8] = match (version, single) {
        (Version::One, true) => b"n+1\0",
        (Version::One, false) => b"ni1\0",
        (Version::Two, true) => b"n+2\0\r\n\x1a\n",
        (Version::Two, false) => b"ni2\0\r\n\x1a\n",
    };
    header[version.magic_at()..][..magic.len()].copy_from_slice(magic);
    header.resize(version.data_offset(), 0); // no extensions
    Ok(header)
}

/// The dimensions of volumes on a grid, as NIfTI has them.
pub(crate) fn dims(grid: &Grid, n_volumes: usize, options: &WriteOptions) -> Vec<usize> {
    let mut dims = grid.dims.to_vec();
    if INTENTS_ALONG_5.contains(&options.intent.code) {
        dims.extend([1, n_volumes]);
    } else if n_volumes > 1 {
        dims.push(n_volumes);
    }
    dims
}

fn version(dims: &[usize], options: &WriteOptions) -> Result<Version, UnwritableError> {
    let fits_one = dims.iter().all(|d| i16::try_from(*d).is_ok());
    match options.nifti_version {
        NiftiVersion::One if !fits_one => {
            Err(UnwritableError::Nifti1Dimensions { dims: dims.to_vec() })
        }
        NiftiVersion::Auto | NiftiVersion::One if fits_one => Ok(Version::One),
        _ => Ok(Version::Two),
    }
}
