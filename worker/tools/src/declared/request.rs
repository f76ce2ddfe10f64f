//! Writes the request of a call: its templates are rendered and each value is encoded for the place where it stands.
//!
//! A path is rendered segment by segment and each segment is encoded whole, so no value can add a segment, a query or a
//! host. Values of query, form and JSON body are encoded by their writers.

use std::collections::BTreeMap;

use minijinja::Value;
use minijinja::value::Serde;
use nightshift_engine::tool::ToolError;
use nightshift_expression::scope::Scope;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

use super::language::holds;
use super::manifest::{RequestMethod, RequestTable, SpannedText};

/// Characters of a path segment that are encoded: all but the unreserved ones of RFC 3986, and `:`, which every
/// server takes as it is in IPv6 addresses.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b':');

/// A request that can be sent more than once. It holds no secret.
#[derive(Debug, Clone)]
pub(super) struct WrittenRequest {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<String>,
}

/// Returns the first request that is for this type and whose condition holds.
pub(super) fn choose<'a>(
    requests: impl Iterator<Item = &'a RequestTable>,
    kind: Option<nightshift_alert::IndicatorKind>,
    scope: &Scope,
) -> Option<&'a RequestTable> {
    requests
        .filter(|one| one.types.is_empty() || kind.is_some_and(|kind| one.types.contains(&kind)))
        .find(|one| {
            one.when
                .as_ref()
                .is_none_or(|when| holds(scope, when.get_ref()))
        })
}

/// Writes a request below `base`.
///
/// # Errors
///
/// Returns an argument error when a value cannot stand where its template puts it.
pub(super) fn write(
    table: &RequestTable,
    base: &Url,
    scope: &Scope,
) -> Result<WrittenRequest, ToolError> {
    let mut url = base.clone();
    let path = write_path(table.path.get_ref(), scope)?;
    url.set_path(&format!("{}{path}", base.path().trim_end_matches('/')));
    let query = render_pairs(&table.query, scope)?;
    if !query.is_empty() {
        url.query_pairs_mut().extend_pairs(&query);
    }
    let mut headers = HeaderMap::new();
    for (name, value) in &table.headers {
        let value = render(value.get_ref(), scope)?;
        let header = name.parse::<HeaderName>().ok();
        let value = HeaderValue::from_str(&value).ok();
        let (header, value) = header.zip(value).ok_or_else(|| unfit("a header"))?;
        headers.insert(header, value);
    }
    let body = if let Some(json) = &table.json {
        insert_default(&mut headers, "content-type", "application/json");
        Some(serde_json::Value::Object(render_table(json, scope)?).to_string())
    } else if table.form.is_empty() {
        None
    } else {
        let form_type = "application/x-www-form-urlencoded";
        insert_default(&mut headers, "content-type", form_type);
        let pairs = render_pairs(&table.form, scope)?;
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        Some(form.extend_pairs(&pairs).finish())
    };
    insert_default(&mut headers, "accept", "application/json");
    let method = match table.method {
        RequestMethod::Get => Method::GET,
        RequestMethod::Post => Method::POST,
    };
    Ok(WrittenRequest {
        method,
        url,
        headers,
        body,
    })
}

fn insert_default(headers: &mut HeaderMap, name: &'static str, value: &'static str) {
    let name = HeaderName::from_static(name);
    headers
        .entry(name)
        .or_insert(HeaderValue::from_static(value));
}

/// Divides the template of a link into scheme with host, and path.
pub(super) fn divide_link(link: &str) -> Option<(&str, &str)> {
    let rest = link.strip_prefix("https://")?;
    let host = rest.find('/').filter(|host| *host > 0)?;
    link.split_at_checked("https://".len() + host)
}

/// Writes the link to the vendor's page, or `None` if the answer lacks what it needs.
pub(super) fn write_link(table: &RequestTable, scope: &Scope) -> Option<String> {
    let (host, path) = divide_link(table.link.as_ref()?.get_ref())?;
    Some(format!("{host}{}", write_path(path, scope).ok()?))
}

/// Divides a path into its segments.
pub(super) fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').skip(1)
}

fn write_path(path: &str, scope: &Scope) -> Result<String, ToolError> {
    let mut written = String::new();
    for segment in segments(path) {
        let is_template = segment.contains("{{") || segment.contains("{%");
        let text = render(segment, scope)?;
        // An empty or dotted segment would lead to another resource.
        if is_template && matches!(text.as_str(), "" | "." | "..") {
            return Err(unfit("a path"));
        }
        written.push('/');
        written.extend(utf8_percent_encode(&text, SEGMENT));
    }
    Ok(written)
}

fn render(template: &str, scope: &Scope) -> Result<String, ToolError> {
    scope.render(template).map_err(|error| ToolError::Argument {
        argument: super::manifest::INDICATOR.to_owned(),
        problem: error.to_string(),
    })
}

/// Renders pairs; a pair whose value is empty is left out.
fn render_pairs(
    pairs: &BTreeMap<String, SpannedText>,
    scope: &Scope,
) -> Result<Vec<(String, String)>, ToolError> {
    let mut rendered = Vec::new();
    for (name, value) in pairs {
        let value = render(value.get_ref(), scope)?;
        if !value.is_empty() {
            rendered.push((name.clone(), value));
        }
    }
    Ok(rendered)
}

fn render_table(
    table: &toml::Table,
    scope: &Scope,
) -> Result<serde_json::Map<String, serde_json::Value>, ToolError> {
    let fields = table.iter();
    fields
        .map(|(key, value)| Ok((key.clone(), render_value(value, scope)?)))
        .collect()
}

fn render_value(value: &toml::Value, scope: &Scope) -> Result<serde_json::Value, ToolError> {
    Ok(match value {
        toml::Value::String(template) => render(template, scope)?.into(),
        toml::Value::Array(items) => {
            let items = items.iter().map(|item| render_value(item, scope));
            items.collect::<Result<Vec<_>, _>>()?.into()
        }
        toml::Value::Table(table) => render_table(table, scope)?.into(),
        toml::Value::Integer(number) => (*number).into(),
        toml::Value::Float(number) => (*number).into(),
        toml::Value::Boolean(flag) => (*flag).into(),
        toml::Value::Datetime(date) => date.to_string().into(),
    })
}

/// Returns all templates of a JSON body.
pub(super) fn template_texts(table: &toml::Table) -> Vec<&str> {
    fn collect<'a>(value: &'a toml::Value, found: &mut Vec<&'a str>) {
        match value {
            toml::Value::String(text) => found.push(text),
            toml::Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
            toml::Value::Table(table) => table.values().for_each(|value| collect(value, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    table.values().for_each(|value| collect(value, &mut found));
    found
}

fn unfit(place: &str) -> ToolError {
    ToolError::Argument {
        argument: super::manifest::INDICATOR.to_owned(),
        problem: format!("cannot stand in {place} of the request"),
    }
}

/// Returns the value of an argument as a variable.
pub(super) fn variable(value: Option<&serde_json::Value>) -> Value {
    value.map_or_else(|| Value::from(()), |value| Value::from(Serde(value)))
}
