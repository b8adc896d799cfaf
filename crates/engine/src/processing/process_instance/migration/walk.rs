//! The walk through everything active: the process instance, then its children, then theirs, the oldest first.
//!
//! It goes level by level, and its only state is its position, so a migration can continue in many turns and after a
//! restart. For each level it skips the levels above.

use skep_protocol::Key;
use skep_protocol::value::MigrationProgress;

use crate::processing::Context;

/// The depth of the walk.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Reach {
    Instance,
    /// Includes instances called by call activities.
    CalledInstances,
}

pub(super) enum Move {
    /// Visit this element instance.
    Visit(Key),
    /// One more element instance was skipped.
    Pass,
    /// All have been visited.
    End,
}

pub(super) fn next(
    cx: &mut Context<'_>,
    root: Key,
    progress: &mut MigrationProgress,
    reach: Reach,
) -> Move {
    cx.budget.take_step();
    // The current one is not finished yet.
    if progress.done > 0 {
        return Move::Visit(progress.at);
    }
    if progress.at.is_none() {
        (progress.at, progress.depth) = (root, 0);
    } else if let Some((at, depth)) = after(cx, progress, reach) {
        (progress.at, progress.depth) = (at, depth);
    } else if progress.found {
        progress.level += 1;
        (progress.at, progress.found) = (Key::NONE, false);
        return Move::Pass;
    } else {
        return Move::End;
    }
    if progress.depth < progress.level {
        return Move::Pass;
    }
    progress.found = true;
    Move::Visit(progress.at)
}

/// The element instance after the current one, and its level. Does not descend below the level being visited.
fn after(cx: &mut Context<'_>, progress: &MigrationProgress, reach: Reach) -> Option<(Key, u32)> {
    let (mut at, mut depth) = (progress.at, progress.depth);
    if depth < progress.level
        && let Some(child) = first_inside(cx, at, reach)
    {
        return Some((child, depth + 1));
    }
    while depth > 0 {
        let row = cx.state.elements.get(at)?;
        let (scope, caller) = (row.flow_scope_key, row.parent_element_instance_key());
        if let Some(scope) = scope.some() {
            if let Some(next) = cx.state.elements.child_after(scope, at).some() {
                return Some((next, depth));
            }
            at = scope;
        } else {
            at = caller;
        }
        depth -= 1;
    }
    None
}

fn first_inside(cx: &mut Context<'_>, key: Key, reach: Reach) -> Option<Key> {
    if let Some(child) = cx.state.elements.child_after(key, Key::NONE).some() {
        return Some(child);
    }
    let row = cx.state.elements.get(key)?;
    let called = row.extra.as_ref()?.called_instance.some()?;
    let is_active = cx.state.elements.get(called).is_some();
    (reach == Reach::CalledInstances && is_active).then_some(called)
}
