//! Input and output mappings.

use skep_model::{ElementKind, Mapping, MappingSource};
use skep_protocol::document::{JsonText, readable, write_json_object};
use skep_protocol::value::ErrorType;
use skep_protocol::{Document, Key};

use super::{Problem, Subject};
use crate::processing::{Context, Named, expression, variable};

/// Creates local variables of the element. A mapping sees the results of earlier ones.
pub(super) fn apply_inputs(cx: &mut Context<'_>, el: &Subject) -> Result<(), Problem> {
    let results = evaluate(cx, &el.element().inputs, el.key, Parts::OfNothing)?;
    for (name, value) in results.entries() {
        variable::set_local(cx, el.key, name, value);
    }
    Ok(())
}

/// Sets variables of the flow scope, or of the nearest scope around it that has them. The instances of a multi-instance
/// activity have variables of their own to set: the input and the output element.
pub(super) fn apply_outputs(cx: &mut Context<'_>, el: &Subject) -> Result<(), Problem> {
    let results = evaluate(cx, &el.element().outputs, el.key, Parts::OfExisting)?;
    let around = &el.process.graph.element(el.element().parent).kind;
    let is_one_of_many = matches!(around, ElementKind::MultiInstanceBody(_));
    let scope = match el.flow_scope().some() {
        Some(scope) if !is_one_of_many => scope,
        _ => el.key,
    };
    variable::propagate(cx, scope, results.entries());
    Ok(())
}

/// The object in which a mapping sets its members.
#[derive(Clone, Copy)]
enum Parts {
    /// A new object.
    OfNothing,
    /// The variable's current object, if it has one.
    OfExisting,
}

/// Evaluates all mappings before anything is set, so that a failing one leaves no trace.
fn evaluate(
    cx: &mut Context<'_>,
    mappings: &[Mapping],
    scope: Key,
    parts: Parts,
) -> Result<Named, Problem> {
    let mut evaluation = Evaluation {
        scope,
        results: Named::default(),
        bytes: 0,
        most: cx.max_step_bytes(),
    };
    for mapping in mappings {
        let name = &mapping.target;
        let base = match (&mapping.source, parts) {
            (MappingSource::Object(_), Parts::OfExisting) => {
                cx.state.elements.visible_variable(scope, name)
            }
            _ => None,
        };
        let before = evaluation.bytes;
        let value = evaluation.value(cx, mapping, base)?;
        // The object's text contains its members, in addition to what else it holds.
        evaluation.bytes = before;
        evaluation.count(name, value.len())?;
        // If each mapping nested it in one more object, the value would soon be too deep for any expression to read.
        readable(name, &value).map_err(|why| {
            let message =
                format!("The mapping to '{name}' would set a value that cannot be read: {why}.");
            Problem::new(ErrorType::IoMappingError, message)
        })?;
        evaluation.results.set(name.clone(), value);
    }
    Ok(evaluation.results)
}

struct Evaluation {
    scope: Key,
    results: Named,
    /// Bytes of the values so far.
    bytes: usize,
    /// Maximum bytes: the results of one element's mappings are written in one step, which must fit into a batch.
    most: usize,
}

impl Evaluation {
    /// Evaluates a mapping. The recursion is no deeper than the target path.
    fn value(
        &mut self,
        cx: &mut Context<'_>,
        mapping: &Mapping,
        base: Option<JsonText>,
    ) -> Result<JsonText, Problem> {
        match &mapping.source {
            MappingSource::Constant(json) => Ok(json.clone()),
            MappingSource::Expression(source) => {
                let result = expression::evaluate(cx, source, self.scope, &self.results)
                    .map_err(|message| Problem::new(ErrorType::IoMappingError, message))?;
                // A value that does not fit is not written out first.
                let room = self.most.saturating_sub(self.bytes);
                let json = result.value.to_json_within(room as u64);
                let json = json.ok_or_else(|| self.too_large(&mapping.target))?;
                self.count(&mapping.target, json.len())?;
                Ok(json.into())
            }
            // A value that is not an object is replaced by one. Other members keep their position and text.
            MappingSource::Object(inner) => {
                let existing = base.and_then(|text| Document::parse(&text).ok());
                let mut members: Named = existing.unwrap_or_default().into_entries().collect();
                for mapping in inner {
                    let old = members.value(&mapping.target).cloned();
                    let value = self.value(cx, mapping, old)?;
                    members.set(mapping.target.clone(), value);
                }
                let mut json = String::new();
                let members = members.entries().iter();
                write_json_object(members.map(|(n, v)| (&**n, &**v)), &mut json);
                Ok(json.into())
            }
        }
    }

    fn count(&mut self, target: &str, bytes: usize) -> Result<(), Problem> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes <= self.most {
            return Ok(());
        }
        Err(self.too_large(target))
    }

    fn too_large(&self, target: &str) -> Problem {
        let message = format!(
            "Expected the results of the mappings to have at most {} bytes, but with that for '{target}' they have more. Let \
             the expressions select less, then resolve the incident.",
            self.most
        );
        Problem::new(ErrorType::IoMappingError, message)
    }
}
