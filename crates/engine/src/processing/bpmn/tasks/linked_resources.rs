//! Linked resources: the job header `linkedResources` contains the keys of deployed resources.

use std::sync::Arc;

use serde_json::json;
use skep_model::JobDefinition;
use skep_protocol::document::write_json_object;
use skep_protocol::value::ErrorType;

use crate::processing::Context;
use crate::processing::bpmn::{Problem, Subject, binding};

/// The headers of the element's job, with `linkedResources` if it has linked resources.
pub(crate) fn headers(
    cx: &mut Context<'_>,
    el: &Subject,
    definition: &JobDefinition,
) -> Result<Option<Arc<str>>, Problem> {
    if definition.linked_resources.is_empty() {
        return Ok(None);
    }
    let (tenant, deployment) = (&el.process.tenant, el.process.deployment_key);
    let mut linked = String::from("[");
    for resource in &definition.linked_resources {
        let id = &resource.resource_id;
        let resources = &cx.state.resources;
        let Some(key) = resources.bound(tenant, id, &resource.binding, deployment) else {
            let not_found = binding::not_found(&resource.binding, deployment);
            return Err(Problem::new(
                ErrorType::ResourceNotFound,
                format!("Expected resource with id '{id}' {not_found}."),
            ));
        };
        if linked.len() > 1 {
            linked.push(',');
        }
        let (key, link_name) = (key.to_string(), resource.link_name.as_deref());
        let members = [
            ("resourceKey", json!(key).to_string()),
            ("resourceType", json!(resource.resource_type).to_string()),
            ("linkName", json!(link_name.unwrap_or("")).to_string()),
        ];
        let members = members.iter().map(|(name, text)| (*name, text.as_str()));
        write_json_object(members, &mut linked);
    }
    linked.push(']');
    let linked = json!(linked).to_string();
    let own = definition.headers.iter();
    let own: Vec<_> = own
        .map(|(name, text)| (&**name, json!(text).to_string()))
        .collect();
    let all = own.iter().map(|(name, text)| (*name, text.as_str()));
    let mut out = String::new();
    write_json_object(all.chain([("linkedResources", linked.as_str())]), &mut out);
    Ok(Some(out.into()))
}
