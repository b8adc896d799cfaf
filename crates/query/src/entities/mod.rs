//! The entities, one file each.

mod element_instance;
mod incident;
mod job;
mod process_definition;
mod process_instance;
mod user_task;
mod variable;

pub use element_instance::ELEMENT_INSTANCE;
pub use incident::INCIDENT;
pub use job::JOB;
pub use process_definition::PROCESS_DEFINITION;
pub use process_instance::PROCESS_INSTANCE;
pub use user_task::USER_TASK;
pub use variable::{PREVIEW, VARIABLE};

use crate::entity::{Entity, same};

/// All of them, in the order of their numbers in a store.
pub static ALL: [&Entity; 7] = [
    &PROCESS_DEFINITION,
    &PROCESS_INSTANCE,
    &ELEMENT_INSTANCE,
    &VARIABLE,
    &INCIDENT,
    &JOB,
    &USER_TASK,
];

/// The place of an entity in [`ALL`]; for one that is not there the code does not compile.
pub const fn number(entity: &Entity) -> usize {
    let (mut at, mut left) = (0, ALL.as_slice());
    while let [other, after @ ..] = left {
        if same(other.table, entity.table) {
            return at;
        }
        (at, left) = (at + 1, after);
    }
    panic!("the entity is not among all of them")
}
