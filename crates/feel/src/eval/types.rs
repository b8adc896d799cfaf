//! `instance of`.

use crate::Value;
use crate::syntax::HostTypes;
use crate::syntax::ast::Type;
use crate::value::FunctionKind;

pub(super) fn is_instance(value: &Value, kind: &Type, types: &HostTypes) -> bool {
    match (value, kind) {
        (Value::Null, Type::Null) => true,
        (Value::Null, _) => false,
        (_, Type::Any) => true,
        (value, Type::Other(name)) => types.get(name).is_some_and(|kind| kind.is_instance(value)),
        (Value::Boolean(_), Type::Boolean)
        | (Value::Number(_), Type::Number)
        | (Value::String(_), Type::String)
        | (Value::Date(_), Type::Date)
        | (Value::Time(_), Type::Time)
        | (Value::DateTime(_), Type::DateTime)
        | (Value::YearMonthDuration(_), Type::YearMonthDuration)
        | (Value::DayTimeDuration(_), Type::DayTimeDuration) => true,
        (Value::List(items), Type::List(inner)) => {
            // Null conforms to every type inside of a list.
            **inner == Type::Any
                || items
                    .iter()
                    .all(|item| item.is_null() || is_instance(item, inner, types))
        }
        (Value::Context(context), Type::Context(fields)) => fields.iter().all(|(key, kind)| {
            context
                .get(key)
                .is_some_and(|value| value.is_null() || is_instance(value, kind, types))
        }),
        (Value::Range(range), Type::Range(inner)) => {
            let end = |value: &Value| value.is_null() || is_instance(value, inner, types);
            end(range.start()) && end(range.end())
        }
        (Value::Function(function), Type::Function(parameters, result)) => {
            if parameters.is_empty() && **result == Type::Any {
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
        _ => false,
    }
}
