//! What the attacker writes, for the tests of every ticket: reports full of it, and what must not be left of it in any body.

use nightshift_pipeline::{Report, Showing, Shown};
use serde_json::{Value, json};

use crate::hostile::replace;
use crate::{Links, fixture};

/// Where our own links lead in these tests.
pub(super) fn links() -> Links {
    Links {
        public_url: Some("https://nightshift.example.com".into()),
    }
}

/// Reports of every kind with these strings in all that is not ours.
pub(super) fn reports(strings: &[String]) -> Vec<Report> {
    let kinds = [
        fixture::true_positive(),
        fixture::overridden(),
        fixture::benign(),
        fixture::failed(),
    ];
    kinds
        .into_iter()
        .map(|report| {
            let mut value = serde_json::to_value(&report).unwrap();
            replace(&mut value, &mut strings.iter().cycle().cloned());
            value["case_id"] = json!(report.case_id);
            serde_json::from_value(value).unwrap()
        })
        .collect()
}

/// The longest report that any alert can cause: all of it poison, and as many and as long actions as there can be.
pub(super) fn longest() -> Report {
    let mut report = fixture::hostile();
    let mut action = report.actions[0].clone();
    action.command = Some("echo \"<&>`'$\" ".repeat(140));
    action.undo.clone_from(&action.command);
    action.side_effect = Some(fixture::POISON.repeat(9));
    action.precondition.clone_from(&action.side_effect);
    report.actions = vec![action; 40];
    report.title = "👨‍👩‍👧‍👦e\u{301}\u{301}\u{301}\u{301}".repeat(300);
    report.case_id = "k3f9-x2mq-7d1w".into();
    report
}

/// The same case as it is told later: a ticket is there, and said something else.
pub(super) fn later(report: &Report) -> Showing {
    let mut showing = Showing::first(report.clone());
    showing.remote_id = Some("1".into());
    showing.shown = Some(Shown::of(&fixture::true_positive()));
    showing.report.revision += 1;
    showing
}

/// Every string of a payload, and of its keys.
pub(super) fn strings_of(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) => into.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings_of(item, into)),
        Value::Object(fields) => {
            for (name, value) in fields {
                into.push(name.clone());
                strings_of(value, into);
            }
        }
        _ => {}
    }
}

/// A04, A06, A15, A22: nothing to click, nobody to call, nothing hidden. Our own links and commands are left out of it.
pub(super) fn check(payload: &Value, report: &Report) {
    let mut texts = Vec::new();
    strings_of(payload, &mut texts);
    let page = links().case(&report.case_id).unwrap();
    let console = crate::links::console(report).unwrap_or_else(|| page.clone());
    let commands: Vec<&String> = report
        .actions
        .iter()
        .flat_map(|action| [&action.command, &action.undo])
        .flatten()
        .collect();
    for text in texts {
        let mut text = text.replace(&page, "").replace(&console, "");
        for command in &commands {
            text = text.replace(command.trim(), "");
        }
        // Tokens that some program makes something of wherever they stand; syntax is for each vendor's own parser.
        for token in [
            "http://",
            "https://",
            "<!channel",
            "<@",
            "@everyone",
            "@here",
            "[~",
            "[code]",
            "javascript:",
        ] {
            let is_left = text.to_ascii_lowercase().contains(token);
            assert!(!is_left, "{token} in {text}");
        }
        let is_hidden = |c: char| {
            (c.is_control() && c != '\n')
                || matches!(c, '\u{202a}'..='\u{202e}' | '\u{200b}' | '\u{e0000}'..='\u{e007f}')
        };
        assert!(!text.chars().any(is_hidden), "{text:?}");
    }
}

/// A21: what the token is stands nowhere.
pub(super) fn has_no_secret(shown: &str) {
    assert!(!shown.contains("hush"), "{shown}");
    // `maria@example.com:hush`, as it is sent.
    assert!(!shown.contains("bWFyaWF"), "{shown}");
}
