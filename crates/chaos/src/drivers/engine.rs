//! Nodes in containers of this machine, by the command line of `docker` or of `podman`, which has the same commands.
//!
//! Containers share the machine's network and are seen among its processes. So ports, proxies and stores are those of the process driver,
//! and everything that looks at a node's process does so here too.

use std::fs::metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use super::namespaces;
use crate::guard::{Process, Undo};
use crate::plan::{Action, Plan};
use crate::program;

/// Time limit for a command of the engine.
const ANSWER: Duration = Duration::from_secs(30);
/// Time limit for a container to start.
const START: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);
/// The period of a quota, as in control groups of processes.
const PERIOD_US: u32 = 10_000;

/// How the nodes of a run are started.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// The `skep` program.
    pub program: PathBuf,
    /// Where its image runs instead.
    pub engine: Option<Engine>,
    /// Whether each node has a network namespace of its own.
    pub namespaces: bool,
}

impl Launcher {
    /// Nodes are processes.
    pub fn of(program: PathBuf) -> Self {
        Self {
            program,
            engine: None,
            namespaces: false,
        }
    }

    /// Why the nodes of a plan cannot be started like this here.
    pub fn lack(&self, plan: &Plan) -> Option<String> {
        let engine = self.engine.as_ref();
        let network = || self.namespaces.then(|| namespaces::lack(plan)).flatten();
        engine.and_then(|engine| engine.lack(plan)).or_else(network)
    }
}

/// A container engine, and the image of the nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Engine {
    program: String,
    image: String,
}

impl Engine {
    /// With a program of this name; without one, the first of `docker` and `podman` that answers.
    pub fn new(program: Option<&str>, image: &str) -> Self {
        let of = |program: &str| Self {
            program: program.into(),
            image: image.into(),
        };
        let known = ["docker", "podman"].map(of);
        let answers = |engine: &&Self| engine.ask(&["version"]).is_ok();
        match program {
            Some(program) => of(program),
            None => known.iter().find(answers).cloned().unwrap_or(of("docker")),
        }
    }

    /// Why the nodes of a plan cannot be its containers.
    pub fn lack(&self, plan: &Plan) -> Option<String> {
        let (program, image) = (&self.program, &self.image);
        let is_late = |step: &&crate::plan::Step| matches!(step.action, Action::Disk { .. });
        if let Some(step) = plan.steps.iter().find(is_late) {
            let name = &step.name;
            return Some(format!(
                "step {name} delays flushes by strace, which is not in a container: use the driver `process`"
            ));
        }
        if let Err(error) = self.ask(&["version"]) {
            return Some(format!("no container engine answers: {error}"));
        }
        match self.ask(&["image", "inspect", "--format", "{{.Id}}", image]) {
            Ok(_) => None,
            Err(error) => Some(format!(
                "{program} does not have the image {image} (`make image`, then `{program} load -i target/dist/skep-image.tar`): {error}"
            )),
        }
    }

    /// What a command prints.
    fn ask(&self, words: &[&str]) -> io::Result<String> {
        program::ask(&self.program, words, "", ANSWER)
    }
}

/// The container of a node; a new one for each start, since the engine may still be removing the last.
#[derive(Clone, Debug)]
pub(super) struct Container {
    engine: Engine,
    /// The number of the run and of the node.
    base: String,
    starts: u32,
    /// The directory with the data of all nodes.
    data: PathBuf,
    /// The cores on which it may run, as a list.
    pub(super) cores: Option<String>,
}

/// What a container gets, beside its image.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shape<'n> {
    /// A directory that is a disk in memory, of this many MiB.
    pub(super) disk: Option<(&'n Path, u64)>,
    pub(super) quota: Option<f64>,
    pub(super) memory_mib: Option<u64>,
}

impl Container {
    pub(super) fn new(engine: Engine, number: u32, data: PathBuf) -> Self {
        Self {
            engine,
            base: format!("skep-chaos-{}-{number}", std::process::id()),
            starts: 0,
            data,
            cores: None,
        }
    }

    fn name(&self) -> String {
        format!("{}-{}", self.base, self.starts)
    }

    /// The command that runs the next container in the foreground; the arguments of `skep` are to follow.
    pub(super) fn next(&mut self, shape: Shape<'_>) -> io::Result<Vec<String>> {
        self.starts += 1;
        // Files of the run belong to whoever runs it.
        let own = metadata("/proc/self")?;
        let data = self.data.display();
        let mut words = vec![self.engine.program.clone()];
        words.extend([
            "run".to_string(),
            "--rm".into(),
            format!("--name={}", self.name()),
            "--network=host".into(),
            "--no-healthcheck".into(),
            format!("--user={}:{}", own.uid(), own.gid()),
            format!("--volume={data}:{data}"),
        ]);
        if let Some((directory, mib)) = shape.disk {
            let directory = directory.display();
            words.push(format!(
                "--mount=type=tmpfs,destination={directory},tmpfs-size={mib}m,tmpfs-mode=1777"
            ));
        }
        words.extend(
            self.cores
                .iter()
                .map(|list| format!("--cpuset-cpus={list}")),
        );
        words.extend(shape.quota.into_iter().flat_map(quota));
        if let Some(mib) = shape.memory_mib {
            words.push(format!("--memory={mib}m"));
            // Without swap.
            words.push(format!("--memory-swap={mib}m"));
        }
        words.push(self.engine.image.clone());
        Ok(words)
    }

    /// Ends the container and removes it. `client` is the engine's program in the foreground, which could still start it.
    pub(super) fn undo(&self, client: Process) -> Undo {
        Undo::Container {
            engine: self.engine.program.clone(),
            name: self.name(),
            client,
        }
    }

    /// The process of the container, once it has started.
    ///
    /// # Errors
    /// The engine does not start it; its output is in the log of the node.
    pub(super) fn process(&self, client: &mut Child) -> io::Result<Process> {
        let end = Instant::now() + START;
        let name = self.name();
        loop {
            let asked = self
                .engine
                .ask(&["inspect", "--format", "{{.State.Pid}}", &name]);
            let pid = asked
                .as_ref()
                .ok()
                .and_then(|it| it.trim().parse::<u32>().ok());
            if let Some(process) = pid.filter(|pid| *pid > 0).and_then(Process::of) {
                return Ok(process);
            }
            if let Some(status) = client.try_wait()? {
                return Err(io::Error::other(format!(
                    "the container {name} does not start ({status}); its output is in the log of the node"
                )));
            }
            if Instant::now() >= end {
                let seconds = START.as_secs();
                let why = asked
                    .err()
                    .map_or_else(String::new, |error| format!(": {error}"));
                return Err(io::Error::other(format!(
                    "the container {name} has no process of this machine after {seconds} s{why}"
                )));
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Sends a signal (`KILL`, `STOP`, …) to its process.
    pub(super) fn signal(&self, signal: &str) -> io::Result<()> {
        let signal = format!("--signal={signal}");
        self.engine
            .ask(&["kill", &signal, &self.name()])
            .map(|_| ())
    }

    /// Limits it to this many cores from now on.
    pub(super) fn limit(&self, cores: f64) -> io::Result<()> {
        let [period, quota] = quota(cores);
        let name = self.name();
        self.engine
            .ask(&["update", &period, &quota, &name])
            .map(|_| ())
    }
}

fn quota(cores: f64) -> [String; 2] {
    let quota = (f64::from(PERIOD_US) * cores).round();
    [
        format!("--cpu-period={PERIOD_US}"),
        format!("--cpu-quota={quota}"),
    ]
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::experiments;

    /// An engine that notes its arguments and answers as this script does. The program itself is not written here: it could not be started
    /// while another test starts a program, which has its open files for a moment.
    fn engine(directory: &Path, answers: &str) -> Engine {
        let program = directory.join("engine");
        let fake = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engine");
        if !program.exists() {
            std::os::unix::fs::symlink(fake, &program).unwrap();
        }
        std::fs::write(directory.join("answers"), format!("{answers}\n")).unwrap();
        Engine::new(program.to_str(), "skep:1")
    }

    fn asked(directory: &Path) -> Vec<String> {
        let log = std::fs::read_to_string(directory.join("asked"));
        log.unwrap_or_default().lines().map(String::from).collect()
    }

    fn container(engine: Engine) -> Container {
        let mut container = Container::new(engine, 2, "/run/nodes".into());
        container.base = "skep-chaos-7-2".into();
        container
    }

    #[test]
    fn a_container_has_the_ports_data_and_limits_of_its_node() {
        let directory = tempfile::tempdir().unwrap();
        let mut container = container(engine(directory.path(), "true"));
        container.cores = Some("0,1".into());
        let shape = Shape {
            disk: Some((Path::new("/run/nodes/2"), 200)),
            quota: Some(0.5),
            memory_mib: Some(256),
        };
        let words = container.next(shape).unwrap();
        let line = words[1..].join(" ");
        for part in [
            "run --rm --name=skep-chaos-7-2-1 --network=host",
            "--volume=/run/nodes:/run/nodes",
            "--mount=type=tmpfs,destination=/run/nodes/2,tmpfs-size=200m",
            "--cpuset-cpus=0,1 --cpu-period=10000 --cpu-quota=5000 --memory=256m --memory-swap=256m skep:1",
        ] {
            assert!(line.contains(part), "{part} is not in {line}");
        }
        let again = container.next(Shape::default()).unwrap().join(" ");
        assert!(again.contains("--name=skep-chaos-7-2-2"), "{again}");
        assert!(
            !again.contains("--cpu-quota") && !again.contains("--memory"),
            "{again}"
        );
    }

    #[test]
    fn signals_and_limits_name_the_container_that_runs() {
        let directory = tempfile::tempdir().unwrap();
        let mut container = container(engine(directory.path(), "true"));
        container.next(Shape::default()).unwrap();
        container.signal("STOP").unwrap();
        container.limit(0.25).unwrap();
        let expected = [
            "kill --signal=STOP skep-chaos-7-2-1",
            "update --cpu-period=10000 --cpu-quota=2500 skep-chaos-7-2-1",
        ];
        assert_eq!(asked(directory.path()), expected);
    }

    #[test]
    fn the_process_of_a_container_is_that_of_this_machine() {
        let directory = tempfile::tempdir().unwrap();
        let own = std::process::id();
        let mut container = container(engine(directory.path(), &format!("echo {own}")));
        container.next(Shape::default()).unwrap();
        let mut client = Command::new("sleep").arg("60").spawn().unwrap();
        let process = container.process(&mut client).unwrap();
        assert_eq!(u32::try_from(process.pid), Ok(own));
        client.kill().unwrap();
        client.wait().unwrap();
        // The engine knows the container, which has no process yet; then its program ends.
        let none = engine(directory.path(), "echo 0");
        container.engine = none;
        let error = container.process(&mut client).unwrap_err();
        assert!(error.to_string().contains("does not start"), "{error}");
    }

    #[test]
    fn what_is_missing_is_said_before_the_run() {
        let directory = tempfile::tempdir().unwrap();
        let plan = |name| (experiments::find(name).unwrap().plan)(false);
        let loss = plan("broker-loss");
        assert_eq!(engine(directory.path(), "true").lack(&loss), None);
        for (answers, said) in [
            ("echo no daemon >&2; exit 1", "no container engine answers"),
            (
                "[ $1 = version ] || exit 1",
                "does not have the image skep:1",
            ),
        ] {
            let lack = engine(directory.path(), answers).lack(&loss).unwrap();
            assert!(lack.contains(said), "{lack}");
        }
        let nowhere = Engine::new(Some("/no/such/engine"), "skep:1");
        let lack = nowhere.lack(&loss).unwrap();
        assert!(lack.contains("/no/such/engine version"), "{lack}");
        let lack = engine(directory.path(), "true").lack(&plan("slow-disk"));
        assert!(lack.unwrap().contains("use the driver `process`"));
    }
}
