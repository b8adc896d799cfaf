//! Every deployment of the recorded scenarios, each on its own engine: Skep accepts what the reference engine accepts, and refuses what it
//! refuses. Deployments accepted only since 8.9, which was not recorded, are listed.

use serde_json::{Value, json};

use crate::commands::{Arguments, command};
use crate::yaml;
use skep_protocol::Key;
use skep_testkit::rig::Rig;
use skep_testkit::scenario::Scenario;

/// Refused by 8.8.
const SINCE_8_9: [&str; 1] = ["conditional_start.bpmn"];

#[test]
fn models_are_accepted_and_refused_as_by_the_reference() {
    let (mut compared, mut failures) = (0, Vec::new());
    for scenario in Scenario::all() {
        let steps = yaml::read(scenario.part("steps.yaml"));
        for step in steps["steps"].as_array().expect("steps are a list") {
            let Some(got) = step
                .get("deploy")
                .and_then(|deploy| outcome(&scenario, deploy))
            else {
                continue;
            };
            compared += 1;
            let is_newer = SINCE_8_9.iter().any(|file| is_of(&step["deploy"], file));
            let expected = if is_newer {
                "accepted"
            } else {
                expectation(&step["expect"])
            };
            let file = format!("{} {}", scenario.name, step["deploy"]["files"]);
            if !got.starts_with(expected) {
                let why = step["why"].as_str().unwrap_or("");
                failures.push(format!("{file}: expected {expected} ({why}), got {got}"));
            }
        }
    }
    assert!(compared >= 160, "{compared} deployments are compared");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn is_of(deploy: &Value, file: &str) -> bool {
    let files = deploy["files"].as_array();
    files.is_some_and(|files| files.iter().any(|name| name == file))
}

fn expectation(expect: &Value) -> &str {
    if *expect == json!("ok") || expect.get("ok").is_some() {
        return "accepted";
    }
    expect["rejection"].as_str().expect("a rejection")
}

/// `None` if it cannot be read as a deployment.
fn outcome(scenario: &Scenario, deploy: &Value) -> Option<String> {
    let mut rig = Rig::new();
    let command = command("deploy", &Arguments(deploy), scenario, Key::NONE).ok()?;
    match rig.send(command) {
        Ok(_) => Some("accepted".to_string()),
        Err(rejection) => Some(format!("{}: {}", rejection.kind.as_str(), rejection.reason)),
    }
}
