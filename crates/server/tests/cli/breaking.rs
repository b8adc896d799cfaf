//! `skep chaos`: a cluster is broken on purpose, judged, and put away again.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::binary::{run, skep, stderr, stdout, workplace};

/// One node with some load; `FAULT` is what happens to it.
const PLAN: &str = "name: small
hypothesis: What was acknowledged outlives the end of its node.
nodes:
  settings:
    camunda.data.primary-storage.disk.free-space.processing: 2MB
    camunda.data.primary-storage.disk.free-space.replication: 1MB
steps:
- {name: workers, do: {workers: true}}
- {name: base, do: {load: {per-second: 30}}}
- {name: first, do: {wait: {until: {created: 20}, limit-s: 120}}}
- {name: fault, do: FAULT}
- {name: load, do: stop-load}
drain-s: 30
criteria:
- {name: nothing is lost, measure: {of: ledger.lost}, limit: {at-most: 0}}
- {name: nothing is doubled, measure: {of: ledger.surplus}, limit: {at-most: 0}}
- {name: no job comes again, measure: {of: ledger.repeated}, limit: {at-most: 0}}
- {name: instances, measure: {of: ledger.acknowledged}, limit: {at-least: 20}}
";
const KILLED: &str = "{kill: {node: 0}}}
- {name: start, do: start}
- {name: again, do: {wait: {until: {created: 10}, limit-s: 120}}";
const ERASED: &str = "{replace: {node: 0}}";
const PAUSED: &str = "{pause: {node: 0}}}
- {name: long, after-s: 600, do: resume";

fn plan(here: &Path, fault: &str) {
    std::fs::write(here.join("plan.yaml"), PLAN.replace("FAULT", fault)).unwrap();
}

/// Processes whose command line names this directory, other than those that undo.
fn processes_of(directory: &Path) -> Vec<String> {
    let directory = directory.canonicalize().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let line = std::fs::read_to_string(entry.ok()?.path().join("cmdline")).ok()?;
        let serves = line.contains("serve") && line.contains(directory.to_str()?);
        serves.then(|| line.replace('\0', " "))
    });
    processes.collect()
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(
            begin.elapsed() < Duration::from_secs(180),
            "still not: {what}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_outlives_a_kill_is_held_and_the_control_that_loses_data_is_refuted() {
    let directory = workplace();
    let here = directory.path();
    for (fault, code, said) in [
        (KILLED, 0, "small: HELD (4 of 4 criteria held)"),
        (ERASED, 1, "small: REFUTED"),
    ] {
        plan(here, fault);
        let out = format!("report-{code}");
        let ran = run(here, &["chaos", "plan.yaml", "--report", &out]);
        assert_eq!(
            ran.status.code(),
            Some(code),
            "{}{}",
            stdout(&ran),
            stderr(&ran)
        );
        assert!(stdout(&ran).starts_with(said), "{}", stdout(&ran));
        let out = here.join(out);
        assert!(!out.join("nodes").exists(), "the data of the nodes is gone");
        assert!(out.join("node-0.log").exists());
        assert_eq!(processes_of(here), [""; 0]);
        let html = std::fs::read_to_string(out.join("report.html")).unwrap();
        assert!(html.contains("nothing is lost"));
    }
    let lost = run(here, &["chaos", "report", "report-1", "--format", "json"]);
    assert_eq!(lost.status.code(), Some(1));
    let lost: Value = serde_json::from_str(&stdout(&lost)).unwrap();
    let measured = &lost["judged"][0]["verdict"]["refuted"]["measured"];
    assert!(measured.as_f64().unwrap() >= 20.0, "{lost:#}");
    let both = run(here, &["chaos", "report", "report-0", "report-1"]);
    assert_eq!(both.status.code(), Some(1), "{}", stderr(&both));
    let twice = run(here, &["chaos", "plan.yaml", "--report", "report-0"]);
    assert!(
        stderr(&twice).contains("has a report already"),
        "{}",
        stderr(&twice)
    );
}

#[test]
fn a_run_that_is_killed_leaves_nothing_behind() {
    let directory = workplace();
    let here = directory.path();
    plan(here, PAUSED);
    let mut chaos = skep(here)
        .args(["chaos", "plan.yaml", "--report", "report"])
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(here.join("said")).unwrap())
        .spawn()
        .unwrap();
    eventually("the node is paused", || {
        let said = std::fs::read_to_string(here.join("said")).unwrap();
        assert!(chaos.try_wait().unwrap().is_none(), "{said}");
        said.contains("fault      done: node 0")
    });
    assert_eq!(processes_of(here).len(), 1);
    chaos.kill().unwrap();
    chaos.wait().unwrap();
    eventually("the node is gone", || processes_of(here).is_empty());
    eventually("its data is gone", || !here.join("report/nodes").exists());
}

#[test]
fn what_cannot_be_done_is_refused_by_name() {
    let directory = workplace();
    let here = directory.path();
    plan(here, KILLED);
    std::fs::write(
        here.join("cut.yaml"),
        PLAN.replace("FAULT", "{cut: {node: 0}}"),
    )
    .unwrap();
    for (args, code, said) in [
        (
            &["broker-loss", "--driver", "kubernetes"][..],
            2,
            "the kubernetes driver is not built yet",
        ),
        (
            &["none"],
            2,
            "there are broker-loss, disk-full, scale-up, worker-outage",
        ),
        (
            &["cut.yaml"],
            2,
            "cut.yaml: the action `cut` (cut connections) is not built yet",
        ),
        (&["plan.yaml", "--full"], 2, "no full form"),
        (
            &["plan.yaml", "--against", "127.0.0.1"],
            1,
            "faults on a cluster of others (127.0.0.1) are not built yet",
        ),
        (&["report", "."], 1, "has no report"),
    ] {
        let refused = run(here, &[&["chaos"], args].concat());
        assert_eq!(refused.status.code(), Some(code), "{}", stderr(&refused));
        assert!(stderr(&refused).contains(said), "{}", stderr(&refused));
    }
    let listed = run(here, &["chaos", "list", "--json"]);
    let listed: Value = serde_json::from_str(&stdout(&listed)).unwrap();
    for experiment in listed["experiments"].as_array().unwrap() {
        let name = experiment["name"].as_str().unwrap();
        let shown = run(here, &["chaos", "show", name]);
        assert!(
            stdout(&shown).starts_with(&format!("name: {name}\n")),
            "{}",
            stdout(&shown)
        );
    }
}
