//! `skep start`.

use clap::Args;
use skep_client::{CreateInstance, ProcessRef, RetryPolicy};

use super::Usage;
use crate::args::ServerArgs;

#[derive(Args)]
pub struct StartArgs {
    /// BPMN process id, or key of a process definition.
    process: String,
    /// Variables: a JSON object.
    #[arg(long, value_name = "JSON")]
    variables: Option<String>,
    /// Version of the process; the latest when none is given.
    #[arg(long)]
    version: Option<i32>,
    /// Wait for the end of the instance and print its variables.
    #[arg(long)]
    r#await: bool,
    #[command(flatten)]
    server: ServerArgs,
}

pub async fn run(args: StartArgs) -> anyhow::Result<()> {
    let mut request = create(&args)?;
    if let Some(variables) = &args.variables {
        let parsed: serde_json::Value = serde_json::from_str(variables)
            .map_err(|e| Usage(format!("--variables is not JSON: {e}")))?;
        if !parsed.is_object() {
            return Err(
                Usage("--variables must be a JSON object, as in '{\"a\": 1}'".into()).into(),
            );
        }
        request = request.variables(variables.clone());
    }
    let client = args.server.client()?;
    // A server at its limit, or one that has just started, takes the request a moment later.
    let retry = RetryPolicy::default();
    let timeout = args.server.timeout();
    let (instance, variables) = if args.r#await {
        let create = || client.create_instance_with_result(&request, timeout, &[]);
        let result = retry.run(create).await?;
        (result.instance, Some(result.variables))
    } else {
        let instance = retry.run(|| client.create_instance(&request)).await?;
        (instance, None)
    };
    let what = if variables.is_some() {
        "Completed"
    } else {
        "Started"
    };
    eprintln!(
        "{what} instance {} of {}, version {}.",
        instance.process_instance_key, instance.process_id, instance.version
    );
    match variables {
        Some(variables) => super::print(&format!("{variables}\n")),
        None => super::print(&format!("{}\n", instance.process_instance_key)),
    }
}

fn create(args: &StartArgs) -> Result<CreateInstance, Usage> {
    match (args.process.parse(), args.version) {
        (Ok(key), None) => Ok(CreateInstance::by_key(key)),
        (Ok(_), Some(_)) => Err(Usage(
            "--version goes with a process id; a key has its version".into(),
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
