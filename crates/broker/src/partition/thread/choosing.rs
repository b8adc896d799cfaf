//! The items of batch operations: the engine cannot search, so that secondary storage is asked, page by page, and gives what it
//! found back as commands.

use std::collections::HashMap;

use skep_protocol::command::{AddBatchItems, BatchCommand};
use skep_query::{Answer, Consistency, Query, QueryError, Search, selection};

use super::*;

/// Items that are asked for at a time.
const PAGE: u32 = 1_000;
/// A store that lacks what was committed, or has too much to do, is asked again after this.
const PAUSE: Duration = Duration::from_secs(1);
/// So often a store that fails is asked again, each time after twice as long.
const MAX_TRIES: u32 = 5;

/// Operations whose items are being looked for.
#[derive(Debug, Default)]
pub struct Choosing {
    asked: HashMap<Key, PendingChoice>,
}

#[derive(Debug, Default)]
struct PendingChoice {
    /// Failed ones.
    tries: u32,
    /// When to ask again; `None` while a question is on its way.
    again: Option<Instant>,
    /// Not before this entry of the log is committed.
    committed: u64,
}

impl Partition {
    /// These operations are committed: what was there before them can be found.
    pub(super) fn choose_items(&mut self, operations: Vec<Key>) {
        for key in operations {
            let asked = self.choosing.asked.get(&key);
            if asked.is_none_or(|asked| asked.again.is_some()) {
                self.ask_for_items(key);
            }
        }
    }

    /// Asks for the items of operations that nobody looks for: after a start, or because the time has come to try again.
    pub(super) fn look_after_choosing(&mut self) {
        let (now, written) = (Instant::now(), self.core.group().last_index());
        let to_choose: Vec<Key> = self
            .core
            .engine()
            .state
            .batch_operations
            .to_choose()
            .collect();
        let asked = &mut self.choosing.asked;
        // One that was made in this moment may not be committed, and what was there before it neither.
        for key in &to_choose {
            asked.entry(*key).or_insert(PendingChoice {
                tries: 0,
                again: Some(now),
                committed: written,
            });
        }
        let applied = self.core.applied();
        let is_due = |asked: &PendingChoice| {
            asked.again.is_some_and(|again| again <= now) && asked.committed <= applied
        };
        let due = to_choose.into_iter();
        let keys: Vec<Key> = due
            .filter(|key| asked.get(key).is_some_and(is_due))
            .collect();
        for key in keys {
            self.ask_for_items(key);
        }
    }

    fn ask_for_items(&mut self, key: Key) {
        let Some((after, search)) = self.search_for(key) else {
            self.choosing.asked.remove(&key);
            return;
        };
        self.choosing.asked.entry(key).or_default().again = None;
        let inbox = self.own_inbox.clone();
        let answer = move |answer| inbox.send(Work::Chosen { key, after, answer });
        let search = match search {
            Ok(search) => search,
            Err(reason) => return answer(Err(QueryError::Unavailable(reason))),
        };
        let query = Query::Search(search);
        match self.secondary.get() {
            Secondary::Open(store) => store.query(query, Consistency::ReadYourWrites, answer),
            Secondary::Off => answer(Err(QueryError::Disabled)),
            Secondary::Broken(reason) if self.config.cluster.is_none() => {
                answer(Err(QueryError::Unavailable(reason)));
            }
            Secondary::Broken(_) | Secondary::Fetching => {
                let partition = self.status.partition;
                self.effect_sink
                    .clone()
                    .query(partition, query, Box::new(answer));
            }
        }
    }

    /// The next page of an operation, and behind which item it begins. `None`: nothing is to be looked for.
    fn search_for(&mut self, key: Key) -> Option<(Key, Result<Search, String>)> {
        let row = self.core.engine_mut().state.batch_operations.get(key)?;
        if row.phase != BatchPhase::Choosing || row.suspended {
            return None;
        }
        let (kind, filter) = (row.value.kind, &row.value.entity_filter);
        let (after, before) = (row.chosen_up_to, row.before);
        // Where all partitions keep their rows in one place, those of others are there as well.
        let from = after.max(Key::new(self.engine_config.partition, 0));
        let search = selection::items(kind, filter, (from, before), PAGE);
        Some((after, search.map_err(|error| error.to_string())))
    }

    /// Gives the engine what was found.
    pub(super) fn chosen(
        &mut self,
        key: Key,
        after: Key,
        answer: QueryResult,
    ) -> Result<(), CoreError> {
        self.work.accepted(Context::Internal);
        let done = matches!(&answer, Ok((Answer::Found(_), _)));
        self.work.batches.queried(key, done);
        let tries = self.choosing.asked.get(&key).map_or(0, |asked| asked.tries);
        let command = match answer {
            Ok((Answer::Found(found), 0)) => self.items_of(key, after, &found.rows),
            // It lacks some of what was there when the operation was made.
            Ok((Answer::Found(_), _)) | Err(QueryError::Busy) => {
                self.ask_again(key, tries, PAUSE);
                return Ok(());
            }
            Err(QueryError::Unavailable(_)) if tries < MAX_TRIES => {
                self.ask_again(key, tries + 1, PAUSE * 2u32.pow(tries));
                return Ok(());
            }
            Ok((other, _)) => Some(failure(key, &format!("it gave another answer: {other:?}"))),
            Err(error) => Some(failure(key, &error.to_string())),
        };
        self.choosing.asked.remove(&key);
        let Some(command) = command else {
            return Ok(());
        };
        let request = Request {
            batch_operation_reference: key,
            ..Command::Batch(command).into()
        };
        let now = self.clock.now();
        self.guarded(None, |core, streams| {
            core.process(now, None, &request, streams);
        })?;
        // There may be more.
        self.ask_for_items(key);
        Ok(())
    }

    fn items_of(&mut self, key: Key, after: Key, rows: &[skep_query::Row]) -> Option<BatchCommand> {
        debug_assert!(rows.len() <= PAGE as usize, "a page has an end");
        let row = self.core.engine_mut().state.batch_operations.get(key)?;
        let kind = row.value.kind;
        Some(BatchCommand::Add(AddBatchItems {
            batch_operation_key: key,
            items: selection::items_of(kind, rows),
            after,
            last: rows.len() < PAGE as usize,
        }))
    }

    fn ask_again(&mut self, key: Key, tries: u32, after: Duration) {
        debug_assert!(tries <= MAX_TRIES, "who fails for long has failed");
        let asked = self.choosing.asked.entry(key).or_default();
        (asked.tries, asked.again) = (tries, Some(Instant::now() + after));
    }
}

fn failure(key: Key, why: &str) -> BatchCommand {
    BatchCommand::Fail {
        batch_operation_key: key,
        message: format!("The items cannot be chosen: {why}").into(),
    }
}
