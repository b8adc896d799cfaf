//! `skep evaluate`: evaluates a decision.

use clap::Args;
use serde_json::Value;

use crate::cli::given::VariableArgs;
use crate::cli::rest::{Body, RestArgs};
use crate::cli::search::word;
use crate::errors::Coded;

#[derive(Args)]
pub struct EvaluateArgs {
    /// Id of a decision, or key of a decision definition.
    decision: String,
    /// Tenant that owns the decision.
    #[arg(long, value_name = "TENANT")]
    tenant: Option<String>,
    #[command(flatten)]
    variables: VariableArgs,
    #[command(flatten)]
    rest: RestArgs,
}

/// Prints the output to standard output as JSON; with `--json`, the whole answer.
pub async fn run(args: EvaluateArgs) -> anyhow::Result<()> {
    let name = match args.decision.parse::<i64>() {
        Ok(_) => "decisionDefinitionKey",
        Err(_) => "decisionDefinitionId",
    };
    let body = Body::default()
        .with(name, &args.decision)
        .with_some("variables", args.variables.json()?)
        .with_some("tenantId", args.tenant.as_deref());
    let answer = args
        .rest
        .post("decision-definitions/evaluation", body)
        .await?;
    let text = |name: &str| answer.get(name).and_then(Value::as_str);
    if let Some(why) = text("failureMessage").filter(|why| !why.is_empty()) {
        let failed = word(&answer, "failedDecisionDefinitionId");
        let text = format!("the decision '{failed}' has no result: {why}");
        return Err(Coded::new("DECISION_EVALUATION_ERROR", text).into());
    }
    // The output is already JSON, as a string.
    let output = text("output").unwrap_or("null");
    args.rest.say(output, &answer)
}
