//! Ids, names and job types have a length limit, as they are repeated in many records.

use crate::compile::Draft;
use crate::error::{Findings, Rule};
use crate::graph::{ElementIndex, TextValue};
use crate::resource::Options;

pub(crate) fn check(
    draft: &Draft<'_>,
    index: ElementIndex,
    options: &Options,
    findings: &mut Findings,
) {
    let element = draft.element(index);
    let mut limit = |what: &str, text: &str, limit: usize| {
        let length = text.chars().count();
        if length > limit {
            findings.add(
                draft.node(index),
                Rule::TextTooLong,
                format!("The {what} has {length} characters, the limit is {limit}. Shorten it"),
            );
        }
    };
    limit("id", &element.id, options.max_id_length);
    if let Some(name) = &element.name {
        limit("name", name, options.max_name_length);
    }
    let listeners = element.start_listeners.iter().chain(&element.end_listeners);
    let job_types = listeners.map(|listener| &listener.job_type);
    let job_types = job_types.chain(element.job().map(|job| &job.job_type));
    for job_type in job_types.filter_map(TextValue::as_static) {
        limit("job type", job_type, options.max_job_type_length);
    }
}
