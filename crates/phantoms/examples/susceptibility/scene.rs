//! A head in a gradient echo, what diffusion knows of it, and lesions.

use std::error::Error;
use std::f64::consts::TAU;

use fimbria_compute::philox::{Philox, normals};
use fimbria_compute::{Silent, Workers};
use fimbria_image::morphology::VoxelSet;
use fimbria_image::{Grid, Image, Mask};
use fimbria_phantoms::head::{Fibres, HeadScan, HeadSpec, head};
use fimbria_phantoms::{Acquisition, Placement};
use fimbria_qsm::Geometry;
use fimbria_qsm::phase::HZ_PER_TESLA;

/// What a head is.
#[derive(Clone, Copy)]
pub(crate) struct SceneSpec {
    pub(crate) name: &'static str,
    pub(crate) fibres: Fibres,
    pub(crate) b0_tesla: f64,
    pub(crate) times_ms: &'static [f64],
    pub(crate) tilt_deg: [f64; 3],
    pub(crate) subject: u64,
    pub(crate) voxel_mm: f64,
    /// Of the grid, whose middle is the head's: less than a head is a part of it.
    pub(crate) box_mm: [f64; 3],
    /// Whether balls of air lie at the base of the brain, beside those that the head has.
    pub(crate) has_air: bool,
}

const PLAIN: SceneSpec = SceneSpec {
    name: "hollow",
    fibres: Fibres::HollowCylinders,
    b0_tesla: 3.0,
    times_ms: &[4.0, 12.0, 20.0, 28.0],
    tilt_deg: [6.0, -4.0, 3.0],
    subject: 11,
    voxel_mm: 3.0,
    box_mm: [180.0, 222.0, 180.0],
    has_air: false,
};

pub(crate) const SCENES: &[SceneSpec] = &[
    PLAIN,
    SceneSpec { name: "isotropic", fibres: Fibres::Tensors, subject: 12, ..PLAIN },
    SceneSpec {
        name: "7T",
        b0_tesla: 7.0,
        times_ms: &[4.0, 9.0, 14.0, 19.0],
        subject: 13,
        ..PLAIN
    },
    SceneSpec {
        name: "1.5T",
        b0_tesla: 1.5,
        times_ms: &[6.0, 18.0, 30.0, 42.0],
        subject: 14,
        ..PLAIN
    },
    SceneSpec { name: "oblique", tilt_deg: [25.0, -18.0, 12.0], subject: 15, ..PLAIN },
    SceneSpec { name: "hollow, air", subject: 16, has_air: true, ..PLAIN },
    SceneSpec {
        name: "isotropic, air",
        fibres: Fibres::Tensors,
        subject: 18,
        has_air: true,
        ..PLAIN
    },
    SceneSpec { name: "two-echoes", times_ms: &[4.9, 9.8], subject: 17, ..PLAIN },
];

/// What a lesion is seen by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Seen {
    Chi,
    Diffusion,
    Both,
    /// By both, and large: water that parts the fibres.
    Oedema,
}

/// What a lesion changes.
#[derive(Clone, Copy)]
struct Change {
    /// Susceptibility, ppm: of multiple sclerosis, with iron at the rim counted in; of oedema a third of what white
    /// matter has less than fluid.
    chi_ppm: f64,
    /// FA, MD and S0, as parts of themselves.
    diffusion: [f32; 3],
}

impl Seen {
    fn change(self) -> Change {
        const OF_DIFFUSION: [f32; 3] = [-0.5, 0.6, 0.4];
        match self {
            Self::Chi => Change { chi_ppm: 0.02, diffusion: [0.0; 3] },
            Self::Diffusion => Change { chi_ppm: 0.0, diffusion: OF_DIFFUSION },
            Self::Both => Change { chi_ppm: 0.02, diffusion: OF_DIFFUSION },
            Self::Oedema => Change { chi_ppm: 0.01, diffusion: [-0.6, 0.9, 0.6] },
        }
    }
}

/// Two spheres each of two sizes that chi, diffusion and both see, and one of oedema.
const LESIONS: [(Seen, f64); 7] = [
    (Seen::Diffusion, 6.0),
    (Seen::Chi, 6.0),
    (Seen::Both, 6.0),
    (Seen::Diffusion, 9.0),
    (Seen::Chi, 9.0),
    (Seen::Both, 9.0),
    (Seen::Oedema, 14.0),
];
/// Of air beside tissue.
const AIR_PPM: f64 = 9.4;

pub(crate) struct Lesion {
    pub(crate) seen: Seen,
    pub(crate) centre: [f64; 3],
    pub(crate) radius_mm: f64,
    /// Voxels whose middles lie within.
    pub(crate) voxels: Vec<u32>,
}

/// What diffusion knows.
#[derive(Clone)]
pub(crate) struct Diffusion {
    pub(crate) fa: Vec<f32>,
    pub(crate) md: Vec<f32>,
    pub(crate) s0: Vec<f32>,
    pub(crate) v1: Image,
}

pub(crate) struct Scene {
    pub(crate) name: &'static str,
    pub(crate) grid: Grid,
    pub(crate) geometry: Geometry,
    pub(crate) b0_tesla: f64,
    pub(crate) times_s: Vec<f64>,
    /// Tight.
    pub(crate) mask: Mask,
    /// 3 mm inside.
    pub(crate) inside: Mask,
    pub(crate) phases: Vec<Vec<f32>>,
    pub(crate) magnitudes: Vec<Vec<f32>>,
    /// ppm, 0 outside the mask, with the lesions that susceptibility sees.
    pub(crate) chi: Vec<f32>,
    /// ppm, of dipoles alone.
    pub(crate) local: Vec<f32>,
    /// Of all else, ppm.
    pub(crate) background: Vec<f32>,
    /// Phase at echo time 0, radians.
    pub(crate) offset: Vec<f32>,
    pub(crate) diffusion: Diffusion,
    pub(crate) lesions: Vec<Lesion>,
}

impl Scene {
    pub(crate) fn new(spec: &SceneSpec, workers: &Workers) -> Result<Self, Box<dyn Error>> {
        let acquisition = Acquisition { b0s: 1, shells: Vec::new() };
        let placement = Placement {
            dims: spec.box_mm.map(|mm: f64| (mm / spec.voxel_mm).round() as usize),
            voxel_mm: [spec.voxel_mm; 3],
            tilt_deg: spec.tilt_deg,
            x_right_to_left: true,
        };
        let scan = HeadScan {
            echo_times_s: spec.times_ms.iter().map(|ms| 1e-3 * ms).collect(),
            b0_tesla: spec.b0_tesla,
            snr: f64::INFINITY,
            fibres: spec.fibres,
            ..HeadScan::default()
        };
        let times_s = scan.echo_times_s.clone();
        let head_spec = HeadSpec {
            placement,
            acquisition,
            snr: f64::INFINITY,
            subject: spec.subject,
            samples_per_axis: 2,
            scan: Some(scan),
            ..HeadSpec::default()
        };
        let head = head(&head_spec, workers, &Silent)?;
        let scan = head.scan.as_ref().ok_or("no scan")?;
        let grid = scan.phase.grid;
        let truth = |name: &str| scan.truth(name).map(|image| image.data.clone()).ok_or("no truth");
        let (mut chi, mut local, total) =
            (truth("chi")?, truth("local_field")?, truth("total_field")?);
        let offset = truth("phase_offset")?;
        let mut background: Vec<f32> =
            total.iter().zip(&local).map(|(total, local)| total - local).collect();
        let n = grid.len();
        let volumes =
            |image: &Image| (0..image.n_volumes).map(|v| image.volume(v).to_vec()).collect();
        let (mut phases, mut magnitudes): (Vec<Vec<f32>>, Vec<Vec<f32>>) =
            (volumes(&scan.phase), volumes(&scan.magnitude));
        let of =
            |name: &str| head.truth(name).map(|image| image.data[..n].to_vec()).ok_or("no truth");
        let mut v1 = scan.truth("fibre").ok_or("no fibre")?.clone();
        for v in 0..n {
            let axis = [0, 1, 2].map(|a| v1.data[a * n + v]);
            let length = axis.iter().map(|c| c * c).sum::<f32>().sqrt();
            (0..3).for_each(|a| {
                v1.data[a * n + v] = if length > 0.0 { axis[a] / length } else { 0.0 }
            });
        }
        let diffusion = Diffusion { fa: of("FA")?, md: of("MD")?, s0: of("S0")?, v1 };
        let white = VoxelSet::from_mask(&Mask::from_image(&Image {
            grid,
            n_volumes: 1,
            data: diffusion.fa.iter().map(|fa| f32::from(u8::from(*fa > 0.3))).collect(),
        }));
        let mask = scan.mask.clone();
        for ball in air(&grid, &mask).iter().filter(|_| spec.has_air) {
            for v in 0..n {
                let fields = fields_of_sphere(&grid, v, ball);
                let mean = fields.iter().sum::<f64>() / fields.len() as f64;
                background[v] += (AIR_PPM * mean) as f32;
                for (e, time) in times_s.iter().enumerate() {
                    let turns = HZ_PER_TESLA * 1e-6 * spec.b0_tesla * time * AIR_PPM;
                    let sum = fields.iter().fold([0.0; 2], |[re, im], field| {
                        let (sin, cos) = (TAU * turns * field).sin_cos();
                        [re + cos, im + sin]
                    });
                    phases[e][v] = wrapped(f64::from(phases[e][v]) + sum[1].atan2(sum[0]));
                    magnitudes[e][v] *= (sum[0].hypot(sum[1]) / fields.len() as f64) as f32;
                }
            }
        }
        let lesions = lesions(&grid, &white, &mask);
        // Where they are susceptible they add a field in closed form, to the phase of every echo as well.
        for lesion in &lesions {
            let ppm = lesion.seen.change().chi_ppm;
            for v in (0..n).filter(|_| ppm > 0.0) {
                let (part, field) = sphere(&grid, v, lesion);
                chi[v] += (ppm * part) as f32;
                local[v] += (ppm * field) as f32;
                for (phase, time) in phases.iter_mut().zip(&times_s) {
                    let turns = HZ_PER_TESLA * 1e-6 * spec.b0_tesla * time * ppm * field;
                    phase[v] = wrapped(f64::from(phase[v]) + TAU * turns);
                }
            }
        }
        let inside = VoxelSet::from_mask(&mask).eroded(3.0).to_mask();
        let geometry = Geometry::new(&grid, [0.0, 0.0, 1.0])?;
        let (b0_tesla, name) = (spec.b0_tesla, spec.name);
        Ok(Self {
            name,
            grid,
            geometry,
            b0_tesla,
            times_s,
            mask,
            inside,
            phases,
            magnitudes,
            chi,
            local,
            background,
            offset,
            diffusion,
            lesions,
        })
    }

    /// What diffusion knows, with noise of a scan of 30 directions, and with lesions or without.
    pub(crate) fn guidance(&self, with_lesions: bool, noise: f32, seed: u64) -> Diffusion {
        let mut diffusion = self.diffusion.clone();
        let source = Philox::new(seed).stream(10);
        if with_lesions {
            for lesion in self.lesions.iter().filter(|lesion| lesion.seen != Seen::Chi) {
                let [fa, md, s0] = lesion.seen.change().diffusion;
                for v in 0..self.grid.len() {
                    let part = sphere(&self.grid, v, lesion).0 as f32;
                    diffusion.fa[v] *= 1.0 + fa * part;
                    diffusion.md[v] *= 1.0 + md * part;
                    diffusion.s0[v] *= 1.0 + s0 * part;
                }
            }
        }
        for v in 0..self.grid.len() {
            let drawn = normals::<f32>(source.at(v as u64, 0));
            diffusion.fa[v] = (diffusion.fa[v] + 0.03 * noise * drawn[0]).abs().min(1.0);
            diffusion.md[v] *= 1.0 + 0.04 * noise * drawn[1];
            diffusion.s0[v] *= 1.0 + 0.03 * noise * drawn[2];
        }
        diffusion
    }
}

pub(crate) fn wrapped(angle: f64) -> f32 {
    (angle - TAU * (angle / TAU).round()) as f32
}

/// Those of [`LESIONS`], deep in white matter, far from each other.
fn lesions(grid: &Grid, white: &VoxelSet, mask: &Mask) -> Vec<Lesion> {
    /// Between the middles of two.
    const APART_MM: f64 = 26.0;
    let depth = white.depth_mm();
    let at = |v: u32| grid.ras_from_vox.apply(grid.voxel(v as usize).map(|i| i as f64));
    let distance =
        |a: [f64; 3], b: [f64; 3]| (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt();
    let mut places = mask.voxels.clone();
    places.sort_by(|&a, &b| depth[b as usize].total_cmp(&depth[a as usize]));
    let mut lesions: Vec<Lesion> = Vec::new();
    for v in places {
        let centre = at(v);
        let is_far = |other: &Lesion| distance(other.centre, centre) > APART_MM;
        let Some(&(seen, radius_mm)) = LESIONS.get(lesions.len()) else { break };
        if lesions.iter().all(is_far) {
            let voxels =
                mask.voxels.iter().copied().filter(|&v| distance(at(v), centre) < radius_mm - 0.5);
            lesions.push(Lesion { seen, centre, radius_mm, voxels: voxels.collect() });
        }
    }
    lesions
}

/// Balls of air beside the places where the mask reaches farthest forward and down, and to either side and down.
fn air(grid: &Grid, mask: &Mask) -> Vec<Lesion> {
    const RADIUS_MM: f64 = 12.0;
    const GAP_MM: f64 = 4.0;
    let at = |v: u32| grid.ras_from_vox.apply(grid.voxel(v as usize).map(|i| i as f64));
    let along = |p: [f64; 3], d: [f64; 3]| (0..3).map(|a| p[a] * d[a]).sum::<f64>();
    let ball = |d: [f64; 3]| {
        let places = mask.voxels.iter().map(|&v| at(v));
        let farthest = places.max_by(|a, b| along(*a, d).total_cmp(&along(*b, d)));
        let centre = farthest.map(|p| [0, 1, 2].map(|a| p[a] + (RADIUS_MM + GAP_MM) * d[a]));
        centre.map(|centre| Lesion {
            seen: Seen::Chi,
            centre,
            radius_mm: RADIUS_MM,
            voxels: Vec::new(),
        })
    };
    let directions = [[0.0, 0.8, -0.6], [0.8, 0.0, -0.6], [-0.8, 0.0, -0.6]];
    directions.into_iter().filter_map(ball).collect()
}

/// The part of a voxel that is in a lesion, and the mean field over it where its susceptibility is 1.
fn sphere(grid: &Grid, voxel: usize, lesion: &Lesion) -> (f64, f64) {
    let fields = fields_of_sphere(grid, voxel, lesion);
    let n = fields.len() as f64;
    // Within it is 0, and nowhere else.
    let part = fields.iter().filter(|field| **field == 0.0).count() as f64;
    (part / n, fields.iter().sum::<f64>() / n)
}

/// The field at points of a voxel where the susceptibility of a lesion is 1: 0 within.
fn fields_of_sphere(grid: &Grid, voxel: usize, lesion: &Lesion) -> Vec<f64> {
    const FINER: usize = 4;
    let at = grid.voxel(voxel).map(|i| i as f64);
    let field = |i: usize| {
        let step = [i % FINER, i / FINER % FINER, i / (FINER * FINER)];
        let p = grid
            .ras_from_vox
            .apply([0, 1, 2].map(|a| at[a] + (step[a] as f64 + 0.5) / FINER as f64 - 0.5));
        let d = [0, 1, 2].map(|a| p[a] - lesion.centre[a]);
        let r = d.iter().map(|c| c * c).sum::<f64>().sqrt();
        if r < lesion.radius_mm {
            return 0.0;
        }
        (lesion.radius_mm / r).powi(3) * (3.0 * (d[2] / r).powi(2) - 1.0) / 3.0
    };
    (0..FINER.pow(3)).map(field).collect()
}
