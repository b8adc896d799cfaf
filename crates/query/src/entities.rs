//! The entities, one file each.

mod audit_log;
mod batch_operation;
mod cluster_variable;
mod correlated_message_subscription;
mod decision_definition;
mod decision_instance;
mod decision_requirements;
mod element_duration;
mod element_instance;
mod event_wait;
mod form;
mod global_task_listener;
mod identity;
mod incident;
mod job;
mod job_statistics;
mod message_subscription;
mod process_definition;
mod process_instance;
mod resource;
mod start_timer;
mod usage;
mod user_task;
mod variable;

pub use audit_log::{AUDIT_CATEGORIES, AUDIT_LOG, AUDITED_ENTITIES};
pub use batch_operation::{BATCH_OPERATION, BATCH_OPERATION_ITEM, BATCH_OPERATION_REQUEST};
pub use cluster_variable::CLUSTER_VARIABLE;
pub use correlated_message_subscription::CORRELATED_MESSAGE_SUBSCRIPTION;
pub use decision_definition::DECISION_DEFINITION;
pub use decision_instance::DECISION_INSTANCE;
pub use decision_requirements::DECISION_REQUIREMENTS;
pub use element_duration::{ELEMENT_DURATION, ELEMENT_DURATION_COUNTS, ELEMENT_DURATION_SPAN};
pub use element_instance::{ELEMENT_INSTANCE, ELEMENT_TYPES};
pub use event_wait::EVENT_WAIT;
pub use form::FORM;
pub use global_task_listener::GLOBAL_TASK_LISTENER;
pub use identity::{
    AUTHORIZATION, GROUP, MAPPING_RULE, MEMBER, MEMBER_CLIENT, MEMBER_GROUP, MEMBER_USER, ROLE,
    TENANT, USER,
};
pub use incident::INCIDENT;
pub use job::JOB;
pub use job_statistics::{JOB_STATISTICS, JOB_STATISTICS_SPAN};
pub use message_subscription::MESSAGE_SUBSCRIPTION;
pub use process_definition::PROCESS_DEFINITION;
pub use process_instance::PROCESS_INSTANCE;
pub use resource::RESOURCE;
pub use start_timer::START_TIMER;
pub use usage::{USAGE, USAGE_SPAN};
pub use user_task::USER_TASK;
pub use variable::{PREVIEW, VARIABLE};

use crate::entity::{Entity, Field, Kind, Ops, same};

/// The tenant of a row that always has one.
const fn tenant(ops: Ops) -> Field {
    Field::new("tenantId", Kind::Text, ops)
        .always_there()
        .tenant()
}

/// All entities, in the order of their numbers in a store.
pub static ALL: [&Entity; 32] = [
    &PROCESS_DEFINITION,
    &PROCESS_INSTANCE,
    &ELEMENT_INSTANCE,
    &VARIABLE,
    &INCIDENT,
    &JOB,
    &USER_TASK,
    &DECISION_DEFINITION,
    &DECISION_REQUIREMENTS,
    &DECISION_INSTANCE,
    &MESSAGE_SUBSCRIPTION,
    &CORRELATED_MESSAGE_SUBSCRIPTION,
    &FORM,
    &RESOURCE,
    &BATCH_OPERATION,
    &BATCH_OPERATION_ITEM,
    &EVENT_WAIT,
    &CLUSTER_VARIABLE,
    &JOB_STATISTICS,
    &AUDIT_LOG,
    &USAGE,
    &GLOBAL_TASK_LISTENER,
    &USER,
    &GROUP,
    &ROLE,
    &TENANT,
    &MAPPING_RULE,
    &AUTHORIZATION,
    &MEMBER,
    &ELEMENT_DURATION,
    &START_TIMER,
    &BATCH_OPERATION_REQUEST,
];

/// The index of an entity in [`ALL`]. Compilation fails for one that is not in it.
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
