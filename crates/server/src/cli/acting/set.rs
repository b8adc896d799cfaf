//! `skep set`: sets variables of a process instance or of one of its elements.

use clap::Args;
use http::Method;
use serde_json::json;

use crate::cli::given::VariableArgs;
use crate::cli::rest::{Body, RestArgs};
use crate::cli::{Usage, given, keys};

#[derive(Args)]
pub struct SetArgs {
    /// Key of a process instance, or of an element instance.
    #[arg(value_name = "KEY", value_parser = given::key)]
    key: i64,
    #[command(flatten)]
    variables: VariableArgs,
    /// Set the variables in this scope only; without it, each is set in the nearest scope that has it.
    #[arg(long)]
    local: bool,
    #[command(flatten)]
    rest: RestArgs,
}

pub async fn run(args: SetArgs) -> anyhow::Result<()> {
    let (rest, key) = (&args.rest, args.key);
    let Some(variables) = args.variables.json()? else {
        return Err(
            Usage("nothing to set: give --var NAME=VALUE or --variables JSON".into()).into(),
        );
    };
    let body = Body::default()
        .with("variables", variables)
        .with("local", args.local);
    let path = format!("element-instances/{key}/variables");
    if let Err(error) = rest.send(Method::PUT, &path, body).await {
        let wanted = &["a process instance", "an element instance"];
        return Err(keys::explain(rest, key, wanted, error).await);
    }
    let done = json!({"set": {"elementInstanceKey": key.to_string()}});
    rest.say(&format!("Set the variables of {key}."), &done)
}
