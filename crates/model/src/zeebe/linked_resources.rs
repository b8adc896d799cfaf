//! `zeebe:linkedResources`: resources whose keys a job worker receives.

use crate::context::Context;
use crate::graph::LinkedResource;
use crate::value;
use crate::xml::{self, Node};

pub(crate) fn parse<'x>(
    node: Node<'x>,
    context: &mut Context<'_, 'x>,
) -> Option<Vec<LinkedResource>> {
    let before = context.findings.count();
    let resources = xml::extensions(node, "linkedResources")
        .flat_map(|resources| xml::zeebe_children(resources, "linkedResource"));
    let resources: Vec<_> = resources
        .filter_map(|resource| one(resource, context))
        .collect();
    (context.findings.count() == before).then_some(resources)
}

fn one(resource: Node<'_>, context: &mut Context<'_, '_>) -> Option<LinkedResource> {
    let resource_id = value::required_constant(resource, "resourceId", context.findings);
    let resource_type = value::required_constant(resource, "resourceType", context.findings);
    let binding = super::binding(resource, context);
    Some(LinkedResource {
        resource_id: resource_id?,
        resource_type: resource_type?,
        link_name: value::optional_constant(resource, "linkName"),
        binding: binding?,
    })
}
