//! Business knowledge models, decision services and boxed function definitions as functions.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use skep_feel::{
    ContextBuilder, EmptyScope, EvalContext, Evaluation, Function, HostFunction, Scope, Value,
    Warning,
};

use super::{Fault, Frame, Run, read};
use crate::error::abbreviate;
use crate::model::{Definition, Graph};
use crate::options::Dialect;

/// Levels of nesting that one call takes, besides those of boxed expressions.
const CALL_DEPTH: u32 = 8;

/// A function of the graph, with its captured values.
pub(crate) struct Callable {
    graph: Arc<Graph>,
    target: Target,
    pub parameters: Vec<Arc<str>>,
    captured: Vec<(Arc<str>, Value)>,
}

enum Target {
    Knowledge(usize),
    Service(usize),
    Definition(Arc<Definition>),
}

impl Callable {
    /// In Camunda's dialect the body of the model also reads the variables in `scope`.
    pub fn knowledge(graph: &Arc<Graph>, at: usize, scope: &dyn Scope) -> Option<Callable> {
        let function = &graph.knowledge.get(at)?.function;
        let parameters = &function.parameters;
        Some(Callable {
            graph: Arc::clone(graph),
            target: Target::Knowledge(at),
            parameters: parameters
                .iter()
                .map(|(name, _)| Arc::clone(name))
                .collect(),
            captured: match graph.dialect {
                Dialect::Camunda => captured(function, scope),
                Dialect::Standard => Vec::new(),
            },
        })
    }

    pub fn service(graph: &Arc<Graph>, at: usize) -> Option<Callable> {
        let parameters = &graph.services.get(at)?.parameters;
        Some(Callable {
            graph: Arc::clone(graph),
            target: Target::Service(at),
            parameters: parameters.iter().map(|p| Arc::clone(&p.name)).collect(),
            captured: Vec::new(),
        })
    }

    /// A function literal in boxed form: the variables that it names are captured.
    pub fn definition(
        graph: &Arc<Graph>,
        definition: &Arc<Definition>,
        scope: &dyn Scope,
    ) -> Callable {
        Callable {
            graph: Arc::clone(graph),
            captured: captured(definition, scope),
            parameters: definition
                .parameters
                .iter()
                .map(|(name, _)| Arc::clone(name))
                .collect(),
            target: Target::Definition(Arc::clone(definition)),
        }
    }

    /// Calls the function with as many arguments as it has parameters. Beside the result stands the work it took.
    pub fn invoke(&self, arguments: Vec<Value>, cx: &EvalContext) -> (Result<Value, Fault>, u64) {
        let mut cx = cx.clone();
        let levels = self.graph.height.saturating_add(CALL_DEPTH);
        match cx.limits.max_depth.checked_sub(levels) {
            Some(depth) if depth > 0 => cx.limits.max_depth = depth,
            _ => return (Err(Fault::limit("functions are nested too deeply")), 0),
        }
        let run = Run::new(&self.graph, cx);
        let result = self.run(&run, arguments);
        (result, run.steps.get())
    }

    fn run(&self, run: &Run<'_>, arguments: Vec<Value>) -> Result<Value, Fault> {
        match &self.target {
            Target::Knowledge(at) => match self.graph.knowledge.get(*at) {
                Some(model) => {
                    let mut frame = Frame::inside(&EmptyScope);
                    frame.entries.extend(self.captured.iter().cloned());
                    run.functions(&model.requires, &mut frame);
                    for ((_, kind), argument) in model.declared.iter().zip(&arguments) {
                        if let Some(kind) = kind {
                            run.typed(argument, *kind)?;
                        }
                    }
                    let value = run.body(&model.function, arguments, frame)?;
                    run.coerced(value, model.output_type)
                }
                None => Ok(Value::Null),
            },
            Target::Service(at) => run.service(*at, arguments),
            Target::Definition(definition) => {
                let mut frame = Frame::inside(&EmptyScope);
                frame.entries.extend(self.captured.iter().cloned());
                run.body(definition, arguments, frame)
            }
        }
    }
}

/// The variables in scope that the body names.
fn captured(definition: &Definition, scope: &dyn Scope) -> Vec<(Arc<str>, Value)> {
    let free = definition.free.iter().filter_map(|name| {
        scope.get(name)?;
        Some((Arc::clone(name), read(scope, name)))
    });
    free.collect()
}

impl HostFunction for Callable {
    fn call(&self, arguments: &[Value], cx: &EvalContext) -> Evaluation {
        let (result, steps) = self.invoke(arguments.to_vec(), cx);
        match result {
            Ok(value) => Evaluation {
                value,
                warnings: Vec::new(),
                steps,
            },
            Err(fault) => Evaluation {
                value: Value::Null,
                warnings: vec![Warning {
                    code: fault.code,
                    message: fault.message,
                }],
                steps,
            },
        }
    }
}

impl Run<'_> {
    /// A value for FEEL that calls the function.
    pub fn function(&self, callable: Callable) -> Value {
        let callable = Arc::new(callable);
        let host: Arc<dyn HostFunction> = Arc::clone(&callable) as Arc<dyn HostFunction>;
        let function = Arc::new(Function::host(callable.parameters.clone(), host));
        self.callables
            .borrow_mut()
            .push((Arc::clone(&function), callable));
        Value::Function(function)
    }

    /// The function of the graph behind a value: its failures are known, not only that it yielded null.
    pub fn callable(&self, function: &Arc<Function>) -> Option<Arc<Callable>> {
        let callables = self.callables.borrow();
        let found = callables
            .iter()
            .find(|(known, _)| Arc::ptr_eq(known, function));
        found.map(|(_, callable)| Arc::clone(callable))
    }

    fn body(
        &self,
        definition: &Definition,
        arguments: Vec<Value>,
        mut frame: Frame<'_>,
    ) -> Result<Value, Fault> {
        for ((name, kind), argument) in definition.parameters.iter().zip(arguments) {
            let given = !argument.is_null();
            let value = self.coerced(argument, *kind)?;
            if given && value.is_null() {
                return Err(Fault::new(format!(
                    "the argument for the parameter '{}' does not have its declared type",
                    abbreviate(name)
                )));
            }
            frame.put(name, value);
        }
        self.boxed(&definition.body, &frame, None)
    }

    /// Evaluates a decision service: only its parameters are in scope.
    pub fn service(&self, at: usize, arguments: Vec<Value>) -> Result<Value, Fault> {
        let Some(service) = self.graph.services.get(at) else {
            return Ok(Value::Null);
        };
        let mut given = FxHashMap::default();
        let mut frame = Frame::inside(&EmptyScope);
        for (parameter, argument) in service.parameters.iter().zip(arguments) {
            let value = self.coerced(argument, parameter.kind)?;
            match parameter.decision {
                Some(decision) => {
                    given.insert(decision, value);
                }
                None => frame.put(&parameter.name, value),
            }
        }
        let values = self
            .decide(&service.outputs, given, &frame, None)
            .map_err(|(_, fault)| fault)?;
        let output = |at: &usize| values.get(at).cloned().unwrap_or_default();
        let value = match &service.outputs[..] {
            [single] => output(single),
            several => {
                let mut context = ContextBuilder::new();
                for at in several {
                    if let Some(decision) = self.graph.decisions.get(*at) {
                        context.put(Arc::clone(&decision.variable), output(at));
                    }
                }
                Value::Context(context.build())
            }
        };
        self.coerced(value, service.output_type)
    }
}
