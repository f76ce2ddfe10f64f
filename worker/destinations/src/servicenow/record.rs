//! Builds the contents of incidents and work notes. All of it is plain text. Only journal fields know markup: they
//! render HTML between `[code]` marks, which are removed here.

use nightshift_alert::text::single_line;
use nightshift_pipeline::delivery_payload::DeliveryPayload;
use nightshift_pipeline::port::DeliveryError;
use nightshift_pipeline::report::Report;
use nightshift_render::document::{Section, header};
use nightshift_render::line::Line;
use nightshift_render::outline;
use serde_json::{Map, Value, json};

use super::super::{case_id, mark, ticket};
use super::config::{ResolveConfig, ServiceNowConfig};

/// The longest `short_description` (dictionary of `task`). ServiceNow silently cuts longer text.
pub(super) const SHORT: usize = 160;
/// The longest `description` (dictionary of `task`), and our limit for a work note, whose own limit depends on the
/// instance.
pub(super) const LONG: usize = 4_000;
/// The longest `correlation_id` and `correlation_display` (dictionary of `task`).
pub(super) const CORRELATION: usize = 100;

/// Builds the request that makes an incident (`POST /api/now/table/incident`).
pub(super) fn incident(
    showing: &DeliveryPayload,
    config: &ServiceNowConfig,
) -> Result<Value, DeliveryError> {
    let report = &showing.report;
    let document = ticket::read(report, config.language);
    let mut fields: Map<String, Value> = config
        .fields
        .iter()
        .map(|(name, value)| (name.clone(), json!(value)))
        .collect();
    let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    let title = header(report, config.language, SHORT);
    let short = single_line(title.as_str());
    set(
        "short_description",
        json!(ticket::bounded(short.trim(), SHORT)),
    );
    let first = addresses(report, config);
    set(
        "description",
        json!(text(first, &document.sections, report, config, "")),
    );
    set("correlation_id", json!(case_id(report)?));
    set("correlation_display", json!(mark::told(report)?));
    if let Some((impact, urgency)) = config.urgency(report.assessed_severity) {
        set("impact", json!(impact.to_string()));
        set("urgency", json!(urgency.to_string()));
    }
    let too_long = |name: &str| {
        let units = fields.get(name).and_then(Value::as_str);
        units.is_some_and(|text| text.len() > CORRELATION)
    };
    if too_long("correlation_id") || too_long("correlation_display") {
        return Err(DeliveryError::Permanent {
            what: format!(
                "the case id {:?} is too long for an incident",
                report.case_id
            ),
        });
    }
    Ok(Value::Object(fields))
}

/// Builds the work note for a later report.
pub(super) fn note(
    showing: &DeliveryPayload,
    config: &ServiceNowConfig,
) -> Result<String, DeliveryError> {
    let report = &showing.report;
    let document = ticket::read(report, config.language);
    let change = ticket::change(showing, config.language);
    let mut first = vec![
        document.header.as_str().to_owned(),
        change.as_str().to_owned(),
    ];
    first.extend(addresses(report, config));
    let sections = document
        .sections
        .iter()
        .filter(|one| ticket::is_pressing(one));
    Ok(text(first, sections, report, config, &mark::told(report)?))
}

/// Builds the note that says that people closed the case.
pub(super) fn closing(line: &Line, key: &str) -> String {
    format!("{}\n\n{key}", without_code(line.as_str()))
}

/// Builds the fields of a resolved incident.
pub(super) fn resolved(resolve: &ResolveConfig, line: &Line) -> Value {
    json!({
        "state": resolve.state,
        "close_code": resolve.close_code,
        "close_notes": without_code(line.as_str()),
    })
}

fn addresses(report: &Report, config: &ServiceNowConfig) -> Vec<String> {
    ticket::addresses(report, &config.links, config.language)
        .into_iter()
        .map(|(name, address)| format!("{name}: {address}"))
        .collect()
}

/// Joins the first lines, the sections that fit, and the key.
fn text<'a>(
    first: Vec<String>,
    sections: impl IntoIterator<Item = &'a Section>,
    report: &Report,
    config: &ServiceNowConfig,
    key: &str,
) -> String {
    let first = first.join("\n");
    let shortened = ticket::shortened(report, config.language);
    let count = |text: &str| text.encode_utf16().count() + 2;
    let kept = count(&first) + count(shortened.as_str()) + count(key);
    let (said, is_whole) = outline::text(sections, config.language, LONG.saturating_sub(kept));
    let end = if is_whole { "" } else { shortened.as_str() };
    let parts = [&first, &said, end, key];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    without_code(&parts.collect::<Vec<_>>().join("\n\n"))
}

/// Removes the marks between which a journal field renders HTML. The length stays the same.
fn without_code(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('[') {
        let (before, bracket) = rest.split_at(at);
        out.push_str(before);
        let inner = bracket.trim_start_matches(['[', '/', ' ', '\\']);
        let is_code = inner
            .get(..4)
            .is_some_and(|word| word.eq_ignore_ascii_case("code"));
        out.push(if is_code { '(' } else { '[' });
        rest = bracket.get(1..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a04_no_mark_of_html_is_left() {
        for (text, safe) in [
            ("[code]<a href=x>[/code]", "(code]<a href=x>(/code]"),
            ("[CoDe] [ code] [[code]", "(CoDe] ( code] ((code]"),
            ("E3 [E3] evil[.]com [co", "E3 [E3] evil[.]com [co"),
        ] {
            assert_eq!(without_code(text), safe);
        }
    }
}
