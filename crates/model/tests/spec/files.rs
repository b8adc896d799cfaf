//! Files as modelers write them: diagrams, pools, lanes, data, notes.

use skep_model::{ElementType, Options, Process};

fn model(name: &str) -> Process {
    let path = format!("{}/tests/models/{name}", env!("CARGO_MANIFEST_DIR"));
    let xml = std::fs::read(&path).expect("the model is readable");
    let mut resource = skep_model::parse(name, &xml, &Options::default())
        .unwrap_or_else(|invalid| panic!("{invalid}"));
    assert_eq!(resource.processes.len(), 1, "{name}");
    resource.processes.remove(0)
}

fn count(process: &Process, element_type: ElementType) -> usize {
    process
        .elements
        .iter()
        .filter(|element| element.element_type == element_type)
        .count()
}

#[test]
fn an_order_process_with_pools_lanes_and_diagram() {
    let process = model("order.bpmn");
    assert_eq!(
        (&*process.id, process.version_tag.as_deref()),
        ("order", Some("2026.1"))
    );
    assert_eq!(count(&process, ElementType::ServiceTask), 3);
    assert_eq!(count(&process, ElementType::BoundaryEvent), 2);
    assert_eq!(count(&process, ElementType::SubProcess), 1);
    assert_eq!(count(&process, ElementType::SequenceFlow), 13);
}

#[test]
fn a_plain_process_with_default_namespace_and_windows_line_ends() {
    let process = model("plain.bpmn");
    assert_eq!(process.element_ids().count(), 6);
}
