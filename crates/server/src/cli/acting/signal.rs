//! `skep signal`: broadcasts a signal.

use clap::Args;

use crate::cli::given::VariableArgs;
use crate::cli::rest::{Body, RestArgs};
use crate::cli::search::word;

#[derive(Args)]
pub struct SignalArgs {
    /// Name of the signal.
    signal: String,
    /// Tenant that receives the signal.
    #[arg(long, value_name = "TENANT")]
    tenant: Option<String>,
    #[command(flatten)]
    variables: VariableArgs,
    #[command(flatten)]
    rest: RestArgs,
}

pub async fn run(args: SignalArgs) -> anyhow::Result<()> {
    let body = Body::default()
        .with("signalName", &args.signal)
        .with_some("variables", args.variables.json()?)
        .with_some("tenantId", args.tenant.as_deref());
    let answer = args.rest.post("signals/broadcast", body).await?;
    let (name, key) = (&args.signal, word(&answer, "signalKey"));
    let sentence = format!("Broadcast the signal '{name}', key {key}.");
    args.rest.say(&sentence, &answer)
}
