//! Commands for developers of processes and workers.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

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

/// A killed shell whose child lives on would keep its output open, and with it the job.
#[test]
fn a_command_that_takes_too_long_is_killed_with_its_children() {
    let desk = Desk::new(&[]);
    desk.says(&["deploy", &example("first-process.bpmn")]);
    desk.start(&["order"]);
    let began = Instant::now();
    let worker = [
        "worker",
        "charge-card",
        "--count",
        "1",
        "--timeout",
        "1s",
        "--exec",
    ];
    let done = desk.run(&[&worker[..], &["sleep 100; true"]].concat());
    let said = stderr(&done);
    assert!(
        said.contains("the command did not end within 1 s"),
        "{said}"
    );
    assert!(began.elapsed() < Duration::from_secs(60), "{said}");
}

/// A terminal sends Ctrl+C to the worker and to all that it has started.
#[test]
fn an_interrupted_worker_waits_for_its_command_and_then_kills_it() {
    let desk = Desk::new(&[]);
    let here = desk.directory.path();
    desk.says(&["deploy", &example("first-process.bpmn")]);
    let wait = "touch began; while [ ! -e go ]; do sleep 0.05; done; echo '{\"charged\": true}'";
    let worker = || {
        let mut worker = skep(here)
            .args(["worker", "charge-card", "--exec", wait])
            .args(["--address", &desk.server.rest])
            .process_group(0)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(worker.stderr.take().unwrap()).lines();
        while !here.join("began").exists() {
            assert_eq!(worker.try_wait().unwrap(), None);
            std::thread::sleep(Duration::from_millis(10));
        }
        std::fs::remove_file(here.join("began")).unwrap();
        interrupt(&worker);
        let mut said = lines.by_ref().map(Result::unwrap);
        assert!(said.any(|line| line.contains("interrupt again")));
        (worker, lines)
    };
    desk.start(&["order"]);
    let (patient, _lines) = worker();
    std::fs::write(here.join("go"), "").unwrap();
    let done = patient.wait_with_output().unwrap();
    assert!(stdout(&done).contains(": completed"), "{}", stdout(&done));
    assert!(done.status.success());

    std::fs::remove_file(here.join("go")).unwrap();
    desk.start(&["order"]);
    let (impatient, _lines) = worker();
    interrupt(&impatient);
    let done = impatient.wait_with_output().unwrap();
    assert!(stdout(&done).contains(": failed"), "{}", stdout(&done));
    assert!(done.status.success());
    let job = &desk.json(&["jobs"])["items"][0];
    assert_eq!(job["retries"], 3, "{job:#}");
}

fn interrupt(worker: &Child) {
    let group = format!("-{}", worker.id());
    let sent = Command::new("kill").args(["-INT", "--", &group]).status();
    assert!(sent.unwrap().success());
}

#[test]
fn a_taken_port_names_the_flags_for_others() {
    let directory = workplace();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let others = ["--grpc-port", "0", "--management-port", "0"];
    let dev = ["dev", ".", "--rest-port", &port];
    let done = run(directory.path(), &[&dev[..], &others].concat());
    let said = stderr(&done);
    assert!(said.contains("error[CANNOT_LISTEN]: "), "{said}");
    assert!(said.contains("others with --rest-port"), "{said}");
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
