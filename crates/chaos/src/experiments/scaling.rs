//! The cluster grows while clients work.

pub mod scale_linear;
pub mod scale_under_restarts;
pub mod scale_up;
