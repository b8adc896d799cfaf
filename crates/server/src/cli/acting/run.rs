//! `skep run FILE`: deploys a file, starts an instance, and follows it until it ends or is stuck.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::value::RawValue;
use skep_client::{CreateInstance, Deployed, RetryPolicy};

use crate::cli::follow::{End, Until, follow};
use crate::cli::given::{self, VariableArgs};
use crate::cli::rest::{Body, RestArgs};
use crate::cli::{Usage, deploy, start};
use crate::errors::{Coded, known};

#[derive(Args)]
pub struct RunArgs {
    /// BPMN files and the resources that they need, or directories with them; the first process in the first file is started.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// BPMN process id of the process to start instead.
    #[arg(long, value_name = "PROCESS")]
    process: Option<String>,
    /// Tenant of the deployment and the instance.
    #[arg(long, value_name = "TENANT")]
    tenant: Option<String>,
    #[command(flatten)]
    variables: VariableArgs,
    /// Maximum time without progress while no worker has its job.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = given::time)]
    patience: Duration,
    /// Maximum time to follow the instance.
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = given::time)]
    timeout: Duration,
    #[command(flatten)]
    rest: RestArgs,
}

pub async fn run(args: RunArgs) -> anyhow::Result<()> {
    let rest = &args.rest;
    let variables = args.variables.json()?;
    let resources = deploy::resources(&args.files)?;
    let client = rest.client().await?;
    let deployment = deploy::deploy(&client, &resources, args.tenant.as_deref()).await?;
    let (id, version, definition) = chosen(&deployment.items, args.process.as_deref())?;
    complain!("Deployed process {id}, version {version}.");
    let mut request = CreateInstance::by_key(definition);
    request.variables = variables.map(|variables| variables.get().to_string());
    request.tenant_id = args.tenant.clone();
    let started = RetryPolicy::default()
        .run(|| client.create_instance(&request))
        .await?;
    let key = started.process_instance_key;
    complain!("Started instance {key}.");
    let until = Until {
        patience: Some(args.patience),
        timeout: Some(args.timeout),
    };
    let end = follow(rest, key, &until).await?;
    ended(rest, key, end).await
}

/// Id, version and key of the process to start.
fn chosen<'a>(items: &'a [Deployed], wanted: Option<&str>) -> anyhow::Result<(&'a str, i32, i64)> {
    let mut processes = items.iter().filter_map(|item| match item {
        Deployed::Process {
            id, version, key, ..
        } => Some((id.as_str(), *version, *key)),
        _ => None,
    });
    let found = processes
        .clone()
        .find(|(id, ..)| wanted.is_none_or(|wanted| wanted == *id));
    found.ok_or_else(|| {
        let ids: Vec<&str> = processes.by_ref().map(|(id, ..)| id).collect();
        let why = match (wanted, ids.is_empty()) {
            (_, true) => "the deployment has no process".to_string(),
            (wanted, false) => format!(
                "the deployment has no process '{}', only: {}",
                wanted.unwrap_or_default(),
                ids.join(", ")
            ),
        };
        Usage(why).into()
    })
}

/// Prints the result, or why there is none.
pub async fn ended(rest: &RestArgs, key: i64, end: End) -> anyhow::Result<()> {
    let (code, text) = match end {
        End::Completed => {
            let variables = start::end::variables(&rest.address, key).await?;
            complain!("Completed.");
            if !rest.json {
                return crate::cli::print(&format!("{variables}\n"));
            }
            let whole = Body::default()
                .with("processInstanceKey", key.to_string())
                .with("state", "COMPLETED")
                .with("variables", RawValue::from_string(variables)?);
            return crate::cli::print(&format!("{}\n", whole.text()?));
        }
        End::Terminated => (
            "NOT_FOUND",
            "it was terminated: it has no result".to_string(),
        ),
        End::Incident(kind, waits) => (
            known(&kind).unwrap_or("UNKNOWN"),
            format!("it is stuck.{waits}"),
        ),
        End::Waits(waits) => ("DEADLINE_EXCEEDED", format!("it makes no progress.{waits}")),
        End::Late(waits) => (
            "DEADLINE_EXCEEDED",
            format!("it has not ended yet and keeps running; --timeout waits longer.{waits}"),
        ),
    };
    let text = format!("process instance {key}: {}", text.trim_end());
    Err(Coded::new(code, text).into())
}
