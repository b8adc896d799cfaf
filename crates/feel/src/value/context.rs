//! Contexts: names with values, in order.

use std::sync::{Arc, OnceLock};

use super::{SHARED, Value};

/// An immutable, shared mapping from names to values that keeps the order of its entries.
#[derive(Clone)]
pub struct Context(Arc<Inner>);

struct Inner {
    entries: Vec<(Arc<str>, Value)>,
    /// Positions sorted by key, made at the first look-up in a large context.
    index: OnceLock<Box<[u32]>>,
    heap: u64,
    depth: u32,
}

/// Bytes of a key in a context, without its text.
pub(crate) const KEY: u64 = size_of::<Arc<str>>() as u64;

impl Context {
    /// Contexts with more entries than this are looked up through an index.
    pub(crate) const LINEAR: usize = 16;
    /// Bytes without entries.
    pub(crate) const EMPTY: u64 = SHARED + size_of::<Inner>() as u64;

    /// A context of these entries; the keys must differ.
    pub fn new(entries: Vec<(Arc<str>, Value)>) -> Context {
        let (mut heap, mut depth) = (Context::EMPTY, 0u32);
        for (key, value) in &entries {
            heap = heap
                .saturating_add(value.memory())
                .saturating_add(KEY + key.len() as u64);
            depth = depth.max(value.depth());
        }
        Context(Arc::new(Inner {
            entries,
            index: OnceLock::new(),
            heap,
            depth: depth + 1,
        }))
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        let entries = &self.0.entries;
        if entries.len() <= Context::LINEAR {
            return entries
                .iter()
                .find(|(name, _)| &**name == key)
                .map(|(_, value)| value);
        }
        let index = self.0.index.get_or_init(|| {
            let mut order: Vec<u32> = (0..entries.len() as u32).collect();
            order.sort_by(|a, b| self.key(*a).cmp(self.key(*b)));
            order.into_boxed_slice()
        });
        let position = index.binary_search_by(|at| self.key(*at).cmp(key)).ok()?;
        let at = index.get(position)?;
        entries.get(*at as usize).map(|(_, value)| value)
    }

    fn key(&self, at: u32) -> &str {
        self.0.entries.get(at as usize).map_or("", |(key, _)| key)
    }

    /// Keys and values in order.
    pub fn entries(&self) -> &[(Arc<str>, Value)] {
        &self.0.entries
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.0.entries.len()
    }

    /// True without entries.
    pub fn is_empty(&self) -> bool {
        self.0.entries.is_empty()
    }

    pub(crate) fn heap(&self) -> u64 {
        self.0.heap
    }

    pub(crate) fn depth(&self) -> u32 {
        self.0.depth
    }

    /// The keys, quoted, for messages.
    pub(crate) fn keys_for_message(&self) -> String {
        let mut keys: Vec<String> = self
            .entries()
            .iter()
            .take(20)
            .map(|(key, _)| format!("'{key:.60}'"))
            .collect();
        if self.len() > 20 {
            keys.push("…".to_owned());
        }
        keys.join(", ")
    }
}

/// Collects entries; a key that is put again keeps its place and gets the new value.
#[derive(Default)]
pub struct ContextBuilder {
    entries: Vec<(Arc<str>, Value)>,
    /// Key to position, once there are many.
    index: std::collections::HashMap<Arc<str>, usize>,
}

impl ContextBuilder {
    /// Nothing yet.
    pub fn new() -> ContextBuilder {
        ContextBuilder::default()
    }

    /// Starts from the entries of a context.
    pub fn from_context(context: &Context) -> ContextBuilder {
        let mut builder = ContextBuilder::new();
        for (key, value) in context.entries() {
            builder.put(Arc::clone(key), value.clone());
        }
        builder
    }

    fn position(&self, key: &str) -> Option<usize> {
        if self.index.is_empty() {
            self.entries.iter().position(|(name, _)| &**name == key)
        } else {
            self.index.get(key).copied()
        }
    }

    /// Adds or replaces an entry.
    pub fn put(&mut self, key: Arc<str>, value: Value) {
        match self.position(&key).and_then(|at| self.entries.get_mut(at)) {
            Some(entry) => entry.1 = value,
            None => {
                if !self.index.is_empty() {
                    self.index.insert(Arc::clone(&key), self.entries.len());
                } else if self.entries.len() == Context::LINEAR {
                    self.index = self
                        .entries
                        .iter()
                        .enumerate()
                        .map(|(at, (k, _))| (Arc::clone(k), at))
                        .collect();
                    self.index.insert(Arc::clone(&key), self.entries.len());
                }
                self.entries.push((key, value));
            }
        }
    }

    /// The value put under a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.position(key)
            .and_then(|at| self.entries.get(at))
            .map(|(_, value)| value)
    }

    /// The finished context.
    pub fn build(self) -> Context {
        Context::new(self.entries)
    }
}
