//! `skep incidents`.

use std::time::Duration;

use anyhow::bail;
use clap::Args;
use serde_json::Value;

use super::table;

#[derive(Args)]
pub struct IncidentsArgs {
    /// How many to show, oldest first.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Print JSON, with all fields.
    #[arg(long)]
    json: bool,
    /// Address of the server's management port.
    #[arg(
        long,
        env = "SKEP_MANAGEMENT_ADDRESS",
        default_value = "http://localhost:9600",
        value_name = "URL"
    )]
    management: String,
}

pub async fn run(args: IncidentsArgs) -> anyhow::Result<()> {
    let path = format!("/actuator/incidents?limit={}", args.limit);
    let (status, body) =
        super::fetch::get(&args.management, &path, Duration::from_secs(15)).await?;
    if !status.is_success() {
        bail!("{status}: {}", String::from_utf8_lossy(&body));
    }
    let answer: Value = serde_json::from_slice(&body)?;
    if args.json {
        return super::print(&format!("{answer:#}\n"));
    }
    super::print(&text(&answer))
}

fn text(answer: &Value) -> String {
    let items = answer["items"].as_array().map_or(&[][..], Vec::as_slice);
    let Some(first) = items.first() else {
        return "No open incidents.\n".to_string();
    };
    let columns = [
        "incidentKey",
        "errorType",
        "processDefinitionId",
        "elementId",
        "processInstanceKey",
        "jobKey",
    ];
    let mut rows =
        vec![["INCIDENT", "TYPE", "PROCESS", "ELEMENT", "INSTANCE", "JOB"].map(String::from)];
    rows.extend(
        items
            .iter()
            .map(|item| columns.map(|name| item[name].as_str().unwrap_or("-").to_string())),
    );
    let mut text = table(&rows);
    for item in items {
        let word = |name: &str| item[name].as_str().unwrap_or("-");
        text.push_str(&format!(
            "\n{}: {}\n",
            word("incidentKey"),
            word("errorMessage")
        ));
    }
    if answer["hasMore"] == true {
        text.push_str("\nThere are more: see --limit.\n");
    }
    let key = first["incidentKey"].as_str().unwrap_or("KEY");
    text.push_str("\n`skep explain TYPE` says what a type means.");
    text.push_str(
        "\nMend the cause (set variables, or update the job's retries), then for instance:\n",
    );
    text.push_str(&format!(
        "  curl -X POST http://localhost:8080/v2/incidents/{key}/resolution\n"
    ));
    text
}
