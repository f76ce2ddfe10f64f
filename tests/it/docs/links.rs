//! Checks links within the repository: files and headings must exist. Nothing is fetched from the network.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use nightshift_tests::{files_below, repository_root};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use regex::Regex;

use super::{Document, documents};

/// Returns the targets of the links and pictures of a document.
fn links(document: &Document) -> Vec<String> {
    let in_html = Regex::new(r#"(?:src|href)="([^"]+)""#).unwrap();
    let mut found = Vec::new();
    for event in Parser::new_ext(&document.text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                found.push(dest_url.to_string());
            }
            Event::Html(html) | Event::InlineHtml(html) => {
                found.extend(in_html.captures_iter(&html).map(|one| one[1].to_owned()));
            }
            _ => {}
        }
    }
    found
}

/// Returns the anchors that GitHub makes of a document's headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = BTreeSet::new();
    let mut heading: Option<String> = None;
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let slug = slug(&heading.take().unwrap());
                let times = seen.entry(slug.clone()).or_default();
                anchors.insert(if *times == 0 {
                    slug
                } else {
                    format!("{slug}-{times}")
                });
                *times += 1;
            }
            _ => {}
        }
    }
    anchors
}

fn slug(heading: &str) -> String {
    let heading = heading.to_lowercase();
    let kept = heading.chars().filter_map(|one| match one {
        ' ' => Some('-'),
        '-' | '_' => Some(one),
        _ if one.is_alphanumeric() => Some(one),
        _ => None,
    });
    kept.collect()
}

/// Returns the path without `..`.
fn straight(path: &Path) -> PathBuf {
    let mut straight = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                straight.pop();
            }
            Component::CurDir => {}
            other => straight.push(other),
        }
    }
    straight
}

/// Returns the file and anchor of a link, or `None` when the link leaves the repository.
fn target(from: &str, link: &str) -> Option<(PathBuf, String)> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let file = if path.is_empty() {
        PathBuf::from(from)
    } else {
        straight(&Path::new(from).parent().unwrap().join(path))
    };
    Some((file, anchor.to_owned()))
}

/// Returns the pages for beginners: the first table of the index.
pub(super) fn first_pages() -> Vec<String> {
    let index = "docs/README.md";
    let page = Regex::new(r"(?m)^\| [^|\[]+ \| \[[^\]]+\]\(([^)]+)\) \|").unwrap();
    let text = std::fs::read_to_string(repository_root().join(index)).unwrap();
    let mut tables = text
        .split("\n\n")
        .filter(|table| table.contains("your page"));
    let rows = page.captures_iter(tables.next().unwrap());
    rows.filter_map(|row| target(index, &row[1]))
        .map(|(file, _)| file.to_str().unwrap().to_owned())
        .collect()
}

#[test]
fn every_link_leads_to_a_file_and_a_heading_that_there_are() {
    let mut wrong = Vec::new();
    let mut checked = 0;
    for document in documents() {
        for link in links(&document) {
            let Some((file, anchor)) = target(&document.path, &link) else {
                continue;
            };
            checked += 1;
            let there = repository_root().join(&file);
            let has_anchor =
                || anchors(&std::fs::read_to_string(&there).unwrap()).contains(&anchor);
            let is_page = file.extension().is_some_and(|it| it == "md");
            if !there.exists() || (is_page && !anchor.is_empty() && !has_anchor()) {
                wrong.push(format!("{}: {link}", document.path));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(checked > 100, "{checked} links: the search is broken");
}

#[test]
fn every_page_can_be_reached_from_the_index() {
    let documents = documents();
    let mut reached = BTreeSet::from(["docs/README.md".to_owned()]);
    loop {
        let next: BTreeSet<String> = documents
            .iter()
            .filter(|document| reached.contains(&document.path))
            .flat_map(|document| {
                links(document)
                    .into_iter()
                    .filter_map(|link| target(&document.path, &link))
            })
            .map(|(file, _)| file.to_str().unwrap().to_owned())
            .filter(|file| !reached.contains(file))
            .collect();
        if next.is_empty() {
            break;
        }
        reached.extend(next);
    }
    let lost: Vec<&str> = documents
        .iter()
        .map(|document| document.path.as_str())
        .filter(|path| path.starts_with("docs/") && !reached.contains(*path))
        .collect();
    assert_eq!(lost, Vec::<&str>::new());
}

#[test]
fn documents_that_the_program_names_are_there() {
    let name = Regex::new(r"\b(?:docs|deploy)/[a-z0-9/_-]+\.md\b").unwrap();
    let mut wrong = Vec::new();
    for folder in [
        "worker",
        "helm",
        "deploy",
        "tests/support",
        "tests/bench",
        "tests/chaos",
    ] {
        for path in files_below(&repository_root().join(folder)).unwrap() {
            let Ok(text) = std::fs::read_to_string(&path) else {
                continue;
            };
            let named = name.find_iter(&text).map(|one| one.as_str());
            let missing = named.filter(|name| !repository_root().join(name).exists());
            wrong.extend(missing.map(|name| format!("{}: {name}", path.display())));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn anchors_are_made_as_github_makes_them() {
    let text = "# What `nightshift` does, and why\n## Slack\n## Slack\n";
    let anchors = anchors(text);
    let wanted = ["slack", "slack-1", "what-nightshift-does-and-why"];
    assert_eq!(
        anchors.iter().map(String::as_str).collect::<Vec<_>>(),
        wanted
    );
    let up = target("docs/a/b.md", "../c.md#d").unwrap();
    assert_eq!(up, (PathBuf::from("docs/c.md"), "d".to_owned()));
}
