//! The structure of the code: structs with few fields, imports by name, exhaustive matches, and allowed dependencies between the parts of
//! the broker.

mod support;

use std::collections::BTreeMap;

use support::{expect_none, files, is_product, without_tests};

/// Maximum number of fields of a struct.
const MAX_FIELDS: usize = 16;
/// Structs that have more, with their permitted number of fields: rows of tables, messages of protocols, and debts. None may be added.
const LARGE_STRUCTS: &str = include_str!("large_structs.txt");
/// One field for each table: it grows with the number of tables.
const OF_TABLES: (&str, &str) = ("crates/engine/src/state/mod.rs", "State");
/// Structs that were once too large stay small.
const SMALL: [(&str, &str, usize); 3] = [
    ("crates/broker/src/partition/thread.rs", "Partition", 12),
    ("crates/broker/src/cluster.rs", "Cluster", 12),
    ("crates/broker/src/shared.rs", "Shared", 12),
];

/// Name and number of fields of each struct; the source is formatted, so that each field is on its own line.
fn structs(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let indent = &line[..line.len() - code.len()];
        let code = without_visibility(code);
        let Some(name) = code.strip_prefix("struct ").filter(|_| line.ends_with('{')) else {
            continue;
        };
        let name: String = name.chars().take_while(|c| c.is_alphanumeric()).collect();
        let (closing, inner) = (format!("{indent}}}"), format!("{indent}    "));
        let body = lines[at + 1..].iter().take_while(|line| **line != closing);
        let fields = body.filter(|line| line.strip_prefix(&inner).is_some_and(is_field));
        found.push((name, fields.count()));
    }
    found
}

fn is_field(line: &str) -> bool {
    let line = without_visibility(line);
    let name: String = line
        .chars()
        .take_while(|c| c.is_alphanumeric() || "_#".contains(*c))
        .collect();
    !name.is_empty() && line[name.len()..].starts_with(':') && !line[name.len()..].starts_with("::")
}

fn without_visibility(code: &str) -> &str {
    let Some(visible) = code.strip_prefix("pub") else {
        return code;
    };
    match visible.strip_prefix('(') {
        Some(scope) => scope.split_once(") ").map_or(code, |(_, rest)| rest),
        None => visible.trim_start(),
    }
}

#[test]
fn structs_have_few_fields() {
    let mut may: BTreeMap<(String, String), usize> = LARGE_STRUCTS
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [fields, path, name] = words[..] else {
                panic!("large_structs.txt: fields, path, struct: {line}")
            };
            let limit = fields.parse().expect("a number of fields");
            ((path.to_string(), name.to_string()), limit)
        })
        .collect();
    let mut problems = Vec::new();
    for (path, text) in files(&[".rs"]) {
        for (name, fields) in structs(&text) {
            if fields <= MAX_FIELDS || (&*path, &*name) == OF_TABLES {
                continue;
            }
            match may.remove(&(path.clone(), name.clone())) {
                Some(limit) if fields == limit => {}
                Some(limit) => problems.push(format!(
                    "{path}: {name} has {fields} fields, and {limit} in large_structs.txt, which only falls"
                )),
                None => problems.push(format!("{fields} {path} {name}")),
            }
        }
    }
    for ((path, name), _) in may {
        problems.push(format!(
            "{path}: {name} is not large any more; take it out of large_structs.txt"
        ));
    }
    expect_none(
        &problems,
        &format!("a struct has at most {MAX_FIELDS} fields:"),
    );
}

#[test]
fn partition_cluster_and_what_they_share_are_made_of_parts() {
    let files = files(&[".rs"]);
    let mut problems = Vec::new();
    for (path, name, most) in SMALL {
        let found = structs(&files[path]);
        let fields = found.iter().find(|(found, _)| found == name);
        let (_, fields) = fields.unwrap_or_else(|| panic!("{path} has {name}"));
        if *fields > most {
            problems.push(format!(
                "{path}: {name} has {fields} fields, more than {most}"
            ));
        }
    }
    expect_none(&problems, "what grows gets a part that owns its fields:");
}

/// Maximum number of files in a source folder.
const MAX_FILES: usize = 25;

#[test]
fn folders_hold_few_files() {
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for path in files(&[".rs"]).into_keys() {
        if let Some((folder, _)) = path.rsplit_once('/')
            && format!("{folder}/").contains("/src/")
        {
            *found.entry(folder.to_string()).or_default() += 1;
        }
    }
    let crowded = found.into_iter().filter(|(_, files)| *files > MAX_FILES);
    let problems: Vec<String> = crowded
        .map(|(folder, files)| format!("{folder} has {files}"))
        .collect();
    expect_none(
        &problems,
        &format!("a folder has at most {MAX_FILES} files:"),
    );
}

/// Compares figures with those of a list, whose lines have a figure and a name. They must be equal: a lower figure must be recorded, so
/// that it never grows again.
fn expect_figures(found: &BTreeMap<String, usize>, (list, text): (&str, &str), rule: &str) {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let known: BTreeMap<String, usize> = lines
        .map(|line| {
            let (figure, name) = line.split_once(' ').expect("a figure and a name");
            (name.to_string(), figure.parse().expect("a figure"))
        })
        .collect();
    let differs = |(name, figure): (&String, &usize), other: &BTreeMap<String, usize>| {
        (other.get(name) != Some(figure)).then(|| format!("{figure} {name}"))
    };
    let now = found.iter().filter_map(|it| differs(it, &known));
    let before = known.iter().filter_map(|it| differs(it, found));
    let problems: Vec<String> = now
        .map(|it| format!("there are {it}"))
        .chain(before.map(|it| format!("in {list} are {it}")))
        .collect();
    expect_none(&problems, &format!("{rule} ({list} only falls)"));
}

const ERRORS_THAT_ARE_TEXTS: &str = include_str!("errors_that_are_texts.txt");

/// A caller can act on a type. A text can only be searched for words.
#[test]
fn errors_are_types() {
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for (path, text) in files(&[".rs"]) {
        let Some((name, file)) = path
            .strip_prefix("crates/")
            .and_then(|path| path.split_once("/src/"))
        else {
            continue;
        };
        if ["sim", "testbed", "testkit", "tidy"].contains(&name) || file.ends_with("tests.rs") {
            continue;
        }
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or("");
        let texts = code.lines().filter(|line| returns_a_text(line)).count();
        if texts > 0 {
            *found.entry(name.to_string()).or_default() += texts;
        }
    }
    expect_figures(
        &found,
        ("errors_that_are_texts.txt", ERRORS_THAT_ARE_TEXTS),
        "an error is a type:",
    );
}

fn returns_a_text(line: &str) -> bool {
    line.split_once("Result<")
        .is_some_and(|(_, rest)| rest.contains(", String>"))
}

const BARE_TUPLES: &str = include_str!("bare_tuples.txt");

/// `(3, 7)` says neither which number is which, nor that they belong together.
#[test]
fn parameters_are_no_tuples_of_bare_integers() {
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for (path, text) in files(&[".rs"]) {
        let of_tests = ["sim", "testbed", "testkit", "tidy"]
            .iter()
            .any(|name| path.starts_with(&format!("crates/{name}/")));
        if of_tests || !path.contains("/src/") || path.ends_with("tests.rs") {
            continue;
        }
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or("");
        let tuples = parameters(code).iter().map(|it| bare_tuples(it)).sum();
        if tuples > 0 {
            found.insert(path, tuples);
        }
    }
    expect_figures(
        &found,
        ("bare_tuples.txt", BARE_TUPLES),
        "numbers that belong together are a struct:",
    );
}

/// The parameters of each function, as the text within its parentheses.
fn parameters(code: &str) -> Vec<&str> {
    let functions = code.match_indices("fn ").filter_map(|(at, _)| {
        let rest = &code[at..];
        let open = rest.find('(')?;
        let mut depth = 0;
        let close = rest[open..].char_indices().find(|(_, sign)| {
            match sign {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        Some(&rest[open + 1..open + close?.0])
    });
    functions.collect()
}

fn bare_tuples(parameters: &str) -> usize {
    const INTEGERS: [&str; 10] = [
        "u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize",
    ];
    let tuples = parameters.split('(').skip(1);
    let inside = tuples.filter_map(|rest| rest.split_once(')'));
    inside
        .filter(|(inside, _)| {
            let parts: Vec<&str> = inside.split(',').map(str::trim).collect();
            parts.len() > 1 && parts.iter().all(|part| INTEGERS.contains(part))
        })
        .count()
}

#[test]
fn crates_share_test_code_by_a_crate() {
    let across = |text: &str| text.contains("#[path = \"../../../");
    let mut by_path = files(&[".rs"]);
    by_path.retain(|path, text| {
        path.starts_with("crates/") && !path.starts_with("crates/tidy/") && across(text)
    });
    expect_none(
        &by_path.into_keys().collect::<Vec<_>>(),
        "what tests of several crates share is in `testkit`:",
    );
}

/// Loaded by its path, from the only module that may change it.
const BY_PATH: [&str; 1] = ["crates/engine/src/state/mod.rs"];

/// `processing::job` is in `processing/job.rs`, and its parts are in `processing/job/`. Code shared by several test programs is in
/// `support/mod.rs`: `support.rs` would be a test program of its own.
#[test]
fn a_module_with_parts_is_a_file_beside_its_folder() {
    let folders = files(&["/mod.rs"]).into_keys().filter(|path| {
        let in_source = path.contains("/src/");
        in_source && !BY_PATH.contains(&path.as_str())
    });
    expect_none(
        &folders.collect::<Vec<_>>(),
        "a module is `name.rs`, with its parts in `name/`:",
    );
}

/// The product code of the broker, without tests within its files.
fn broker() -> Vec<(String, String)> {
    let own = files(&[".rs"]).into_iter();
    let own = own.filter(|(path, _)| path.starts_with("crates/broker/src/"));
    own.collect()
}

/// Whether the line imports all names of a module. Re-exports of a module's own parts are no imports, and a function may name the variants of
/// an enum that it matches.
fn is_glob_import(line: &str) -> bool {
    let code = line.trim_start();
    let is_use = code.starts_with("use ") || code.starts_with("pub(crate) use ");
    let Some(path) = code.trim_end_matches(';').strip_suffix("::*") else {
        return is_use && code.contains(['{', ',']) && code.contains(", *}");
    };
    let last = path.rsplit("::").next().unwrap_or_default();
    let last = last.rsplit(' ').next().unwrap_or_default();
    let of_enum = code.len() < line.len() && last.starts_with(char::is_uppercase);
    is_use && !of_enum
}

/// Modules of tests that have a file of their own.
const FILES_OF_TESTS: [&str; 1] = ["crates/feel/src/syntax/round_trip.rs"];

#[test]
fn imports_name_what_a_file_depends_on() {
    let mut problems = Vec::new();
    for (path, text) in files(&[".rs"]) {
        if !is_product(&path) || FILES_OF_TESTS.contains(&path.as_str()) {
            continue;
        }
        let code = without_tests(&text);
        let globs = code
            .lines()
            .enumerate()
            .filter(|(_, line)| is_glob_import(line));
        problems.extend(globs.map(|(at, line)| format!("{path}:{}: {}", at + 1, line.trim())));
    }
    expect_none(&problems, "`use …::*` hides what a file depends on:");
}

/// Types whose variants are not ours: matches need an arm for the rest.
const FOREIGN: [&str; 5] = [
    "ErrorKind",
    "TryRecvError",
    "RecvTimeoutError",
    "TryLockError",
    "Ordering",
];

/// Lines with `_ =>` in matches that name variants of our own enums in other arms.
fn wildcards(text: &str) -> Vec<(usize, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        if !code.starts_with("_ =>") && !code.starts_with("_ if ") {
            continue;
        }
        let indent = &line[..line.len() - code.len()];
        let arms = lines[..at].iter().rev();
        let arms = arms.take_while(|line| line.is_empty() || line.starts_with(indent));
        let arms = arms.filter_map(|line| line.strip_prefix(indent));
        let arm = arms
            .flat_map(variants)
            .find(|name| !FOREIGN.contains(&name.as_str()));
        found.extend(arm.map(|name| (at + 1, name)));
    }
    found
}

/// The enums named by the pattern of an arm, if the line is the beginning of one.
fn variants(arm: &str) -> Vec<String> {
    let is_arm = arm.starts_with(|c: char| c.is_uppercase() || "(|&".contains(c));
    let pattern = arm.split("=>").next().unwrap_or_default();
    let pattern = pattern.split(" if ").next().unwrap_or_default();
    let mut found = Vec::new();
    for (at, _) in pattern.match_indices("::").filter(|_| is_arm) {
        let before = pattern[..at]
            .rsplit(|c: char| !c.is_alphanumeric())
            .next()
            .unwrap_or_default();
        let is_enum = before.starts_with(char::is_uppercase) && !before.is_empty();
        if is_enum && pattern[at + 2..].starts_with(char::is_uppercase) {
            found.push(before.to_string());
        }
    }
    found
}

/// The compiler shows everyone who adds a variant all places that need to handle it.
#[test]
fn the_broker_matches_its_enums_to_the_last_variant() {
    let mut problems = Vec::new();
    for (path, text) in broker() {
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or("");
        for (line, name) in wildcards(code) {
            problems.push(format!("{path}:{line}: {name}"));
        }
    }
    expect_none(
        &problems,
        "`_ =>` over an enum of ours swallows what comes later:",
    );
}

/// Deciding code receives the time and starts nothing: a simulation can drive it.
#[test]
fn the_parts_of_a_partition_have_neither_clocks_nor_threads() {
    const OF_THE_THREAD: [&str; 5] = [
        "Instant::now",
        "SystemTime",
        ".elapsed()",
        "thread::",
        "sleep(",
    ];
    let mut problems = Vec::new();
    for (path, text) in broker() {
        if !path.contains("/partition/parts/") || path.ends_with("tests.rs") {
            continue;
        }
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or("");
        for (number, line) in code.lines().enumerate() {
            if OF_THE_THREAD.iter().any(|name| line.contains(name)) {
                problems.push(format!("{path}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    expect_none(
        &problems,
        "`partition/thread` has the clocks and the threads:",
    );
}

/// Forbidden dependencies within the broker.
const ARROWS: [(&str, &[&str]); 3] = [
    (
        "crates/broker/src/partition/",
        &[
            "crate::cluster",
            "crate::local",
            "crate::shared",
            "crate::router",
            "crate::Broker",
            "crate::queries",
            "crate::asking",
            "crate::hosting",
        ],
    ),
    (
        "crates/broker/src/cluster/",
        &[
            "crate::shared",
            "crate::router",
            "crate::Broker",
            "crate::queries",
            "crate::asking",
            "crate::hosting",
        ],
    ),
    (
        "crates/broker/src/local.rs",
        &[
            "crate::cluster",
            "crate::shared",
            "crate::router",
            "crate::Broker",
            "crate::queries",
            "crate::asking",
            "crate::hosting",
        ],
    ),
];

/// Whether the code has this path, and not only a longer name that begins with it.
fn names_path(code: &str, path: &str) -> bool {
    code.match_indices(path).any(|(at, _)| {
        let next = code[at + path.len()..].chars().next();
        !next.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

#[test]
fn arrows_within_the_broker_point_one_way() {
    let mut problems = Vec::new();
    for (path, text) in broker() {
        for (room, others) in ARROWS {
            let code = without_tests(&text);
            let inside = path.starts_with(room) && !path.ends_with("tests.rs");
            let known = others
                .iter()
                .filter(|other| inside && names_path(code, other));
            problems.extend(known.map(|other| format!("{path} knows {other}")));
        }
    }
    expect_none(&problems, "arrows point one way:");
}

/// Fields that are filled after their struct was made: an object behind a lock is one as well.
fn has_late_cell(code: &str) -> bool {
    const LATE: [&str; 4] = [
        "OnceLock",
        "RwLock<Option<",
        "Mutex<Option<Box<dyn",
        "Mutex<Option<Arc<dyn",
    ];
    LATE.iter().any(|late| code.contains(late))
}

/// Objects created in the right order need no cell that is filled later.
#[test]
fn the_broker_has_no_late_cells() {
    const MAY: [&str; 2] = [
        // The thread itself, known only once it runs.
        "crates/broker/src/partition/inbox.rs",
        // The server's answers, which read the running broker.
        "crates/broker/src/cluster/questions.rs",
    ];
    let late = broker().into_iter().filter(|(_, text)| has_late_cell(text));
    let late = late
        .map(|(path, _)| path)
        .filter(|path| !MAY.contains(&path.as_str()));
    expect_none(
        &late.collect::<Vec<_>>(),
        "a struct has all of its fields when it is made:",
    );
}

#[test]
fn the_checks_see_what_they_look_for() {
    let source = "fn a(x: u8, (b, c): (u64, u32)) -> (u8, u8) {}\nfn d<T>(f: impl Fn(u8), e: &[(usize, usize)], g: (u8, T)) {}";
    let tuples: Vec<usize> = parameters(source)
        .iter()
        .map(|it| bare_tuples(it))
        .collect();
    assert_eq!(tuples, [1, 1]);
    let source = "pub(crate) struct A<'a> {\n    /// One: it.\n    pub x: u8,\n    r#type: B,\n    pub(super) y: C<\n        D,\n    >,\n}\n\
                  struct E;\nstruct F(u8);\n";
    assert_eq!(structs(source), [("A".to_string(), 3)]);
    let over = "match a {\n    Some(A::B { x }) => 1,\n    _ => 2,\n}\nmatch b {\n    1 => C::D,\n    _ => C::E,\n}\n\
                match c {\n    Err(E) if x == F::G => 1,\n    Err(ErrorKind::NotFound) => 2,\n    _ => 3,\n}\n";
    assert_eq!(wildcards(over), [(3, "A".to_string())]);
    let globs = [
        "use super::*;",
        "use a::{self, *};",
        "use A::*;",
        "    use a::*;",
    ];
    assert!(globs.iter().all(|line| is_glob_import(line)));
    let others = [
        "pub use parts::*;",
        "    use A::*;",
        "use a::{B, C};",
        "let x = a::*b;",
    ];
    assert!(!others.iter().any(|line| is_glob_import(line)));
    assert!(has_late_cell("answerer: RwLock<Option<Answerer>>,"));
    assert!(!has_late_cell("last: Mutex<Option<(Instant, Pulse)>>,"));
    assert!(names_path("use crate::Broker;", "crate::Broker"));
    assert!(!names_path("use crate::BrokerConfig;", "crate::Broker"));
}
