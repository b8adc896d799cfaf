//! Links in documents point to existing pages and headings; the site contains every page.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use support::{expect_none, files, root};

/// Every page, by its path from the root, except for parts of pages that tests write.
fn pages() -> BTreeMap<String, String> {
    let mut pages = files(&[".md"]);
    pages.retain(|path, _| !path.starts_with("crates/"));
    pages
}

/// Lines outside code blocks, without inline code.
fn prose(text: &str) -> Vec<String> {
    let mut code = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            code = !code;
        } else if !code {
            let parts = line.split('`').enumerate();
            let parts = parts.map(|(n, part)| if n % 2 == 0 { part } else { "" });
            lines.push(parts.collect());
        }
    }
    lines
}

/// Targets of links, without those to other hosts.
fn targets(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(text) {
        for part in line.split("](").skip(1) {
            let target = part.split(')').next().unwrap_or_default();
            let target = target.split(' ').next().unwrap_or_default();
            if !target.contains("://") && !target.starts_with("mailto:") && !target.is_empty() {
                found.push(target.to_string());
            }
        }
    }
    found
}

/// The anchors of a page: its headings, as GitHub and mdBook name them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut code = false;
    let mut found = BTreeSet::new();
    for line in text.lines() {
        code ^= line.trim_start().starts_with("```");
        let heading = line.trim_start_matches('#');
        if code || heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        // The text of a link counts, its target does not.
        let mut text = String::new();
        let mut rest = heading.trim();
        while let Some((before, after)) = rest.split_once("](") {
            text.push_str(before);
            rest = after.split_once(')').map_or("", |(_, rest)| rest);
        }
        text.push_str(rest);
        let kept = text.to_lowercase();
        let kept = kept.chars().filter_map(|c| match c {
            ' ' => Some('-'),
            '-' | '_' => Some(c),
            c => c.is_alphanumeric().then_some(c),
        });
        let slug: String = kept.collect();
        let count = seen.entry(slug.clone()).or_default();
        found.insert(match *count {
            0 => slug,
            n => format!("{slug}-{n}"),
        });
        *count += 1;
    }
    found
}

/// `docs/how-to/a.md` and `../b.md` give `docs/b.md`.
fn joined(page: &str, target: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    let beside = Path::new(page).parent().unwrap().join(target);
    for part in beside.components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            Component::Normal(name) => parts.push(name.to_str().unwrap().to_string()),
            _ => {}
        }
    }
    parts.join("/")
}

#[test]
fn links_lead_to_existing_pages_and_anchors() {
    let pages = pages();
    let mut broken = Vec::new();
    let mut seen = 0;
    for (page, text) in &pages {
        for target in targets(text) {
            seen += 1;
            let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let path = match path {
                "" => page.clone(),
                path => joined(page, path),
            };
            let there = root().join(&path).exists();
            let has = |text: &String| anchor.is_empty() || anchors(text).contains(anchor);
            if !there || !pages.get(&path).is_none_or(has) {
                broken.push(format!("{page}: {target}"));
            }
        }
    }
    assert!(seen > 300, "{seen} links were found");
    expect_none(&broken, "links lead to pages and headings that are there:");
}

#[test]
fn the_site_has_every_page_once() {
    let pages = pages();
    let summary = &pages["docs/SUMMARY.md"];
    let listed: Vec<String> = targets(summary)
        .iter()
        .map(|target| joined("docs/SUMMARY.md", target))
        .collect();
    let once: BTreeSet<&String> = listed.iter().collect();
    assert_eq!(listed.len(), once.len(), "a page is listed twice");
    // Error codes and decisions are listed on their own pages, from which `.ci/site` takes them.
    let lists = ["docs/errors/", "docs/adr/", "docs/SUMMARY.md"];
    let all = pages.keys().filter(|page| page.starts_with("docs/"));
    let all = all.filter(|page| !lists.iter().any(|list| page.starts_with(list)));
    let missing: Vec<&String> = all.filter(|page| !once.contains(page)).collect();
    assert!(missing.is_empty(), "docs/SUMMARY.md lacks {missing:?}");
}

#[test]
fn links_and_headings_are_read_as_they_are_shown() {
    let text = "# A `b` [c](d.md)!\n\nSee [x](y.md#z \"title\") and `[no](link)`.\n```\n# none\n[no](link)\n```\n## Same\n## Same\n";
    assert_eq!(targets(text), ["d.md", "y.md#z"]);
    let found = anchors(text);
    let found: Vec<&str> = found.iter().map(String::as_str).collect();
    assert_eq!(found, ["a-b-c", "same", "same-1"]);
    assert_eq!(joined("docs/how-to/a.md", "../b.md"), "docs/b.md");
    assert_eq!(joined("README.md", "docs/b.md"), "docs/b.md");
}
