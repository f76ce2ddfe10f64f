//! Describes what happened in one sentence, made by code from an alert's typed fields.
//!
//! The sentence names the actor, the action, the object and the outcome. Where typed fields are too few, the sentence
//! quotes the vendor's title as the vendor's. Values are not escaped here; renderers do that.

use crate::text::{cut, single_line};
use crate::{Alert, Class, DetailKind, Outcome, Role};

mod check;
mod entity;
mod network;
mod operation;
mod product;

use entity::{actor, concerned, granted, named, origin, short, victims};

/// Maximum number of characters of a vendor's title.
const MOST_TITLE: usize = 240;
/// Maximum number of characters of a title that follows a known action.
const MOST_MEANING: usize = 120;
/// Maximum number of characters of a command line.
const MOST_COMMAND: usize = 160;
/// Prefix of the types of attacks that consist of many acts.
const SEQUENCE: &str = "AttackSequence:";
impl Alert {
    /// Returns one sentence that says what happened. The sentence is never empty, and the actor is never also the
    /// object.
    #[must_use]
    pub fn what_happened(&self) -> String {
        let said = match self.class {
            Class::Posture => check::control(self),
            Class::Vulnerability => check::vulnerability(self),
            Class::Threat | Class::SensitiveData | Class::Other => act(self),
        };
        said.unwrap_or_else(|| report(self))
    }

    /// Returns the display name of the product that made the finding.
    #[must_use]
    pub fn product_name(&self) -> String {
        product::name(self)
    }

    /// Returns the addresses and other values of logins that succeeded.
    pub fn let_in(&self) -> impl Iterator<Item = &str> {
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
    who: String,
    past: String,
    base: String,
}

impl Clause {
    /// Returns the clause with the outcome.
    fn ended(&self, alert: &Alert) -> String {
        let Self { who, past, base } = self;
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
        .map_or_else(String::new, |code| format!(" ({})", short(code)))
}

/// Returns what the actor did, or `None` for an attack that consists of many acts.
fn act(alert: &Alert) -> Option<String> {
    if alert.kind.starts_with(SEQUENCE) {
        return None;
    }
    let said = network::probe(alert)
        .or_else(|| network::log_in(alert))
        .or_else(|| call(alert))
        .or_else(|| network::query(alert))
        .or_else(|| network::connection(alert))?;
    let command = match alert.details_of(DetailKind::Operation).next() {
        Some(_) => command_line(alert, &|_| false),
        None => String::new(),
    };
    Some(format!(
        "{said}{}{}{}{}{command}.",
        granted(alert),
        times(alert),
        meaning(alert),
        lists(alert),
    ))
}

/// Describes a call of a cloud's or Kubernetes' API.
fn call(alert: &Alert) -> Option<String> {
    let of_cluster = || {
        let called = alert
            .action
            .as_deref()?
            .strip_prefix("KUBERNETES_API_CALL ")?;
        let on = concerned(alert).map_or_else(String::new, |name| format!(" cluster {name}"));
        let called = format!("\"{}\" on Kubernetes{on}", short(called));
        Some((format!("ran {called}"), format!("run {called}")))
    };
    let of_cloud = || operation::phrase(alert).map(|phrase| (phrase.past, phrase.base));
    let (past, base) = of_cluster().or_else(of_cloud)?;
    let who = actor(alert)?;
    let said = Clause { who, past, base }.ended(alert);
    Some(format!("{said}{}", origin(alert)))
}

/// Returns the product's interpretation: from the type, else quoted where only the action is known and not its
/// purpose.
fn meaning(alert: &Alert) -> String {
    match network::purpose(alert) {
        Some(purpose) => format!(", reported as {purpose}"),
        None if operation::is_known(alert) => String::new(),
        None => format!(", reported as \"{}\"", title(alert, MOST_MEANING)),
    }
}

/// Returns the vendor's title in quotes.
fn title(alert: &Alert, most: usize) -> String {
    let title = single_line(&alert.title);
    let title = cut(title.trim_end_matches('.'), most);
    title.replace('"', "'")
}

fn times(alert: &Alert) -> String {
    match alert.count {
        0 | 1 => String::new(),
        count => format!(", {count} times"),
    }
}

/// Returns the threat lists and threat names that the feed reports for a far end.
fn lists(alert: &Alert) -> String {
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
        .map_or_else(String::new, |value| format!("{} is on ", short(value)));
    match (lists.is_empty(), names.is_empty()) {
        (true, true) => String::new(),
        (false, true) => format!("; {about}threat list {}", named(&lists)),
        (true, false) => format!("; known as {}", named(&names)),
        (false, false) => format!("; {about}threat list {} ({})", named(&lists), named(&names)),
    }
}

/// Returns the vendor's title, quoted, with the actor, place and object that it leaves out.
fn report(alert: &Alert) -> String {
    let title = title(alert, MOST_TITLE);
    let told = |values: &[&str]| values.iter().any(|value| title.contains(value));
    let mut said = format!("{} reports: \"{title}\"", alert.product_name());
    let all = |role| -> Vec<&str> {
        alert
            .with_role(role)
            .map(|one| one.value.as_str())
            .collect()
    };
    if let Some(who) = actor(alert).filter(|_| !told(&all(Role::Actor))) {
        said.push_str(&format!(" by {who}{}", origin(alert).replacen(',', "", 1)));
    }
    let names = alert
        .resources
        .iter()
        .flat_map(|one| [Some(one.id.as_str()), one.name.as_deref()]);
    let names: Vec<&str> = names.flatten().collect();
    let object = concerned(alert);
    if let Some(object) = object
        .as_deref()
        .filter(|one| !told(&names) && !told(&[one]))
    {
        said.push_str(&format!(" on {object}"));
    }
    let victims = victims(alert);
    let is_object = |one: &&str| object.as_deref() == Some(*one);
    if !victims.is_empty() && !told(&victims) && !victims.iter().any(is_object) {
        said.push_str(&format!(" about {}", named(&victims)));
    }
    said.push_str(&granted(alert));
    said.push_str(&far_end(alert, &told));
    said.push_str(match alert.outcome {
        Some(Outcome::Denied) => ", which was denied",
        Some(Outcome::Failed) => ", which failed",
        Some(Outcome::Blocked) => ", which was blocked",
        _ => "",
    });
    if matches!(alert.outcome, Some(Outcome::Denied | Outcome::Failed)) {
        said.push_str(&error_code(alert));
    }
    said.push_str(&times(alert));
    said.push_str(&manner(alert, &told));
    said.push('.');
    said
}

/// Returns the far end, where the title does not name it.
fn far_end(alert: &Alert, told: &dyn Fn(&[&str]) -> bool) -> String {
    let far = network::far_ends(alert);
    match far.is_empty() || told(&far) {
        true => String::new(),
        false => format!(" with far end {}", named(&far)),
    }
}

/// Returns the threats, calls and processes that the title does not name.
fn manner(alert: &Alert, told: &dyn Fn(&[&str]) -> bool) -> String {
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
            said.push_str(&format!("; {label}: {}", named(&values)));
        }
    }
    said.push_str(&command_line(alert, told));
    said
}

/// Returns the command, where the title does not have it.
fn command_line(alert: &Alert, told: &dyn Fn(&[&str]) -> bool) -> String {
    match alert.details_of(DetailKind::CommandLine).next() {
        Some(command) if !told(&[command]) => {
            let command = cut(&single_line(command), MOST_COMMAND).into_owned();
            format!("; command line: {command}")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests;
