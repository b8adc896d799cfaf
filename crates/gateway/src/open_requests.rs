//! Counts what clients keep open for jobs: job streams, which the partitions of all nodes know, and activations that wait (long polls),
//! which are woken and look again from time to time. The number of each is limited.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use parking_lot::Mutex;
use skep_protocol::Failure;
use skep_protocol::origin::Claims;

/// Maximum number of open streams, and of waiting activations, at one node.
const MAX_OPEN: usize = 10_000;
/// Maximum number of each for one caller at one node. All workers of an installation may share a client id, with a stream for each
/// of their job types.
const MAX_OF_CALLER: usize = 2_500;

#[derive(Clone, Copy, Debug)]
enum What {
    Streams,
    Polls,
}

impl What {
    /// What the client wants, what there are too many of, and the remedy.
    fn texts(self) -> [&'static str; 3] {
        match self {
            What::Streams => [
                "to open a job stream",
                "open job streams",
                "Open it at another node, or close streams that are not needed.",
            ],
            What::Polls => [
                "to wait for jobs",
                "waiting job activations",
                "Ask another node, or ask with fewer requests at a time.",
            ],
        }
    }
}

/// The open requests of one kind at one node. Clones share their count.
#[derive(Clone, Debug)]
pub struct OpenRequests {
    what: What,
    counts: Arc<Mutex<Counts>>,
}

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

/// Counts one open request of its caller, until it is dropped.
#[derive(Debug)]
pub struct OpenPermit {
    counts: Arc<Mutex<Counts>>,
    caller: Option<Caller>,
}

impl OpenRequests {
    pub fn streams() -> OpenRequests {
        OpenRequests {
            what: What::Streams,
            counts: Arc::default(),
        }
    }

    pub fn polls() -> OpenRequests {
        OpenRequests {
            what: What::Polls,
            counts: Arc::default(),
        }
    }

    /// Counts a new request of this caller.
    ///
    /// # Errors
    /// [`Failure::ResourceExhausted`] if the node or the caller has too many.
    pub fn open(&self, claims: &Claims) -> Result<OpenPermit, Failure> {
        let caller = Caller::of(claims);
        let [wants, plural, remedy] = self.what.texts();
        let mut counts = self.counts.lock();
        if counts.open >= MAX_OPEN {
            return Err(Failure::ResourceExhausted(format!(
                "Expected {wants}, but this node has {MAX_OPEN} {plural}, the maximum. {remedy}"
            )));
        }
        if let Some(caller) = &caller {
            let of_caller = counts.by_caller.entry(caller.clone()).or_default();
            if *of_caller >= MAX_OF_CALLER {
                return Err(Failure::ResourceExhausted(format!(
                    "Expected {wants}, but '{}' has {MAX_OF_CALLER} {plural} at this node, the maximum for a caller. {remedy}",
                    caller.id()
                )));
            }
            *of_caller += 1;
        }
        counts.open += 1;
        Ok(OpenPermit {
            counts: Arc::clone(&self.counts),
            caller,
        })
    }
}

impl Drop for OpenPermit {
    fn drop(&mut self) {
        let mut counts = self.counts.lock();
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

    use super::{MAX_OF_CALLER, MAX_OPEN, OpenPermit, OpenRequests};

    fn anna() -> Principal {
        Principal {
            id: "anna".into(),
            ..Principal::default()
        }
    }

    fn opened(streams: &OpenRequests, claims: &Claims, count: usize) -> Vec<OpenPermit> {
        let each = (0..count).map(|_| streams.open(claims));
        each.collect::<Result<_, _>>().expect("there is room")
    }

    fn refusal(streams: &OpenRequests, claims: &Claims) -> String {
        match streams.open(claims) {
            Err(Failure::ResourceExhausted(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_caller_has_a_part_of_the_streams_of_a_node() {
        let streams = OpenRequests::streams();
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
        assert!(streams.counts.lock().by_caller.is_empty());
    }

    #[test]
    fn a_node_has_a_maximum_of_streams() {
        let streams = OpenRequests::streams();
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

    #[test]
    fn waiting_activations_have_the_same_limits_and_a_count_of_their_own() {
        let (streams, polls) = (OpenRequests::streams(), OpenRequests::polls());
        let user = Claims::User(anna().into());
        let mut waiting = opened(&polls, &user, MAX_OF_CALLER);
        let text = refusal(&polls, &user);
        assert!(
            text.contains("to wait for jobs, but 'anna' has 2500 waiting job activations"),
            "{text}"
        );
        drop(opened(&streams, &user, 1));
        let rest = MAX_OPEN - MAX_OF_CALLER;
        waiting.extend(opened(&polls, &Claims::Anonymous, rest));
        let text = refusal(&polls, &Claims::Anonymous);
        assert!(text.contains("this node has 10000 waiting"), "{text}");
    }
}
