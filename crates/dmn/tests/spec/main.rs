//! What decisions must do, as specifications.

mod audit;
mod boxed;
mod cells;
mod graph;
mod hit_policies;
mod robustness;
mod support;
mod validation;
