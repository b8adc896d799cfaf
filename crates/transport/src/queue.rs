//! The queue of messages for one node in one class.

use std::collections::VecDeque;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// Why a message was not taken. It will not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    #[error("there is no connection to the node")]
    Down,
    #[error("the node reads messages more slowly than they are sent")]
    Full,
}

#[derive(Debug, Default)]
struct Waiting {
    messages: VecDeque<Bytes>,
    bytes: usize,
    /// The version of the protocol that the node reads; `None`: there is no connection.
    version: Option<u32>,
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

    /// Queues a message. Never blocks; may be called from any thread. A message encoded for one version is refused once the node reads
    /// another one: it was restarted meanwhile.
    pub(crate) fn push(&self, message: Bytes, encoded_for: Option<u32>) -> Result<(), SendError> {
        let mut waiting = self.waiting.lock();
        let version = waiting.version.ok_or(SendError::Down)?;
        if encoded_for.is_some_and(|it| it != version) {
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
        // The writer takes all waiting messages: it is notified of the first one.
        if first {
            self.arrived.notify_one();
        }
        Ok(())
    }

    pub(crate) fn is_open(&self) -> bool {
        self.version().is_some()
    }

    /// The version that the node reads; `None` without a connection.
    pub(crate) fn version(&self) -> Option<u32> {
        self.waiting.lock().version
    }

    pub(crate) fn open(&self, version: u32) {
        self.waiting.lock().version = Some(version);
    }

    /// Drops the waiting messages.
    pub(crate) fn close(&self) {
        *self.waiting.lock() = Waiting::default();
    }

    /// Takes all waiting messages; waits for the first one.
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
        assert_eq!(queue.push(message(1), None), Err(SendError::Down));
        queue.open(2);
        queue.push(message(100), None).unwrap();
        assert_eq!(queue.push(message(1), None), Err(SendError::Full));
        assert_eq!(queue.take().await.len(), 1);
        queue.push(message(1), None).unwrap();
        queue.push(message(9), None).unwrap();
        assert_eq!(queue.push(message(0), None), Err(SendError::Full));
        queue.close();
        queue.open(2);
        queue.push(message(3), None).unwrap();
        assert_eq!(queue.take().await, [message(3)]);
    }

    #[test]
    fn a_message_for_another_version_is_not_taken() {
        let queue = Queue::new((2, 10));
        let push = |version| queue.push(Bytes::from_static(b"a"), Some(version));
        queue.open(1);
        assert_eq!(push(2), Err(SendError::Down));
        assert_eq!(push(1), Ok(()));
        queue.close();
        queue.open(2);
        assert_eq!(push(1), Err(SendError::Down));
        assert_eq!(queue.version(), Some(2));
    }
}
