//! The parts of the head by name, with their numbers in FreeSurfer's table where it has them, and
//! the tissue they are of. Cortex of the cerebrum goes by its gyri.

use super::gyri::{GYRI, Gyrus};

/// What a point of the head is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tissue {
    /// Cortex of cerebrum and cerebellum.
    CorticalGrey,
    /// Nuclei, hippocampus and amygdala.
    SubcorticalGrey,
    /// White matter, the brain stem's too.
    White,
    /// Cerebrospinal fluid.
    Fluid,
    /// Blood of veins, and the dura between which they lie.
    Blood,
    /// Skin and muscle, the eyes.
    Soft,
    /// Fat and marrow.
    Fat,
    /// Bone.
    Bone,
    /// Around the head and in it.
    Air,
}

impl Tissue {
    /// All, in the order of their fractions.
    pub const ALL: [Self; 9] = [
        Self::CorticalGrey,
        Self::SubcorticalGrey,
        Self::White,
        Self::Fluid,
        Self::Blood,
        Self::Soft,
        Self::Fat,
        Self::Bone,
        Self::Air,
    ];
}

/// A part of the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(super) enum Part {
    Air,
    Skin,
    Fat,
    Skull,
    Marrow,
    Eye,
    Vein,
    Fluid,
    White,
    Cortex,
    LateralVentricle,
    ThirdVentricle,
    FourthVentricle,
    Thalamus,
    Caudate,
    Putamen,
    Pallidum,
    Hippocampus,
    Amygdala,
    Accumbens,
    RedNucleus,
    Nigra,
    Subthalamic,
    Callosum,
    Fornix,
    BrainStem,
    CerebellarWhite,
    CerebellarCortex,
    Dentate,
    Dura,
    Cord,
}

/// All, in their order.
pub(super) const PARTS: [Part; 31] = [
    Part::Air,
    Part::Skin,
    Part::Fat,
    Part::Skull,
    Part::Marrow,
    Part::Eye,
    Part::Vein,
    Part::Fluid,
    Part::White,
    Part::Cortex,
    Part::LateralVentricle,
    Part::ThirdVentricle,
    Part::FourthVentricle,
    Part::Thalamus,
    Part::Caudate,
    Part::Putamen,
    Part::Pallidum,
    Part::Hippocampus,
    Part::Amygdala,
    Part::Accumbens,
    Part::RedNucleus,
    Part::Nigra,
    Part::Subthalamic,
    Part::Callosum,
    Part::Fornix,
    Part::BrainStem,
    Part::CerebellarWhite,
    Part::CerebellarCortex,
    Part::Dentate,
    Part::Dura,
    Part::Cord,
];

/// A line of the table of labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// Its number in the label image.
    pub number: u16,
    /// Its name.
    pub name: &'static str,
    /// Red, green, blue.
    pub rgb: [u8; 3],
    /// What it is made of.
    pub tissue: Tissue,
}

const fn label(number: u16, name: &'static str, rgb: [u8; 3], tissue: Tissue) -> Label {
    Label { number, name, rgb, tissue }
}

use Tissue::{Air, Blood, Bone, CorticalGrey, Fat, Fluid, Soft, SubcorticalGrey, White};

/// The left and the right of every part, in the order of [`Part`]; the same twice where it has no
/// sides.
const SIDES: [[Label; 2]; PARTS.len()] = [
    [label(0, "Unknown", [0, 0, 0], Air); 2],
    [label(119, "Connective-Tissue", [196, 150, 130], Soft); 2],
    [label(120, "Fat", [230, 210, 150], Fat); 2],
    [label(165, "Skull", [120, 120, 120], Bone); 2],
    [label(167, "Marrow", [160, 140, 110], Fat); 2],
    [label(168, "Eye", [100, 160, 200], Soft); 2],
    [label(169, "Vein", [30, 60, 160], Blood); 2],
    [label(24, "CSF", [60, 60, 60], Fluid); 2],
    [
        label(2, "Left-Cerebral-White-Matter", [245, 245, 245], White),
        label(41, "Right-Cerebral-White-Matter", [245, 245, 245], White),
    ],
    [
        label(3, "Left-Cerebral-Cortex", [205, 62, 78], CorticalGrey),
        label(42, "Right-Cerebral-Cortex", [205, 62, 78], CorticalGrey),
    ],
    [
        label(4, "Left-Lateral-Ventricle", [120, 18, 134], Fluid),
        label(43, "Right-Lateral-Ventricle", [120, 18, 134], Fluid),
    ],
    [label(14, "3rd-Ventricle", [204, 182, 142], Fluid); 2],
    [label(15, "4th-Ventricle", [42, 204, 164], Fluid); 2],
    [
        label(10, "Left-Thalamus", [0, 118, 14], SubcorticalGrey),
        label(49, "Right-Thalamus", [0, 118, 14], SubcorticalGrey),
    ],
    [
        label(11, "Left-Caudate", [122, 186, 220], SubcorticalGrey),
        label(50, "Right-Caudate", [122, 186, 220], SubcorticalGrey),
    ],
    [
        label(12, "Left-Putamen", [236, 13, 176], SubcorticalGrey),
        label(51, "Right-Putamen", [236, 13, 176], SubcorticalGrey),
    ],
    [
        label(13, "Left-Pallidum", [12, 48, 255], SubcorticalGrey),
        label(52, "Right-Pallidum", [13, 48, 255], SubcorticalGrey),
    ],
    [
        label(17, "Left-Hippocampus", [220, 216, 20], SubcorticalGrey),
        label(53, "Right-Hippocampus", [220, 216, 20], SubcorticalGrey),
    ],
    [
        label(18, "Left-Amygdala", [103, 255, 255], SubcorticalGrey),
        label(54, "Right-Amygdala", [103, 255, 255], SubcorticalGrey),
    ],
    [
        label(26, "Left-Accumbens-area", [255, 165, 0], SubcorticalGrey),
        label(58, "Right-Accumbens-area", [255, 165, 0], SubcorticalGrey),
    ],
    [
        label(901, "Left-Red-Nucleus", [220, 60, 20], SubcorticalGrey),
        label(911, "Right-Red-Nucleus", [220, 60, 20], SubcorticalGrey),
    ],
    [
        label(27, "Left-Substantia-Nigra", [0, 255, 127], SubcorticalGrey),
        label(59, "Right-Substantia-Nigra", [0, 255, 127], SubcorticalGrey),
    ],
    [
        label(902, "Left-Subthalamic-Nucleus", [180, 220, 90], SubcorticalGrey),
        label(912, "Right-Subthalamic-Nucleus", [180, 220, 90], SubcorticalGrey),
    ],
    [label(192, "Corpus-Callosum", [250, 255, 50], White); 2],
    [label(250, "Fornix", [255, 0, 0], White); 2],
    [label(16, "Brain-Stem", [119, 159, 176], White); 2],
    [
        label(7, "Left-Cerebellum-White-Matter", [220, 248, 164], White),
        label(46, "Right-Cerebellum-White-Matter", [220, 248, 164], White),
    ],
    [
        label(8, "Left-Cerebellum-Cortex", [230, 148, 34], CorticalGrey),
        label(47, "Right-Cerebellum-Cortex", [230, 148, 34], CorticalGrey),
    ],
    [
        label(903, "Left-Dentate-Nucleus", [150, 90, 200], SubcorticalGrey),
        label(913, "Right-Dentate-Nucleus", [150, 90, 200], SubcorticalGrey),
    ],
    [label(904, "Dura", [160, 120, 120], Blood); 2],
    [label(126, "Spinal_Cord", [190, 190, 0], White); 2],
];

impl Part {
    /// The label of a part on the left (x < 0) or the right.
    pub(super) fn label(self, is_right: bool) -> &'static Label {
        &SIDES[self as usize][usize::from(is_right)]
    }

    /// What it is made of.
    pub(super) fn tissue(self) -> Tissue {
        self.label(false).tissue
    }
}

/// The labels of a gyrus, left and right.
fn both_sides(gyrus: &Gyrus) -> [Label; 2] {
    [false, true].map(|is_right| {
        let name = gyrus.names[usize::from(is_right)];
        label(gyrus.label(is_right), name, gyrus.rgb, CorticalGrey)
    })
}

/// The table of labels by number, each once: with the gyri in place of cortex.
pub fn labels() -> Vec<Label> {
    let parts = PARTS.into_iter().filter(|part| *part != Part::Cortex);
    let parts = parts.flat_map(|part| SIDES[part as usize]);
    let mut all: Vec<Label> = parts.chain(GYRI.iter().flat_map(both_sides)).collect();
    all.sort_by_key(|label| label.number);
    all.dedup();
    all
}

/// [`labels`] as FreeSurfer, FSLeyes and mrview read it: number, name, red, green, blue, 0.
pub fn lookup_table() -> String {
    let line = |l: Label| {
        let [r, g, b] = l.rgb;
        format!("{} {} {r} {g} {b} 0\n", l.number, l.name)
    };
    labels().into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_its_line() {
        assert!(PARTS.into_iter().enumerate().all(|(i, part)| part as usize == i));
        assert_eq!(Part::Dentate.label(true).name, "Right-Dentate-Nucleus");
        assert_eq!(Part::Fornix.label(false).name, "Fornix");
        assert_eq!(Part::Cortex.label(false).number, 3);
        assert_eq!(Part::Marrow.tissue(), Fat);
    }

    #[test]
    fn numbers_are_unique() {
        let all = labels();
        assert!(all.windows(2).all(|pair| pair[0].number < pair[1].number));
        let table = lookup_table();
        assert!(table.contains("\n1024 ctx-lh-precentral 60 20 220 0\n"));
        assert!(!table.contains("Cerebral-Cortex"));
        let gyri = all.iter().filter(|label| label.name.starts_with("ctx-"));
        assert_eq!(gyri.count(), 68);
    }
}
