//! Lists.

use std::ops::Deref;
use std::sync::Arc;

use super::{SHARED, Value};

/// An immutable, shared list. Dereferences to a slice.
#[derive(Clone)]
pub struct List(Arc<Inner>);

struct Inner {
    items: Vec<Value>,
    heap: u64,
    depth: u32,
}

impl List {
    /// Bytes without items.
    pub(crate) const EMPTY: u64 = SHARED + size_of::<Inner>() as u64;

    /// A list of these items.
    pub fn new(items: Vec<Value>) -> List {
        let (mut heap, mut depth) = (List::EMPTY, 0u32);
        for item in &items {
            heap = heap.saturating_add(item.memory());
            depth = depth.max(item.depth());
        }
        List(Arc::new(Inner {
            items,
            heap,
            depth: depth + 1,
        }))
    }

    pub(crate) fn heap(&self) -> u64 {
        self.0.heap
    }

    pub(crate) fn depth(&self) -> u32 {
        self.0.depth
    }

    /// Somebody else holds the list, too.
    pub(crate) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Adds an item in place if the list is not shared.
    pub(crate) fn push(&mut self, item: Value) {
        let (memory, depth) = (item.memory(), item.depth());
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.items.push(item);
            inner.heap = inner.heap.saturating_add(memory);
            inner.depth = inner.depth.max(depth + 1);
        } else {
            let mut items = Vec::with_capacity(self.0.items.len() + 1);
            items.extend_from_slice(&self.0.items);
            items.push(item);
            *self = List::new(items);
        }
    }
}

impl Deref for List {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.0.items
    }
}

impl From<Vec<Value>> for List {
    fn from(items: Vec<Value>) -> List {
        List::new(items)
    }
}
