//! The fibres of the bundles as streamlines.

use fimbria_compute::dense::vec3::{Vec3, add, dot, norm, scale, sub};
use fimbria_compute::{Progress, Workers};

use super::anatomy::Anatomy;
use super::labels::{Part, Tissue};
use super::made;
use super::routes::{End, Gate, ROUTES, Route};
use super::tissue::Bundled;
use super::waves::Dice;
use crate::PhantomError;
use crate::bundle::unit;

/// A bundle of known fibres.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadBundle {
    /// Its name, with `_left` or `_right` where there are two.
    pub name: String,
    /// Points in scanner RAS+ mm, a millimetre apart, from the same end to the same other end.
    pub streamlines: Vec<Vec<[f32; 3]>>,
    /// What a streamline stands for of a cross section, mm².
    pub(super) area_mm2: f64,
    /// Its fibres in deep white matter.
    pub(super) fibres: Bundled,
}

/// From point to point of a streamline, mm.
pub(super) const STEP_MM: f64 = 1.0;
/// A streamline stands for so much of a cross section, mm².
const AREA_MM2: f64 = 0.3;
/// Ways that are tried for each streamline; those that leave the white matter are dropped.
const TRIES: usize = 5;
/// Numbers are drawn for this purpose.
const PURPOSE: u32 = 21;

/// Every bundle of the head.
///
/// # Errors
/// Where the user stops it.
pub(super) fn bundles(
    anatomy: &Anatomy,
    seed: u64,
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<Vec<HeadBundle>, PhantomError> {
    let dice = Dice::new(seed, PURPOSE);
    progress.start("growing the bundles", ROUTES.len() as u64 + 1);
    let mut all = Vec::new();
    for (r, route) in ROUTES.iter().enumerate() {
        let sides: &[(f64, &str)] =
            if route.crosses { &[(1.0, "")] } else { &[(-1.0, "_left"), (1.0, "_right")] };
        for (side, suffix) in sides {
            let wanted = (route.area_mm2 / AREA_MM2) as usize;
            let line = |i: usize| grown(anatomy, route, *side, dice, i, r);
            let mut streamlines = Vec::new();
            for first in (0..TRIES).map(|round| round * wanted) {
                let missing = wanted - streamlines.len();
                let round = first..first + wanted;
                let tried: Vec<_> = made(round, workers, progress, line)?;
                streamlines.extend(tried.into_iter().take(missing));
            }
            all.push(HeadBundle {
                name: format!("{}{suffix}", route.name),
                area_mm2: route.area_mm2 / streamlines.len().max(1) as f64,
                streamlines,
                fibres: route.fibres,
            });
        }
        progress.advance(1);
    }
    all.extend(u_fibres(anatomy, dice, workers, progress)?);
    progress.advance(1);
    Ok(all)
}

/// The streamline of a place in the cross section; `None` where its way is barred.
fn grown(
    anatomy: &Anatomy,
    route: &Route,
    side: f64,
    dice: Dice,
    item: usize,
    step: usize,
) -> Option<Vec<[f32; 3]>> {
    let place = in_ball(dice, item as u64, step as u32);
    let at = |gate: &Gate, side: f64| {
        let p = [0, 1, 2].map(|a| gate.0[a] + place[a] * gate.1[a]);
        anatomy.of_pattern([side * p[0], p[1], p[2]])
    };
    let mut gates: Vec<Vec3> = route.gates.iter().map(|gate| at(gate, side)).collect();
    if route.crosses {
        gates.extend(route.gates.iter().rev().skip(1).map(|gate| at(gate, -side)));
    }
    let mut line = even(&curve(&gates));
    around_sulci(anatomy, &mut line);
    for end in [route.ends[1], route.ends[0]] {
        match end {
            End::Cortex => to_cortex(anatomy, &mut line)?,
            End::Folia => to_folia(anatomy, &mut line)?,
            End::There => {}
        }
        line.reverse();
    }
    let line = trimmed(anatomy, &even(&line))?;
    Some(line.into_iter().map(|p| p.map(|c| c as f32)).collect())
}

/// Moves what lies in cortex or in a sulcus down below it, and smooths the line.
fn around_sulci(anatomy: &Anatomy, line: &mut [Vec3]) {
    const ROUNDS: usize = 8;
    const DEPTH_MM: f64 = 0.7;
    let n = line.len();
    for _ in 0..ROUNDS {
        let mut moved = false;
        for i in 3..n.saturating_sub(3) {
            if anatomy.below_white(line[i]) < DEPTH_MM
                && matches!(anatomy.part(line[i]).0, Part::Cortex | Part::Fluid)
            {
                let down = DEPTH_MM - anatomy.below_white(line[i]);
                let inwards = unit(anatomy.inwards(line[i]));
                line[i] = add(line[i], scale(inwards, down.min(2.0)));
                moved = true;
            }
        }
        if !moved {
            return;
        }
        for _ in 0..2 {
            for i in 1..n - 1 {
                let beside = scale(add(line[i - 1], line[i + 1]), 0.25);
                line[i] = add(scale(line[i], 0.5), beside);
            }
        }
    }
}

/// A place in the unit ball, evenly.
fn in_ball(dice: Dice, item: u64, step: u32) -> Vec3 {
    let [a, b, c, _] = dice.four(item, step);
    let (z, radius) = (2.0 * a - 1.0, c.cbrt());
    let (sin, cos) = (std::f64::consts::TAU * b).sin_cos();
    let r = (1.0 - z * z).sqrt();
    [radius * r * cos, radius * r * sin, radius * z]
}

/// A smooth curve through points (Catmull and Rom's, with chords as parameter), closely sampled.
fn curve(points: &[Vec3]) -> Vec<Vec3> {
    let n = points.len();
    let before = sub(scale(points[0], 2.0), points[1]);
    let after = sub(scale(points[n - 1], 2.0), points[n - 2]);
    let at = |i: isize| match i {
        -1 => before,
        i if i as usize == n => after,
        i => points[i as usize],
    };
    let mut line = Vec::new();
    for i in 0..n as isize - 1 {
        let p = [at(i - 1), at(i), at(i + 1), at(i + 2)];
        let t: [f64; 3] = [0, 1, 2].map(|k| norm(sub(p[k + 1], p[k])).sqrt().max(1e-6));
        // Slopes of the parabolas through three points each.
        let slope = |a: Vec3, b: Vec3, c: Vec3, s: f64, t: f64| {
            let [ab, bc] = [scale(sub(b, a), 1.0 / s), scale(sub(c, b), 1.0 / t)];
            scale(add(scale(ab, t), scale(bc, s)), 1.0 / (s + t))
        };
        let from = scale(slope(p[0], p[1], p[2], t[0], t[1]), t[1]);
        let to = scale(slope(p[1], p[2], p[3], t[1], t[2]), t[1]);
        let steps = (norm(sub(p[2], p[1])) / (0.5 * STEP_MM)).ceil().max(1.0);
        for k in 0..steps as usize {
            let u = k as f64 / steps;
            let (u2, u3) = (u * u, u * u * u);
            let mut q = scale(p[1], 2.0 * u3 - 3.0 * u2 + 1.0);
            q = add(q, scale(from, u3 - 2.0 * u2 + u));
            q = add(q, scale(p[2], 3.0 * u2 - 2.0 * u3));
            line.push(add(q, scale(to, u3 - u2)));
        }
    }
    line.push(points[n - 1]);
    line
}

/// Lets the end of a line go on to the surface of the white matter: outwards, along the gyrus.
fn to_cortex(anatomy: &Anatomy, line: &mut Vec<Vec3>) -> Option<()> {
    const STEP: f64 = 0.5;
    const FARTHEST: usize = 100;
    // Where the curve has passed the surface already, it ends there.
    while line.len() > 8 && anatomy.below_white(line[line.len() - 1]) < 0.0 {
        line.pop();
    }
    let last = *line.last()?;
    let mut way = unit(sub(last, line[line.len().checked_sub(4)?]));
    let mut p = last;
    for _ in 0..FARTHEST {
        let below = anatomy.below_white(p);
        let outwards = scale(anatomy.envelope_inwards(p), -1.0);
        let inwards = anatomy.inwards(p);
        // Walls of sulci push the line into the middle of its gyrus.
        let across = sub(inwards, scale(outwards, dot(inwards, outwards)));
        let push = 0.5 * (-below / 1.5).exp();
        way = unit(add(add(way, scale(outwards, 0.12)), scale(across, push)));
        let next = add(p, scale(way, STEP));
        let after = anatomy.below_white(next);
        if after <= 0.0 {
            let part = below / (below - after).max(1e-9);
            line.push(add(p, scale(way, STEP * part)));
            return Some(());
        }
        line.push(next);
        p = next;
    }
    None
}

/// Lets the end of a line go on to the cortex of the cerebellum: outwards, along its lobe.
fn to_folia(anatomy: &Anatomy, line: &mut Vec<Vec3>) -> Option<()> {
    const STEP: f64 = 0.5;
    const FARTHEST: usize = 80;
    let mut p = *line.last()?;
    let mut way = unit(sub(p, line[line.len().checked_sub(4)?]));
    for _ in 0..FARTHEST {
        way = unit(add(way, scale(anatomy.unnamed_fibre(p), 0.3)));
        p = add(p, scale(way, STEP));
        if anatomy.part(p).0.tissue() != Tissue::White {
            return Some(());
        }
        line.push(p);
    }
    None
}

/// The same line with points at even steps; its last point is kept.
fn even(line: &[Vec3]) -> Vec<Vec3> {
    let mut out = vec![line[0]];
    let mut left = STEP_MM;
    for pair in line.windows(2) {
        let along = sub(pair[1], pair[0]);
        let length = norm(along);
        let mut at = left;
        while at <= length {
            out.push(add(pair[0], scale(along, at / length)));
            at += STEP_MM;
        }
        left = at - length;
    }
    let last = line[line.len() - 1];
    if norm(sub(out[out.len() - 1], last)) > 0.25 * STEP_MM {
        out.push(last);
    }
    out
}

/// The line as far as it is in white matter: what is in grey matter at its ends is cut off. `None`
/// where it leaves the white matter in between, or little is left.
fn trimmed(anatomy: &Anatomy, line: &[Vec3]) -> Option<Vec<Vec3>> {
    let tissues: Vec<Tissue> = line.iter().map(|p| anatomy.part(*p).0.tissue()).collect();
    let is_white = |t: &Tissue| *t == Tissue::White;
    let first = tissues.iter().position(is_white)?;
    let last = tissues.iter().rposition(is_white)?;
    let passes = last > first + 10
        && tissues[first..=last].iter().all(is_white)
        && ends_in_grey(&tissues[..first])
        && ends_in_grey(&tissues[last + 1..]);
    passes.then(|| line[first..=last].to_vec())
}

fn ends_in_grey(beyond: &[Tissue]) -> bool {
    beyond.iter().all(|t| matches!(t, Tissue::CorticalGrey | Tissue::SubcorticalGrey))
}

/// Fibres from gyrus to gyrus under the sulcus between, in the two hemispheres.
fn u_fibres(
    anatomy: &Anatomy,
    dice: Dice,
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<Vec<HeadBundle>, PhantomError> {
    const CANDIDATES: usize = 40_000;
    let candidate = |i: usize| u_fibre(anatomy, dice, i as u64);
    let all: Vec<(bool, Vec<[f32; 3]>)> = made(0..CANDIDATES, workers, progress, candidate)?;
    let side = |is_right: bool, name: &str| {
        let of = all.iter().filter(|(right, _)| *right == is_right);
        HeadBundle {
            name: name.to_owned(),
            streamlines: of.map(|(_, line)| line.clone()).collect(),
            area_mm2: 2.2,
            fibres: Bundled { dispersion: 0.2, inside: 0.5 },
        }
    };
    Ok(vec![side(false, "u_fibres_left"), side(true, "u_fibres_right")])
}

fn u_fibre(anatomy: &Anatomy, dice: Dice, item: u64) -> Option<(bool, Vec<[f32; 3]>)> {
    let [x, y, z, turn] = dice.four(item, 100);
    let [length, ..] = dice.four(item, 101);
    let start = [136.0 * x - 68.0, 172.0 * y - 102.0, 124.0 * z - 48.0];
    let (from, inwards) = on_white(anatomy, start)?;
    // Another point of the surface, a sulcus away.
    let helper = if inwards[2].abs() < 0.8 { [0.0, 0.0, 1.0] } else { [1.0, 0.0, 0.0] };
    let across = unit(fimbria_compute::dense::vec3::cross(inwards, helper));
    let other = fimbria_compute::dense::vec3::cross(inwards, across);
    let (sin, cos) = (std::f64::consts::TAU * turn).sin_cos();
    let way = add(scale(across, cos), scale(other, sin));
    let (to, inwards_there) = on_white(anatomy, add(from, scale(way, 10.0 + 14.0 * length)))?;
    let chord = norm(sub(to, from));
    if !(8.0..26.0).contains(&chord) || from[0] * to[0] < 0.0 {
        return None;
    }
    let middle = scale(add(from, to), 0.5);
    // Without a sulcus between there is no U.
    if anatomy.below_white(middle) > -0.5 {
        return None;
    }
    let down = unit(add(anatomy.envelope_inwards(middle), scale(add(inwards, inwards_there), 0.5)));
    for deep in [4.0, 7.0, 10.0, 13.0, 16.0] {
        let bottom = add(middle, scale(down, deep));
        if anatomy.below_white(bottom) < 1.0 {
            continue;
        }
        let points =
            [from, add(from, scale(inwards, 2.5)), bottom, add(to, scale(inwards_there, 2.5)), to];
        if let Some(line) = trimmed(anatomy, &even(&curve(&points))) {
            let line = line.into_iter().map(|p| p.map(|c| c as f32)).collect();
            return Some((from[0] > 0.0, line));
        }
    }
    None
}

/// The point of the white matter's surface near another, and the way inwards there.
fn on_white(anatomy: &Anatomy, mut p: Vec3) -> Option<(Vec3, Vec3)> {
    for _ in 0..4 {
        let below = anatomy.below_white(p);
        if below.abs() > 12.0 {
            return None;
        }
        p = sub(p, scale(unit(anatomy.inwards(p)), below - 0.15));
    }
    let inwards = unit(anatomy.inwards(p));
    let out = sub(p, scale(inwards, 1.3));
    let is_cortex = anatomy.part(out).0 == Part::Cortex;
    ((anatomy.below_white(p) - 0.15).abs() < 0.2 && is_cortex).then_some((p, inwards))
}
