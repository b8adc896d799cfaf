//! Describes the activities of an ad-hoc sub-process to whoever chooses among them, for instance an agent.

use serde_json::Value;
use skep_feel::{ToolParameter, tool_parameters};
use skep_protocol::document::write_json_object;

use crate::graph::{
    AdHocSubProcess, Element, ElementIndex, ElementKind, Mapping, MappingSource, Process,
};

/// Describes the activities of all ad-hoc sub-processes. To be called when everything else is known.
pub(super) fn describe(process: &mut Process) {
    let described: Vec<(usize, String)> = process
        .elements
        .iter()
        .enumerate()
        .filter_map(|(index, element)| match &element.kind {
            ElementKind::AdHocSubProcess(ad_hoc) => Some((index, all(process, ad_hoc))),
            _ => None,
        })
        .collect();
    for (index, text) in described {
        let kind = process.elements.get_mut(index).map(|e| &mut e.kind);
        if let Some(ElementKind::AdHocSubProcess(ad_hoc)) = kind {
            ad_hoc.elements_json = text.into();
        }
    }
}

fn all(process: &Process, ad_hoc: &AdHocSubProcess) -> String {
    let activities = ad_hoc.activities.iter();
    let mut activities: Vec<&Element> = activities.map(|index| repeated(process, *index)).collect();
    activities.sort_by_key(|element| rank(element));
    list(activities.into_iter().map(one))
}

/// The activity that a multi-instance body repeats; any other element itself.
fn repeated(process: &Process, index: ElementIndex) -> &Element {
    let element = process.element(index);
    match &element.kind {
        ElementKind::MultiInstanceBody(body) => process.element(body.inner),
        _ => element,
    }
}

/// Kinds follow each other as in the reference engine (as far as its order is known); within one kind the order is that of the document.
fn rank(element: &Element) -> u8 {
    match element.kind {
        ElementKind::SubProcess => 0,
        ElementKind::CallActivity(_) => 1,
        ElementKind::ServiceTask(_) => 2,
        ElementKind::ScriptTask(_) => 3,
        ElementKind::UserTask(_) => 4,
        _ => 5,
    }
}

/// Members of an object, in the order in which they are written.
type Members = Vec<(&'static str, String)>;

fn one(element: &Element) -> String {
    let mut members: Members = vec![("elementId", text(&element.id))];
    members.extend(element.name.iter().map(|name| ("elementName", text(name))));
    let documentation = element.documentation.iter();
    members.extend(documentation.map(|it| ("documentation", text(it))));
    if !element.properties.is_empty() {
        let properties = element.properties.iter();
        let properties: Vec<_> = properties.map(|(name, it)| (&**name, text(it))).collect();
        members.push(("properties", object(properties)));
    }
    let parameters = parameters(&element.inputs);
    if !parameters.is_empty() {
        members.push(("parameters", list(parameters.into_iter())));
    }
    object(members)
}

/// Parameters that the input mappings take from an agent.
fn parameters(inputs: &[Mapping]) -> Vec<String> {
    let of = |input: &Mapping| match &input.source {
        MappingSource::Constant(_) => Vec::new(),
        MappingSource::Expression(source) => {
            let found = tool_parameters(source.text());
            found.into_iter().map(parameter).collect()
        }
        MappingSource::Object(parts) => parameters(parts),
    };
    inputs.iter().flat_map(of).collect()
}

fn parameter(parameter: ToolParameter) -> String {
    let mut members: Members = vec![("name", text(&parameter.name))];
    let described = parameter.description.iter();
    members.extend(described.map(|it| ("description", text(it))));
    let typed = parameter.parameter_type.iter();
    members.extend(typed.map(|it| ("type", text(it))));
    members.extend(parameter.schema.map(|json| ("schema", json)));
    members.extend(parameter.options.map(|json| ("options", json)));
    object(members)
}

fn text(text: &str) -> String {
    Value::from(text).to_string()
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

fn object(members: Vec<(&str, String)>) -> String {
    let mut out = String::new();
    write_json_object(
        members.iter().map(|(name, value)| (*name, &**value)),
        &mut out,
    );
    out
}

#[cfg(test)]
mod tests {
    use crate::builder::Bpmn;
    use crate::graph::ElementKind;

    #[test]
    fn an_activity_is_described_with_its_parameters() {
        let bpmn = Bpmn::process("p").start("s").ad_hoc("hoc", |inside| {
            let search = inside
                .service_task("search", "search")
                .input(r#"=fromAi(toolCall.q, "what for", "string")"#, "q");
            search.apart().task("other")
        });
        let process = bpmn.compile();
        let hoc = process.element(process.find("hoc").unwrap());
        let ElementKind::AdHocSubProcess(ad_hoc) = &hoc.kind else {
            panic!("{:?}", hoc.kind)
        };
        let expected = r#"[{"elementId":"search","parameters":[{"name":"toolCall.q","description":"what for","type":"string"}]},{"elementId":"other"}]"#;
        assert_eq!(&*ad_hoc.elements_json, expected);
    }
}
