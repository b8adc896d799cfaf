//! What waits to be sent to one node in one class.

use std::collections::VecDeque;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// Why a message was not taken. It will not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    #[error("there is no connection to the node")]
    Down,
    #[error("the node does not read what is sent to it as fast as it comes")]
    Full,
}

#[derive(Debug, Default)]
struct Waiting {
    messages: VecDeque<Bytes>,
    bytes: usize,
    open: bool,
}

#[derive(Debug)]
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    arrived: Notify,
    max_messages: usize,
    max_bytes: usize,
}

impl Queue {
    pub(crate) fn new((max_messages, max_bytes): (usize, usize)) -> Queue {
        Queue {
            waiting: Mutex::default(),
            arrived: Notify::new(),
            max_messages,
            max_bytes,
        }
    }

    /// Never blocks. From any thread.
    pub(crate) fn push(&self, message: Bytes) -> Result<(), SendError> {
        let mut waiting = self.waiting.lock();
        if !waiting.open {
            return Err(SendError::Down);
        }
        let full = waiting.messages.len() >= self.max_messages
            || waiting.bytes + message.len() > self.max_bytes;
        if full && !waiting.messages.is_empty() {
            return Err(SendError::Full);
        }
        waiting.bytes += message.len();
        waiting.messages.push_back(message);
        let first = waiting.messages.len() == 1;
        drop(waiting);
        // The writer takes all that waits: it is told of the first.
        if first {
            self.arrived.notify_one();
        }
        Ok(())
    }

    pub(crate) fn is_open(&self) -> bool {
        self.waiting.lock().open
    }

    pub(crate) fn open(&self) {
        self.waiting.lock().open = true;
    }

    /// What waits is forgotten.
    pub(crate) fn close(&self) {
        *self.waiting.lock() = Waiting::default();
    }

    /// All that waits; waits for the first.
    pub(crate) async fn take(&self) -> VecDeque<Bytes> {
        loop {
            {
                let mut waiting = self.waiting.lock();
                if !waiting.messages.is_empty() {
                    waiting.bytes = 0;
                    return std::mem::take(&mut waiting.messages);
                }
            }
            self.arrived.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn a_queue_is_bounded_in_number_and_bytes() {
        let queue = Queue::new((2, 10));
        let message = |bytes: usize| Bytes::from(vec![0; bytes]);
        assert_eq!(queue.push(message(1)), Err(SendError::Down));
        queue.open();
        queue.push(message(100)).unwrap();
        assert_eq!(queue.push(message(1)), Err(SendError::Full));
        assert_eq!(queue.take().await.len(), 1);
        queue.push(message(1)).unwrap();
        queue.push(message(9)).unwrap();
        assert_eq!(queue.push(message(0)), Err(SendError::Full));
        queue.close();
        queue.open();
        queue.push(message(3)).unwrap();
        assert_eq!(queue.take().await, [message(3)]);
    }
}
