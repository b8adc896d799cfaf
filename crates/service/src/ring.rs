//! Wakes partitions for many requests at once.
//!
//! A thread that serves connections finds the requests of many of them at a time. If it woke the partition for the first one, that request
//! would be evaluated, written and flushed alone, on another core and at the price of a system call. So the thread wakes the partition only
//! when all pending requests were decoded, or enough of them. A partition that is awake finds them at once.

use std::cell::RefCell;
use std::task::{Context, Waker};

/// A partition is woken after at most this many requests of a thread: it must not wait while a long row is decoded.
const ENOUGH: usize = 16;

#[derive(Debug, Default)]
struct Bell {
    /// The task of this thread that rings, once the tasks scheduled before it have run.
    ringer: Option<Waker>,
    /// Requests since somebody was last woken for them.
    waiting: usize,
    /// The ringer has to ring. A thread that wakes a partition in between wakes only that one.
    is_due: bool,
}

thread_local! {
    static BELL: RefCell<Bell> = const {
        RefCell::new(Bell {
            ringer: None,
            waiting: 0,
            is_due: false,
        })
    };
}

/// Whether this thread rings soon ([`Broker::ring`](super::Broker::ring)) for what is handed to a partition now. If not, the
/// partition has to be woken at once.
pub fn rings_later() -> bool {
    BELL.with_borrow_mut(|bell| {
        let Some(ringer) = &bell.ringer else {
            return false;
        };
        bell.waiting += 1;
        match bell.waiting {
            1 => {
                bell.is_due = true;
                ringer.wake_by_ref();
            }
            ENOUGH => {
                bell.waiting = 0;
                return false;
            }
            _ => {}
        }
        true
    })
}

/// Called by the ringing task whenever it runs. Returns whether it has to ring.
pub(super) fn is_due(cx: &Context<'_>) -> bool {
    BELL.with_borrow_mut(|bell| {
        match &mut bell.ringer {
            Some(ringer) => ringer.clone_from(cx.waker()),
            ringer => *ringer = Some(cx.waker().clone()),
        }
        bell.waiting = 0;
        std::mem::take(&mut bell.is_due)
    })
}

/// Nobody rings on this thread any more.
pub(super) fn silence() {
    BELL.with_borrow_mut(|bell| *bell = Bell::default());
}
