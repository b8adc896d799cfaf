//! The entities, one file each.

mod element_instance;
mod incident;
mod job;
mod process_definition;
mod process_instance;
mod variable;

pub use element_instance::ELEMENT_INSTANCE;
pub use incident::INCIDENT;
pub use job::JOB;
pub use process_definition::PROCESS_DEFINITION;
pub use process_instance::PROCESS_INSTANCE;
pub use variable::{PREVIEW, VARIABLE};

use crate::entity::Entity;

/// All of them, in the order of their numbers in a store.
pub static ALL: [&Entity; 6] = [
    &PROCESS_DEFINITION,
    &PROCESS_INSTANCE,
    &ELEMENT_INSTANCE,
    &VARIABLE,
    &INCIDENT,
    &JOB,
];
