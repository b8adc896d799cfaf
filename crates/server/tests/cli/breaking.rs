//! `skep chaos`: breaks a cluster on purpose, judges it, and cleans up.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::binary::{lack, not_run, run, skep, stderr, stdout, workplace};

/// One node with some load; `FAULT` is replaced by a fault.
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
const RECONNECTED: &str = "{store: stopped}}
- {name: away, do: {wait: {until: {created: 10}, limit-s: 120}}}
- {name: serves, do: {store: serves}}
- {name: search, do: {wait: {until: {answer: {node: 0, method: POST, path: /v2/process-instances/search, body: '{}', status: 200}}, limit-s: 120}}";
const DATABASE: &str = "nodes:\n  store: postgres\n";
const CUT: &str = "{slow: {way: to-workers, delay-ms: 20}}}
- {name: cut, do: {cut: {around: {leader-of: 1}}}}
- {name: others, do: {wait: {until: {created: 10}, limit-s: 120}}}
- {name: heal, do: heal}
- {name: even, do: {wait: {until: even, limit-s: 120}}";
const LEASED: &str = "start}
- {name: kill, after-s: 3, do: {kill: {node: 0}}}
- {name: owned, do: {wait: {until: owned, limit-s: 120}}}
- {name: again, do: {wait: {until: {created: 10}, limit-s: 120}}";
const BUCKET: &str = "nodes:\n  leases: true\n  spare: 1\n";
const UNKNOWN: &str = "{fail-disk: {who: {node: 0}, how: space-unknown}}}
- {name: unknown, do: {wait: {until: {created: 150}, limit-s: 120}}}
- {name: mend, do: mend-disks}
- {name: again, do: {wait: {until: {created: 10}, limit-s: 120}}";
const FAULTY: &str = "{fail-disk: {who: {node: 0}, how: space-unknown}}}
- {name: long, after-s: 600, do: mend-disks";
const HOGGED: &str = "{hog: 1}}
- {name: long, after-s: 600, do: {hog: 0}";
const SMALL: &str = "nodes:
  quota: 0.5
  disk-mib: 192
  settings:
    camunda.data.primary-storage.log-stream.log-segment-size: 4MB
";
const FILLED: &str = "{pause: {node: 0}}}
- {name: fill, do: {fill: {who: {node: 0}, leave-mib: 44}}}
- {name: long, after-s: 600, do: resume";
const ISOLATED: &str = "{cut: {around: {leader-of: 1}}}}
- {name: long, after-s: 600, do: heal";
const PAUSED: &str = "{pause: {node: 0}}}
- {name: long, after-s: 600, do: resume";

fn plan(here: &Path, fault: &str) {
    std::fs::write(here.join("plan.yaml"), PLAN.replace("FAULT", fault)).unwrap();
}

/// Servers whose command line names this directory, without the processes that undo faults.
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
fn a_kill_is_survived_and_the_control_that_loses_data_is_refuted() {
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

/// A night of experiments went with the first error, and its exit code was that of REFUTED.
#[test]
fn a_run_that_cannot_begin_is_not_run_and_the_next_one_is() {
    let directory = workplace();
    let here = directory.path();
    plan(here, KILLED);
    let broken = PLAN.replace("FAULT", KILLED);
    let broken = broken.replace("name: small\n", "name: broken\n");
    let setting = "  settings:\n    camunda.cluster.partition-count: many\n";
    let broken = broken.replace("  settings:\n", setting);
    std::fs::write(here.join("broken.yaml"), broken).unwrap();
    let words = ["chaos", "broken.yaml", "plan.yaml", "--report", "out"];
    let ran = run(here, &words);
    let said = format!("{}{}", stdout(&ran), stderr(&ran));
    assert_eq!(ran.status.code(), Some(3), "{said}");
    for headline in [
        "broken: NOT RUN (a node ended while it started",
        "small: HELD (4 of 4 criteria held)",
    ] {
        assert!(said.contains(headline), "{said}");
    }
    for name in ["broken", "small"] {
        assert!(here.join("out").join(name).join("run.json").exists());
    }
    assert_eq!(processes_of(here), [""; 0]);
}

/// A run of the plan, once it has said this.
fn begun(here: &Path, what: &str, says: &str) -> Child {
    let mut chaos = skep(here)
        .args(["chaos", "plan.yaml", "--report", "report"])
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(here.join("said")).unwrap())
        .spawn()
        .unwrap();
    eventually(what, || {
        let said = std::fs::read_to_string(here.join("said")).unwrap();
        assert!(chaos.try_wait().unwrap().is_none(), "{said}");
        said.contains(says)
    });
    chaos
}

#[test]
fn a_run_that_is_killed_leaves_nothing_behind() {
    let directory = workplace();
    let here = directory.path();
    plan(here, PAUSED);
    let mut chaos = begun(here, "the node is paused", "fault      done: node 0");
    assert_eq!(processes_of(here).len(), 1);
    chaos.kill().unwrap();
    chaos.wait().unwrap();
    eventually("the node is gone", || processes_of(here).is_empty());
    eventually("its data is gone", || !here.join("report/nodes").exists());
}

/// Control groups of runs with this process number. In another container one can have had the same.
fn groups_of(run: u32) -> BTreeSet<PathBuf> {
    let prefix = format!("skep-chaos-{run}-");
    let roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/cpu"];
    let all = roots
        .into_iter()
        .filter_map(|root| std::fs::read_dir(root).ok());
    let paths = all.flatten().map(|entry| entry.unwrap().path());
    let own = |path: &PathBuf| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(&prefix))
    };
    paths.filter(own).collect()
}

#[test]
fn a_limited_node_with_a_disk_goes_with_a_run_that_is_killed() {
    if let Some(why) = lack("cpu-budget").or_else(|| lack("disk-full")) {
        return not_run("sandbox", &why);
    }
    let directory = workplace();
    let here = directory.path();
    let limited = PLAN.replace("FAULT", FILLED);
    let limited = limited.replace("nodes:\n  settings:\n", SMALL);
    std::fs::write(here.join("plan.yaml"), limited).unwrap();
    let mut chaos = begun(here, "the disk is full", "fill       done: node 0");
    let number = chaos.id();
    let groups = groups_of(number);
    assert!(!groups.is_empty());
    chaos.kill().unwrap();
    chaos.wait().unwrap();
    eventually("the node is gone", || processes_of(here).is_empty());
    eventually("its data is gone", || !here.join("report/nodes").exists());
    eventually("its group is gone", || {
        groups_of(number).is_disjoint(&groups)
    });
}

/// Namespaces, and links of this machine to them, that the run with this process number has made.
fn network_of(run: u32) -> Vec<String> {
    let names = |directory: &str| {
        let all = std::fs::read_dir(directory).into_iter().flatten();
        let names = all.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        names.collect::<Vec<String>>()
    };
    let (namespace, link) = (format!("skep-chaos-{run}-"), format!("skc{run}"));
    let mut found = names("/var/run/netns");
    found.retain(|name| name.starts_with(&namespace));
    let links = names("/sys/class/net").into_iter();
    // The bridge, and a link for each node.
    found.extend(links.filter(|name| {
        let rest = name.strip_prefix(&link);
        rest.is_some_and(|rest| rest.starts_with(['b', 'n']))
    }));
    found
}

#[test]
fn a_network_of_namespaces_goes_with_a_run_that_is_killed() {
    let directory = workplace();
    let here = directory.path();
    let isolated = PLAN.replace("FAULT", ISOLATED);
    let isolated = isolated.replace("nodes:\n", "nodes:\n  count: 3\n");
    std::fs::write(here.join("plan.yaml"), isolated).unwrap();
    let said_to = |file| std::fs::File::create(here.join(file)).unwrap();
    let mut chaos = skep(here)
        .args([
            "chaos",
            "plan.yaml",
            "--report",
            "report",
            "--net",
            "namespace",
        ])
        .stdout(said_to("verdict"))
        .stderr(said_to("said"))
        .spawn()
        .unwrap();
    let mut ended = None;
    eventually("the leader is cut off", || {
        ended = chaos.try_wait().unwrap();
        let said = std::fs::read_to_string(here.join("said")).unwrap();
        ended.is_some() || said.contains("fault      done: node")
    });
    if let Some(status) = ended {
        let verdict = std::fs::read_to_string(here.join("verdict")).unwrap();
        let is_lack = verdict.contains("--net namespace needs root")
            || verdict.contains("does not let programs run in a network namespace");
        assert!(is_lack && status.code() == Some(3), "{verdict}");
        return not_run("sandbox", &verdict);
    }
    let number = chaos.id();
    // Three namespaces, three links and the bridge.
    assert_eq!(network_of(number).len(), 7, "{:?}", network_of(number));
    chaos.kill().unwrap();
    chaos.wait().unwrap();
    eventually("the nodes are gone", || processes_of(here).is_empty());
    eventually("its network is gone", || network_of(number).is_empty());
    eventually("its data is gone", || !here.join("report/nodes").exists());
}

fn is_hog(number: &u32) -> bool {
    let line = std::fs::read_to_string(format!("/proc/{number}/cmdline"));
    line.is_ok_and(|line| line.contains("while :; do :; done"))
}

#[test]
fn a_program_that_uses_cpu_goes_with_a_run_that_is_killed() {
    let directory = workplace();
    let here = directory.path();
    plan(here, HOGGED);
    let mut chaos = begun(here, "the program runs", "fault      done");
    let hogs = descendants(chaos.id());
    let hogs: Vec<u32> = hogs.into_iter().filter(is_hog).collect();
    assert_eq!(hogs.len(), 1);
    chaos.kill().unwrap();
    chaos.wait().unwrap();
    eventually("it is gone", || !hogs.iter().any(is_hog));
    eventually("the node is gone", || processes_of(here).is_empty());
}

fn is_tracer(number: &u32) -> bool {
    let line = std::fs::read_to_string(format!("/proc/{number}/cmdline"));
    line.is_ok_and(|line| line.starts_with("strace\0"))
}

#[test]
fn what_makes_a_disk_fail_goes_with_a_run_that_is_killed() {
    if let Some(why) = lack("network-disk") {
        return not_run("sandbox", &why);
    }
    let directory = workplace();
    let here = directory.path();
    plan(here, FAULTY);
    let mut chaos = begun(here, "the disk fails", "fault      done: node 0");
    let tracers = descendants(chaos.id());
    let tracers: Vec<u32> = tracers.into_iter().filter(is_tracer).collect();
    assert_eq!(tracers.len(), 1);
    chaos.kill().unwrap();
    chaos.wait().unwrap();
    eventually("it is gone", || !tracers.iter().any(is_tracer));
    eventually("the node is gone", || processes_of(here).is_empty());
    eventually("its data is gone", || !here.join("report/nodes").exists());
}

#[test]
fn a_leader_that_is_cut_off_is_replaced_and_nothing_is_lost() {
    let directory = workplace();
    let here = directory.path();
    let plan = PLAN.replace("FAULT", CUT);
    let plan = plan.replace("nodes:\n", "nodes:\n  count: 3\n  partitions: 1\n");
    // A job that is delayed beyond its time-out is activated again: the test must not depend on that.
    let repeated =
        "- {name: no job comes again, measure: {of: ledger.repeated}, limit: {at-most: 0}}\n";
    std::fs::write(here.join("plan.yaml"), plan.replace(repeated, "")).unwrap();
    let ran = run(here, &["chaos", "plan.yaml", "--report", "report"]);
    let said = format!("{}{}", stdout(&ran), stderr(&ran));
    assert_eq!(ran.status.code(), Some(0), "{said}");
    assert!(
        said.contains("small: HELD (3 of 3 criteria held)"),
        "{said}"
    );
    assert_eq!(processes_of(here), [""; 0]);
}

/// A plan whose nodes keep secondary storage in PostgreSQL.
fn plan_with_database(here: &Path, fault: &str) {
    let plan = PLAN.replace("FAULT", fault).replace("nodes:\n", DATABASE);
    std::fs::write(here.join("plan.yaml"), plan).unwrap();
}

/// The ids of all descendants of this process.
fn descendants(of: u32) -> Vec<u32> {
    let parents = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let entry = entry.ok()?;
        let number: u32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?;
        Some((number, parent.parse().ok()?))
    });
    let parents: Vec<(u32, u32)> = parents.collect();
    let mut found = vec![of];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        let children = parents.iter().filter(|(_, its)| *its == parent);
        found.extend(children.map(|(number, _)| *number));
        next += 1;
    }
    found.split_off(1)
}

fn is_database(number: &u32) -> bool {
    let line = std::fs::read_to_string(format!("/proc/{number}/cmdline"));
    line.is_ok_and(|line| line.contains("postgres\0-D"))
}

#[test]
fn a_database_comes_when_the_plan_says_so_and_goes_with_a_run_that_is_killed() {
    let directory = workplace();
    let here = directory.path();
    plan_with_database(here, RECONNECTED);
    let ran = run(here, &["chaos", "plan.yaml", "--report", "report"]);
    let said = format!("{}{}", stdout(&ran), stderr(&ran));
    if said.contains("PostgreSQL is not installed") {
        // Without PostgreSQL nothing is done, which does not count as success.
        assert_eq!(ran.status.code(), Some(3), "{said}");
        assert!(!here.join("report/nodes").exists());
        return;
    }
    assert_eq!(ran.status.code(), Some(0), "{said}");
    let log = std::fs::read_to_string(here.join("report/node-0.log")).unwrap();
    assert!(log.contains("PostgreSQL at 127.0.0.1"), "{log}");

    let paused = format!("{{store: serves}}}}\n- {{name: fault, do: {PAUSED}");
    plan_with_database(here, &paused);
    let mut chaos = skep(here)
        .args(["chaos", "plan.yaml", "--report", "killed"])
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(here.join("said")).unwrap())
        .spawn()
        .unwrap();
    eventually("the node is paused", || {
        let said = std::fs::read_to_string(here.join("said")).unwrap();
        assert!(chaos.try_wait().unwrap().is_none(), "{said}");
        said.contains("fault      done: node 0")
    });
    let databases = descendants(chaos.id());
    let databases: Vec<u32> = databases.into_iter().filter(is_database).collect();
    assert!(!databases.is_empty());
    chaos.kill().unwrap();
    chaos.wait().unwrap();
    eventually("the database is gone", || {
        !databases.iter().any(is_database)
    });
    eventually("the node is gone", || processes_of(here).is_empty());
}

#[test]
fn the_number_of_a_killed_process_goes_to_the_one_that_waits() {
    let directory = workplace();
    let here = directory.path();
    let plan = PLAN.replace("FAULT", LEASED).replace("nodes:\n", BUCKET);
    std::fs::write(here.join("plan.yaml"), plan).unwrap();
    let ran = run(here, &["chaos", "plan.yaml", "--report", "report"]);
    let said = format!("{}{}", stdout(&ran), stderr(&ran));
    if said.contains("a server of S3, is not installed") {
        // Without a store nothing is done, which does not count as success.
        assert_eq!(ran.status.code(), Some(3), "{said}");
        assert!(!here.join("report/nodes").exists());
        return;
    }
    assert_eq!(ran.status.code(), Some(0), "{said}");
    assert!(
        said.contains("small: HELD (4 of 4 criteria held)"),
        "{said}"
    );
    let log = std::fs::read_to_string(here.join("report/node-1.log")).unwrap();
    assert!(log.contains("this process has the number"), "{log}");
    assert_eq!(processes_of(here), [""; 0]);
}

#[test]
fn a_disk_that_does_not_tell_its_free_space_is_not_taken_for_a_full_one() {
    let directory = workplace();
    let here = directory.path();
    plan(here, UNKNOWN);
    let ran = run(here, &["chaos", "plan.yaml", "--report", "report"]);
    let said = format!("{}{}", stdout(&ran), stderr(&ran));
    if said.contains("may not attach to running programs") {
        // Without the fault nothing is done, which does not count as success.
        assert_eq!(ran.status.code(), Some(3), "{said}");
        return;
    }
    assert_eq!(ran.status.code(), Some(0), "{said}");
    assert!(said.contains("mend       done: 1 disk"), "{said}");
    let log = std::fs::read_to_string(here.join("report/node-0.log")).unwrap();
    assert!(log.contains("DISK_NOT_WATCHED"), "{log}");
    assert_eq!(processes_of(here), [""; 0]);
}

/// Checks exit code and text of each of these command lines.
fn are_refused(here: &Path, wrong: &[(&[&str], i32, &str)]) {
    for (args, code, said) in wrong {
        let refused = run(here, &[&["chaos"], *args].concat());
        assert_eq!(refused.status.code(), Some(*code), "{}", stderr(&refused));
        assert!(stderr(&refused).contains(said), "{}", stderr(&refused));
    }
}

#[test]
fn a_directory_that_would_be_deleted_with_the_nodes_is_refused() {
    let directory = workplace();
    let here = directory.path();
    plan(here, KILLED);
    std::fs::create_dir_all(here.join("mine/nodes")).unwrap();
    std::fs::write(here.join("mine/nodes/list"), "").unwrap();
    let report = ["plan.yaml", "--report", "mine"];
    are_refused(here, &[(&report[..], 2, "mine/nodes exists")]);
    assert!(here.join("mine/nodes/list").exists());
}

#[test]
fn what_is_not_for_a_cluster_of_others_is_refused() {
    let directory = workplace();
    let here = directory.path();
    plan(here, KILLED);
    let wrong = [
        (
            &["plan.yaml", "--against", "127.0.0.1"][..],
            2,
            "--against changes nothing on a cluster of others (127.0.0.1:8080)",
        ),
        (
            &["worker-outage", "--against", "ftp://127.0.0.1"],
            2,
            "--against takes a host, HOST:PORT, or a URL",
        ),
        (
            &["worker-outage", "--management-address", "127.0.0.1"],
            2,
            "--against",
        ),
        (
            &["worker-outage", "--against", "a", "--net", "namespace"],
            2,
            "--against loads nodes that are there",
        ),
    ];
    are_refused(here, &wrong);
}

#[test]
fn unsupported_drivers_and_faults_are_refused_by_name() {
    let directory = workplace();
    let here = directory.path();
    plan(here, KILLED);
    let backup = PLAN.replace("FAULT", "{backup: {limit-s: 9}}");
    std::fs::write(here.join("backup.yaml"), backup).unwrap();
    let wrong = [
        (
            &["broker-loss", "--driver", "kubernetes"][..],
            2,
            "needs --context and --namespace",
        ),
        (
            &["broker-loss", "--allow", "kill"],
            2,
            "add --driver kubernetes",
        ),
        (
            &["broker-loss", "--allow", "pause"],
            2,
            "pods cannot be paused",
        ),
        (
            &["broker-loss", "--driver", "vm"],
            2,
            "the drivers are `process`, `container` and `kubernetes`",
        ),
        (
            &["broker-loss", "--driver", "container", "--net", "namespace"],
            2,
            "--net namespace needs --driver process",
        ),
        (
            &["broker-loss", "--selector", "a=b"],
            2,
            "--selector, --allow and --yes are about pods",
        ),
        (
            &["broker-loss", "--image", "skep:1"],
            2,
            "--engine and --image are about containers",
        ),
        (
            &["none"],
            2,
            "expected one of blind-spots, broker-loss, cold-start,",
        ),
        (
            &["backup.yaml"],
            2,
            "the nodes take no backups: set nodes.backups to true",
        ),
        (&["plan.yaml", "--full"], 2, "no full form"),
        (
            &["plan.yaml", "plan.yaml", "--report", "out"],
            2,
            "of another plan with the same name",
        ),
        (&["report", "."], 1, "has no report"),
    ];
    are_refused(here, &wrong);
}

#[test]
fn the_list_of_experiments_fits_a_terminal_and_each_is_shown() {
    let directory = workplace();
    let here = directory.path();
    let page = stdout(&run(here, &["chaos", "list"]));
    let is_short = |line: &str| line.chars().count() <= 80 || line.contains("no: needs");
    assert!(page.lines().all(is_short), "{page}");
    assert!(
        page.contains("    leaders and followers of three nodes are killed and stopped\n"),
        "{page}"
    );
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

#[test]
fn a_seed_names_the_same_faults_each_time() {
    let directory = workplace();
    let here = directory.path();
    let shown = |seed: &[&str]| {
        let words = [&["chaos", "show", "broker-loss"], seed].concat();
        stdout(&run(here, &words))
    };
    let seven = shown(&["--seed", "7"]);
    assert!(seven.starts_with("name: broker-loss\n"), "{seven}");
    assert_eq!(seven, shown(&["--seed", "7"]));
    assert_ne!(seven, shown(&["--seed", "8"]));
    assert_ne!(seven, shown(&[]));
}

#[test]
fn without_an_engine_a_run_in_containers_says_what_is_missing() {
    let directory = workplace();
    let here = directory.path();
    plan(here, KILLED);
    let words = "chaos plan.yaml --report out --driver container --engine";
    let words: Vec<&str> = words.split(' ').chain(["./no-engine"]).collect();
    let ran = run(here, &words);
    assert_eq!(ran.status.code(), Some(3), "{}", stderr(&ran));
    assert!(
        stdout(&ran).contains("no container engine answers"),
        "{}",
        stdout(&ran)
    );
    assert!(here.join("out/run.json").exists());
}

/// Flags of a run on pods, with a `kubectl` that is not there.
const ON_PODS: &str =
    "--driver kubernetes --context here --namespace orders --engine ./no-kubectl --report out";

#[test]
fn what_is_not_allowed_on_pods_is_refused_before_anything_is_asked() {
    let directory = workplace();
    let here = directory.path();
    plan(here, KILLED);
    let on_pods = |more: &[&str]| {
        let words: Vec<&str> = ON_PODS.split(' ').collect();
        run(here, &[&["chaos", "plan.yaml"][..], &words, more].concat())
    };
    let refused = on_pods(&[]);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    let said = stderr(&refused);
    assert!(
        said.contains("step fault (kill -9 of node 0): it is not allowed; --allow kill permits it"),
        "{said}"
    );
    assert!(!here.join("out").exists());
    let refused = on_pods(&["--allow", "kill"]);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("orders was not typed"));
    // Without kubectl nothing is done, which does not count as success.
    let ran = on_pods(&["--allow", "kill", "--yes"]);
    assert_eq!(ran.status.code(), Some(3), "{}", stderr(&ran));
    let said = stdout(&ran);
    assert!(said.contains("the pods cannot be looked at"), "{said}");
    assert!(here.join("out/run.json").exists());
}
