//! Detects searches that match everything: a filter can have many parts and still no effective condition.

use crate::entities::ELEMENT_INSTANCE;
use crate::entity::Entity;
use crate::search::{Condition, Op, Search};

impl Search {
    /// Whether the filter matches every possible row, judged by its form: an alternative without conditions, or a condition
    /// that any value satisfies, has no effect. Conditions that only match everything in combination are considered
    /// intentional.
    pub fn means_everything(&self) -> bool {
        all_hold(self.entity, &self.filter)
            && (self.any_of.is_empty() || any_holds(self.entity, &self.any_of))
    }
}

fn all_hold(entity: &Entity, conditions: &[Condition]) -> bool {
    conditions.iter().all(|one| always_holds(entity, one))
}

fn any_holds(entity: &Entity, alternatives: &[Vec<Condition>]) -> bool {
    alternatives.iter().any(|one| all_hold(entity, one))
}

fn always_holds(entity: &Entity, condition: &Condition) -> bool {
    match condition {
        Condition::Field { op, .. } if op.says_nothing() => true,
        Condition::Field { field, op } => {
            entity.field(*field).always_there && holds_for_what_is_there(op)
        }
        Condition::Any(alternatives) => any_holds(entity, alternatives),
        // Every process instance has the element instance of the process itself.
        Condition::Related(related) => {
            std::ptr::eq(related.entity, &ELEMENT_INSTANCE)
                && all_hold(related.entity, &related.conditions)
        }
        // These require an item or a location that most rows do not have.
        Condition::Item { .. } | Condition::Within { .. } => false,
    }
}

fn holds_for_what_is_there(op: &Op) -> bool {
    match op {
        Op::Exists(there) => *there,
        Op::Like(pattern) => !pattern.is_empty() && pattern.bytes().all(|sign| sign == b'*'),
        _ => false,
    }
}
