//! The threads that serve connections.
//!
//! Each thread has a runtime of its own, and a connection stays on its thread with all its requests: no request crosses
//! threads on its way through the gateway, no queue is shared, and no thread steals work from another.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;

/// Threads that serve until this is dropped or [stopped](Workers::stop).
#[derive(Debug)]
pub struct Workers(Vec<Worker>);

#[derive(Debug)]
struct Worker {
    handle: Handle,
    /// Dropping it ends the thread, with what still runs on it.
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Workers {
    /// Starts `count` threads, at least one. `background` is the task that each of them runs in the background of its connections.
    ///
    /// # Errors
    /// When the system has no threads or descriptors left.
    pub fn start<F>(count: usize, background: impl Fn() -> F) -> io::Result<Workers>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let workers = (0..count.max(1)).map(|number| Worker::start(number, background()));
        Ok(Workers(workers.collect::<io::Result<_>>()?))
    }

    /// Distributes connections: each front end has a turn of its own, so that its connections are spread evenly.
    pub fn deal(&self) -> Dealer<'_> {
        Dealer {
            workers: &self.0,
            next: AtomicUsize::new(0),
        }
    }

    /// Ends the threads and waits for them. Blocks until their current work is done.
    pub fn stop(self) {
        for Worker { stop, thread, .. } in self.0 {
            drop(stop);
            // A panic of a task stays in its task; one of the thread was printed.
            let _ = thread.join();
        }
    }
}

impl Worker {
    fn start(
        number: usize,
        background: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<Worker> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name(format!("gateway-{number}"))
            .spawn(move || serve(&runtime, background, stopped))?;
        Ok(Worker {
            handle,
            stop,
            thread,
        })
    }
}

fn serve(
    runtime: &Runtime,
    background: impl Future<Output = ()> + Send + 'static,
    stopped: oneshot::Receiver<()>,
) {
    runtime.spawn(background);
    runtime.block_on(async {
        // An error means that the sender was dropped, which is the signal.
        let _ = stopped.await;
    });
}

/// Chooses whose turn it is.
#[derive(Debug)]
pub struct Dealer<'a> {
    workers: &'a [Worker],
    next: AtomicUsize,
}

impl Dealer<'_> {
    /// The runtime that gets the next connection; `None` is not possible while there are workers.
    pub fn next(&self) -> Option<&Handle> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        let worker = self.workers.get(turn % self.workers.len().max(1))?;
        Some(&worker.handle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_assigned_in_turn_and_threads_end_on_stop() {
        let workers = Workers::start(3, std::future::pending).unwrap();
        let dealer = workers.deal();
        let dealt: Vec<_> = (0..6)
            .filter_map(|_| dealer.next())
            .map(Handle::id)
            .collect();
        assert_eq!(dealt[..3], dealt[3..]);
        assert!(dealt[0] != dealt[1] && dealt[1] != dealt[2] && dealt[0] != dealt[2]);
        // Tasks that run when the workers stop end with them.
        let (sender, receiver) = oneshot::channel::<()>();
        let _task = dealer.next().unwrap().spawn(async move {
            let _held = sender;
            std::future::pending::<()>().await;
        });
        workers.stop();
        assert!(receiver.blocking_recv().is_err());
    }
}
