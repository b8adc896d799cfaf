//! `skep config`.

use clap::Args;
use serde_json::{Value, json};

use crate::args::ConfigArgs;
use crate::config::docs;

#[derive(Args)]
pub struct ConfigCommand {
    #[command(flatten)]
    config: ConfigArgs,
    /// Print the documentation of all settings as Markdown instead.
    #[arg(long)]
    markdown: bool,
    /// Print JSON.
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
}

pub fn run(args: &ConfigCommand) -> anyhow::Result<()> {
    if args.markdown {
        return crate::cli::print(&docs::markdown());
    }
    let loaded = args.config.load()?;
    if args.json {
        let settings = loaded.effective.iter().map(|setting| {
            json!({
                "name": setting.name,
                "value": setting.value,
                "source": setting.source.to_string(),
            })
        });
        let settings: Vec<Value> = settings.collect();
        let whole = json!({"settings": settings, "warnings": loaded.warnings});
        return crate::cli::print(&format!("{whole:#}\n"));
    }
    for warning in &loaded.warnings {
        complain!("warning: {warning}");
    }
    crate::cli::print(&docs::listing(&loaded.effective))
}
