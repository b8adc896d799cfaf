//! `skep start`.

pub mod end;

use std::time::Duration;

use clap::Args;
use serde_json::Value;
use serde_json::value::RawValue;
use skep_client::{Client, Code, CreateInstance, Error, Instance, ProcessRef, RetryPolicy};

use crate::args::ServerArgs;
use crate::cli::given::VariableArgs;
use crate::cli::near::nearest;
use crate::cli::rest::Body;
use crate::cli::search::items;
use crate::cli::{Usage, fetch};

/// Maximum time spent looking for a similar process id.
const MEANT: Duration = Duration::from_secs(2);

#[derive(Args)]
pub struct StartArgs {
    /// BPMN process id, or key of a process definition.
    process: String,
    #[command(flatten)]
    variables: VariableArgs,
    /// Tenant that owns the process.
    #[arg(long, value_name = "TENANT")]
    tenant: Option<String>,
    /// Version of the process; the latest if none is given.
    #[arg(long)]
    version: Option<i32>,
    /// Wait for the end of the instance and print its variables.
    #[arg(long)]
    r#await: bool,
    /// Print JSON: the keys of the instance and, with --await, its variables.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerArgs,
}

pub async fn run(args: StartArgs) -> anyhow::Result<()> {
    let mut request = create(&args)?;
    if let Some(variables) = args.variables.json()? {
        request = request.variables(variables.get());
    }
    request.tenant_id = args.tenant.clone();
    let watched = match args.server.rest_address() {
        Some(address) if args.r#await && end::is_visible(address).await => Some(address),
        _ => None,
    };
    let client = args.server.client().await?;
    let (instance, variables) = match create_instance(&args, &client, &request, watched).await {
        Ok(created) => created,
        Err(error) => {
            if let Some(advice) = meant(&args, &error).await {
                complain!("{advice}");
            }
            if args.r#await && error.code() == Some(Code::DeadlineExceeded) {
                complain!(
                    "If it was started, it keeps running. Its key is unknown: it is shown immediately only with REST and secondary storage."
                );
            }
            return Err(error.into());
        }
    };
    let key = instance.process_instance_key;
    let what = if variables.is_some() {
        "Completed"
    } else {
        "Started"
    };
    complain!(
        "{what} instance {key} of {}, version {}.",
        instance.process_id,
        instance.version
    );
    let variables = match (variables, watched) {
        (None, Some(address)) => match end::of(address, key, args.server.timeout()).await {
            Ok(variables) => Some(variables),
            Err(error) => {
                // The instance keeps running; a script needs its key.
                if args.json {
                    crate::cli::print(&format!("{}\n", json(&instance, None)?))?;
                }
                return Err(error);
            }
        },
        (variables, _) => variables,
    };
    crate::cli::print(&match (args.json, variables) {
        (true, variables) => format!("{}\n", json(&instance, variables)?),
        (false, Some(variables)) => format!("{variables}\n"),
        (false, None) => format!("{key}\n"),
    })
}

/// The instance as JSON; its variables stay as they are stored.
fn json(instance: &Instance, variables: Option<String>) -> anyhow::Result<String> {
    let variables = variables.map(RawValue::from_string).transpose()?;
    Body::default()
        .with(
            "processInstanceKey",
            instance.process_instance_key.to_string(),
        )
        .with(
            "processDefinitionKey",
            instance.process_definition_key.to_string(),
        )
        .with("processDefinitionId", &instance.process_id)
        .with("processDefinitionVersion", instance.version)
        .with("tenantId", &instance.tenant_id)
        .with_some("variables", variables)
        .text()
}

/// Creates the instance. Awaits its variables in the same request only if its end cannot be observed otherwise.
async fn create_instance(
    args: &StartArgs,
    client: &Client,
    request: &CreateInstance,
    watched: Option<&str>,
) -> Result<(Instance, Option<String>), Error> {
    // A server that is at its limit or has just started accepts the request after a retry.
    let retry = RetryPolicy::default();
    if args.r#await && watched.is_none() {
        let timeout = args.server.timeout();
        let create = || client.create_instance_with_result(request, timeout, &[]);
        let created = retry.run(create).await;
        created.map(|result| (result.instance, Some(result.variables)))
    } else {
        let created = retry.run(|| client.create_instance(request)).await;
        created.map(|instance| (instance, None))
    }
}

/// Advice by the process with the same id or a similar one, as far as the server can be asked.
async fn meant(args: &StartArgs, error: &Error) -> Option<String> {
    let address = args.server.rest_address()?;
    if error.code() != Some(Code::NotFound) || args.process.parse::<i64>().is_ok() {
        return None;
    }
    let body = r#"{"filter": {"isLatestVersion": true}, "page": {"limit": 1000}}"#;
    let path = "/v2/process-definitions/search";
    let answer = fetch::post(address, path, body.to_string(), MEANT).await;
    let found: Value = serde_json::from_slice(&answer.ok()?.1).ok()?;
    let ids = items(&found).filter_map(|item| item["processDefinitionId"].as_str());
    Some(match nearest(&args.process, ids)? {
        same if same == args.process => {
            format!("`skep processes {same}` lists the versions and tenants that it has.")
        }
        near => format!("Did you mean '{near}'?"),
    })
}

fn create(args: &StartArgs) -> Result<CreateInstance, Usage> {
    match (args.process.parse(), args.version) {
        (Ok(key), None) => Ok(CreateInstance::by_key(key)),
        (Ok(_), Some(_)) => Err(Usage(
            "--version requires a process id; a key already has a version".into(),
        )),
        (Err(_), version) => {
            let mut request = CreateInstance::latest(args.process.clone());
            request.process = ProcessRef::Id {
                id: args.process.clone(),
                version,
            };
            Ok(request)
        }
    }
}
