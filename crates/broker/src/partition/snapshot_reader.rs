//! Reads a checkpoint as the parts of a snapshot, ahead of the sender and at a pace that leaves disk capacity for regular work.

use std::io::Result;
use std::time::Instant;

use bytes::Bytes;
use crossbeam_channel::{Receiver, Sender};
use skep_storage::kv::{KvView, StreamWriter};

use super::inbox::Inbox;
use super::pace::Pace;
use super::parts::background::Background;

/// Bytes of one part of a snapshot.
const CHUNK_BYTES: usize = 256 << 10;
/// Maximum rate of a snapshot: the disks and cores that read, send and write it have other work to do.
const BYTES_A_SECOND: u64 = 150 << 20;
/// Number of parts that are read ahead.
const CHUNKS_AHEAD: usize = 8;

/// A part, or the end of the parts for a reason that was logged.
pub type Chunk = std::result::Result<Bytes, ()>;

/// Reads the parts of a snapshot in the background, until the last part, or until they are no longer needed.
///
/// # Errors
/// Reading cannot begin.
pub fn read_ahead(
    view: Box<dyn KvView>,
    inbox: Inbox,
    background: &dyn Background,
) -> Result<Receiver<Chunk>> {
    let (sender, chunks) = crossbeam_channel::bounded(CHUNKS_AHEAD);
    background.run("snapshot", Box::new(move || read(&*view, &inbox, &sender)))?;
    Ok(chunks)
}

fn read(view: &dyn KvView, inbox: &Inbox, sender: &Sender<Chunk>) {
    let Ok(mut stream) = StreamWriter::new(view, CHUNK_BYTES) else {
        let _ = sender.send(Err(()));
        return;
    };
    let mut pace = Pace::new(BYTES_A_SECOND, Instant::now());
    loop {
        let part = match stream.next_chunk() {
            Ok(Some(part)) => Ok(part),
            Ok(None) => return,
            Err(error) => {
                tracing::error!(code = "CHECKPOINT_FAILED", %error, "a snapshot cannot be read");
                Err(())
            }
        };
        let failed = part.is_err();
        let bytes = part.as_ref().map_or(0, Bytes::len);
        if sender.send(part).is_err() || failed {
            return;
        }
        // The partition may have found nothing before.
        inbox.ring();
        std::thread::sleep(pace.went(bytes, Instant::now()));
    }
}
