//! Decision tables: which rules match, and the result under the hit policy.

use std::cmp::Ordering;
use std::sync::{Arc, OnceLock};

use skep_feel::{ContextBuilder, EmptyScope, Expression, Scope, UnaryTests, Value};

use super::boxed::Gathered;
use super::{Fault, Frame, Run, TableAudit};
use crate::error::abbreviate;
use crate::matcher::{Cell, Rules};
use crate::model::{Aggregation, HitPolicy, Rule, Table, TableOutput};
use crate::options::Dialect;
use crate::result::{EvaluatedInput, EvaluatedOutput, MatchedRule};

impl Run<'_> {
    pub fn table(
        &self,
        table: &Table,
        scope: &dyn Scope,
        mut audit: Option<&mut TableAudit>,
    ) -> Result<Value, Fault> {
        let mut inputs = Vec::with_capacity(table.inputs.len());
        for input in &table.inputs {
            let value = self.text(&input.value, scope)?;
            let value = self.coerced(value, input.kind)?;
            if let Some(audit) = audit.as_deref_mut() {
                audit.inputs.push(EvaluatedInput {
                    id: Arc::clone(&input.id),
                    name: Arc::clone(&input.name),
                    value: value.clone(),
                });
            }
            if let Some(allowed) = &input.allowed {
                self.check_allowed(&value, allowed, "input", &input.name, scope)?;
            }
            inputs.push(value);
        }
        let matched = self.matching(table, &inputs, scope)?;
        let first_only = table.hit_policy == HitPolicy::First;
        let mut rows: Vec<(usize, Vec<Value>)> = Vec::new();
        let mut weight = Gathered::new(self);
        for at in matched.iter().take(if first_only { 1 } else { usize::MAX }) {
            let Some(rule) = table.rules.get(at) else {
                continue;
            };
            let row = self.outputs(table, rule, scope)?;
            for value in &row {
                weight.count(value)?;
            }
            if let Some(audit) = audit.as_deref_mut() {
                audit
                    .matched_rules
                    .push(matched_rule(table, at, rule, &row));
            }
            rows.push((at, row));
        }
        self.apply(table, rows, scope)
    }

    fn matching(&self, table: &Table, inputs: &[Value], scope: &dyn Scope) -> Result<Rules, Fault> {
        let mut candidates = Rules::all(table.rules.len());
        for (column, input) in table.columns.iter().zip(inputs) {
            if candidates.is_empty() {
                break;
            }
            column.narrow(input, &mut candidates, |_, cell| match cell {
                Cell::Any => Ok(true),
                Cell::Tests(tests) => self.passes(input, tests, scope),
                Cell::Broken { text, message } => Err(Fault::new(format!(
                    "failed to parse expression '{}': {message}",
                    abbreviate(text)
                ))),
            })?;
        }
        Ok(candidates)
    }

    fn passes(&self, input: &Value, tests: &UnaryTests, scope: &dyn Scope) -> Result<bool, Fault> {
        let evaluation = tests.evaluate(input, scope, &self.left());
        Ok(self.checked(tests.text(), evaluation)?.as_bool() == Some(true))
    }

    fn check_allowed(
        &self,
        value: &Value,
        allowed: &UnaryTests,
        what: &str,
        name: &str,
        scope: &dyn Scope,
    ) -> Result<(), Fault> {
        if value.is_null() || self.passes(value, allowed, scope)? {
            return Ok(());
        }
        Err(Fault::new(format!(
            "the {what} '{}' has the value '{}', allowed are: {}",
            abbreviate(name),
            abbreviate(&value.to_json()),
            abbreviate(allowed.text())
        )))
    }

    fn outputs(&self, table: &Table, rule: &Rule, scope: &dyn Scope) -> Result<Vec<Value>, Fault> {
        let mut values = Vec::with_capacity(table.outputs.len());
        for (output, text) in table.outputs.iter().zip(&rule.outputs) {
            let value = self.text(text, scope)?;
            let value = self.coerced(value, output.kind)?;
            if let Some(allowed) = &output.allowed {
                self.check_allowed(&value, allowed, "output", &output.name, scope)?;
            }
            values.push(value);
        }
        Ok(values)
    }

    fn apply(
        &self,
        table: &Table,
        mut rows: Vec<(usize, Vec<Value>)>,
        scope: &dyn Scope,
    ) -> Result<Value, Fault> {
        if rows.is_empty() {
            return self.default(table, scope);
        }
        let numbers = |rows: &[(usize, Vec<Value>)]| {
            let numbers: Vec<String> = rows.iter().map(|(at, _)| (at + 1).to_string()).collect();
            abbreviate(&numbers.join(", "))
        };
        match table.hit_policy {
            HitPolicy::Unique if rows.len() > 1 => Err(Fault::new(format!(
                "the hit policy UNIQUE allows only one rule to match, and several did: rules {}",
                numbers(&rows)
            ))),
            HitPolicy::Any if !all_equal(&rows) => Err(Fault::new(format!(
                "the hit policy ANY allows rules to match only with equal outputs, and they differ: rules {}",
                numbers(&rows)
            ))),
            HitPolicy::Unique | HitPolicy::Any | HitPolicy::First => {
                Ok(single(table, rows.into_iter().next()))
            }
            HitPolicy::Priority => {
                // The first of equals, as the sort is stable.
                rows.sort_by(|a, b| by_priority(&table.outputs, &a.1, &b.1));
                Ok(single(table, rows.into_iter().next()))
            }
            HitPolicy::OutputOrder => {
                rows.sort_by(|a, b| by_priority(&table.outputs, &a.1, &b.1));
                Ok(all(table, rows))
            }
            HitPolicy::RuleOrder | HitPolicy::Collect(None) => Ok(all(table, rows)),
            HitPolicy::Collect(Some(aggregation)) => self.aggregate(aggregation, all(table, rows)),
        }
    }

    /// The output when no rule matches.
    fn default(&self, table: &Table, scope: &dyn Scope) -> Result<Value, Fault> {
        if table.outputs.iter().all(|output| output.default.is_none()) {
            return Ok(Value::Null);
        }
        let mut row = Vec::with_capacity(table.outputs.len());
        for output in &table.outputs {
            let value = match &output.default {
                Some(text) => self.text(text, scope)?,
                None => Value::Null,
            };
            row.push(self.coerced(value, output.kind)?);
        }
        Ok(result(table, row))
    }

    fn aggregate(&self, aggregation: Aggregation, values: Value) -> Result<Value, Fault> {
        static FUNCTIONS: OnceLock<Vec<Option<Expression>>> = OnceLock::new();
        let functions = FUNCTIONS.get_or_init(|| {
            let texts = ["sum(values)", "min(values)", "max(values)"];
            texts.map(|text| Expression::parse(text).ok()).into()
        });
        let items = values.as_list().map_or(&[][..], |items| &items[..]);
        let (at, name) = match aggregation {
            Aggregation::Count => return Ok(Value::from(items.len() as i64)),
            Aggregation::Sum => (0, "SUM"),
            Aggregation::Min => (1, "MIN"),
            Aggregation::Max => (2, "MAX"),
        };
        let numbers = aggregation == Aggregation::Sum || self.graph.dialect == Dialect::Camunda;
        if numbers && let Some(other) = items.iter().find(|item| item.as_number().is_none()) {
            return Err(Fault::new(format!(
                "the aggregation {name} needs numbers, and found '{}'",
                abbreviate(&other.to_json())
            )));
        }
        let mut frame = Frame::inside(&EmptyScope);
        frame.put(&Arc::from("values"), values.clone());
        let result = match functions.get(at) {
            Some(Some(function)) => self.checked(name, function.evaluate(&frame, &self.left()))?,
            _ => Value::Null,
        };
        if result.is_null() {
            return Err(Fault::new(format!(
                "the aggregation {name} cannot be computed from '{}'",
                abbreviate(&values.to_json())
            )));
        }
        Ok(result)
    }
}

fn matched_rule(table: &Table, at: usize, rule: &Rule, row: &[Value]) -> MatchedRule {
    let outputs = table
        .outputs
        .iter()
        .zip(row)
        .map(|(output, value)| EvaluatedOutput {
            id: Arc::clone(&output.id),
            name: Arc::clone(&output.label),
            value: value.clone(),
        });
    MatchedRule {
        id: Arc::clone(&rule.id),
        index: at + 1,
        outputs: outputs.collect(),
    }
}

/// The output of one rule: a value, or a context when the table has several outputs.
fn result(table: &Table, mut row: Vec<Value>) -> Value {
    if table.outputs.len() == 1 {
        return row.pop().unwrap_or_default();
    }
    let mut context = ContextBuilder::new();
    for (output, value) in table.outputs.iter().zip(row) {
        context.put(Arc::clone(&output.name), value);
    }
    Value::Context(context.build())
}

fn single(table: &Table, row: Option<(usize, Vec<Value>)>) -> Value {
    row.map_or(Value::Null, |(_, row)| result(table, row))
}

fn all(table: &Table, rows: Vec<(usize, Vec<Value>)>) -> Value {
    let values = rows.into_iter().map(|(_, row)| result(table, row));
    Value::list(values.collect())
}

fn all_equal(rows: &[(usize, Vec<Value>)]) -> bool {
    let mut rows = rows.iter().map(|(_, row)| row);
    let first = rows.next();
    rows.all(|row| Some(row) == first)
}

/// Output by output, from left to right: the place among the output values; unknown values come last.
fn by_priority(outputs: &[TableOutput], a: &[Value], b: &[Value]) -> Ordering {
    let place = |output: &TableOutput, value: &Value| {
        let found = output.priorities.iter().position(|known| known == value);
        found.unwrap_or(usize::MAX)
    };
    outputs
        .iter()
        .zip(a.iter().zip(b))
        .map(|(output, (a, b))| place(output, a).cmp(&place(output, b)))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}
