//! Features of all commands: profiles, several addresses, completion, colours.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Command;

use serde_json::{Value, json};

use super::acting::Desk;
use super::binary::{Server, run, skep, stderr, stdout, workplace};

/// An address that nobody listens on.
fn nobody() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

#[test]
fn a_profile_names_a_server() {
    let desk = Desk::new(&[]);
    let here = desk.directory.path();
    let profiles = |text: &str| {
        std::fs::create_dir_all(here.join("config/skep")).unwrap();
        std::fs::write(here.join("config/skep/profiles.yaml"), text).unwrap();
    };
    let at = |args: &[&str], variables: &[(&str, &str)]| {
        let mut command = skep(here);
        command.env("XDG_CONFIG_HOME", here.join("config"));
        command
            .args(args)
            .envs(variables.iter().copied())
            .output()
            .unwrap()
    };
    let none = at(&["jobs", "--profile", "here"], &[]);
    assert_eq!(none.status.code(), Some(2), "{}", stderr(&none));
    let (rest, nobody) = (&desk.server.rest, nobody());
    profiles(&format!(
        "default: away\nprofiles:\n  here:\n    address: {rest}\n  away:\n    address: {nobody}\n"
    ));
    for (args, variables, works) in [
        (vec!["jobs", "--profile", "here"], vec![], true),
        (vec!["jobs"], vec![], false),
        (vec!["jobs"], vec![("SKEP_PROFILE", "here")], true),
        (
            vec!["deploy", "quick.bpmn"],
            vec![("SKEP_PROFILE", "here")],
            true,
        ),
        // A flag takes precedence over the environment, and the environment over the profile.
        (
            vec!["jobs", "--profile", "here"],
            vec![("SKEP_ADDRESS", nobody.as_str())],
            false,
        ),
        (
            vec!["jobs", "--profile", "away", "--address", rest],
            vec![],
            true,
        ),
    ] {
        let done = at(&args, &variables);
        assert_eq!(done.status.success(), works, "{args:?}: {}", stderr(&done));
    }
    let unknown = at(&["jobs", "--profile", "there"], &[]);
    assert!(
        stderr(&unknown).contains("no profile 'there'"),
        "{}",
        stderr(&unknown)
    );
    assert!(
        stderr(&unknown).contains("here, away"),
        "{}",
        stderr(&unknown)
    );
    profiles("profiles:\n  here:\n    password: hush\n");
    let secret = at(&["jobs", "--profile", "here"], &[]);
    assert!(
        stderr(&secret).contains("a profile has no 'password'"),
        "{}",
        stderr(&secret)
    );
    // Profiles do not affect the addresses that a server listens on.
    profiles("default: odd\nprofiles:\n  odd:\n    address: not-an-ip\n");
    let config = at(&["config"], &[]);
    assert!(config.status.success(), "{}", stderr(&config));
}

#[test]
fn of_several_addresses_one_that_answers_is_asked() {
    let desk = Desk::new(&[]);
    let (dead, also_dead) = (nobody(), nobody());
    let all = format!("{dead},{},{also_dead}", desk.server.rest);
    let at = |args: &[&str], addresses: &str| {
        run(
            desk.directory.path(),
            &[args, &["--address", addresses]].concat(),
        )
    };
    for args in [
        &["jobs"][..],
        &["deploy", "quick.bpmn"],
        &["start", "quick", "--await"],
        &["run", "quick.bpmn"],
    ] {
        let done = at(args, &all);
        assert!(done.status.success(), "{args:?}: {}", stderr(&done));
    }
    let nobody = at(&["jobs"], &format!("{dead},{also_dead}"));
    assert!(
        stderr(&nobody).starts_with("error[NO_SERVER]: none of "),
        "{}",
        stderr(&nobody)
    );
}

#[test]
fn shells_complete_every_command() {
    let directory = workplace();
    for shell in ["bash", "zsh", "fish"] {
        let done = run(directory.path(), &["completion", shell]);
        let script = stdout(&done);
        for word in ["resolve", "dry-run", "completion", "worker"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    let script = stdout(&run(directory.path(), &["completion", "bash"]));
    let line = format!(
        "{script}\nCOMP_WORDS=(skep can); COMP_CWORD=1; _skep skep can skep; echo \"${{COMPREPLY[@]}}\""
    );
    // Too long for an argument.
    let file = directory.path().join("completion.bash");
    std::fs::write(&file, line).unwrap();
    let completed = Command::new("bash").arg(&file).output().unwrap();
    assert_eq!(stdout(&completed), "cancel\n", "{}", stderr(&completed));
    let other = run(directory.path(), &["completion", "tcsh"]);
    assert_eq!(other.status.code(), Some(2));
}

#[test]
fn scripts_take_check_and_delete_backups_by_json() {
    let store = tempfile::tempdir().unwrap();
    let backup = "camunda.data.primary-storage.backup";
    let settings = [
        "--set".to_string(),
        format!("{backup}.store=FILESYSTEM"),
        "--set".to_string(),
        format!("{backup}.filesystem.base-path={}", store.path().display()),
    ];
    let settings = settings.each_ref().map(String::as_str);
    let desk = Desk::new(&settings);
    let json = |command: &[&str], more: &[&str]| {
        let done = run(
            desk.directory.path(),
            &[&["backup"][..], command, &["--json"], more].concat(),
        );
        assert!(done.status.success(), "{}", stderr(&done));
        serde_json::from_str::<Value>(&stdout(&done)).unwrap()
    };
    let at = ["--management", &desk.server.management];
    let taken = json(&["take", "7"], &at);
    assert_eq!(taken, json!({"backupId": 7, "state": "COMPLETED"}));
    assert_eq!(json(&["list"], &at)[0]["backupId"], 7);
    let found = json(&["verify", "7", "--replay"], &settings);
    assert_eq!(found["backupId"], 7, "{found}");
    assert!(found["objects"].as_u64() > Some(0), "{found}");
    assert!(found["replayedRecords"].is_u64(), "{found}");
    assert_eq!(json(&["delete", "7"], &at), json!({"deleted": 7}));
    assert_eq!(json(&["list"], &at), json!([]));
}

#[test]
fn leaders_are_spread_by_the_short_command_and_the_long_one() {
    let desk = Desk::new(&[]);
    let at = ["--management", &desk.server.management];
    for command in [&["rebalance"][..], &["cluster", "rebalance"]] {
        let done = run(desk.directory.path(), &[command, &at].concat());
        assert!(done.status.success(), "{}", stderr(&done));
        let expected = "Spreading leaders evenly over the available nodes.\n";
        assert_eq!(stdout(&done), expected, "{command:?}");
        let done = run(desk.directory.path(), &[command, &at, &["--json"]].concat());
        let done: Value = serde_json::from_str(&stdout(&done)).unwrap();
        assert_eq!(done, json!({"state": "REBALANCING"}));
    }
}

#[test]
fn colours_are_only_where_a_terminal_is() {
    let desk = Desk::new(&[]);
    desk.says(&["deploy", "quick.bpmn"]);
    desk.says(&["start", "quick", "--await"]);
    assert!(!desk.says(&["instances"]).contains('\x1b'));
    let line = format!(
        "{} instances --address {}",
        env!("CARGO_BIN_EXE_skep"),
        desk.server.rest
    );
    let terminal = |variable: &str| {
        let mut command = Command::new("script");
        command
            .args(["-qec", &line, "/dev/null"])
            .env("TERM", "xterm")
            .env_remove("NO_COLOR");
        if !variable.is_empty() {
            command.env(variable, "1");
        }
        let done = command.output().unwrap();
        assert!(done.status.success(), "{}", stderr(&done));
        stdout(&done)
    };
    let shown = terminal("");
    assert!(shown.contains("\x1b[32mCOMPLETED"), "{shown:?}");
    assert!(!terminal("NO_COLOR").contains('\x1b'));
}

#[test]
fn an_address_or_a_file_that_cannot_be_used_is_wrong_usage() {
    let directory = workplace();
    let here = directory.path();
    for (args, word) in [
        (
            &["instances", "--address=ftp://localhost:1"][..],
            "expected http://",
        ),
        (
            &["status", "--address=ftp://localhost:1"],
            "ftp is not spoken",
        ),
        (
            &[
                "--ca-certificate=none.pem",
                "instances",
                "--address=https://localhost:1",
            ],
            "none.pem",
        ),
    ] {
        let done = run(here, args);
        assert_eq!(done.status.code(), Some(2), "{args:?}: {}", stderr(&done));
        let said = stderr(&done);
        assert!(
            said.starts_with("error[USAGE]: ") && said.contains(word),
            "{said}"
        );
    }
}

#[test]
fn the_port_of_grpc_is_recognized_and_a_status_without_management_is_a_problem() {
    let directory = workplace();
    let here = directory.path();
    let server = Server::start(here, &[]);
    let done = run(here, &["instances", "--address", &server.grpc]);
    let said = stderr(&done);
    assert!(said.starts_with("error[NOT_UNDERSTOOD]: "), "{said}");
    assert!(said.contains("this may be the gRPC port"), "{said}");
    let status = |management: &str, more: &[&str]| {
        let args = [
            "status",
            "--address",
            &server.rest,
            "--management",
            management,
        ];
        run(here, &[&args, more].concat())
    };
    assert!(status(&server.management, &[]).status.success());
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let refusing = format!("http://{}", unused.local_addr().unwrap());
    drop(unused);
    let tls = server.management.replace("http://", "https://");
    for management in [&refusing, &tls] {
        let done = status(management, &[]);
        assert_eq!(done.status.code(), Some(1), "{}", stdout(&done));
        let problem = format!("management port {management}: ");
        assert!(stdout(&done).contains(&problem), "{}", stdout(&done));
        assert!(
            stderr(&done).starts_with("error[NOT_HEALTHY]: "),
            "{}",
            stderr(&done)
        );
        let shown: serde_json::Value =
            serde_json::from_str(&stdout(&status(management, &["--json"]))).unwrap();
        assert!(shown["managementError"].is_string(), "{shown}");
    }
}

#[test]
fn a_wrong_port_of_the_server_is_named_at_once() {
    let directory = workplace();
    let here = directory.path();
    let server = Server::start(here, &[]);
    let (rest, management) = (server.rest.as_str(), server.management.as_str());
    let tls = rest.replace("http://", "https://");
    let no_rest = "has no REST API";
    let is_rest = "is the port of REST";
    for (args, flag, address, part) in [
        (&["instances"][..], "--address", management, no_rest),
        (
            &["instances"],
            "--address",
            tls.as_str(),
            "does not speak TLS",
        ),
        (
            &["deploy", "quick.bpmn"],
            "--address",
            management,
            "no REST API",
        ),
        (&["incidents"], "--management", rest, is_rest),
        (&["status", "--ready"], "--management", rest, is_rest),
        (&["backup", "list"], "--management", rest, is_rest),
        (
            &["cluster", "apply", "--size=1"],
            "--management",
            rest,
            is_rest,
        ),
        (&["profile", "--seconds=1"], "--management", rest, is_rest),
    ] {
        let done = run(here, &[args, &[flag, address]].concat());
        let said = stderr(&done);
        assert!(said.contains("error[NOT_UNDERSTOOD]: "), "{args:?}: {said}");
        assert!(said.contains(part), "{args:?}: {said}");
        assert!(!said.contains("start a server"), "{args:?}: {said}");
    }
    let grpc = ["deploy", "quick.bpmn", "--transport=grpc", "--address"];
    let said = stderr(&run(here, &[&grpc[..], &[rest]].concat()));
    assert!(said.contains("gRPC is on 26500 by default"), "{said}");
    let port = rest.rsplit(':').next().unwrap();
    let far = format!("http://localhost:9{port}");
    let done = run(here, &["instances", "--address", &far]);
    assert_eq!(done.status.code(), Some(2), "{}", stderr(&done));
}

/// As an Ingress with `orchestration.contextPath` does, which takes the path off before requests get to the server.
#[test]
fn a_server_below_a_path_of_a_proxy_is_asked_below_it() {
    let directory = workplace();
    let proxy = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/teams/one/ui", proxy.local_addr().unwrap());
    let asked = std::thread::spawn(move || {
        let body = r#"{"title": "NOT_FOUND", "detail": "only looked at"}"#;
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 404 Not Found\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        );
        let ask = |_| {
            let mut stream = proxy.accept().unwrap().0;
            let mut request = BufReader::new(&stream);
            let mut lines = vec![String::new()];
            while !matches!(lines.last().map(String::as_str), Some("\r\n")) {
                let mut line = String::new();
                request.read_line(&mut line).unwrap();
                lines.push(line);
            }
            let length = lines.iter().find_map(|line| {
                let line = line.to_lowercase();
                line.strip_prefix("content-length:")?.trim().parse().ok()
            });
            let mut body = vec![0; length.unwrap()];
            request.read_exact(&mut body).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
            lines.swap_remove(1)
        };
        (0..2).map(ask).collect::<Vec<String>>()
    });
    let run = |args: &[&str]| run(directory.path(), &[args, &["--address", &address]].concat());
    for args in [&["instances"][..], &["deploy", "quick.bpmn"]] {
        let said = stderr(&run(args));
        assert!(said.contains("only looked at"), "{said}");
    }
    let asked = asked.join().unwrap();
    let expected = ["/process-instances/search", "/deployments"];
    let expected = expected.map(|path| format!("POST /teams/one/v2{path} HTTP/1.1\r\n"));
    assert_eq!(asked, expected);
    let grpc = stderr(&run(&["deploy", "quick.bpmn", "--transport=grpc"]));
    assert!(grpc.contains("gRPC is not offered below a path"), "{grpc}");
}

#[test]
fn a_name_that_is_not_there_is_wrong_usage() {
    let directory = workplace();
    let here = directory.path();
    std::fs::write(here.join("none.json"), r#"{"testCases": []}"#).unwrap();
    for (args, said) in [
        (&["explain", "NO_SERVR"][..], "did you mean 'NO_SERVER'?"),
        (&["chaos", "broker-los"], "did you mean broker-loss?"),
        (&["chaos", "show", "x"], "expected one of blind-spots, "),
        (&["log", "nowhere"], "nowhere is no data directory"),
        (&["test", "none.json"], "there are no test cases in these"),
        (
            &["test", "none.json", "--filter", "pay"],
            "no test case in these files has 'pay' in its name",
        ),
    ] {
        let done = run(here, args);
        assert_eq!(done.status.code(), Some(2), "{args:?}: {}", stderr(&done));
        assert!(stderr(&done).contains(said), "{}", stderr(&done));
    }
}

#[test]
fn a_connection_that_breaks_is_not_a_server_that_is_not_there() {
    let directory = workplace();
    let breaking = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", breaking.local_addr().unwrap());
    std::thread::spawn(move || breaking.incoming().for_each(drop));
    let done = run(directory.path(), &["instances", "--address", &address]);
    let said = stderr(&done);
    assert!(said.starts_with("error[CONNECTION_LOST]: "), "{said}");
}

/// A disabled exporter keeps its line in the status: somebody has to enable it again.
#[test]
fn a_disabled_record_exporter_stays_in_the_status() {
    let directory = workplace();
    let here = directory.path();
    let exporter = "camunda.data.exporters.search";
    let class = format!("{exporter}.class-name=io.camunda.zeebe.exporter.ElasticsearchExporter");
    let url = format!("{exporter}.args.url={}", nobody());
    let server = Server::start(here, &["--set", &class, "--set", &url]);
    crate::post(&server.management, "/actuator/exporters/search/disable", "");
    let status = [
        "status",
        "--address",
        &server.rest,
        "--management",
        &server.management,
    ];
    let shown = stdout(&run(here, &status));
    let line = shown.lines().find(|line| line.starts_with("search "));
    let line = line.unwrap_or_else(|| panic!("{shown}"));
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[..4], ["search", "0", "1", "DISABLED"], "{shown}");
}
