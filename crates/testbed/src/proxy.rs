//! A slow connection to a server: a proxy that forwards data later, bit by bit, or not at all.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use skep_random::Random;

/// Maximum number of pieces, of at most [`PIECE`] bytes each, in flight in one direction of a connection.
const PIECES: usize = 64;
const PIECE: usize = 64 << 10;

/// A proxy. It ends when dropped; each connection ends with either of its sides.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    over: Arc<AtomicBool>,
    link: Arc<Link>,
    open: Arc<Open>,
}

/// Both directions of connections. Proxies and links may be combined in any number.
#[derive(Debug, Default)]
pub struct Link {
    forth: Arc<Way>,
    back: Arc<Way>,
}

/// A direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the server.
    Forth,
    /// From the server to the client.
    Back,
}

/// How data in one direction is slowed down; by default not at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slowness {
    /// It arrives later by this much.
    pub delay: Duration,
    /// At most this many bytes per second pass, of all connections together; 0 is no limit.
    pub bytes_per_second: u32,
    /// Nothing passes for the first time of each period of the second one; a period of zero is none.
    pub stall: (Duration, Duration),
}

/// Treatment of all bytes in one direction.
#[derive(Debug, Default)]
struct Way {
    pace: Mutex<Pace>,
    held: AtomicBool,
}

#[derive(Debug, Default)]
struct Pace {
    slowness: Slowness,
    /// The beginning of the first period with a stall.
    since: Option<Instant>,
    /// When all data that may have passed so far has.
    free: Option<Instant>,
}

impl Way {
    fn with<R>(&self, look: impl FnOnce(&mut Pace) -> R) -> R {
        look(&mut self.pace.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn delay(&self) -> Duration {
        self.with(|pace| pace.slowness.delay)
    }

    /// Whether nothing passes now.
    fn is_still(&self, now: Instant) -> bool {
        self.held.load(Ordering::Relaxed) || self.with(|pace| pace.is_stalled(now))
    }

    /// When so many bytes have passed, if they begin to do so now.
    fn passed(&self, bytes: usize, now: Instant) -> Instant {
        self.with(|pace| pace.passed(bytes, now))
    }
}

impl Pace {
    fn is_stalled(&self, now: Instant) -> bool {
        let (time, period) = self.slowness.stall;
        let since = self.since.map(|since| now.saturating_duration_since(since));
        let place = since.map(|since| since.as_nanos().checked_rem(period.as_nanos()));
        place.flatten().is_some_and(|place| place < time.as_nanos())
    }

    fn passed(&mut self, bytes: usize, now: Instant) -> Instant {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        if self.slowness.bytes_per_second == 0 {
            return now;
        }
        let seconds = f64::from(bytes) / f64::from(self.slowness.bytes_per_second);
        let begin = self.free.map_or(now, |free| free.max(now));
        let end = begin + Duration::from_secs_f64(seconds);
        self.free = Some(end);
        end
    }
}

/// The client sides of connections, by number.
#[derive(Debug, Default)]
struct Open(Mutex<Vec<(usize, TcpStream)>>);

impl Open {
    fn with<R>(&self, look: impl FnOnce(&mut Vec<(usize, TcpStream)>) -> R) -> R {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Link {
    fn way(&self, direction: Direction) -> &Way {
        match direction {
            Direction::Forth => &self.forth,
            Direction::Back => &self.back,
        }
    }

    /// Stops forwarding in this direction without ending connections: data is held back until released.
    pub fn hold(&self, direction: Direction, held: bool) {
        self.way(direction).held.store(held, Ordering::Relaxed);
    }

    pub fn is_held(&self, direction: Direction) -> bool {
        self.way(direction).held.load(Ordering::Relaxed)
    }

    /// Delays data sent in this direction from now on; data already in flight does not become faster.
    pub fn delay(&self, direction: Direction, delay: Duration) {
        self.way(direction).with(|pace| pace.slowness.delay = delay);
    }

    /// Slows down data sent in this direction from now on.
    pub fn slow(&self, direction: Direction, slowness: Slowness) {
        let since = Some(Instant::now());
        self.way(direction).with(|pace| {
            *pace = Pace {
                slowness,
                since,
                free: None,
            };
        });
    }
}

impl Proxy {
    /// Listens on this machine and forwards to one of its ports, each piece delayed by `delay`.
    ///
    /// # Errors
    /// No port is available.
    pub fn start(to: u16, delay: Duration) -> std::io::Result<Proxy> {
        let proxy = Proxy::start_on(0, to)?;
        proxy.delay(Direction::Forth, delay);
        proxy.delay(Direction::Back, delay);
        Ok(proxy)
    }

    /// The same on a given port.
    ///
    /// # Errors
    /// The port is not available.
    pub fn start_on(port: u16, to: u16) -> std::io::Result<Proxy> {
        let link = Arc::<Link>::default();
        let same = link.clone();
        Self::listen(port, link, move |_| Some((to, same.clone())))
    }

    /// Listens on this machine and forwards each connection to one of these ports, chosen at random, as an address of a service does.
    ///
    /// # Errors
    /// No port is available.
    pub fn start_among(ports: Vec<u16>, seed: u64) -> std::io::Result<Proxy> {
        let link = Arc::<Link>::default();
        let same = link.clone();
        let random = Mutex::new(Random(seed));
        Self::listen(0, link, move |_| {
            let mut random = random.lock().unwrap_or_else(PoisonError::into_inner);
            let to = ports.get(random.index(ports.len()))?;
            Some((*to, same.clone()))
        })
    }

    /// The same, with the link of a connection chosen by the client's address. A connection without a link ends.
    ///
    /// # Errors
    /// No port is available.
    pub fn start_for(
        to: u16,
        choose: impl Fn(SocketAddr) -> Option<Arc<Link>> + Send + Sync + 'static,
    ) -> std::io::Result<Proxy> {
        Self::listen(0, Arc::default(), move |near| Some((to, choose(near)?)))
    }

    fn listen(
        port: u16,
        link: Arc<Link>,
        choose: impl Fn(SocketAddr) -> Option<(u16, Arc<Link>)> + Send + Sync + 'static,
    ) -> std::io::Result<Proxy> {
        let listener = TcpListener::bind(("127.0.0.1", port))?;
        let proxy = Proxy {
            port: listener.local_addr()?.port(),
            over: Arc::default(),
            link,
            open: Arc::default(),
        };
        let (over, open) = (proxy.over.clone(), proxy.open.clone());
        let choose = Arc::new(choose);
        std::thread::spawn(move || {
            for (number, near) in listener.incoming().enumerate() {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(near) = near else { continue };
                let (open, choose) = (open.clone(), choose.clone());
                // Choosing may take a moment, and a client that gives up meanwhile must not keep others waiting.
                std::thread::spawn(move || {
                    let target = near.peer_addr().ok().and_then(|peer| choose(peer));
                    if let Some((to, link)) = target {
                        // One of the sides is gone.
                        let _ = connect(number, near, to, &link, &open);
                    }
                });
            }
        });
        Ok(proxy)
    }

    /// Number of connections.
    pub fn connections(&self) -> usize {
        self.open.with(|open| open.len())
    }

    /// Ends all connections.
    pub fn cut(&self) {
        self.open.with(|open| {
            for (_, near) in open.iter() {
                let _ = near.shutdown(std::net::Shutdown::Both);
            }
        });
    }

    /// Stops forwarding without ending connections: data is held back until released.
    pub fn hold(&self, held: bool) {
        self.hold_way(Direction::Forth, held);
        self.hold_way(Direction::Back, held);
    }

    /// The same for one direction.
    pub fn hold_way(&self, direction: Direction, held: bool) {
        self.link.hold(direction, held);
    }

    /// See [`Link::delay`].
    pub fn delay(&self, direction: Direction, delay: Duration) {
        self.link.delay(direction, delay);
    }

    /// See [`Link::slow`].
    pub fn slow(&self, direction: Direction, slowness: Slowness) {
        self.link.slow(direction, slowness);
    }

    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

/// Forwards in both directions, until one side ends.
fn connect(
    number: usize,
    near: TcpStream,
    to: u16,
    link: &Link,
    open: &Open,
) -> std::io::Result<()> {
    let far = TcpStream::connect(("127.0.0.1", to))?;
    // Small messages must not wait for each other.
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    let (known, near_end, far_end) = (near.try_clone()?, near.try_clone()?, far.try_clone()?);
    open.with(|open| open.push((number, known)));
    let back = link.back.clone();
    std::thread::spawn(move || pass(far, near_end, &back));
    pass(near, far_end, &link.forth);
    open.with(|open| open.retain(|(other, _)| *other != number));
    Ok(())
}

/// Interval between two checks whether held data may pass again.
const HELD: Duration = Duration::from_millis(5);

/// Reads in one thread and writes in another, so that later data need not wait until earlier data is forwarded.
fn pass(mut from: TcpStream, to: TcpStream, way: &Arc<Way>) {
    let (sender, pieces) = sync_channel(PIECES);
    let late = Arc::clone(way);
    let writer = std::thread::spawn(move || write(&pieces, to, &late));
    let mut buffer = vec![0; PIECE];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let delay = way.delay();
        let piece = buffer.get(..count).map(<[u8]>::to_vec);
        if sender
            .send((Instant::now() + delay, piece.unwrap_or_default()))
            .is_err()
        {
            break;
        }
    }
    drop(sender);
    let _ = writer.join();
}

fn write(pieces: &Receiver<(Instant, Vec<u8>)>, mut to: TcpStream, way: &Way) {
    while let Ok((due, piece)) = pieces.recv() {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        while way.is_still(Instant::now()) {
            std::thread::sleep(HELD);
        }
        let passed = way.passed(piece.len(), Instant::now());
        std::thread::sleep(passed.saturating_duration_since(Instant::now()));
        if to.write_all(&piece).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ends of a connection through a proxy.
    fn connected() -> (Proxy, TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let proxy = Proxy::start(port, Duration::ZERO).unwrap();
        let near = TcpStream::connect(("127.0.0.1", proxy.port())).unwrap();
        let far = listener.accept().unwrap().0;
        (proxy, near, far)
    }

    fn receives(stream: &mut TcpStream, word: &[u8]) {
        let mut received = vec![0; word.len()];
        stream.read_exact(&mut received).unwrap();
        assert_eq!(received, word);
    }

    #[test]
    fn one_direction_can_be_delayed() {
        let (proxy, mut near, mut far) = connected();
        let delay = Duration::from_millis(200);
        proxy.delay(Direction::Back, delay);
        let begin = Instant::now();
        for word in [b"a", b"b", b"c"] {
            far.write_all(word).unwrap();
            std::thread::sleep(Duration::from_millis(10));
        }
        receives(&mut near, b"abc");
        assert!(begin.elapsed() >= delay);
        near.write_all(b"d").unwrap();
        receives(&mut far, b"d");
        proxy.delay(Direction::Back, Duration::ZERO);
        far.write_all(b"e").unwrap();
        receives(&mut near, b"e");
    }

    #[test]
    fn one_direction_can_have_little_bandwidth() {
        let (proxy, mut near, mut far) = connected();
        let slowness = Slowness {
            bytes_per_second: 10_000,
            ..Slowness::default()
        };
        proxy.slow(Direction::Back, slowness);
        let begin = Instant::now();
        far.write_all(&[7; 3_000]).unwrap();
        receives(&mut near, &[7; 3_000]);
        assert!(begin.elapsed() >= Duration::from_millis(290));
        near.write_all(b"d").unwrap();
        receives(&mut far, b"d");
        // Of all connections together, one after the other.
        let (now, mut pace) = (Instant::now(), Pace::default());
        assert_eq!(pace.passed(5_000, now), now);
        pace.slowness = slowness;
        for half_seconds in 1..=3 {
            let passed = now + Duration::from_millis(500) * half_seconds;
            assert_eq!(pace.passed(5_000, now), passed);
        }
    }

    #[test]
    fn a_way_stalls_at_the_beginning_of_each_period() {
        let now = Instant::now();
        let millis = Duration::from_millis;
        let mut pace = Pace {
            since: Some(now),
            ..Pace::default()
        };
        assert!(!pace.is_stalled(now));
        pace.slowness.stall = (millis(200), millis(1_000));
        for (at, stalled) in [
            (0, true),
            (199, true),
            (200, false),
            (999, false),
            (1_100, true),
        ] {
            assert_eq!(pace.is_stalled(now + millis(at)), stalled, "{at}");
        }
    }

    #[test]
    fn data_held_in_one_direction_arrive_when_it_is_released() {
        let (proxy, mut near, mut far) = connected();
        proxy.hold_way(Direction::Forth, true);
        near.write_all(b"held").unwrap();
        far.write_all(b"goes").unwrap();
        receives(&mut near, b"goes");
        far.set_read_timeout(Some(Duration::from_millis(50)))
            .unwrap();
        assert!(far.read(&mut [0; 1]).is_err(), "nothing arrives");
        far.set_read_timeout(None).unwrap();
        proxy.hold_way(Direction::Forth, false);
        receives(&mut far, b"held");
        assert_eq!(proxy.connections(), 1);
        proxy.cut();
        assert_eq!(near.read(&mut [0; 1]).unwrap(), 0);
    }
}
