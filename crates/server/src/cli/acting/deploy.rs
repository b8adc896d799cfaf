//! `skep deploy`.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use serde_json::{Value, json};
use skep_client::{Client, Deployed, Deployment, Error, Resource, RetryPolicy};

use crate::args::ServerArgs;
use crate::cli::files;
use crate::errors;

#[derive(Args)]
pub struct DeployArgs {
    /// Files to deploy, or directories: all BPMN, DMN, form and RPA files below them.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Tenant that owns the deployed resources.
    #[arg(long, value_name = "TENANT")]
    tenant: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerArgs,
}

pub async fn run(args: DeployArgs) -> anyhow::Result<()> {
    let resources = resources(&args.files)?;
    let client = args.server.client().await?;
    let deployment = deploy(&client, &resources, args.tenant.as_deref()).await?;
    if args.json {
        let deployments: Vec<Value> = deployment.items.iter().map(json_of).collect();
        let whole =
            json!({"deploymentKey": deployment.key.to_string(), "deployments": deployments});
        return crate::cli::print(&format!("{whole:#}\n"));
    }
    let mut text = format!("Deployment {}\n", deployment.key);
    for item in &deployment.items {
        text.push_str(&line(item));
    }
    crate::cli::print(&text)
}

/// Reads the files as resources of a deployment, and in place of a directory the files below it.
pub fn resources(files: &[PathBuf]) -> anyhow::Result<Vec<Resource>> {
    let read = |file: &PathBuf| {
        let content =
            std::fs::read(file).with_context(|| format!("{} cannot be read", file.display()))?;
        let name = file.file_name().unwrap_or(file.as_os_str());
        Ok(Resource {
            name: name.to_string_lossy().into_owned(),
            content: content.into(),
        })
    };
    files::deployable(files)?.iter().map(read).collect()
}

/// Deploys; a refusal lists all findings.
pub async fn deploy(
    client: &Client,
    resources: &[Resource],
    tenant: Option<&str>,
) -> anyhow::Result<Deployment> {
    // A server that is at its limit or has just started accepts the request after a retry.
    let deploy = || client.deploy(resources, tenant);
    match RetryPolicy::default().run(deploy).await {
        Err(Error::Refused(problem)) => {
            let code = errors::of_answer(problem.code);
            let mut text = format!("nothing was deployed.\n{}", problem.detail);
            if text.contains("ERROR[") {
                text.push_str(CODES_HAVE_PAGES);
            }
            Err(errors::Coded::new(code, text).into())
        }
        result => Ok(result?),
    }
}

pub const CODES_HAVE_PAGES: &str =
    "\nEach code in brackets has a page: for example, `skep explain ID_MISSING`.";

fn json_of(item: &Deployed) -> Value {
    match item {
        Deployed::Process {
            id,
            version,
            key,
            resource_name,
        } => json!({
            "processDefinitionId": id,
            "processDefinitionVersion": version,
            "processDefinitionKey": key.to_string(),
            "resourceName": resource_name,
        }),
        Deployed::Decision { id, version, key } => json!({
            "decisionDefinitionId": id,
            "version": version,
            "decisionDefinitionKey": key.to_string(),
        }),
        Deployed::DecisionRequirements {
            id, version, key, ..
        } => json!({
            "decisionRequirementsId": id,
            "version": version,
            "decisionRequirementsKey": key.to_string(),
        }),
        Deployed::Form {
            id, version, key, ..
        } => json!({"formId": id, "version": version, "formKey": key.to_string()}),
        other => json!({"other": format!("{other:?}")}),
    }
}

fn line(item: &Deployed) -> String {
    match item {
        Deployed::Process {
            id,
            version,
            key,
            resource_name,
        } => {
            format!("  process {id}, version {version}, key {key}, from {resource_name}\n")
        }
        Deployed::Decision { id, version, key } => {
            format!("  decision {id}, version {version}, key {key}\n")
        }
        Deployed::DecisionRequirements {
            id, version, key, ..
        } => {
            format!("  decision requirements {id}, version {version}, key {key}\n")
        }
        Deployed::Form {
            id, version, key, ..
        } => {
            format!("  form {id}, version {version}, key {key}\n")
        }
        other => format!("  {other:?}\n"),
    }
}
