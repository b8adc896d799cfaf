//! Counts the open job streams of clients. The number is limited, because the partitions of all nodes know each stream.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use parking_lot::Mutex;
use skep_protocol::Failure;
use skep_protocol::origin::Claims;

/// Maximum number of open streams at one node.
const MAX_OPEN: usize = 10_000;
/// Maximum number of open streams of one caller at one node. All workers of an installation may share a client id, with a stream for each
/// of their job types.
const MAX_OF_CALLER: usize = 2_500;

/// The open streams of one node. Clones share their count.
#[derive(Clone, Debug, Default)]
pub struct OpenStreams(Arc<Mutex<Counts>>);

#[derive(Debug, Default)]
struct Counts {
    open: usize,
    /// Of callers with at least one.
    by_caller: HashMap<Caller, usize>,
}

/// A caller with a name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Caller {
    User(Arc<str>),
    Client(Arc<str>),
}

impl Caller {
    fn of(claims: &Claims) -> Option<Caller> {
        match claims {
            Claims::Anonymous | Claims::Internal => None,
            Claims::User(principal) => Some(Caller::User(Arc::clone(&principal.id))),
            Claims::Client(principal) => Some(Caller::Client(Arc::clone(&principal.id))),
        }
    }

    fn id(&self) -> &str {
        match self {
            Caller::User(id) | Caller::Client(id) => id,
        }
    }
}

/// Counts one open stream of its caller, until it is dropped.
#[derive(Debug)]
pub struct StreamPermit {
    streams: OpenStreams,
    caller: Option<Caller>,
}

impl OpenStreams {
    /// Counts a new stream of this caller.
    ///
    /// # Errors
    /// [`Failure::ResourceExhausted`] if the node or the caller has too many.
    pub fn open(&self, claims: &Claims) -> Result<StreamPermit, Failure> {
        let caller = Caller::of(claims);
        let mut counts = self.0.lock();
        if counts.open >= MAX_OPEN {
            return Err(Failure::ResourceExhausted(format!(
                "Expected to open a job stream, but this node has {MAX_OPEN} open job streams, the maximum. Open it at another node, or \
                 close streams that are not needed."
            )));
        }
        if let Some(caller) = &caller {
            let of_caller = counts.by_caller.entry(caller.clone()).or_default();
            if *of_caller >= MAX_OF_CALLER {
                return Err(Failure::ResourceExhausted(format!(
                    "Expected to open a job stream, but '{}' has {MAX_OF_CALLER} open job streams at this node, the maximum for a caller. \
                     Open it at another node, or close streams that are not needed.",
                    caller.id()
                )));
            }
            *of_caller += 1;
        }
        counts.open += 1;
        Ok(StreamPermit {
            streams: self.clone(),
            caller,
        })
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let mut counts = self.streams.0.lock();
        counts.open -= 1;
        if let Some(caller) = self.caller.take()
            && let Entry::Occupied(mut of_caller) = counts.by_caller.entry(caller)
        {
            *of_caller.get_mut() -= 1;
            if *of_caller.get() == 0 {
                of_caller.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use skep_protocol::Failure;
    use skep_protocol::origin::{Claims, Principal};

    use super::{MAX_OF_CALLER, MAX_OPEN, OpenStreams, StreamPermit};

    fn anna() -> Principal {
        Principal {
            id: "anna".into(),
            ..Principal::default()
        }
    }

    fn opened(streams: &OpenStreams, claims: &Claims, count: usize) -> Vec<StreamPermit> {
        let each = (0..count).map(|_| streams.open(claims));
        each.collect::<Result<_, _>>().expect("there is room")
    }

    fn refusal(streams: &OpenStreams, claims: &Claims) -> String {
        match streams.open(claims) {
            Err(Failure::ResourceExhausted(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_caller_has_a_part_of_the_streams_of_a_node() {
        let streams = OpenStreams::default();
        let user = Claims::User(anna().into());
        let mut open = opened(&streams, &user, MAX_OF_CALLER);
        let text = refusal(&streams, &user);
        assert!(text.contains("'anna' has 2500 open"), "{text}");
        // A client of the same name is another caller, and clones share their count.
        let client = Claims::Client(anna().into());
        drop(streams.clone().open(&client).expect("there is room"));
        open.pop();
        open.extend(opened(&streams, &user, 1));
        refusal(&streams, &user);
        drop(open);
        assert!(streams.0.lock().by_caller.is_empty());
    }

    #[test]
    fn a_node_has_a_maximum_of_streams() {
        let streams = OpenStreams::default();
        let mut open = opened(&streams, &Claims::Anonymous, MAX_OPEN);
        let user = Claims::User(anna().into());
        for claims in [&Claims::Anonymous, &user] {
            let text = refusal(&streams, claims);
            assert!(text.contains("this node has 10000 open"), "{text}");
        }
        open.pop();
        open.extend(opened(&streams, &user, 1));
        refusal(&streams, &Claims::Anonymous);
    }
}
