//! Readers that search at each node all the time, and record the results each second.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::JoinHandle;

use super::{Stage, lock};
use crate::probes::{Reader, Searches};

/// Pause between two searches at a node.
const PAUSE: Duration = Duration::from_millis(50);
const NOTE: Duration = Duration::from_secs(1);

/// Readers, which search until they are ended.
pub(super) struct Readers {
    stop: Arc<AtomicBool>,
    tasks: Vec<JoinHandle<()>>,
}

impl Readers {
    pub(super) fn start(stage: &Arc<Stage>, process_id: &str) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let all = Arc::new(Mutex::new(Searches::default()));
        let rests = lock(&stage.cluster).rests();
        let mut tasks = Vec::new();
        for rest in rests {
            let (stop, all, id) = (stop.clone(), all.clone(), process_id.to_string());
            tasks.push(tokio::task::spawn_blocking(move || {
                let mut reader = Reader::default();
                while !stop.load(Ordering::Relaxed) {
                    let (looked, took) = reader.look(&rest, &id);
                    lock(&all).count(&mut reader, looked, took);
                    std::thread::sleep(PAUSE);
                }
            }));
        }
        let (stopped, stage) = (stop.clone(), Arc::clone(stage));
        tasks.push(tokio::spawn(async move {
            while !stopped.load(Ordering::Relaxed) {
                tokio::time::sleep(NOTE).await;
                let values = lock(&all).take();
                stage.note_values(values);
            }
        }));
        Self { stop, tasks }
    }

    pub(super) async fn end(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for task in std::mem::take(&mut self.tasks) {
            let _ = task.await;
        }
    }
}

/// After an error or a signal nobody ends them, and the program would wait for their threads for ever.
impl Drop for Readers {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_that_are_dropped_stop() {
        let stop = Arc::new(AtomicBool::new(false));
        drop(Readers {
            stop: Arc::clone(&stop),
            tasks: Vec::new(),
        });
        assert!(stop.load(Ordering::Relaxed));
    }
}
