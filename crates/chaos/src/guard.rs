//! A separate process that undoes the effects of a run: it reads undo actions from its input, and when that ends, because the run is over,
//! was interrupted or was killed, it carries out those that are left, last first.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::program;

/// Time limit for a command that undoes something.
const COMMAND: Duration = Duration::from_secs(60);
/// Time that a run waits for its guard at the end; the guard goes on after that.
const END: Duration = Duration::from_secs(300);

/// A process, identified by its number and start time, since numbers are reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    pub pid: i32,
    started: u64,
}

impl Process {
    /// The process with this id, if it exists.
    pub fn of(pid: u32) -> Option<Self> {
        let pid = i32::try_from(pid).ok()?;
        let started = stat(pid)?.1;
        Some(Self { pid, started })
    }

    /// A name that no other process has until the machine starts again, in other containers either.
    pub(crate) fn unique(self) -> String {
        format!("{}-{}", self.pid, self.started)
    }

    /// `R`, `S`, `T` (stopped), `Z` (ended, and not yet waited for) and others. `None`: it no longer exists.
    pub fn state(self) -> Option<char> {
        let (state, started) = stat(self.pid)?;
        (started == self.started).then_some(state)
    }

    /// Whether it exists and has not ended.
    pub fn is_alive(self) -> bool {
        self.state().is_some_and(|state| state != 'Z')
    }

    /// Sends a signal (`KILL`, `STOP`, …), if the process still exists.
    pub fn signal(self, signal: &str) {
        if self.is_alive() {
            // It may end meanwhile.
            let _ = Command::new("kill")
                .args([format!("-{signal}"), self.pid.to_string()])
                .stderr(Stdio::null())
                .status();
        }
    }
}

/// State and start time.
fn stat(pid: i32) -> Option<(char, u64)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain anything.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?.chars().next()?;
    Some((state, fields.nth(18)?.parse().ok()?))
}

/// An undo action. Each is idempotent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Undo {
    /// Resumes a process.
    Resume(Process),
    /// Kills a process.
    Kill(Process),
    /// Kills a process by which other actions reach what they undo: after all of them, whenever it was registered.
    KillLast(Process),
    /// Deletes a file, or a directory with its contents.
    Remove(PathBuf),
    /// Removes a control group; its members move to the parent group.
    Ungroup(PathBuf),
    /// Runs a command.
    Run(Vec<String>),
    /// Ends a container and removes it, after the engine's program in the foreground, which could still start it.
    Container {
        engine: String,
        name: String,
        client: Process,
    },
}

impl Undo {
    /// Those with the least turn are carried out first.
    fn turn(&self) -> u8 {
        match self {
            Self::Resume(_) => 0,
            Self::Kill(_)
            | Self::Remove(_)
            | Self::Ungroup(_)
            | Self::Run(_)
            | Self::Container { .. } => 1,
            Self::KillLast(_) => 2,
        }
    }

    fn carry_out(&self) {
        match self {
            Self::Resume(process) => process.signal("CONT"),
            Self::Kill(process) | Self::KillLast(process) => kill(*process),
            Self::Container {
                engine,
                name,
                client,
            } => {
                kill(*client);
                for words in [
                    &["kill", "--signal=KILL", name][..],
                    &["rm", "--force", name],
                ] {
                    run(engine, words);
                }
            }
            Self::Run(words) => {
                if let Some((program, arguments)) = words.split_first() {
                    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
                    run(program, &arguments);
                }
            }
            Self::Ungroup(group) => ungroup(group),
            Self::Remove(path) => {
                let _ = if path.is_dir() {
                    std::fs::remove_dir_all(path)
                } else {
                    std::fs::remove_file(path)
                };
            }
        }
    }
}

/// Runs a command whose effect may be there already. One that does not end keeps the others waiting only for a while.
fn run(program: &str, words: &[&str]) {
    let _ = program::ask(program, words, "", COMMAND);
}

fn kill(process: Process) {
    process.signal("CONT");
    process.signal("KILL");
    // Wait for its end: it must not write files again after they were removed.
    for _ in 0..200 {
        if !process.is_alive() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A killed process is a zombie as soon as its first thread has ended, and the kernel keeps its group until the last one has, which takes
/// seconds on a busy machine: the group is tried again until it is gone.
fn ungroup(group: &Path) {
    let begin = Instant::now();
    while begin.elapsed() < COMMAND {
        // Gone already, or its processes have ended.
        let members = std::fs::read_to_string(group.join("cgroup.procs"));
        let above = group.with_file_name("cgroup.procs");
        for member in members.unwrap_or_default().lines() {
            let _ = std::fs::write(&above, member);
        }
        let removed = std::fs::remove_dir(group);
        if !removed.is_err_and(|error| is_busy(&error)) {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_busy(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ResourceBusy | io::ErrorKind::DirectoryNotEmpty
    )
}

/// A line of the guard's input.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    Push(u64, Undo),
    Pop(u64),
}

/// The guard's side: reads until the input ends or the time is over, then undoes what is left.
///
/// # Errors
/// A malformed line; the actions read before it are carried out.
pub fn serve(input: impl io::Read + Send + 'static, limit: Duration) -> io::Result<()> {
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(input).lines() {
            let line = line.and_then(|line| Ok(serde_json::from_str::<Line>(&line)?));
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    let end = Instant::now() + limit;
    let mut stack: Vec<(u64, Undo)> = Vec::new();
    let mut result = Ok(());
    // Until the input ends, or the time is over.
    while let Ok(line) = lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
        match line {
            Ok(Line::Push(number, undo)) => stack.push((number, undo)),
            Ok(Line::Pop(number)) => stack.retain(|(other, _)| *other != number),
            Err(error) => {
                result = Err(error);
                break;
            }
        }
    }
    let last_first = stack.into_iter().rev().map(|(_, undo)| undo);
    let mut left: Vec<Undo> = last_first.collect();
    // Actions of the same turn keep their order.
    left.sort_by_key(Undo::turn);
    for undo in left {
        undo.carry_out();
    }
    result
}

/// The run's side.
#[derive(Debug)]
pub struct Guard {
    child: Child,
    input: Option<ChildStdin>,
    next: u64,
}

/// A registered undo action; see [`Guard::pop`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket(u64);

impl Guard {
    /// Starts the guard: a program with arguments that calls [`serve`] with its input.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start(command: &[String]) -> io::Result<Self> {
        let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            // A Ctrl+C in the terminal is meant for the run alone.
            .process_group(0)
            .spawn()?;
        let input = child.stdin.take();
        Ok(Self {
            child,
            input,
            next: 0,
        })
    }

    /// Hands over an undo action. Once this returns, it will be carried out, whatever happens to this process.
    ///
    /// # Errors
    /// The guard is gone: nothing that it would have to undo may be done.
    pub fn push(&mut self, undo: Undo) -> io::Result<Ticket> {
        self.next += 1;
        self.send(&Line::Push(self.next, undo))?;
        Ok(Ticket(self.next))
    }

    /// Withdraws an undo action that was already carried out.
    ///
    /// # Errors
    /// The guard is gone.
    pub fn pop(&mut self, ticket: Ticket) -> io::Result<()> {
        self.send(&Line::Pop(ticket.0))
    }

    fn send(&mut self, line: &Line) -> io::Result<()> {
        let gone = || io::Error::other("the guard process is gone, so nothing more is done");
        let input = self.input.as_mut().ok_or_else(gone)?;
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        input.write_all(text.as_bytes()).map_err(|_| gone())
    }

    /// Carries out all remaining undo actions now.
    ///
    /// # Errors
    /// The guard has not ended within its time; it goes on.
    pub fn end(&mut self) -> io::Result<()> {
        self.end_within(END)
    }

    fn end_within(&mut self, limit: Duration) -> io::Result<()> {
        self.input = None;
        match program::ended(&mut self.child, limit)? {
            Some(_) => Ok(()),
            None => Err(io::Error::other(format!(
                "the guard (process {}) has not undone all within {} s, and goes on",
                self.child.id(),
                limit.as_secs()
            ))),
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // It undoes the rest in any case.
        let _ = self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeper() -> (Child, Process) {
        let child = Command::new("sleep").arg("600").spawn().unwrap();
        let process = Process::of(child.id()).unwrap();
        (child, process)
    }

    fn input(lines: &[Line]) -> io::Cursor<String> {
        let lines = lines
            .iter()
            .map(|line| serde_json::to_string(line).unwrap() + "\n");
        io::Cursor::new(lines.collect())
    }

    #[test]
    fn remaining_faults_are_undone_in_reverse_order_and_undone_ones_are_skipped() {
        let directory = tempfile::tempdir().unwrap();
        let (gone, kept) = (directory.path().join("gone"), directory.path().join("kept"));
        for path in [&gone, &kept] {
            std::fs::create_dir_all(path.join("inner")).unwrap();
        }
        let (mut stopped, process) = sleeper();
        process.signal("STOP");
        let lines = [
            Line::Push(1, Undo::Remove(gone.clone())),
            Line::Push(2, Undo::Remove(kept.clone())),
            Line::Push(3, Undo::Kill(process)),
            Line::Pop(2),
        ];
        serve(input(&lines), Duration::from_secs(60)).unwrap();
        assert!(!gone.exists() && kept.exists());
        stopped.wait().unwrap();
        assert!(!process.is_alive());
    }

    #[test]
    fn a_paused_process_is_resumed_and_another_of_the_same_number_is_left_alone() {
        let (mut child, process) = sleeper();
        process.signal("STOP");
        while process.state() != Some('T') {
            std::thread::yield_now();
        }
        let other = Process {
            started: process.started + 1,
            ..process
        };
        let lines = [
            Line::Push(1, Undo::Kill(other)),
            Line::Push(2, Undo::Resume(process)),
        ];
        serve(input(&lines), Duration::from_secs(60)).unwrap();
        assert_ne!(process.state(), Some('T'));
        assert!(process.is_alive());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// The threads of a killed process hold its group until the last one has ended.
    #[test]
    fn a_group_that_is_busy_is_removed_once_it_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let group = directory.path().join("group");
        let member = group.join("member");
        std::fs::create_dir_all(&member).unwrap();
        let (last, path) = (member.clone(), group.clone());
        let ends = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            assert!(path.exists());
            std::fs::remove_dir(last).unwrap();
        });
        serve(
            input(&[Line::Push(1, Undo::Ungroup(group.clone()))]),
            Duration::from_secs(60),
        )
        .unwrap();
        ends.join().unwrap();
        assert!(!group.exists());
    }

    /// What was deployed on pods is deleted through forwarded ports, even through those that were forwarded again after the deployment.
    #[test]
    fn a_process_that_others_need_is_killed_after_them() {
        let directory = tempfile::tempdir().unwrap();
        let (mut child, process) = sleeper();
        let (there, pid) = (directory.path().join("there"), process.pid.to_string());
        let words = [
            "sh",
            "-c",
            r#"grep -q sleep "/proc/$0/cmdline" && touch "$1""#,
            &pid,
            there.to_str().unwrap(),
        ];
        let lines = [
            Line::Push(1, Undo::Run(words.map(String::from).into())),
            Line::Push(2, Undo::KillLast(process)),
        ];
        serve(input(&lines), Duration::from_secs(60)).unwrap();
        assert!(there.exists(), "it was there");
        child.wait().unwrap();
        assert!(!process.is_alive());
    }

    #[test]
    fn containers_are_ended_and_removed_after_the_program_that_could_start_them() {
        let directory = tempfile::tempdir().unwrap();
        let engine = directory.path().join("engine");
        let fake = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/engine");
        std::os::unix::fs::symlink(fake, &engine).unwrap();
        std::fs::write(directory.path().join("answers"), "exit 1\n").unwrap();
        let engine = engine.to_str().unwrap().to_string();
        let (mut program, client) = sleeper();
        let lines = [
            Line::Push(1, Undo::Run(vec![engine.clone(), "network".into()])),
            Line::Push(
                2,
                Undo::Container {
                    engine,
                    name: "node-0".into(),
                    client,
                },
            ),
        ];
        serve(input(&lines), Duration::from_secs(60)).unwrap();
        program.wait().unwrap();
        assert!(!client.is_alive());
        let asked = std::fs::read_to_string(directory.path().join("asked")).unwrap();
        // Its errors, as of a container that is gone, end nothing.
        assert_eq!(
            asked,
            "kill --signal=KILL node-0\nrm --force node-0\nnetwork\n"
        );
    }

    #[test]
    fn all_is_undone_when_the_time_is_over_or_a_line_is_broken() {
        struct Silent;
        impl io::Read for Silent {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                loop {
                    std::thread::park();
                }
            }
        }
        serve(Silent, Duration::from_millis(1)).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let gone = directory.path().join("gone");
        std::fs::write(&gone, "").unwrap();
        let mut text = input(&[Line::Push(1, Undo::Remove(gone.clone()))]).into_inner();
        text.push_str("{}\n");
        assert!(serve(io::Cursor::new(text), Duration::from_secs(60)).is_err());
        assert!(!gone.exists());
    }

    #[test]
    fn a_run_does_not_wait_for_ever_for_its_guard() {
        let mut guard = Guard::start(&["sleep".into(), "600".into()]).unwrap();
        let error = guard.end_within(Duration::ZERO).unwrap_err().to_string();
        assert!(error.contains("has not undone all within 0 s"), "{error}");
        guard.child.kill().unwrap();
        guard.end().unwrap();
    }

    #[test]
    fn nothing_can_be_done_without_a_running_guard() {
        let mut guard = Guard::start(&["true".into()]).unwrap();
        guard.child.wait().unwrap();
        // A process being started concurrently may hold the pipe for a moment.
        let error = loop {
            if let Err(error) = guard.push(Undo::Remove("/nowhere".into())) {
                break error;
            }
        };
        assert!(error.to_string().contains("guard"), "{error}");
    }
}
