//! The built binary, as users run it.

#[path = "cli/acting.rs"]
mod acting;
#[path = "cli/ages.rs"]
mod ages;
#[path = "cli/around.rs"]
mod around;
#[path = "cli/binary.rs"]
mod binary;
#[path = "cli/breaking.rs"]
mod breaking;
#[path = "cli/developing.rs"]
mod developing;
#[path = "cli/running.rs"]
mod running;
#[path = "cli/side_by_side.rs"]
mod side_by_side;
#[path = "cli/testing.rs"]
mod testing;

use std::io::{Read, Write};
use std::process::Output;

use tempfile::TempDir;

use binary::{PROCESS, Server, run, skep, stderr, stdout, workplace};

/// A client that stops waiting for the end of an instance still learns its key.
#[test]
fn a_wait_that_times_out_still_returns_the_instance_key() {
    let directory = workplace();
    let here = directory.path();
    let timer = "<bpmn:timerEventDefinition><bpmn:timeDuration>PT10M</bpmn:timeDuration></bpmn:timerEventDefinition>";
    let waiting = PROCESS
        .replace("\"quick\"", "\"slow\"")
        .replace(
            "<bpmn:endEvent",
            &format!(
                "<bpmn:intermediateCatchEvent id=\"wait\">{timer}</bpmn:intermediateCatchEvent>\
                 <bpmn:sequenceFlow id=\"g\" sourceRef=\"wait\" targetRef=\"over\"/><bpmn:endEvent"
            ),
        )
        .replace("targetRef=\"over\"/>\n", "targetRef=\"wait\"/>\n");
    std::fs::write(here.join("slow.bpmn"), waiting).unwrap();
    let server = Server::start(here, &[]);
    let with = |args: &[&str]| run(here, &[args, &["--address", &server.rest]].concat());
    let deployed = with(&["deploy", "slow.bpmn"]);
    assert!(deployed.status.success(), "{}", stderr(&deployed));

    let late = with(&["start", "slow", "--await", "--timeout", "1"]);
    assert_eq!(late.status.code(), Some(1));
    let errors = stderr(&late);
    let started = errors.lines().next().unwrap();
    let key = started.split_whitespace().nth(2).unwrap();
    assert_eq!(
        started,
        format!("Started instance {key} of slow, version 1.")
    );
    assert!(errors.contains("DEADLINE_EXCEEDED"), "{errors}");
    assert!(
        errors.contains(&format!("`skep instance {key}`")),
        "{errors}"
    );
    let shown = with(&["instance", key]);
    assert!(stdout(&shown).contains("ACTIVE"), "{}", stderr(&shown));
}

/// `skep status 2>&1 | head -1`: the reader leaves before everything is said.
#[test]
fn errors_that_nobody_reads_any_more_do_no_harm() {
    let directory = TempDir::new().unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut status = skep(directory.path());
    status
        .args(["status", "--address", "http://127.0.0.1:9"])
        .stderr(writer);
    assert_eq!(status.output().unwrap().status.code(), Some(1));
}

/// `skep status`, an operator's first command, names an instance that runs for ever.
#[test]
fn an_instance_that_keeps_its_partition_busy_is_named_by_the_status() {
    let directory = workplace();
    let here = directory.path();
    let busy = PROCESS.replace("\"quick\"", "\"busy\"").replace(
        "<bpmn:endEvent id=\"over\"/>",
        "<bpmn:subProcess id=\"over\"><bpmn:multiInstanceLoopCharacteristics isSequential=\"true\"><bpmn:extensionElements>\
         <zeebe:loopCharacteristics inputCollection=\"=for i in 1..20000 return i\"/></bpmn:extensionElements>\
         </bpmn:multiInstanceLoopCharacteristics><bpmn:startEvent id=\"inner\"/></bpmn:subProcess>",
    );
    std::fs::write(here.join("busy.bpmn"), busy).unwrap();
    let server = Server::start(here, &[]);
    let with = |args: &[&str]| run(here, &[args, &["--address", &server.rest]].concat());
    let deployed = with(&["deploy", "busy.bpmn"]);
    assert!(deployed.status.success(), "{}", stderr(&deployed));
    let started = with(&["start", "busy"]);
    assert!(started.status.success(), "{}", stderr(&started));
    let key = stdout(&started).trim().to_string();
    let shown = loop {
        let status = with(&["status", "--management", &server.management]);
        let shown = stdout(&status);
        if shown.contains("Instances that wrote the most") {
            break shown;
        }
        std::thread::sleep(std::time::Duration::from_millis(200));
    };
    let named = shown.lines().find(|line| line.starts_with(&key));
    let words: Vec<&str> = named
        .unwrap_or_else(|| panic!("{shown}"))
        .split_whitespace()
        .collect();
    assert_eq!(words[..2], [&key, "1"]);
    assert!(words[2].parse::<u64>().unwrap() >= 100, "{shown}");
}

/// Checks that a refused deployment lists all findings with their codes.
fn check_refusal(refused: &Output) {
    assert_eq!(refused.status.code(), Some(1));
    let errors = stderr(refused);
    assert!(errors.contains("error[INVALID_ARGUMENT]: "), "{errors}");
    assert!(errors.contains("nothing was deployed"), "{errors}");
    let lines: Vec<&str> = errors.lines().collect();
    assert!(lines.contains(&"'bad.bpmn':"), "{errors}");
    let finding = |line: &&str| {
        line.starts_with("    - ERROR[REFERENCE_NOT_FOUND]: ") && line.contains("nowhere")
    };
    assert!(lines.iter().any(finding), "{errors}");
    assert!(
        errors.contains("Each code in brackets has a page"),
        "{errors}"
    );
}

#[test]
fn a_process_is_deployed_started_and_seen_in_the_log() {
    let directory = workplace();
    let here = directory.path();
    let server = Server::start(here, &["--partitions", "2"]);
    for (transport, address) in [("rest", &server.rest), ("grpc", &server.grpc)] {
        let to = ["--address", address, "--transport", transport];
        let with = |args: &[&str]| run(here, &[args, &to].concat());

        let deployed = with(&["deploy", "quick.bpmn"]);
        assert!(deployed.status.success(), "{}", stderr(&deployed));
        assert!(
            stdout(&deployed).contains("process quick, version 1, key "),
            "{}",
            stdout(&deployed)
        );

        check_refusal(&with(&["deploy", "quick.bpmn", "bad.bpmn"]));
        let page = run(here, &["explain", "REFERENCE_NOT_FOUND"]);
        assert!(stdout(&page).contains("## Example"), "{}", stderr(&page));

        let variables = "{\"a\":1,\"b\":9007199254740993.10}";
        let ended = with(&["start", "quick", "--variables", variables, "--await"]);
        assert!(ended.status.success(), "{}", stderr(&ended));
        assert_eq!(stdout(&ended), format!("{variables}\n"));

        let missing = with(&["start", "slow"]);
        assert_eq!(missing.status.code(), Some(1));
        assert!(stderr(&missing).contains("slow"), "{}", stderr(&missing));
        if transport == "rest" {
            let nearly = stderr(&with(&["start", "quikc"]));
            assert!(nearly.contains("Did you mean 'quick'?"), "{nearly}");
            let version = stderr(&with(&["start", "quick", "--version", "9"]));
            assert!(version.contains("`skep processes quick`"), "{version}");
            assert!(!version.contains("Did you mean"), "{version}");
        }

        let status = run(
            here,
            &[&["status", "--management", &server.management][..], &to].concat(),
        );
        assert!(status.status.success(), "{}", stderr(&status));
        let table = stdout(&status);
        assert!(table.contains("2 partition(s)"), "{table}");
        assert_eq!(table.matches("leader").count(), 2, "{table}");
        assert!(table.contains("PROCESSING"), "{table}");
    }

    // The log is read while the server is running.
    let records = run(here, &["log", "data"]);
    assert!(records.status.success(), "{}", stderr(&records));
    let text = stdout(&records);
    let lines: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let completed = lines.iter().find(|record| {
        record["intent"] == "ELEMENT_COMPLETED" && record["value"]["elementId"] == "over"
    });
    assert!(completed.is_some(), "{text}");
    assert!(lines.iter().any(|record| record["partitionId"] == 2));
    let from = run(here, &["log", "data", "--partition", "1", "--from", "5"]);
    for line in stdout(&from).lines() {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(record["position"].as_u64() >= Some(5));
        assert_eq!(record["partitionId"], 1);
    }
    let (ended_well, log) = server.terminate();
    assert!(ended_well, "{log}");
    assert!(log.contains("stopped"), "{log}");
}

#[test]
fn a_second_server_on_the_same_directory_is_refused() {
    let directory = workplace();
    let _first = Server::start(directory.path(), &[]);
    let second = run(
        directory.path(),
        &[
            "serve",
            "--rest-port",
            "0",
            "--grpc-port",
            "0",
            "--management-port",
            "0",
        ],
    );
    assert_eq!(second.status.code(), Some(1));
    let errors = stderr(&second);
    assert!(errors.contains("error[DATA_IN_USE]: "), "{errors}");
    assert!(errors.contains("in use"), "{errors}");
    assert!(errors.contains("--data"), "{errors}");
}

#[test]
fn a_taken_port_is_named() {
    let directory = workplace();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for flag in ["--rest-port", "--grpc-port", "--management-port"] {
        let mut args = vec!["serve", "--address", "127.0.0.1"];
        for other in ["--rest-port", "--grpc-port", "--management-port"] {
            args.extend([other, if other == flag { &port } else { "0" }]);
        }
        let output = run(directory.path(), &args);
        assert_eq!(output.status.code(), Some(1), "{flag}");
        let errors = stderr(&output);
        assert!(errors.contains(&port), "{errors}");
        assert!(errors.contains("error[CANNOT_LISTEN]: "), "{errors}");
        assert!(errors.contains("choose another one"), "{errors}");
        assert!(
            !directory.path().join("data").exists(),
            "{flag} leaves data"
        );
    }
}

#[test]
fn more_partitions_than_there_are_are_not_made_by_a_start() {
    let directory = workplace();
    let (ended_well, log) = Server::start(directory.path(), &[]).terminate();
    assert!(ended_well, "{log}");
    let (ended_well, log) = Server::start(directory.path(), &["--partitions", "3"]).terminate();
    assert!(ended_well, "{log}");
    assert!(log.contains("PARTITION_COUNT"), "{log}");
    assert!(log.contains("skep cluster apply"), "{log}");
    // Fewer partitions than configured cause a warning; more are the result of an operator's request.
    let (_, log) = Server::start(directory.path(), &["--partitions", "1"]).terminate();
    assert!(!log.contains("PARTITION_COUNT"), "{log}");
}

#[test]
fn missing_instances_and_processes_are_not_found() {
    let directory = workplace();
    let server = Server::start(directory.path(), &[]);
    let arguments = ["instance", "2251799813999999", "--address", &server.rest];
    let nobody = run(directory.path(), &arguments);
    let errors = stderr(&nobody);
    assert!(errors.contains("error[NOT_FOUND]: "), "{errors}");
    // In the error itself, and in the link to its page.
    for arguments in [&["start", "nobody"][..], &arguments[..2]] {
        let all = [arguments, &["--address", &server.rest]].concat();
        let errors = stderr(&run(directory.path(), &all));
        assert_eq!(errors.matches("NOT_FOUND").count(), 2, "{errors}");
        assert!(!errors.contains("rejected with code"), "{errors}");
    }
}

#[test]
fn log_lines_can_be_json() {
    let directory = workplace();
    let (_, log) = Server::start(directory.path(), &["--log-format", "json"]).terminate();
    let lines: Vec<serde_json::Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(
        lines.iter().any(|line| line["message"] == "started"),
        "{log}"
    );
}

#[test]
fn settings_come_from_files_the_environment_and_flags() {
    let directory = workplace();
    let here = directory.path();
    std::fs::create_dir(here.join("config")).unwrap();
    let file = "server.port: 1\ncamunda:\n  cluster:\n    node-id: 2\n    partition-count: 3\n";
    std::fs::write(here.join("config/application.yaml"), file).unwrap();
    std::fs::write(here.join("more.yaml"), "server:\n  port: 4\n").unwrap();
    let output = skep(here)
        .args(["config", "--config", "more.yaml"])
        .args(["--set", "camunda.cluster.node-id=5"])
        .env("CAMUNDA_CLUSTER_PARTITIONCOUNT", "6")
        .env("CAMUNDA_CLUSTER_PARTITIONCONT", "7")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    for line in [
        "server.port: 4  # more.yaml line 2",
        "camunda.cluster.node-id: 5  # flag --set",
        "camunda.cluster.partition-count: 6  # environment variable CAMUNDA_CLUSTER_PARTITIONCOUNT",
        "camunda.api.grpc.port: 26500  # default",
    ] {
        assert!(text.contains(line), "{line} not in\n{text}");
    }
    assert!(
        stderr(&output).contains("Did you mean CAMUNDA_CLUSTER_PARTITIONCOUNT?"),
        "{}",
        stderr(&output)
    );
    let json = run(here, &["config", "--json", "--config", "more.yaml"]);
    let json: serde_json::Value = serde_json::from_str(&stdout(&json)).unwrap();
    let settings = json["settings"].as_array().unwrap();
    let port = settings.iter().find(|it| it["name"] == "server.port");
    let expected =
        serde_json::json!({"name": "server.port", "value": "4", "source": "more.yaml line 2"});
    assert_eq!(port, Some(&expected));
}

#[test]
fn a_wrong_configuration_stops_the_start() {
    let directory = workplace();
    for (args, expected) in [
        (vec!["serve", "--set", "server.port=x"], "flag --set"),
        (vec!["serve", "--set", "server.port"], "expected NAME=VALUE"),
        (vec!["serve", "--config", "none.yaml"], "none.yaml"),
        (vec!["serve", "--log-level", "loud"], "expected a log level"),
        (vec!["serve", "--no-such-flag"], "--no-such-flag"),
    ] {
        let output = run(directory.path(), &args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
}

#[test]
fn without_a_server_clients_say_what_to_do() {
    let directory = workplace();
    let address = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    for args in [
        vec!["deploy", "quick.bpmn"],
        vec!["start", "quick"],
        vec!["status"],
    ] {
        let args = [&args[..], &["--address", &address]].concat();
        let output = run(directory.path(), &args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(
            stderr(&output).contains("skep serve"),
            "{}",
            stderr(&output)
        );
    }
    let profile = run(directory.path(), &["profile", "--management", &address]);
    assert_eq!(profile.status.code(), Some(1));
}

#[test]
fn expressions_are_evaluated() {
    let directory = workplace();
    for (args, code, out, err) in [
        (vec!["feel", "1 + 2"], 0, "3\n", ""),
        (
            vec!["feel", "= a.b + \"!\"", "--context", r#"{"a":{"b":"x"}}"#],
            0,
            "\"x!\"\n",
            "",
        ),
        (vec!["feel", "missing"], 0, "null\n", "NO_VARIABLE_FOUND"),
        (vec!["feel", "1 +"], 1, "", "the expression has an error"),
        (vec!["feel", "1", "--context", "[]"], 2, "", "JSON object"),
    ] {
        let output = run(directory.path(), &args);
        assert_eq!(output.status.code(), Some(code), "{args:?}");
        assert_eq!(stdout(&output), out, "{args:?}");
        assert!(stderr(&output).contains(err), "{}", stderr(&output));
    }
}

#[test]
fn usage_errors_have_code_2_and_help_shows_the_way() {
    let directory = workplace();
    for args in [
        vec!["start", "p", "--variables", "{"],
        vec!["start", "p", "--variables", "[1]"],
        vec!["start", "5", "--version", "1"],
        vec!["deploy"],
        vec!["nonsense"],
    ] {
        assert_eq!(
            run(directory.path(), &args).status.code(),
            Some(2),
            "{args:?}"
        );
    }
    let missing = run(directory.path(), &["deploy", "nowhere.bpmn"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(stderr(&missing).contains("nowhere.bpmn"));
    let nothing = run(directory.path(), &["log", "."]);
    assert_eq!(nothing.status.code(), Some(2));
    let help = stdout(&run(directory.path(), &["--help"]));
    for word in ["serve", "deploy", "start", "status", "First steps"] {
        assert!(help.contains(word), "{help}");
    }
}

#[test]
fn an_error_has_a_code_that_is_explained() {
    let directory = TempDir::new().unwrap();
    let output = run(
        directory.path(),
        &["start", "order", "--address", "http://127.0.0.1:1"],
    );
    let errors = stderr(&output);
    assert!(errors.starts_with("error[NO_SERVER]: "), "{errors}");
    assert!(errors.contains("`skep explain NO_SERVER`"), "{errors}");
    let explained = run(directory.path(), &["explain", "no_server"]);
    let page = stdout(&explained);
    assert!(
        page.contains("## What it means") && page.contains("## What to do"),
        "{page}"
    );
    let listed = stdout(&run(directory.path(), &["explain"]));
    assert!(
        listed.lines().any(|code| code == "JOB_NO_RETRIES"),
        "{listed}"
    );
    let json = stdout(&run(directory.path(), &["explain", "no_server", "--json"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json, serde_json::json!({"code": "NO_SERVER", "page": page}));
    let unknown = run(directory.path(), &["explain", "NOTHING"]);
    assert_eq!(unknown.status.code(), Some(2), "{}", stderr(&unknown));
}

#[test]
fn the_page_of_an_instance_shows_why_it_waits() {
    let directory = workplace();
    let here = directory.path();
    let waiting = PROCESS.replace("id=\"quick\"", "id=\"waiting\"");
    assert_ne!(waiting, PROCESS);
    let inner = r#"<bpmn:boundaryEvent id="late" attachedToRef="work"><bpmn:timerEventDefinition>
        <bpmn:timeDuration>PT1H</bpmn:timeDuration></bpmn:timerEventDefinition></bpmn:boundaryEvent>
        <bpmn:serviceTask id="work"><bpmn:extensionElements><zeebe:taskDefinition type="pay"/></bpmn:extensionElements></bpmn:serviceTask>
        <bpmn:sequenceFlow id="to-work" sourceRef="over" targetRef="work"/>
        </bpmn:process>"#;
    let waiting = waiting
        .replace("</bpmn:process>", inner)
        .replace("endEvent", "manualTask");
    std::fs::write(here.join("waiting.bpmn"), waiting).unwrap();
    let server = Server::start(here, &[]);
    let with = |args: &[&str]| run(here, &[args, &["--address", &server.rest]].concat());
    let deployed = with(&["deploy", "waiting.bpmn"]);
    assert!(deployed.status.success(), "{}", stderr(&deployed));
    let started = with(&["start", "waiting"]);
    assert!(started.status.success(), "{}", stderr(&started));
    let key: String = stdout(&started)
        .chars()
        .skip_while(|c| !c.is_ascii_digit())
        .take_while(char::is_ascii_digit)
        .collect();
    let page = with(&["instance", &key]);
    let text = stdout(&page);
    assert!(page.status.success(), "{}", stderr(&page));
    assert!(text.contains("of type 'pay' since"), "{text}");
    assert!(
        text.contains("no worker has requested this type since"),
        "{text}"
    );
    assert!(text.contains("timer of late due"), "{text}");
    let jobs = stdout(&with(&["jobs", "--type", "pay"]));
    assert!(jobs.contains(&key), "{jobs}");
    let none = stdout(&with(&["jobs", "--type", "other"]));
    assert_eq!(none, "No jobs.\n");
    let json = stdout(&with(&["instance", &key, "--json"]));
    let page: serde_json::Value = serde_json::from_str(&json).unwrap();
    let waits = page["waits"].as_array().unwrap().iter();
    let causes: Vec<&str> = waits.map(|item| item["cause"].as_str().unwrap()).collect();
    assert_eq!(causes, ["JOB_WITHOUT_WORKER", "TIMER"]);
}

#[test]
fn open_incidents_are_listed_with_their_messages() {
    let directory = workplace();
    let here = directory.path();
    let broken = r#"<bpmn:serviceTask id="work"><bpmn:extensionElements><zeebe:taskDefinition type="=missing"/>
        </bpmn:extensionElements></bpmn:serviceTask>
        <bpmn:sequenceFlow id="to-work" sourceRef="over" targetRef="work"/></bpmn:process>"#;
    let broken = PROCESS
        .replace("id=\"quick\"", "id=\"broken\"")
        .replace("</bpmn:process>", broken)
        .replace("endEvent", "manualTask");
    std::fs::write(here.join("broken.bpmn"), broken).unwrap();
    let server = Server::start(here, &[]);
    let with = |args: &[&str]| {
        let done = run(here, &[args, &["--address", &server.rest]].concat());
        assert!(done.status.success(), "{}", stderr(&done));
        stdout(&done)
    };
    assert_eq!(with(&["incidents"]), "No open incidents.\n");
    with(&["deploy", "broken.bpmn"]);
    with(&["start", "broken"]);
    let listed = with(&["incidents", "--process", "broken"]);
    for said in [
        "EXTRACT_VALUE_ERROR",
        "work",
        "missing",
        &server.rest,
        "skep resolve ",
    ] {
        assert!(listed.contains(said), "{listed}");
    }
    assert_eq!(
        with(&["incidents", "--process", "other"]),
        "No open incidents.\n"
    );
    let of_the_state = with(&["incidents", "--management", &server.management]);
    assert!(
        of_the_state.contains("EXTRACT_VALUE_ERROR"),
        "{of_the_state}"
    );
    let json: serde_json::Value = serde_json::from_str(&with(&["incidents", "--json"])).unwrap();
    assert_eq!(json["items"][0]["elementId"], "work");
}

/// Sends a JSON text, like `curl`.
fn post(base: &str, path: &str, body: &str) -> String {
    let address = base.trim_start_matches("http://");
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 2"), "{answer}");
    body.to_string()
}

#[test]
fn batch_operations_are_listed_shown_and_changed() {
    let directory = workplace();
    let here = directory.path();
    let waiting = PROCESS.replace(
        "<bpmn:endEvent id=\"over\"/>",
        "<bpmn:userTask id=\"over\"/>",
    );
    std::fs::write(here.join("waiting.bpmn"), waiting).unwrap();
    let server = Server::start(here, &[]);
    let at = ["--address", &server.rest];
    let with = |args: &[&str]| run(here, &[args, &at].concat());
    let none = with(&["batch"]);
    assert_eq!(stdout(&none), "No batch operations.\n", "{}", stderr(&none));
    assert!(with(&["deploy", "waiting.bpmn"]).status.success());
    assert!(with(&["start", "quick"]).status.success());

    let created = post(
        &server.rest,
        "/v2/process-instances/cancellation",
        r#"{"filter": {"processDefinitionId": "quick"}}"#,
    );
    let created: serde_json::Value = serde_json::from_str(&created).unwrap();
    let key = created["batchOperationKey"].as_str().unwrap();
    let list = stdout(&with(&["batch"]));
    assert!(
        list.contains(key) && list.contains("CANCEL_PROCESS_INSTANCE"),
        "{list}"
    );
    let mut page = String::new();
    while !page.contains("COMPLETED") {
        page = stdout(&with(&["batch", key]));
        assert!(page.contains(key), "{page}");
    }
    assert!(page.contains("1 done and 0 failed of 1"), "{page}");
    let json = stdout(&with(&["batch", key, "--json"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["batchOperation"]["batchOperationKey"], key);

    // Ended operations cannot be suspended, and unknown ones cannot be shown.
    let refused = with(&["batch", key, "--suspend"]);
    assert_eq!(refused.status.code(), Some(1), "{}", stdout(&refused));
    let unknown = with(&["batch", "4711"]);
    assert!(
        stderr(&unknown).contains("error[NOT_FOUND]: "),
        "{}",
        stderr(&unknown)
    );
    let usage = with(&["batch", "--cancel"]);
    assert_eq!(usage.status.code(), Some(2));
}

/// A server as seen by systemd with `Type=notify` and by the health check of a container.
#[test]
fn service_managers_are_notified_and_health_checks_answered() {
    let directory = workplace();
    let here = directory.path();
    let socket = here.join("notify");
    let manager = std::os::unix::net::UnixDatagram::bind(&socket).unwrap();
    let notified = || {
        let mut buffer = [0; 64];
        let length = manager.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    };
    let environment = [("NOTIFY_SOCKET", socket.as_os_str())];
    let server = Server::start_with(here, &[], &environment);
    assert_eq!(notified(), "READY=1");
    let management = server.management.clone();
    let check = || run(here, &["status", "--ready", "--management", &management]);
    while !check().status.success() {}
    assert_eq!(stdout(&check()), "ready\n");

    let (ended_well, log) = server.terminate();
    assert!(ended_well, "{log}");
    assert_eq!(notified(), "STOPPING=1");
    let late = check();
    assert_eq!(late.status.code(), Some(1), "{}", stdout(&late));
}
