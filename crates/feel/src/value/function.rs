//! Functions as values.

use std::fmt;
use std::sync::Arc;

use super::{SHARED, Value};
use crate::builtins::Builtin;
use crate::compile::Body;
use crate::{EvalContext, Evaluation};

/// A function of the program around the language, for example a business knowledge model.
pub trait HostFunction: Send + Sync {
    /// Called with as many arguments as the function has parameters.
    fn call(&self, arguments: &[Value], cx: &EvalContext) -> Evaluation;
}

impl<F: Fn(&[Value], &EvalContext) -> Evaluation + Send + Sync> HostFunction for F {
    fn call(&self, arguments: &[Value], cx: &EvalContext) -> Evaluation {
        self(arguments, cx)
    }
}

/// A function as a value.
pub struct Function {
    parameters: Vec<Arc<str>>,
    kind: FunctionKind,
}

pub(crate) enum FunctionKind {
    Closure(Closure),
    Builtin(&'static Builtin),
    Host(Arc<dyn HostFunction>),
}

/// A function literal with the values it uses from outside.
pub(crate) struct Closure {
    pub body: Arc<Body>,
    pub captured: Vec<Value>,
    pub heap: u64,
    pub depth: u32,
}

impl Function {
    /// Bytes of one that captures nothing.
    pub(crate) const EMPTY: u64 = SHARED + size_of::<Function>() as u64;

    /// A function that the host evaluates.
    pub fn host(parameters: Vec<Arc<str>>, function: Arc<dyn HostFunction>) -> Function {
        Function {
            parameters,
            kind: FunctionKind::Host(function),
        }
    }

    pub(crate) fn closure(
        parameters: Vec<Arc<str>>,
        body: Arc<Body>,
        captured: Vec<Value>,
    ) -> Function {
        let heap = captured.iter().fold(Function::EMPTY, |sum, value| {
            sum.saturating_add(value.memory())
        });
        let depth = 1 + captured.iter().map(Value::depth).max().unwrap_or(0);
        Function {
            parameters,
            kind: FunctionKind::Closure(Closure {
                body,
                captured,
                heap,
                depth,
            }),
        }
    }

    pub(crate) fn builtin(builtin: &'static Builtin) -> Function {
        let parameters = builtin
            .signatures()
            .first()
            .map_or(&[][..], |s| s.parameters);
        Function {
            parameters: parameters.iter().map(|p| Arc::from(*p)).collect(),
            kind: FunctionKind::Builtin(builtin),
        }
    }

    /// The names of the parameters, in order.
    pub fn parameters(&self) -> &[Arc<str>] {
        &self.parameters
    }

    pub(crate) fn kind(&self) -> &FunctionKind {
        &self.kind
    }

    pub(crate) fn heap(&self) -> u64 {
        match &self.kind {
            FunctionKind::Closure(closure) => closure.heap,
            _ => Function::EMPTY,
        }
    }

    pub(crate) fn depth(&self) -> u32 {
        match &self.kind {
            FunctionKind::Closure(closure) => closure.depth,
            _ => 1,
        }
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "function({})", self.parameters.join(", "))
    }
}
