use std::ops::Deref;
use std::sync::Arc;

use super::Value;

/// An immutable, shared list. Dereferences to a slice.
#[derive(Clone)]
pub struct List(Arc<Inner>);

struct Inner {
    items: Vec<Value>,
    weight: u64,
    depth: u32,
}

impl List {
    /// A list of these items.
    pub fn new(items: Vec<Value>) -> List {
        let (mut weight, mut depth) = (1u64, 0u32);
        for item in &items {
            weight = weight.saturating_add(item.weight());
            depth = depth.max(item.depth());
        }
        List(Arc::new(Inner {
            items,
            weight,
            depth: depth + 1,
        }))
    }

    pub(crate) fn weight(&self) -> u64 {
        self.0.weight
    }

    pub(crate) fn depth(&self) -> u32 {
        self.0.depth
    }

    /// Somebody else holds the list, too.
    pub(crate) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Adds an item in place when nobody else holds the list.
    pub(crate) fn push(&mut self, item: Value) {
        let (weight, depth) = (item.weight(), item.depth());
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.items.push(item);
            inner.weight = inner.weight.saturating_add(weight);
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
