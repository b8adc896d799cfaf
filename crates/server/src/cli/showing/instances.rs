//! `skep instances`: process instances as a table.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::cli::list::{ListArgs, Search};
use crate::cli::search::{items, more, none, time, word};
use crate::cli::table;

#[derive(Args)]
pub struct InstancesArgs {
    /// Only instances of this process (BPMN process id).
    #[arg(long, value_name = "ID")]
    process: Option<String>,
    /// Only instances in this state.
    #[arg(long, value_parser = ["active", "completed", "terminated"])]
    state: Option<String>,
    /// Only instances with an open incident.
    #[arg(long)]
    incidents: bool,
    #[command(flatten)]
    list: ListArgs,
}

pub async fn run(args: InstancesArgs) -> anyhow::Result<()> {
    let mut filter = Map::new();
    if let Some(process) = &args.process {
        filter.insert("processDefinitionId".into(), json!(process));
    }
    if let Some(state) = &args.state {
        filter.insert("state".into(), json!(state.to_uppercase()));
    }
    if args.incidents {
        filter.insert("hasIncident".into(), json!(true));
    }
    let sort = json!([{"field": "startDate", "order": "DESC"}]);
    let search = Search {
        what: "process-instances",
        filter,
        sort,
        began: "startDate",
    };
    args.list.show(search, text).await
}

fn text(answer: &Value) -> String {
    if items(answer).next().is_none() {
        return none("process instances");
    }
    let mut rows = vec![
        [
            "INSTANCE", "PROCESS", "VERSION", "STATE", "STARTED", "ENDED",
        ]
        .map(String::from),
    ];
    for item in items(answer) {
        let state = match item["hasIncident"].as_bool() {
            Some(true) => "INCIDENT".to_string(),
            _ => word(item, "state"),
        };
        rows.push([
            word(item, "processInstanceKey"),
            word(item, "processDefinitionId"),
            word(item, "processDefinitionVersion"),
            state,
            time(item, "startDate"),
            time(item, "endDate"),
        ]);
    }
    let mut text = table(&rows);
    text.push_str(&more(answer));
    text.push_str("\nDetails of one of them: skep instance INSTANCE\n");
    text
}
