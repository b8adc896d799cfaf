//! Ids, names and job types have a length limit, as they are repeated in many records.

use crate::compile::Draft;
use crate::error::Findings;
use crate::graph::{ElementIndex, ElementKind};
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
                format!("The {what} has {length} characters, the limit is {limit}. Shorten it"),
            );
        }
    };
    limit("id", &element.id, options.max_id_length);
    if let Some(name) = &element.name {
        limit("name", name, options.max_name_length);
    }
    if let ElementKind::ServiceTask(job) = &element.kind
        && let Some(job_type) = job.job_type.as_static()
    {
        limit("job type", job_type, options.max_job_type_length);
    }
}
