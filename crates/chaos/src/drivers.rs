//! Provides the nodes of a run: processes of this machine, or containers on it. A foreign cluster is only observed.

mod backups;
mod changes;
mod cores;
mod disk;
mod engine;
mod faults;
mod foreign;
mod group;
mod hog;
mod kubernetes;
mod leases;
mod links;
mod login;
mod namespaces;
mod needs;
mod node;
mod reached;
mod settings;
mod sink;
mod status;
mod store;
mod topology;
mod unlocked;
mod ways;

use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use skep_client::Authorization;
use skep_tls::ClientTls;

use crate::guard::{Guard, Undo};
use crate::http::{Kept, Rest};
use crate::plan::{BucketState, DiskFault, IssuerState, Nodes, Plan, StoreState, Way, Who};
use backups::{Backups, Restoring};
pub use changes::have_partitions;
pub(crate) use cores::Confined;
pub use engine::{Engine, Launcher};
use faults::Faulty;
pub use foreign::{Others, Refused, check_against};
use hog::Hog;
use kubernetes::Pods;
pub use kubernetes::{Allowed, Kubernetes};
use leases::Leases;
pub use leases::{leased_numbers, owners};
use login::Login;
use namespaces::Namespaces;
pub use needs::{Need, missing, needs};
pub use node::{Node, data_of_nodes};
use sink::Sink;
pub use status::Status;
use store::Store;
pub use topology::{Topology, are_even, lead_nothing};
pub use unlocked::{change_way, end, start_again};
pub use ways::Change;
use ways::Ways;

/// Maximum time to wait for an answer of a node.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// The guard, shared by everything that breaks something.
#[derive(Clone, Debug)]
pub struct SharedGuard(Arc<Mutex<Guard>>);

impl SharedGuard {
    pub fn new(guard: Guard) -> Self {
        Self(Arc::new(Mutex::new(guard)))
    }

    /// Uses it.
    pub fn with<R>(&self, use_it: impl FnOnce(&mut Guard) -> R) -> R {
        use_it(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The ways of a run that can be changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// Ways from workers to nodes.
    pub workers: bool,
    /// Ways between nodes.
    pub nodes: bool,
    /// The address of a service, by which clients reach any of the nodes.
    pub service: bool,
}

/// Nodes that ended by themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Died {
    pub nodes: u32,
    /// Those of them that ended since a page of a file could not be read.
    pub by_sigbus: u32,
}

/// The number of the signal on Linux.
const SIGBUS: i32 = 7;

/// The nodes of a run.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Node>,
    /// The number of members: the first nodes.
    members: u32,
    ways: Ways,
    store: Option<Store>,
    /// Takes what another exporter sends.
    _sink: Option<Sink>,
    login: Option<Login>,
    /// Credentials for a foreign cluster.
    authorization: Option<Authorization>,
    /// How its certificates are checked.
    tls: Option<ClientTls>,
    leases: Option<Leases>,
    faulty: Vec<Faulty>,
    /// Programs that use CPU beside the nodes.
    hogs: Vec<Hog>,
    /// The directory of their backups, if they take any.
    backups: Option<PathBuf>,
    /// Pods of an existing cluster, some of whose faults are allowed.
    pods: Option<Pods>,
    guard: Option<SharedGuard>,
}

impl Cluster {
    /// Starts nodes with their data below a directory, which is deleted with them, and their logs beside it.
    ///
    /// # Errors
    /// A port that is not available, a program that cannot be started.
    pub fn start(
        plan: &Nodes,
        network: Network,
        launcher: &Launcher,
        directory: PathBuf,
        guard: SharedGuard,
    ) -> io::Result<Self> {
        let data = data_of_nodes(&directory);
        std::fs::create_dir_all(&data)?;
        guard.with(|guard| guard.push(Undo::Remove(data.clone())))?;
        let mut plan = plan.clone();
        let store = plan.store.map(|kind| Store::new(kind, &guard));
        let store = store.transpose()?;
        plan.settings.extend(store.iter().flat_map(Store::settings));
        let sink = plan.sink.then(Sink::start).transpose()?;
        plan.settings.extend(sink.iter().flat_map(Sink::settings));
        let backups = plan.backups.then(|| backups::directory(&data));
        if let Some(directory) = &backups {
            plan.settings.extend(backups::settings(directory));
        }
        let login = plan.tokens_s.map(Login::start).transpose()?;
        plan.settings.extend(login.iter().flat_map(Login::settings));
        let leases = plan.leases.then(|| Leases::start(&guard)).transpose()?;
        plan.settings
            .extend(leases.iter().flat_map(Leases::settings));
        let own = launcher.namespaces;
        let own = own.then(|| Namespaces::make(plan.all(), &guard));
        let own = own.transpose()?;
        // In a network of its own, no way needs a proxy.
        let linked = network.nodes && own.is_none();
        let (nodes, links) = node::with_ports(&plan, linked, (launcher, own.as_ref()), &directory)?;
        let mut cluster = Self {
            nodes,
            members: plan.count,
            ways: Ways::between(links, own),
            store,
            _sink: sink,
            login,
            authorization: None,
            tls: None,
            leases,
            faulty: Vec::new(),
            hogs: Vec::new(),
            backups,
            pods: None,
            guard: Some(guard.clone()),
        };
        if network.workers {
            cluster.ways.add_workers(&cluster.nodes)?;
        }
        if network.service {
            cluster.ways.add_service(&cluster.nodes)?;
        }
        for number in (0..plan.count).chain(plan.brokers()..plan.all()) {
            cluster.node(number)?.start(&guard)?;
            cluster.ways.links().note(&cluster.nodes);
        }
        Ok(cluster)
    }

    /// A foreign cluster. Nothing of it can be changed.
    ///
    /// # Errors
    /// The certificates to trust cannot be read.
    pub fn of_others(others: &Others) -> io::Result<Self> {
        let addresses = [&others.rest, &others.grpc, &others.management];
        Ok(Self {
            tls: others.tls()?,
            ..Self::foreign(vec![Node::of_others(addresses.map(String::clone))])
        })
    }

    fn foreign(nodes: Vec<Node>) -> Self {
        Self {
            nodes,
            members: 1,
            ways: Ways::default(),
            store: None,
            _sink: None,
            login: None,
            authorization: None,
            tls: None,
            leases: None,
            faulty: Vec::new(),
            hogs: Vec::new(),
            backups: None,
            pods: None,
            guard: None,
        }
    }

    /// The pods of a foreign cluster in Kubernetes. Only what the caller has allowed is changed.
    ///
    /// # Errors
    /// The pods are not found, or their ports cannot be forwarded.
    pub fn in_kubernetes(
        kubernetes: &Kubernetes,
        plan: &Plan,
        launcher: &Launcher,
        directory: &Path,
        guard: &SharedGuard,
    ) -> io::Result<Self> {
        let pods = Pods::attach(kubernetes, plan, directory, guard)?;
        let nodes = pods.nodes(&launcher.program);
        let mut cluster = Self {
            members: u32::try_from(nodes.len()).map_err(io::Error::other)?,
            pods: Some(pods),
            ..Self::foreign(nodes)
        };
        let network = plan.network();
        if network.workers {
            cluster.ways.add_workers(&cluster.nodes)?;
        }
        if network.service {
            cluster.ways.add_service(&cluster.nodes)?;
        }
        Ok(cluster)
    }

    /// A foreign cluster with the credentials for it.
    #[must_use]
    pub fn logged_in(self, authorization: Option<Authorization>) -> Self {
        Self {
            authorization,
            ..self
        }
    }

    /// Whether the run did not start it.
    pub fn is_foreign(&self) -> bool {
        self.guard.is_none()
    }

    /// # Errors
    /// The cluster is a foreign one.
    fn guard(&self) -> io::Result<SharedGuard> {
        let guard = self.guard.clone();
        guard.ok_or_else(|| io::Error::other("the cluster of others is not changed"))
    }

    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The number of members of the cluster; of a foreign one it is unknown.
    pub fn members(&self) -> Option<usize> {
        let members = usize::try_from(self.members).unwrap_or(usize::MAX);
        let is_known = self.guard.is_some() || self.pods.is_some();
        is_known.then_some(members)
    }

    fn node(&mut self, number: u32) -> io::Result<&mut Node> {
        let mut nodes = self.nodes.iter_mut();
        let node = nodes.find(|node| node.number == number);
        node.ok_or_else(|| io::Error::other(format!("there is no node {number}")))
    }

    /// The topology, from the first node that answers.
    ///
    /// # Errors
    /// No node answers.
    pub fn topology(&self) -> io::Result<Topology> {
        let mut error = io::Error::other("no node is up");
        for node in self.nodes.iter().filter(|node| node.is_up()) {
            match Topology::of(&mut Kept::to(self.rest(node))) {
                Ok(topology) => return Ok(topology),
                Err(why) => error = why,
            }
        }
        Err(error)
    }

    /// The number of the node that `who` refers to.
    ///
    /// # Errors
    /// There is none, for as long as an election may take.
    pub fn find(&self, who: Who) -> io::Result<u32> {
        let end = Instant::now() + PATIENCE;
        loop {
            let found = match who {
                Who::Node(number) => Some(number),
                Who::LeaderOf(partition) => {
                    let leader = self.topology()?.leader_of(partition);
                    leader.and_then(|number| self.by_number().get(&number).copied())
                }
                Who::Follower => {
                    let topology = self.topology()?;
                    let mut nodes = self.by_number().into_iter();
                    let idle = nodes.find(|(number, _)| topology.leads(*number) == 0);
                    idle.map(|(_, node)| node)
                }
            };
            match found {
                Some(number) => return Ok(number),
                None if Instant::now() >= end => {
                    return Err(io::Error::other(format!("{who}: there is none")));
                }
                None => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    /// Kills a node that the run has started (`kill -9`), or asks it to end and waits for its end.
    ///
    /// # Errors
    /// It was not up, or does not end.
    pub fn end(&mut self, number: u32, gently: bool) -> io::Result<()> {
        let guard = self.guard()?;
        self.node(number)?.end(gently, &guard)
    }

    /// Suspends all threads of a node.
    ///
    /// # Errors
    /// It was not up, or does not stop.
    pub fn pause(&mut self, number: u32) -> io::Result<()> {
        let guard = self.guard()?;
        self.node(number)?.pause(&guard)
    }

    /// Continues all paused nodes and returns their number.
    ///
    /// # Errors
    /// The guard is gone.
    pub fn resume(&mut self) -> io::Result<usize> {
        let guard = self.guard()?;
        let mut count = 0;
        for node in &mut self.nodes {
            count += usize::from(node.resume(&guard)?);
        }
        Ok(count)
    }

    /// Starts all nodes that are down, all of which the run has started before, and returns their number.
    fn start_again(&mut self) -> io::Result<usize> {
        let guard = self.guard()?;
        let mut count = 0;
        for node in self.nodes.iter_mut().filter(|node| node.is_down()) {
            node.start(&guard)?;
            count += 1;
        }
        self.ways.links().note(&self.nodes);
        Ok(count)
    }

    /// Replaces a node: it loses its data and starts again.
    ///
    /// # Errors
    /// As of [`Self::end`], and data that cannot be deleted.
    pub fn replace(&mut self, number: u32) -> io::Result<()> {
        let guard = self.guard()?;
        let node = self.node(number)?;
        node.end(false, &guard)?;
        std::fs::remove_dir_all(&node.data)?;
        node.start(&guard)?;
        self.ways.links().note(&self.nodes);
        Ok(())
    }

    /// The place for taking and keeping backups.
    ///
    /// # Errors
    /// The nodes take none.
    pub fn backups(&self) -> io::Result<Backups> {
        self.guard()?;
        let directory = self.backups.clone();
        Ok(Backups {
            directory: directory.ok_or_else(|| io::Error::other("the nodes take no backups"))?,
            management_addresses: self.management_addresses(),
        })
    }

    /// Kills all nodes and deletes their data. Returns their number.
    ///
    /// # Errors
    /// As of [`Self::end`], and data that cannot be deleted.
    pub fn erase(&mut self) -> io::Result<usize> {
        let guard = self.guard()?;
        for node in &mut self.nodes {
            if node.is_up() {
                node.end(false, &guard)?;
            }
            std::fs::remove_dir_all(&node.data)?;
        }
        Ok(self.nodes.len())
    }

    /// Begins to restore the data of all nodes from the newest backup. They must be down.
    ///
    /// # Errors
    /// A node is up, or the program cannot be started.
    pub fn restore(&mut self) -> io::Result<Restoring> {
        let guard = self.guard()?;
        let mut programs = Vec::new();
        for node in &mut self.nodes {
            let (child, ticket) = node.restore(&guard)?;
            programs.push((node.number, child, ticket));
        }
        Ok(Restoring { programs, guard })
    }

    /// Fills the disk of a node until this many bytes are left.
    ///
    /// # Errors
    /// The node is down, or its disk cannot be written to.
    pub fn fill(&mut self, number: u32, leave: u64) -> io::Result<()> {
        let guard = self.guard()?;
        let node = self.node(number)?;
        disk::fill(node, leave, &guard)
    }

    /// Limits a node to this many cores, possibly a fraction.
    ///
    /// # Errors
    /// The node is down, or the machine does not permit it.
    pub fn limit(&mut self, number: u32, cores: f64) -> io::Result<()> {
        if let Some(pods) = &mut self.pods {
            return pods.limit(number, cores);
        }
        let guard = self.guard()?;
        self.node(number)?.limit(cores, &guard)
    }

    /// Restarts a node with other settings.
    ///
    /// # Errors
    /// As of [`Self::end`], and a program that cannot be started.
    pub fn set(&mut self, number: u32, settings: &BTreeMap<String, String>) -> io::Result<()> {
        self.again(number, |node| node.set(settings))
    }

    /// Restarts a node with at most this much memory.
    ///
    /// # Errors
    /// As of [`Self::end`], and a program that cannot be started or limited.
    pub fn confine(&mut self, number: u32, mib: u64) -> io::Result<()> {
        self.again(number, |node| node.confine(mib))
    }

    /// Restarts a node on a disk with this additional delay of each flush.
    ///
    /// # Errors
    /// As of [`Self::end`], and a program that cannot be started.
    pub fn flush_late(&mut self, number: u32, delay: Duration) -> io::Result<()> {
        self.again(number, |node| node.flush_late(delay))
    }

    /// Stops a node, changes it and starts it again.
    fn again(&mut self, number: u32, change: impl FnOnce(&mut Node)) -> io::Result<()> {
        let guard = self.guard()?;
        let node = self.node(number)?;
        node.end(true, &guard)?;
        change(node);
        node.start(&guard)?;
        self.ways.links().note(&self.nodes);
        Ok(())
    }

    /// Frees the space of all filled disks. Returns their number.
    ///
    /// # Errors
    /// A file that cannot be deleted.
    pub fn free(&mut self) -> io::Result<usize> {
        self.guard()?;
        disk::free(&self.nodes)
    }

    /// Makes the nodes' database available, or unavailable in some manner.
    ///
    /// # Errors
    /// The nodes have none, or it cannot be started.
    pub fn set_store(&mut self, state: StoreState) -> io::Result<()> {
        let store = self.store.as_mut();
        let store =
            store.ok_or_else(|| io::Error::other("the nodes have no store of their own"))?;
        store.set(state)
    }

    /// Makes the bucket with the leases available, or unavailable.
    ///
    /// # Errors
    /// The nodes lease no numbers, or the server cannot be started.
    pub fn set_bucket(&mut self, state: BucketState) -> io::Result<()> {
        let leases = self.leases.as_mut();
        let leases = leases.ok_or_else(|| io::Error::other("the nodes lease no numbers"))?;
        leases.set(state)
    }

    /// Makes the identity provider available, or unavailable in some manner.
    ///
    /// # Errors
    /// Callers need no tokens.
    pub fn set_issuer(&self, state: IssuerState) -> io::Result<()> {
        let login = self.login.as_ref();
        let login = login.ok_or_else(|| io::Error::other("callers need no tokens"))?;
        login.set(state);
        Ok(())
    }

    /// Credentials of callers, if the cluster requires a login.
    pub fn authorization(&self) -> Option<Authorization> {
        let own = self.login.as_ref().map(Login::authorization);
        own.or(self.authorization.as_ref()).cloned()
    }

    /// The node at the end of a way, if there is one.
    fn at_the_end(&self, way: Way) -> io::Result<Option<u32>> {
        match way {
            Way::ToWorkers => Ok(None),
            Way::Into(who) | Way::OutOf(who) | Way::Around(who) => self.find(who).map(Some),
        }
    }

    /// Restores all ways to their original state.
    ///
    /// # Errors
    /// The machine does not permit it.
    pub fn heal(&mut self) -> io::Result<()> {
        if let Some(pods) = &mut self.pods {
            pods.heal()?;
        }
        self.ways.heal()
    }

    /// The nodes that ended by themselves since the last call.
    pub fn died(&mut self) -> Died {
        let mut died = Died::default();
        let of_pods = self.pods.as_mut().map(Pods::died).unwrap_or_default();
        for (number, _) in &of_pods {
            if let Ok(node) = self.node(*number) {
                node.set_reached(false);
            }
        }
        died.nodes += u32::try_from(of_pods.len()).unwrap_or(u32::MAX);
        for status in self.nodes.iter_mut().filter_map(Node::has_died) {
            died.nodes += 1;
            // A container reports it by its code.
            let by_code = status.code() == Some(128 + SIGBUS);
            died.by_sigbus += u32::from(status.signal() == Some(SIGBUS) || by_code);
        }
        died
    }

    /// Makes the disk of a node fail.
    ///
    /// # Errors
    /// The node is down, its disk fails already, or the machine does not permit it.
    pub fn fail_disk(&mut self, number: u32, fault: DiskFault) -> io::Result<()> {
        let guard = self.guard()?;
        if self.faulty.iter().any(|faulty| faulty.node == number) {
            return Err(io::Error::other(format!(
                "the disk of node {number} fails already"
            )));
        }
        let faulty = Faulty::begin(self.node(number)?, fault, &guard)?;
        self.faulty.push(faulty);
        Ok(())
    }

    /// Makes all disks work again. Returns the number of those that failed.
    ///
    /// # Errors
    /// One does not; it does with the end of the run at the latest.
    pub fn mend_disks(&mut self) -> io::Result<usize> {
        let guard = self.guard()?;
        let mut count = 0;
        while let Some(faulty) = self.faulty.pop() {
            faulty.end(&guard)?;
            count += 1;
        }
        Ok(count)
    }

    /// The REST APIs of nodes whose disk fails, by their numbers.
    pub fn faulty(&self) -> Vec<(u32, Rest)> {
        let is_faulty = |node: &&Node| self.faulty.iter().any(|it| it.node == node.number);
        let nodes = self.nodes.iter().filter(is_faulty);
        nodes.map(|node| (node.number, self.rest(node))).collect()
    }

    /// Requests this number of partitions, and of nodes if given.
    ///
    /// # Errors
    /// No node answers, or the cluster refuses it.
    pub fn scale(&mut self, partitions: u32, nodes: Option<u32>) -> io::Result<()> {
        self.guard()?;
        changes::scale(&self.management_addresses(), partitions, nodes)?;
        self.members = nodes.unwrap_or(self.members);
        Ok(())
    }

    /// Cancels the pending change, and returns its number.
    ///
    /// # Errors
    /// No node answers, there is no pending change, or the cluster refuses it.
    pub fn cancel_change(&self) -> io::Result<String> {
        self.guard()?;
        changes::cancel(&self.management_addresses())
    }
}
