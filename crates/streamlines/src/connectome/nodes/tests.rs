//! Which nodes the rules of assignment find.

use super::*;
use fimbria_image::Grid;

fn line_of_labels(labels: &[f32]) -> Image {
    let ras_from_vox = Affine::from_spacing([2.0; 3]);
    let grid = Grid { dims: [labels.len(), 1, 1], ras_from_vox };
    Image { grid, n_volumes: 1, data: labels.to_vec() }
}

#[test]
fn the_exact_label_is_that_of_the_voxel_around_the_point() {
    let image = line_of_labels(&[0., 7., 0., 3.]);
    let nodes = Nodes::new(&image, Assignment::ExactLabel).unwrap();
    assert_eq!(nodes.labels(), [3, 7]);
    assert_eq!(nodes.at([2.9, 0.0, 0.0]), Some(1));
    assert_eq!(nodes.at([3.1, 0.0, 0.0]), None);
    assert_eq!(nodes.at([60.0, 0.0, 0.0]), None);
}

#[test]
fn an_end_in_a_corner_of_a_large_voxel_has_its_label() {
    let grid = Grid { dims: [2, 1, 1], ras_from_vox: Affine::from_spacing([11.0; 3]) };
    let image = Image { grid, n_volumes: 1, data: vec![1.0, 2.0] };
    let nodes = Nodes::new(&image, Assignment::default()).unwrap();
    assert_eq!([nodes.at([5.0; 3]), nodes.at([6.0, 5.0, -5.0])], [Some(0), Some(1)]);
    assert_eq!(nodes.at([-9.0; 3]), None);
}

#[test]
fn voxels_of_a_micrometre_bound_the_search_by_the_grid() {
    let labels = |dims: [usize; 3], edge: f64| {
        let grid = Grid { dims, ras_from_vox: Affine::from_spacing([edge; 3]) };
        Image { grid, n_volumes: 1, data: vec![1.0; grid.len()] }
    };
    let search = Assignment::RadialSearch { radius_mm: 4.0 };
    let small = Nodes::new(&labels([20, 20, 20], 0.002), search).unwrap();
    assert!(small.neighbours.len() <= 41 * 41 * 41);
    assert_eq!(small.at([0.01; 3]), Some(0));
    let large = Nodes::new(&labels([200, 200, 200], 0.002), search);
    assert!(matches!(large, Err(LabelError::Reach { .. })), "no more than memory holds");
    let thin = Nodes::new(&labels([2, 2, 2], 1e-30), search).unwrap();
    assert!(thin.neighbours.len() <= 125);
}

#[test]
fn the_search_finds_the_nearest_centre_within_its_radius() {
    let image = line_of_labels(&[5., 0., 0., 0., 0., 6.]);
    let nodes = Nodes::new(&image, Assignment::RadialSearch { radius_mm: 4.0 }).unwrap();
    assert_eq!(nodes.at([3.9, 0.0, 0.0]), Some(0));
    assert_eq!(nodes.at([5.0, 0.0, 0.0]), None);
    assert_eq!(nodes.at([6.1, 0.0, 0.0]), Some(1));
    // From outside the image too.
    assert_eq!(nodes.at([-3.0, 2.0, 0.0]), Some(0));
}

#[test]
fn the_search_agrees_with_looking_at_every_voxel() {
    let ras_from_vox = Affine([[1.7, 0.4, 0.1, -8.], [-0.3, 2.2, 0.2, 3.], [0.1, -0.5, 2.9, 5.]]);
    let grid = Grid { dims: [9, 8, 7], ras_from_vox };
    let mut image = Image::zeros(grid, 1);
    for at in [0, 17, 100, 333, 402, 503] {
        image.data[at] = at as f32 + 1.0;
    }
    let nodes = Nodes::new(&image, Assignment::RadialSearch { radius_mm: 5.0 }).unwrap();
    for i in 0..4000 {
        let t = f64::from(i);
        let vox = [
            (t * 0.618).fract() * 11.0 - 1.5,
            (t * 0.755).fract() * 9.0 - 1.0,
            (t * 0.57).fract() * 8.0 - 1.0,
        ];
        let pos = ras_from_vox.apply(vox).map(|x| x as f32);
        let distance = |at: usize| {
            let there = ras_from_vox.apply(grid.voxel(at).map(|x| x as f64));
            (0..3).map(|a| (there[a] - f64::from(pos[a])).powi(2)).sum::<f64>().sqrt()
        };
        let labelled = (0..grid.len()).filter(|at| image.data[*at] > 0.0);
        let nearest = labelled.min_by(|a, b| distance(*a).total_cmp(&distance(*b))).unwrap();
        let expected = (distance(nearest) <= 5.0).then_some(nearest as u32 + 1);
        assert_eq!(nodes.at(pos).map(|node| nodes.labels()[node]), expected);
    }
}

#[test]
fn what_is_no_label_is_named() {
    let error = Nodes::new(&line_of_labels(&[1.0, 2.5]), Assignment::default()).unwrap_err();
    assert_eq!(error, LabelError::NotALabel { value: 2.5, voxel: [1, 0, 0] });
    let empty = Nodes::new(&line_of_labels(&[0.0]), Assignment::default()).unwrap_err();
    assert_eq!(empty, LabelError::Empty);
}

#[test]
fn each_rule_finds_the_nodes_that_it_says() {
    // 2 mm voxels: labels at 0, 6 and 14 mm.
    let image = line_of_labels(&[5., 0., 0., 6., 0., 0., 0., 7.]);
    let of = |assignment, line: &[f32]| {
        let nodes = Nodes::new(&image, assignment).unwrap();
        let points: Vec<[f32; 3]> = line.iter().map(|x| [*x, 0.0, 0.0]).collect();
        nodes.assigned(&points)
    };
    let reverse = |most_mm| Assignment::ReverseSearch { most_mm };
    // From 10 mm back to 6; from the other end it is met before the middle.
    assert_eq!(of(reverse(5.0), &[3.0, 6.0, 8.0, 10.0]), AssignedNodes::Ends([Some(1), None]));
    assert_eq!(of(reverse(2.0), &[3.0, 6.0, 8.0, 10.0]), AssignedNodes::Ends([None, None]));
    let forward = |most_mm| Assignment::ForwardSearch { most_mm };
    assert_eq!(of(forward(4.0), &[4.0, 8.0, 10.0]), AssignedNodes::Ends([Some(0), Some(2)]));
    assert_eq!(of(forward(2.0), &[4.0, 8.0, 10.0]), AssignedNodes::Ends([None, None]));
    assert_eq!(of(forward(2.0), &[6.0, 6.0]), AssignedNodes::Ends([Some(1), Some(1)]));
    // Between its points too.
    let all = of(Assignment::AllVoxels, &[14.0, 2.0]);
    assert_eq!(all, AssignedNodes::All(vec![1, 2]));
    let mut pairs = Vec::new();
    assert!(all.pairs(|a, b| pairs.push((a, b))));
    assert_eq!(pairs, [(1, 1), (1, 2), (2, 2)]);
    assert!(!of(Assignment::AllVoxels, &[2.0, 4.0]).pairs(|_, _| ()));
    assert_eq!(of(Assignment::AllVoxels, &[]), AssignedNodes::Ends([None; 2]));
}
