//! The leased number of this node ([`skep_cluster::lease`]): a thread takes one from a bucket, renews the lease and returns it.
//!
//! | What | Bound | At the bound |
//! |---|---|---|
//! | a request to the bucket | [`NodeIds::call_limit`] | its outcome is read |
//! | the bucket is away | none | a node with a number continues; one without waits, and logs it |
//! | giving a number back | [`LEAVE_LIMIT`] | the lease runs out |

mod bucket;
mod directories;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use skep_cluster::lease::{Answer, Claimant, Do, Ended, Free, Now, Own, Terms};
use tokio::sync::{mpsc, oneshot};

use self::bucket::{Bucket, NotTrusted};
use self::directories::Directories;
use crate::config::Settings;
use crate::config::node_ids::NodeIds;
use crate::config::node_number::hostname;
use crate::errors::Coded;

const CODE: &str = "NODE_ID";
/// Interval at which a lasting problem is logged again.
const SAY_AGAIN: Duration = Duration::from_secs(10);
const TRY_AGAIN: Duration = Duration::from_secs(1);
/// Maximum time to wait until a number has been given back.
const LEAVE_LIMIT: Duration = Duration::from_secs(3);
/// Capacity for one command of each kind.
const COMMANDS: usize = 2;
/// Maximum length of a task's name.
const MAX_TASK: usize = 256;

/// The node number that this process has obtained.
#[derive(Clone, Debug)]
pub struct Number {
    pub node: u32,
    pub directory: PathBuf,
    /// The data of this number is elsewhere: the node can only be added to a cluster.
    pub joins: bool,
}

enum Command {
    Joined,
    Leave,
}

/// The state of the lease, as visible to other parts of the process.
#[derive(Clone, Debug)]
pub struct Standing {
    pub node: u32,
    pub version: u64,
    /// The process, for people to read.
    pub task: String,
    /// How long it lasts after a renewal.
    pub duration: Duration,
    /// Time at which the last successful renewal was sent.
    pub confirmed: Instant,
    /// Why the bucket cannot be used at the moment.
    pub trouble: Option<String>,
}

/// A number held by this process.
pub struct Lease {
    pub number: Number,
    standing: Arc<Mutex<Option<Standing>>>,
    commands: mpsc::Sender<Command>,
    ended: Mutex<Option<oneshot::Receiver<()>>>,
}

impl Lease {
    pub fn standing(&self) -> Option<Standing> {
        self.standing.lock().clone()
    }

    /// Notes that the node belongs to a cluster with the data in its directory.
    pub fn joined(&self) {
        let _ = self.commands.try_send(Command::Joined);
    }

    /// Gives the number back: this process no longer acts.
    pub async fn leave(&self) {
        let _ = self.commands.try_send(Command::Leave);
        let ended = self.ended.lock().take();
        if let Some(ended) = ended
            && tokio::time::timeout(LEAVE_LIMIT, ended).await.is_err()
        {
            tracing::warn!(
                code = "NODE_ID",
                "the number of this node was not released in time: the next process takes it when the lease has expired"
            );
        }
    }
}

/// Waits until this process has a number.
///
/// # Errors
/// Settings, a directory or a bucket that is unusable.
pub async fn take(settings: &Settings) -> Result<Lease, Coded> {
    let refused = |reason: String| Coded::new(CODE, reason);
    let ids = &settings.cluster.node_ids;
    let directories = Directories::open(&settings.broker.directory);
    let directories = directories.map_err(|error| refused(error.to_string()))?;
    let bucket = Bucket::open(&ids.location(), ids.call_limit());
    let bucket = bucket.map_err(|error| refused(error.to_string()))?;
    let size = settings.cluster.size;
    let task = task(ids);
    let claimant = claimant(ids, (size, task.as_str()), &directories);
    let claimant = claimant.map_err(|error| refused(error.to_string()))?;
    let (acts, acting) = oneshot::channel();
    let (commands, commanded) = mpsc::channel(COMMANDS);
    let (ends, ended) = oneshot::channel();
    let standing = Arc::new(Mutex::new(None));
    let keeper = Keeper {
        claimant,
        bucket,
        directories,
        size,
        task,
        duration: ids.lease_duration,
        acts: Some(acts),
        commands: commanded,
        standing: standing.clone(),
        began: Instant::now(),
        said: None,
        was_away: false,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| {
            refused(format!(
                "the thread of the lease cannot be started: {error}"
            ))
        })?;
    std::thread::Builder::new()
        .name("lease".to_string())
        .spawn(move || {
            runtime.block_on(keeper.run());
            let _ = ends.send(());
        })
        .map_err(|error| {
            refused(format!(
                "the thread of the lease cannot be started: {error}"
            ))
        })?;
    let number = match acting.await {
        Ok(Ok(number)) => number,
        Ok(Err(NotTaken(reason))) => return Err(refused(reason)),
        Err(_) => return Err(refused("the thread of the lease has ended".to_string())),
    };
    Ok(Lease {
        number,
        standing,
        commands,
        ended: Mutex::new(Some(ended)),
    })
}

/// The name of this process for people.
fn task(ids: &NodeIds) -> String {
    let task = Some(ids.task.clone()).filter(|task| !task.is_empty());
    let task = task.or_else(hostname).unwrap_or_default();
    task.chars().take(MAX_TASK).collect()
}

fn claimant(
    ids: &NodeIds,
    (size, task): (u32, &str),
    directories: &Directories,
) -> std::io::Result<Claimant> {
    let own = Own {
        instance: uuid::Uuid::new_v4().to_string(),
        task: task.to_string(),
        here: directories.here(size)?,
        replaces: ids.replaces,
    };
    let duration = ids.lease_duration;
    Ok(Claimant::new(Terms { duration }, size, own))
}

/// The reason why this process gets no number.
struct NotTaken(String);

/// The state of the thread.
struct Keeper {
    claimant: Claimant,
    bucket: Bucket,
    directories: Directories,
    size: u32,
    task: String,
    duration: Duration,
    /// The recipient of the number, until it has been sent.
    acts: Option<oneshot::Sender<Result<Number, NotTaken>>>,
    commands: mpsc::Receiver<Command>,
    standing: Arc<Mutex<Option<Standing>>>,
    began: Instant,
    /// When the log last said why there is no number yet, or that the bucket is away.
    said: Option<Instant>,
    was_away: bool,
}

impl Keeper {
    fn now(&self) -> Now {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH);
        let wall = wall.unwrap_or_default().as_millis();
        Now {
            clock: self.began.elapsed(),
            wall: i64::try_from(wall).unwrap_or(i64::MAX),
        }
    }

    async fn run(mut self) {
        if let Err(reason) = self.trust().await {
            if let Some(acts) = self.acts.take() {
                let _ = acts.send(Err(NotTaken(reason.to_string())));
            }
            return;
        }
        loop {
            while let Ok(command) = self.commands.try_recv() {
                self.take_command(&command);
            }
            let doing = self.claimant.next(self.now());
            let answer = match doing {
                Do::Read { node } => self.bucket.read(node).await,
                Do::Write { node, over, record } => self.bucket.write(node, over, &record).await,
                Do::Lock { node, create } => self.lock(node, create),
                Do::Unlock { node } => {
                    self.directories.unlock(node);
                    Answer::Done
                }
                Do::Act { node, joins } => {
                    self.act(node, joins);
                    Answer::Done
                }
                Do::Wait(long) => {
                    self.say_what_lasts();
                    self.wait(long).await;
                    continue;
                }
                Do::Stop(ended) => return self.stop(&ended),
            };
            self.claimant.answered(self.now(), answer);
            self.show();
        }
    }

    /// Waits until the store proves to support conditional writes.
    async fn trust(&mut self) -> Result<(), NotTrusted> {
        loop {
            match self.bucket.probe().await {
                Ok(()) => {
                    self.said = None;
                    return Ok(());
                }
                Err(NotTrusted::Unavailable(reason)) => {
                    self.bucket.trouble = Some(reason);
                    self.say_what_lasts();
                }
                Err(refused) => return Err(refused),
            }
            // The caller has stopped waiting for a number.
            if self.acts.as_ref().is_none_or(oneshot::Sender::is_closed) {
                return Err(NotTrusted::Unavailable("stopped".to_string()));
            }
            tokio::time::sleep(TRY_AGAIN).await;
        }
    }

    async fn wait(&mut self, long: Duration) {
        // A node that no longer starts needs no number.
        if self.acts.as_ref().is_some_and(oneshot::Sender::is_closed) {
            self.take_command(&Command::Leave);
        }
        if self.claimant.node().is_none()
            && let Ok(here) = self.directories.here(self.size)
        {
            self.claimant.finds(here);
        }
        tokio::select! {
            () = tokio::time::sleep(long) => {}
            command = self.commands.recv() => match command {
                Some(command) => self.take_command(&command),
                None => tokio::time::sleep(long).await,
            }
        }
    }

    fn take_command(&mut self, command: &Command) {
        match command {
            Command::Joined => self.claimant.joined(),
            Command::Leave => self.claimant.leave(self.directories.with_data(self.size)),
        }
    }

    fn lock(&mut self, node: u32, create: bool) -> Answer {
        let locked = self.directories.lock(node, create);
        Answer::Locked(locked.unwrap_or_else(|error| {
            let directory = self.directories.of(node).display().to_string();
            tracing::warn!(code = "NODE_ID", directory, %error, "the directory of a number cannot be used");
            None
        }))
    }

    fn act(&mut self, node: u32, joins: bool) {
        let version = self.claimant.version().unwrap_or_default();
        let directory = self.directories.of(node);
        tracing::info!(node, version, directory = %directory.display(), joins, "this process has the number of a node");
        let number = Number {
            node,
            directory,
            joins,
        };
        self.said = None;
        if let Some(acts) = self.acts.take() {
            let _ = acts.send(Ok(number));
        }
    }

    fn show(&mut self) {
        let trouble = self.bucket.trouble.clone();
        if self.acts.is_none() && self.was_away != trouble.is_some() {
            self.was_away = trouble.is_some();
            if self.was_away {
                self.said = None;
            } else {
                tracing::info!("the bucket with the leases answers again");
            }
        }
        let age = self.claimant.age(self.now().clock).unwrap_or_default();
        let confirmed = Instant::now().checked_sub(age);
        let standing = self.claimant.node().map(|node| Standing {
            node,
            version: self.claimant.version().unwrap_or_default(),
            task: self.task.clone(),
            duration: self.duration,
            confirmed: confirmed.unwrap_or_else(Instant::now),
            trouble,
        });
        *self.standing.lock() = standing;
    }

    /// Logs lasting problems, once in a while.
    fn say_what_lasts(&mut self) {
        let long_ago = self.said.is_none_or(|said| said.elapsed() >= SAY_AGAIN);
        let waits = self.acts.is_some();
        if !long_ago || !(waits || self.bucket.trouble.is_some()) {
            return;
        }
        self.said = Some(Instant::now());
        let store = self.bucket.shown();
        if let Some(reason) = &self.bucket.trouble {
            if waits {
                tracing::warn!(code = "NODE_ID", %store, %reason, "the number of this node cannot be leased: the bucket cannot be used");
            } else {
                let age = self.claimant.age(self.began.elapsed());
                let seconds = age.unwrap_or_default().as_secs();
                tracing::warn!(
                    code = "NODE_ID",
                    %store,
                    %reason,
                    seconds,
                    "the lease of this node's number could not be renewed; the node keeps running"
                );
            }
        } else if let (true, Some(node)) = (self.claimant.waits_for_lock(), self.claimant.node()) {
            let directory = self.directories.of(node).display().to_string();
            tracing::warn!(
                code = "NODE_ID",
                node,
                directory,
                "the lease of the number had expired and now belongs to this process, but another process on this machine holds the lock \
                 of its directory: that process hangs, or could not reach the bucket. It stops by itself when it resumes, or you can \
                 stop it"
            );
        } else {
            let numbers = self.numbers();
            tracing::info!(%store, %numbers, "waiting for the number of a node");
        }
    }

    /// Why this process cannot get each number.
    fn numbers(&self) -> String {
        let of = |(node, free): &(u32, Free)| match free {
            Free::Yes => format!("{node} is about to be taken"),
            Free::OwnedBy(task) => format!("{node} has '{task}'"),
            Free::ElsewhereWith(task) => format!(
                "the data of {node} is not in {}, and '{task}' had it last: start that process where the data is. If the data is lost, \
                 remove the node from the cluster, set skep.cluster.replace-lost-nodes, start this process again and add the node \
                 (docs/how-to/replace-a-node.md)",
                self.directories.of(*node).display()
            ),
        };
        let numbers = self.claimant.numbers(self.began.elapsed());
        let numbers: Vec<String> = numbers.iter().map(of).collect();
        numbers.join("; ")
    }

    fn stop(mut self, ended: &Ended) {
        match ended {
            Ended::Released => {
                if let Some(acts) = self.acts.take() {
                    let _ = acts.send(Err(NotTaken("stopped".to_string())));
                }
            }
            Ended::Lost { node, by } => {
                tracing::error!(
                    code = "NODE_ID",
                    node,
                    by = by.task,
                    version = by.version,
                    "another process has taken the number of this node, because its lease was not renewed for too long: this process \
                     stops at once"
                );
                // Exits at once: nothing that takes time, such as a checkpoint, may happen any more.
                std::process::exit(1);
            }
        }
    }
}
