//! `skep tasks`: open user tasks as a table.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::cli::fitting::fitted;
use crate::cli::list::{ListArgs, Search};
use crate::cli::search::{items, more, none, time, word};

#[derive(Args)]
pub struct TasksArgs {
    /// Only tasks assigned to this user.
    #[arg(long, value_name = "USER")]
    assignee: Option<String>,
    /// Only tasks with this candidate group.
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// Include ended ones.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    list: ListArgs,
}

pub async fn run(args: TasksArgs) -> anyhow::Result<()> {
    let mut filter = Map::new();
    if let Some(assignee) = &args.assignee {
        filter.insert("assignee".into(), json!(assignee));
    }
    if let Some(group) = &args.group {
        filter.insert("candidateGroup".into(), json!(group));
    }
    if !args.all {
        let open = ["CREATING", "CREATED", "ASSIGNING", "UPDATING", "COMPLETING"];
        filter.insert("state".into(), json!({"$in": open}));
    }
    let sort = json!([{"field": "creationDate"}]);
    let search = Search {
        what: "user-tasks",
        filter,
        sort,
        began: "creationDate",
    };
    args.list.show(search, text).await
}

fn text(answer: &Value) -> String {
    if items(answer).next().is_none() {
        return none("user tasks");
    }
    let columns = [
        "userTaskKey",
        "elementId",
        "processDefinitionId",
        "processInstanceKey",
        "state",
        "assignee",
        "dueDate",
    ];
    let mut rows = vec![
        [
            "TASK", "ELEMENT", "PROCESS", "INSTANCE", "STATE", "ASSIGNEE", "DUE",
        ]
        .map(String::from),
    ];
    rows.extend(items(answer).map(|task| {
        columns.map(|name| match name {
            "dueDate" => time(task, name),
            _ => word(task, name),
        })
    }));
    // Element, process and assignee.
    format!("{}{}", fitted(&rows, &[1, 2, 5]), more(answer))
}
