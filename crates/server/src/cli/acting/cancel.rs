//! `skep cancel`: ends process instances before they complete.

use clap::Args;
use serde_json::json;

use crate::cli::rest::{Body, RestArgs};
use crate::cli::{given, keys};

#[derive(Args)]
pub struct CancelArgs {
    /// Keys of process instances.
    #[arg(required = true, value_name = "INSTANCE", value_parser = given::key)]
    instances: Vec<i64>,
    #[command(flatten)]
    rest: RestArgs,
}

pub async fn run(args: CancelArgs) -> anyhow::Result<()> {
    let rest = &args.rest;
    for key in args.instances {
        let path = format!("process-instances/{key}/cancellation");
        if let Err(error) = rest.post(&path, Body::default()).await {
            return Err(keys::explain(rest, key, &["a process instance"], error).await);
        }
        let done = json!({"cancelled": {"processInstanceKey": key.to_string()}});
        rest.say(&format!("Cancelled process instance {key}."), &done)?;
    }
    Ok(())
}
