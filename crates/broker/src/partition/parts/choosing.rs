//! The items of batch operations. The engine cannot search, so this part queries secondary storage, page by page, and
//! returns the items as commands.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use skep_engine::state::BatchPhase;
use skep_identity::{Grants, Tenancy};
use skep_protocol::command::{AddBatchItems, BatchCommand, one_instance};
use skep_protocol::origin::Claims;
use skep_protocol::permission::{Permission, PermissionType, ResourceType};
use skep_protocol::value::BatchOperationCreationValue;
use skep_protocol::{Key, TenantId};
use skep_query::access::{self, Narrowed, Sight};
use skep_query::{Answer, Condition, Consistency, Op, Query, QueryError, Row, Search, selection};

use super::effect_sink::Effect;
use super::environment::Environment;
use crate::partition::QueryResult;
use crate::partition::core::PartitionCore;
use crate::partition::message::Work;
use crate::partition::secondary::{Secondary, SecondaryCell};

/// Items per query.
const PAGE: u32 = 1_000;
/// Pages that a partition requests at a time, over all operations: others have queries too.
const PAGES_AT_A_TIME: usize = 2;
/// Delay before a store is asked again that lacks committed data or is too busy.
const PAUSE: Duration = Duration::from_secs(1);
/// Time after which a page counts as lost. No query takes this long.
const LOST: Duration = Duration::from_secs(60);
/// Number of retries with a failing store; the delay doubles each time.
const MAX_TRIES: u32 = 5;

/// Operations whose items are being searched.
#[derive(Debug, Default)]
pub struct Choosing {
    asked: HashMap<Key, PendingChoice>,
    /// Operations that wait for their turn to query.
    queue: VecDeque<Key>,
    /// Operations whose page is in progress, and since when.
    on_the_way: HashMap<Key, Instant>,
}

#[derive(Debug, Default)]
struct PendingChoice {
    /// Number of failed attempts.
    tries: u32,
    /// When to ask again; `None` while it waits for its turn, or for its page.
    again: Option<Instant>,
    /// Do not ask before this entry of the log is committed.
    committed: u64,
    /// Items up to this one that were not chosen are no longer candidates.
    passed_over: Key,
}

/// The environment of the search.
pub struct Around<'a> {
    pub now: Instant,
    pub core: &'a mut PartitionCore,
    pub secondary: &'a SecondaryCell,
    pub env: &'a Environment,
}

impl Choosing {
    /// These operations are committed: items from before them can be found.
    pub fn choose_items(&mut self, operations: Vec<Key>, around: &mut Around<'_>) {
        for key in operations {
            let asked = self.asked.get(&key);
            if asked.is_none_or(|asked| asked.again.is_some()) {
                self.ask_for_items(key, around);
            }
        }
    }

    /// Searches the items of operations without a running search: after a start, or when a retry is due.
    pub fn look_after(&mut self, around: &mut Around<'_>) {
        let now = around.now;
        self.give_up_lost_pages(now);
        let written = around.core.group().last_index();
        let state = &around.core.engine().state;
        let to_choose: Vec<Key> = state.batch_operations.to_choose().collect();
        let asked = &mut self.asked;
        // An operation created just now may not be committed, and neither may be what existed before it.
        for key in &to_choose {
            asked.entry(*key).or_insert(PendingChoice {
                tries: 0,
                again: Some(now),
                committed: written,
                passed_over: Key::NONE,
            });
        }
        let applied = around.core.applied();
        let is_due = |asked: &PendingChoice| {
            asked.again.is_some_and(|again| again <= now) && asked.committed <= applied
        };
        let due = to_choose.into_iter();
        let keys: Vec<Key> = due
            .filter(|key| asked.get(key).is_some_and(is_due))
            .collect();
        for key in keys {
            self.ask_for_items(key, around);
        }
    }

    /// Requests the next page of an operation's items, if there is one, when it is its turn.
    pub fn ask_for_items(&mut self, key: Key, around: &mut Around<'_>) {
        self.asked.entry(key).or_default().again = None;
        debug_assert!(!self.queue.contains(&key), "it has one turn at a time");
        self.queue.push_back(key);
        self.go_on(around);
    }

    fn go_on(&mut self, around: &mut Around<'_>) {
        while self.on_the_way.len() < PAGES_AT_A_TIME {
            let operations = &around.core.engine().state.batch_operations;
            let mut queue = self.queue.iter();
            // Cancelling something that creates too much work must not wait behind it.
            let cancellation = queue.position(|key| operations.is_cancellation(*key));
            let Some(key) = self.queue.remove(cancellation.unwrap_or(0)) else {
                return;
            };
            self.ask(key, around);
        }
    }

    fn ask(&mut self, key: Key, around: &mut Around<'_>) {
        let env = around.env;
        let passed_over = self.asked.get(&key).map(|asked| asked.passed_over);
        let passed_over = passed_over.unwrap_or_default();
        let Some((after, search)) = search_for(key, passed_over, around) else {
            self.asked.remove(&key);
            return;
        };
        self.on_the_way.insert(key, around.now);
        let inbox = env.inbox.clone();
        let answer = move |answer| inbox.send(Work::Chosen { key, after, answer });
        let search = match search {
            Ok(search) => search,
            Err(reason) => return answer(Err(QueryError::Unavailable(reason))),
        };
        let query = Query::Search(search);
        match around.secondary.get() {
            Secondary::Open(store) => store.query(query, Consistency::ReadYourWrites, answer),
            Secondary::Off => answer(Err(QueryError::Disabled)),
            Secondary::Broken(reason) if !env.has_others() => {
                answer(Err(QueryError::Unavailable(reason)));
            }
            Secondary::Broken(_) | Secondary::Fetching => {
                env.effect_sink.send(Effect::Query {
                    partition: env.partition(),
                    query,
                    answer: Box::new(answer),
                });
            }
        }
    }

    /// Turns a found page into a command for the engine; `None`: the page is requested again, or is no longer wanted.
    pub fn found(
        &mut self,
        (key, after): (Key, Key),
        answer: QueryResult,
        around: &mut Around<'_>,
    ) -> Option<BatchCommand> {
        let now = around.now;
        self.on_the_way.remove(&key);
        self.go_on(around);
        let tries = self.asked.get(&key).map_or(0, |asked| asked.tries);
        let command = match answer {
            Ok((Answer::Page(found), 0)) => match items_of(key, after, found.rows, around) {
                Items::Add(add) => Some(BatchCommand::Add(add)),
                Items::NotHere(up_to) => {
                    self.ask_again(key, 0, now);
                    self.asked.entry(key).or_default().passed_over = up_to;
                    return None;
                }
                Items::Unwanted => None,
            },
            // The store lacks some of what existed when the operation was created.
            Ok((Answer::Page(_), _)) | Err(QueryError::Busy) => {
                self.ask_again(key, tries, now + PAUSE);
                return None;
            }
            Err(QueryError::Unavailable(_)) if tries < MAX_TRIES => {
                self.ask_again(key, tries + 1, now + PAUSE * 2u32.pow(tries));
                return None;
            }
            Ok((other, _)) => Some(failure(
                key,
                &format!("it gave an unexpected answer: {other:?}"),
            )),
            Err(error) => Some(failure(key, &error.to_string())),
        };
        self.asked.remove(&key);
        command
    }

    /// Lost pages would keep their turns forever.
    fn give_up_lost_pages(&mut self, now: Instant) {
        let is_lost = |since: Instant| now.saturating_duration_since(since) >= LOST;
        let lost = self.on_the_way.iter().filter(|(_, since)| is_lost(**since));
        let lost: Vec<Key> = lost.map(|(key, _)| *key).collect();
        for key in lost {
            self.on_the_way.remove(&key);
            self.ask_again(key, 0, now);
        }
    }

    fn ask_again(&mut self, key: Key, tries: u32, then: Instant) {
        debug_assert!(tries <= MAX_TRIES, "attempts are limited");
        let asked = self.asked.entry(key).or_default();
        (asked.tries, asked.again) = (tries, Some(then));
    }
}

/// The next page of an operation, and the item after which it begins. `None`: there is nothing to search.
fn search_for(
    key: Key,
    passed_over: Key,
    around: &mut Around<'_>,
) -> Option<(Key, Result<Search, String>)> {
    let row = around.core.engine_mut().state.batch_operations.get(key)?;
    if row.phase != BatchPhase::Choosing || row.suspended {
        return None;
    }
    let (kind, filter) = (row.value.kind, &row.value.entity_filter);
    let (after, before) = (row.chosen_up_to, row.before);
    // Where all partitions keep their rows in one place, other partitions' rows are there too.
    let from = after.max(Key::new(around.env.partition(), 0));
    let from = from.max(passed_over);
    let search = selection::items(kind, filter, (from, before), PAGE);
    let value = row.value.clone();
    let search = search.map_err(|error| error.to_string());
    Some((
        after,
        search.and_then(|search| seen_by(&value, search, around)),
    ))
}

/// The permissions of an operation's creator; `None`: authorization is off, or was checked already. Whoever may delete a resource with its
/// history was checked for the right to all of it, and whoever may update an instance need not read it to resolve its incidents.
fn grants_for(value: &BatchOperationCreationValue, around: &mut Around<'_>) -> Option<Arc<Grants>> {
    let is_checked =
        value.follow_up.is_some() || one_instance(value.kind, &value.entity_filter).is_some();
    let is_asked = around.env.config.engine.identity.authorizations && !is_checked;
    let directory = &around.core.engine().state.identity.directory;
    let grants = is_asked.then(|| Grants::of(directory, &value.claims));
    grants.flatten().map(Arc::new)
}

/// Narrows the search to what the operation's creator may read: the rest is not even counted. Instances to be deleted have ended, so no
/// partition knows their resource any more: the right to delete it is checked here as well.
fn seen_by(
    value: &BatchOperationCreationValue,
    mut search: Search,
    around: &mut Around<'_>,
) -> Result<Search, String> {
    let granted = grants_for(value, around);
    let claims = &value.claims;
    let identity = &around.env.config.engine.identity;
    let state = &around.core.engine().state;
    let grants = Grants::of(&state.identity.directory, claims);
    let sight = Sight {
        tenancy: match (&grants, identity.tenant_checks) {
            (Some(grants), true) => Tenancy::Of(grants.tenants().clone()),
            (None, true) => Tenancy::All,
            (_, false) if *claims != Claims::Internal && state.knows_other_tenants() => {
                Tenancy::Of([TenantId::default()].into())
            }
            (_, false) => Tenancy::All,
        },
        grants: granted.clone(),
    };
    let readable = access::narrow(&mut search, &sight).map_err(|error| error.to_string())?;
    let deletable = match granted.filter(|_| value.kind.deletes()) {
        Some(grants) => access::narrow_to_deletable(&mut search, &grants),
        None => Ok(Narrowed::Whole),
    };
    let deletable = deletable.map_err(|error| error.to_string())?;
    if matches!(readable, Narrowed::Nothing) || matches!(deletable, Narrowed::Nothing) {
        search.filter.push(Condition::Field {
            field: 0,
            op: Op::In(Vec::new()),
        });
    }
    Ok(search)
}

/// Outcome of one page of results.
enum Items {
    Add(AddBatchItems),
    /// No item is on this page, and there is more after this key.
    NotHere(Key),
    /// The operation no longer needs items.
    Unwanted,
}

fn items_of(key: Key, after: Key, mut rows: Vec<Row>, around: &mut Around<'_>) -> Items {
    debug_assert!(rows.len() <= PAGE as usize, "a page has an end");
    let row = around.core.engine_mut().state.batch_operations.get(key);
    let Some(value) = row.map(|row| row.value.clone()) else {
        return Items::Unwanted;
    };
    let last = rows.len() < PAGE as usize;
    let end = selection::items_of(value.kind, &rows).pop();
    const ALL: Permission = Permission::of(
        ResourceType::DecisionDefinition,
        PermissionType::DeleteDecisionInstance,
    );
    if grants_for(&value, around).is_some_and(|grants| !grants.allows_any(ALL)) {
        rows.retain(|row| selection::names_its_resource(value.kind, row));
    }
    let items = selection::items_of(value.kind, &rows);
    let resources = if value.asks_for_each() && around.env.config.engine.identity.authorizations {
        // Whoever may delete a definition with its history may delete the instances of each decision in it.
        let with_definition = value.follow_up.is_some();
        selection::resources_of(value.kind, &rows, &items, with_definition)
    } else {
        Vec::new()
    };
    debug_assert!(
        resources.is_empty() || resources.len() == items.len(),
        "each item has the id of its own resource"
    );
    match end {
        Some(end) if items.is_empty() && !last => {
            // The rows of the last item may continue after the page.
            let before = Key(end.key().0 - 1);
            let up_to = if before > after { before } else { end.key() };
            Items::NotHere(up_to)
        }
        _ => Items::Add(AddBatchItems {
            batch_operation_key: key,
            items,
            resources,
            after,
            last,
        }),
    }
}

fn failure(key: Key, why: &str) -> BatchCommand {
    BatchCommand::Fail {
        batch_operation_key: key,
        message: format!("The items cannot be chosen: {why}").into(),
    }
}
