//! Commands that change something: instances, incidents, jobs, messages, signals, variables, decisions, deployments.

use serde_json::Value;

use super::binary::{Server, run, stderr, stdout, workplace};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

pub fn example(name: &str) -> String {
    format!("{EXAMPLES}/{name}")
}

/// Runs commands for one server, in one directory.
pub struct Desk {
    pub directory: tempfile::TempDir,
    pub server: Server,
}

impl Desk {
    pub fn new(settings: &[&str]) -> Desk {
        let directory = workplace();
        let server = Server::start(directory.path(), settings);
        Desk { directory, server }
    }

    pub fn run(&self, args: &[&str]) -> std::process::Output {
        let at = ["--address", &self.server.rest];
        run(self.directory.path(), &[args, &at].concat())
    }

    /// Output of a command that must succeed.
    pub fn says(&self, args: &[&str]) -> String {
        let done = self.run(args);
        assert!(done.status.success(), "{args:?}: {}", stderr(&done));
        stdout(&done)
    }

    /// The same as JSON.
    pub fn json(&self, args: &[&str]) -> Value {
        let text = self.says(&[args, &["--json"]].concat());
        serde_json::from_str(&text).unwrap_or_else(|why| panic!("{args:?}: {why}: {text}"))
    }

    /// Error output of a command that must fail.
    pub fn refuses(&self, code: i32, args: &[&str]) -> String {
        let done = self.run(args);
        assert_eq!(
            done.status.code(),
            Some(code),
            "{args:?}: {}{}",
            stdout(&done),
            stderr(&done)
        );
        stderr(&done)
    }

    /// The key of a new instance.
    pub fn start(&self, args: &[&str]) -> String {
        self.says(&[&["start"], args].concat()).trim().to_string()
    }

    /// A field of the first item in a list, which must not be empty.
    pub fn first(&self, list: &[&str], field: &str) -> String {
        let found = self.json(list);
        let value = found["items"][0][field].as_str();
        value
            .unwrap_or_else(|| panic!("{list:?}: {found:#}"))
            .to_string()
    }
}

#[test]
fn deployed_processes_are_listed_with_their_running_instances() {
    let desk = Desk::new(&[]);
    assert!(
        desk.says(&["processes"])
            .starts_with("No processes are deployed")
    );
    let deployed = desk.json(&["deploy", &example("first-process.bpmn")]);
    assert_eq!(
        deployed["deployments"][0]["processDefinitionId"], "order",
        "{deployed:#}"
    );
    let key = desk.start(&["order", "--var", "orderId=o-1", "--var", "amount=99"]);
    let all = desk.says(&["processes"]);
    let order: Vec<&str> = all
        .lines()
        .find(|line| line.starts_with("order"))
        .unwrap()
        .split_whitespace()
        .collect();
    assert_eq!(order[..5], ["order", "1", "1", "0", "Order"], "{all}");
    desk.says(&["deploy", &example("payment.bpmn")]);
    assert!(desk.says(&["processes"]).contains("payment"), "{all}");
    let versions = desk.says(&["processes", "order"]);
    assert!(
        !versions.contains("payment") && versions.contains("order"),
        "{versions}"
    );
    let unknown = desk.refuses(1, &["processes", "odrer"]);
    let expected = "error[NOT_FOUND]: there is no process 'odrer'; did you mean 'order'?";
    assert!(unknown.starts_with(expected), "{unknown}");
    let variables = desk.json(&["instance", &key])["variables"].clone();
    assert_eq!(variables[0]["value"], "99", "{variables:#}");
    assert_eq!(variables[1]["value"], "\"o-1\"", "{variables:#}");
}

#[test]
fn a_directory_is_deployed_with_all_files_below_it() {
    let desk = Desk::new(&[]);
    let here = desk.directory.path();
    std::fs::create_dir_all(here.join("models/rules")).unwrap();
    for (from, to) in [
        ("first-process.bpmn", "models/order.bpmn"),
        ("discount.dmn", "models/rules/discount.dmn"),
    ] {
        std::fs::copy(example(from), here.join(to)).unwrap();
    }
    std::fs::write(here.join("models/README.md"), "none of them").unwrap();
    let said = desk.says(&["deploy", "models"]);
    assert!(said.contains("process order, version 1"), "{said}");
    assert!(said.contains("decision discount-rate, version 1"), "{said}");
    std::fs::create_dir(here.join("empty")).unwrap();
    let empty = desk.refuses(2, &["deploy", "empty"]);
    assert!(
        empty.contains("empty has no file that can be deployed"),
        "{empty}"
    );
}

#[test]
fn an_instance_is_cancelled_once() {
    let desk = Desk::new(&[]);
    desk.says(&["deploy", &example("first-process.bpmn")]);
    let (one, two) = (desk.start(&["order"]), desk.start(&["order"]));
    let said = desk.says(&["cancel", &one, &two]);
    assert_eq!(
        said,
        format!("Cancelled process instance {one}.\nCancelled process instance {two}.\n")
    );
    let again = desk.refuses(1, &["cancel", &one]);
    assert!(again.starts_with("error[NOT_FOUND]: "), "{again}");
    assert!(again.contains("is already TERMINATED"), "{again}");
    let third = desk.start(&["order"]);
    let job = desk.first(&["jobs"], "jobKey");
    let shown = desk.refuses(1, &["instance", &job]);
    let expected = format!(
        "error[NOT_FOUND]: {job} is the key of a job, but this command takes the key of a process instance"
    );
    assert!(shown.starts_with(&expected), "{shown}");
    let completed = desk.refuses(1, &["complete", &third]);
    assert!(
        completed.contains("takes the key of a job or of a user task"),
        "{completed}"
    );
    let wrong = desk.refuses(1, &["cancel", &job]);
    assert!(wrong.contains("is the key of a job"), "{wrong}");
    assert!(wrong.contains(&format!("`skep complete {job}`")), "{wrong}");
    let nobody = desk.refuses(1, &["cancel", "4711"]);
    assert!(nobody.starts_with("error[NOT_FOUND]: "), "{nobody}");
    let name = desk.refuses(2, &["cancel", "order"]);
    assert!(name.contains("a key is a whole number"), "{name}");
    let json = desk.json(&["cancel", &third]);
    assert_eq!(json["cancelled"]["processInstanceKey"], third);
}

#[test]
fn a_failed_job_is_given_retries_and_completed() {
    let desk = Desk::new(&[]);
    desk.says(&["deploy", &example("first-process.bpmn")]);
    let instance = desk.start(&["order"]);
    let job = desk.first(&["jobs"], "jobKey");
    let failed = desk.says(&["fail", &job, "--message", "no card", "--retries", "2"]);
    assert_eq!(failed, format!("Job {job} failed; 2 retries left.\n"));
    desk.says(&["fail", &job, "--message", "still no card"]);
    let listed = desk.says(&["incidents"]);
    assert!(
        listed.contains("still no card") && listed.contains("skep resolve "),
        "{listed}"
    );
    let incident = desk.first(&["incidents"], "incidentKey");

    let too_early = desk.refuses(1, &["resolve", &incident]);
    assert!(
        too_early.contains("Give it some with --retries N"),
        "{too_early}"
    );
    let resolved = desk.says(&["resolve", &incident, "--retries", "3"]);
    assert_eq!(resolved, format!("Resolved incident {incident}.\n"));
    let wrong = desk.refuses(1, &["resolve", &instance]);
    assert!(
        wrong.contains("is the key of a process instance"),
        "{wrong}"
    );

    desk.says(&["complete", &job, "--var", "charged=true"]);
    let page = desk.json(&["instance", &instance]);
    assert_eq!(page["instance"]["state"], "COMPLETED", "{page:#}");
    let elements = page["elementInstances"].as_array().unwrap();
    assert!(
        elements
            .iter()
            .any(|element| element["elementId"] == "paid"),
        "{page:#}"
    );
    desk.start(&["order"]);
    let second = desk.first(&["jobs"], "jobKey");
    desk.says(&["fail", &second, "--retries", "2", "--back-off", "1h"]);
    let waits = desk.refuses(1, &["fail", &second]);
    assert!(waits.contains("the end of its back-off"), "{waits}");
    let late = desk.refuses(1, &["complete", &job]);
    assert!(late.contains("is already COMPLETED"), "{late}");
}

#[test]
fn variables_are_set_and_incidents_without_jobs_resolved() {
    let desk = Desk::new(&[]);
    desk.says(&["deploy", &example("payment.bpmn")]);
    let instance = desk.start(&["payment", "--variables", r#"{"patience": "PT1H"}"#]);
    let incident = desk.first(&["incidents"], "incidentKey");
    let no_job = desk.refuses(1, &["resolve", &incident, "--retries", "1"]);
    assert!(no_job.contains("omit --retries"), "{no_job}");
    let nothing = desk.refuses(2, &["set", &instance]);
    assert!(nothing.contains("nothing to set"), "{nothing}");
    let bad = desk.refuses(2, &["set", &instance, "--var", "a={1"]);
    assert!(bad.contains("begins like JSON but is invalid"), "{bad}");
    let wrong = desk.refuses(1, &["set", &incident, "--var", "a=1"]);
    assert!(wrong.contains("is the key of an incident"), "{wrong}");
    desk.says(&["set", &instance, "--var", "invoiceId=i-7"]);
    desk.says(&["resolve", &incident]);

    let nobody = desk.refuses(
        1,
        &["publish", "invoice-paid", "--key", "i-8", "--correlate"],
    );
    assert!(nobody.starts_with("error[NOT_FOUND]: "), "{nobody}");
    let taken = desk.says(&["publish", "invoice-paid", "--key", "i-7", "--correlate"]);
    assert_eq!(
        taken,
        format!("Process instance {instance} received the message 'invoice-paid'.\n")
    );
    let waits = [
        "publish",
        "invoice-paid",
        "--key",
        "i-9",
        "--ttl",
        "1h",
        "--id",
        "m",
    ];
    assert!(
        desk.says(&waits)
            .starts_with("Published the message 'invoice-paid', key ")
    );
    let twice = desk.refuses(1, &waits);
    assert!(twice.starts_with("error[ALREADY_EXISTS]: "), "{twice}");
    let unit = desk.refuses(2, &["publish", "invoice-paid", "--ttl", "60"]);
    assert!(unit.contains("a time has a unit"), "{unit}");
    assert!(desk.json(&["signal", "holiday"])["signalKey"].is_string());
}

#[test]
fn a_decision_is_evaluated_and_deleted() {
    let desk = Desk::new(&[]);
    desk.says(&["deploy", &example("discount.dmn")]);
    let asked = [
        "evaluate",
        "discount-rate",
        "--var",
        "customer=regular",
        "--var",
        "amount=1000",
    ];
    let output = desk.says(&asked);
    assert!(output.trim().parse::<i64>().is_ok(), "{output}");
    let whole = desk.json(&asked);
    assert_eq!(whole["output"], output.trim(), "{whole:#}");
    let unknown = desk.refuses(1, &["evaluate", "nothing"]);
    assert!(unknown.starts_with("error[NOT_FOUND]: "), "{unknown}");

    let deployed = desk.json(&["deploy", &example("first-process.bpmn")]);
    let key = deployed["deployments"][0]["processDefinitionKey"]
        .as_str()
        .unwrap();
    let instance = desk.start(&["order"]);
    let running = desk.refuses(1, &["delete", &instance]);
    assert!(running.starts_with("error["), "{running}");
    desk.says(&["cancel", &instance]);
    assert!(desk.says(&["delete", &instance]).contains("from history"));
    assert_eq!(
        desk.says(&["delete", key]),
        format!("Deleted the resource {key}.\n")
    );
    let gone = desk.refuses(1, &["start", "order"]);
    assert!(gone.starts_with("error[NOT_FOUND]: "), "{gone}");
    let wrong = desk.refuses(1, &["delete", "4711"]);
    assert!(wrong.starts_with("error[NOT_FOUND]: "), "{wrong}");
}
