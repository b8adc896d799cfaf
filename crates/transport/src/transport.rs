//! The entry point: starting, sending, stopping.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Instant;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::contacts::link_to_itself;
use crate::greeting::Greeting;
use crate::peers::{Peers, Strangers};
use crate::queue::SendError;
use crate::tls::{Tls, TlsError, TlsFiles};
use crate::{Class, accept, contacts, link};

/// The owner of the messages. Called on the transport's thread, so nothing here may block. Only large messages come on another one.
pub trait Owner: Send + Sync + 'static {
    /// The current greeting of this node.
    fn greeting(&self) -> Greeting;

    /// Whether the other node belongs here; if not, why. The transport has checked the version, and that the node's number differs from its
    /// own.
    fn meets(&self, other: &Greeting) -> Result<(), String>;

    /// Nothing new is expected from greetings, so contact points need not be asked often.
    fn is_settled(&self) -> bool;

    /// Whether to look for the node: it belongs to the cluster.
    fn expects(&self, node: u32) -> bool;

    /// Whether the node may come back at another address each time, and is where it says that it is.
    fn moves(&self, node: u32) -> bool {
        let _ = node;
        false
    }

    /// A message from another node, in this version of the protocol. Messages of the same class arrive in sending order.
    fn received(self: &Arc<Self>, from: u32, class: Class, version: u32, message: Bytes);

    /// Messages to the node can be sent. This event and those below need no answer: by default, they are ignored.
    fn connected(self: &Arc<Self>, node: u32, class: Class) {
        let _ = (node, class);
    }

    /// Messages that were accepted for the node may be lost.
    fn disconnected(self: &Arc<Self>, node: u32, class: Class) {
        let _ = (node, class);
    }

    /// There was a connection to the node, and the next attempt failed. A node that moves to another address comes back at once and is not
    /// lost.
    fn lost(self: &Arc<Self>, node: u32, class: Class) {
        let _ = (node, class);
    }

    /// As [`Owner::lost`], and nobody listens at the node's address: its process has ended.
    fn gone(self: &Arc<Self>, node: u32) {
        let _ = node;
    }

    /// The node can send to us. Its previous connections are closed, and this was reported.
    fn opened(self: &Arc<Self>, node: u32, class: Class, incarnation: u64) {
        let _ = (node, class, incarnation);
    }

    /// Messages sent by the node may be lost.
    fn closed(self: &Arc<Self>, node: u32, class: Class, incarnation: u64) {
        let _ = (node, class, incarnation);
    }
}

#[derive(Clone, Debug)]
pub struct Config {
    pub node: u32,
    /// Nodes have numbers below this one.
    pub size: u32,
    /// Numbers from this one on are gateways.
    pub first_gateway: u32,
    pub listen: SocketAddr,
    /// `host:port` of some or all other nodes.
    pub contact_points: Vec<String>,
    /// If set, connections are encrypted, and both sides show a certificate.
    pub tls: Option<TlsFiles>,
}

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("the port for other nodes, {address}, cannot be opened: {source}")]
    Listen {
        address: SocketAddr,
        source: std::io::Error,
    },
    #[error("the thread for connections between nodes cannot be started: {0}")]
    Thread(std::io::Error),
    #[error("TLS between nodes: {0}")]
    Tls(#[from] TlsError),
}

pub(crate) struct Shared<O> {
    pub(crate) owner: Arc<O>,
    pub(crate) peers: Arc<Peers>,
    pub(crate) tls: Option<Tls>,
    pub(crate) strangers: Strangers,
    pub(crate) first_gateway: u32,
    random: AtomicU32,
}

impl<O: Owner> Shared<O> {
    pub(crate) fn greeting(&self) -> Greeting {
        let mut greeting = self.owner.greeting();
        greeting.known = self.peers.known();
        greeting
    }

    /// Checks the greeting. Returns the version in which the two talk.
    pub(crate) fn meets(&self, other: &Greeting) -> Result<u32, String> {
        let own = self.owner.greeting();
        let Some(version) = own.common_version(other) else {
            return Err(format!(
                "node {} speaks the versions {} to {} of the protocol between nodes, and node {} the versions {} to {}: upgrade the older one, \
                 release by release",
                other.node,
                other.oldest_version,
                other.version,
                own.node,
                own.oldest_version,
                own.version
            ));
        };
        if other.node == own.node {
            return Err(if other.incarnation == own.incarnation {
                link_to_itself().to_string()
            } else {
                format!(
                    "two nodes have the number {}: each needs a camunda.cluster.node-id of its own",
                    own.node
                )
            });
        }
        self.owner.meets(other)?;
        let Some(peer) = self.peers.get(other.node) else {
            return Err(format!(
                "node {} does not belong to this cluster: a node has a number from 0 to {}",
                other.node,
                self.peers.most()
            ));
        };
        // The numbers of gateways change hands.
        if other.node < self.first_gateway {
            peer.admits(other.incarnation)?;
        }
        Ok(version)
    }

    /// A random number, to make pauses differ.
    pub(crate) fn random(&self) -> u32 {
        let next = |seed: u32| Some(seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
        self.random
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next)
            .unwrap_or_default()
    }
}

/// The connections of this node with the others.
pub struct Transport {
    peers: Arc<Peers>,
    address: SocketAddr,
    runtime: tokio::runtime::Handle,
    stop: Mutex<Option<oneshot::Sender<()>>>,
    /// Disconnected once the thread has ended.
    ended: Mutex<Receiver<()>>,
}

/// A transport that listens but lets nobody in until it has an owner.
pub struct Listening<O> {
    owner: oneshot::Sender<Arc<O>>,
}

impl<O: Owner> Listening<O> {
    /// Sets the owner of connections and messages from now on.
    pub fn serve(self, owner: Arc<O>) {
        // If the transport was stopped meanwhile, nobody is let in.
        let _ = self.owner.send(owner);
    }
}

impl Transport {
    /// Listens, and connects to the other nodes as soon as they are found. All of it happens on a thread of its own.
    ///
    /// # Errors
    /// The port is in use, or a certificate cannot be used.
    pub fn open<O: Owner>(config: Config, owner: Arc<O>) -> Result<Transport, OpenError> {
        let (transport, listening) = Transport::listen(config)?;
        listening.serve(owner);
        Ok(transport)
    }

    /// The same for an owner that needs its transport before it can be created.
    ///
    /// # Errors
    /// The port is in use, or a certificate cannot be used.
    pub fn listen<O: Owner>(config: Config) -> Result<(Transport, Listening<O>), OpenError> {
        let open = |files| Tls::open(files, config.node, config.first_gateway);
        let tls = config.tls.as_ref().map(open).transpose()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(OpenError::Thread)?;
        let address = config.listen;
        let listen = |source| OpenError::Listen { address, source };
        let listener = runtime
            .block_on(TcpListener::bind(address))
            .map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let peers = Arc::new(Peers::new(config.node, config.size));
        let handle = runtime.handle().clone();
        let (stop, mut stopped) = oneshot::channel();
        let (owner, owned) = oneshot::channel();
        let known = peers.clone();
        let served = async move {
            let owner = tokio::select! {
                owner = owned => owner,
                _ = &mut stopped => return,
            };
            let Ok(owner) = owner else {
                return;
            };
            let shared = Arc::new(Shared {
                peers: known,
                tls,
                strangers: Strangers::default(),
                first_gateway: config.first_gateway,
                owner,
                random: AtomicU32::new(std::process::id() ^ (config.node << 16)),
            });
            work(shared, listener, config.contact_points, stopped).await;
        };
        let (ends, ended) = sync_channel(0);
        let run = move || {
            runtime.block_on(served);
            // Waits for large messages that the owner is handling.
            drop(runtime);
            drop(ends);
        };
        std::thread::Builder::new()
            .name("nodes".to_string())
            .spawn(run)
            .map_err(OpenError::Thread)?;
        let transport = Transport {
            peers,
            address,
            runtime: handle,
            stop: Mutex::new(Some(stop)),
            ended: Mutex::new(ended),
        };
        Ok((transport, Listening { owner }))
    }

    /// The address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The runtime for the owner's asynchronous work: it shares the transport's thread.
    pub fn runtime(&self) -> &tokio::runtime::Handle {
        &self.runtime
    }

    /// Sends a message, or says why not. Never blocks.
    ///
    /// # Errors
    /// The message will not arrive.
    pub fn send(&self, to: u32, class: Class, message: Bytes) -> Result<(), SendError> {
        self.push(to, class, message, None)
    }

    /// Sends a message that was encoded for the [version](Transport::version) of the connection.
    ///
    /// # Errors
    /// The message will not arrive, including when the node reads another version by now.
    pub fn send_in(
        &self,
        version: u32,
        to: u32,
        class: Class,
        message: Bytes,
    ) -> Result<(), SendError> {
        self.push(to, class, message, Some(version))
    }

    fn push(
        &self,
        to: u32,
        class: Class,
        message: Bytes,
        version: Option<u32>,
    ) -> Result<(), SendError> {
        let peer = self.peers.get(to).ok_or(SendError::Down)?;
        peer.queue(class).push(message, version)
    }

    /// The version of the protocol in which the node reads messages of the class; `None` without a connection.
    pub fn version(&self, to: u32, class: Class) -> Option<u32> {
        self.peers.get(to)?.queue(class).version()
    }

    /// The version last spoken with the node, even if it is away by now; `None`: not since this process started.
    pub fn last_version(&self, node: u32) -> Option<u32> {
        self.peers.get(node)?.version()
    }

    /// Whether messages to the node can be sent.
    pub fn is_connected(&self, to: u32, class: Class) -> bool {
        let peer = self.peers.get(to);
        peer.is_some_and(|peer| peer.queue(class).is_open())
    }

    /// All nodes except this one.
    pub fn peers(&self) -> impl Iterator<Item = u32> {
        self.peers.iter().map(|peer| peer.node)
    }

    /// Ends all connections and the thread. Blocks. False: the owner is still handling a message at the deadline.
    pub fn stop(&self, deadline: Instant) -> bool {
        if let Some(stop) = self.stop.lock().take() {
            let _ = stop.send(());
        }
        let left = deadline.saturating_duration_since(Instant::now());
        self.ended.lock().recv_timeout(left) != Err(RecvTimeoutError::Timeout)
    }
}

impl Drop for Transport {
    fn drop(&mut self) {
        // Dropping it on its own thread must not wait for that thread.
        if let Some(stop) = self.stop.get_mut().take() {
            let _ = stop.send(());
        }
    }
}

async fn work<O: Owner>(
    shared: Arc<Shared<O>>,
    listener: TcpListener,
    contact_points: Vec<String>,
    stopped: oneshot::Receiver<()>,
) {
    tokio::spawn(accept::run(shared.clone(), listener));
    for address in contact_points {
        tokio::spawn(contacts::run(shared.clone(), address));
    }
    for peer in shared.peers.iter() {
        for class in Class::ALL {
            tokio::spawn(link::run(shared.clone(), peer.node, class));
        }
    }
    let _ = stopped.await;
}
