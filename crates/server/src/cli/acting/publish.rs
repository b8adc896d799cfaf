//! `skep publish`: publishes a message.

use std::time::Duration;

use clap::Args;

use crate::cli::given::{self, VariableArgs};
use crate::cli::rest::{Body, RestArgs};
use crate::cli::search::word;

#[derive(Args)]
pub struct PublishArgs {
    /// Name of the message.
    message: String,
    /// Correlation key of the target instances; without one the message can only start instances.
    #[arg(long, value_name = "TEXT", default_value = "")]
    key: String,
    /// Time that the message is buffered if nothing waits for it, as in 30s or 1h; not buffered by default.
    #[arg(long, value_name = "TIME", value_parser = given::time)]
    ttl: Option<Duration>,
    /// Id of the message; it is refused while a message with the same name, key and id is buffered.
    #[arg(long, value_name = "TEXT")]
    id: Option<String>,
    /// Correlate the message immediately and print the instance; fail if there is none.
    #[arg(long, conflicts_with_all = ["ttl", "id"])]
    correlate: bool,
    /// Tenant of the message.
    #[arg(long, value_name = "TENANT")]
    tenant: Option<String>,
    #[command(flatten)]
    variables: VariableArgs,
    #[command(flatten)]
    rest: RestArgs,
}

pub async fn run(args: PublishArgs) -> anyhow::Result<()> {
    let body = Body::default()
        .with("name", &args.message)
        .with("correlationKey", &args.key)
        .with_some("variables", args.variables.json()?)
        .with_some("tenantId", args.tenant.as_deref());
    if args.correlate {
        let answer = args.rest.post("messages/correlation", body).await?;
        let sentence = format!(
            "Process instance {} received the message '{}'.",
            word(&answer, "processInstanceKey"),
            args.message
        );
        return args.rest.say(&sentence, &answer);
    }
    let ttl = args.ttl.map(|time| time.as_millis() as u64);
    let body = body
        .with_some("timeToLive", ttl)
        .with_some("messageId", args.id.as_deref());
    let answer = args.rest.post("messages/publication", body).await?;
    let (name, key) = (&args.message, word(&answer, "messageKey"));
    let sentence = format!("Published the message '{name}', key {key}.");
    args.rest.say(&sentence, &answer)
}
