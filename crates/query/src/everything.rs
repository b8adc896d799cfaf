//! Whether a search asks for everything: its filter may have many words and no condition.

use crate::entities::ELEMENT_INSTANCE;
use crate::entity::Entity;
use crate::search::{Condition, Op, Search};

impl Search {
    /// Whether the filter holds for every row that there can be, by its form: an alternative without a condition, or a condition
    /// that any value fulfils, is none. Conditions that only together leave nothing out count as said on purpose.
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
        // Whatever has elements has the one of the process itself.
        Condition::Related(related) => {
            std::ptr::eq(related.entity, &ELEMENT_INSTANCE)
                && all_hold(related.entity, &related.conditions)
        }
        // They ask for something that most rows have not: an item, a place.
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
