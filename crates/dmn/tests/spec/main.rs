//! Specifications of decisions.

mod audit;
mod boxed;
mod cells;
mod graph;
mod hit_policies;
mod reference_cells;
mod reference_models;
mod robustness;
mod support;
mod validation;
