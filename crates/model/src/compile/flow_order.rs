//! The order in which tokens pass through a process: predecessors of an element come before it, loops aside.

use crate::graph::{ElementIndex, ElementKind, Process, ThrowEvent};

/// The rank of each element, by its index: of two elements of a scope where one leads to the other, the first has the lower
/// rank. If both lead to each other, the one that tokens reach first has it.
pub(super) fn ranks(process: &Process) -> Vec<usize> {
    let count = process.elements.len();
    let mut search = Search {
        process,
        seen: vec![false; count],
        finished: Vec::with_capacity(count),
    };
    let all = (0..count).map(super::index);
    // Tokens begin at elements without predecessors. The rest is only reached by itself.
    for from in all.clone().filter(|this| is_first(process, *this)) {
        search.visit(from);
    }
    for from in all {
        search.visit(from);
    }
    let mut ranks = vec![0; count];
    for (rank, element) in search.finished.iter().rev().enumerate() {
        if let Some(of_element) = ranks.get_mut(element.get()) {
            *of_element = rank;
        }
    }
    ranks
}

fn is_first(process: &Process, this: ElementIndex) -> bool {
    let element = process.element(this);
    element.incoming.is_empty()
        && !matches!(
            element.kind,
            ElementKind::SequenceFlow(_) | ElementKind::BoundaryEvent(_)
        )
}

struct Search<'p> {
    process: &'p Process,
    seen: Vec<bool>,
    /// Elements whose successors are all in this list, in this order.
    finished: Vec<ElementIndex>,
}

impl Search<'_> {
    /// Depth first, with a stack of its own: a process may have a hundred thousand elements in a row.
    fn visit(&mut self, from: ElementIndex) {
        let mut open = Vec::new();
        self.enter(from, &mut open);
        while let Some((this, next)) = open.last_mut() {
            match next.pop() {
                Some(next) => self.enter(next, &mut open),
                None => {
                    self.finished.push(*this);
                    open.pop();
                }
            }
        }
    }

    fn enter(&mut self, this: ElementIndex, open: &mut Vec<(ElementIndex, Vec<ElementIndex>)>) {
        let Some(seen) = self.seen.get_mut(this.get()) else {
            return;
        };
        if !std::mem::replace(seen, true) {
            open.push((this, successors(self.process, this)));
        }
    }
}

fn successors(process: &Process, this: ElementIndex) -> Vec<ElementIndex> {
    let element = process.element(this);
    let mut next = element.boundary_events.clone();
    for flow in &element.outgoing {
        if let ElementKind::SequenceFlow(flow) = &process.element(*flow).kind {
            next.push(flow.target);
        }
    }
    if let ElementKind::IntermediateThrowEvent(ThrowEvent::Link { target }) = element.kind {
        next.push(target);
    }
    next
}
