//! `skep explain`: what an error code means and what to do.

use clap::Args;
use serde_json::json;

use super::Usage;
use super::near::nearest;
use crate::errors::{PAGES, known, page};

#[derive(Args)]
pub struct ExplainArgs {
    /// Error code, for example NO_SERVER; without one all codes are listed.
    code: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &ExplainArgs) -> anyhow::Result<()> {
    let Some(code) = &args.code else {
        let codes: Vec<&str> = PAGES.iter().map(|(code, _)| *code).collect();
        return super::print(&if args.json {
            format!("{:#}\n", json!({ "codes": codes }))
        } else {
            format!("{}\n", codes.join("\n"))
        });
    };
    let unknown = || {
        let near = nearest(code, PAGES.iter().map(|(code, _)| *code));
        let near = near.map_or_else(String::new, |near| format!("; did you mean '{near}'?"));
        Usage(format!(
            "there is no code '{code}'{near}; `skep explain` lists all codes"
        ))
    };
    let text = page(code).ok_or_else(unknown)?;
    if args.json {
        let whole = json!({ "code": known(code), "page": text });
        return super::print(&format!("{whole:#}\n"));
    }
    super::print(text)
}
