//! Commands for developers of processes and workers.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::acting::{Desk, example};
use super::binary::{PROCESS, run, skep, stderr, stdout, workplace};

#[test]
fn a_model_is_checked_without_a_server() {
    let directory = workplace();
    let here = directory.path();
    let good = run(here, &["check", "quick.bpmn", &example("discount.dmn")]);
    assert!(good.status.success(), "{}", stderr(&good));
    assert_eq!(stdout(&good), "No findings: the 2 files can be deployed.\n");
    let bad = run(here, &["check", "bad.bpmn"]);
    assert_eq!(bad.status.code(), Some(1));
    assert!(
        stderr(&bad).contains("ERROR[REFERENCE_NOT_FOUND]"),
        "{}",
        stderr(&bad)
    );
    let json = run(here, &["check", "bad.bpmn", "--json"]);
    assert_eq!(json.status.code(), Some(1));
    let found: serde_json::Value = serde_json::from_str(&stdout(&json)).unwrap();
    assert_eq!(found["files"][0]["file"], "bad.bpmn", "{found:#}");
    assert_eq!(
        found["files"][0]["findings"][0]["code"], "REFERENCE_NOT_FOUND",
        "{found:#}"
    );
    std::fs::create_dir_all(here.join("models/deep")).unwrap();
    std::fs::copy(here.join("quick.bpmn"), here.join("models/quick.bpmn")).unwrap();
    std::fs::copy(example("discount.dmn"), here.join("models/deep/rates.dmn")).unwrap();
    let whole = run(here, &["check", "models"]);
    assert_eq!(
        stdout(&whole),
        "No findings: the 2 files can be deployed.\n",
        "{}",
        stderr(&whole)
    );
    std::fs::write(here.join("notes.txt"), "hello").unwrap();
    let text = run(here, &["check", "notes.txt"]);
    assert!(
        stderr(&text).contains("RESOURCE_TYPE_UNKNOWN"),
        "{}",
        stderr(&text)
    );
    let nothing = run(here, &["check", "nowhere.bpmn"]);
    assert!(
        stderr(&nothing).starts_with("error[INPUT_OUTPUT]: "),
        "{}",
        stderr(&nothing)
    );
}

#[test]
fn the_example_that_is_written_works() {
    let desk = Desk::new(&[]);
    let wrote = run(desk.directory.path(), &["init", "shop"]);
    assert!(wrote.status.success(), "{}", stderr(&wrote));
    assert!(stdout(&wrote).contains("cd shop"), "{}", stdout(&wrote));
    let again = run(desk.directory.path(), &["init", "shop"]);
    assert!(
        stderr(&again).contains("order.bpmn, charge-card.sh, README.md"),
        "{}",
        stderr(&again)
    );
    let wrote = run(desk.directory.path(), &["init", "other", "--json"]);
    let wrote: serde_json::Value = serde_json::from_str(&stdout(&wrote)).unwrap();
    assert_eq!(wrote["files"][0], "other/order.bpmn", "{wrote}");
    desk.says(&["deploy", "shop/order.bpmn"]);
    for (amount, charged) in [("99", true), ("900", false)] {
        let key = desk.start(&["order", "--var", &format!("amount={amount}")]);
        let done = desk.says(&[
            "worker",
            "charge-card",
            "--exec",
            "sh shop/charge-card.sh",
            "--count",
            "1",
        ]);
        assert!(
            done.contains(&format!("of instance {key}: completed")),
            "{done}"
        );
        let page = desk.json(&["instance", &key]);
        let variables = page["variables"].as_array().unwrap();
        let found = variables
            .iter()
            .find(|variable| variable["name"] == "charged");
        assert_eq!(found.unwrap()["value"], charged.to_string(), "{page:#}");
    }
}

#[test]
fn a_worker_fails_jobs_or_leaves_them_to_its_command() {
    let desk = Desk::new(&[]);
    desk.says(&["deploy", &example("first-process.bpmn")]);
    let worker = |command: &str, count: &str| {
        desk.says(&["worker", "charge-card", "--exec", command, "--count", count])
    };
    desk.start(&["order"]);
    assert!(worker("echo no card >&2; exit 3", "3").contains(": failed"));
    let listed = desk.says(&["incidents"]);
    assert!(listed.contains("no card"), "{listed}");
    let incident = desk.first(&["incidents"], "incidentKey");
    desk.says(&["resolve", &incident, "--retries", "1"]);
    assert!(worker("echo '[1]'", "1").contains(": failed"));
    assert!(desk.says(&["incidents"]).contains("is not a JSON object"));
    let incident = desk.first(&["incidents"], "incidentKey");
    desk.says(&["resolve", &incident, "--retries", "1"]);
    let own = format!(
        "{} complete $SKEP_JOB_KEY --var charged=true --address {} && exit 99",
        env!("CARGO_BIN_EXE_skep"),
        desk.server.rest
    );
    assert!(worker(&own, "1").contains("reported by its command"));
    assert_eq!(desk.json(&["instances"])["items"][0]["state"], "COMPLETED");

    let how = desk.refuses(2, &["worker", "charge-card"]);
    assert!(
        how.contains("--exec") && how.contains("--complete"),
        "{how}"
    );
    let key = desk.start(&["order"]);
    desk.says(&[
        "worker",
        "charge-card",
        "--complete",
        "--var",
        "charged=false",
        "--count",
        "1",
    ]);
    assert_eq!(
        desk.json(&["instance", &key])["instance"]["state"],
        "COMPLETED"
    );
}

#[test]
fn changes_in_a_directory_are_deployed_and_shown() {
    let directory = workplace();
    let here = directory.path();
    let ports = [
        "--rest-port",
        "0",
        "--grpc-port",
        "0",
        "--management-port",
        "0",
    ];
    let mut dev = skep(here)
        .args(["dev", "."])
        .args(ports)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(dev.stdout.take().unwrap()).lines();
    let mut until = |what: &str| {
        let found = lines
            .by_ref()
            .map(Result::unwrap)
            .find(|line| line.contains(what));
        found.unwrap_or_else(|| panic!("{what} was not said"))
    };
    let up = until("REST and web interface on ");
    let rest = up
        .split_whitespace()
        .find(|word| word.starts_with("http://"))
        .unwrap();
    let rest = rest.trim_end_matches(',').to_string();
    // One of the two files cannot be deployed; the other one is.
    until("nothing was deployed");
    until("deployed process quick, version 1");
    let started = run(
        here,
        &["start", "quick", "--var", "a=1", "--address", &rest],
    );
    assert!(started.status.success(), "{}", stderr(&started));
    until("process quick began");
    until("over (end event) completed");
    std::fs::write(
        here.join("quick.bpmn"),
        PROCESS.replace("id=\"over\"", "id=\"over\" name=\"Over\""),
    )
    .unwrap();
    until("deployed process quick, version 2");
    let pid = dev.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &pid])
            .status()
            .unwrap()
            .success()
    );
    assert!(dev.wait().unwrap().success());
    let late = run(here, &["start", "quick", "--address", &rest]);
    assert!(
        stderr(&late).starts_with("error[NO_SERVER]: "),
        "{}",
        stderr(&late)
    );
}
