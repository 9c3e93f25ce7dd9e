//! Points of a streamline by where they lie along it.

use crate::{arc_length_mm, distance_mm};

/// The longest piece that [`compressed`] makes of shorter ones, mm.
pub const LONGEST_PIECE_MM: f64 = 10.0;

/// A place on a polyline: so far from point `.0` on the way to the next, from 0 to below 1.
pub type Place = (usize, f64);

/// The point at a place.
pub fn along(points: &[[f32; 3]], (at, part): Place) -> [f32; 3] {
    match points.get(at + 1).filter(|_| part > 0.0) {
        Some(next) => {
            let here = points[at];
            std::array::from_fn(|a| {
                let (from, to) = (f64::from(here[a]), f64::from(next[a]));
                (from + part * (to - from)) as f32
            })
        }
        None => points[at],
    }
}

/// `n` places with equal lengths of the polyline between them, from end to end. A streamline of one point, or of no
/// length, has its first point `n` times; one without points, or whose length is not finite, none.
pub fn evenly(points: &[[f32; 3]], n: usize) -> Vec<Place> {
    let total = arc_length_mm(points);
    if points.is_empty() || !total.is_finite() {
        return Vec::new();
    }
    if total == 0.0 || n < 2 {
        return vec![(0, 0.0); n];
    }
    let step = |i: usize| distance_mm(&points[i], &points[i + 1]);
    let mut places = Vec::with_capacity(n);
    let (mut at, mut before, mut length) = (0, 0.0, step(0));
    for k in 0..n - 1 {
        let target = total * k as f64 / (n - 1) as f64;
        while before + length <= target && at + 2 < points.len() {
            before += length;
            at += 1;
            length = step(at);
        }
        let part = if length > 0.0 { (target - before) / length } else { 0.0 };
        places.push(if part < 1.0 { (at, part.max(0.0)) } else { (at + 1, 0.0) });
    }
    places.push((points.len() - 1, 0.0));
    places
}

/// The points that stay where every point left out lies within `tolerance_mm` of the piece that replaces it, from the
/// first on each piece as long as that allows, up to [`LONGEST_PIECE_MM`] (Presseau et al. 2015, NeuroImage 109, 72:
/// linearisation). So no place of the one polyline is farther than that from the other.
pub fn compressed(points: &[[f32; 3]], tolerance_mm: f64) -> Vec<Place> {
    let mut places = Vec::new();
    if points.is_empty() {
        return places;
    }
    let mut from = 0;
    places.push((0, 0.0));
    while from + 1 < points.len() {
        let mut to = from + 1;
        while to + 1 < points.len() && is_near(&points[from..=to + 1], tolerance_mm) {
            to += 1;
        }
        places.push((to, 0.0));
        from = to;
    }
    places
}

/// Whether the piece from the first point to the last can stand for all of them.
fn is_near(points: &[[f32; 3]], tolerance_mm: f64) -> bool {
    let [first, .., last] = points else { return true };
    let (from, to) = (first.map(f64::from), last.map(f64::from));
    let piece: [f64; 3] = std::array::from_fn(|a| to[a] - from[a]);
    let dot = |u: [f64; 3], v: [f64; 3]| u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
    let square = dot(piece, piece);
    if square.is_nan() || square > LONGEST_PIECE_MM * LONGEST_PIECE_MM {
        return false;
    }
    points[1..points.len() - 1].iter().all(|point| {
        let here: [f64; 3] = std::array::from_fn(|a| f64::from(point[a]) - from[a]);
        let part = if square > 0.0 { (dot(here, piece) / square).clamp(0.0, 1.0) } else { 0.0 };
        let off: [f64; 3] = std::array::from_fn(|a| here[a] - part * piece[a]);
        dot(off, off) <= tolerance_mm * tolerance_mm
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A quarter of a circle of 30 mm, 47.1239 mm long, in `n` points at uneven angles.
    fn arc(n: usize) -> Vec<[f32; 3]> {
        let angle = |i: usize| {
            let t = i as f64 / (n - 1) as f64;
            std::f64::consts::FRAC_PI_2 * (t + 0.1 * (std::f64::consts::PI * t).sin().powi(2) * t)
        };
        (0..n)
            .map(|i| [(30.0 * angle(i).cos()) as f32, (30.0 * angle(i).sin()) as f32, 5.0])
            .collect()
    }

    #[test]
    fn an_arc_resampled_keeps_its_length_and_its_radius() {
        let fine = arc(2000);
        let places = evenly(&fine, 101);
        let points: Vec<_> = places.iter().map(|place| along(&fine, *place)).collect();
        assert_eq!((points.len(), points[0], points[100]), (101, fine[0], fine[1999]));
        // Chords of an angle h = π/200 are shorter than the arc by h²/24 = 1.03e-5 of it.
        let exact = 15.0 * std::f64::consts::PI;
        let lost = 1.0 - arc_length_mm(&points) / exact;
        assert!((lost - 1.03e-5).abs() < 1e-6, "{lost}");
        for (k, point) in points.iter().enumerate() {
            let angle = f64::from(point[1]).atan2(f64::from(point[0]));
            let expected = std::f64::consts::FRAC_PI_2 * k as f64 / 100.0;
            // Equal arcs are equal angles; the points are single precision.
            assert!((angle - expected).abs() < 1e-6, "{k}: {angle} {expected}");
        }
    }

    #[test]
    fn points_that_repeat_and_lines_of_no_length_are_no_trouble() {
        let line = [
            [0.0; 3],
            [0.0; 3],
            [1.0, 0.0, 0.0],
            [1.0, 0.0, 0.0],
            [4.0, 0.0, 0.0],
            [4.0, 0.0, 0.0],
        ];
        let points: Vec<_> = evenly(&line, 5).iter().map(|p| along(&line, *p)[0]).collect();
        assert_eq!(points, [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(evenly(&[[7.0; 3]], 3), [(0, 0.0); 3]);
        assert_eq!(evenly(&[[7.0; 3]; 2], 2), [(0, 0.0); 2]);
        assert_eq!(evenly(&[], 3), []);
        assert_eq!(evenly(&[[f32::NAN; 3], [0.0; 3]], 3), []);
    }

    fn distance_to(polyline: &[[f32; 3]], point: [f64; 3]) -> f64 {
        let of = |pair: &[[f32; 3]]| {
            let (p, q) = (pair[0].map(f64::from), pair[1].map(f64::from));
            let d: [f64; 3] = std::array::from_fn(|a| q[a] - p[a]);
            let e: [f64; 3] = std::array::from_fn(|a| point[a] - p[a]);
            let dot = |u: [f64; 3], v: [f64; 3]| (0..3).map(|a| u[a] * v[a]).sum::<f64>();
            let t = (dot(e, d) / dot(d, d)).clamp(0.0, 1.0);
            (0..3).map(|a| (e[a] - t * d[a]).powi(2)).sum::<f64>().sqrt()
        };
        polyline.windows(2).map(of).fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn a_compressed_line_stays_within_its_tolerance_both_ways() {
        let fine = arc(400);
        for tolerance in [0.01, 0.1, 1.0] {
            let places = compressed(&fine, tolerance);
            let kept: Vec<_> = places.iter().map(|place| along(&fine, *place)).collect();
            assert!(kept.len() < fine.len() / 4, "{tolerance}: {}", kept.len());
            assert_eq!((kept[0], kept.last()), (fine[0], fine.last()));
            let far = |a: &[[f32; 3]], b: &[[f32; 3]]| {
                let steps = a
                    .windows(2)
                    .flat_map(|p| (0..8).map(move |k| along(p, (0, f64::from(k) / 8.0))));
                steps.map(|p| distance_to(b, p.map(f64::from))).fold(0.0, f64::max)
            };
            let (there, back) = (far(&fine, &kept), far(&kept, &fine));
            assert!(there <= tolerance && back <= tolerance, "{tolerance}: {there} {back}");
            assert!(kept.windows(2).all(|pair| arc_length_mm(pair) <= LONGEST_PIECE_MM));
            // A piece of a circle bends away by half its chord squared over twice the radius: 8 r d = c².
            let longest = kept.windows(2).map(arc_length_mm).fold(0.0, f64::max);
            let allowed = (8.0 * 30.0 * tolerance).sqrt().min(LONGEST_PIECE_MM);
            assert!(longest <= allowed && longest > 0.9 * allowed, "{longest} {allowed}");
        }
    }

    #[test]
    fn straight_lines_keep_a_point_every_centimetre_and_nan_stays() {
        let line: Vec<[f32; 3]> = (0..=35).map(|i| [i as f32, 0.0, 0.0]).collect();
        let kept: Vec<usize> = compressed(&line, 0.01).iter().map(|place| place.0).collect();
        assert_eq!(kept, [0, 10, 20, 30, 35]);
        let far = [[0.0; 3], [50.0, 0.0, 0.0], [f32::NAN; 3], [51.0, 0.0, 0.0], [52.0, 0.0, 0.0]];
        assert_eq!(compressed(&far, 0.01).len(), 5);
        assert_eq!(compressed(&[[1.0; 3]], 0.01).len(), 1);
        assert!(compressed(&[], 0.01).is_empty());
    }
}
