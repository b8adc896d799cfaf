//! The element instances of a process instance, by their element.

use std::collections::HashMap;

use skep_model::ElementIndex;
use skep_protocol::{Key, Rejection};

use super::refused;
use crate::processing::Context;
use crate::processing::bpmn::Subject;
use crate::state::ElementInstance;

/// Maximum number of element instances to search for those of an element: more would keep others waiting.
const MAX_SEARCHED: usize = 100_000;

/// The element instances of a process instance, collected on first use.
#[derive(Default)]
pub(super) struct Instances {
    by_element: Option<HashMap<u32, Vec<Key>>>,
}

impl Instances {
    /// The instances of an element that satisfy `is_right`, oldest first within their scope.
    pub fn of(
        &mut self,
        cx: &mut Context<'_>,
        instance: &Subject,
        element: ElementIndex,
        is_right: fn(&ElementInstance) -> bool,
    ) -> Result<Vec<Key>, Rejection> {
        if element == ElementIndex::PROCESS {
            return Ok(vec![instance.key]);
        }
        let by_element = match &mut self.by_element {
            Some(known) => known,
            unknown => unknown.insert(look_through(cx, instance)?),
        };
        let all = by_element.get(&element.0);
        let right = all.into_iter().flatten().copied().filter(|key| {
            let row = cx.state.elements.get(*key);
            row.is_some_and(is_right)
        });
        Ok(right.collect())
    }
}

fn look_through(
    cx: &mut Context<'_>,
    instance: &Subject,
) -> Result<HashMap<u32, Vec<Key>>, Rejection> {
    let mut found: HashMap<u32, Vec<Key>> = HashMap::new();
    let mut seen = 0;
    let mut scopes = vec![instance.key];
    let mut next = 0;
    while let Some(scope) = scopes.get(next).copied() {
        next += 1;
        let mut child = cx.state.elements.child_after(scope, Key::NONE);
        while let Some(row) = cx.state.elements.get(child) {
            seen += 1;
            if seen > MAX_SEARCHED {
                return Err(refused(
                    instance,
                    format_args!(
                        "it has more than {MAX_SEARCHED} element instances, too many to search for those of one element. Name them by \
                         key: terminate by element instance key, and activate with an ancestor"
                    ),
                ));
            }
            found.entry(row.element).or_default().push(child);
            if row.active_children > 0 {
                scopes.push(child);
            }
            child = row.previous_sibling;
        }
    }
    Ok(found)
}
