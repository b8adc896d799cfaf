//! Evaluation of decisions, in the order in which they require each other.

mod boxed;
mod call;
mod table;

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use skep_feel::{
    Binding, EmptyScope, EvalContext, Evaluation, Function, Scope, UnaryTests, Value, WarningCode,
};

use crate::error::abbreviate;
use crate::model::{Decision, Drg, Graph, Requirements, Text};
use crate::options::Dialect;
use crate::result::{
    DecisionResult, EvaluatedDecision, EvaluatedInput, EvaluationFailure, MatchedRule,
};
use call::Callable;

impl Drg {
    /// Evaluates a decision, after those that it requires.
    ///
    /// # Errors
    /// When there is no such decision, an expression fails hard (`assert`, a limit), or the rules that match are not
    /// allowed by the hit policy. What FEEL cannot compute is null, not an error.
    pub fn evaluate(
        &self,
        decision_id: &str,
        scope: &dyn Scope,
        cx: &EvalContext,
    ) -> Result<DecisionResult, EvaluationFailure> {
        let Some(root) = self.0.by_id.get(decision_id).copied() else {
            return Err(EvaluationFailure {
                decision_id: Arc::from(decision_id),
                decision_name: Arc::from(""),
                message: format!(
                    "Expected to evaluate decision '{}', but no such decision is found in '{}'",
                    abbreviate(decision_id),
                    abbreviate(self.id())
                ),
                evaluated: Vec::new(),
                steps: 0,
            });
        };
        let run = Run::new(&self.0, cx.clone());
        let mut audit = Vec::new();
        match run.decide(&[root], FxHashMap::default(), scope, Some(&mut audit)) {
            Ok(mut values) => Ok(DecisionResult {
                output: values.remove(&root).unwrap_or_default(),
                evaluated: audit,
                steps: run.steps.get(),
            }),
            Err((failed, fault)) => {
                let decision = self.0.decisions.get(failed);
                let id = decision.map_or_else(|| Arc::from(decision_id), |d| Arc::clone(&d.id));
                Err(EvaluationFailure {
                    message: format!(
                        "Expected to evaluate decision '{}', but {}",
                        abbreviate(&id),
                        fault.message
                    ),
                    decision_id: id,
                    decision_name: decision.map_or_else(|| Arc::from(""), |d| Arc::clone(&d.name)),
                    evaluated: audit,
                    steps: run.steps.get(),
                })
            }
        }
    }

    /// Evaluates the decision service of this name: the output of its decision, or a context when there are several.
    ///
    /// # Errors
    /// As [`Drg::evaluate`].
    pub fn evaluate_service(
        &self,
        name: &str,
        scope: &dyn Scope,
        cx: &EvalContext,
    ) -> Result<Value, EvaluationFailure> {
        let failure = |message: String| EvaluationFailure {
            decision_id: Arc::from(name),
            decision_name: Arc::from(name),
            message: format!(
                "Expected to evaluate decision service '{}', but {message}",
                abbreviate(name)
            ),
            evaluated: Vec::new(),
            steps: 0,
        };
        let services = &self.0.services;
        let Some(at) = services.iter().position(|service| &*service.name == name) else {
            return Err(failure("no such service is found".to_owned()));
        };
        let run = Run::new(&self.0, cx.clone());
        let arguments = services
            .get(at)
            .into_iter()
            .flat_map(|service| &service.parameters)
            .map(|parameter| read(scope, &parameter.name))
            .collect();
        run.service(at, arguments)
            .map_err(|fault| failure(fault.message))
    }
}

/// Why a decision failed.
pub(crate) struct Fault {
    /// The code that a caller written in FEEL sees.
    pub code: WarningCode,
    /// Completes `Expected to evaluate decision 'x', but …`.
    pub message: String,
}

impl Fault {
    pub fn new(message: impl Into<String>) -> Fault {
        Fault {
            code: WarningCode::FunctionInvocationFailure,
            message: message.into(),
        }
    }

    pub fn limit(message: impl Into<String>) -> Fault {
        Fault {
            code: WarningCode::LimitExceeded,
            message: message.into(),
        }
    }
}

/// Inputs and matched rules of an evaluated decision table.
#[derive(Default)]
pub(crate) struct TableAudit {
    pub inputs: Vec<EvaluatedInput>,
    pub matched_rules: Vec<MatchedRule>,
}

/// One evaluation, or one call of a function in it.
pub(crate) struct Run<'a> {
    pub graph: &'a Arc<Graph>,
    pub cx: EvalContext,
    /// The functions of this graph that are in scope.
    callables: RefCell<Vec<(Arc<Function>, Arc<Callable>)>>,
    /// The work that is done.
    steps: Cell<u64>,
}

impl<'a> Run<'a> {
    pub fn new(graph: &'a Arc<Graph>, cx: EvalContext) -> Run<'a> {
        Run {
            graph,
            cx,
            callables: RefCell::default(),
            steps: Cell::new(0),
        }
    }

    /// Evaluates these decisions and all that they require, except for those whose values are given.
    ///
    /// # Errors
    /// The position of the decision that failed, and why.
    fn decide(
        &self,
        roots: &[usize],
        mut values: FxHashMap<usize, Value>,
        scope: &dyn Scope,
        mut audit: Option<&mut Vec<EvaluatedDecision>>,
    ) -> Result<FxHashMap<usize, Value>, (usize, Fault)> {
        let required = |at: usize| {
            let decision = self.graph.decisions.get(at);
            decision.map_or(&[][..], |decision| &decision.requires.decisions)
        };
        for root in roots {
            // The way from the root, with the number of requirements that are done.
            let mut way = vec![(*root, 0usize)];
            while let Some((at, done)) = way.last_mut() {
                let at = *at;
                if values.contains_key(&at) {
                    way.pop();
                    continue;
                }
                if let Some(next) = required(at).get(*done) {
                    *done += 1;
                    way.push((*next, 0));
                    continue;
                }
                let Some(decision) = self.graph.decisions.get(at) else {
                    return Err((at, Fault::new("the decision is missing")));
                };
                let value = self
                    .decision(decision, &values, scope, audit.as_deref_mut())
                    .map_err(|fault| (at, fault))?;
                values.insert(at, value);
                way.pop();
            }
        }
        Ok(values)
    }

    fn decision(
        &self,
        decision: &Decision,
        values: &FxHashMap<usize, Value>,
        scope: &dyn Scope,
        audit: Option<&mut Vec<EvaluatedDecision>>,
    ) -> Result<Value, Fault> {
        let mut frame = Frame::inside(scope);
        for input in &decision.requires.inputs {
            if let Some(kind) = input.kind {
                let value = read(scope, &input.name);
                let value = self.coerced(value, Some(kind))?;
                frame.put(&input.name, value);
            }
        }
        for at in &decision.requires.decisions {
            if let (Some(required), Some(value)) = (self.graph.decisions.get(*at), values.get(at)) {
                if required.id != required.variable {
                    frame.put(&required.id, value.clone());
                }
                frame.put(&required.variable, value.clone());
            }
        }
        self.functions(&decision.requires, &mut frame);
        let mut table = TableAudit::default();
        let result = match &decision.logic {
            Some(boxed) => self.boxed(boxed, &frame, audit.is_some().then_some(&mut table)),
            None => Ok(Value::Null),
        };
        let result = result.and_then(|value| self.result(value, decision.output_type));
        if let Some(audit) = audit {
            audit.push(EvaluatedDecision {
                id: Arc::clone(&decision.id),
                name: Arc::clone(&decision.name),
                decision_type: decision.decision_type(),
                output: result.as_ref().map(Value::clone).unwrap_or_default(),
                inputs: table.inputs,
                matched_rules: table.matched_rules,
            });
        }
        result
    }

    /// Puts the required business knowledge models and decision services into a frame.
    fn functions(&self, requires: &Requirements, frame: &mut Frame<'_>) {
        let knowledge = requires.knowledge.iter().filter_map(|at| {
            let model = self.graph.knowledge.get(*at)?;
            let callable = Callable::knowledge(self.graph, *at, frame)?;
            Some((&model.name, callable))
        });
        let services = requires.services.iter().filter_map(|at| {
            let service = self.graph.services.get(*at)?;
            Some((&service.name, Callable::service(self.graph, *at)?))
        });
        let callables: Vec<_> = knowledge.chain(services).collect();
        for (name, callable) in callables {
            let value = self.function(callable);
            frame.put(name, value);
        }
    }

    /// The result of a decision in its declared type.
    fn result(&self, value: Value, kind: Option<usize>) -> Result<Value, Fault> {
        match kind {
            Some(kind) if self.graph.dialect == Dialect::Camunda => {
                self.typed(&value, kind).map(|()| value)
            }
            kind => self.coerced(value, kind),
        }
    }

    /// A failure, unless the value has the type.
    pub(crate) fn typed(&self, value: &Value, kind: usize) -> Result<(), Fault> {
        self.charge(value.memory() >> 5)?;
        if self.graph.types.is_instance(value, kind) {
            return Ok(());
        }
        Err(Fault::new(format!(
            "expected a value of the type '{}' but found '{}'",
            self.graph.types.name(kind),
            abbreviate(&value.to_json())
        )))
    }

    /// The value, changed to its declared type where that is allowed; null when it does not fit.
    fn coerced(&self, value: Value, kind: Option<usize>) -> Result<Value, Fault> {
        let Some(kind) = kind else {
            return Ok(value);
        };
        // Checking goes through all values inside.
        self.charge(value.memory() >> 5)?;
        let allows = |tests: &UnaryTests, value: &Value| {
            let evaluation = tests.evaluate(value, &EmptyScope, &self.left());
            self.spend(evaluation.steps);
            if evaluation
                .warnings
                .iter()
                .any(|w| w.code == WarningCode::LimitExceeded)
            {
                // Beyond the limit, so that this is no missing value but a failure.
                self.spend(self.cx.limits.max_steps);
            }
            evaluation.value.as_bool() == Some(true)
        };
        let value = self.graph.types.coerce(value, kind, &allows);
        self.charge(0)?;
        Ok(value)
    }

    /// The value of an expression.
    pub fn text(&self, text: &Text, scope: &dyn Scope) -> Result<Value, Fault> {
        match text {
            Text::Empty => Ok(Value::Null),
            Text::Feel(expression) => match expression.constant() {
                Some(value) => Ok(value.clone()),
                None => self.checked(expression.text(), expression.evaluate(scope, &self.left())),
            },
            Text::Broken { text, message } => Err(Fault::new(format!(
                "failed to parse expression '{}': {message}",
                abbreviate(text)
            ))),
        }
    }

    /// The context for a part of the evaluation: with the steps that are left.
    pub fn left(&self) -> EvalContext {
        let mut cx = self.cx.clone();
        cx.limits.max_steps = cx.limits.max_steps.saturating_sub(self.steps.get());
        cx
    }

    /// Counts work that is done.
    pub fn spend(&self, steps: u64) {
        self.steps.set(self.steps.get().saturating_add(steps));
    }

    /// Charges for work, and fails when the limit is exceeded.
    pub fn charge(&self, steps: u64) -> Result<(), Fault> {
        self.spend(steps);
        if self.steps.get() > self.cx.limits.max_steps {
            return Err(Fault::limit(format!(
                "the evaluation needs more than {} steps",
                self.cx.limits.max_steps
            )));
        }
        Ok(())
    }

    /// The value, unless the evaluation was given up. Its work counts.
    pub fn checked(&self, text: &str, evaluation: Evaluation) -> Result<Value, Fault> {
        self.spend(evaluation.steps);
        checked(text, evaluation)
    }
}

const FAILED: &str = "failed to evaluate expression";

/// The value, unless the evaluation was given up.
fn checked(text: &str, evaluation: Evaluation) -> Result<Value, Fault> {
    let fatal = evaluation.warnings.into_iter().find(|warning| {
        matches!(
            warning.code,
            WarningCode::AssertFailure | WarningCode::LimitExceeded
        )
    });
    match fatal {
        None => Ok(evaluation.value),
        // The innermost expression is the one that failed, however deep the calls of functions went.
        Some(warning) if warning.message.starts_with(FAILED) => Err(Fault {
            code: warning.code,
            message: warning.message,
        }),
        Some(warning) => Err(Fault {
            code: warning.code,
            message: format!("{FAILED} '{}': {}", abbreviate(text), warning.message),
        }),
    }
}

/// Names with their values, in front of another scope.
pub(crate) struct Frame<'a> {
    outer: &'a dyn Scope,
    entries: Vec<(Arc<str>, Value)>,
}

impl<'a> Frame<'a> {
    pub fn inside(outer: &'a dyn Scope) -> Frame<'a> {
        Frame {
            outer,
            entries: Vec::new(),
        }
    }

    pub fn put(&mut self, name: &Arc<str>, value: Value) {
        self.entries.push((Arc::clone(name), value));
    }

    pub fn clear(&mut self) {
        self.entries.clear();
    }
}

impl Scope for Frame<'_> {
    fn get(&self, name: &str) -> Option<Binding<'_>> {
        let own = self.entries.iter().rev().find(|(key, _)| &**key == name);
        match own {
            Some((_, value)) => Some(Binding::Value(value)),
            None => self.outer.get(name),
        }
    }
}

/// The value of a variable; null when it is missing.
pub(crate) fn read(scope: &dyn Scope, name: &str) -> Value {
    match scope.get(name) {
        Some(Binding::Value(value)) => value.clone(),
        Some(Binding::Json(text)) => Value::from_json(text).unwrap_or_default(),
        None => Value::Null,
    }
}
