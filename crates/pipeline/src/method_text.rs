//! What a method says of itself beside its options and its maps.

use fimbria_image::MapSpec;

use crate::columns::{row, wrapped};
use crate::written::Written;

/// The words of a method's help, manual and page.
#[derive(Clone, Copy, Debug)]
pub struct MethodText {
    /// What it does, in a line.
    pub sentence: &'static str,
    /// What is to be known before its outputs: paragraphs with a heading each.
    pub method: &'static str,
    /// What is to be known of its outputs: units, order and frame, limits.
    pub notes: &'static str,
    /// What it rests on, and for what.
    pub references: &'static [(&'static str, &'static str)],
    /// Command lines to begin with.
    pub examples: &'static [&'static str],
}

/// The column that what a file holds begins at.
const INDENT: usize = 16;

impl MethodText {
    /// The part of the help that follows the options, for a fit that writes these maps and text
    /// files.
    pub fn help_of_fit(&self, maps: &[MapSpec], texts: &[Written]) -> String {
        let mut help = String::new();
        let mut section = |text: &str| {
            if !text.is_empty() {
                help += text;
                help += "\n\n";
            }
        };
        section(self.method);
        let mut outputs = String::from("Outputs (one volume unless said otherwise, float32):\n");
        for map in maps {
            let volumes = match map.n_volumes {
                1 => String::new(),
                n => format!(" ({n} volumes)"),
            };
            row(&mut outputs, &map.name, &format!("{}{volumes}", map.description), INDENT);
        }
        for text in texts {
            row(&mut outputs, text.file, &text.meaning(), INDENT);
        }
        row(&mut outputs, "mask mean_b0", MADE_MASK, INDENT);
        row(&mut outputs, Written::RECORD.file, Written::RECORD.holds, INDENT);
        section(outputs.trim_end());
        section(self.notes);
        section(GRADIENT_TABLE);
        section(&self.references_text());
        help.trim_end().to_owned()
    }

    fn references_text(&self) -> String {
        let mut text = String::from("References:\n");
        for (citation, for_what) in self.references {
            let for_what = match *for_what {
                "" => String::new(),
                what => format!(": {what}"),
            };
            wrapped(&mut text, &format!("{citation}{for_what}"), 2, 4);
        }
        text.trim_end().to_owned()
    }
}

/// What every fit writes where it makes the mask itself.
const MADE_MASK: &str = "\
where no mask is given: the one that was made (uint8), and the mean unweighted volume that it was made of";

/// What every fit writes beside its maps and texts.
pub(crate) const WRITTEN_BY_FITS: &[Written] = &[
    Written::code("mask", "the mask that was made").only("where no mask is given"),
    Written::scalar("mean_b0", "arbitrary", "the mean unweighted volume that it was made of")
        .only("where no mask is given"),
    Written::RECORD,
];

const GRADIENT_TABLE: &str = "\
Gradient table:
  Where none is named, it is taken from the header of a .mif, else from NAME.bval and NAME.bvec,
  NAME.bvals and NAME.bvecs, NAME.b, bvals and bvecs, or grad.b beside the series.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::WIDTH;

    #[test]
    fn lines_of_help_are_not_wider_than_a_page() {
        let long = "a word or two ".repeat(20);
        let text = MethodText {
            sentence: "",
            method: "",
            notes: "",
            references: &[("Somebody A, Else B. A journal 1, 2 (2003)", "the model")],
            examples: &[],
        };
        let map = MapSpec { description: long.into(), ..MapSpec::scalar("D", "mm^2/s", "") };
        let help = text.help_of_fit(&[map], &[]);
        assert!(help.lines().all(|line| line.chars().count() <= WIDTH), "{help}");
        assert!(help.contains("\n  D             a word or two"), "{help}");
        assert!(
            help.contains("\n  Somebody A, Else B. A journal 1, 2 (2003): the model"),
            "{help}"
        );
    }
}
