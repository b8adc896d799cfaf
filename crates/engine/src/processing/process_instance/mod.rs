//! Process instances: creation and cancellation.

pub(crate) mod cancel;
pub(crate) mod create;
