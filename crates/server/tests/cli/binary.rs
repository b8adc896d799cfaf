//! The built binary in its own directory, and a server for its commands.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

pub fn skep(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_skep"));
    command.current_dir(directory);
    // Commands must not inherit the settings of the test environment.
    for (name, _) in std::env::vars_os() {
        let ours = name.to_str().is_some_and(|name| {
            [
                "CAMUNDA_", "ZEEBE_", "SKEP_", "SERVER_", "RUST_LOG", "OTEL_",
            ]
            .iter()
            .any(|prefix| name.starts_with(prefix))
        });
        if ours {
            command.env_remove(name);
        }
    }
    command
}

pub fn run(directory: &Path, args: &[&str]) -> Output {
    skep(directory).args(args).output().unwrap()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Why this machine lacks what a chaos experiment needs.
pub fn lack(experiment: &str) -> Option<String> {
    let directory = workplace();
    let listed = run(directory.path(), &["chaos", "list", "--json"]);
    let listed: Value = serde_json::from_str(&stdout(&listed)).unwrap();
    let mut all = listed["experiments"].as_array().unwrap().iter();
    let found = all.find(|it| it["name"] == experiment).unwrap();
    found["why"].as_str().map(String::from)
}

/// Reports that a test does not run here, past the capture of the test harness. `kind` is what CI calls the reason.
pub fn not_run(kind: &str, why: &str) {
    let line = format!("NOT RUN ({kind}): {why}\n");
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// A running server on free ports.
pub struct Server {
    pub process: Child,
    pub lines: BufReader<std::process::ChildStdout>,
    pub rest: String,
    pub grpc: String,
    pub management: String,
}

/// Test machines may have nearly full disks.
pub const ROOM: [&str; 4] = [
    "--set",
    "camunda.data.primary-storage.disk.free-space.processing=2MB",
    "--set",
    "camunda.data.primary-storage.disk.free-space.replication=1MB",
];

impl Server {
    pub fn start(directory: &Path, args: &[&str]) -> Server {
        Server::start_with(directory, args, &[])
    }

    pub fn start_with(directory: &Path, args: &[&str], environment: &[(&str, &OsStr)]) -> Server {
        let mut process = skep(directory)
            .envs(environment.iter().copied())
            .args(["serve", "--address", "127.0.0.1"])
            .args(["--rest-port", "0", "--grpc-port", "0"])
            .args(["--management-port", "0"])
            .args(ROOM)
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap());
        let mut read = String::new();
        while !read.contains("What to do next") {
            if lines.read_line(&mut read).unwrap() == 0 {
                let mut errors = String::new();
                let _ = process.stderr.take().unwrap().read_to_string(&mut errors);
                panic!("the server did not start: {read}{errors}");
            }
        }
        let after = |label: &str| {
            let line = read.lines().find(|line| line.trim().starts_with(label));
            let address = line.unwrap().split_whitespace().last().unwrap();
            let address = address.trim_start_matches("http://");
            format!("http://{}", address.split('/').next().unwrap())
        };
        Server {
            rest: after("REST"),
            grpc: after("gRPC"),
            management: after("management"),
            process,
            lines,
        }
    }

    /// Sends SIGTERM; returns whether the server ended successfully, and its log.
    pub fn terminate(mut self) -> (bool, String) {
        let pid = self.process.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &pid]).status().unwrap();
        assert!(sent.success());
        let mut errors = String::new();
        let mut log = self.process.stderr.take().unwrap();
        log.read_to_string(&mut errors).unwrap();
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).unwrap();
        (self.process.wait().unwrap().success(), errors)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub const PROCESS: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" targetNamespace="t">
  <bpmn:process id="quick" isExecutable="true">
    <bpmn:startEvent id="begin"/>
    <bpmn:sequenceFlow id="f" sourceRef="begin" targetRef="over"/>
    <bpmn:endEvent id="over"/>
  </bpmn:process>
</bpmn:definitions>
"#;

pub fn workplace() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("quick.bpmn"), PROCESS).unwrap();
    let bad = PROCESS.replace("targetRef=\"over\"", "targetRef=\"nowhere\"");
    std::fs::write(directory.path().join("bad.bpmn"), bad).unwrap();
    directory
}
