//! Unary tests.

use super::Evaluator;
use crate::compile::{Node, Test};
use crate::{Range, Value, prices};

/// Where tests stand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Tests on their own, as in the cells of a decision table: a test without a value leaves the result open.
    Cell,
    /// Behind `in`: a test that is true holds, and one without a value does not.
    Membership,
}

impl Evaluator<'_> {
    /// Whether one of the tests holds for the input.
    pub fn any_test(&mut self, input: &Value, tests: &[Test], place: Place) -> Option<bool> {
        let mut result = Some(false);
        for test in tests {
            match self.test(input, test, place) {
                Some(true) => return Some(true),
                Some(false) => {}
                None => result = None,
            }
        }
        result
    }

    fn test(&mut self, input: &Value, test: &Test, place: Place) -> Option<bool> {
        self.charge(prices::TURN);
        match test {
            Test::Any => Some(true),
            Test::Compare(op, bound) => {
                let bound = self.eval(bound);
                self.compare(*op, input, &bound).as_bool()
            }
            Test::Not(tests) => self.any_test(input, tests, place).map(|holds| !holds),
            Test::Value { node, condition } => {
                let value = self.eval(node);
                if *condition && let Value::Boolean(holds) = value {
                    return Some(holds);
                }
                if place == Place::Membership {
                    match value {
                        Value::Boolean(true) => return Some(true),
                        // A range that cannot be made is no missing value.
                        Value::Null if !input.is_null() && !matches!(node, Node::Range(_)) => {
                            return Some(false);
                        }
                        _ => {}
                    }
                }
                if value.is_null() && !input.is_null() && !matches!(node, Node::Const(_)) {
                    // The test itself could not be evaluated.
                    return None;
                }
                self.matches(input, &value)
            }
        }
    }

    /// Whether a value lies in a range.
    fn inside(&mut self, value: &Value, range: &Range) -> Option<bool> {
        let price =
            prices::comparison(value, range.start()) + prices::comparison(value, range.end());
        if !self.charge(price) {
            return None;
        }
        range.contains(value)
    }

    /// Whether the input equals the value, lies in the range, or is in the list.
    fn matches(&mut self, input: &Value, value: &Value) -> Option<bool> {
        match value {
            Value::Range(range) if !matches!(input, Value::Range(_)) => {
                match self.inside(input, range) {
                    Some(inside) => Some(inside),
                    None => {
                        let message = format!(
                            "Can't compare '{}' with '{}'",
                            super::quote(input),
                            super::quote(value)
                        );
                        self.warn(crate::WarningCode::NotComparable, message);
                        None
                    }
                }
            }
            Value::List(items) => {
                if !self.charge(prices::ITEM * items.len() + prices::comparison(input, value)) {
                    return None;
                }
                if input.equals(value) == Some(true) {
                    return Some(true);
                }
                Some(items.iter().any(|item| {
                    self.charge(prices::comparison(input, item))
                        && match item {
                            Value::Range(range) if !matches!(input, Value::Range(_)) => {
                                self.inside(input, range) == Some(true)
                            }
                            item => input.equals(item) == Some(true),
                        }
                }))
            }
            // A condition on other variables.
            Value::Boolean(holds) if !matches!(input, Value::Boolean(_)) => Some(*holds),
            value => self
                .compare(crate::syntax::ast::CompareOp::Equal, input, value)
                .as_bool(),
        }
    }
}
