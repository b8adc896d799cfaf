//! What `skep status` and the log of a node say, as its operator would read them.

use std::io;
use std::time::Duration;

use super::Cluster;
use super::kubernetes::Pods;
use super::login::Login;
use crate::plan::Who;
use crate::program;

/// Time limit for the program, which has limits of its own.
const ANSWER: Duration = Duration::from_secs(60);

/// A call of `skep status`.
#[derive(Debug)]
pub struct Status {
    program: String,
    rest: String,
    management: String,
    /// Flags with which it logs in.
    login: Vec<String>,
    /// Variables with which it logs in, as `NAME=VALUE`.
    variables: Vec<String>,
}

impl Status {
    pub(super) fn new(program: &str, rest: &str, management: &str) -> Self {
        Self {
            program: program.into(),
            rest: format!("http://{rest}"),
            management: format!("http://{management}"),
            login: Vec::new(),
            variables: Vec::new(),
        }
    }

    pub(super) fn logged_in(mut self, login: &[String], variables: Vec<String>) -> Self {
        self.login = login.to_vec();
        self.variables = variables;
        self
    }

    /// The command line, which `env` carries out.
    fn words(&self) -> Vec<&str> {
        let server = ["--address", &self.rest, "--management", &self.management];
        let words = self.variables.iter().chain([&self.program]);
        let words = words.map(String::as_str).chain(["status"]).chain(server);
        words.chain(self.login.iter().map(String::as_str)).collect()
    }

    /// All that it prints. Blocks.
    ///
    /// # Errors
    /// The program cannot be started, or does not end.
    pub fn answer(self) -> io::Result<String> {
        let called = program::call("env", &self.words(), "", ANSWER)?;
        Ok(called.stdout + &called.stderr)
    }
}

impl Cluster {
    /// Whether the log of a node has this text since its start.
    ///
    /// # Errors
    /// The node is down, or the run has not started it.
    pub fn has_said(&mut self, number: u32, text: &str) -> io::Result<bool> {
        self.node(number)?.has_said(text)
    }

    /// `skep status`, asked of this node.
    ///
    /// # Errors
    /// There is no such node, or it is a foreign one.
    pub fn status_of(&mut self, who: Who) -> io::Result<Status> {
        if self.pods.is_none() {
            self.guard()?;
        }
        let number = self.find(who)?;
        let status = self.node(number)?.status()?;
        let login = self.pods.as_ref().map_or(&[][..], Pods::login);
        let variables = self.login.as_ref().map(Login::variables);
        Ok(status.logged_in(login, variables.unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_logs_in_as_the_run_does() {
        let status = Status::new("skep", "a:1", "b:2");
        let login = ["--user=demo".to_string()];
        let status = status.logged_in(&login, vec!["CAMUNDA_CLIENT_ID=a b".into()]);
        let expected = [
            "CAMUNDA_CLIENT_ID=a b",
            "skep",
            "status",
            "--address",
            "http://a:1",
            "--management",
            "http://b:2",
            "--user=demo",
        ];
        assert_eq!(status.words(), expected);
        let echoed = Status::new("echo", "a:1", "b:2").answer().unwrap();
        let words = "status --address http://a:1 --management http://b:2";
        assert_eq!(echoed.trim_end(), words);
    }
}
