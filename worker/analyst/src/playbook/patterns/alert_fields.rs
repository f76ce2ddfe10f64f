//! Collects the typed fields of an alert under the names that patterns use.

use nightshift_alert::{Alert, DetailKind, IndicatorKind, IndicatorRole};

use super::{normalise, reader_programs};

/// Names that select several fields.
const GROUPS: &[(&str, &[&str])] = &[
    // Commands that ran or will run.
    (
        "command",
        &[
            "command_line",
            "decoded_command",
            "parent_command_line",
            "persistence",
            "registry_key",
        ],
    ),
    ("program", &["executable", "process", "file"]),
    ("parent", &["parent_process", "parent_executable"]),
    ("written", &["file_written", "file"]),
    // The descriptions of a sign-in, a request for rights or a call, in the words of the product.
    (
        "sign_in",
        &[
            "logon_type",
            "auth_result",
            "operation",
            "action",
            "error_code",
            "outcome",
            "protocol",
            "trait",
        ],
    ),
    ("called", &["operation", "action", "trait"]),
    ("count", &["event_count", "alert_count"]),
    ("account", &["principal", "email"]),
    ("request", &["http_request", "url"]),
    ("query", &["dns_query", "remote_domain"]),
    ("far_end", &["remote_domain", "remote_ip", "url"]),
];

/// Field names that are neither a kind of detail nor a kind of indicator.
#[cfg(test)]
const SYNTHETIC_FIELDS: [&str; 10] = [
    "as_written",
    "executable",
    "parent_executable",
    "action",
    "outcome",
    "alert_count",
    "window_secs",
    "actor",
    "remote_domain",
    "remote_ip",
];

/// One value of an alert.
#[derive(Debug)]
pub(super) struct AlertField {
    name: &'static str,
    /// The value as the alert has it.
    pub(super) original: String,
    /// The normalised texts that expressions are matched against.
    texts: Vec<String>,
    /// The texts of a command without what its programs only read.
    executed_texts: Option<Vec<String>>,
    /// The number at the start of the value.
    pub(super) number: Option<f64>,
    /// The place of the value, `E0:/details/3/value`.
    pub(super) at: String,
}

impl AlertField {
    fn new(name: &'static str, value: &str, at: &str) -> Self {
        Self {
            name,
            original: value.to_owned(),
            texts: normalise::normalised_texts(name, value),
            executed_texts: texts_without_reads(name, value),
            number: normalise::parse_number(value),
            at: at.to_owned(),
        }
    }

    /// Returns the name of the field for people.
    pub(super) fn label(&self) -> String {
        const LABELS: [(&str, &str); 10] = [
            ("executable", "command"),
            ("command_line", "command"),
            ("parent_executable", "parent"),
            ("parent_process", "parent"),
            ("interval_secs", "seconds between"),
            ("event_count", "count"),
            ("alert_count", "count"),
            ("window_secs", "seconds from first to last"),
            ("remote_domain", "domain"),
            ("remote_ip", "address"),
        ];
        let known = LABELS.iter().find(|(name, _)| *name == self.name);
        known.map_or_else(
            || self.name.replace('_', " "),
            |(_, label)| (*label).to_owned(),
        )
    }

    /// Returns the texts that expressions are matched against. With `readers`, they include the arguments that programs
    /// only read.
    pub(super) fn texts(&self, readers: bool) -> &[String] {
        match &self.executed_texts {
            Some(acts) if !readers => acts,
            _ => &self.texts,
        }
    }

    pub(super) fn first_text(&self) -> &str {
        self.texts.first().map_or("", String::as_str)
    }
}

#[derive(Debug)]
pub(super) struct AlertFields(Vec<AlertField>);

impl AlertFields {
    pub(super) fn from_alert(alert: &Alert) -> Self {
        let mut all = Self(Vec::new());
        for (index, detail) in alert.details.iter().enumerate() {
            let at = format!("E0:/details/{index}/value");
            all.add(detail.kind.as_str(), &detail.value, &at);
            if detail.kind == DetailKind::CommandLine {
                all.add("as_written", &detail.value, &at);
            }
            if let Some(program) = program_of(detail.kind) {
                let first = AlertField::new(program, normalise::first_word(&detail.value), &at);
                all.0.push(AlertField {
                    original: detail.value.clone(),
                    ..first
                });
            }
        }
        for (index, one) in alert.indicators.iter().enumerate() {
            let at = format!("E0:/indicators/{index}/value");
            all.add(one.kind.as_str(), &one.value, &at);
            let role = match (one.kind, one.role) {
                (IndicatorKind::Principal | IndicatorKind::Email, IndicatorRole::Actor) => "actor",
                (IndicatorKind::Domain, IndicatorRole::Remote) => "remote_domain",
                (IndicatorKind::Ip, IndicatorRole::Remote) => "remote_ip",
                _ => continue,
            };
            all.add(role, &one.value, &at);
        }
        if let Some(action) = &alert.action {
            all.add("action", action, "E0:/action");
        }
        if let Some(outcome) = alert.outcome {
            all.add("outcome", outcome.as_str(), "E0:/outcome");
        }
        all.add("alert_count", &alert.count.to_string(), "E0:/count");
        if let (Some(first), Some(last)) = (alert.times.first_seen, alert.times.last_seen) {
            let secs = (last - first).num_seconds().max(0);
            all.add("window_secs", &secs.to_string(), "E0:/times/last_seen");
        }
        all.join_programs();
        all
    }

    fn add(&mut self, name: &'static str, written: &str, at: &str) {
        if !written.is_empty() {
            self.0.push(AlertField::new(name, written, at));
        }
    }

    /// Adds the program to the texts of a command, because some products report program and arguments separately.
    fn join_programs(&mut self) {
        let programs: Vec<String> = self
            .named("process")
            .take(2)
            .map(|field| field.first_text().to_owned())
            .collect();
        let commands = self
            .0
            .iter_mut()
            .filter(|field| field.name == "command_line");
        for command in commands {
            for program in &programs {
                let base = program.rsplit('/').next().unwrap_or(program);
                if command.first_text().contains(base) {
                    continue;
                }
                let joined = format!("{program} {}", command.first_text());
                // The program can be a reader itself. Otherwise it goes before the reduced text, if there is one.
                if let Some(kept) =
                    texts_without_reads(command.name, &format!("{program} {}", command.original))
                {
                    command.executed_texts = Some(kept);
                } else if let Some(kept) = &mut command.executed_texts {
                    let first = kept.first().cloned().unwrap_or_default();
                    kept.push(format!("{program} {first}"));
                }
                command.texts.push(joined);
            }
        }
    }

    fn named<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a AlertField> {
        self.0.iter().filter(move |field| field.name == name)
    }

    /// Returns the fields of these names, in the order of the names.
    pub(super) fn of_names<'a>(
        &'a self,
        names: &'a [String],
    ) -> impl Iterator<Item = &'a AlertField> {
        let members = names.iter().flat_map(|name| {
            let group = GROUPS.iter().find(|(group, _)| group == name);
            let all = group.map_or(&[][..], |(_, all)| all).iter().copied();
            all.chain(group.is_none().then_some(name.as_str()))
        });
        members.flat_map(|name| self.named(name))
    }

    /// Returns whether a field or a group has this name.
    #[cfg(test)]
    pub(super) fn knows(name: &str) -> bool {
        let is_group = GROUPS.iter().any(|(group, _)| *group == name);
        let is_indicator = IndicatorKind::ALL.iter().any(|kind| kind.as_str() == name);
        is_group
            || is_indicator
            || SYNTHETIC_FIELDS.contains(&name)
            || DetailKind::parse(name).is_some()
    }
}

/// Returns the texts of a command without what its programs only read, or `None` when the reduction changes nothing.
fn texts_without_reads(name: &str, written: &str) -> Option<Vec<String>> {
    let is_command = matches!(
        name,
        "command_line" | "decoded_command" | "parent_command_line" | "as_written"
    );
    let kept = is_command.then(|| reader_programs::without_reader_arguments(written))??;
    Some(normalise::normalised_texts(name, &kept))
}

/// Returns the field for the program at the start of such a command line.
const fn program_of(kind: DetailKind) -> Option<&'static str> {
    match kind {
        DetailKind::CommandLine => Some("executable"),
        // Some products give the parent with its arguments.
        DetailKind::ParentCommandLine | DetailKind::ParentProcess => Some("parent_executable"),
        _ => None,
    }
}
