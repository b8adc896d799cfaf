//! Bindings of forms and linked resources: the latest version, the one deployed together, or the one with a version tag.

use skep_model::builder::Bpmn;
use skep_protocol::Key;

use skep_testkit::rig::*;

const LATEST: &str = "";
const TOGETHER: &str = r#"bindingType="deployment""#;
const TAGGED: &str = r#"bindingType="versionTag" versionTag="stable""#;

/// A user task with a form.
fn asks(binding: &str) -> String {
    let form = format!(r#"<zeebe:formDefinition formId="form" {binding}/>"#);
    let bpmn = Bpmn::process("asks").start("s").user_task("ask");
    bpmn.extension(&form).end("e").xml()
}

/// A job with a linked resource.
fn works(binding: &str) -> String {
    let linked = format!(
        r#"<zeebe:linkedResources><zeebe:linkedResource resourceId="robot" resourceType="RPA" linkName="script" {binding}/></zeebe:linkedResources>"#
    );
    let bpmn = Bpmn::process("works").start("s").service_task("t", "work");
    bpmn.header("own", "1").extension(&linked).end("e").xml()
}

/// Deploys a form and a script with this content version and version tag. Returns their keys.
fn files(rig: &mut Rig, version: i32, tag: &str, with: Vec<(&str, String)>) -> (Key, Key) {
    let content = |id: &str| format!(r#"{{"id":"{id}","n":{version},"versionTag":"{tag}"}}"#);
    let mut files = with;
    files.push(("f.form", content("form")));
    files.push(("r.rpa", content("robot")));
    let deployed = rig.deployed(files);
    (deployed.forms[0].key, deployed.resources[0].key)
}

fn form_of_task(rig: &mut Rig) -> Key {
    rig.create("asks", "{}");
    let tasks = rig.events("USER_TASK").filter(|r| r.intent == "CREATING");
    Key(tasks.last().unwrap().field("formKey").as_i64().unwrap())
}

fn headers_of_job(rig: &mut Rig) -> serde_json::Value {
    rig.create("works", "{}");
    let job = rig.job("work");
    serde_json::from_str(&job.custom_headers).unwrap()
}

#[test]
fn each_binding_chooses_its_version() {
    for (binding, chosen) in [(TAGGED, 0), (TOGETHER, 1), (LATEST, 2)] {
        let mut rig = Rig::new();
        let tagged = files(&mut rig, 1, "stable", vec![]);
        let processes = vec![("a.bpmn", asks(binding)), ("w.bpmn", works(binding))];
        let together = files(&mut rig, 2, "", processes);
        let latest = files(&mut rig, 3, "", vec![]);
        let (form, script) = [tagged, together, latest][chosen];
        assert_eq!(form_of_task(&mut rig), form, "{binding}");
        let headers = headers_of_job(&mut rig);
        assert_eq!(headers["own"], "1");
        assert_eq!(
            headers["linkedResources"],
            format!(r#"[{{"resourceKey":"{script}","resourceType":"RPA","linkName":"script"}}]"#)
        );
    }
}

#[test]
fn a_missing_form_or_resource_is_an_incident_until_it_is_deployed() {
    for (process, kind) in [("asks", "FORM_NOT_FOUND"), ("works", "RESOURCE_NOT_FOUND")] {
        let mut rig = Rig::new();
        rig.deployed(vec![("a.bpmn", asks(LATEST)), ("w.bpmn", works(TAGGED))]);
        rig.create(process, "{}");
        let incident = rig.incident();
        assert_eq!(incident.kind, kind);
        assert!(
            incident.message.contains("to be deployed, but not found"),
            "{}",
            incident.message
        );
        files(&mut rig, 1, "stable", vec![]);
        rig.resolve(incident.key).unwrap();
        assert_eq!(rig.incidents().len(), 0);
    }
}

#[test]
fn resources_bound_to_the_deployment_must_be_part_of_it() {
    let mut rig = Rig::new();
    files(&mut rig, 1, "", vec![]);
    for (name, xml, said) in [
        ("a.bpmn", asks(TOGETHER), "the form 'form' is not part"),
        (
            "w.bpmn",
            works(TOGETHER),
            "the linked resource 'robot' is not part",
        ),
    ] {
        let (kind, reason) = rejected(rig.deploy_files(vec![(name, xml)]));
        assert_eq!(kind, "INVALID_ARGUMENT");
        assert!(reason.contains(said), "{reason}");
    }
}
