//! `skep explain`: what an error code means and what to do.

use clap::Args;

use super::Usage;
use crate::errors::{PAGES, page};

#[derive(Args)]
pub struct ExplainArgs {
    /// Error code, for example NO_SERVER; without one all codes are listed.
    code: Option<String>,
}

pub fn run(args: &ExplainArgs) -> anyhow::Result<()> {
    let Some(code) = &args.code else {
        let codes: Vec<&str> = PAGES.iter().map(|(code, _)| *code).collect();
        return super::print(&format!("{}\n", codes.join("\n")));
    };
    let unknown = || {
        Usage(format!(
            "there is no code '{code}'; `skep explain` lists all codes"
        ))
    };
    super::print(page(code).ok_or_else(unknown)?)
}
