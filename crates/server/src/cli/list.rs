//! Shared by the commands that print a list or watch a page: `--since` and `--watch`.

use std::io::IsTerminal;
use std::time::Duration;

use clap::Args;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::given;
use super::search::SearchArgs;

/// Interval between two searches of `--watch`.
const PAUSE: Duration = Duration::from_secs(2);
/// Moves the cursor home and clears the screen: a terminal shows the new page in place of the old one.
const CLEAR: &str = "\x1b[H\x1b[2J";

#[derive(Args)]
pub struct ListArgs {
    /// Only items that started within this time, as in 30m, 2h or 7d.
    #[arg(long, value_name = "TIME", value_parser = given::time)]
    since: Option<Duration>,
    /// Repeat every two seconds, until interrupted.
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    search: SearchArgs,
}

/// A search for a list of items.
pub struct Search {
    /// As in `/v2/jobs/search`.
    pub what: &'static str,
    pub filter: Map<String, Value>,
    pub sort: Value,
    /// The field with an item's start time.
    pub began: &'static str,
}

impl ListArgs {
    pub fn search(&self) -> &SearchArgs {
        &self.search
    }

    /// Searches, and prints the result.
    pub async fn show(
        &self,
        mut search: Search,
        text: impl Fn(&Value) -> String,
    ) -> anyhow::Result<()> {
        self.again(
            async || {
                if let Some(since) = self.since {
                    let since = Timestamp::now() - jiff::SignedDuration::try_from(since)?;
                    let since = json!({"$gte": since.to_string()});
                    search.filter.insert(search.began.into(), since);
                }
                let filter = search.filter.clone().into();
                let found = self.search.find(search.what, filter, search.sort.clone());
                found.await
            },
            text,
        )
        .await
    }

    /// Prints the result; with `--watch`, whenever it has changed.
    pub async fn again(
        &self,
        mut find: impl AsyncFnMut() -> anyhow::Result<Value>,
        text: impl Fn(&Value) -> String,
    ) -> anyhow::Result<()> {
        again(self.watch, async || {
            let found = find().await?;
            Ok(if self.search.rest.json {
                format!("{found:#}\n")
            } else {
                text(&found)
            })
        })
        .await
    }
}

/// Prints a page; with `watch`, whenever it has changed, until the command is interrupted.
pub async fn again(
    watch: bool,
    mut page: impl AsyncFnMut() -> anyhow::Result<String>,
) -> anyhow::Result<()> {
    let mut shown = None;
    loop {
        let page = page().await?;
        if shown.as_ref() != Some(&page) {
            let clear = watch && std::io::stdout().is_terminal();
            super::print(&format!("{}{page}", if clear { CLEAR } else { "" }))?;
            shown = Some(page);
        }
        if !watch {
            return Ok(());
        }
        tokio::time::sleep(PAUSE).await;
    }
}
