//! `docs/feel.md` lists every builtin with an example. It is written by
//! `SKEP_GOLDEN=write cargo test -p skep-feel --test docs`.

use std::fmt::Write;

fn document() -> String {
    let mut out = include_str!("support/intro.md").to_owned();
    let mut group = "";
    for function in skep_feel::functions() {
        if function.group != group {
            group = function.group;
            let mut title = group.to_owned();
            title[..1].make_ascii_uppercase();
            write!(out, "\n### {title}\n\n| function | what it yields | example | result |\n|---|---|---|---|\n").unwrap();
        }
        let bar = |text: &str| text.replace('|', "\\|");
        let signatures: Vec<String> = function
            .signatures
            .iter()
            .map(|s| format!("`{s}`"))
            .collect();
        writeln!(
            out,
            "| {} | {} | `{}` | `{}` |",
            signatures.join("<br>"),
            function.summary,
            bar(function.example),
            bar(function.result)
        )
        .unwrap();
    }
    out
}

#[test]
fn the_document_lists_the_builtins_as_they_are() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/feel.md");
    if std::env::var("SKEP_GOLDEN").as_deref() == Ok("write") {
        std::fs::write(path, document()).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        found == document(),
        "docs/feel.md is out of date: run SKEP_GOLDEN=write cargo test -p skep-feel --test docs"
    );
}

#[test]
fn the_examples_of_the_language_parse() {
    let intro = include_str!("support/intro.md");
    let table = intro.split("## Failures").next().unwrap();
    let mut checked = 0;
    for line in table
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| construct"))
    {
        let examples = line.splitn(3, '|').nth(2).unwrap();
        for example in examples
            .replace("``", "\u{0}")
            .split(", `")
            .flat_map(|part| part.split("`, "))
        {
            let text = example
                .replace('\u{0}', "")
                .trim()
                .trim_matches('|')
                .trim()
                .trim_matches('`')
                .trim()
                .to_owned();
            let text = if line.contains("first name") && text.contains("first name") {
                "`first name`".to_owned()
            } else {
                text
            };
            if text.contains("/*") || text.starts_with("//") {
                continue;
            }
            let parsed = skep_feel::Expression::parse(&text)
                .map(|_| ())
                .or_else(|_| skep_feel::UnaryTests::parse(&text).map(|_| ()));
            assert!(parsed.is_ok(), "{text}: {parsed:?}");
            checked += 1;
        }
    }
    assert!(checked > 50, "{checked}");
}
