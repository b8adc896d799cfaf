//! Comparisons with three truth values.

use std::cmp::Ordering;

use super::{Evaluator, quote};
use crate::syntax::ast::CompareOp;
use crate::{Value, WarningCode, prices};

pub(super) fn order_holds(op: CompareOp, order: Ordering) -> bool {
    match op {
        CompareOp::Equal => order.is_eq(),
        CompareOp::NotEqual => order.is_ne(),
        CompareOp::Less => order.is_lt(),
        CompareOp::LessEqual => order.is_le(),
        CompareOp::Greater => order.is_gt(),
        CompareOp::GreaterEqual => order.is_ge(),
    }
}

impl Evaluator<'_> {
    pub fn compare(&mut self, op: CompareOp, left: &Value, right: &Value) -> Value {
        match self.compares(op, left, right) {
            Some(value) => Value::Boolean(value),
            None => {
                if !self.keeps_warnings() {
                    return Value::Null;
                }
                let message = format!("Can't compare '{}' with '{}'", quote(left), quote(right));
                self.fail(WarningCode::NotComparable, message)
            }
        }
    }

    /// Without a warning.
    fn compares(&mut self, op: CompareOp, left: &Value, right: &Value) -> Option<bool> {
        if !self.charge(prices::comparison(left, right)) {
            return None;
        }
        match op {
            CompareOp::Equal | CompareOp::NotEqual => {
                let equal = left.equals(right)?;
                Some(equal == (op == CompareOp::Equal))
            }
            _ => left.compare(right).map(|order| order_holds(op, order)),
        }
    }

    /// Whether two values are equal: what FEEL cannot compare is not.
    pub fn equal(&mut self, left: &Value, right: &Value) -> bool {
        self.charge(prices::ITEM + prices::comparison(left, right)) && left == right
    }

    /// The order of two values of one ordered type.
    pub fn order(&mut self, left: &Value, right: &Value) -> Option<Ordering> {
        self.charge(prices::comparison(left, right));
        left.compare(right)
    }

    pub(super) fn between(&mut self, value: &Value, low: &Value, high: &Value) -> Value {
        let above = self.compare(CompareOp::GreaterEqual, value, low);
        let below = self.compare(CompareOp::LessEqual, value, high);
        match (above.as_bool(), below.as_bool()) {
            (Some(false), _) | (_, Some(false)) => Value::Boolean(false),
            (Some(true), Some(true)) => Value::Boolean(true),
            _ => Value::Null,
        }
    }
}
