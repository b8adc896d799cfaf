//! Boxed expressions.

use std::sync::{Arc, OnceLock};

use skep_feel::{Binding, ContextBuilder, EmptyScope, Expression, Limits, Scope, Value};

use super::call::Callable;
use super::{Fault, Frame, Run, TableAudit};
use crate::error::abbreviate;
use crate::model::{Boxed, Entry, Invocation, Iteration, Logic, Relation};
use crate::options::Dialect;

impl Run<'_> {
    /// The value of a boxed expression. A decision table at its top leaves an audit.
    pub fn boxed(
        &self,
        boxed: &Boxed,
        scope: &dyn Scope,
        audit: Option<&mut TableAudit>,
    ) -> Result<Value, Fault> {
        let value = match &boxed.logic {
            Logic::Literal(text) => self.text(text, scope)?,
            Logic::Table(table) => self.table(table, scope, audit)?,
            Logic::Invocation(invocation) => self.invocation(invocation, scope)?,
            Logic::Context(entries) => self.context(entries, scope)?,
            Logic::List(items) => {
                let mut values = Gathered::new(self);
                for item in items {
                    values.push(self.boxed(item, scope, None)?)?;
                }
                values.list()
            }
            Logic::Relation(relation) => self.relation(relation, scope)?,
            Logic::Function(definition) => {
                self.function(Callable::definition(self.graph, definition, scope))
            }
            Logic::Conditional(parts) => {
                let [test, then, otherwise] = &**parts;
                match self.boxed(test, scope, None)? {
                    Value::Boolean(true) => self.boxed(then, scope, None)?,
                    Value::Boolean(false) | Value::Null => self.boxed(otherwise, scope, None)?,
                    // Neither holds nor does not.
                    _ => Value::Null,
                }
            }
            Logic::Filter(parts) => {
                let [list, matches] = &**parts;
                self.filter(list, matches, scope)?
            }
            Logic::For(iteration) => self.iterate(iteration, scope)?,
            Logic::Every(iteration) => self.quantified(iteration, true, scope)?,
            Logic::Some(iteration) => self.quantified(iteration, false, scope)?,
        };
        self.coerced(value, boxed.kind)
    }

    fn invocation(&self, invocation: &Invocation, scope: &dyn Scope) -> Result<Value, Fault> {
        let name = match &invocation.callee.logic {
            Logic::Literal(text) => abbreviate(text.text()),
            _ => "function".to_owned(),
        };
        let Value::Function(function) = self.boxed(&invocation.callee, scope, None)? else {
            return Err(Fault::new(format!("no function found with name '{name}'")));
        };
        let parameters = function.parameters();
        let mut arguments: Vec<Option<Value>> = vec![None; parameters.len()];
        for (parameter, value) in &invocation.bindings {
            let at = parameters.iter().position(|known| known == parameter);
            let Some(place) = at.and_then(|at| arguments.get_mut(at)) else {
                return Err(Fault::new(format!(
                    "the function '{name}' has no parameter '{}'. Its parameters are: {}",
                    abbreviate(parameter),
                    abbreviate(&parameters.join(", "))
                )));
            };
            *place = Some(self.boxed(value, scope, None)?);
        }
        if self.graph.dialect == Dialect::Camunda {
            for (parameter, given) in parameters.iter().zip(&arguments) {
                if given.is_none() {
                    return Err(Fault::new(format!(
                        "the invocation of '{name}' has no binding for the parameter '{}'",
                        abbreviate(parameter)
                    )));
                }
            }
        }
        let arguments = arguments.into_iter().map(Option::unwrap_or_default);
        let arguments = arguments.collect();
        match self.callable(&function) {
            Some(callable) => {
                let (value, steps) = callable.invoke(arguments, &self.left());
                self.spend(steps);
                value
            }
            None => self.checked(&name, function.call(arguments, &self.left())),
        }
    }

    fn context(&self, entries: &[Entry], scope: &dyn Scope) -> Result<Value, Fault> {
        let mut frame = Frame::inside(scope);
        let mut values = Gathered::new(self);
        for entry in entries {
            let value = self.boxed(&entry.value, &frame, None)?;
            let value = self.coerced(value, entry.kind)?;
            match &entry.name {
                Some(name) => {
                    values.count(&value)?;
                    frame.put(name, value);
                }
                None => return Ok(value),
            }
        }
        Ok(Value::Context(skep_feel::Context::new(frame.entries)))
    }

    fn relation(&self, relation: &Relation, scope: &dyn Scope) -> Result<Value, Fault> {
        let mut rows = Gathered::new(self);
        for row in &relation.rows {
            let mut context = ContextBuilder::new();
            for (name, cell) in relation.columns.iter().zip(row) {
                context.put(Arc::clone(name), self.boxed(cell, scope, None)?);
            }
            rows.push(Value::Context(context.build()))?;
        }
        Ok(rows.list())
    }

    fn filter(&self, list: &Boxed, condition: &Boxed, scope: &dyn Scope) -> Result<Value, Fault> {
        let items = self.items(list, scope)?;
        let name = Arc::from("item");
        let mut kept = Gathered::new(self);
        for item in &items {
            self.charge(1)?;
            let entries = Item { outer: scope, item };
            let mut frame = Frame::inside(&entries);
            frame.put(&name, item.clone());
            match self.boxed(condition, &frame, None)? {
                Value::Boolean(true) => kept.push(item.clone())?,
                // An index, as in FEEL's own filter.
                Value::Number(index) => return Ok(at_index(&items, index.to_i64())),
                _ => {}
            }
        }
        Ok(kept.list())
    }

    fn iterate(&self, iteration: &Iteration, scope: &dyn Scope) -> Result<Value, Fault> {
        let items = self.items(&iteration.list, scope)?;
        let partial = Arc::from("partial");
        let mut results = Gathered::new(self);
        let mut frame = Frame::inside(scope);
        let reads_partial = iteration.reads_partial;
        for item in items {
            self.charge(1)?;
            frame.clear();
            if reads_partial {
                self.charge(results.values.len() as u64)?;
                frame.put(&partial, Value::list(results.values.clone()));
            }
            frame.put(&iteration.variable, item);
            results.push(self.boxed(&iteration.body, &frame, None)?)?;
        }
        Ok(results.list())
    }

    /// `every` and `some`, with three-valued logic.
    fn quantified(
        &self,
        iteration: &Iteration,
        every: bool,
        scope: &dyn Scope,
    ) -> Result<Value, Fault> {
        let mut result = Value::Boolean(every);
        let mut frame = Frame::inside(scope);
        for item in self.items(&iteration.list, scope)? {
            self.charge(1)?;
            frame.clear();
            frame.put(&iteration.variable, item);
            match self.boxed(&iteration.body, &frame, None)? {
                Value::Boolean(holds) if holds == every => {}
                Value::Boolean(holds) => return Ok(Value::Boolean(holds)),
                _ => result = Value::Null,
            }
        }
        Ok(result)
    }

    /// The items to iterate over: of a list, of a range, or the value itself.
    fn items(&self, list: &Boxed, scope: &dyn Scope) -> Result<Vec<Value>, Fault> {
        Ok(match self.boxed(list, scope, None)? {
            Value::List(items) => items.to_vec(),
            Value::Null => Vec::new(),
            range @ Value::Range(_) => {
                static EXPAND: OnceLock<Option<Expression>> = OnceLock::new();
                let expand = EXPAND.get_or_init(|| Expression::parse("for i in r return i").ok());
                let mut frame = Frame::inside(&EmptyScope);
                frame.put(&Arc::from("r"), range);
                let value = match expand {
                    Some(expand) => self.checked("range", expand.evaluate(&frame, &self.left()))?,
                    None => Value::Null,
                };
                match value {
                    Value::List(items) => items.to_vec(),
                    _ => Vec::new(),
                }
            }
            single => vec![single],
        })
    }
}

/// The item at an index from 1, or from -1 backwards; null outside of the list.
fn at_index(items: &[Value], index: Option<i64>) -> Value {
    let at = match index {
        Some(index) if index > 0 => usize::try_from(index - 1).ok(),
        Some(index) if index < 0 => usize::try_from(index.unsigned_abs())
            .ok()
            .and_then(|back| items.len().checked_sub(back)),
        _ => None,
    };
    at.and_then(|at| items.get(at)).cloned().unwrap_or_default()
}

/// The entries of an item as variables.
struct Item<'a> {
    outer: &'a dyn Scope,
    item: &'a Value,
}

impl Scope for Item<'_> {
    fn get(&self, name: &str) -> Option<Binding<'_>> {
        match self.item.as_context().and_then(|entries| entries.get(name)) {
            Some(value) => Some(Binding::Value(value)),
            None => self.outer.get(name),
        }
    }
}

/// Values that are put together, bounded like the results of FEEL.
pub(crate) struct Gathered {
    pub values: Vec<Value>,
    memory: u64,
    limits: Limits,
}

impl Gathered {
    pub fn new(run: &Run<'_>) -> Gathered {
        Gathered {
            values: Vec::new(),
            memory: 0,
            limits: run.cx.limits,
        }
    }

    pub fn push(&mut self, value: Value) -> Result<(), Fault> {
        self.count(&value)?;
        self.values.push(value);
        Ok(())
    }

    /// Counts a value that is kept elsewhere.
    pub fn count(&mut self, value: &Value) -> Result<(), Fault> {
        self.memory = self.memory.saturating_add(value.memory());
        if self.memory > self.limits.max_memory {
            return Err(Fault::limit(format!(
                "a result needs more than {} bytes of memory",
                self.limits.max_memory
            )));
        }
        if value.depth() >= self.limits.max_depth {
            return Err(Fault::limit(format!(
                "a result is nested more than {} levels",
                self.limits.max_depth
            )));
        }
        Ok(())
    }

    pub fn list(self) -> Value {
        Value::list(self.values)
    }
}
