//! Maps as files: names, orders and frames of fimbria, FSL, MRtrix3 and BIDS.

use std::path::Path;

use fimbria_compute::Workers;
use fimbria_image::frames::{turn_quartics, turn_vectors};
use fimbria_image::{
    BvecFrame, Datatype, Grid, Image, ImageError, ImageHeader, Intent, KurtosisOrder, MapKind,
    MapSpec, SpaceCodes, TensorOrder, WriteOptions, read_image, write_image, write_samples,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{Choice as _, MapFormat, MapLayout, Named, OutputError, OutputFolder};

/// How maps are written: the parameters every stage with maps shares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MapStyle {
    /// Format; `None` for .nii.gz, or .mif in MRtrix3's layout.
    pub format: Option<Named<MapFormat>>,
    /// Names, orders and frames.
    pub layout: Named<MapLayout>,
}

/// The model behind the maps of one folder, for BIDS, and the header entries all of them share.
#[derive(Clone, Debug, Default)]
pub struct MapContext {
    /// The stage that made them.
    pub stage: &'static str,
    /// The `model` label.
    pub model: &'static str,
    /// What tells them from other maps of the model; empty where there is no need to.
    pub label: &'static str,
    /// The `Model` entry of sidecars.
    pub model_entry: Value,
    /// What file names of BIDS begin with: the entities of the series ("sub-01_ses-2_").
    pub entities: String,
    /// What their headers take over.
    pub carried: Carried,
}

/// What of the header of a series goes on into the maps made of it.
#[derive(Clone, Debug, Default)]
pub struct Carried {
    /// Entries of .mif headers.
    pub keyvals: Vec<(String, String)>,
    /// The spaces that NIfTI's affines lead to; scanner where unknown.
    pub space_codes: Option<SpaceCodes>,
}

impl Carried {
    /// That of this header.
    pub fn from_header(header: &ImageHeader) -> Self {
        Self { keyvals: header.keyvals().to_vec(), space_codes: header.space_codes() }
    }

    /// With further entries.
    pub fn with(mut self, keyvals: impl IntoIterator<Item = (String, String)>) -> Self {
        self.keyvals.extend(keyvals);
        self
    }
}

/// Why a map was not written.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// The image cannot be written.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The output folder refuses.
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl MapStyle {
    /// The extension of every map.
    pub fn extension(&self) -> &'static str {
        self.map_format().name()
    }

    /// The format of images.
    pub(crate) fn map_format(&self) -> MapFormat {
        let by_layout = match self.layout.0 {
            MapLayout::Mrtrix => MapFormat::Mif,
            MapLayout::Fimbria | MapLayout::Fsl | MapLayout::Bids => MapFormat::NiiGz,
        };
        self.format.map_or(by_layout, |format| format.0)
    }

    /// The files a map is written to.
    pub fn file_names(&self, map: &MapSpec, context: &MapContext) -> Vec<String> {
        let stem = self.stem(map, context);
        let mut files = vec![format!("{stem}.{}", self.extension())];
        if self.layout.0 == MapLayout::Bids {
            files.push(format!("{stem}.json"));
        }
        files
    }

    /// Each of `maps` with the file of its values.
    pub fn map_files(
        &self,
        maps: impl IntoIterator<Item = MapSpec>,
        context: &MapContext,
    ) -> Vec<(MapSpec, String)> {
        let with_file = |map| {
            let file = self.file_names(&map, context).swap_remove(0);
            (map, file)
        };
        maps.into_iter().map(with_file).collect()
    }

    /// The file beside a map that says in JSON what it is, in layouts without sidecars too.
    pub(crate) fn sidecar_name(&self, map: &MapSpec, context: &MapContext) -> String {
        format!("{}.json", self.stem(map, context))
    }

    fn stem(&self, map: &MapSpec, context: &MapContext) -> String {
        let MapContext { stage, model, label, entities, .. } = context;
        match self.layout.0 {
            MapLayout::Fimbria => map.name.clone().into_owned(),
            MapLayout::Fsl => format!("{stage}_{}", map.name),
            MapLayout::Mrtrix => mrtrix_name(&map.name),
            MapLayout::Bids => {
                let (name, desc) = match map.name.rsplit_once('_') {
                    Some((name, desc @ ("modulated" | "normalised"))) => (name, desc),
                    _ => (&*map.name, ""),
                };
                let desc = match format!("{label}{desc}") {
                    desc if desc.is_empty() => desc,
                    desc => format!("desc-{desc}_"),
                };
                let param = bids_param(name);
                format!("{entities}model-{model}_param-{param}_{desc}dwimap")
            }
        }
    }

    /// Writes a map in the order and frame of the layout, and its sidecar where it has one.
    ///
    /// # Errors
    /// [`MapError`].
    pub fn write(
        &self,
        map: &MapSpec,
        image: &Image,
        context: &MapContext,
        out: &mut OutputFolder,
        workers: &Workers,
    ) -> Result<(), MapError> {
        if self.layout.0 == MapLayout::Bids {
            return self.write_with_sidecar(map, image, context, &[], out, workers);
        }
        self.write_by_itself(map, image, context, out, workers)
    }

    /// Writes a map, and beside it in every layout what it is, and `more`.
    ///
    /// # Errors
    /// [`MapError`].
    pub(crate) fn write_with_sidecar(
        &self,
        map: &MapSpec,
        image: &Image,
        context: &MapContext,
        more: &[(&str, Value)],
        out: &mut OutputFolder,
        workers: &Workers,
    ) -> Result<(), MapError> {
        self.write_by_itself(map, image, context, out, workers)?;
        self.write_sidecar(map, context, more, out)
    }

    /// Writes a map of numbers that are in no frame, whose image nobody holds: `value` gives each sample, by the
    /// number that it would have in the image of as many volumes as the map has.
    ///
    /// # Errors
    /// [`MapError`].
    pub(crate) fn write_samples(
        &self,
        map: &MapSpec,
        grid: &Grid,
        value: &(dyn Fn(usize) -> f32 + Sync),
        context: &MapContext,
        out: &mut OutputFolder,
        workers: &Workers,
    ) -> Result<(), MapError> {
        let path = out.stage(&self.file_names(map, context)[0])?;
        let options = self.write_options(map, context);
        workers.install(|| write_samples(&path, grid, map.n_volumes, value, &options))?;
        if self.layout.0 == MapLayout::Bids {
            self.write_sidecar(map, context, &[], out)?;
        }
        Ok(())
    }

    fn write_by_itself(
        &self,
        map: &MapSpec,
        image: &Image,
        context: &MapContext,
        out: &mut OutputFolder,
        workers: &Workers,
    ) -> Result<(), MapError> {
        let files = self.file_names(map, context);
        let path = out.stage(&files[0])?;
        let options = self.write_options(map, context);
        workers.install(|| match self.turned(map.kind, image) {
            Some(turned) => write_image(&path, &turned, &options),
            None => write_image(&path, image, &options),
        })?;
        Ok(())
    }

    fn write_sidecar(
        &self,
        map: &MapSpec,
        context: &MapContext,
        more: &[(&str, Value)],
        out: &mut OutputFolder,
    ) -> Result<(), MapError> {
        let mut sidecar = sidecar_of(map, context);
        more.iter().for_each(|(key, value)| sidecar[*key] = value.clone());
        let text = format!("{sidecar:#}\n");
        Ok(out.write(&self.sidecar_name(map, context), text.as_bytes())?)
    }

    /// The same where it is there: earlier versions did not write all maps.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn read_where_written(
        &self,
        map: &MapSpec,
        context: &MapContext,
        folder: &Path,
        workers: &Workers,
    ) -> Result<Option<Image>, ImageError> {
        let is_there = folder.join(&self.file_names(map, context)[0]).exists();
        is_there.then(|| self.read(map, context, folder, workers)).transpose()
    }

    /// Reads back a map that was written to `folder`, in fimbria's order and frame.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn read(
        &self,
        map: &MapSpec,
        context: &MapContext,
        folder: &Path,
        workers: &Workers,
    ) -> Result<Image, ImageError> {
        let path = folder.join(&self.file_names(map, context)[0]);
        workers.install(|| Ok(self.turned_back(map.kind, read_image(path)?)))
    }

    /// A map in the order and frame of the layout, in fimbria's.
    fn turned_back(&self, kind: MapKind, mut image: Image) -> Image {
        match (kind, self.layout.0) {
            (MapKind::Vector | MapKind::Peaks, MapLayout::Fsl) => {
                let turn = BvecFrame::Fsl.ras_from_frame(&image.grid.ras_from_vox);
                turn_vectors(&mut image, &turn);
                image
            }
            (MapKind::Tensor, MapLayout::Fsl) => TensorOrder::FSL.to_fimbria(&image),
            (MapKind::Tensor, MapLayout::Mrtrix) => TensorOrder::MRTRIX.to_fimbria(&image),
            (MapKind::Kurtosis, MapLayout::Fsl) => {
                let turn = BvecFrame::Fsl.ras_from_frame(&image.grid.ras_from_vox);
                turn_quartics(&mut image, &turn);
                image
            }
            (MapKind::Kurtosis, MapLayout::Mrtrix) => KurtosisOrder::MRTRIX.to_fimbria(&image),
            _ => image,
        }
    }

    /// The map in the order and frame of the layout; `None` where it is in them already.
    fn turned(&self, kind: MapKind, image: &Image) -> Option<Image> {
        match (kind, self.layout.0) {
            (MapKind::Vector | MapKind::Peaks, MapLayout::Fsl) => {
                let mut turned = image.clone();
                let fsl_from_ras = BvecFrame::Fsl.frame_from_ras(&image.grid.ras_from_vox);
                turn_vectors(&mut turned, &fsl_from_ras);
                Some(turned)
            }
            (MapKind::Tensor, MapLayout::Fsl) => Some(TensorOrder::FSL.from_fimbria(image)),
            (MapKind::Tensor, MapLayout::Mrtrix) => Some(TensorOrder::MRTRIX.from_fimbria(image)),
            (MapKind::Kurtosis, MapLayout::Fsl) => {
                let mut turned = image.clone();
                let fsl_from_ras = BvecFrame::Fsl.frame_from_ras(&image.grid.ras_from_vox);
                turn_quartics(&mut turned, &fsl_from_ras);
                Some(turned)
            }
            (MapKind::Kurtosis, MapLayout::Mrtrix) => {
                Some(KurtosisOrder::MRTRIX.from_fimbria(image))
            }
            _ => None,
        }
    }

    fn write_options(&self, map: &MapSpec, context: &MapContext) -> WriteOptions {
        /// NIfTI's code for a vector shown as a colour, which FSL's programs set and look for.
        const RGB_VECTOR: i32 = 2003;
        let code = if map.kind == MapKind::Vector { RGB_VECTOR } else { 0 };
        let datatype = if map.kind == MapKind::Code { Datatype::UInt8 } else { Datatype::Float32 };
        WriteOptions {
            datatype,
            intent: Intent { code, ..Intent::default() },
            description: self.description(map),
            keyvals: context.carried.keyvals.clone(),
            space_codes: context.carried.space_codes,
            ..WriteOptions::default()
        }
    }

    /// What the file says that it holds.
    pub(crate) fn description(&self, map: &MapSpec) -> String {
        match (map.kind, self.layout.0) {
            (
                MapKind::Vector | MapKind::Peaks | MapKind::Tensor | MapKind::Kurtosis,
                MapLayout::Fsl,
            ) => map.description.replace("scanner RAS axes", "the axes of FSL's bvecs"),
            (MapKind::Tensor, MapLayout::Mrtrix) => {
                map.description.replace("xx xy xz yy yz zz", "xx yy zz xy xz yz")
            }
            (MapKind::Kurtosis, MapLayout::Mrtrix) => {
                let names = |order: KurtosisOrder| order.names().join(" ");
                let (ours, theirs) = (names(KurtosisOrder::FIMBRIA), names(KurtosisOrder::MRTRIX));
                map.description.replace(&ours, &theirs)
            }
            _ => map.description.clone().into_owned(),
        }
    }
}

/// The sidecar of a BIDS map (BEP 16).
fn sidecar_of(map: &MapSpec, context: &MapContext) -> Value {
    let mut sidecar = json!({
        "Description": map.description,
        "Model": context.model_entry,
    });
    if !map.unit.is_empty() {
        sidecar["Units"] = json!(map.unit);
    }
    match map.kind {
        MapKind::Tensor => {
            sidecar["OrientationEncoding"] = json!({
                "Type": "tensor", "TensorRank": 2, "EncodingAxis": 3, "Reference": "xyz",
                "AntipodalSymmetry": true,
            });
        }
        MapKind::Vector => {
            sidecar["OrientationEncoding"] = json!({
                "Type": "unit3vector", "EncodingAxis": 3, "Reference": "xyz",
                "AntipodalSymmetry": true,
            });
        }
        MapKind::Peaks => {
            sidecar["OrientationEncoding"] = json!({
                "Type": "3vector", "EncodingAxis": 3, "Reference": "xyz",
                "AntipodalSymmetry": true, "FillValue": "NaN",
            });
        }
        MapKind::Kurtosis => sidecar["SymmetricTensor"] = symmetric_tensor(4),
        MapKind::Form(order) => sidecar["SymmetricTensor"] = symmetric_tensor(order),
        MapKind::Harmonics(degree) => {
            sidecar["OrientationEncoding"] = json!({
                "Type": "sh", "EncodingAxis": 3, "Reference": "xyz",
                "SphericalHarmonicBasis": "mrtrix3", "SphericalHarmonicDegree": degree,
                "AntipodalSymmetry": true,
            });
        }
        MapKind::Scalar | MapKind::Code => {}
    }
    sidecar
}

/// How the entries of a tensor of an order above 2 are stored: BIDS has tensors of rank 2 alone, so
/// that this is a key of our own.
fn symmetric_tensor(order: usize) -> Value {
    json!({
        "Rank": order, "Entries": "unique, in lexicographic order of their indices",
        "EncodingAxis": 3, "Reference": "xyz",
    })
}

/// What MRtrix3's own programs, or their documentation, call a map.
fn mrtrix_name(name: &str) -> String {
    let theirs = match name {
        "MD" => "adc",
        "L1" => "value1",
        "L2" => "value2",
        "L3" => "value3",
        "V1" => "vector1",
        "V2" => "vector2",
        "V3" => "vector3",
        "MO" => "mode",
        "S0" => "b0",
        "tensor" => "dt",
        "kurtosis" => "dkt",
        _ => return name.to_lowercase(),
    };
    theirs.to_owned()
}

/// The `param` label of a map: letters and digits only.
fn bids_param(name: &str) -> String {
    match name {
        "MO" => "mode".to_owned(),
        // Radial diffusivities, with QSIRecon.
        "L2" => "rd1".to_owned(),
        "L3" => "rd2".to_owned(),
        "tensor" => "diffusivity".to_owned(),
        "fod" => "wm".to_owned(),
        _ => name.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), ""),
    }
}
