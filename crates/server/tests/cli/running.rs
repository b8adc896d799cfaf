//! Running and following instances, modifying and migrating them, and watching lists.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Stdio};

use super::acting::{Desk, example};
use super::binary::{PROCESS, skep, stderr, stdout};

#[test]
fn a_file_is_run_to_its_end() {
    let desk = Desk::new(&[]);
    let done = desk.run(&["run", "quick.bpmn", "--var", "n=1.50"]);
    assert!(done.status.success(), "{}", stderr(&done));
    assert_eq!(stdout(&done), "{\"n\":1.50}\n");
    let said = stderr(&done);
    for line in [
        "Deployed process quick, version 1.",
        "begin (start event) completed",
        "over (end event) completed",
        "Completed.",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    let json = desk.json(&["run", "quick.bpmn"]);
    assert_eq!(json["state"], "COMPLETED", "{json:#}");
    let unknown = desk.refuses(2, &["run", "quick.bpmn", "--process", "slow"]);
    assert!(
        unknown.contains("the deployment has no process 'slow', only: quick"),
        "{unknown}"
    );
    let bad = desk.refuses(1, &["run", "bad.bpmn"]);
    assert!(
        bad.contains("nothing was deployed") && bad.contains("nowhere"),
        "{bad}"
    );
}

#[test]
fn a_stuck_run_shows_the_reason() {
    let desk = Desk::new(&[]);
    let alone = desk.refuses(
        1,
        &["run", &example("first-process.bpmn"), "--patience", "300ms"],
    );
    assert!(alone.contains("it makes no progress"), "{alone}");
    assert!(
        alone.contains("of type 'charge-card'")
            && alone.contains("no worker has requested this type since"),
        "{alone}"
    );
    let broken = desk.refuses(1, &["run", &example("payment.bpmn")]);
    assert!(
        broken.contains("it is stuck") && broken.contains("then: skep resolve "),
        "{broken}"
    );
    assert!(broken.contains("error[EXTRACT_VALUE_ERROR]: "), "{broken}");
    let late = desk.refuses(
        1,
        &["run", &example("first-process.bpmn"), "--timeout", "200ms"],
    );
    assert!(late.contains("has not ended yet"), "{late}");
}

#[test]
fn an_instance_is_followed_while_others_work_on_it() {
    let desk = Desk::new(&[]);
    desk.says(&["deploy", &example("first-process.bpmn")]);
    let key = desk.start(&["order"]);
    let mut follower = skep(desk.directory.path())
        .args(["instance", &key, "--follow", "--address", &desk.server.rest])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(follower.stderr.take().unwrap()).lines();
    let mut until = |what: &str| {
        let found = lines
            .by_ref()
            .map(Result::unwrap)
            .find(|line| line.contains(what));
        found.unwrap_or_else(|| panic!("{what} was not said"))
    };
    until("charge (service task) began");
    let job = desk.first(&["jobs"], "jobKey");
    desk.says(&["complete", &job, "--var", "charged=true"]);
    until("charge (service task) completed");
    until("paid (end event) completed");
    until("Completed.");
    let done = follower.wait_with_output().unwrap();
    assert!(done.status.success());
    assert_eq!(stdout(&done), "{\"charged\":true}\n");
}

#[test]
fn an_instance_is_modified() {
    let desk = Desk::new(&[]);
    desk.says(&["deploy", &example("first-process.bpmn")]);
    let key = desk.start(&["order"]);
    let nothing = desk.refuses(2, &["modify", &key]);
    assert!(nothing.contains("give --activate"), "{nothing}");
    let unknown = desk.refuses(1, &["modify", &key, "--activate", "nothing"]);
    assert!(unknown.contains("nothing"), "{unknown}");
    let pair = desk.refuses(2, &["modify", &key, "--move", "charge"]);
    assert!(pair.contains("expected two names with ':'"), "{pair}");
    desk.says(&["modify", &key, "--activate", "charge", "--var", "amount=7"]);
    let page = desk.json(&["instance", &key]);
    assert_eq!(page["variables"][0]["value"], "7", "{page:#}");
    assert_eq!(page["waits"].as_array().unwrap().len(), 2, "{page:#}");
    desk.says(&[
        "modify",
        &key,
        "--terminate",
        "charge",
        "--activate",
        "paid",
    ]);
    assert_eq!(
        desk.json(&["instance", &key])["instance"]["state"],
        "COMPLETED"
    );
    let ended = desk.refuses(1, &["set", &key, "--var", "a=1"]);
    assert!(ended.contains("is already COMPLETED"), "{ended}");
    let second = desk.start(&["order"]);
    desk.says(&["modify", &second, "--move", "charge:refused"]);
    assert_eq!(
        desk.json(&["instance", &second])["instance"]["state"],
        "COMPLETED"
    );
}

/// The first process with the element `charge` renamed to `collect`.
fn second_version(desk: &Desk) {
    let model = std::fs::read_to_string(example("first-process.bpmn")).unwrap();
    let model = model.replace("\"charge\"", "\"collect\"");
    std::fs::write(desk.directory.path().join("order.bpmn"), model).unwrap();
    desk.says(&["deploy", "order.bpmn"]);
}

#[test]
fn instances_are_migrated() {
    let desk = Desk::new(&[]);
    desk.says(&["deploy", &example("first-process.bpmn")]);
    let key = desk.start(&["order"]);
    second_version(&desk);
    let unmapped = desk.refuses(1, &["migrate", &key, "--to", "order"]);
    assert!(unmapped.contains("charge"), "{unmapped}");
    let unknown = desk.refuses(1, &["migrate", &key, "--to", "order:7"]);
    assert!(
        unknown.contains("no process definition 'order:7'"),
        "{unknown}"
    );
    desk.says(&[
        "migrate",
        &key,
        "--to",
        "order:2",
        "--map",
        "charge:collect",
    ]);
    let page = desk.json(&["instance", &key]);
    assert_eq!(page["instance"]["processDefinitionVersion"], 2, "{page:#}");
    assert_eq!(page["waits"][0]["elementId"], "collect", "{page:#}");
}

#[test]
fn a_batch_is_tried_before_it_is_done() {
    let desk = Desk::new(&[]);
    desk.says(&["deploy", &example("first-process.bpmn")]);
    let keys: Vec<String> = (0..3)
        .map(|n| desk.start(&["order", "--var", &format!("n={n}")]))
        .collect();
    let everything = desk.refuses(2, &["batch", "cancel"]);
    assert!(
        everything.contains("would select every process instance"),
        "{everything}"
    );
    // As with a shell variable that is not set.
    for flag in ["--process", "--element", "--error", "--tenant"] {
        let empty = desk.refuses(2, &["batch", "cancel", flag, ""]);
        assert!(empty.contains(&format!("'{flag} <")), "{empty}");
    }
    let dry = desk.says(&["batch", "cancel", "--process", "order", "--dry-run"]);
    assert!(
        dry.starts_with("3 process instances would be cancelled.\n"),
        "{dry}"
    );
    assert!(dry.contains(&keys[0]), "{dry}");
    let one = desk.json(&[
        "batch",
        "cancel",
        "--process",
        "order",
        "--var",
        "n=1",
        "--dry-run",
    ]);
    assert_eq!(one["processInstances"], 1, "{one:#}");
    let none = desk.says(&["batch", "resolve", "--process", "order", "--dry-run"]);
    assert!(none.starts_with("Nothing would be done"), "{none}");
    let young = desk.says(&["batch", "cancel", "--older", "1h", "--dry-run"]);
    assert!(young.starts_with("Nothing would be done"), "{young}");
    assert_eq!(desk.json(&["batch"])["items"].as_array().unwrap().len(), 0);
}

#[test]
fn a_batch_migrates_and_another_one_cancels() {
    let desk = Desk::new(&[]);
    desk.says(&["deploy", &example("first-process.bpmn")]);
    let keys: Vec<String> = (0..3).map(|_| desk.start(&["order"])).collect();
    second_version(&desk);
    let plan = [
        "--process",
        "order",
        "--to",
        "order",
        "--map",
        "charge:collect",
    ];
    let dry = desk.says(&[&["batch", "migrate", "--dry-run"], &plan[..]].concat());
    assert!(dry.contains("Element charge maps to collect."), "{dry}");
    let begun = desk.json(&[&["batch", "migrate"], &plan[..]].concat());
    let done = |begun: &serde_json::Value, said: &str| {
        let key = begun["batchOperationKey"].as_str().unwrap();
        loop {
            let page = desk.says(&["batch", key]);
            if page.contains("COMPLETED") {
                assert!(page.contains(said), "{page}");
                return;
            }
        }
    };
    done(&begun, "3 done and 0 failed of 3");
    let begun = desk.json(&[
        "batch",
        "cancel",
        "--instance",
        &keys[0],
        "--instance",
        &keys[1],
    ]);
    done(&begun, "2 done and 0 failed of 2");
    let left = desk.json(&["instances", "--state", "active"]);
    assert_eq!(
        left["items"][0]["processInstanceKey"],
        keys[2].as_str(),
        "{left:#}"
    );
}

#[test]
fn a_list_is_of_late_and_looked_at_again() {
    let desk = Desk::new(&[]);
    desk.says(&["deploy", "quick.bpmn"]);
    desk.says(&["start", "quick"]);
    assert_eq!(
        desk.says(&["instances", "--since", "1ms"]),
        "No process instances.\n"
    );
    assert!(desk.says(&["instances", "--since", "1h"]).contains("quick"));
    let slow = PROCESS.replace("\"quick\"", "\"other\"");
    std::fs::write(desk.directory.path().join("other.bpmn"), slow).unwrap();
    desk.says(&["deploy", "other.bpmn"]);
    let mut watched = Watched::by(&desk, &["instances"]);
    assert!(watched.until("quick"));
    desk.says(&["start", "other"]);
    assert!(watched.until("other"));
}

/// A list that is watched until it is dropped.
struct Watched {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Watched {
    fn by(desk: &Desk, command: &[&str]) -> Watched {
        let mut process = skep(desk.directory.path())
            .args(command)
            .args(["--watch", "--address", &desk.server.rest])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Watched { process, lines }
    }

    /// Whether a line comes that has this text.
    fn until(&mut self, what: &str) -> bool {
        let mut lines = self.lines.by_ref().map(Result::unwrap);
        lines.any(|line| line.contains(what))
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn processes_batch_operations_and_the_cluster_are_watched() {
    let desk = Desk::new(&[]);
    let mut processes = Watched::by(&desk, &["processes"]);
    let mut batches = Watched::by(&desk, &["batch"]);
    let management = desk.server.management.clone();
    let mut status = Watched::by(&desk, &["status", "--management", &management]);
    assert!(processes.until("No processes are deployed"));
    assert!(batches.until("No batch operations."));
    assert!(status.until("leader"));
    desk.says(&["deploy", &example("first-process.bpmn")]);
    assert!(processes.until("order"));
    desk.start(&["order"]);
    assert!(status.until("Jobs waiting for a worker: 1"));
    desk.says(&["batch", "cancel", "--process", "order"]);
    assert!(batches.until("CANCEL_PROCESS_INSTANCE"));
    let Desk { mut server, .. } = desk;
    server.process.kill().unwrap();
    assert!(status.until("cannot connect"));
}
