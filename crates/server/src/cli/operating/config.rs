//! `skep config`.

use clap::Args;

use crate::args::ConfigArgs;
use crate::config::docs;

#[derive(Args)]
pub struct ConfigCommand {
    #[command(flatten)]
    config: ConfigArgs,
    /// Print the documentation of all settings as Markdown instead.
    #[arg(long)]
    markdown: bool,
}

pub fn run(args: &ConfigCommand) -> anyhow::Result<()> {
    if args.markdown {
        return crate::cli::print(&docs::markdown());
    }
    let loaded = args.config.load()?;
    for warning in &loaded.warnings {
        complain!("warning: {warning}");
    }
    crate::cli::print(&docs::listing(&loaded.effective))
}
