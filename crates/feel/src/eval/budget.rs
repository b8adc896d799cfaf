//! The budget of an evaluation, and its use so far.
//!
//! Work is counted in steps before it is done, see [`prices`](crate::prices). Memory is counted where values are made, each
//! by its own size; a loop and a call give back the values that they made and do not hand on ([`Evaluator::keep`]), so that
//! the count is the most that the evaluation holds.

use super::Evaluator;
use crate::value::{Context, ContextBuilder, KEY, List, SLOT};
use crate::{EvalContext, Value, WarningCode, prices};

/// Steps and bytes.
pub(super) struct Budget {
    steps: u64,
    max_steps: u64,
    /// Bytes of the values that were made and are still held.
    memory: u64,
    /// Bytes of the variables that were read from JSON; they stay until the end.
    variables: u64,
    /// The steps at the end of an evaluation that was given up.
    stopped_at: Option<u64>,
}

impl Budget {
    pub fn new(cx: &EvalContext, steps: u64) -> Budget {
        Budget {
            steps,
            // One less than all, so that a stopped evaluation is beyond it.
            max_steps: cx.limits.max_steps.min(u64::MAX - 1),
            memory: 0,
            variables: 0,
            stopped_at: None,
        }
    }

    pub fn used(&self) -> u64 {
        self.stopped_at.unwrap_or(self.steps)
    }
}

impl Evaluator<'_> {
    /// Ends the evaluation at a limit.
    #[cold]
    pub fn stop(&mut self, message: impl Into<String>) -> Value {
        self.give_up(WarningCode::LimitExceeded, message)
    }

    /// Ends the evaluation: nothing that stands around can make a value of its failure.
    #[cold]
    pub fn give_up(&mut self, code: WarningCode, message: impl Into<String>) -> Value {
        if self.budget.stopped_at.is_none() {
            self.warnings.truncate(super::MAX_WARNINGS - 1);
            self.warn(code, message);
            // Work that could not be paid for was not done.
            let steps = self.budget.steps.min(self.budget.max_steps);
            self.budget.stopped_at = Some(steps);
            // All further charges are refused.
            self.budget.steps = u64::MAX;
        }
        Value::Null
    }

    pub fn is_stopped(&self) -> bool {
        self.budget.stopped_at.is_some()
    }

    /// Counts work. False when the evaluation has to end.
    #[inline]
    pub fn charge(&mut self, steps: usize) -> bool {
        self.budget.steps = self.budget.steps.saturating_add(steps as u64);
        if self.budget.steps > self.budget.max_steps {
            self.exhausted();
            return false;
        }
        true
    }

    #[cold]
    fn exhausted(&mut self) {
        let max = self.cx.limits.max_steps;
        self.stop(format!("The evaluation needs more than {max} steps"));
    }

    /// Counts bytes that are held from now on. False when the evaluation has to end.
    #[inline]
    pub fn hold(&mut self, bytes: u64) -> bool {
        self.budget.memory = self.budget.memory.saturating_add(bytes);
        if self.budget.memory.saturating_add(self.budget.variables) > self.cx.limits.max_memory {
            self.overfull();
        }
        !self.is_stopped()
    }

    /// Ends the evaluation for want of memory.
    #[cold]
    pub fn overfull(&mut self) -> Value {
        let max = self.cx.limits.max_memory;
        self.stop(format!(
            "The evaluation needs more than {max} bytes of memory"
        ))
    }

    /// Counts the bytes of a variable, which is held until the end.
    pub(super) fn hold_variable(&mut self, bytes: u64) -> bool {
        self.budget.variables = self.budget.variables.saturating_add(bytes);
        self.hold(0)
    }

    /// Bytes that may still be held.
    pub fn room(&self) -> u64 {
        let held = self.budget.memory.saturating_add(self.budget.variables);
        self.cx.limits.max_memory.saturating_sub(held)
    }

    /// Memory held now, for [`Evaluator::keep`].
    pub fn held(&self) -> u64 {
        self.budget.memory
    }

    /// Of all values made since `held`, only this one still exists.
    pub fn keep(&mut self, held: u64, value: &Value) {
        let left = held.saturating_add(value.heap());
        self.budget.memory = self.budget.memory.min(left);
    }

    /// The context for a function of the host: with the limits that are left.
    pub(super) fn remaining(&self) -> EvalContext {
        let mut cx = self.cx.clone();
        cx.limits.max_steps = self.budget.max_steps.saturating_sub(self.budget.steps);
        cx.limits.max_memory = self.room();
        cx.limits.max_depth = cx.limits.max_depth.saturating_sub(self.depth);
        cx
    }

    /// Passes a value that was just built of parts that count already; `bytes` are its own.
    fn built(&mut self, value: Value, bytes: u64) -> Value {
        if !self.hold(bytes) {
            return Value::Null;
        }
        self.bounded(value)
    }

    /// Passes a value, unless it is nested too deeply or would be too large without the parts that it shares: then
    /// looking at all of it, or writing it down, has no end.
    pub fn bounded(&mut self, value: Value) -> Value {
        if value.heap() > self.cx.limits.max_memory {
            return self.overfull();
        }
        let max = self.cx.limits.max_depth;
        if value.depth() > max {
            return self.stop(format!("A result is nested more than {max} levels"));
        }
        value
    }

    /// A value from elsewhere, with all that it holds.
    pub fn foreign(&mut self, value: Value) -> Value {
        let bytes = value.heap();
        self.built(value, bytes)
    }

    pub fn list(&mut self, items: Vec<Value>) -> Value {
        self.charge(prices::ITEM * items.len());
        self.hold(SLOT.saturating_mul(items.len() as u64));
        self.counted_list(items)
    }

    /// A list whose items were counted one by one, with their places.
    pub fn counted_list(&mut self, items: Vec<Value>) -> Value {
        self.built(Value::List(List::new(items)), List::EMPTY)
    }

    /// Counts the memory of a number or a temporal value beyond its slot; others are counted where they are made.
    #[inline]
    pub fn scalar(&mut self, value: Value) -> Value {
        match &value {
            Value::Number(number) if number.is_wide() => self.hold(value.heap()),
            Value::Time(_) | Value::DateTime(_) | Value::Range(_) => self.hold(value.heap()),
            _ => return value,
        };
        value
    }

    pub fn text(&mut self, text: String) -> Value {
        self.charge(prices::text(text.len()));
        let value = Value::from(text);
        let bytes = value.heap();
        self.built(value, bytes)
    }

    pub fn context(&mut self, builder: ContextBuilder) -> Value {
        self.context_of(builder.build())
    }

    /// A context whose values count already.
    pub fn context_of(&mut self, context: Context) -> Value {
        self.charge(prices::entries(context.len()));
        let bytes = Context::EMPTY + (SLOT + KEY) * context.len() as u64;
        self.built(Value::Context(context), bytes)
    }

    /// A function that captures values.
    pub(super) fn function_of(&mut self, function: crate::Function, captured: usize) -> Value {
        let bytes = crate::Function::EMPTY + SLOT * captured as u64;
        self.built(Value::Function(std::sync::Arc::new(function)), bytes)
    }
}
