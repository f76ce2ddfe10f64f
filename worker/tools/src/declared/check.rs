//! Parses the file of a declared tool and finds its mistakes, each with line and column.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use nightshift_engine::tool::{Reach, Trust};
use reqwest::header::{HeaderName, HeaderValue};
use toml::Spanned;
use url::Url;

use super::egress;
use super::language::{FUNCTIONS, LANGUAGE, is_pointer, unknown_filter};
use super::manifest::{
    AnswerTable, ArgumentTable, ArgumentWord, AuthKind, AuthTable, INDICATOR, LimitsTable,
    Manifest, RequestMethod, RequestTable, SpannedText,
};
use super::request::{divide_link, segments, template_texts};

/// Variables that no argument may be named after.
const RESERVED: [&str; 5] = ["body", "status", "rows", "row", "type"];
/// Headers that the engine sets.
const OWN_HEADERS: [&str; 8] = [
    "accept-encoding",
    "authorization",
    "connection",
    "content-length",
    "cookie",
    "host",
    "proxy-authorization",
    "transfer-encoding",
];
/// The longest time-out. A tool call of a case is cut off before that.
const MAX_TIMEOUT_SECS: u64 = 120;
/// Most bytes of an answer: 4 MiB. Expressions read all of it.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// Most requests at the same time.
const MAX_CONCURRENT: usize = 64;
/// The longest cache time: a week. Addresses change hands.
const MAX_CACHE_SECS: u32 = 7 * 24 * 3600;

/// One mistake of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestProblem {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The problem, and what to do.
    pub problem: String,
}

/// A file that declares no usable tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ManifestError {
    /// Path of the file.
    pub file: String,
    /// The mistakes, in the order of the file.
    pub problems: Vec<ManifestProblem>,
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, one) in self.problems.iter().enumerate() {
            let end = if index == 0 { "" } else { "\n" };
            let ManifestProblem {
                line,
                column,
                problem,
            } = one;
            write!(f, "{end}{}:{line}:{column}: {problem}", self.file)?;
        }
        Ok(())
    }
}

impl Manifest {
    /// Parses and checks the text of a file.
    ///
    /// # Errors
    ///
    /// Returns all mistakes with their positions, or the first one if the text is no such TOML.
    pub fn parse(file: &str, text: &str) -> Result<Self, ManifestError> {
        let mut check = Check {
            text,
            problems: Vec::new(),
        };
        let manifest = match toml::from_str::<Self>(text) {
            Ok(manifest) => {
                check.manifest(&manifest);
                Some(manifest)
            }
            Err(error) => {
                check.report(error.span().unwrap_or(0..0), error.message());
                None
            }
        };
        match manifest {
            Some(manifest) if check.problems.is_empty() => Ok(manifest),
            _ => {
                check.problems.sort_by_key(|one| (one.line, one.column));
                Err(ManifestError {
                    file: file.to_owned(),
                    problems: check.problems,
                })
            }
        }
    }
}

struct Check<'a> {
    text: &'a str,
    problems: Vec<ManifestProblem>,
}

impl Check<'_> {
    fn report(&mut self, span: Range<usize>, problem: impl Into<String>) {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        self.problems.push(ManifestProblem {
            line: before.matches('\n').count() + 1,
            column: before.get(line_start..).unwrap_or("").chars().count() + 1,
            problem: problem.into(),
        });
    }

    fn refuse_if(&mut self, condition: bool, span: Range<usize>, problem: &str) {
        if condition {
            self.report(span, problem);
        }
    }

    fn manifest(&mut self, manifest: &Manifest) {
        let whole = || manifest.name.span();
        let name = manifest.name();
        self.refuse_if(
            !is_word(name) || name.len() > 64,
            whole(),
            "`name`: use 1 to 64 of the characters a-z, 0-9 and `_`, beginning with a letter",
        );
        self.refuse_if(
            manifest.title.trim().is_empty() || manifest.description.trim().is_empty(),
            whole(),
            "`title` and `description` must not be empty: an analyst chooses tools by them",
        );
        if let Err(problem) = egress::check_public_name(manifest.host()) {
            self.report(manifest.host.span(), format!("`host`: {problem}"));
        }
        if let Some(page) = &manifest.page {
            self.refuse_if(
                !Url::parse(page.get_ref()).is_ok_and(|url| url.scheme() == "https"),
                page.span(),
                "`page`: write the https address of the vendor's documentation",
            );
        }
        if let Some(date) = &manifest.checked {
            self.refuse_if(
                chrono::NaiveDate::parse_from_str(date.get_ref(), "%Y-%m-%d").is_err(),
                date.span(),
                "`checked`: write a date such as 2026-11-27",
            );
        }
        self.refuse_if(
            manifest.reach == Reach::ThirdParty
                && manifest.trust.values().any(|trust| *trust != Trust::External),
            whole(),
            "`trust`: an answer of a third party is external; `platform` and `register` are for reach = \"internal\"",
        );
        self.refuse_if(
            manifest
                .trust
                .keys()
                .any(|path| !path.is_empty() && !path.starts_with('/')),
            whole(),
            "`trust`: write JSON pointers into the answer, such as /detail",
        );
        if let Some(auth) = &manifest.auth {
            self.auth(auth.get_ref(), auth.span());
        }
        let names = self.arguments(manifest);
        self.refuse_if(
            manifest.requests.is_empty(),
            whole(),
            "a tool needs at least one [[request]]",
        );
        for request in &manifest.requests {
            self.request(request, &names);
        }
        self.answer(&manifest.answer, &names);
        self.outcomes(manifest, &names);
        if let Some(limits) = &manifest.limits {
            self.limits(limits.get_ref(), limits.span());
        }
    }

    fn auth(&mut self, auth: &AuthTable, span: Range<usize>) {
        let problem = match (auth.kind, auth.name.as_deref()) {
            (AuthKind::Header | AuthKind::Query, None) => {
                "[auth] `name`: say which header or parameter holds the secret"
            }
            (AuthKind::Header, Some(name)) if name.parse::<HeaderName>().is_err() => {
                "[auth] `name` is no name of a header"
            }
            (AuthKind::Header, Some(name)) if is_own_header(name) => {
                "[auth] `name`: no request may set this header; `Authorization` is for the kinds basic and bearer"
            }
            (AuthKind::Basic | AuthKind::Bearer, Some(_)) => {
                "[auth] `name` is for the kinds header and query: leave it out"
            }
            _ if (auth.kind == AuthKind::Basic) != auth.user.is_some() => {
                "[auth] `user` names the secret with the user, for the kind basic alone"
            }
            _ if !is_word(auth.secret()) => "[auth] `secret`: use a-z, 0-9 and `_`",
            _ => return,
        };
        self.report(span, problem);
    }

    /// Checks the arguments, and returns the variables that requests see.
    fn arguments(&mut self, manifest: &Manifest) -> Vec<String> {
        let mut names = vec!["type".to_owned()];
        if manifest.arguments.is_empty() {
            names.push(INDICATOR.to_owned());
            self.refuse_if(
                manifest.types().is_empty(),
                manifest.name.span(),
                "no [[request]] says for which `types` of indicators it is, and there is no [[argument]]",
            );
        }
        for argument in &manifest.arguments {
            let name = argument.name.get_ref();
            let is_known = names.contains(name) || RESERVED.contains(&name.as_str());
            self.refuse_if(
                !is_word(name) || is_known,
                argument.name.span(),
                "use a name of its own of the characters a-z, 0-9 and `_`",
            );
            names.push(name.clone());
            self.argument(argument, manifest.reach);
        }
        names
    }

    fn argument(&mut self, argument: &ArgumentTable, reach: Reach) {
        let problem = match argument.kind.get_ref() {
            ArgumentWord::Indicator if argument.types.is_empty() => {
                "an indicator needs `types`, such as [\"ip\", \"domain\"]"
            }
            ArgumentWord::Enum if argument.values.is_empty() => "an enum needs `values`",
            ArgumentWord::Number if argument.min.is_none() || argument.max.is_none() => {
                "a number needs `min` and `max`"
            }
            ArgumentWord::Number if argument.min > argument.max => "`min` is more than `max`",
            ArgumentWord::Text if reach == Reach::ThirdParty => {
                "no free text goes to a third party: use indicator, enum, time or number, or reach = \"internal\""
            }
            ArgumentWord::Text if argument.max_chars.is_none() => "a text needs `max_chars`",
            _ => return,
        };
        self.report(argument.kind.span(), problem);
    }

    fn request(&mut self, request: &Spanned<RequestTable>, names: &[String]) {
        let span = request.span();
        let request = request.get_ref();
        let path = &request.path;
        self.refuse_if(
            !path.get_ref().starts_with('/') || path.get_ref().contains(['?', '#']),
            path.span(),
            "`path` begins with `/` and has no `?`: parameters belong into `query`",
        );
        for segment in segments(path.get_ref()) {
            let opened = segment.matches("{{").count();
            let is_literal = opened == 0 && !segment.contains("{%");
            self.refuse_if(
                opened != segment.matches("}}").count() || (is_literal && is_dots(segment)),
                path.span(),
                "`path`: `/` divides it, so none may stand in `{{ … }}`, and no part is `.` or `..`",
            );
        }
        self.template(path, names);
        if let Some(link) = &request.link {
            let known = ["body", "status", "rows"].map(str::to_owned);
            self.template(link, &[names, &known].concat());
            let parts = divide_link(link.get_ref());
            self.refuse_if(
                parts.is_none_or(|(host, path)| {
                    host.contains("{{") || host.contains('@') || path.contains(['?', '#'])
                }),
                link.span(),
                "`link` begins with https:// and the host of the vendor, and has no `?`",
            );
        }
        let is_family = |family: &String| family.split('.').all(is_word);
        self.refuse_if(
            !request.family.iter().all(is_family),
            span.clone(),
            "`family`: write words with dots between, such as intel.ip",
        );
        if let Some(when) = &request.when {
            self.expression(when, names);
        }
        for (name, value) in &request.headers {
            self.header(name, value);
            self.template(value, names);
        }
        let pairs = request.query.values().chain(request.form.values());
        for value in pairs {
            self.template(value, names);
        }
        if let Some(json) = &request.json {
            for text in template_texts(json) {
                self.template_at(text, &span, names);
            }
        }
        let has_body = !request.form.is_empty() || request.json.is_some();
        self.refuse_if(
            (has_body && request.method == RequestMethod::Get)
                || (!request.form.is_empty() && request.json.is_some()),
            span,
            "`form` or `json`, one of them, is for method = \"POST\"",
        );
    }

    fn header(&mut self, name: &str, value: &SpannedText) {
        self.refuse_if(
            name.parse::<HeaderName>().is_err() || is_own_header(name),
            value.span(),
            "no request may set this header; a key belongs into [auth]",
        );
        self.refuse_if(
            HeaderValue::from_str(value.get_ref()).is_err(),
            value.span(),
            "has characters that no header can hold",
        );
    }

    fn answer(&mut self, answer: &AnswerTable, names: &[String]) {
        let mut names = [names, &["body".to_owned(), "status".to_owned()]].concat();
        for text in [&answer.rows, &answer.message].into_iter().flatten() {
            self.expression(text, &names);
        }
        names.push("rows".to_owned());
        let texts = [
            &answer.found,
            &answer.score,
            &answer.verdict_hint,
            &answer.first_seen,
            &answer.last_seen,
            &answer.tags,
            &answer.gap,
        ];
        for text in texts.into_iter().flatten().chain(answer.detail.values()) {
            self.expression(text, &names);
        }
        names.push("row".to_owned());
        for text in answer.row.values() {
            self.expression(text, &names);
            self.refuse_if(
                answer.rows.is_none(),
                text.span(),
                "[answer.row] needs `rows`",
            );
        }
    }

    fn outcomes(&mut self, manifest: &Manifest, names: &[String]) {
        let names = [names, &["body".to_owned(), "status".to_owned()]].concat();
        for outcome in &manifest.outcomes {
            let span = outcome.span();
            let outcome = outcome.get_ref();
            if let Some(when) = &outcome.when {
                self.expression(when, &names);
            }
            self.refuse_if(
                outcome.status.is_empty() && outcome.when.is_none(),
                span.clone(),
                "an [[outcome]] needs `status`, `when` or both",
            );
            self.refuse_if(
                outcome.status.iter().any(|one| !(200..600).contains(one)),
                span,
                "`status`: use 200 to 599",
            );
        }
    }

    fn limits(&mut self, limits: &LimitsTable, span: Range<usize>) {
        let rates = [limits.per_second, limits.per_minute, limits.per_day];
        self.refuse_if(
            rates.contains(&Some(0)),
            span.clone(),
            "[limits] a rate of 0 would never ask: leave it out, or use 1 or more",
        );
        for (is_right, problem) in [
            (
                (1..=MAX_CONCURRENT).contains(&limits.concurrent),
                "[limits] concurrent: use 1 to 64",
            ),
            (
                (1..=MAX_TIMEOUT_SECS).contains(&limits.timeout_secs),
                "[limits] timeout_secs: use 1 to 120",
            ),
            (
                (1..=MAX_BYTES).contains(&limits.max_bytes),
                "[limits] max_bytes: use 1 to 4194304",
            ),
            (
                limits.cache_secs <= MAX_CACHE_SECS,
                "[limits] cache_secs: use 0 to 604800",
            ),
        ] {
            self.refuse_if(!is_right, span.clone(), problem);
        }
    }

    /// Checks a JSON pointer or an expression over these variables.
    fn expression(&mut self, text: &SpannedText, names: &[String]) {
        if is_pointer(text.get_ref()) {
            return;
        }
        match LANGUAGE.names_of_expression(text.get_ref()) {
            Ok(read) => {
                self.variables(&read, names, text.span());
                self.filters(text.get_ref(), text.span());
            }
            Err(error) => self.syntax(&error, text.get_ref(), text.span()),
        }
    }

    fn template(&mut self, text: &SpannedText, names: &[String]) {
        self.template_at(text.get_ref(), &text.span(), names);
    }

    fn template_at(&mut self, text: &str, span: &Range<usize>, names: &[String]) {
        match LANGUAGE.names_of_template(text) {
            Ok(read) => {
                self.variables(&read, names, span.clone());
                self.filters(text, span.clone());
            }
            Err(error) => self.syntax(&error, text, span.clone()),
        }
    }

    fn variables(
        &mut self,
        read: &std::collections::HashSet<String>,
        names: &[String],
        span: Range<usize>,
    ) {
        let known = |name: &&String| names.contains(name) || FUNCTIONS.contains(&name.as_str());
        let unknown: BTreeSet<&String> = read.iter().filter(|name| !known(name)).collect();
        for name in unknown {
            let problem = format!("there is no {name:?} here; there are {}", names.join(", "));
            self.report(span.clone(), problem);
        }
    }

    fn filters(&mut self, text: &str, span: Range<usize>) {
        if let Some(name) = unknown_filter(text) {
            self.report(span, format!("there is no filter {name:?}"));
        }
    }

    /// Reports a syntax error at its place within the text, if the file writes the text as it is.
    fn syntax(&mut self, error: &minijinja::Error, text: &str, span: Range<usize>) {
        let written = self.text.get(span.start + 1..span.end.saturating_sub(1));
        let offset = match error.range() {
            Some(range) if written == Some(text) => range.start + 1,
            _ => 0,
        };
        let problem = error.detail().unwrap_or("no expression").to_owned();
        self.report(span.start + offset..span.end, problem);
    }
}

fn is_own_header(name: &str) -> bool {
    OWN_HEADERS.contains(&name.to_ascii_lowercase().as_str())
}

fn is_dots(segment: &str) -> bool {
    matches!(segment, "." | "..")
}

/// Returns whether a text is a lower-case word that begins with a letter.
fn is_word(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_lowercase())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}
