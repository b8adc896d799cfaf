//! When the timers of start events fire next. An addition of our own.

use serde_json::{Value as Json, json};
use skep_protocol::Key;
use skep_query::entities::{PROCESS_DEFINITION, START_TIMER};
use skep_query::{Answer, Query, Search, Sort, Value, render_time};

use super::statistics::is;
use super::{Ask, unexpected};
use crate::rest::problem::Problem;

/// Start events with timers that an answer has.
const MAX: u32 = 100;

const DEFINITION: usize = START_TIMER.column("processDefinitionKey");
const OPEN: usize = START_TIMER.column("isOpen");
const ELEMENT: usize = START_TIMER.column("elementId");
const DUE: usize = START_TIMER.column("dueDate");
const LEFT: usize = START_TIMER.column("repetitions");

impl Ask<'_> {
    pub(super) async fn start_timers(&mut self, definition: Key) -> Result<String, Problem> {
        self.one(&PROCESS_DEFINITION, definition).await?;
        let filter = vec![
            is(DEFINITION, Value::Int(definition.0)),
            is(OPEN, Value::from(true)),
        ];
        let mut search = Search::all(&START_TIMER, filter, MAX);
        search.sort = vec![Sort {
            field: DUE,
            descending: false,
        }];
        // They belong to the definition, which the caller may read.
        let found = match self.whole_answer(Query::Search(search)).await? {
            Answer::Page(found) => found.rows,
            other => return Err(unexpected(&other)),
        };
        let items = found.iter().map(|row| {
            let number = |at: usize| row.get(at).and_then(Value::as_int);
            json!({
                "elementId": row.get(ELEMENT).and_then(Value::as_text),
                "dueDate": number(DUE).map(render_time),
                // -1 stands for no limit.
                "repetitions": number(LEFT).filter(|left| *left >= 0),
            })
        });
        Ok(json!({ "items": items.collect::<Vec<Json>>() }).to_string())
    }
}
