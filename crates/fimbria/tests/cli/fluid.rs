//! Densities of voxels that hold fluid alone.

use fimbria_image::{Image, Mask, WriteOptions, read_image, write_image};
use fimbria_testing::refdata;

use crate::util::Folder;

/// Status, amounts and density of MRtrix3's test data for several tissues, with its own responses; `None`
/// where these are not there.
fn fitted(folder: &Folder, device: &str) -> Option<[Image; 3]> {
    let data = refdata("fluid")?;
    let file = |name: &str| data.join(name).display().to_string();
    // MRtrix3's fluid is counted over the whole crop.
    let grid = read_image(data.join("dwi.mif")).unwrap().grid;
    let all = Mask::full(grid).to_image();
    write_image(folder.join("all.nii"), &all, &WriteOptions::default()).unwrap();
    folder.done(&format!(
        "fit fod {} --mask all.nii --tissues three --response {} --response-gm {} --response-csf {} \
         --device {device} -o {device}",
        file("dwi.mif"),
        file("wm.txt"),
        file("gm.txt"),
        file("csf.txt")
    ));
    Some(["status", "tissues", "fod"].map(|map| folder.image(&format!("{device}/{map}.nii.gz"))))
}

/// Whether a voxel has no density at all.
fn is_empty(density: &Image, voxel: usize) -> bool {
    (0..density.n_volumes).all(|k| density.volume(k)[voxel] == 0.0)
}

/// Of `dwi2fod msmt_csd` 77 voxels are more than 90 % fluid.
#[test]
fn fluid_of_real_data_has_amounts_and_no_density() {
    let folder = Folder::new();
    let Some([status, tissues, density]) = fitted(&folder, "cpu") else { return };
    assert!(status.data.iter().all(|code| [0.0, 1.0, 2.0].contains(code)));
    let is_fluid = |v: &usize| {
        let [white, grey, fluid] = [0, 1, 2].map(|tissue| tissues.volume(tissue)[*v]);
        fluid > 0.9 * (white + grey + fluid) && fluid > 0.1
    };
    let fluid: Vec<usize> = (0..status.grid.len()).filter(is_fluid).collect();
    assert!(fluid.len() > 70, "{}", fluid.len());
    // 24 of them failed, or had peaks of up to 0.95 of a fibre's.
    let empty = || fluid.iter().filter(|v| is_empty(&density, **v));
    assert!(empty().count() >= 24, "{}", empty().count());
    assert!(empty().all(|v| status.data[*v] == 1.0));
    let highest = fluid.iter().map(|v| density.volume(0)[*v]).fold(0.0, f32::max);
    assert!(highest < 0.02, "{highest}");
}

#[test]
fn fluid_is_the_same_of_a_device() {
    let folder = Folder::new();
    if !folder.done("devices").stdout.contains("opencl:0") {
        return fimbria_testing::missing("an OpenCL device (PoCL)");
    }
    let Some(cpu) = fitted(&folder, "cpu") else { return };
    let Some(device) = fitted(&folder, "opencl:0") else { return };
    let empty = |[status, _, density]: &[Image; 3]| -> Vec<usize> {
        let inside = |v: &usize| status.data[*v] > 0.0;
        (0..status.grid.len()).filter(inside).filter(|v| is_empty(density, *v)).collect()
    };
    assert!(empty(&cpu).len() >= 24);
    // A fibre's is 7. Nearly all constraints hold with equality here, and walks may end a little apart.
    let apart = cpu[2].data.iter().zip(&device[2].data).map(|(a, b)| (a - b).abs());
    let apart = apart.fold(0.0, f32::max);
    assert!(apart < 1e-3, "{apart}");
    assert!(empty(&device).iter().all(|v| device[0].data[*v] == 1.0));
}
