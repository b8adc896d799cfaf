//! Project rules that no compiler checks: each file states its purpose, a function fits on a screen, names in documents exist.
//! `cargo test -p skep-tidy` takes a second.

mod support;

use std::collections::BTreeMap;
use std::path::Path;

use support::{expect_none, files, is_product, root, without_tests};

/// Maximum number of lines of a function, from its head to its closing brace.
const MAX_FUNCTION: usize = 70;
/// Maximum number of lines of a product file, and of any other.
const MAX_PRODUCT_FILE: usize = 650;
const MAX_FILE: usize = 800;
/// Functions that are longer, with their number of lines: lists and tables that would not read better in parts, and debts. None may be
/// added, and a shorter one is recorded, so that it never grows again.
const LONG_FUNCTIONS: &str = include_str!("long_functions.txt");

#[test]
fn every_file_states_its_purpose() {
    let silent: Vec<String> = files(&[".rs"])
        .into_iter()
        .filter(|(_, text)| !text.starts_with("//!"))
        .map(|(path, _)| path)
        .collect();
    expect_none(&silent, "a file begins with `//!` and what it is for:");
}

#[test]
fn files_have_one_subject() {
    let large: Vec<String> = files(&[".rs"])
        .into_iter()
        .map(|(path, text)| (path, text.lines().count()))
        .filter(|(path, lines)| {
            *lines
                > if is_product(path) {
                    MAX_PRODUCT_FILE
                } else {
                    MAX_FILE
                }
        })
        .map(|(path, lines)| format!("{path}: {lines} lines"))
        .collect();
    let rule = format!(
        "a file has at most {MAX_PRODUCT_FILE} lines, and one of tests at most {MAX_FILE}:"
    );
    expect_none(&large, &rule);
}

/// The web interface's own files, without those generated from the API's description.
fn interface() -> BTreeMap<String, String> {
    let mut files = files(&[".ts", ".tsx", ".mjs"]);
    files.retain(|path, _| path.starts_with("ui/") && path != "ui/src/api/schema.ts");
    files
}

#[test]
fn files_of_the_web_interface_state_their_purpose_and_are_short() {
    const MAX: usize = 250;
    let mut problems = Vec::new();
    for (path, text) in interface() {
        if !text.starts_with("// ") {
            problems.push(format!(
                "{path} does not begin with `//` and what it is for"
            ));
        }
        let lines = text.lines().count();
        if lines > MAX {
            problems.push(format!("{path} has {lines} lines, and may have {MAX}"));
        }
    }
    expect_none(&problems, "files of the web interface:");
}

/// Input, disk and network must not cause panics (`CONTRIBUTING.md`); the attribute lets clippy enforce it.
#[test]
fn crates_have_neither_unwrap_nor_indexing() {
    const LINTS: &str = "deny(clippy::unwrap_used, clippy::indexing_slicing)";
    // Generated code, and crates that only tests depend on.
    const WITHOUT: [&str; 3] = [
        "crates/proto/src/lib.rs",
        "crates/sim/src/lib.rs",
        "crates/testkit/src/lib.rs",
    ];
    let lax: Vec<String> = files(&["src/lib.rs", "src/main.rs"])
        .into_iter()
        .filter(|(path, _)| path.starts_with("crates/") && !WITHOUT.contains(&&**path))
        .filter(|(_, text)| !text.contains(LINTS))
        .map(|(path, _)| path)
        .collect();
    expect_none(
        &lax,
        &format!("a crate says #![cfg_attr(not(test), {LINTS})]:"),
    );
}

/// Documentation tests are compiled crate by crate, which takes minutes: crates that have none turn them off.
#[test]
fn crates_that_turn_documentation_tests_off_have_none() {
    let manifests = files(&["Cargo.toml"]);
    let off = manifests
        .iter()
        .filter(|(_, text)| text.contains("doctest = false"));
    let off: Vec<String> = off
        .filter_map(|(path, _)| Some(format!("{}src/", path.strip_suffix("Cargo.toml")?)))
        .collect();
    assert!(off.len() > 20, "most crates have none");
    let mut problems = Vec::new();
    for (path, text) in files(&[".rs"]) {
        if !off.iter().any(|directory| path.starts_with(directory)) {
            continue;
        }
        let documentation = text.lines().filter_map(|line| {
            let line = line.trim_start();
            line.strip_prefix("///")
                .or_else(|| line.strip_prefix("//!"))
        });
        let fences = documentation.filter_map(|line| line.trim().strip_prefix("```"));
        // Every second one ends a block.
        let is_rust = |language: &str| language.is_empty() || language.starts_with("rust");
        if fences.step_by(2).any(is_rust) {
            problems.push(path);
        }
    }
    expect_none(
        &problems,
        "documentation with Rust that nothing tests; remove `doctest = false`:",
    );
}

/// The text of a macro call from its name to its closing bracket; brackets in strings are mostly balanced.
fn call(text: &str) -> &str {
    let mut depth = 0;
    let end = text.char_indices().find(|(_, c)| {
        depth += i32::from(*c == '(') - i32::from(*c == ')');
        *c == ')' && depth == 0
    });
    end.map_or(text, |(end, _)| &text[..end])
}

#[test]
fn errors_in_the_log_have_codes_with_pages() {
    let mut problems = Vec::new();
    for (path, text) in files(&[".rs"]) {
        // Tools without a server's log.
        let tool = ["crates/load/", "crates/client/", "crates/tidy/"];
        if tool.iter().any(|tool| path.starts_with(tool)) {
            continue;
        }
        for (at, name) in text
            .match_indices("tracing::error!(")
            .chain(text.match_indices("tracing::warn!("))
        {
            let call = call(&text[at..]);
            let line = text[..at].lines().count() + 1;
            let code = call.split_once("code = \"");
            let code = code.and_then(|(_, rest)| rest.split('"').next());
            match code {
                Some(code) if root().join(format!("docs/errors/{code}.md")).exists() => {}
                Some(code) => problems.push(format!("{path}:{line}: docs/errors has no {code}")),
                None if name.contains("error") => problems.push(format!("{path}:{line}")),
                None => {}
            }
        }
    }
    expect_none(
        &problems,
        "an error in the log says `code = \"…\"`, which has a page in docs/errors:",
    );
}

/// Name and lines of each function; the source is formatted, so a function ends at the brace below its head.
fn functions(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let indent = &line[..line.len() - code.len()];
        let Some(name) = function_name(code) else {
            continue;
        };
        let closing = format!("{indent}}}");
        let mut end = at;
        // A head without a body ends with a semicolon.
        let mut open = code.ends_with('{');
        while !(open && lines[end].starts_with(&closing) && end > at) {
            if !open && lines[end].ends_with([';', '}']) || end + 1 == lines.len() {
                break;
            }
            open |= lines[end].ends_with('{');
            end += 1;
        }
        found.push((name.to_string(), end - at + 1));
    }
    found
}

fn function_name(code: &str) -> Option<&str> {
    let mut rest = code;
    if let Some(visible) = rest.strip_prefix("pub") {
        rest = visible.trim_start();
        if rest.starts_with('(') {
            rest = rest.split_once(')')?.1.trim_start();
        }
    }
    for word in ["const ", "async ", "unsafe "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    let name = rest.strip_prefix("fn ")?;
    name.split(['(', '<']).next()
}

#[test]
fn functions_fit_a_screen() {
    let mut may: BTreeMap<(String, String), usize> = LONG_FUNCTIONS
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [lines, path, name] = words[..] else {
                panic!("long_functions.txt: lines, path, function: {line}")
            };
            let limit = lines.parse().expect("a number of lines");
            ((path.to_string(), name.to_string()), limit)
        })
        .collect();
    let files = files(&[".rs"]);
    let mut problems = Vec::new();
    for (path, text) in &files {
        for (name, lines) in functions(text) {
            if lines <= MAX_FUNCTION {
                continue;
            }
            match may.remove(&(path.clone(), name.clone())) {
                Some(limit) if lines == limit => {}
                Some(limit) => problems.push(format!(
                    "{path}: {name} has {lines} lines, and {limit} in long_functions.txt, which only falls"
                )),
                None => problems.push(format!("{path}: {name} has {lines} lines")),
            }
        }
    }
    for ((path, name), _) in may {
        problems.push(format!(
            "{path}: {name} is not long any more; take it out of long_functions.txt"
        ));
    }
    expect_none(
        &problems,
        &format!("a function has at most {MAX_FUNCTION} lines:"),
    );
}

/// Paths below the root that a document names, in back-ticks or as the target of a link.
fn named_paths(document: &str, text: &str) -> Vec<String> {
    const TOP: [&str; 7] = [
        "crates/",
        "docs/",
        "tests/",
        "benches/",
        "examples/",
        ".ci/",
        "ui/src/",
    ];
    let is_path = |word: &str| {
        !word.is_empty()
            && word
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c))
    };
    let mut found = Vec::new();
    for quoted in text.split('`').skip(1).step_by(2) {
        if is_path(quoted) && TOP.iter().any(|top| quoted.starts_with(top)) {
            found.push(quoted.to_string());
        }
    }
    let beside = Path::new(document).parent().unwrap();
    for link in text.split("](").skip(1) {
        let target = link.split([')', '#']).next().unwrap_or_default();
        if is_path(target) && !target.is_empty() {
            found.push(beside.join(target).display().to_string());
        }
    }
    found
}

/// Ends of paths that a document names in back-ticks, such as `log/append.rs`.
fn named_ends(text: &str) -> Vec<&str> {
    let quoted = text.split('`').skip(1).step_by(2);
    let is_part = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    quoted
        .filter(|quoted| {
            quoted.contains('/') && quoted.ends_with(".rs") && quoted.chars().all(is_part)
        })
        .collect()
}

/// Where the crate is clear from the text, these documents name a file without it.
#[test]
fn files_named_by_the_architecture_and_by_decisions_exist() {
    let sources = files(&[".rs"]);
    let mut problems = Vec::new();
    for (document, text) in files(&[".md"]) {
        if document != "ARCHITECTURE.md" && !document.starts_with("docs/adr/") {
            continue;
        }
        for end in named_ends(&text) {
            let is_end = |path: &String| {
                path.strip_suffix(end)
                    .is_some_and(|before| before.is_empty() || before.ends_with('/'))
            };
            if !sources.keys().any(is_end) {
                problems.push(format!("{document} names {end}"));
            }
        }
    }
    expect_none(&problems, "a file that a document names exists:");
}

#[test]
fn paths_named_in_documents_exist() {
    let mut problems = Vec::new();
    for (document, text) in files(&[".md"]) {
        // It becomes the beginning of docs/feel.md, which is checked.
        if document.ends_with("support/intro.md") {
            continue;
        }
        for path in named_paths(&document, &text) {
            if !root().join(&path).exists() {
                problems.push(format!("{document} names {path}"));
            }
        }
    }
    expect_none(&problems, "a path that a document names exists:");
}

/// A checkout must not refer to the machine that it was written on, nor to discussions held there.
#[test]
fn nothing_refers_to_anything_outside_the_repository() {
    const OUTSIDE: [&str; 4] = ["/work/", "/root/", "/home/", "issue "];
    let mut problems = Vec::new();
    let endings = [
        ".rs", ".md", ".toml", ".sh", ".py", ".yaml", ".yml", ".txt", ".bpmn", ".ts", ".tsx",
        ".mjs", ".css",
    ];
    for (path, text) in files(&endings) {
        if path == "crates/tidy/tests/house.rs" {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            let cites = OUTSIDE.iter().any(|outside| {
                line.match_indices(outside).any(|(at, _)| {
                    let after = &line[at + outside.len()..];
                    let number = after.trim_start_matches('#');
                    // One of the project's directories may have the same name as one of the machine.
                    let relative = line[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
                    match *outside {
                        "issue " => number.starts_with(|c: char| c.is_ascii_digit()),
                        _ => !relative,
                    }
                })
            });
            if cites {
                problems.push(format!("{path}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    expect_none(&problems, "a file names nothing outside of the repository:");
}

/// The newest commits, as shown in a repository's lists. A copy without history has none.
#[test]
fn subjects_of_commits_have_a_scope_and_fit_a_line() {
    const NEWEST: &str = "-50";
    const MOST: usize = 72;
    let log = std::process::Command::new("git")
        .args(["log", NEWEST, "--no-merges", "--format=%s"])
        .current_dir(root())
        .output();
    let subjects = log.map(|output| output.stdout).unwrap_or_default();
    let subjects = String::from_utf8_lossy(&subjects);
    let problems: Vec<String> = subjects
        .lines()
        .filter(|subject| {
            let scope = subject.split_once(": ").map(|(scope, _)| scope);
            let is_scope = scope.is_some_and(|scope| {
                let of_names = |c: char| c.is_ascii_alphanumeric() || "_-/., ".contains(c);
                !scope.is_empty() && scope.chars().all(of_names)
            });
            !is_scope || subject.chars().count() > MOST
        })
        .map(str::to_string)
        .collect();
    expect_none(
        &problems,
        &format!("a subject is \"scope: what changes\" in at most {MOST} characters:"),
    );
}

/// Lines of this text that match variants of the commands, with the variant.
fn matched_commands(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, name) in text.match_indices("Command::") {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        let variant: String = after.chars().take_while(|c| c.is_alphanumeric()).collect();
        let is_variant = variant.starts_with(char::is_uppercase);
        if !is_variant || before.ends_with(|c: char| c.is_alphanumeric()) {
            continue;
        }
        let mut rest = after[variant.len()..].trim_start();
        if rest.starts_with(['(', '{']) {
            let mut depth = 0;
            let end = rest.char_indices().find(|(_, c)| {
                depth += i32::from("([{".contains(*c)) - i32::from(")]}".contains(*c));
                depth == 0
            });
            rest = end.map_or("", |(end, _)| rest[end + 1..].trim_start());
        }
        let statement = before.rsplit([';', '{', '}']).next().unwrap_or("");
        let is_pattern = rest.starts_with("=>")
            || rest.starts_with("if ")
            || (rest.starts_with('|') && !rest.starts_with("||"))
            || (rest.starts_with('=') && !rest.starts_with("=="))
            || statement.contains("matches!(");
        if is_pattern {
            found.push((before.lines().count(), variant));
        }
    }
    found
}

/// All facts about a command are in its row (`protocol/src/command/rows.rs`); another list of commands would be one more place to forget.
#[test]
fn commands_are_matched_in_their_table_and_where_they_are_dispatched() {
    const MAY: [&str; 2] = [
        "crates/protocol/src/command",
        "crates/engine/src/dispatch.rs",
    ];
    let mut problems = Vec::new();
    for (path, text) in files(&[".rs"]) {
        let own = path.contains("/src/") && !path.ends_with("tests.rs");
        let of_tests = path.starts_with("crates/testkit/");
        if !own
            || of_tests
            || MAY.iter().any(|may| path.starts_with(may))
            || !text.contains("skep_protocol")
        {
            continue;
        }
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or("");
        for (line, variant) in matched_commands(code) {
            problems.push(format!("{path}:{line}: Command::{variant}"));
        }
    }
    expect_none(
        &problems,
        "what is known of a command is a column of its row:",
    );
}

/// Whether this code gets the partition of a key from the key itself, other than to compare it with its own.
fn asks_a_key_for_its_partition(line: &str) -> bool {
    let Some((before, rest)) = line.split_once(".partition()") else {
        return false;
    };
    // The partition of a thread, and that of an operation on the cluster.
    let of = before.rsplit(|c: char| !c.is_alphanumeric() && c != '_');
    if ["env", ""].contains(&of.clone().next().unwrap_or_default()) && !before.ends_with(')') {
        return false;
    }
    !["== Some(", "!= Some("]
        .iter()
        .any(|own| rest.trim_start().starts_with(own))
        && !before.ends_with("self")
}

/// Code that may, because nothing is sent to the partition: a label of metrics, the partition of a record that has been read, and the test
/// runner, which compares keys of the same partition. The routing itself is the first one.
const READS_PARTITIONS_OF_KEYS: [&str; 5] = [
    "crates/protocol/src/routing.rs",
    "crates/protocol/src/key.rs",
    "crates/gateway/src/metrics/broker_requests.rs",
    "crates/secondary/src/project/message_subscription.rs",
    "crates/server/src/cli/developing/test/world.rs",
];

/// Deriving a partition from a key is up to `Routing`: any other code that does so would have to change as well when partitions move, or
/// finds partitions that the cluster does not have.
#[test]
fn where_a_key_lives_is_asked_of_the_routing() {
    let mut problems = Vec::new();
    for (path, text) in files(&[".rs"]) {
        if !is_product(&path) || READS_PARTITIONS_OF_KEYS.contains(&path.as_str()) {
            continue;
        }
        for (number, line) in without_tests(&text).lines().enumerate() {
            if asks_a_key_for_its_partition(line) {
                problems.push(format!("{path}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    expect_none(&problems, "`Routing::home` says where a key lives:");
}

/// Number of assertions in a line of code.
fn checks_in(line: &str) -> usize {
    const CHECKS: [&str; 5] = [
        "assert!(",
        "assert_eq!(",
        "assert_ne!(",
        ".broken(",
        ".must_get_mut(",
    ];
    CHECKS.iter().map(|check| line.matches(check).count()).sum()
}

/// Number of lines and assertions of product code by crate, without tests and comments.
fn checks_by_crate() -> BTreeMap<String, (usize, usize)> {
    let mut found: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for (path, text) in files(&[".rs"]) {
        let mut parts = path.split('/');
        let (Some("crates"), Some(name), Some("src")) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        // Crates that only tests depend on, and this one.
        let of_tests = ["sim", "testbed", "testkit", "tidy"].contains(&name);
        if of_tests || path.ends_with("tests.rs") || path.contains("/tests/") {
            continue;
        }
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or("");
        let code = code
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        let (lines, checks) = found.entry(name.to_string()).or_default();
        for line in code {
            *lines += 1;
            *checks += checks_in(line);
        }
    }
    found
}

/// Where one wrong index loses data, the code asserts its invariants, and every test and simulation runs with them. The figures only grow:
/// the minimum of a crate with more assertions is to be raised.
#[test]
fn the_code_checks_its_own_rules() {
    /// Minimum number of assertions per 1,000 lines.
    const AT_LEAST: [(&str, f64); 4] = [
        ("replication", 5.5),
        ("storage", 4.3),
        ("broker", 3.0),
        ("engine", 2.5),
    ];
    const OVERALL: f64 = 1.3;
    let found = checks_by_crate();
    let share = |lines: usize, checks: usize| 1000.0 * checks as f64 / lines.max(1) as f64;
    let mut problems = Vec::new();
    for (name, least) in AT_LEAST {
        let (lines, checks) = found[name];
        if share(lines, checks) < least {
            problems.push(format!(
                "{name}: {checks} in {lines} lines, less than {least} in 1,000"
            ));
        }
    }
    let (lines, checks) =
        (found.values()).fold((0, 0), |(l, c), (lines, checks)| (l + lines, c + checks));
    if share(lines, checks) < OVERALL {
        problems.push(format!(
            "all: {checks} in {lines} lines, less than {OVERALL} in 1,000"
        ));
    }
    expect_none(
        &problems,
        "the code checks its own rules (`debug_assert!`):",
    );
}

#[test]
fn the_checks_see_what_they_look_for() {
    let source = "match c {\n    Command::A { x, .. } => 1,\n    Command::B(C { y }) | Command::D if y => 2,\n}\n\
                  let Command::E(e) = c;\nlet c = Command::F(f);\nmatches!(c, Command::G(_));\nRemoteCommand::H => 1;\n";
    let matched = matched_commands(source);
    let variants: Vec<&str> = matched.iter().map(|(_, name)| &**name).collect();
    assert_eq!(variants, ["A", "B", "D", "E", "G"]);
    let code = "debug_assert!(a); assert_eq!(b, c); cx.broken(d); e.must_get_mut(f);";
    assert_eq!(checks_in(code), 4);
    assert!(asks_a_key_for_its_partition(
        "let at = key.partition().and_then(x);"
    ));
    assert!(asks_a_key_for_its_partition("Key(key).partition();"));
    assert!(!asks_a_key_for_its_partition("self.env.partition()"));
    assert!(!asks_a_key_for_its_partition(
        "key.partition() == Some(self.partition)"
    ));
    let source = "impl A {\n    pub(crate) async fn long<T>(\n        a: T,\n    ) {\n        b();\n    }\n\n    fn short(&self);\n}\n";
    let found = functions(source);
    assert_eq!(found, [("long".into(), 5), ("short".into(), 1)]);
    let text = "see `crates/none/x.rs`, `a/b` and [it](../other.md#part)";
    let named = named_paths("docs/x.md", text);
    assert_eq!(named, ["crates/none/x.rs", "docs/../other.md"]);
    assert_eq!(named_ends(text), ["crates/none/x.rs"]);
    let text = "code\n#[cfg(test)]\nmod apart;\nmore\n#[cfg(test)]\nmod tests {\n}\n";
    assert_eq!(
        without_tests(text),
        "code\n#[cfg(test)]\nmod apart;\nmore\n"
    );
}
