//! Decision tables.

use std::sync::Arc;

use skep_feel::{Expression, Value};

use super::Reader;
use crate::error::{self, abbreviate};
use crate::matcher::{Cell, Column};
use crate::model::{Aggregation, HitPolicy, Rule, Table, TableInput, TableOutput, Text};
use crate::xml::{self, Node};

/// Cells of one table; more are refused.
const MAX_CELLS: usize = 1_000_000;

impl Reader<'_> {
    pub(super) fn table(&mut self, node: Node<'_>) -> Table {
        let inputs: Vec<TableInput> = xml::children(node, "input")
            .map(|input| self.table_input(input))
            .collect();
        let outputs = self.table_outputs(node);
        let hit_policy = self.hit_policy(node, outputs.len());
        let mut rules = Vec::new();
        let mut cells: Vec<Vec<Cell>> = inputs.iter().map(|_| Vec::new()).collect();
        let width = inputs.len() + outputs.len();
        for rule in xml::children(node, "rule") {
            if rules.len().saturating_mul(width) > MAX_CELLS {
                let message = format!("The table has more than {MAX_CELLS} cells. Split it");
                self.findings.add(node, error::Rule::ModelTooLarge, message);
                break;
            }
            let entries: Vec<Node<'_>> = xml::children(rule, "inputEntry").collect();
            self.check_width(rule, "input entries", entries.len(), inputs.len());
            for (entry, column) in entries.into_iter().zip(&mut cells) {
                column.push(self.cell(entry));
            }
            let entries: Vec<Node<'_>> = xml::children(rule, "outputEntry").collect();
            self.check_width(rule, "output entries", entries.len(), outputs.len());
            let id = self.id(rule);
            let outputs = entries
                .into_iter()
                .map(|entry| self.filled(entry, "output entry"))
                .collect();
            rules.push(Rule { id, outputs });
        }
        Table {
            hit_policy,
            inputs,
            outputs,
            rules,
            columns: cells.into_iter().map(Column::new).collect(),
        }
    }

    /// An expression that must not be empty in Camunda's dialect.
    fn filled(&mut self, node: Node<'_>, what: &str) -> Text {
        let text = self.text(node);
        if matches!(text, Text::Empty) && !self.standard() {
            let message =
                format!("The {what} is empty. Write a FEEL expression, or 'null' for no value");
            self.findings
                .add(node, error::Rule::ExpressionMissing, message);
        }
        text
    }

    fn check_width(&mut self, rule: Node<'_>, what: &str, found: usize, expected: usize) {
        if found != expected {
            let message = format!(
                "The rule has {found} {what}, but the table has {expected} columns for them. Give it one per column"
            );
            self.findings.add(rule, error::Rule::ColumnsDiffer, message);
        }
    }

    fn table_input(&mut self, node: Node<'_>) -> TableInput {
        let id = self.id(node);
        let label = self.bounded(node, "label", self.options.max_name_length);
        let expression = xml::child(node, "inputExpression");
        let value = match expression {
            Some(expression) => self.filled(expression, "input expression"),
            None => {
                self.findings.add(
                    node,
                    error::Rule::ExpressionMissing,
                    "The input has no 'inputExpression'. Say which value it checks",
                );
                Text::Empty
            }
        };
        let name = if label.is_empty() {
            Arc::from(value.text())
        } else {
            label
        };
        let allowed = if self.standard() {
            xml::child(node, "inputValues").and_then(|values| self.values(values))
        } else {
            None
        };
        TableInput {
            id,
            name,
            kind: expression.and_then(|expression| self.type_ref(expression)),
            value,
            allowed,
        }
    }

    fn table_outputs(&mut self, node: Node<'_>) -> Vec<TableOutput> {
        let mut outputs: Vec<TableOutput> = Vec::new();
        let mut names = rustc_hash::FxHashSet::default();
        let several = xml::children(node, "output").nth(1).is_some();
        for output in xml::children(node, "output") {
            let id = self.id(output);
            let name = self.name(output);
            let label = self.bounded(output, "label", self.options.max_name_length);
            if several && name.is_empty() {
                self.findings.add(
                    output,
                    error::Rule::ValueMissing,
                    "The output has no name. Tables with several outputs need one for each",
                );
            } else if several && !names.insert(Arc::clone(&name)) {
                let message = format!("The table has two outputs '{name}'. Rename one of them");
                self.findings
                    .add(output, error::Rule::DuplicateName, message);
            }
            let values = xml::child(output, "outputValues");
            let allowed = match values {
                Some(values) if self.standard() => self.values(values),
                _ => None,
            };
            outputs.push(TableOutput {
                id,
                label: if label.is_empty() {
                    name.clone()
                } else {
                    label
                },
                name,
                kind: self.type_ref(output),
                priorities: values.map(|v| self.priorities(v)).unwrap_or_default(),
                allowed,
                default: xml::child(output, "defaultOutputEntry").map(|entry| self.text(entry)),
            });
        }
        if outputs.is_empty() {
            self.findings.add(
                node,
                error::Rule::ElementMissing,
                "The decision table has no output. Add one",
            );
        }
        outputs
    }

    /// The values of an output, in the order of their importance.
    fn priorities(&mut self, node: Node<'_>) -> Vec<Value> {
        let text = xml::child(node, "text").map(xml::text).unwrap_or_default();
        let list = format!("[{text}]");
        match Expression::parse_with(&list, &self.parse_options(&list)) {
            Ok(expression) => match expression.constant() {
                Some(Value::List(values)) => values.to_vec(),
                _ => Vec::new(),
            },
            Err(_) => {
                // They may be unary tests, which have no order.
                self.cell(node);
                Vec::new()
            }
        }
    }

    fn hit_policy(&mut self, node: Node<'_>, outputs: usize) -> HitPolicy {
        let policy = node.attribute("hitPolicy").unwrap_or("UNIQUE");
        let aggregation = match node.attribute("aggregation") {
            None | Some("") => None,
            Some("SUM") => Some(Aggregation::Sum),
            Some("MIN") => Some(Aggregation::Min),
            Some("MAX") => Some(Aggregation::Max),
            Some("COUNT") => Some(Aggregation::Count),
            Some(other) => {
                let message = format!(
                    "The aggregation '{}' is not known. Use SUM, MIN, MAX or COUNT",
                    abbreviate(other)
                );
                self.findings.add(node, error::Rule::ValueInvalid, message);
                None
            }
        };
        match policy {
            "UNIQUE" => HitPolicy::Unique,
            "ANY" => HitPolicy::Any,
            "PRIORITY" => HitPolicy::Priority,
            "FIRST" => HitPolicy::First,
            "RULE ORDER" => HitPolicy::RuleOrder,
            "OUTPUT ORDER" => HitPolicy::OutputOrder,
            "COLLECT" => {
                if outputs > 1 && aggregation.is_some() {
                    self.findings.add(
                        node, error::Rule::SettingsConflict,
                        "A table with several outputs cannot aggregate them. Remove the aggregation or the outputs",
                    );
                }
                HitPolicy::Collect(aggregation)
            }
            other => {
                let message = format!(
                    "The hit policy '{}' is not known. Use UNIQUE, ANY, PRIORITY, FIRST, RULE ORDER, OUTPUT ORDER or COLLECT",
                    abbreviate(other)
                );
                self.findings.add(node, error::Rule::ValueInvalid, message);
                HitPolicy::Unique
            }
        }
    }
}
