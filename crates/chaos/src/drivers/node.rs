//! A node as a process of this machine, in a container or not.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::engine::{Container, Launcher, Shape};
use super::group::{Group, Limit};
use super::links::Links;
use super::namespaces::Namespaces;
use super::status::Status;
use super::{SharedGuard, cores, disk, settings};
use crate::guard::{Process, Ticket, Undo};
use crate::plan::Nodes;
use crate::program;

/// Shell script that starts the server once its guard knows of it: until then it waits for a line, and it ends if nobody will write one.
pub(super) const HELD: &str = r#"read -r _ && exec "$@" </dev/null"#;
/// Time limit for a node to end by itself.
const END: Duration = Duration::from_secs(60);
const MOST_LOG: u64 = 1 << 20;

/// Below the directory of a report: the data of the nodes, which is deleted with them.
pub fn data_of_nodes(report: &Path) -> PathBuf {
    report.join("nodes")
}

/// One node.
#[derive(Debug)]
pub struct Node {
    pub number: u32,
    /// Addresses of its REST API, its gRPC API and its management port.
    pub rest: String,
    pub grpc: String,
    pub management: String,
    /// Its data; below it, its private disk if it has one.
    pub(super) data: PathBuf,
    pub(super) disk_mib: Option<u64>,
    command: Vec<String>,
    /// Added to the command.
    settings: BTreeMap<String, String>,
    pub log: PathBuf,
    state: State,
    paused: Option<Ticket>,
    /// The number of cores that it may use.
    cores: Option<f64>,
    /// Its limit of memory.
    memory_mib: Option<u64>,
    /// The control group of its process, if it has a limit.
    group: Option<Group>,
    /// Additional delay of each flush.
    flush_delay: Duration,
    container: Option<Container>,
}

#[derive(Debug)]
enum State {
    /// A node of a foreign cluster.
    Foreign,
    Down,
    Up {
        child: Child,
        process: Process,
        ticket: Ticket,
        /// Length of its log when it began.
        logged: u64,
    },
}

/// Nodes with ports that are free now; their data is below `nodes` in the directory, their logs are beside it. With links, others reach
/// each of them through a proxy.
pub(super) fn with_ports(
    plan: &Nodes,
    linked: bool,
    (launcher, own): (&Launcher, Option<&Namespaces>),
    directory: &Path,
) -> io::Result<(Vec<Node>, Links)> {
    let all = plan.all();
    let count = usize::try_from(all).map_err(io::Error::other)? * 4;
    // The ports stay free while a node is down: no outgoing connection gets one of these.
    let ports = skep_testbed::free_ports(count)?;
    let each = ports.chunks_exact(4).filter_map(|ports| match ports {
        [rest, grpc, management, internal] => Some([*rest, *grpc, *management, *internal]),
        _ => None,
    });
    let each: Vec<[u16; 4]> = each.collect();
    let internal: Vec<u16> = each.iter().map(|[.., port]| *port).collect();
    let (links, advertised) = if linked {
        let links = Links::to(&internal)?;
        let ports: Vec<u16> = links.ports().collect();
        (links, ports)
    } else {
        (Links::default(), internal)
    };
    // The address of a node.
    let host = |number| match own {
        None => "127.0.0.1".to_string(),
        Some(own) => own.address(number),
    };
    let points = settings::contact_points(plan, &advertised, host)?;
    let each = each.into_iter().zip(advertised);
    let nodes = (0..all).zip(each).map(|(number, (ports, advertised))| {
        let [rest, grpc, management, internal] = ports;
        let data = data_of_nodes(directory).join(data_name(plan, number));
        let container = launcher.engine.clone().map(|engine| {
            let mut container = Container::new(engine, number, data_of_nodes(directory));
            container.cores = cores::of_node(plan, number);
            container
        });
        let host = host(number);
        let mut command = cores::words(plan, number);
        command.extend(own.into_iter().flat_map(|own| own.words(number)));
        command.push(launcher.program.display().to_string());
        command.extend(arguments(&host, ports, &data.join("data")));
        Node {
            number,
            rest: format!("{host}:{rest}"),
            grpc: format!("{host}:{grpc}"),
            management: format!("{host}:{management}"),
            log: directory.join(format!("node-{number}.log")),
            data,
            disk_mib: plan.disk_mib,
            command,
            settings: settings::of_node(plan, number, &points, (&host, internal), advertised),
            state: State::Down,
            paused: None,
            cores: plan.quota,
            memory_mib: None,
            group: None,
            flush_delay: Duration::ZERO,
            container,
        }
    });
    Ok((nodes.collect(), links))
}

/// The arguments of the server.
fn arguments(host: &str, [rest, grpc, management, _]: [u16; 4], data: &Path) -> Vec<String> {
    let words = ["serve", "--address", host, "--data"].map(String::from);
    let ports = [
        ("--rest-port", rest),
        ("--grpc-port", grpc),
        ("--management-port", management),
    ];
    let ports = ports.map(|(flag, port)| [flag.to_string(), port.to_string()]);
    let data = [data.display().to_string()];
    let words = words.into_iter().chain(data);
    words.chain(ports.into_iter().flatten()).collect()
}

/// The name of a node's directory. Processes that lease their numbers share one, which has a directory for each number.
fn data_name(plan: &Nodes, number: u32) -> String {
    if plan.leases {
        "leased".into()
    } else {
        number.to_string()
    }
}

/// A program that waits until it may [`begin`].
pub(super) fn spawned<'w>(
    mut words: impl Iterator<Item = &'w String>,
    log: File,
) -> io::Result<Child> {
    let program = words.next().ok_or(io::ErrorKind::InvalidInput)?;
    Command::new(program)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(log.try_clone()?)
        .stderr(log)
        // The guard ends it, not a Ctrl+C in the terminal.
        .process_group(0)
        .spawn()
}

pub(super) fn begin(child: &mut Child) -> io::Result<()> {
    let Some(mut input) = child.stdin.take() else {
        return Ok(());
    };
    input.write_all(b"begin\n")
}

impl Node {
    /// A node of a foreign cluster with these addresses of REST, gRPC and management.
    pub(super) fn of_others([rest, grpc, management]: [String; 3]) -> Self {
        Self {
            number: 0,
            rest,
            grpc,
            management,
            data: PathBuf::new(),
            disk_mib: None,
            command: Vec::new(),
            settings: BTreeMap::new(),
            log: PathBuf::new(),
            state: State::Foreign,
            paused: None,
            cores: None,
            memory_mib: None,
            group: None,
            flush_delay: Duration::ZERO,
            container: None,
        }
    }

    /// A pod of a foreign cluster, with forwarded ports of REST, gRPC and management; `program` is that of `skep status`.
    pub(super) fn of_pod(number: u32, ports: [u16; 3], program: &Path) -> Self {
        Self {
            number,
            command: vec![program.display().to_string()],
            ..Self::of_others(ports.map(|port| format!("127.0.0.1:{port}")))
        }
    }

    /// Whether a pod is reached.
    pub(super) fn set_reached(&mut self, is_reached: bool) {
        self.state = if is_reached {
            State::Foreign
        } else {
            State::Down
        };
    }

    /// Its data directory, if the node is ours.
    pub fn data(&self) -> Option<PathBuf> {
        let is_ours = !self.data.as_os_str().is_empty();
        is_ours.then(|| self.data.join("data"))
    }

    /// Whether it has no partitions, and is no member of the cluster.
    pub(super) fn is_gateway(&self) -> bool {
        settings::are_of_gateway(&self.settings)
    }

    /// Whether it was started, or is foreign.
    pub fn is_up(&self) -> bool {
        !self.is_down()
    }

    pub(super) fn is_down(&self) -> bool {
        matches!(self.state, State::Down)
    }

    /// The number of cores that it may use, if that is limited.
    pub fn quota(&self) -> Option<f64> {
        self.cores
    }

    /// The process, if the node is ours.
    pub fn process(&self) -> Option<Process> {
        match &self.state {
            State::Up { process, .. } => Some(*process),
            State::Foreign | State::Down => None,
        }
    }

    pub(super) fn start(&mut self, guard: &SharedGuard) -> io::Result<()> {
        std::fs::create_dir_all(&self.data)?;
        let log = File::options().create(true).append(true).open(&self.log)?;
        if self.container.is_some() {
            return self.start_contained(log, guard);
        }
        let shell = match self.disk_mib {
            None => vec!["sh".into(), "-c".into(), HELD.into(), "skep-chaos".into()],
            Some(mib) => disk::shell(&self.data, mib)?,
        };
        let late = match self.flush_delay {
            Duration::ZERO => Vec::new(),
            delay => disk::late(delay),
        };
        let settings = self.setting_words();
        let words = shell.iter().chain(&late).chain(&self.command);
        let logged = log.metadata()?.len();
        let mut child = spawned(words.chain(&settings), log)?;
        let process = Process::of(child.id()).ok_or(io::ErrorKind::NotFound)?;
        let ticket = guard.with(|guard| guard.push(Undo::Kill(process)))?;
        let limits = [
            self.cores.map(Limit::Cores),
            self.memory_mib.map(|mib| Limit::Memory { mib }),
        ];
        for limit in limits.into_iter().flatten() {
            self.group_of(process).set(limit, guard)?;
        }
        begin(&mut child)?;
        self.state = State::Up {
            child,
            process,
            ticket,
            logged,
        };
        Ok(())
    }

    /// Starts a container with the node. Its process has a number on this machine too.
    fn start_contained(&mut self, log: File, guard: &SharedGuard) -> io::Result<()> {
        let logged = log.metadata()?.len();
        let (mut child, ticket) = self.contained("serve", log, guard)?;
        let container = self.container.as_ref().ok_or(io::ErrorKind::NotFound)?;
        self.state = State::Up {
            process: container.process(&mut child)?,
            child,
            ticket,
            logged,
        };
        Ok(())
    }

    /// Begins a command of the program in a container.
    fn contained(
        &mut self,
        command: &str,
        log: File,
        guard: &SharedGuard,
    ) -> io::Result<(Child, Ticket)> {
        let arguments = self.arguments(command);
        let container = self.container.as_mut().ok_or(io::ErrorKind::NotFound)?;
        let shape = Shape {
            disk: self.disk_mib.map(|mib| (&*self.data, mib)),
            quota: self.cores,
            memory_mib: self.memory_mib,
        };
        let words = container.next(shape)?;
        let shell = ["sh", "-c", HELD, "skep-chaos"].map(String::from);
        let words = shell.iter().chain(&words).chain(&arguments);
        let mut child = spawned(words, log)?;
        let client = Process::of(child.id()).ok_or(io::ErrorKind::NotFound)?;
        let ticket = guard.with(|guard| guard.push(container.undo(client)))?;
        begin(&mut child)?;
        Ok((child, ticket))
    }

    /// What follows the program: another command instead of `serve`, its flags and the settings.
    fn arguments(&self, command: &str) -> Vec<String> {
        let serve = self.command.iter().skip_while(|word| *word != "serve");
        let flags = serve.skip(1).cloned();
        let words = [command.to_string()].into_iter().chain(flags);
        words.chain(self.setting_words()).collect()
    }

    /// Sends a signal to its process, unless that has ended by itself.
    fn signal(&self, process: Process, signal: &str) -> io::Result<()> {
        let Some(container) = &self.container else {
            process.signal(signal);
            return Ok(());
        };
        if !process.is_alive() {
            return Ok(());
        }
        match container.signal(signal) {
            // It has ended meanwhile, and the engine knows no container of this name.
            Err(_) if !process.is_alive() => Ok(()),
            signalled => signalled,
        }
    }

    fn setting_words(&self) -> Vec<String> {
        let set = |(name, value)| ["--set".to_string(), format!("{name}={value}")];
        self.settings.iter().flat_map(set).collect()
    }

    /// Whether its log has this text in the first [`MOST_LOG`] bytes since it began.
    pub(super) fn has_said(&self, text: &str) -> io::Result<bool> {
        let State::Up { logged, .. } = &self.state else {
            return Err(io::Error::other(format!(
                "node {} is not up, or not of this run: its log is not read",
                self.number
            )));
        };
        let mut log = File::open(&self.log)?;
        log.seek(SeekFrom::Start(*logged))?;
        let mut said = Vec::new();
        log.take(MOST_LOG).read_to_end(&mut said)?;
        Ok(String::from_utf8_lossy(&said).contains(text))
    }

    /// `skep status`, asked of this node.
    pub(super) fn status(&self) -> io::Result<Status> {
        let words = self.command.iter().take_while(|word| *word != "serve");
        let program = words.last().ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Status::new(program, &self.rest, &self.management))
    }

    /// Begins to restore its data from the newest backup.
    pub(super) fn restore(&mut self, guard: &SharedGuard) -> io::Result<(Child, Ticket)> {
        if self.is_up() {
            return Err(io::Error::other(format!("node {} is up", self.number)));
        }
        std::fs::create_dir_all(&self.data)?;
        let log = File::options().create(true).append(true).open(&self.log)?;
        if self.container.is_some() {
            return self.contained("restore", log, guard);
        }
        let shell = ["sh", "-c", HELD, "skep-chaos"].map(String::from);
        let command = self.command.iter().map(|word| match word.as_str() {
            "serve" => "restore".to_string(),
            _ => word.clone(),
        });
        let command: Vec<String> = command.chain(self.setting_words()).collect();
        let mut child = spawned(shell.iter().chain(&command), log)?;
        let process = Process::of(child.id()).ok_or(io::ErrorKind::NotFound)?;
        let ticket = guard.with(|guard| guard.push(Undo::Kill(process)))?;
        begin(&mut child)?;
        Ok((child, ticket))
    }

    pub(super) fn end(&mut self, gently: bool, guard: &SharedGuard) -> io::Result<()> {
        if let Some(process) = self.process() {
            self.signal(process, if gently { "TERM" } else { "KILL" })?;
        }
        let State::Up { child, ticket, .. } = &mut self.state else {
            return Err(io::Error::other(format!("node {} is not up", self.number)));
        };
        if program::ended(child, END)?.is_none() {
            let text = format!("node {} does not end", self.number);
            return Err(io::Error::other(text));
        }
        let ticket = *ticket;
        self.state = State::Down;
        guard.with(|guard| guard.pop(ticket))
    }

    /// Limits it to this many cores from now on, also after a restart.
    pub(super) fn limit(&mut self, cores: f64, guard: &SharedGuard) -> io::Result<()> {
        let Some(process) = self.process() else {
            return Err(io::Error::other(format!("node {} is not up", self.number)));
        };
        self.cores = Some(cores);
        match &self.container {
            None => self.group_of(process).set(Limit::Cores(cores), guard),
            Some(container) => container.limit(cores),
        }
    }

    fn group_of(&mut self, process: Process) -> &mut Group {
        let before = self.group.take().filter(|group| group.is_of(process));
        self.group
            .insert(before.unwrap_or_else(|| Group::of(process)))
    }

    /// Sets settings that apply from its next start on.
    pub(super) fn set(&mut self, settings: &BTreeMap<String, String>) {
        self.settings.extend(settings.clone());
    }

    /// Limits its memory, from its next start on.
    pub(super) fn confine(&mut self, mib: u64) {
        self.memory_mib = Some(mib);
    }

    /// Delays each flush by this much, from its next start on.
    pub(super) fn flush_late(&mut self, delay: Duration) {
        self.flush_delay = delay;
    }

    pub(super) fn pause(&mut self, guard: &SharedGuard) -> io::Result<()> {
        let Some(process) = self.process() else {
            return Err(io::Error::other(format!("node {} is not up", self.number)));
        };
        let ticket = guard.with(|guard| guard.push(Undo::Resume(process)))?;
        self.paused = Some(ticket);
        self.signal(process, "STOP")?;
        let end = Instant::now() + END;
        while process.state() != Some('T') {
            if Instant::now() >= end {
                return Err(io::Error::other(format!(
                    "node {} does not stop",
                    self.number
                )));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    /// Continues the node; returns whether it was paused.
    pub(super) fn resume(&mut self, guard: &SharedGuard) -> io::Result<bool> {
        let (Some(ticket), Some(process)) = (self.paused.take(), self.process()) else {
            return Ok(false);
        };
        self.signal(process, "CONT")?;
        guard.with(|guard| guard.pop(ticket))?;
        Ok(true)
    }

    /// How it has ended by itself; `None` from the second call on.
    pub(super) fn has_died(&mut self) -> Option<ExitStatus> {
        let State::Up { child, .. } = &mut self.state else {
            return None;
        };
        let status = child.try_wait().ok().flatten()?;
        self.state = State::Down;
        Some(status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drivers::Engine;
    use crate::guard::Guard;

    #[test]
    fn a_log_is_that_since_the_last_start() {
        let directory = tempfile::tempdir().unwrap();
        let guard = SharedGuard::new(Guard::start(&["cat".to_string()]).unwrap());
        let mut node = Node::of_others(["", "", ""].map(String::from));
        node.log = directory.path().join("node.log");
        assert!(node.has_said("early").is_err(), "it is not of the run");
        node.state = State::Down;
        node.data = directory.path().join("data");
        std::fs::write(&node.log, "early\n").unwrap();
        node.command = ["sh", "-c", "echo later; exec sleep 600"]
            .map(String::from)
            .into();
        node.start(&guard).unwrap();
        let end = Instant::now() + END;
        while !node.has_said("later").unwrap() {
            assert!(Instant::now() < end);
            std::thread::yield_now();
        }
        assert!(!node.has_said("early").unwrap());
        node.end(false, &guard).unwrap();
    }

    #[test]
    fn a_node_in_a_container_that_has_ended_by_itself_can_be_killed_and_started_again() {
        let guard = SharedGuard::new(Guard::start(&["cat".to_string()]).unwrap());
        // An engine that does not know the container any more.
        let engine = Engine::new(Some("false"), "skep:1");
        let child = Command::new("true").spawn().unwrap();
        let process = Process::of(child.id()).unwrap();
        let ticket = guard.with(|guard| guard.push(Undo::Kill(process))).unwrap();
        let mut node = Node::of_others(["", "", ""].map(String::from));
        node.container = Some(Container::new(engine, 0, "/run/nodes".into()));
        node.state = State::Up {
            child,
            process,
            ticket,
            logged: 0,
        };
        let end = Instant::now() + END;
        while process.is_alive() {
            assert!(Instant::now() < end);
            std::thread::yield_now();
        }
        node.end(false, &guard).unwrap();
        assert!(node.is_down());
    }
}
