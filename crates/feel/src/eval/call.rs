//! Calls of builtins, function literals and functions of the host.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{Evaluator, quote};
use crate::builtins::Builtin;
use crate::compile::Node;
use crate::value::{Closure, Function, FunctionKind, SLOT};
use crate::{EmptyScope, EvalContext, Evaluation, Value, WarningCode, prices};

impl Evaluator<'_> {
    pub(super) fn call_builtin(&mut self, builtin: &'static Builtin, arguments: &[Node]) -> Value {
        let mut values: SmallVec<[Value; 4]> = SmallVec::new();
        for argument in arguments {
            values.push(self.eval(argument));
        }
        self.run_builtin(builtin, &values)
    }

    /// A builtin whose arguments are the items of a list.
    pub(super) fn call_together(&mut self, builtin: &'static Builtin, list: &Node) -> Value {
        match self.eval(list) {
            Value::List(arguments) => self.run_builtin(builtin, &arguments),
            single => self.run_builtin(builtin, &[single]),
        }
    }

    fn run_builtin(&mut self, builtin: &'static Builtin, arguments: &[Value]) -> Value {
        match builtin.run(self, arguments) {
            Ok(value) => self.scalar(value),
            Err(failure) => {
                self.charge(prices::FAILURE);
                let message = format!(
                    "Failed to invoke function '{}': {}",
                    builtin.name(),
                    failure.message
                );
                self.fail(
                    failure.code,
                    if failure.plain {
                        failure.message
                    } else {
                        message
                    },
                )
            }
        }
    }

    fn function(&mut self, callee: &Node, count: usize) -> Option<Arc<Function>> {
        // A missing variable in the place of a function is a missing function.
        let warnings = self.warnings.len();
        match self.eval(callee) {
            Value::Function(function) => Some(function),
            other => {
                let message = match callee {
                    Node::Var(var) => {
                        self.warnings.truncate(warnings);
                        let name = self.names.get(*var).map_or("", |name| name);
                        format!("No function found with name '{name}' and {count} parameters")
                    }
                    Node::VarPath(_, path) => {
                        let name = path.last().map_or("", |name| name);
                        format!("No function found with name '{name}' and {count} parameters")
                    }
                    _ => format!("Expected Function but found '{}'", quote(&other)),
                };
                self.warn(WarningCode::NoFunctionFound, message);
                None
            }
        }
    }

    pub(super) fn call(&mut self, callee: &Node, arguments: &[Node]) -> Value {
        let Some(function) = self.function(callee, arguments.len()) else {
            return Value::Null;
        };
        let values: Vec<Value> = arguments
            .iter()
            .map(|argument| self.eval(argument))
            .collect();
        self.invoke(&function, values)
    }

    pub(super) fn call_named(&mut self, callee: &Node, arguments: &[(Arc<str>, Node)]) -> Value {
        let Some(function) = self.function(callee, arguments.len()) else {
            return Value::Null;
        };
        let names = function.parameters();
        let known = arguments.iter().all(|(name, _)| names.contains(name));
        if !known || arguments.len() != names.len() {
            let message = format!(
                "Expected the parameters ({}) of the function",
                names.join(", ")
            );
            return self.fail(WarningCode::NoFunctionFound, message);
        }
        let mut values = vec![Value::Null; names.len()];
        for (name, node) in arguments {
            let value = self.eval(node);
            if let Some(place) = names
                .iter()
                .position(|known| known == name)
                .and_then(|at| values.get_mut(at))
            {
                *place = value;
            }
        }
        self.invoke(&function, values)
    }

    /// Calls a function with positional arguments.
    pub fn invoke(&mut self, function: &Function, arguments: Vec<Value>) -> Value {
        if let FunctionKind::Builtin(builtin) = function.kind() {
            if !builtin.accepts(arguments.len()) {
                let message = format!(
                    "No function found with name '{}' and {} parameters",
                    builtin.name(),
                    arguments.len()
                );
                return self.fail(WarningCode::NoFunctionFound, message);
            }
            return self.run_builtin(builtin, &arguments);
        }
        if arguments.len() != function.parameters().len() {
            let message = format!(
                "Expected {} arguments for {function} but found {}",
                function.parameters().len(),
                arguments.len()
            );
            return self.fail(WarningCode::NoFunctionFound, message);
        }
        if !self.charge(prices::CALL) {
            return Value::Null;
        }
        match function.kind() {
            FunctionKind::Closure(closure) => self.run_closure(closure, arguments),
            FunctionKind::Host(host) => {
                let Evaluation {
                    value,
                    warnings,
                    steps,
                } = host.call(&arguments, &self.remaining());
                for warning in warnings {
                    self.warn(warning.code, warning.message);
                }
                self.charge(usize::try_from(steps).unwrap_or(usize::MAX));
                self.foreign(value)
            }
            FunctionKind::Builtin(_) => Value::Null,
        }
    }

    fn run_closure(&mut self, closure: &Closure, arguments: Vec<Value>) -> Value {
        for (argument, kind) in arguments.iter().zip(closure.body.types.iter()) {
            if let Some(kind) = kind
                && !argument.is_null()
                && !self.is_instance(argument, kind, &closure.body.host_types)
            {
                let message = format!(
                    "The argument '{}' does not have the type of its parameter",
                    quote(argument)
                );
                return self.fail(WarningCode::InvalidType, message);
            }
        }
        let held = self.held();
        if !self.charge(closure.body.frame >> 2) || !self.hold(SLOT * closure.body.frame as u64) {
            return Value::Null;
        }
        let base = self.slots.len();
        self.slots.extend(arguments);
        self.slots.resize(base + closure.body.frame, Value::Null);
        for (slot, value) in closure.body.captures.iter().zip(&closure.captured) {
            if let Some(place) = self.slots.get_mut(base + slot) {
                *place = value.clone();
            }
        }
        let outer = std::mem::replace(&mut self.base, base);
        let value = self.eval(&closure.body.node);
        self.base = outer;
        self.slots.truncate(base);
        self.keep(held, &value);
        value
    }
}

impl Function {
    /// Calls the function with positional arguments.
    pub fn call(&self, arguments: Vec<Value>, cx: &EvalContext) -> Evaluation {
        let mut evaluator = Evaluator::new(&EmptyScope, cx, &[], 0);
        let value = evaluator.invoke(self, arguments);
        evaluator.finish(value)
    }
}
