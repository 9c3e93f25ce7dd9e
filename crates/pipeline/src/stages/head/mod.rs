//! The stage that makes a head of known truth.

mod options;
mod tables;
mod writes;

use std::path::Path;
use std::sync::Arc;

use fimbria_image::{Datatype, WriteOptions};
use fimbria_phantoms::GreSubject;
use fimbria_phantoms::head::{Head, head, lookup_table};
use fimbria_streamlines::WriteOptions as LineOptions;
use serde_json::{Value, json};

pub use self::options::{EchoTimes, HeadOptions, SeriesOptions, Several, Shell, Snr, Three, Two};
pub(crate) use self::tables::{POSE_COLUMNS, pose_numbers, pose_row, shapes_line};
use self::tables::{dropped, grouped, numbered, poses};
pub use self::writes::HEAD_WRITES;
use crate::stages::field::Echoes;
use crate::stages::gre::{GreFiles, echoes};
use crate::stages::load::Subject;
use crate::stages::phantom::{Files, handed_on};
use crate::{Choice as _, Logbook, MapFormat, OutputFolder, Product, Products, Stage, StageError};

/// Where the gradient-echo scan is written.
const SCAN: &str = "gre/";

/// Makes a head: hands on a [`Head`], its [`Subject`] and its truth, the [`Echoes`] and the truth of
/// its gradient-echo scan where there is one, and writes them.
pub struct HeadPhantom {
    /// What to make.
    pub options: HeadOptions,
    /// Format of its images.
    pub format: MapFormat,
}

impl Stage for HeadPhantom {
    fn name(&self) -> &'static str {
        "head"
    }

    fn makes(&self) -> Vec<Product> {
        let mut made = vec![
            Product::of::<Head>(),
            Product::of::<Subject>(),
            Product::of::<Arc<fimbria_phantoms::Subject>>(),
        ];
        if self.options.gre.is_some() {
            made.extend([Product::of::<Echoes>(), Product::of::<GreSubject>()]);
        }
        made
    }

    fn parameters(&self) -> Value {
        let mut values = json!(self.options);
        values["format"] = json!(self.format.name());
        values
    }

    fn outputs(&self) -> Vec<String> {
        let image = |name| format!("{name}.{}", self.format.name());
        let mut files = ["dwi", "mask", "t1w", "labels", "5tt"].map(image).to_vec();
        files.push("labels.txt".to_owned());
        if self.format != MapFormat::Mif {
            files.extend(["dwi.bval".to_owned(), "dwi.bvec".to_owned()]);
        }
        if self.options.b_tensor.is_some() {
            files.push("dwi.bshape".to_owned());
        }
        if self.options.nonlinearity > 0.0 {
            files.push(image("grad_dev"));
        }
        if self.options.gre.is_some() {
            files.extend(GreFiles { folder: SCAN, format: self.format }.names());
        }
        files
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let spec = self.options.spec();
        let mut made = head(&spec, log.session().on.workers, log)?;
        log.count("volumes", made.subject.dwi.n_volumes as u64);
        log.count("voxels", made.subject.mask.len() as u64);
        let lines = made.bundles.iter().map(|bundle| bundle.streamlines.len() as u64);
        log.count("streamlines", lines.sum());
        if let (Some(scan), Some(of)) = (made.scan.take(), spec.scan) {
            products.put(echoes(&scan, &of.echo_times_s, of.b0_tesla)?);
            products.put(scan);
        }
        handed_on(&made.subject).put(products);
        products.put(made.subject.clone());
        products.put(made);
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let made = products.get::<Head>()?;
        out.write("labels.txt", lookup_table().as_bytes())?;
        out.write("truth/bundles.txt", numbered(&made.bundles).as_bytes())?;
        let mut files = Files { out, folder: "", format: self.format, log };
        files.series(&made.subject.dwi, &made.subject.gradients)?;
        if self.options.b_tensor.is_some() {
            files.out.write("dwi.bshape", shapes_line(&made.shapes).as_bytes())?;
        }
        files.mask(&made.subject.mask)?;
        let t1w = files.options("simulated T1-weighted picture without noise");
        files.image("t1w", &made.t1w, &t1w)?;
        let described = "numbers of labels.txt";
        let labels = WriteOptions { datatype: Datatype::UInt16, ..files.options(described) };
        files.image("labels", &made.labels, &labels)?;
        let described = "parts: cortical grey, subcortical grey, white, fluid, none";
        let five = files.options(described);
        files.image("5tt", &made.five_tissues, &five)?;
        let described = "parts: both greys, white, fluid, blood, soft, fat, bone, air";
        let tissues = files.options(described);
        files.image("truth/tissues", &made.tissues, &tissues)?;
        files.truth(&made.subject.truth.maps)?;
        if let Some(deviation) = &made.faults.deviation {
            let described = files.options("gradient non-linearity: L, column by column, as FSL's");
            files.image("grad_dev", deviation, &described)?;
        }
        if !made.faults.poses.is_empty() {
            files.out.write("truth/motion.tsv", poses(&made.faults).as_bytes())?;
        }
        if !made.faults.dropped.is_empty() {
            files.out.write("truth/dropped.tsv", dropped(&made.faults).as_bytes())?;
        }
        for bundle in &made.bundles {
            let options = WriteOptions {
                datatype: Datatype::UInt8,
                ..files.options("voxels that streamlines of the bundle pass")
            };
            let name = format!("truth/bundles/{}", bundle.name);
            files.image(&name, &made.bundle_mask(bundle), &options)?;
        }
        let lines = grouped(made);
        lines.write(files.out.stage("truth/tracts.trx")?, &LineOptions::default())?;
        if let Some(spec) = self.options.spec().scan {
            let files = GreFiles { folder: SCAN, format: self.format };
            let made = products.get::<GreSubject>()?;
            files.write(made, &spec.echo_times_s, spec.b0_tesla, out, log)?;
        }
        Ok(())
    }

    /// Makes it again, as the other phantoms.
    fn restore(
        &self,
        _folder: &Path,
        products: &mut Products,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        self.compute(products, log)
    }
}

#[cfg(test)]
mod tests {
    use clap::Args as _;
    use fimbria_phantoms::head::HeadSpec;

    use super::*;
    use crate::options::{Values, from_values, usual};

    #[test]
    fn the_record_gives_the_options_back() {
        let usual: HeadOptions = usual();
        let quiet = HeadOptions {
            series: SeriesOptions { snr: Snr(f64::INFINITY), ..usual.series },
            size: Some(Several([4, 5, 6])),
            gre: Some(EchoTimes(vec![5.0, 10.5])),
            gre_b0: Some(7.0),
            ..usual
        };
        let Value::Object(values) = json!(quiet) else { panic!("no object") };
        assert_eq!(from_values::<HeadOptions>(&values as &Values).unwrap(), quiet);
    }

    #[test]
    fn the_usual_grid_is_that_of_the_library() {
        assert_eq!(usual::<HeadOptions>().spec(), HeadSpec::default());
    }

    /// A head takes too long for the test that proves the records of other commands by running them.
    #[test]
    fn every_option_is_in_the_record() {
        let record = |values: &Values| {
            let options = from_values::<HeadOptions>(values).unwrap();
            HeadPhantom { options, format: MapFormat::NiiGz }.parameters()
        };
        let plain = record(&Values::new());
        let others = json!({
            "subject": 2, "voxel": "3", "size": "4,5,6", "tilt": "0", "x_left_to_right": true, "b0s": 2,
            "shells": ["700:6"], "snr": "inf", "rng_seed": 2, "samples": 2, "gre": "5,10", "gre_b0": 7,
            "gre_voxel": 2, "gre_snr": 50, "motion": 2, "dropped_slices": 3, "nonlinearity": 0.1,
            "b_tensor": ["planar"],
        });
        let others = others.as_object().unwrap();
        let command = HeadOptions::augment_args(clap::Command::new("head"));
        for option in command.get_arguments().map(|arg| arg.get_id().as_str()) {
            let value = others.get(option).unwrap_or_else(|| panic!("no other {option}"));
            let mut values = Values::from_iter([(option.to_owned(), value.clone())]);
            // The scan's options are of a scan.
            let plain = if option.starts_with("gre_") {
                let scan = ("gre".to_owned(), others["gre"].clone());
                values.extend([scan.clone()]);
                &record(&Values::from_iter([scan]))
            } else {
                &plain
            };
            assert_ne!(record(&values), *plain, "{option}");
        }
    }
}
