//! `instance of`.

use super::Evaluator;
use crate::syntax::HostTypes;
use crate::syntax::ast::Type;
use crate::value::FunctionKind;
use crate::{Value, prices};

impl Evaluator<'_> {
    /// Whether a value is of a type. Each value that is looked at is work.
    pub(super) fn is_instance(&mut self, value: &Value, kind: &Type, types: &HostTypes) -> bool {
        if !self.charge(prices::ITEM) {
            return false;
        }
        match (value, kind) {
            (Value::Null, Type::Null) => true,
            (Value::Null, _) => false,
            (_, Type::Any) => true,
            (value, Type::Other(name)) => {
                // How far the host looks is not known: as far as there are values.
                self.charge(prices::walk(value))
                    && types.get(name).is_some_and(|kind| kind.is_instance(value))
            }
            (Value::Boolean(_), Type::Boolean)
            | (Value::Number(_), Type::Number)
            | (Value::String(_), Type::String)
            | (Value::Date(_), Type::Date)
            | (Value::Time(_), Type::Time)
            | (Value::DateTime(_), Type::DateTime)
            | (Value::YearMonthDuration(_), Type::YearMonthDuration)
            | (Value::DayTimeDuration(_), Type::DayTimeDuration) => true,
            (Value::List(items), Type::List(inner)) => {
                **inner == Type::Any
                    || items
                        .iter()
                        .all(|item| self.is_instance_or_null(item, inner, types))
            }
            (Value::Context(context), Type::Context(fields)) => fields.iter().all(|(key, kind)| {
                context
                    .get(key)
                    .is_some_and(|value| self.is_instance_or_null(value, kind, types))
            }),
            (Value::Range(range), Type::Range(inner)) => {
                self.is_instance_or_null(range.start(), inner, types)
                    && self.is_instance_or_null(range.end(), inner, types)
            }
            (Value::Function(function), Type::Function(parameters, result)) => {
                self.charge(parameters.len()) && is_function_instance(function, parameters, result)
            }
            _ => false,
        }
    }

    /// Null conforms to every type inside of a list, context or range.
    fn is_instance_or_null(&mut self, value: &Value, kind: &Type, types: &HostTypes) -> bool {
        match value {
            Value::Null => self.charge(prices::ITEM),
            value => self.is_instance(value, kind, types),
        }
    }
}

fn is_function_instance(function: &crate::Function, parameters: &[Type], result: &Type) -> bool {
    if parameters.is_empty() && *result == Type::Any {
        return true;
    }
    let declared = match function.kind() {
        FunctionKind::Closure(closure) => &closure.body.types[..],
        _ => &[],
    };
    function.parameters().len() == parameters.len()
        && parameters.iter().enumerate().all(|(at, expected)| {
            *expected == Type::Any
                || match declared.get(at) {
                    Some(Some(kind)) => kind == expected,
                    _ => true,
                }
        })
}
