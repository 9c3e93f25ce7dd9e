//! Streamlines of the head: along the fibres that are there, and connections that are not.

use std::f64::consts::{PI, TAU};

use crate::anatomy::{Anatomy, Fan};
use crate::bundle::{Bundle, Path, unit};
use crate::placement::unit_mm;
use crate::{PhantomError, Placement};
use fimbria_compute::dense::vec3::{Vec3, add, cross, dot, norm, scale, sub};

/// Streamlines that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Tract {
    /// What it is called.
    pub name: String,
    /// True where there are such fibres.
    pub is_true: bool,
    /// Points in scanner RAS+ mm, a millimetre apart.
    pub streamlines: Vec<Vec<[f32; 3]>>,
}

/// Points of a streamline are so far apart.
const STEP_MM: f64 = 1.0;
/// Fibres of the fan lie ever further apart, so that they are laid in pieces of this length.
const FAN_PIECE_MM: f64 = 15.0;
/// Shorter pieces of the fan, between bundles, are left out.
const SHORTEST_MM: f64 = 6.0;

/// The streamlines of [`crossing`](crate::crossing)'s head, `spacing_mm` apart: those of every
/// bundle and of the fan, then false ones, which run straight from the end of each bundle to the
/// beginning of the next, across the fibres that are there.
///
/// # Errors
/// Where the grid is none, or the spacing is not 0.2 to 20 mm.
pub fn tracts(placement: &Placement, spacing_mm: f64) -> Result<Vec<Tract>, PhantomError> {
    let valid = (0.2..=20.0).contains(&spacing_mm);
    PhantomError::require(valid, "spacing", spacing_mm, "0.2 to 20 mm")?;
    let anatomy = Anatomy::living();
    placement.check_head()?;
    let unit_mm = unit_mm(&placement.grid()?, &anatomy);
    let (step, spacing) = (STEP_MM / unit_mm, spacing_mm / unit_mm);
    let in_mm = |line: Vec<Vec3>| -> Vec<[f32; 3]> {
        line.into_iter().map(|p| p.map(|c| (c * unit_mm) as f32)).collect()
    };
    let tract = |name: String, is_true: bool, lines: Vec<Vec<Vec3>>| {
        let streamlines = lines.into_iter().map(in_mm).collect();
        Tract { name, is_true, streamlines }
    };
    let bundles = &anatomy.bundles;
    let mut tracts: Vec<Tract> = bundles
        .iter()
        .enumerate()
        .map(|(i, bundle)| tract(format!("bundle{:02}", i + 1), true, lines(bundle, step, spacing)))
        .collect();
    if let Some(fan) = &anatomy.fan {
        let piece = FAN_PIECE_MM / unit_mm;
        let shortest = (SHORTEST_MM / STEP_MM) as usize;
        let lines = fan_lines(&anatomy, fan, step, spacing, piece, shortest);
        tracts.push(tract("fan".to_owned(), true, lines));
    }
    for (i, bundle) in bundles.iter().enumerate() {
        let next = &bundles[(i + 1) % bundles.len()];
        let path = Path::Segment { from: bundle.path.end(), to: next.path.start() };
        let chord = Bundle { path, radius: bundle.radius.min(next.radius) };
        tracts.push(tract(format!("false{:02}", i + 1), false, lines(&chord, step, spacing)));
    }
    Ok(tracts)
}

impl Path {
    fn start(&self) -> Vec3 {
        match *self {
            Self::Segment { from, .. } => from,
            Self::Arc { centre, start, radius, .. } => add(centre, scale(start, radius)),
        }
    }

    fn end(&self) -> Vec3 {
        match *self {
            Self::Segment { to, .. } => to,
            Self::Arc { centre, start, towards, radius, sweep } => {
                let (sin, cos) = sweep.sin_cos();
                add(centre, scale(add(scale(start, cos), scale(towards, sin)), radius))
            }
        }
    }
}

/// Parallel lines within a bundle.
fn lines(bundle: &Bundle, step: f64, spacing: f64) -> Vec<Vec<Vec3>> {
    let offsets = disc(bundle.radius, spacing);
    let line = |[a, b]: [f64; 2]| -> Vec<Vec3> {
        match bundle.path {
            Path::Segment { from, to } => {
                let along = sub(to, from);
                let [across, up] = frame(along);
                let from = add(from, add(scale(across, a), scale(up, b)));
                let steps = (norm(along) / step).ceil().max(1.0);
                (0..=steps as usize).map(|i| add(from, scale(along, i as f64 / steps))).collect()
            }
            Path::Arc { centre, start, towards, radius, sweep } => {
                let axis = cross(start, towards);
                let steps = (radius * sweep / step).ceil().max(1.0);
                let point = |i: usize| {
                    let (sin, cos) = (sweep * i as f64 / steps).sin_cos();
                    let out = add(scale(start, cos), scale(towards, sin));
                    add(centre, add(scale(out, radius + a), scale(axis, b)))
                };
                (0..=steps as usize).map(point).collect()
            }
        }
    };
    offsets.into_iter().map(line).collect()
}

/// Pieces of the fan's rays, where there is nothing else.
fn fan_lines(
    anatomy: &Anatomy,
    fan: &Fan,
    step: f64,
    spacing: f64,
    piece: f64,
    shortest: usize,
) -> Vec<Vec<Vec3>> {
    let root = fan.root();
    let is_fan = |p: Vec3| {
        anatomy.brain.level(p) < fan.level
            && anatomy.ventricles.iter().all(|v| v.level(p) > 1.0)
            && anatomy.bundles.iter().all(|b| b.probe(p).0 > 0.0)
    };
    let farthest = norm(root) + anatomy.brain.semi_axes.into_iter().fold(0.0, f64::max);
    let shells = (farthest / piece).ceil() as usize;
    let mut lines = Vec::new();
    for shell in 0..shells {
        let nearest = shell as f64 * piece;
        let middle = nearest + 0.5 * piece;
        // As many rays over the half sphere as lie `spacing` apart there.
        let rays = (TAU * middle * middle / (spacing * spacing)).ceil() as usize;
        for ray in 0..rays {
            let z = (ray as f64 + 0.5) / rays as f64;
            let (sin, cos) = (ray as f64 * PI * (3.0 - 5.0_f64.sqrt())).sin_cos();
            let rho = (1.0 - z * z).sqrt();
            let dir = [rho * cos, rho * sin, z];
            let steps = (piece / step).round() as usize;
            let mut line = Vec::new();
            for i in 0..=steps {
                let p = add(root, scale(dir, nearest + i as f64 * step));
                if is_fan(p) {
                    line.push(p);
                }
                if (!is_fan(p) || i == steps) && !line.is_empty() {
                    let done = std::mem::take(&mut line);
                    if done.len() > shortest {
                        lines.push(done);
                    }
                }
            }
        }
    }
    lines
}

/// Points of a square lattice within a disc.
fn disc(radius: f64, spacing: f64) -> Vec<[f64; 2]> {
    let n = (radius / spacing).floor() as i64;
    let at = |i: i64| i as f64 * spacing;
    let all = (-n..=n).flat_map(|i| (-n..=n).map(move |j| [at(i), at(j)]));
    all.filter(|[a, b]| a.hypot(*b) < radius).collect()
}

/// Two directions at right angles to one and to each other.
fn frame(along: Vec3) -> [Vec3; 2] {
    let along = unit(along);
    let least = (0..3).min_by(|&i, &j| along[i].abs().total_cmp(&along[j].abs())).unwrap_or(0);
    let mut helper = [0.0; 3];
    helper[least] = 1.0;
    let across = unit(sub(helper, scale(along, dot(helper, along))));
    [across, cross(along, across)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CrossingSpec;

    #[test]
    fn true_streamlines_run_along_the_fibres_that_are_there() {
        let placement = CrossingSpec::default().placement;
        let anatomy = Anatomy::living();
        let unit_mm = unit_mm(&placement.grid().unwrap(), &anatomy);
        let found = tracts(&placement, 3.0).unwrap();
        let mut seen = 0;
        for (tract, bundle) in found.iter().zip(&anatomy.bundles) {
            assert!(tract.is_true && tract.streamlines.len() > 5, "{}", tract.name);
            for line in &tract.streamlines {
                for pair in line.windows(2) {
                    let [a, b] = [pair[0], pair[1]].map(|p| p.map(|c| f64::from(c) / unit_mm));
                    let (distance, dir) = bundle.probe(a);
                    let cos = dot(unit(sub(b, a)), dir);
                    // A chord of a millimetre on the smallest circle, in f32; the ends of a bundle
                    // are round.
                    assert!(distance < 0.01 && cos > 0.99, "{}: {distance} {cos}", tract.name);
                    seen += 1;
                }
            }
        }
        assert!(seen > 10_000, "{seen}");
    }

    #[test]
    fn false_connections_are_as_many_as_bundles_and_in_the_brain() {
        let placement = CrossingSpec::default().placement;
        let found = tracts(&placement, 3.0).unwrap();
        let count = |is_true: bool| found.iter().filter(|t| t.is_true == is_true).count();
        // The fan is true and no bundle.
        assert_eq!(count(false), count(true) - 1);
        assert!(found.iter().any(|t| t.name == "fan" && t.streamlines.len() > 500));
        assert!(tracts(&placement, 0.0).is_err());
    }
}
