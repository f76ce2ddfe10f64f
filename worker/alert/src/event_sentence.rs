//! Describes what happened in one sentence, made by code from an alert's typed fields.
//!
//! The sentence names the actor, the action, the object and the outcome. Where typed fields are too few, the sentence
//! quotes the vendor's title as the vendor's. Values are not escaped here; renderers do that.

use crate::text::{single_line, truncate};
use crate::{Alert, DetailKind, FindingClass, IndicatorRole, Outcome};

mod check;
mod entity;
mod network;
mod operation;
mod product;

use entity::{
    actor, affected_object, affected_principals, grant_suffix, join_names, origin, short_line,
};

/// Maximum number of characters of a vendor's title.
const MAX_TITLE: usize = 240;
/// Maximum number of characters of a title that follows a known action.
const MAX_PURPOSE: usize = 120;
/// Maximum number of characters of a command line.
const MAX_COMMAND: usize = 160;
/// Prefix of the types of attacks that consist of many acts.
const SEQUENCE: &str = "AttackSequence:";
impl Alert {
    /// Returns one sentence that says what happened. The sentence is never empty, and the actor is never also the
    /// object.
    #[must_use]
    pub fn what_happened(&self) -> String {
        let said = match self.class {
            FindingClass::Posture => check::describe_control(self),
            FindingClass::Vulnerability => check::describe_vulnerability(self),
            FindingClass::Threat | FindingClass::SensitiveData | FindingClass::Other => {
                describe_act(self)
            }
        };
        said.unwrap_or_else(|| quote_title(self))
    }

    /// Returns the display name of the product that made the finding.
    #[must_use]
    pub fn product_name(&self) -> String {
        product::name(self)
    }

    /// Returns the addresses and other values of logins that succeeded.
    pub fn logged_in_values(&self) -> impl Iterator<Item = &str> {
        let results = self.details.iter();
        results
            .filter(|one| one.kind == DetailKind::AuthResult && is_success(&one.value))
            .filter_map(|one| one.about.as_deref())
    }
}

/// Returns whether a login result means success.
fn is_success(result: &str) -> bool {
    let result = result.trim().to_ascii_lowercase();
    let mut words = result.split_whitespace();
    words.any(|word| word.starts_with("succe"))
        || matches!(result.as_str(), "ok" | "pass" | "allowed" | "true")
}

/// A clause about an actor: the action in past tense, and as an infinitive for attempts.
struct Clause {
    subject: String,
    past: String,
    infinitive: String,
}

impl Clause {
    /// Returns the clause with the outcome.
    fn with_outcome(&self, alert: &Alert) -> String {
        let Self {
            subject: who,
            past,
            infinitive: base,
        } = self;
        let code = error_code(alert);
        match alert.outcome {
            None | Some(Outcome::Succeeded) => format!("{who} {past}"),
            Some(Outcome::Denied) => format!("{who} tried to {base} and was denied{code}"),
            Some(Outcome::Failed) => format!("{who} tried to {base}, which failed{code}"),
            Some(Outcome::Blocked) => format!("{who} tried to {base} and was blocked"),
            Some(Outcome::NotAttempted) => format!("{who} probed and did not {base}"),
        }
    }
}

fn error_code(alert: &Alert) -> String {
    let mut codes = alert.details_of(DetailKind::ErrorCode);
    codes
        .next()
        .map_or_else(String::new, |code| format!(" ({})", short_line(code)))
}

/// Returns what the actor did, or `None` for an attack that consists of many acts.
fn describe_act(alert: &Alert) -> Option<String> {
    if alert.kind.starts_with(SEQUENCE) {
        return None;
    }
    let said = network::describe_probe(alert)
        .or_else(|| network::describe_login(alert))
        .or_else(|| describe_call(alert))
        .or_else(|| network::describe_dns_query(alert))
        .or_else(|| network::describe_connection(alert))?;
    let command = match alert.details_of(DetailKind::Operation).next() {
        Some(_) => command_line_suffix(alert, &|_| false),
        None => String::new(),
    };
    Some(format!(
        "{said}{}{}{}{}{command}.",
        grant_suffix(alert),
        count_suffix(alert),
        purpose_suffix(alert),
        threat_list_suffix(alert),
    ))
}

/// Describes a call of a cloud's or Kubernetes' API.
fn describe_call(alert: &Alert) -> Option<String> {
    let of_cluster = || {
        let called = alert
            .action
            .as_deref()?
            .strip_prefix("KUBERNETES_API_CALL ")?;
        let on = affected_object(alert).map_or_else(String::new, |name| format!(" cluster {name}"));
        let called = format!("\"{}\" on Kubernetes{on}", short_line(called));
        Some((format!("ran {called}"), format!("run {called}")))
    };
    let of_cloud = || operation::phrase(alert).map(|phrase| (phrase.past, phrase.infinitive));
    let (past, base) = of_cluster().or_else(of_cloud)?;
    let who = actor(alert)?;
    let said = Clause {
        subject: who,
        past,
        infinitive: base,
    }
    .with_outcome(alert);
    Some(format!("{said}{}", origin(alert)))
}

/// Returns the product's interpretation: from the type, else quoted where only the action is known and not its
/// purpose.
fn purpose_suffix(alert: &Alert) -> String {
    match network::purpose(alert) {
        Some(purpose) => format!(", reported as {purpose}"),
        None if operation::has_phrase(alert) => String::new(),
        None => format!(", reported as \"{}\"", title(alert, MAX_PURPOSE)),
    }
}

/// Returns the vendor's title in quotes.
fn title(alert: &Alert, most: usize) -> String {
    let title = single_line(&alert.title);
    let title = truncate(title.trim_end_matches('.'), most);
    title.replace('"', "'")
}

fn count_suffix(alert: &Alert) -> String {
    match alert.count {
        0 | 1 => String::new(),
        count => format!(", {count} times"),
    }
}

/// Returns the threat lists and threat names that the feed reports for a far end.
fn threat_list_suffix(alert: &Alert) -> String {
    let told = |kind| alert.details.iter().filter(move |one| one.kind == kind);
    let unique = |kind| {
        let mut all: Vec<&str> = told(kind).map(|one| one.value.as_str()).collect();
        all.dedup();
        all
    };
    let (lists, names) = (
        unique(DetailKind::ThreatList),
        unique(DetailKind::ThreatName),
    );
    let mut about = told(DetailKind::ThreatList).filter_map(|one| one.about.as_deref());
    let about = about
        .next()
        .map_or_else(String::new, |value| format!("{} is on ", short_line(value)));
    match (lists.is_empty(), names.is_empty()) {
        (true, true) => String::new(),
        (false, true) => format!("; {about}threat list {}", join_names(&lists)),
        (true, false) => format!("; known as {}", join_names(&names)),
        (false, false) => format!(
            "; {about}threat list {} ({})",
            join_names(&lists),
            join_names(&names)
        ),
    }
}

/// Returns the vendor's title, quoted, with the actor, place and object that it leaves out.
fn quote_title(alert: &Alert) -> String {
    let title = title(alert, MAX_TITLE);
    let told = |values: &[&str]| values.iter().any(|value| title.contains(value));
    let mut said = format!("{} reports: \"{title}\"", alert.product_name());
    let all = |role| -> Vec<&str> {
        alert
            .with_role(role)
            .map(|one| one.value.as_str())
            .collect()
    };
    if let Some(who) = actor(alert).filter(|_| !told(&all(IndicatorRole::Actor))) {
        said.push_str(&format!(" by {who}{}", origin(alert).replacen(',', "", 1)));
    }
    let names = alert
        .resources
        .iter()
        .flat_map(|one| [Some(one.id.as_str()), one.name.as_deref()]);
    let names: Vec<&str> = names.flatten().collect();
    let object = affected_object(alert);
    if let Some(object) = object
        .as_deref()
        .filter(|one| !told(&names) && !told(&[one]))
    {
        said.push_str(&format!(" on {object}"));
    }
    let victims = affected_principals(alert);
    let is_object = |one: &&str| object.as_deref() == Some(*one);
    if !victims.is_empty() && !told(&victims) && !victims.iter().any(is_object) {
        said.push_str(&format!(" about {}", join_names(&victims)));
    }
    said.push_str(&grant_suffix(alert));
    said.push_str(&far_end_suffix(alert, &told));
    said.push_str(match alert.outcome {
        Some(Outcome::Denied) => ", which was denied",
        Some(Outcome::Failed) => ", which failed",
        Some(Outcome::Blocked) => ", which was blocked",
        _ => "",
    });
    if matches!(alert.outcome, Some(Outcome::Denied | Outcome::Failed)) {
        said.push_str(&error_code(alert));
    }
    said.push_str(&count_suffix(alert));
    said.push_str(&details_suffix(alert, &told));
    said.push('.');
    said
}

/// Returns the far end, where the title does not name it.
fn far_end_suffix(alert: &Alert, told: &dyn Fn(&[&str]) -> bool) -> String {
    let far = network::far_ends(alert);
    match far.is_empty() || told(&far) {
        true => String::new(),
        false => format!(" involving {}", join_names(&far)),
    }
}

/// Returns the threats, calls and processes that the title does not name.
fn details_suffix(alert: &Alert, told: &dyn Fn(&[&str]) -> bool) -> String {
    // A rule's number means nothing to a reader.
    let is_name = |text: &&str| text.contains(char::is_alphabetic);
    let found = [DetailKind::ThreatName, DetailKind::Signature]
        .map(|kind| alert.details_of(kind).filter(is_name).collect::<Vec<_>>());
    let found = found
        .into_iter()
        .find(|all| !all.is_empty())
        .unwrap_or_default();
    let parts = [("found", found), ("calls", operation::names(alert))];
    let mut said = String::new();
    for (label, values) in parts {
        if !values.is_empty() && !told(&values) {
            said.push_str(&format!("; {label}: {}", join_names(&values)));
        }
    }
    said.push_str(&command_line_suffix(alert, told));
    said
}

/// Returns the command, where the title does not have it.
fn command_line_suffix(alert: &Alert, told: &dyn Fn(&[&str]) -> bool) -> String {
    match alert.details_of(DetailKind::CommandLine).next() {
        Some(command) if !told(&[command]) => {
            let command = truncate(&single_line(command), MAX_COMMAND).into_owned();
            format!("; command line: {command}")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests;
