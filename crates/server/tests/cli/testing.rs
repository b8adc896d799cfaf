//! Process tests: test cases in JSON files, on their own servers and on a running one.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::acting::{Desk, example};
use super::binary::{run, skep, stderr, stdout};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const VALID: [&str; 8] = [
    "call-activity",
    "called",
    "error-boundary",
    "exclusive-without-default",
    "message-catch",
    "signal-events",
    "timer-boundary",
    "user-task",
];

fn data(name: &str) -> PathBuf {
    Path::new(ROOT).join("tests/process-test").join(name)
}

/// Flags for the models that these test cases need.
fn resources() -> Vec<String> {
    let examples = [
        "first-process.bpmn",
        "discount.bpmn",
        "discount.dmn",
        "assistant.bpmn",
    ];
    let valid = VALID.map(|name| format!("{ROOT}/tests/processes/valid/{name}.bpmn"));
    let all = valid.into_iter().chain(examples.map(example));
    all.flat_map(|file| ["--resources".to_string(), file])
        .collect()
}

fn test(here: &Path, args: &[&str]) -> Output {
    run(here, &[&["test"], args].concat())
}

fn with_resources(here: &Path, args: &[&str]) -> Output {
    let resources = resources();
    let resources: Vec<&str> = resources.iter().map(String::as_str).collect();
    test(here, &[args, &resources].concat())
}

/// The report without keys and times, which differ from run to run.
fn masked(report: &str) -> String {
    let mut text = String::new();
    for line in report.lines() {
        let line = match (line.rfind(" ("), line.ends_with(" s)")) {
            (Some(at), true) => format!("{} (TIME)", &line[..at]),
            _ => line.to_string(),
        };
        let words: Vec<String> = line
            .split(' ')
            .map(|word| {
                let digits = word.chars().filter(char::is_ascii_digit).count();
                if digits >= 16 {
                    word.replace(|c: char| c.is_ascii_digit(), "").to_string() + "KEY"
                } else {
                    word.to_string()
                }
            })
            .collect();
        text.push_str(&words.join(" "));
        text.push('\n');
    }
    text
}

#[test]
fn every_instruction_does_what_it_says() {
    let directory = tempfile::tempdir().unwrap();
    let file = data("instructions.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let facts = std::fs::read_to_string(Path::new(ROOT).join("tests/facts/process-test.md"));
    for line in facts.unwrap().lines() {
        let name = line.split(' ').nth(1).unwrap_or_default();
        if name.len() > 1 && name.chars().all(|c| c.is_ascii_uppercase() || c == '_') {
            assert!(text.contains(&format!("\"type\": \"{name}\"")), "{name}");
        }
    }
    let file = file.display().to_string();
    let done = with_resources(directory.path(), &[&file, "--timeout", "30s"]);
    assert!(done.status.success(), "{}{}", stdout(&done), stderr(&done));
    assert!(stdout(&done).contains("18 passed, 0 failed"));
}

/// The reference's library fails these.
#[test]
fn some_test_cases_pass_that_the_reference_does_not_carry_out() {
    let directory = tempfile::tempdir().unwrap();
    let file = data("beyond/cases.json").display().to_string();
    let done = with_resources(directory.path(), &[&file, "--timeout", "30s"]);
    assert!(done.status.success(), "{}{}", stdout(&done), stderr(&done));
    assert!(stdout(&done).contains("3 passed, 0 failed"));
}

#[test]
fn the_report_says_why_a_test_case_failed() {
    let directory = tempfile::tempdir().unwrap();
    let file = data("failing/cases.json").display().to_string();
    let done = with_resources(directory.path(), &[&file, "--timeout", "1s"]);
    assert_eq!(done.status.code(), Some(1), "{}", stderr(&done));
    assert!(stderr(&done).starts_with("error[FAILED]: 8 of 9 test cases failed"));
    let report = masked(&stdout(&done)).replace(&file, "cases.json");
    let golden = data("failing/report.txt");
    if std::env::var_os("SKEP_GOLDEN").is_some_and(|what| what == "write") {
        std::fs::write(golden, report).unwrap();
        return;
    }
    assert_eq!(report, std::fs::read_to_string(golden).unwrap());
}

#[test]
fn a_mocked_worker_that_cannot_continue_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let model = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="t"
        xmlns:zeebe="http://camunda.org/schema/zeebe/1.0"><process id="p" isExecutable="true">
        <startEvent id="s"/><sequenceFlow id="f" sourceRef="s" targetRef="count"/>
        <serviceTask id="count"><extensionElements><zeebe:taskDefinition type="count"/><zeebe:properties>
        <zeebe:property name="camundaModeler:exampleOutputJson" value="[1]"/></zeebe:properties>
        </extensionElements></serviceTask></process></definitions>"#;
    std::fs::write(here.join("p.bpmn"), model).unwrap();
    let text = r#"{"testCases": [{"name": "counted", "instructions": [
        {"type": "MOCK_JOB_WORKER_COMPLETE_JOB", "jobType": "count", "useExampleData": true},
        {"type": "CREATE_PROCESS_INSTANCE", "processDefinitionSelector": {"processDefinitionId": "p"}},
        {"type": "ASSERT_PROCESS_INSTANCE", "processInstanceSelector": {"processDefinitionId": "p"},
            "state": "IS_COMPLETED"}]}]}"#;
    std::fs::write(here.join("p.json"), text).unwrap();
    let done = test(here, &["p.json", "--timeout", "3s"]);
    let said = stdout(&done);
    assert_eq!(done.status.code(), Some(1), "{said}{}", stderr(&done));
    let why =
        "the mocked worker of 'count': the example data of element 'count' is not a JSON object";
    assert!(said.contains(why), "{said}");
}

#[test]
fn some_test_cases_are_run_and_reported_as_json() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let file = data("failing/cases.json").display().to_string();
    let args = [
        &file,
        "--filter",
        "another output",
        "--json",
        "--timeout",
        "1s",
    ];
    let done = with_resources(here, &args);
    assert_eq!(done.status.code(), Some(1), "{}", stderr(&done));
    let report: Value = serde_json::from_str(&stdout(&done)).unwrap();
    assert_eq!(
        (&report["passed"], &report["failed"]),
        (&0.into(), &1.into())
    );
    let case = &report["files"][0]["testCases"][0];
    assert_eq!(case["state"], "FAILED", "{report:#}");
    assert_eq!(case["failure"]["type"], "ASSERT_DECISION", "{report:#}");
    assert_eq!(case["failure"]["instruction"], 2, "{report:#}");
    assert_eq!(case["failure"]["found"], "output 0, matched rules [3]");

    let none = test(here, &[&file, "--filter", "nothing of this name"]);
    assert_eq!(none.status.code(), Some(2), "{}", stderr(&none));
    assert_eq!(test(here, &[]).status.code(), Some(2));
    assert_eq!(test(here, &["."]).status.code(), Some(2));
}

#[test]
fn a_file_that_is_no_file_of_test_cases_is_refused_before_anything_runs() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let bad = r#"{"testCases": [{"name": "one", "instructions": [
        {"type": "COMPLETE_JOB", "jobSelector": {"jobtype": "a"}}]}]}"#;
    std::fs::write(here.join("bad.json"), bad).unwrap();
    std::fs::copy(data("failing/cases.json"), here.join("good.json")).unwrap();
    let done = test(here, &["."]);
    assert_eq!(done.status.code(), Some(1));
    assert_eq!(stdout(&done), "");
    let why = stderr(&done);
    assert!(why.starts_with("error[INVALID_ARGUMENT]: "), "{why}");
    let finding = "./bad.json:2:65: test case 'one', instruction 1 (COMPLETE_JOB): unknown field `jobtype`, \
                   expected `jobType` or `elementId` or `processDefinitionId`";
    assert!(why.contains(finding), "{why}");

    std::fs::write(here.join("bad.json"), r#"{"testCases": []}"#).unwrap();
    std::fs::write(here.join("bad.bpmn"), "<no/>").unwrap();
    let done = test(here, &["good.json", "--timeout", "1s"]);
    assert_eq!(done.status.code(), Some(1));
    assert!(
        stderr(&done).contains("nothing was deployed"),
        "{}",
        stderr(&done)
    );
}

/// Other work on the server is neither seen nor touched, and no instance is left running.
#[test]
fn test_cases_on_a_running_server_do_not_touch_other_work() {
    let desk = Desk::new(&["--set", "camunda.cluster.partition-count=3"]);
    desk.says(&["deploy", &example("first-process.bpmn")]);
    let others: Vec<String> = (0..4).map(|_| desk.start(&["order"])).collect();
    let file = data("instructions.json").display().to_string();
    let address = ["--address", &desk.server.rest, "--timeout", "30s"];
    let done = with_resources(
        desk.directory.path(),
        &[&[file.as_str()], &address[..]].concat(),
    );
    assert!(done.status.success(), "{}{}", stdout(&done), stderr(&done));
    assert!(stdout(&done).contains("18 passed, 0 failed"));

    let file = data("failing/cases.json").display().to_string();
    let one = [&file, "--filter", "passes in between"];
    let done = with_resources(desk.directory.path(), &[&one, &address[..]].concat());
    assert!(done.status.success(), "{}{}", stdout(&done), stderr(&done));
    let active = desk.json(&["instances", "--state", "active", "--limit", "100"]);
    let mut active: Vec<&str> = active["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|instance| instance["processInstanceKey"].as_str().unwrap())
        .collect();
    active.sort_unstable();
    let mut others: Vec<&str> = others.iter().map(String::as_str).collect();
    others.sort_unstable();
    assert_eq!(active, others);
    // The mocks are gone: the called process waits for its own worker again.
    desk.start(&["call-activity"]);
    let waits = || desk.json(&["jobs", "--type", "called"])["items"][0]["state"] == "CREATED";
    let end = Instant::now() + Duration::from_secs(30);
    while !waits() {
        assert!(Instant::now() < end, "{}", desk.says(&["jobs"]));
    }
}

#[test]
fn an_interrupted_test_case_leaves_the_server_unchanged() {
    let desk = Desk::new(&[]);
    let here = desk.directory.path();
    let text = r#"{"testCases": [{"name": "slow", "instructions": [
        {"type": "SET_TIME", "time": "2031-01-01T00:00:00Z"},
        {"type": "CREATE_PROCESS_INSTANCE", "processDefinitionSelector": {"processDefinitionId": "order"}},
        {"type": "COMPLETE_JOB", "jobSelector": {"jobType": "nobody"}}]}]}"#;
    std::fs::create_dir(here.join("slow")).unwrap();
    std::fs::write(here.join("slow/slow.json"), text).unwrap();
    std::fs::copy(example("first-process.bpmn"), here.join("slow/order.bpmn")).unwrap();
    let mut slow = skep(here)
        .args(["test", "slow", "--timeout", "5m"])
        .args(["--address", &desk.server.rest])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let active = || desk.json(&["instances", "--state", "active"])["items"].clone();
    let end = Instant::now() + Duration::from_secs(60);
    while active().as_array().unwrap().is_empty() {
        assert!(Instant::now() < end, "no instance was started");
    }
    let began = active()[0]["startDate"].clone();
    assert!(began.as_str().unwrap().starts_with("2031-"), "{began}");
    let pid = slow.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &pid])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(slow.wait().unwrap().code(), Some(1));
    assert_eq!(active(), Value::Array(Vec::new()));
    desk.start(&["order"]);
    let began = active()[0]["startDate"].clone();
    assert!(!began.as_str().unwrap().starts_with("2031-"), "{began}");
}

#[test]
fn the_example_in_the_manual_passes() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let page = Path::new(ROOT).join("docs/how-to/test-processes.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, rest) = page.split_once("```json\n").unwrap();
    let (json, _) = rest.split_once("```").unwrap();
    std::fs::write(here.join("order.json"), json).unwrap();
    std::fs::copy(example("first-process.bpmn"), here.join("order.bpmn")).unwrap();
    let done = test(here, &["order.json"]);
    assert!(done.status.success(), "{}{}", stdout(&done), stderr(&done));
    let said = masked(&stdout(&done));
    assert_eq!(
        said,
        "order.json\n  passed  the card is charged (TIME)\n1 passed, 0 failed (TIME)\n"
    );
}
