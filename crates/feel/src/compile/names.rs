//! Meaning of names: locals, items of filters, captured values, variables.

use std::collections::HashMap;
use std::sync::Arc;

use super::{ItemKey, Node};

/// A function body, or the expression as a whole.
#[derive(Default)]
pub(super) struct Frame {
    entries: Vec<Entry>,
    /// Where each name stands among the entries, the innermost last: a text of a megabyte declares many.
    places: HashMap<Arc<str>, Vec<usize>>,
    /// Where the items of filters stand among the entries.
    items: Vec<usize>,
    pub slots: usize,
    /// Values from outside: how the outer frame computes them, and their slots here.
    pub captures: Vec<(Node, usize)>,
    /// Names of the captured values, to capture each once.
    captured: HashMap<Arc<str>, usize>,
}

enum Entry {
    Local(Arc<str>, usize),
    /// Inside a filter, the entries of the item in this slot are names.
    Item(usize),
}

pub(super) struct Names {
    frames: Vec<Frame>,
    pub variables: Vec<Arc<str>>,
    /// Their places, by name: there may be very many.
    places: HashMap<Arc<str>, usize>,
}

impl Names {
    pub fn new() -> Names {
        Names {
            frames: vec![Frame::default()],
            variables: Vec::new(),
            places: HashMap::new(),
        }
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "there is a last one: it was pushed if there was none"
    )]
    fn top(&mut self) -> &mut Frame {
        if self.frames.is_empty() {
            self.frames.push(Frame::default());
        }
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    pub fn push_frame(&mut self) {
        self.frames.push(Frame::default());
    }

    pub fn pop_frame(&mut self) -> Frame {
        self.frames.pop().unwrap_or_default()
    }

    /// A new slot in the current frame.
    pub fn slot(&mut self) -> usize {
        let frame = self.top();
        frame.slots += 1;
        frame.slots - 1
    }

    pub fn declare(&mut self, name: Arc<str>) -> usize {
        let slot = self.slot();
        self.bind(name, slot);
        slot
    }

    pub fn bind(&mut self, name: Arc<str>, slot: usize) {
        let frame = self.top();
        let place = frame.entries.len();
        frame
            .places
            .entry(Arc::clone(&name))
            .or_default()
            .push(place);
        frame.entries.push(Entry::Local(name, slot));
    }

    pub fn declare_item(&mut self) -> usize {
        let slot = self.declare(Arc::from("item"));
        let frame = self.top();
        frame.items.push(frame.entries.len());
        frame.entries.push(Entry::Item(slot));
        slot
    }

    /// Marks the names of now, to forget later ones with `release`.
    pub fn mark(&mut self) -> usize {
        self.top().entries.len()
    }

    pub fn release(&mut self, mark: usize) {
        let frame = self.top();
        for entry in frame.entries.drain(mark..).rev() {
            match entry {
                Entry::Local(name, _) => {
                    if let Some(places) = frame.places.get_mut(&name) {
                        places.pop();
                    }
                }
                Entry::Item(_) => {
                    frame.items.pop();
                }
            }
        }
    }

    /// Whether the name is declared in the expression itself.
    pub fn is_local(&self, name: &str) -> bool {
        self.frames.iter().any(|frame| {
            let places = frame.places.get(name);
            places.is_some_and(|places| !places.is_empty())
        })
    }

    pub fn resolve(&mut self, name: &Arc<str>) -> Node {
        self.resolve_in(name, self.frames.len().saturating_sub(1))
    }

    fn resolve_in(&mut self, name: &Arc<str>, frame: usize) -> Node {
        // The items of the filters that are inside of the declaration, the innermost first.
        let (mut items, mut found) = (Vec::new(), None);
        if let Some(frame) = self.frames.get(frame) {
            let place = frame
                .places
                .get(name)
                .and_then(|places| places.last().copied());
            let slot = |place: usize| match frame.entries.get(place) {
                Some(Entry::Local(_, slot) | Entry::Item(slot)) => Some(*slot),
                None => None,
            };
            found = place.and_then(slot).map(|slot| local(name, slot));
            let inside = frame.items.iter().rev().copied();
            let inside = inside.take_while(|item| place.is_none_or(|place| *item > place));
            items.extend(inside.filter_map(slot));
        }
        let mut node = found.unwrap_or_else(|| self.outside(name, frame));
        // The innermost item comes first.
        for item in items.into_iter().rev() {
            node = Node::ItemKey(Box::new(ItemKey {
                item,
                key: Arc::clone(name),
                outer: node,
            }));
        }
        node
    }

    fn outside(&mut self, name: &Arc<str>, frame: usize) -> Node {
        if frame == 0 {
            return Node::Var(self.variable(name));
        }
        let known = self.frames.get(frame).and_then(|f| f.captured.get(name));
        if let Some(slot) = known {
            return local(name, *slot);
        }
        let outer = self.resolve_in(name, frame - 1);
        match self.frames.get_mut(frame) {
            Some(frame) => {
                let slot = frame.slots;
                frame.slots += 1;
                frame.captures.push((outer, slot));
                frame.captured.insert(Arc::clone(name), slot);
                local(name, slot)
            }
            None => outer,
        }
    }

    pub fn variable(&mut self, name: &Arc<str>) -> usize {
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        let place = self.variables.len();
        self.variables.push(Arc::clone(name));
        self.places.insert(Arc::clone(name), place);
        place
    }
}

fn local(name: &str, slot: usize) -> Node {
    if name == "?" {
        Node::Input(slot)
    } else {
        Node::Slot(slot)
    }
}
