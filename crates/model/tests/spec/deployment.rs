//! Rules across the resources of a deployment, and the text of a rejection.

use skep_model::Resource;
use skep_model::builder::Bpmn;
use skep_model::deployment::{self, Named};
use skep_protocol::Rejection;

use crate::support::*;

fn resource(bpmn: Bpmn) -> Resource {
    parse(&bpmn.xml()).expect("accepted")
}

fn caller(called: &str) -> Resource {
    resource(
        Bpmn::process("caller")
            .start("s")
            .call_activity("call", called)
            .binding("deployment")
            .end("e"),
    )
}

fn plain(id: &str) -> Resource {
    resource(Bpmn::process(id).start("s").end("e"))
}

#[test]
fn process_ids_are_unique_in_a_deployment() {
    let (a, b, c) = (plain("p"), plain("q"), plain("p"));
    assert_eq!(
        deployment::check(&[("a.bpmn", &a), ("b.bpmn", &b)], []),
        Ok(())
    );
    let invalid = deployment::check(&[("a.bpmn", &a), ("b.bpmn", &b), ("c.bpmn", &c)], [])
        .expect_err("refused");
    assert_eq!(invalid.len(), 1);
    assert_eq!(invalid[0].resource_name, "c.bpmn");
    assert!(
        invalid[0].findings[0]
            .message
            .contains("also used by the resource 'a.bpmn'")
    );
}

#[test]
fn called_processes_bound_to_the_deployment_must_be_part_of_it() {
    let (caller, called) = (caller("called"), plain("called"));
    assert_eq!(
        deployment::check(&[("a.bpmn", &caller), ("b.bpmn", &called)], []),
        Ok(())
    );
    let invalid = deployment::check(&[("a.bpmn", &caller)], []).expect_err("refused");
    assert_eq!(invalid[0].findings[0].element_id.as_deref(), Some("call"));
    assert!(
        invalid[0].findings[0]
            .message
            .contains("'called' is not part of this deployment")
    );
}

#[test]
fn a_process_may_call_itself_or_another_of_its_file() {
    let itself = resource(
        Bpmn::process("p")
            .start("s")
            .call_activity("c", "p")
            .binding("deployment")
            .end("e"),
    );
    assert_eq!(deployment::check(&[("a.bpmn", &itself)], []), Ok(()));
}

#[test]
fn calls_by_expression_or_with_other_bindings_are_not_checked() {
    let by_expression = caller("=id");
    let latest = resource(
        Bpmn::process("q")
            .start("s")
            .call_activity("c", "elsewhere")
            .end("e"),
    );
    assert_eq!(
        deployment::check(&[("a.bpmn", &by_expression), ("b.bpmn", &latest)], []),
        Ok(())
    );
    assert_eq!(latest.deployment_bindings().count(), 0);
}

#[test]
fn the_rejection_names_resources_elements_and_rules() {
    let invalid = vec![
        parse(
            &Bpmn::process("order")
                .start("s")
                .element("serviceTask", "charge")
                .end("e")
                .xml(),
        )
        .expect_err("refused"),
        skep_model::parse("other.bpmn", b"<x/>", &Default::default()).expect_err("refused"),
    ];
    let rejection = Rejection::of_deployment("CREATE", invalid);
    assert_eq!(
        rejection.reason,
        "Expected to deploy new resources, but encountered the following errors:\n\
         'test.bpmn':\n\
         - Element: charge (serviceTask) in process 'order'\n    \
             - ERROR[EXTENSION_MISSING]: A service task must have exactly one 'zeebe:taskDefinition', but has none. Add it (line 6)\n\
         'other.bpmn':\n\
         - File\n    \
             - ERROR[NOT_A_MODEL]: The file is not a BPMN 2.0 model: its root is 'x', expected 'definitions' in the namespace \
         http://www.omg.org/spec/BPMN/20100524/MODEL (line 1)"
    );
}

#[test]
fn decisions_forms_and_resources_bound_to_the_deployment_are_part_of_it() {
    let process = resource(
        Bpmn::process("p")
            .start("s")
            .element("businessRuleTask", "decide")
            .extension(r#"<zeebe:calledDecision decisionId="fee" resultVariable="r" bindingType="deployment"/>"#)
            .user_task("ask")
            .extension(r#"<zeebe:formDefinition formId="form" bindingType="deployment"/>"#)
            .service_task("work", "work")
            .extension(r#"<zeebe:linkedResources><zeebe:linkedResource resourceId="robot" resourceType="RPA" bindingType="deployment"/></zeebe:linkedResources>"#)
            .end("e"),
    );
    let others = [
        (Named::Decision, "fee".into()),
        (Named::Form, "form".into()),
        (Named::Resource, "robot".into()),
    ];
    let resources = [("p.bpmn", &process)];
    assert_eq!(deployment::check(&resources, others), Ok(()));
    let invalid = deployment::check(&resources, []).expect_err("refused");
    let findings = invalid[0].findings.iter();
    let severities: Vec<_> = findings
        .map(|f| (f.element_type.as_deref().unwrap_or(""), f.message.as_str()))
        .collect();
    for (element_type, said) in [
        ("businessRuleTask", "the called decision 'fee' is not part"),
        ("userTask", "the form 'form' is not part"),
        ("serviceTask", "the linked resource 'robot' is not part"),
    ] {
        let found = severities
            .iter()
            .any(|(kind, text)| *kind == element_type && text.contains(said));
        assert!(found, "{severities:?}");
    }
}
