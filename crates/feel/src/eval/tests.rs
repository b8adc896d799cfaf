//! Unary tests.

use super::Evaluator;
use crate::compile::{Node, Test};
use crate::{Range, Value, prices};

impl Evaluator<'_> {
    /// Whether one of the tests holds for the input. A test without a definite answer leaves the result open.
    pub fn any_test(&mut self, input: &Value, tests: &[Test]) -> Option<bool> {
        let mut result = Some(false);
        for test in tests {
            match self.test(input, test) {
                Some(true) => return Some(true),
                Some(false) => {}
                None => result = None,
            }
        }
        result
    }

    fn test(&mut self, input: &Value, test: &Test) -> Option<bool> {
        self.charge(prices::TURN);
        match test {
            Test::Any => Some(true),
            Test::Compare(op, bound) => {
                let bound = self.eval(bound);
                self.compare(*op, input, &bound).as_bool()
            }
            Test::Not(tests) => self.any_test(input, tests).map(|holds| !holds),
            Test::Value(node) => self.value_test(input, node),
        }
    }

    fn value_test(&mut self, input: &Value, node: &Node) -> Option<bool> {
        // Nested tests have their own input.
        let outer = std::mem::take(&mut self.input_read);
        let value = self.eval(node);
        let is_condition = std::mem::replace(&mut self.input_read, outer);
        match value {
            value if is_condition => value.as_bool(),
            // A condition on other variables.
            Value::Boolean(true) => Some(true),
            Value::Boolean(false) if !matches!(input, Value::Boolean(_)) => Some(false),
            // An invalid range is not a missing value.
            Value::Null if matches!(node, Node::Range(_)) => None,
            value => self.matches(input, &value),
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
            value => self
                .compare(crate::syntax::ast::CompareOp::Equal, input, value)
                .as_bool(),
        }
    }
}
