//! A long way to a server: a proxy that passes everything on later.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// It ends when it goes out of scope; its connections end with one of their sides.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    over: Arc<AtomicBool>,
    held: Arc<AtomicBool>,
    open: Arc<Open>,
}

/// The near sides of connections, by number.
#[derive(Debug, Default)]
struct Open(Mutex<Vec<(usize, TcpStream)>>);

impl Open {
    fn with<R>(&self, look: impl FnOnce(&mut Vec<(usize, TcpStream)>) -> R) -> R {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Proxy {
    /// Listens on this machine, and passes on to a port of it. What is read at a time is passed on after `delay`.
    ///
    /// # Errors
    /// No port can be had.
    pub fn start(to: u16, delay: Duration) -> std::io::Result<Proxy> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let over = Arc::new(AtomicBool::new(false));
        let held = Arc::new(AtomicBool::new(false));
        let open = Arc::new(Open::default());
        let (ends, holds, opens) = (over.clone(), held.clone(), open.clone());
        std::thread::spawn(move || {
            for (number, near) in listener.incoming().enumerate() {
                if ends.load(Ordering::Relaxed) {
                    return;
                }
                let Ok((near, far)) =
                    near.and_then(|near| Ok((near, TcpStream::connect(("127.0.0.1", to))?)))
                else {
                    continue;
                };
                if let (Ok(known), Ok(back), Ok(forth)) =
                    (near.try_clone(), near.try_clone(), far.try_clone())
                {
                    opens.with(|open| open.push((number, known)));
                    let (there, here, opens) = (holds.clone(), holds.clone(), opens.clone());
                    std::thread::spawn(move || {
                        pass(near, forth, delay, &there);
                        opens.with(|open| open.retain(|(other, _)| *other != number));
                    });
                    std::thread::spawn(move || pass(far, back, delay, &here));
                }
            }
        });
        Ok(Proxy {
            port,
            over,
            held,
            open,
        })
    }

    /// How many connections there are.
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

    /// Nothing is passed on any more, and nothing ends: what is sent is held up until this is over.
    pub fn hold(&self, held: bool) {
        self.held.store(held, Ordering::Relaxed);
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

/// Between two looks whether what is held up may go on.
const HELD: Duration = Duration::from_millis(5);

fn pass(mut from: TcpStream, mut to: TcpStream, delay: Duration, held: &AtomicBool) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        std::thread::sleep(delay);
        while held.load(Ordering::Relaxed) {
            std::thread::sleep(HELD);
        }
        let Some(bytes) = buffer.get(..count) else {
            break;
        };
        if to.write_all(bytes).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}
