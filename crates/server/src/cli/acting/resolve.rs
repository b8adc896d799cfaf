//! `skep resolve`: resolves incidents whose cause has been fixed.

use clap::Args;
use http::Method;
use serde_json::{Value, json};

use crate::cli::rest::{Body, RestArgs};
use crate::cli::search::word;
use crate::cli::{given, keys};
use crate::errors::{Coded, code_of};

#[derive(Args)]
pub struct ResolveArgs {
    /// Keys of incidents; `skep incidents` lists them.
    #[arg(required = true, value_name = "INCIDENT", value_parser = given::key)]
    incidents: Vec<i64>,
    /// Number of retries to give the job of the incident first.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    retries: Option<u32>,
    #[command(flatten)]
    rest: RestArgs,
}

pub async fn run(args: ResolveArgs) -> anyhow::Result<()> {
    let rest = &args.rest;
    for key in args.incidents {
        if let Err(error) = resolve(rest, key, args.retries).await {
            return Err(keys::explain(rest, key, &["an incident"], error).await);
        }
        let done = json!({"resolved": {"incidentKey": key.to_string()}});
        rest.say(&format!("Resolved incident {key}."), &done)?;
    }
    Ok(())
}

async fn resolve(rest: &RestArgs, key: i64, retries: Option<u32>) -> anyhow::Result<()> {
    if let Some(retries) = retries {
        let incident = rest.get(&format!("incidents/{key}")).await?;
        if incident.get("jobKey").is_none_or(Value::is_null) {
            let text = format!(
                "incident {key} ({}) does not belong to a job: omit --retries",
                word(&incident, "errorType")
            );
            return Err(Coded::new("INVALID_ARGUMENT", text).into());
        }
        let job = format!("jobs/{}", word(&incident, "jobKey"));
        let changes = Body::default().with("changeset", json!({"retries": retries}));
        rest.send(Method::PATCH, &job, changes).await?;
    }
    let path = format!("incidents/{key}/resolution");
    match rest.post(&path, Body::default()).await {
        Err(error) if retries.is_none() && error.to_string().contains("no retries left") => {
            let text = format!("{error:#}\nGive it some with --retries N.");
            Err(Coded::new(code_of(&error), text).into())
        }
        result => result.map(drop),
    }
}
