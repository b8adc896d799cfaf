//! Loops and very long chains of elements that never wait.
//!
//! Such elements follow each other within one step of the engine: a loop of them may never end, a very long chain would hold
//! up all other work. Gateways count, even if a condition could leave the loop: as in the reference engine, termination of a
//! model must not depend on data. Elements that call another process, evaluate a decision or have a listener wait.

use crate::compile::Draft;
use crate::error::{Findings, Rule};
use crate::graph::{CatchEvent, ElementIndex, ElementKind, ScriptTask, ThrowEvent, of, of_mut};

/// The longest accepted chain.
const MAX_CHAIN: u32 = 1000;

/// Loops that are reported; further ones would only lengthen the text.
const MAX_LOOPS: usize = 10;

#[derive(Clone, Copy, PartialEq)]
enum Visit {
    Not,
    Open,
    /// Finished, with the length of the longest chain from here.
    Done(u32),
}

pub(crate) fn check(draft: &Draft<'_>, findings: &mut Findings) {
    let count = draft.process.elements.len();
    let mut visits = vec![Visit::Not; count];
    let (mut too_long, mut loops) = (None, 0);
    for root in draft.indices().filter(|index| never_waits(draft, *index)) {
        if *of(&visits, root) != Visit::Not {
            continue;
        }
        // Depth first with a stack of its own: each entry is an element and the next successor to look at.
        let mut stack = vec![(root, 0)];
        *of_mut(&mut visits, root) = Visit::Open;
        while let Some((index, next)) = stack.pop() {
            match successor(draft, index, next) {
                Some(successor) => {
                    stack.push((index, next + 1));
                    if !never_waits(draft, successor) {
                        continue;
                    }
                    let visit = of_mut(&mut visits, successor);
                    match visit {
                        Visit::Not => {
                            *visit = Visit::Open;
                            stack.push((successor, 0));
                        }
                        Visit::Open if loops < MAX_LOOPS => {
                            loops += 1;
                            report_loop(draft, &stack, successor, findings);
                        }
                        Visit::Open | Visit::Done(_) => {}
                    }
                }
                None => {
                    let longest = (0..)
                        .map_while(|n| successor(draft, index, n))
                        .map(|after| match of(&visits, after) {
                            Visit::Done(chain) => *chain,
                            Visit::Open | Visit::Not => 0,
                        })
                        .max();
                    let chain = 1 + longest.unwrap_or(0);
                    *of_mut(&mut visits, index) = Visit::Done(chain);
                    if chain > MAX_CHAIN {
                        too_long.get_or_insert(index);
                    }
                }
            }
        }
    }
    if let Some(index) = too_long {
        let message = format!(
            "More than {MAX_CHAIN} elements that never wait follow each other from here. Put an element that waits between them, such as a service task or a timer"
        );
        findings.add(draft.node(index), Rule::NeverWaits, message);
    }
}

fn never_waits(draft: &Draft<'_>, index: ElementIndex) -> bool {
    let element = draft.element(index);
    !draft.is_broken(index)
        && element.start_listeners.is_empty()
        && element.end_listeners.is_empty()
        && match &element.kind {
            ElementKind::Task
            | ElementKind::ManualTask
            | ElementKind::ScriptTask(ScriptTask::Expression { .. })
            | ElementKind::ExclusiveGateway { .. } => true,
            // A flow leads back into it.
            ElementKind::StartEvent(_) => !element.incoming.is_empty(),
            ElementKind::IntermediateThrowEvent(event) => !matches!(event, ThrowEvent::Message(_)),
            ElementKind::IntermediateCatchEvent(event) => {
                matches!(event, CatchEvent::Link { .. })
            }
            ElementKind::MultiInstanceBody(body) => never_waits(draft, body.inner),
            // A join waits for its other tokens.
            ElementKind::ParallelGateway | ElementKind::InclusiveGateway { .. } => {
                element.incoming.len() < 2
            }
            _ => false,
        }
}

fn successor(draft: &Draft<'_>, index: ElementIndex, n: usize) -> Option<ElementIndex> {
    let element = draft.element(index);
    if let ElementKind::IntermediateThrowEvent(ThrowEvent::Link { target }) = element.kind {
        return (n == 0).then_some(target);
    }
    match &draft.element(*element.outgoing.get(n)?).kind {
        ElementKind::SequenceFlow(flow) => Some(flow.target),
        _ => None,
    }
}

fn report_loop(
    draft: &Draft<'_>,
    stack: &[(ElementIndex, usize)],
    entry: ElementIndex,
    findings: &mut Findings,
) {
    const SHOWN: usize = 10;
    let path: Vec<&str> = stack
        .iter()
        .map(|(index, _)| *index)
        .skip_while(|index| *index != entry)
        .map(|index| &*draft.element(index).id)
        .collect();
    let mut names = path
        .iter()
        .take(SHOWN)
        .copied()
        .collect::<Vec<_>>()
        .join(" -> ");
    if path.len() > SHOWN {
        names.push_str(" -> …");
    }
    let message = format!(
        "The loop {names} -> {} has no element that waits. Put one into it, such as a service task or a timer",
        draft.element(entry).id
    );
    findings.add(draft.node(entry), Rule::NeverWaits, message);
}
