//! Colours, only on a terminal and unless disabled (<https://no-color.org>).

use std::io::IsTerminal;

const BOLD: &str = "\x1b[1m";
const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const END: &str = "\x1b[0m";

/// Whether this output may have colours.
pub fn wanted(output: &impl IsTerminal) -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
    !refused && !dumb && output.is_terminal()
}

/// The heading of a column.
pub fn heading(text: &str) -> String {
    format!("{BOLD}{text}{END}")
}

/// A word that announces an error.
pub fn alarm(text: &str) -> String {
    format!("{BOLD}{RED}{text}{END}")
}

/// A word that announces success.
pub fn good(text: &str) -> String {
    format!("{GREEN}{text}{END}")
}

/// A cell of a table: green for a good state, red for a bad one.
pub fn cell(text: &str) -> String {
    match text.trim_end() {
        "INCIDENT"
        | "FAILED"
        | "ERROR_THROWN"
        | "TIMED_OUT"
        | "TERMINATED"
        | "CANCELED"
        | "PARTIALLY_COMPLETED" => format!("{RED}{text}{END}"),
        "COMPLETED" | "RESOLVED" => format!("{GREEN}{text}{END}"),
        _ => text.to_string(),
    }
}
