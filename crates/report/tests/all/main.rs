//! Figures and the page.

mod figures;
mod page;
