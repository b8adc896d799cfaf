//! The reference in docs/cli.md, generated from the table of commands.

use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md");
/// The part before this mark is written by hand.
const MARK: &str = "<!-- Generated from the program: SKEP_GOLDEN=write cargo test --workspace --bin skep documented -->\n";

/// Commands documented with the settings of a server, on their own page.
const ELSEWHERE: [&str; 2] = ["serve", "config"];

fn reference(root: &Command) -> String {
    let mut text = String::from("\n## Flags of all commands\n\nEvery command takes these:\n\n");
    let mut all: Vec<&Arg> = root.get_arguments().collect();
    all.retain(|arg| arg.is_global_set());
    flags(&mut text, &all);
    for command in root.get_subcommands() {
        section(&mut text, "skep", command);
    }
    text
}

fn section(text: &mut String, before: &str, command: &Command) {
    if command.is_hide_set() || command.get_name() == "help" {
        return;
    }
    let name = format!("{before} {}", command.get_name());
    let mut args: Vec<&Arg> = command.get_arguments().collect();
    args.retain(|arg| !arg.is_global_set() && arg.get_id() != "help");
    let about = command.get_long_about().or(command.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    let _ = write!(
        text,
        "\n### `{name}`\n\n{about}\n\n```sh\n{}\n```\n",
        usage(&name, &args, command)
    );
    if ELSEWHERE.contains(&command.get_name()) && before == "skep" {
        text.push_str("\nIts flags are in [configuration.md](configuration.md).\n");
        return;
    }
    if !args.is_empty() {
        text.push('\n');
        flags(text, &args);
    }
    for inner in command.get_subcommands() {
        section(text, &name, inner);
    }
}

fn usage(name: &str, args: &[&Arg], command: &Command) -> String {
    let mut line = name.to_string();
    if command.has_subcommands() {
        line.push_str(" [COMMAND]");
    }
    for arg in args.iter().filter(|arg| arg.is_positional()) {
        let dots = if arg.get_num_args().is_some_and(|n| n.max_values() > 1) {
            "…"
        } else {
            ""
        };
        let value = value(arg);
        line.push_str(&if arg.is_required_set() {
            format!(" {value}{dots}")
        } else {
            format!(" [{value}]{dots}")
        });
    }
    if args.iter().any(|arg| !arg.is_positional()) {
        line.push_str(" [FLAGS]");
    }
    line
}

fn value(arg: &Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default();
    let name = names.first().map(ToString::to_string);
    name.unwrap_or_else(|| arg.get_id().to_string().to_uppercase())
}

fn flags(text: &mut String, args: &[&Arg]) {
    text.push_str("| | |\n|---|---|\n");
    for arg in args {
        let takes_value = arg.get_action().takes_values();
        let name = match arg.get_long() {
            Some(long) if takes_value => format!("--{long} {}", value(arg)),
            Some(long) => format!("--{long}"),
            None => value(arg),
        };
        let mut help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        help = help.replace('\n', " ").trim_end_matches('.').to_string();
        let defaults: Vec<String> = arg
            .get_default_values()
            .iter()
            .map(|text| text.to_string_lossy().into_owned())
            .collect();
        if takes_value && !defaults.is_empty() && defaults != [""] {
            let _ = write!(help, "; default `{}`", defaults.join(" "));
        }
        if let Some(variable) = arg.get_env() {
            let _ = write!(help, " (`{}`)", variable.to_string_lossy());
        }
        let cell = |text: &str| text.replace('|', "\\|");
        let _ = writeln!(text, "| `{}` | {} |", cell(&name), cell(&help));
    }
}

#[test]
fn the_reference_is_that_of_the_program() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (by_hand, made) = page.split_once(MARK).expect("the mark in docs/cli.md");
    let now = reference(&crate::Cli::command());
    if std::env::var_os("SKEP_GOLDEN").is_some_and(|what| what == "write") {
        std::fs::write(PAGE, format!("{by_hand}{MARK}{now}")).unwrap();
        return;
    }
    assert!(
        made == now,
        "docs/cli.md is out of date: run this with SKEP_GOLDEN=write"
    );
    for command in crate::Cli::command().get_subcommands() {
        let name = format!("`skep {}", command.get_name());
        assert!(
            by_hand.contains(&name),
            "{name}` is not in the table of docs/cli.md"
        );
    }
}
