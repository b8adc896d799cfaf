//! `skep instances`: process instances as a table.

use clap::Args;
use serde_json::{Map, Value, json};

use super::search::{SearchArgs, total, word};
use super::table;

#[derive(Args)]
pub struct InstancesArgs {
    /// Only instances of this process (BPMN process id).
    #[arg(long, value_name = "ID")]
    process: Option<String>,
    /// Only instances in this state.
    #[arg(long, value_parser = ["active", "completed", "terminated"])]
    state: Option<String>,
    /// Only instances that have an open incident.
    #[arg(long)]
    incidents: bool,
    #[command(flatten)]
    search: SearchArgs,
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
    let search = args.search.find("process-instances", filter.into(), sort);
    let answer = search.await?;
    if args.search.json {
        return super::print(&format!("{answer:#}\n"));
    }
    super::print(&text(&answer))
}

fn text(answer: &Value) -> String {
    let items = answer["items"].as_array().map_or(&[][..], Vec::as_slice);
    if items.is_empty() {
        return "No process instances.\n".to_string();
    }
    let mut rows = vec![
        [
            "INSTANCE", "PROCESS", "VERSION", "STATE", "STARTED", "ENDED",
        ]
        .map(String::from),
    ];
    for item in items {
        let state = match item["hasIncident"].as_bool() {
            Some(true) => "INCIDENT".to_string(),
            _ => word(item, "state"),
        };
        rows.push([
            word(item, "processInstanceKey"),
            word(item, "processDefinitionId"),
            word(item, "processDefinitionVersion"),
            state,
            word(item, "startDate"),
            word(item, "endDate"),
        ]);
    }
    let mut text = table(&rows);
    let total = total(answer);
    if total > items.len() as u64 {
        let more = match answer.pointer("/page/hasMoreTotalItems") {
            Some(Value::Bool(true)) => "more than ",
            _ => "",
        };
        text.push_str(&format!(
            "\n{} of {more}{total}; see --limit.\n",
            items.len()
        ));
    }
    text.push_str("\nWhat one of them did and waits for: skep instance INSTANCE\n");
    text
}
