//! `skep jobs`: open jobs as a table.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::cli::fitting::fitted;
use crate::cli::list::{ListArgs, Search};
use crate::cli::search::{items, more, none, time, word};

#[derive(Args)]
pub struct JobsArgs {
    /// Only jobs of this type.
    #[arg(long = "type", value_name = "TYPE")]
    job_type: Option<String>,
    /// Only jobs last activated by this worker.
    #[arg(long, value_name = "NAME")]
    worker: Option<String>,
    /// Include ended ones.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    list: ListArgs,
}

pub async fn run(args: JobsArgs) -> anyhow::Result<()> {
    let mut filter = Map::new();
    if let Some(job_type) = &args.job_type {
        filter.insert("type".into(), json!(job_type));
    }
    if let Some(worker) = &args.worker {
        filter.insert("worker".into(), json!(worker));
    }
    if !args.all {
        filter.insert("endTime".into(), json!({"$exists": false}));
    }
    let sort = json!([{"field": "jobKey"}]);
    let search = Search {
        what: "jobs",
        filter,
        sort,
        began: "creationTime",
    };
    args.list.show(search, text).await
}

fn text(answer: &Value) -> String {
    let mut rows = vec![
        [
            "JOB", "TYPE", "STATE", "RETRIES", "WORKER", "DEADLINE", "ELEMENT", "INSTANCE",
        ]
        .map(String::from),
    ];
    let columns = [
        "jobKey",
        "type",
        "state",
        "retries",
        "worker",
        "deadline",
        "elementId",
        "processInstanceKey",
    ];
    rows.extend(items(answer).map(|job| {
        columns.map(|name| match name {
            "deadline" => time(job, name),
            _ => match word(job, name) {
                empty if empty.is_empty() => "-".to_string(),
                text => text,
            },
        })
    }));
    if rows.len() == 1 {
        return none("jobs");
    }
    // Type, worker and element.
    let mut text = fitted(&rows, &[1, 4, 6]);
    text.push_str(&more(answer));
    text
}
