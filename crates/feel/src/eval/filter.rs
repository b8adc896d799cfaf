//! `list[condition]` and `list[index]`.

use super::{Evaluator, quote};
use crate::compile::{FilterKind, FilterNode, Node};
use crate::value::List;
use crate::{Value, WarningCode, prices};

impl Evaluator<'_> {
    pub(super) fn filter(&mut self, node: &FilterNode) -> Value {
        let list = match self.eval(&node.list) {
            Value::List(list) => list,
            Value::Null => return Value::Null,
            // A single value is no list, as in the reference engine.
            other => {
                self.expected("List", &other);
                return Value::Null;
            }
        };
        match &node.kind {
            FilterKind::Index(index) => {
                let index = self.eval(index);
                self.item_at(&list, &index)
            }
            FilterKind::Condition(condition) => {
                self.items_where(&list, node.item, condition, Vec::new(), 0)
            }
            FilterKind::Unknown(filter) => {
                self.set(node.item, list.first().cloned().unwrap_or_default());
                match self.eval(filter) {
                    index @ Value::Number(_) => self.item_at(&list, &index),
                    _ if list.is_empty() => Value::List(list),
                    first => {
                        let mut kept = Vec::new();
                        if first.as_bool() == Some(true) {
                            kept.extend(list.first().cloned());
                        }
                        self.items_where(&list, node.item, filter, kept, 1)
                    }
                }
            }
        }
    }

    fn items_where(
        &mut self,
        list: &List,
        slot: usize,
        condition: &Node,
        kept: Vec<Value>,
        from: usize,
    ) -> Value {
        let mut kept = kept;
        for item in list.iter().skip(from) {
            if !self.charge(prices::TURN) {
                return Value::Null;
            }
            self.set(slot, item.clone());
            let held = self.held();
            let keeps = self.eval(condition);
            self.keep(held, &keeps);
            if let Value::Boolean(true) = keeps {
                kept.push(item.clone());
            }
        }
        self.list(kept)
    }

    /// Counts from 1, or from the end with negative numbers.
    fn item_at(&mut self, list: &List, index: &Value) -> Value {
        let position = match index.as_i64() {
            Some(n @ 1..) => usize::try_from(n - 1).ok(),
            Some(n @ ..=-1) => usize::try_from(n.unsigned_abs())
                .ok()
                .and_then(|n| list.len().checked_sub(n)),
            _ => None,
        };
        match position.and_then(|at| list.get(at)) {
            Some(value) => value.clone(),
            None => {
                if !self.keeps_warnings() {
                    return Value::Null;
                }
                let message = format!(
                    "The index {} is out of bounds of a list with {} items",
                    quote(index),
                    list.len()
                );
                self.fail(WarningCode::OutOfBounds, message)
            }
        }
    }
}
