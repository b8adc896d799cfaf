//! Process instances: creation, cancellation and modification.

pub(crate) mod cancel;
pub(crate) mod create;
pub(crate) mod migration;
pub(crate) mod modify;
