//! One form in `f64`, as the papers have it.

use crate::layout::Layout;
use crate::starts::half_sphere;
use crate::tables::Tables;

/// `value · direction^m`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Term {
    /// λ ≥ 0.
    pub value: f64,
    /// A unit vector; its sign means nothing.
    pub direction: [f64; 3],
}

/// A form as a sum of terms and a rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Decomposition {
    /// The terms, largest first.
    pub terms: Vec<Term>,
    /// The norm of the rest over that of the form; 0 for the form 0.
    pub residual: f64,
}

/// Points of the half sphere among which the largest value of the rest is looked for.
const STARTS: usize = 1000;
/// Steps of every climb before the next term has its turn.
const STEPS: usize = 10;
/// The search is over once no component of a direction moves by more than this in a cycle.
const STILL: f64 = 1e-12;
/// Cycles after which it is given up.
const CYCLES: usize = 5000;

/// The sum of at most `rank` non-negative rank-one terms that comes nearest to the form with these
/// unique entries (even order, dimension 3), as the greedy search finds it.
///
/// # Panics
/// Where `layout` is not of even order and dimension 3, or has not as many entries.
pub fn decompose(layout: Layout, entries: &[f64], rank: usize) -> Decomposition {
    assert!(layout.order().is_multiple_of(2) && layout.dimension() == 3, "{layout:?}");
    let mut rest = Rest { tables: Tables::new(layout), entries: entries.to_vec() };
    let norm = rest.norm();
    let mut terms: Vec<Term> = Vec::new();
    for _ in 0..rank {
        let Some(term) = rest.largest() else { break };
        rest.add(-term.value, term.direction);
        terms.push(term);
        for _ in 0..CYCLES {
            let mut moved = 0.0_f64;
            for term in &mut terms {
                rest.add(term.value, term.direction);
                let next = rest.climb(term.direction);
                for (a, b) in next.direction.iter().zip(term.direction) {
                    moved = moved.max((a - b).abs());
                }
                *term = next;
                rest.add(-term.value, term.direction);
            }
            if moved <= STILL {
                break;
            }
        }
    }
    terms.sort_by(|a, b| b.value.total_cmp(&a.value));
    let residual = if norm > 0.0 { rest.norm() / norm } else { 0.0 };
    Decomposition { terms, residual }
}

/// What the terms leave of a form.
struct Rest {
    tables: Tables<f64>,
    entries: Vec<f64>,
}

impl Rest {
    fn layout(&self) -> Layout {
        *self.tables.layout()
    }

    /// The norm of the whole tensor.
    fn norm(&self) -> f64 {
        let squares = self.entries.iter().enumerate();
        squares.map(|(i, a)| self.layout().multiplicity(i) * a * a).sum::<f64>().sqrt()
    }

    fn value(&self, x: [f64; 3]) -> f64 {
        self.tables.form(&self.entries, &x)
    }

    /// Adds `factor · x^m`.
    fn add(&mut self, factor: f64, x: [f64; 3]) {
        for (entry, class) in self.entries.iter_mut().zip(self.tables.layout().index_classes()) {
            *entry += factor * class.iter().map(|&i| x[i]).product::<f64>();
        }
    }

    /// The largest of many points; `None` where none is positive.
    fn largest(&self) -> Option<Term> {
        let points = half_sphere(STARTS).into_iter();
        let points = points.map(|direction| Term { value: self.value(direction), direction });
        points.max_by(|a, b| a.value.total_cmp(&b.value)).filter(|term| term.value > 0.0)
    }

    /// Some steps of SS-HOPM with a shift that makes each an ascent: (m - 1) times the norm bounds
    /// the curvature (Kolda, Mayo 2011, SIMAX 32:1095, section 4).
    fn climb(&self, mut x: [f64; 3]) -> Term {
        let shift = (self.layout().order() - 1) as f64 * self.norm();
        for _ in 0..STEPS {
            let mut gradient = [0.0; 3];
            self.tables.gradient(&self.entries, &x, &mut gradient);
            let next: [f64; 3] = std::array::from_fn(|i| gradient[i] + shift * x[i]);
            let length = next.iter().map(|c| c * c).sum::<f64>().sqrt();
            if length > 0.0 {
                x = next.map(|c| c / length);
            }
        }
        Term { value: self.value(x).max(0.0), direction: x }
    }
}
