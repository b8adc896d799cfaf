//! The check of a deployment: it gives the same answer as the deployment, and changes nothing.

use skep_model::builder::Bpmn;
use skep_protocol::Response;
use skep_protocol::command::{Command, Deploy, Resource};
use skep_protocol::value::DeploymentValue;
use skep_protocol::{Rejection, RejectionType};
use skep_testkit::rig::Rig;

fn resource(name: &str, bpmn: &Bpmn) -> Resource {
    Resource {
        name: name.into(),
        content: bpmn.clone().xml().into(),
    }
}

fn check(rig: &mut Rig, resources: Vec<Resource>) -> Result<DeploymentValue, Rejection> {
    match rig.send(Command::CheckDeployment(Deploy { resources })) {
        Ok(Response::DeploymentChecked(checked)) => checked,
        other => panic!("{other:?}"),
    }
}

fn deploy(rig: &mut Rig, resources: Vec<Resource>) -> Result<DeploymentValue, Rejection> {
    match rig.send(Command::Deploy(Deploy { resources }))? {
        Response::Deployed(deployed) => Ok(deployed),
        other => panic!("{other:?}"),
    }
}

fn versions(of: &DeploymentValue) -> Vec<(String, i32, bool)> {
    let processes = of.processes.iter();
    processes
        .map(|it| (it.id.to_string(), it.version, it.duplicate))
        .collect()
}

#[test]
fn a_check_returns_the_versions_that_a_deployment_would_give_and_leaves_no_trace() {
    let one = Bpmn::process("p").start("s").end("e");
    let other = Bpmn::process("p")
        .start("s")
        .service_task("t", "j")
        .end("e");
    let mut rig = Rig::new();
    let mut last = 0;
    for (bpmn, expected) in [(&one, (1, false)), (&one, (1, true)), (&other, (2, false))] {
        let files = || vec![resource("p.bpmn", bpmn)];
        for _ in 0..2 {
            let checked = check(&mut rig, files()).unwrap();
            assert_eq!(
                versions(&checked),
                [("p".to_string(), expected.0, expected.1)]
            );
            assert_eq!(rig.intents("DEPLOYMENT").len(), last, "nothing is written");
        }
        let deployed = deploy(&mut rig, files()).unwrap();
        assert_eq!(
            versions(&deployed),
            [("p".to_string(), expected.0, expected.1)]
        );
        last = rig.intents("DEPLOYMENT").len();
    }
    assert_eq!(rig.intents("PROCESS"), ["CREATED"; 2]);
}

#[test]
fn a_check_finds_what_the_deployment_refuses() {
    let no_type = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"><process id="p" isExecutable="true">
        <startEvent id="s"/><sequenceFlow id="f" sourceRef="s" targetRef="t"/><serviceTask id="t"/></process></definitions>"#;
    let no_type = Resource {
        name: "none.bpmn".into(),
        content: no_type.as_bytes().to_vec().into(),
    };
    // Only an evaluation finds this one.
    let no_time = Bpmn::process("p").start_duration("s", "=missing").end("e");
    let mut rig = Rig::new();
    for file in [no_type, resource("time.bpmn", &no_time)] {
        let checked = check(&mut rig, vec![file.clone()]).unwrap_err();
        assert_eq!(checked.kind, RejectionType::InvalidArgument);
        let found = checked.findings[0].findings[0].element_id.as_deref();
        assert!(matches!(found, Some("s" | "t")), "{checked:?}");
        assert_eq!(deploy(&mut rig, vec![file]).unwrap_err(), checked);
    }
    assert!(rig.intents("PROCESS").is_empty());
}
