//! Builds the bodies of issues and comments from the report's markdown. Mentions, references to issues and foreign HTML
//! comments are made inert.

use nightshift_alert::text::single_line;
use nightshift_pipeline::delivery_payload::DeliveryPayload;
use nightshift_pipeline::port::DeliveryError;
use nightshift_pipeline::report::Report;
use nightshift_render::document::{Section, header};
use nightshift_render::line::Line;
use nightshift_render::markdown::{self, escape};
use serde_json::{Value, json};

use super::super::{mark, ticket};
use super::config::GitHubConfig;

/// The longest title, in characters ("title is too long (maximum is 256 characters)").
pub(super) const TITLE: usize = 256;
/// The longest body and comment ("body is too long (maximum is 65536 characters)"). The code counts bytes, of which
/// there are at least as many.
pub(super) const BODY: usize = 65_536;
/// The longest name of a label, in characters ("name is too long (maximum is 50 characters)").
pub(super) const LABEL: usize = 50;
/// The label of all issues of Nightshift.
pub(super) const OURS: &str = "ai-triage";

/// Returns the label that identifies the issue of a case.
pub(super) fn label(report: &Report) -> Result<String, DeliveryError> {
    let label = mark::label(report)?;
    if label.len() > LABEL {
        return Err(DeliveryError::Permanent {
            what: format!("the case id {:?} is too long for a label", report.case_id),
        });
    }
    Ok(label)
}

/// Builds the request that makes an issue (`POST /repos/{owner}/{repo}/issues`).
pub(super) fn issue(
    showing: &DeliveryPayload,
    config: &GitHubConfig,
) -> Result<Value, DeliveryError> {
    let report = &showing.report;
    let document = ticket::read(report, config.language);
    let title = header(report, config.language, TITLE);
    let title = neutral(&single_line(title.as_str()));
    let mut labels = vec![label(report)?, OURS.to_owned()];
    labels.extend(config.labels.iter().cloned());
    let key = mark::told(report)?;
    Ok(json!({
        "title": ticket::bounded(title.trim(), TITLE),
        "body": written(&addresses(report, config), &document.sections, report, config, &key),
        "labels": labels,
    }))
}

/// Builds the comment for a later report.
pub(super) fn comment(
    showing: &DeliveryPayload,
    config: &GitHubConfig,
) -> Result<String, DeliveryError> {
    let report = &showing.report;
    let document = ticket::read(report, config.language);
    let change = ticket::change(showing, config.language);
    let first = format!(
        "**{}**\n\n{}\n\n{}",
        neutral(&escape(document.header.as_str())),
        neutral(&escape(change.as_str())),
        addresses(report, config),
    );
    let sections = document
        .sections
        .iter()
        .filter(|one| ticket::is_pressing(one));
    Ok(written(
        &first,
        sections,
        report,
        config,
        &mark::told(report)?,
    ))
}

/// Builds the comment that says that people closed the case.
pub(super) fn closing(line: &Line, key: &str) -> String {
    format!("{}\n\n{}", neutral(&escape(line.as_str())), hidden(key))
}

/// Returns the HTML comment that keeps the key. Readers do not see it.
fn hidden(key: &str) -> String {
    format!("<!-- {key} -->")
}

/// Returns whether a body or comment contains this key.
pub(super) fn keeps(text: &str, key: &str) -> bool {
    text.contains(&hidden(key))
}

fn addresses(report: &Report, config: &GitHubConfig) -> String {
    ticket::addresses(report, &config.links, config.language)
        .into_iter()
        .map(|(name, address)| format!("[{name}](<{address}>)"))
        .collect::<Vec<_>>()
        .join(" · ")
}

/// Joins the first lines, the sections that fit whole, and the key.
fn written<'a>(
    first: &str,
    sections: impl IntoIterator<Item = &'a Section>,
    report: &Report,
    config: &GitHubConfig,
    key: &str,
) -> String {
    let shortened = ticket::shortened(report, config.language);
    let end = format!("**{}**\n\n", escape(shortened.as_str()));
    let key = hidden(key);
    let mut out = match first.trim() {
        "" => String::new(),
        first => format!("{first}\n\n"),
    };
    let mut left = BODY.saturating_sub(out.len() + end.len() + key.len());
    for section in sections {
        let part = neutral(&markdown::part(section, config.language));
        if part.len() + 1 > left {
            out.push_str(&end);
            break;
        }
        left -= part.len() + 1;
        out.push_str(&part);
        out.push('\n');
    }
    out.push_str(&key);
    out
}

/// Makes mentions and references inert: `(@)team`, `(#)12`, `GH(-)12`. Code stays as it is, because GitHub reads
/// neither in code.
pub(super) fn neutral(markdown: &str) -> String {
    let mut out = String::with_capacity(markdown.len() + 16);
    let mut fence: Option<&str> = None;
    for line in markdown.split_inclusive('\n') {
        let text = line.trim();
        let ticks = text.find(|c| c != '`').unwrap_or(text.len());
        let marks = text.get(..ticks).filter(|_| ticks >= 3);
        match (fence, marks) {
            (None, Some(marks)) => fence = Some(marks),
            (Some(open), Some(marks)) if marks.len() >= open.len() && marks == text => fence = None,
            (Some(_), _) => {}
            (None, None) => {
                neutral_line(line, &mut out);
                continue;
            }
        }
        out.push_str(line);
    }
    out
}

fn neutral_line(line: &str, out: &mut String) {
    let mut before: [Option<char>; 3] = [None; 3];
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        let next = rest.as_str().chars().next();
        let is_before_number = next.is_some_and(|c| c.is_ascii_digit());
        let is_word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        match c {
            '@' if is_word(next) && !is_word(before[2]) => out.push_str("(@)"),
            '#' if is_before_number => out.push_str("(#)"),
            '-' if is_before_number && is_gh(before) => out.push_str("(-)"),
            c => out.push(c),
        }
        before = [before[1], before[2], Some(c)];
    }
}

/// Returns whether the characters end in the word `GH`.
fn is_gh([first, g, h]: [Option<char>; 3]) -> bool {
    let begins = first.is_none_or(|c| !c.is_ascii_alphanumeric());
    begins && matches!((g, h), (Some('g' | 'G'), Some('h' | 'H')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a06_nobody_is_called_and_nothing_is_referred_to() {
        for (text, safe) in [
            (
                "@bob and .@org/team, a@b.c",
                "(@)bob and .(@)org/team, a@b.c",
            ),
            ("fixes #12, org/repo#3", "fixes (#)12, org/repo(#)3"),
            ("GH-12 gh-7 high-5", "GH(-)12 gh(-)7 high-5"),
            ("## Head\n# 1", "## Head\n# 1"),
        ] {
            assert_eq!(neutral(text), safe);
        }
        let code = "   ````sh\n   echo #1 @bob\n   ```\n   #2\n   ````\n";
        assert_eq!(neutral(&format!("{code}#3")), format!("{code}(#)3"));
    }
}
