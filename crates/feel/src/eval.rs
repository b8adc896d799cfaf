//! Walks the compiled form. Never fails: what cannot be done is null and leaves a warning.

mod arithmetic;
mod budget;
mod call;
mod compare;
mod filter;
mod iterate;
mod path;
mod tests;
mod types;
mod variables;

use std::rc::Rc;
use std::sync::Arc;

use skep_random::Random;
use smallvec::SmallVec;

use crate::builtins::Pattern;
use crate::compile::{ClosureNode, ItemKey, Node, RangeNode, Test};
use crate::syntax::HostTypes;
use crate::syntax::ast::{ArithmeticOp, CompareOp, Type};
use crate::value::{Context, Function, Range, Value};
use crate::{EvalContext, Evaluation, Scope, Warning, WarningCode, prices};
pub(crate) use arithmetic::add;
use budget::Budget;
use variables::Variable;

/// More warnings than this are not kept.
const MAX_WARNINGS: usize = 100;
/// Longest message, in bytes.
const MAX_MESSAGE: usize = 1000;
/// Longest value that a message quotes, in bytes.
const MAX_QUOTE: usize = 200;

pub(crate) struct Evaluator<'a> {
    scope: &'a dyn Scope,
    pub cx: &'a EvalContext,
    names: &'a [Arc<str>],
    variables: SmallVec<[Variable<'a>; 8]>,
    /// The frames of the expression and of the functions that run.
    slots: SmallVec<[Value; 8]>,
    base: usize,
    warnings: Vec<Warning>,
    budget: Budget,
    depth: u32,
    /// Whether the test that is evaluated has read its input.
    input_read: bool,
    pub random: Random,
    /// The patterns that were paid for.
    pub patterns: Vec<Rc<Pattern>>,
}

impl<'a> Evaluator<'a> {
    pub fn new(
        scope: &'a dyn Scope,
        cx: &'a EvalContext,
        names: &'a [Arc<str>],
        frame: usize,
    ) -> Evaluator<'a> {
        let mut variables = SmallVec::new();
        variables.resize_with(names.len(), Variable::default);
        let mut slots = SmallVec::new();
        slots.resize(frame, Value::Null);
        Evaluator {
            scope,
            cx,
            names,
            variables,
            slots,
            base: 0,
            warnings: Vec::new(),
            budget: Budget::new(cx, prices::start(names.len() + frame)),
            depth: 0,
            input_read: false,
            random: Random(cx.seed),
            patterns: Vec::new(),
        }
    }

    pub fn finish(self, value: Value) -> Evaluation {
        let value = if self.is_stopped() {
            Value::Null
        } else {
            value
        };
        Evaluation {
            // A small evaluation can yield a value that holds the same parts many times: its text is long.
            steps: self.budget.used().saturating_add(prices::write(&value)),
            value,
            warnings: self.warnings,
        }
    }

    pub fn warn(&mut self, code: WarningCode, message: impl Into<String>) {
        if self.keeps_warnings() {
            let mut message = message.into();
            if message.len() > MAX_MESSAGE {
                let cut = (0..=MAX_MESSAGE)
                    .rev()
                    .find(|at| message.is_char_boundary(*at))
                    .unwrap_or(0);
                message.truncate(cut);
                message.push('…');
            }
            self.warnings.push(Warning::new(code, message));
        }
    }

    /// Whether another warning would be kept: if not, its message need not be made.
    pub fn keeps_warnings(&self) -> bool {
        self.warnings.len() < MAX_WARNINGS && !self.is_stopped()
    }

    /// A warning, and null.
    pub fn fail(&mut self, code: WarningCode, message: impl Into<String>) -> Value {
        self.warn(code, message);
        Value::Null
    }

    pub fn set(&mut self, slot: usize, value: Value) {
        if let Some(place) = self.slots.get_mut(self.base + slot) {
            *place = value;
        }
    }

    fn slot(&self, slot: usize) -> &Value {
        self.slots.get(self.base + slot).unwrap_or(&Value::Null)
    }

    fn take(&mut self, slot: usize) -> Value {
        self.slots
            .get_mut(self.base + slot)
            .map(std::mem::take)
            .unwrap_or_default()
    }

    pub fn eval(&mut self, node: &Node) -> Value {
        match node {
            Node::Const(value) => value.clone(),
            Node::Slot(slot) => self.slot(*slot).clone(),
            Node::Input(slot) => {
                self.input_read = true;
                self.slot(*slot).clone()
            }
            Node::Var(var) => self.variable(*var),
            Node::CompareVar(op, var, constant) => self.compare_variable(*op, *var, constant),
            Node::And(terms) => self.and(terms),
            _ => {
                if !self.charge(prices::NODE) {
                    return Value::Null;
                }
                if self.depth >= self.cx.limits.max_depth {
                    return self.stop(format!(
                        "The evaluation is nested more than {} levels",
                        self.cx.limits.max_depth
                    ));
                }
                self.depth += 1;
                let value = self.eval_nested(node);
                self.depth -= 1;
                value
            }
        }
    }

    fn eval_nested(&mut self, node: &Node) -> Value {
        match node {
            Node::Const(_)
            | Node::Slot(_)
            | Node::Input(_)
            | Node::Var(_)
            | Node::CompareVar(..)
            | Node::And(_) => Value::Null,
            Node::VarPath(var, path) => self.variable_path(*var, path),
            Node::ItemKey(key) => self.item_key(key),
            Node::List(items) => self.list_literal(items),
            Node::Context(entries) => self.context_literal(entries),
            Node::Range(range) => self.range_literal(range),
            Node::Comparison(op, bound) => self.comparison_range(*op, bound),
            Node::Negate(operand) => self.negation(operand),
            Node::Arithmetic(first, rest) => self.arithmetic_chain(first, rest),
            Node::Compare(op, sides) => self.comparison(*op, sides),
            Node::Between(parts) => self.between_node(parts),
            Node::In(value, slot, tests) => self.membership(value, *slot, tests),
            Node::Or(terms) => self.or(terms),
            Node::If(branches, last) => self.condition(branches, last),
            Node::For(node) => self.iterate(node),
            Node::Quantified(node) => self.quantified(node),
            Node::InstanceOf(value, kind) => self.instance_of(value, kind),
            Node::Path(base, name) => self.path_node(base, name),
            Node::Filter(node) => self.filter(node),
            Node::Builtin(builtin, arguments) => self.call_builtin(builtin, arguments),
            Node::BuiltinTogether(builtin, list) => self.call_together(builtin, list),
            Node::Call(callee, arguments) => self.call(callee, arguments),
            Node::CallNamed(callee, arguments) => self.call_named(callee, arguments),
            Node::Closure(closure) => self.closure(closure),
            Node::Fail(warning) => self.fail(warning.code, warning.message.clone()),
        }
    }

    // One function per operation keeps the stack frames of the walk small.

    fn item_key(&mut self, key: &ItemKey) -> Value {
        if let Value::Context(context) = self.slot(key.item)
            && let Some(value) = context.get(&key.key)
        {
            return value.clone();
        }
        self.eval(&key.outer)
    }

    fn range_literal(&mut self, range: &RangeNode) -> Value {
        let start = self.eval(&range.start);
        let end = self.eval(&range.end);
        self.range(start, range.start_included, end, range.end_included)
    }

    fn negation(&mut self, operand: &Node) -> Value {
        let value = self.eval(operand);
        self.negate(&value)
    }

    fn arithmetic_chain(&mut self, first: &Node, rest: &[(ArithmeticOp, Node)]) -> Value {
        self.charge(prices::NODE * rest.len());
        let mut value = self.eval(first);
        for (op, operand) in rest {
            let right = self.eval(operand);
            value = self.arithmetic(*op, value, right);
        }
        value
    }

    fn comparison(&mut self, op: CompareOp, sides: &(Node, Node)) -> Value {
        let left = self.eval(&sides.0);
        let right = self.eval(&sides.1);
        self.compare(op, &left, &right)
    }

    fn between_node(&mut self, parts: &[Node; 3]) -> Value {
        let [value, low, high] = parts;
        let (value, low, high) = (self.eval(value), self.eval(low), self.eval(high));
        self.between(&value, &low, &high)
    }

    fn membership(&mut self, value: &Node, slot: Option<usize>, tests: &[Test]) -> Value {
        let value = self.eval(value);
        if let Some(slot) = slot {
            self.set(slot, value.clone());
        }
        Value::from(self.any_test(&value, tests))
    }

    fn condition(&mut self, branches: &[(Node, Node)], last: &Node) -> Value {
        for (condition, then) in branches {
            match self.eval(condition) {
                Value::Boolean(true) => return self.eval(then),
                Value::Boolean(false) | Value::Null => {}
                other => self.expected("Boolean", &other),
            }
        }
        self.eval(last)
    }

    pub(super) fn expected(&mut self, kind: &str, found: &Value) {
        let message = format!("Expected {kind} but found '{}'", quote(found));
        self.warn(WarningCode::InvalidType, message);
    }

    fn instance_of(&mut self, value: &Node, kind: &(Type, HostTypes)) -> Value {
        let value = self.eval(value);
        Value::Boolean(self.is_instance(&value, &kind.0, &kind.1))
    }

    fn path_node(&mut self, base: &Node, name: &Arc<str>) -> Value {
        let base = self.eval(base);
        self.path(&base, name)
    }

    fn closure(&mut self, closure: &ClosureNode) -> Value {
        let captured: Vec<Value> = closure
            .captured
            .iter()
            .map(|node| self.eval(node))
            .collect();
        let function = Function::closure(
            closure.parameters.clone(),
            Arc::clone(&closure.body),
            captured,
        );
        self.function_of(function, closure.captured.len())
    }

    fn and(&mut self, terms: &[Node]) -> Value {
        self.charge(terms.len());
        let mut result = Value::Boolean(true);
        for term in terms {
            match self.eval(term) {
                Value::Boolean(true) => {}
                Value::Boolean(false) => return Value::Boolean(false),
                _ => result = Value::Null,
            }
        }
        result
    }

    fn or(&mut self, terms: &[Node]) -> Value {
        self.charge(terms.len());
        let mut result = Value::Boolean(false);
        for term in terms {
            match self.eval(term) {
                Value::Boolean(false) => {}
                Value::Boolean(true) => return Value::Boolean(true),
                _ => result = Value::Null,
            }
        }
        result
    }

    fn list_literal(&mut self, items: &[Node]) -> Value {
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            values.push(self.eval(item));
        }
        self.list(values)
    }

    fn context_literal(&mut self, entries: &[(Arc<str>, usize, Node)]) -> Value {
        let mut values = Vec::with_capacity(entries.len());
        for (key, slot, node) in entries {
            let value = self.eval(node);
            self.set(*slot, value.clone());
            values.push((Arc::clone(key), value));
        }
        self.context_of(Context::new(values))
    }

    /// A range, when both ends are of one ordered type.
    pub fn range(
        &mut self,
        start: Value,
        start_included: bool,
        end: Value,
        end_included: bool,
    ) -> Value {
        self.charge(prices::comparison(&start, &end));
        let comparable = match (&start, &end) {
            (Value::Null, _) | (_, Value::Null) => false,
            _ => start.compare(&end).is_some(),
        };
        if !comparable {
            let message = format!(
                "Can't make a range from '{}' to '{}'",
                quote(&start),
                quote(&end)
            );
            return self.fail(WarningCode::InvalidType, message);
        }
        let range = Range::new(start, start_included, end, end_included);
        self.scalar(Value::Range(Arc::new(range)))
    }

    fn comparison_range(&mut self, op: CompareOp, bound: &Node) -> Value {
        let bound = self.eval(bound);
        if bound.compare(&bound).is_none() && !matches!(op, CompareOp::Equal | CompareOp::NotEqual)
        {
            let message = format!("Can't make a range with the bound '{}'", quote(&bound));
            return self.fail(WarningCode::InvalidType, message);
        }
        let range = match op {
            CompareOp::Less => Range::new(Value::Null, false, bound, false),
            CompareOp::LessEqual => Range::new(Value::Null, false, bound, true),
            CompareOp::Greater => Range::new(bound, false, Value::Null, false),
            CompareOp::GreaterEqual => Range::new(bound, true, Value::Null, false),
            CompareOp::Equal => Range::new(bound.clone(), true, bound, true),
            CompareOp::NotEqual => {
                return self.fail(
                    WarningCode::InvalidType,
                    "Can't make a range of all values but one",
                );
            }
        };
        self.scalar(Value::Range(Arc::new(range)))
    }
}

/// A value as messages show it: short.
pub(crate) fn quote(value: &Value) -> String {
    use std::fmt::Write;
    let mut out = Short(String::new());
    // Stops at the limit, so that large values cost nothing.
    if write!(out, "{value}").is_err() {
        out.0.push('…');
    }
    out.0
}

struct Short(String);

impl std::fmt::Write for Short {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        if self.0.len() + text.len() > MAX_QUOTE {
            let room = text
                .char_indices()
                .map(|(at, _)| at)
                .take_while(|at| self.0.len() + at <= MAX_QUOTE)
                .last();
            self.0
                .push_str(text.get(..room.unwrap_or(0)).unwrap_or_default());
            return Err(std::fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}
