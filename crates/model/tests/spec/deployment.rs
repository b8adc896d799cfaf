//! Rules across the resources of a deployment, and the text of a rejection.

use std::collections::HashSet;

use skep_model::builder::Bpmn;
use skep_model::deployment::Called;
use skep_model::{Invalid, Resource, deployment};
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

fn check(resources: &[(&str, &Resource)]) -> Result<(), Vec<Invalid>> {
    deployment::check(resources, &HashSet::new())
}

fn plain(id: &str) -> Resource {
    resource(Bpmn::process(id).start("s").end("e"))
}

#[test]
fn process_ids_are_unique_in_a_deployment() {
    let (a, b, c) = (plain("p"), plain("q"), plain("p"));
    assert_eq!(check(&[("a.bpmn", &a), ("b.bpmn", &b)]), Ok(()));
    let invalid = check(&[("a.bpmn", &a), ("b.bpmn", &b), ("c.bpmn", &c)]).expect_err("refused");
    assert_eq!(invalid.len(), 1);
    assert_eq!(invalid[0].resource_name, "c.bpmn");
    assert!(
        invalid[0].findings[0]
            .message
            .contains("also used by the resource 'a.bpmn'")
    );
}

#[test]
fn what_is_bound_to_the_deployment_is_part_of_it() {
    let (caller, called) = (caller("called"), plain("called"));
    assert_eq!(check(&[("a.bpmn", &caller), ("b.bpmn", &called)]), Ok(()));
    let invalid = check(&[("a.bpmn", &caller)]).expect_err("refused");
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
    assert_eq!(check(&[("a.bpmn", &itself)]), Ok(()));
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
        check(&[("a.bpmn", &by_expression), ("b.bpmn", &latest)]),
        Ok(())
    );
    assert_eq!(latest.deployment_bindings().count(), 0);
}

#[test]
fn decisions_and_forms_that_are_bound_to_the_deployment_are_part_of_it() {
    let called =
        "<zeebe:calledDecision decisionId='d' resultVariable='r' bindingType='deployment'/>";
    let form = "<zeebe:formDefinition formId='f' bindingType='deployment'/>";
    let bpmn = around(|p| {
        let p = p.element("businessRuleTask", "rule").extension(called);
        p.user_task("ask").extension(form)
    });
    let both = resource(bpmn);
    let others = HashSet::from([(Called::Decision, "d"), (Called::Form, "f")]);
    assert_eq!(deployment::check(&[("a.bpmn", &both)], &others), Ok(()));
    let invalid = check(&[("a.bpmn", &both)]).expect_err("refused");
    let findings = invalid[0].findings.iter();
    let said: Vec<_> = findings
        .map(|finding| (finding.element_id.as_deref(), &*finding.message))
        .collect();
    assert_eq!((said[0].0, said[1].0), (Some("rule"), Some("ask")));
    assert!(
        said[0]
            .1
            .contains("the called decision 'd' is not part of this deployment")
    );
    assert!(
        said[1]
            .1
            .contains("the called form 'f' is not part of this deployment")
    );
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
             - ERROR: A service task must have exactly one 'zeebe:taskDefinition', but has none. Add it (line 6)\n\
         'other.bpmn':\n\
         - File\n    \
             - ERROR: The file is not a BPMN 2.0 model: its root is 'x', expected is 'definitions' in the namespace \
         http://www.omg.org/spec/BPMN/20100524/MODEL (line 1)"
    );
}
