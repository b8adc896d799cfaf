//! Process instances: creation, cancellation and modification.

pub(crate) mod cancel;
pub(crate) mod create;
pub(crate) mod modify;
