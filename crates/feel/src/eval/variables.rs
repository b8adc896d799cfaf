//! Variables of the scope: asked for once, read only as far as needed.

use std::cmp::Ordering;
use std::sync::Arc;

use super::Evaluator;
use super::compare::order_holds;
use crate::syntax::ast::CompareOp;
use crate::value::{Function, Value};
use crate::{Binding, WarningCode, builtins, json, prices};

/// After so many searches in a JSON variable it is read as a whole.
const MAX_SEARCHES: u32 = 8;
/// Longer JSON texts are not compared in place.
const MAX_COMPARED: usize = 256;

#[derive(Default)]
pub(super) enum Variable<'a> {
    /// Not asked for yet.
    #[default]
    Unknown,
    /// JSON text, and how many times a part of it was searched for.
    Json(&'a str, u32),
    Borrowed(&'a Value),
    /// Read from JSON.
    Owned(Value),
}

impl<'a> Evaluator<'a> {
    /// Asks the scope once.
    fn load(&mut self, var: usize) -> Option<&mut Variable<'a>> {
        let scope = self.scope;
        let name = self.names.get(var)?;
        if let Some(Variable::Unknown) = self.variables.get(var) {
            let found = match scope.get(name) {
                Some(Binding::Json(text)) => Variable::Json(text, 0),
                Some(Binding::Value(value)) => Variable::Borrowed(value),
                None => match builtins::find(name) {
                    Some(builtin) => {
                        Variable::Owned(Value::Function(Arc::new(Function::builtin(builtin))))
                    }
                    None => {
                        let message = format!("No variable found with name '{name}'");
                        self.warn(WarningCode::NoVariableFound, message);
                        Variable::Borrowed(&Value::Null)
                    }
                },
            };
            if let Some(place) = self.variables.get_mut(var) {
                *place = found;
            }
        }
        self.variables.get_mut(var)
    }

    pub(super) fn variable(&mut self, var: usize) -> Value {
        let text = match self.load(var) {
            Some(Variable::Borrowed(value)) => return value.clone(),
            Some(Variable::Owned(value)) => return value.clone(),
            Some(Variable::Json(text, _)) => *text,
            _ => return Value::Null,
        };
        let value = self.read_json(text);
        if let Some(place) = self.variables.get_mut(var) {
            *place = Variable::Owned(value.clone());
        }
        value
    }

    fn read_json(&mut self, text: &str) -> Value {
        match json::read(text, self.room()) {
            Ok(Some(value)) => {
                let memory = value.heap();
                self.charge(prices::read_json(text.len(), memory));
                self.hold_variable(memory);
                value
            }
            Ok(None) => self.overfull(),
            Err(error) => self.fail(
                WarningCode::InvalidType,
                format!("Can't read the variable: {error}"),
            ),
        }
    }

    /// `a.b.c` reads only the part of a JSON variable that the path leads to.
    pub(super) fn variable_path(&mut self, var: usize, path: &[Arc<str>]) -> Value {
        if let Some(Variable::Json(text, searches)) = self.load(var)
            && *searches < MAX_SEARCHES
        {
            *searches += 1;
            let text = *text;
            let part = json::find_path(text, path);
            // All before the part, or the whole text.
            let skipped = part.map_or(text.len(), |part| {
                (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize)
            });
            self.charge(prices::skip_json(skipped));
            if let Some(part) = part {
                return self.read_json(part);
            }
        }
        // Values, and paths that end early, through lists or at properties.
        let mut value = self.variable(var);
        for name in path {
            value = self.path(&value, name);
        }
        value
    }

    /// Compares a variable with a constant without building a value from JSON scalars.
    pub(super) fn compare_variable(
        &mut self,
        op: CompareOp,
        var: usize,
        constant: &Value,
    ) -> Value {
        let order = match (self.load(var), constant) {
            (Some(Variable::Json(text, _)), Value::String(expected))
                if text.len() <= MAX_COMPARED =>
            {
                match text
                    .strip_prefix('"')
                    .and_then(|rest| rest.strip_suffix('"'))
                {
                    Some(raw) if !raw.contains('\\') => Some(raw.cmp(expected)),
                    _ => None,
                }
            }
            (Some(Variable::Json(text, _)), Value::Number(expected))
                if text.len() <= MAX_COMPARED =>
            {
                compare_number(text, expected)
            }
            (Some(Variable::Borrowed(value)), constant) => {
                let value: &Value = value;
                return self.compare(op, value, constant);
            }
            _ => None,
        };
        match order {
            Some(order) => Value::Boolean(order_holds(op, order)),
            None => {
                let value = self.variable(var);
                self.compare(op, &value, constant)
            }
        }
    }
}

fn compare_number(text: &str, expected: &crate::Number) -> Option<Ordering> {
    let first = *text.as_bytes().first()?;
    if !(first.is_ascii_digit() || first == b'-') {
        return None;
    }
    match Value::from_json(text) {
        Ok(Value::Number(number)) => Some(number.cmp(expected)),
        _ => None,
    }
}
