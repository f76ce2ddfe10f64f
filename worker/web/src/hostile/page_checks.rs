//! Implements an HTML parser for pages, and the checks that every page must pass.

use std::rc::Rc;

use html5ever::tendril::TendrilSink as _;
use html5ever::{ParseOpts, parse_document};
use markup5ever_rcdom::{Handle, NodeData, RcDom};
use nightshift_alert::text::strip_hidden;

/// Largest page that any alert can cause, in bytes.
const LONGEST: usize = 4 * 1024 * 1024;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ParsedPage {
    /// Element names with the names of their attributes, in order.
    pub(super) elements: Vec<String>,
    pub(super) links: Vec<String>,
    pub(super) ids: Vec<String>,
    /// The texts of command elements.
    pub(super) commands: Vec<String>,
    /// All other text.
    pub(super) text: String,
    errors: usize,
}

fn text_of(node: &Handle, out: &mut String) {
    if let NodeData::Text { contents } = &node.data {
        out.push_str(&contents.borrow());
    }
    for child in node.children.borrow().iter() {
        text_of(child, out);
    }
}

fn walk(node: &Handle, found: &mut ParsedPage) {
    match &node.data {
        NodeData::Comment { .. } => panic!("a comment in a page"),
        NodeData::Text { contents } => found.text.push_str(&contents.borrow()),
        NodeData::Element { name, attrs, .. } => {
            let mut element = name.local.to_string();
            let mut is_command = false;
            for attribute in attrs.borrow().iter() {
                let (key, value) = (
                    attribute.name.local.to_string(),
                    attribute.value.to_string(),
                );
                element.push_str(&format!(" {key}"));
                match key.as_str() {
                    "href" | "src" | "action" => found.links.push(value),
                    "id" => found.ids.push(value),
                    "class" if value == "command" => is_command = true,
                    _ => {}
                }
            }
            found.elements.push(element);
            if is_command {
                let mut text = String::new();
                text_of(node, &mut text);
                found.commands.push(text);
                return;
            }
        }
        _ => {}
    }
    for child in node.children.borrow().iter() {
        walk(child, found);
    }
}

fn parse(html: &str) -> ParsedPage {
    let dom = parse_document(RcDom::default(), ParseOpts::default()).one(html);
    let mut found = ParsedPage {
        errors: dom.errors.borrow().len(),
        ..ParsedPage::default()
    };
    walk(&Rc::clone(&dom.document), &mut found);
    found
}

/// URL of the test alert in its vendor's console, without its name and project.
const CONSOLE: &str = "https://console.cloud.google.com/security/command-center/findingsv2";

/// Returns whether a link leads to that console, with a project and, if given, the full name of the finding,
/// percent-encoded.
fn is_console(link: &str, is_id: fn(char) -> bool) -> bool {
    let Some((name, project)) = link
        .strip_prefix(CONSOLE)
        .and_then(|rest| rest.split_once("?project="))
    else {
        return false;
    };
    let encoded = name.strip_prefix(";name=").unwrap_or(name);
    let is_name = |c: char| c.is_ascii_alphanumeric() || "%-_.".contains(c);
    encoded.chars().all(is_name) && !project.is_empty() && project.chars().all(is_id)
}

/// Returns whether a link comes from a template.
fn is_ours(link: &str) -> bool {
    let rest_is = |prefix: &str, fits: fn(char) -> bool| {
        link.strip_prefix(prefix)
            .is_some_and(|rest| !rest.is_empty() && rest.chars().all(fits))
    };
    let id = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    ["/", "/style.css", "#main", "#people"].contains(&link)
        || is_console(link, id)
        || rest_is("#E", |c| c.is_ascii_digit())
        || rest_is("#F", |c| c.is_ascii_digit())
        || rest_is("/cases/", id)
        || rest_is("/api/v1/cases/", id)
        || link.split_once("?revision=").is_some_and(|(path, number)| {
            ["/cases/", "/api/v1/cases/"]
                .iter()
                .any(|begin| path.starts_with(begin))
                && number.chars().all(|c| c.is_ascii_digit())
        })
        || rest_is("/?", |c| {
            c.is_ascii_alphanumeric() || "=&%+-._*".contains(c)
        })
}

/// Asserts the rules that a page with any contents must meet.
pub(super) fn check(html: &str) -> ParsedPage {
    assert!(html.len() <= LONGEST, "{} bytes", html.len());
    let found = parse(html);
    assert_eq!(found.errors, 0, "not well written: {html}");
    for element in &found.elements {
        let name = element.split(' ').next().unwrap();
        for never in [
            "script", "style", "img", "iframe", "object", "embed", "svg", "math", "base",
            "template",
        ] {
            assert_ne!(name, never);
        }
        for attribute in element.split(' ').skip(1) {
            assert!(
                !attribute.starts_with("on") && attribute != "style",
                "{element}"
            );
        }
    }
    for link in &found.links {
        assert!(is_ours(link), "a link to {link}");
    }
    let mut ids = found.ids.clone();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), found.ids.len(), "an id twice: {:?}", found.ids);
    for token in [
        "http://",
        "https://",
        "<!",
        "<@",
        "@everyone",
        "@here",
        "[~",
    ] {
        assert!(!found.text.contains(token), "{token} in {}", found.text);
    }
    let (_, hidden) = strip_hidden(&found.text);
    assert_eq!(hidden, 0, "hidden characters");
    found
}
