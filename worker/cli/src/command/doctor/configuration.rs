//! Checks across tables of the configuration: whether they fit together.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use nightshift_engine::doctor::HealthReport;
use nightshift_engine::key::{KeyLocation, KeyRef};
use nightshift_pipeline::canary::Canary;
use nightshift_pipeline::route::Match;
use nightshift_store::redact_password;
use secrecy::ExposeSecret as _;

use super::sources;
use crate::config::{
    AnySourceConfig, Config, DestinationConfig, FeedConfig, LoadedConfig, secret_file,
    secret_reader,
};
use crate::logs::filter;

/// Checks the effective configuration.
pub(super) fn probe(loaded: &LoadedConfig, now: DateTime<Utc>) -> HealthReport {
    let config = &loaded.config;
    let mut checkup = HealthReport::default();
    let file = loaded
        .file
        .as_ref()
        .map_or("no file: the defaults".to_owned(), |path| {
            path.display().to_string()
        });
    checkup.add_observation(file);
    if !loaded.environment.is_empty() {
        checkup.add_observation(format!(
            "{} settings of the environment",
            loaded.environment.len()
        ));
    }
    log_level(config, &mut checkup);
    sources::probe_overlaps(config, &mut checkup);
    feeds(config, &mut checkup);
    destinations(config, &mut checkup);
    routes(config, &mut checkup);
    mutes(config, now, &mut checkup);
    canary(loaded, now, &mut checkup);
    secrets(loaded, &mut checkup);
    readable_secret_files(loaded, &mut checkup);
    links(config, &mut checkup);
    checkup
}

/// Checks the log level. The doctor itself starts with any level, because it uses its own.
fn log_level(config: &Config, checkup: &mut HealthReport) {
    if let Err(error) = filter(&config.log.level, false, false) {
        checkup.add_error(
            "configuration.log_level",
            error.to_string(),
            "no other command starts, the worker included",
            "write error, warn, info, debug or trace, or directives such as \"warn,nightshift_tools=debug\"",
        );
    }
}

/// Finds feeds whose numeric severities may be on an unknown scale.
fn feeds(config: &Config, checkup: &mut HealthReport) {
    let unscaled = config
        .feeds
        .iter()
        .filter(|feed| feed.lacks_severity_scale());
    let names: Vec<&str> = unscaled.map(FeedConfig::name).collect();
    if !names.is_empty() {
        checkup.add_warning(
            "configuration.severity_scale",
            format!("no scale is known for the severities of [[feed]] {}", names.join(", ")),
            "a number is taken to be one of 0 to 100, and an unknown word counts as medium",
            "say `severity = { scale = \"0-10\" }` or another one (docs/findings.md), `scale = \"words\"` where they are words",
        );
    }
}

fn destinations(config: &Config, checkup: &mut HealthReport) {
    let canary = &config.canary;
    let canarys = canary
        .destination(config)
        .ok()
        .filter(|_| canary.is_enabled())
        .map(DestinationConfig::name);
    let named = |name: &str| {
        let lists = config
            .routes
            .iter()
            .flat_map(|one| one.destinations.iter().chain(&one.otherwise));
        lists.flatten().any(|one| one == name)
            || config
                .digest
                .as_ref()
                .is_some_and(|one| one.destination == name)
            || canarys == Some(name)
    };
    let unused: Vec<&str> = config
        .destinations
        .iter()
        .map(|one| one.name())
        .filter(|name| !named(name))
        .collect();
    if !unused.is_empty() {
        checkup.add_warning(
            "configuration.unused_destination",
            format!("no [[route]] leads to {}", unused.join(", ")),
            "nothing is ever sent there",
            format!(
                "name it in a route: [[route]] destinations = [{:?}]",
                unused.first().unwrap_or(&"")
            ),
        );
    }
}

/// Checks whether every alert has a destination and every route can be reached. The first route that matches and
/// names destinations applies.
fn routes(config: &Config, checkup: &mut HealthReport) {
    let sends_all = config.routes.iter().any(|route| {
        let somewhere = route
            .destinations
            .as_ref()
            .is_some_and(|all| !all.is_empty());
        somewhere && route.when == Match::default()
    });
    if !sends_all {
        checkup.add_warning(
            "configuration.no_route",
            "there is no [[route]] with destinations that fits every alert",
            "alerts without a matching route appear only in `nightshift cases list` and on the \
             pages; nobody is notified",
            "add one without `when` as the last: [[route]] destinations = [\"…\"]",
        );
    }
    let mut told = config.routes.iter().enumerate();
    let hidden = told.find_map(|(at, route)| {
        let before = config.routes.iter().take(at);
        let mut before = before
            .enumerate()
            .filter(|(_, one)| one.destinations.is_some());
        let hides = |when: &Match| fits_every_alert(when) || *when == route.when;
        let hiding = before.find(|(_, one)| hides(&one.when))?;
        let names = route.destinations.as_ref().filter(|all| !all.is_empty())?;
        Some((at, names.join(", "), hiding.0))
    });
    if let Some((at, names, by)) = hidden {
        let (at, by) = (at + 1, by + 1);
        checkup.add_warning(
            "configuration.route_hidden",
            format!("[[route]] {at} never leads to {names}: [[route]] {by} fits whatever it fits, and comes first"),
            "the first matching route with destinations applies, so alerts for this one go \
             elsewhere",
            format!("put it before [[route]] {by}, or name its destinations there, too"),
        );
    }
}

/// Returns whether the condition is empty.
fn fits_every_alert(when: &Match) -> bool {
    when.is_empty() && when.severity_at_least.is_none() && when.verdict.is_empty()
}

/// Checks the keys of canaries. Nothing is advised when no canaries are sent.
fn canary(loaded: &LoadedConfig, now: DateTime<Utc>, checkup: &mut HealthReport) {
    let canary = &loaded.config.canary;
    let Some(key) = canary.key().filter(|_| canary.is_enabled()) else {
        return;
    };
    let sample = Canary {
        source: String::new(),
        every: canary.every(),
        keys: secret_reader(key.location(), loaded.base()),
    };
    match sample.message(0, now) {
        Ok(_) => checkup.add_observation(format!("a canary every {} minutes", canary.every_minutes)),
        Err(why) => checkup.add_error(
            "configuration.canary_key",
            format!("[canary] key: {why}"),
            "no canary can be signed, so a worker that takes messages does not start",
            "put what `openssl rand -hex 32` prints where the key is read from, for the user of the worker",
        ),
    }
}

fn mutes(config: &Config, now: DateTime<Utc>, checkup: &mut HealthReport) {
    let mutes = config
        .admission_policy()
        .map(|policy| policy.mutes)
        .unwrap_or_default();
    let over: Vec<&str> = mutes
        .iter()
        .filter(|one| one.until <= now)
        .map(|one| one.name.as_str())
        .collect();
    if !over.is_empty() {
        checkup.add_warning(
            "configuration.mute_over",
            format!("the mute {} has ended", over.join(", ")),
            "it hides nothing any more, and whoever reads the file may think it does",
            "take the [[mute]] out, or set another `until`",
        );
    }
}

/// Checks the address of links in reports.
fn links(config: &Config, checkup: &mut HealthReport) {
    let is_network = |one: &DestinationConfig| {
        !matches!(
            one,
            DestinationConfig::File { .. } | DestinationConfig::Webhook(_)
        )
    };
    if config.web.public_url.is_empty() && config.destinations.iter().any(is_network) {
        checkup.add_warning(
            "web.no_public_url",
            "[web] public_url is empty",
            "reports in Slack and tickets have no link to their case, and Slack has no buttons",
            "set it to where people reach the pages: public_url = \"https://nightshift.example.com\"",
        );
    }
}

/// Finds secrets written in the file itself.
fn secrets(loaded: &LoadedConfig, checkup: &mut HealthReport) {
    let config = &loaded.config;
    let mut places = Vec::new();
    let in_file = |variable: &str| {
        let mut names = loaded.environment.iter();
        !names.any(|name| name.starts_with(variable))
    };
    if redact_password(&config.store.url) != config.store.url && in_file("NIGHTSHIFT__STORE__URL") {
        places.push("[store] url".to_owned());
    }
    let direct = &config.store.notify_url;
    if redact_password(direct) != *direct && in_file("NIGHTSHIFT__STORE__NOTIFY_URL") {
        places.push("[store] notify_url".to_owned());
    }
    if config.store.password.as_ref().is_some_and(is_written_out)
        && in_file("NIGHTSHIFT__STORE__PASSWORD")
    {
        places.push("[store] password".to_owned());
    }
    for source in &config.sources {
        if let AnySourceConfig::Rabbitmq(one) = source {
            let password = one
                .password
                .as_ref()
                .map(|text| KeyRef::from(text.expose_secret()));
            if has_password(one.url.expose_secret())
                || password.as_ref().is_some_and(is_written_out)
            {
                places.push(format!("[[source]] {}", one.name));
            }
        }
    }
    let models = config
        .models
        .iter()
        .filter(|one| one.api_key.as_ref().is_some_and(is_written_out));
    places.extend(models.map(|one| format!("[[model]] {}", one.name)));
    if config.canary.key().is_some_and(is_written_out) && in_file("NIGHTSHIFT__CANARY__KEY") {
        places.push("[canary] key".to_owned());
    }
    let destinations = config
        .destinations
        .iter()
        .filter(|one| one.secrets().into_iter().any(is_written_out));
    places.extend(destinations.map(|one| format!("[[destination]] {}", one.name())));
    if config.traces.headers.values().any(is_written_out) && in_file("NIGHTSHIFT__TRACES__HEADERS")
    {
        places.push("[traces] headers".to_owned());
    }
    if !places.is_empty() {
        checkup.add_warning(
            "configuration.secret_in_file",
            format!("a secret is written out in {}", places.join(", ")),
            "whoever reads the file, its backups or its repository has it",
            "put it into a file of its own, and write \"file:PATH\": it is read again while the worker runs; or into the \
             environment, and write \"env:NAME\", which wants a restart after a change",
        );
    }
}

/// Finds secret files that other users can read.
fn readable_secret_files(loaded: &LoadedConfig, checkup: &mut HealthReport) {
    let mut files = BTreeSet::new();
    for value in loaded.table.values() {
        add_secret_files(value, loaded.base(), &mut files);
    }
    files.retain(|path| is_readable_by_others(path));
    if !files.is_empty() {
        let files: Vec<String> = files
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        checkup.add_warning(
            "configuration.secret_readable",
            format!("other users can read {}", files.join(", ")),
            "whoever has an account or runs a program on this machine has the secret",
            "run `chmod 600` on it as the user of the worker, or mount it with the mode 0440 (Kubernetes: `defaultMode`)",
        );
    }
}

/// Adds the file of each `file:PATH` in a value.
fn add_secret_files(value: &toml::Value, base: &Path, files: &mut BTreeSet<PathBuf>) {
    match value {
        toml::Value::String(text) => files.extend(secret_file(text, base)),
        toml::Value::Array(all) => {
            for one in all {
                add_secret_files(one, base, files);
            }
        }
        toml::Value::Table(all) => {
            for (_, one) in all {
                add_secret_files(one, base, files);
            }
        }
        _ => {}
    }
}

/// Returns whether users beside the worker's own can read a file. If the file belongs to another user, the worker reads
/// it by its group, which is as it should be.
#[cfg(unix)]
fn is_readable_by_others(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(path).is_ok_and(|file| {
        let is_ours = file.uid() == rustix::process::geteuid().as_raw();
        let others = if is_ours { 0o044 } else { 0o004 };
        file.is_file() && file.mode() & others != 0
    })
}

#[cfg(not(unix))]
fn is_readable_by_others(_: &Path) -> bool {
    false
}

fn is_written_out(key: &KeyRef) -> bool {
    matches!(key.location(), KeyLocation::Value(text) if !text.expose_secret().is_empty())
}

/// Returns whether the address contains a password.
fn has_password(url: &str) -> bool {
    let user = url
        .split_once("://")
        .and_then(|(_, rest)| rest.split_once('@'));
    user.is_some_and(|(user, _)| user.contains(':'))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::config::load;

    #[test]
    fn secret_file_that_others_can_read_is_a_warning() {
        let dir = tempfile::tempdir().unwrap();
        let config = dir.path().join("nightshift.toml");
        std::fs::create_dir(dir.path().join("blobs")).unwrap();
        std::fs::write(dir.path().join("pw"), "hush").unwrap();
        std::fs::write(dir.path().join("token"), "hush").unwrap();
        let text = "[store]\npassword = \"file:pw\"\n[blobs]\nurl = \"file:blobs\"\n\
            [web]\ntokens = [\"file:token\", \"file:missing\"]\n";
        std::fs::write(&config, text).unwrap();
        let found = |mode| {
            for name in ["pw", "token"] {
                let mode = std::fs::Permissions::from_mode(mode);
                std::fs::set_permissions(dir.path().join(name), mode).unwrap();
            }
            let mut checkup = HealthReport::default();
            readable_secret_files(&load(Some(&config)).unwrap(), &mut checkup);
            checkup.failed_checks
        };
        assert!(found(0o600).is_empty() && found(0o400).is_empty());
        for mode in [0o640, 0o604, 0o644] {
            let found = found(mode);
            assert_eq!(found.len(), 1, "{mode:o}: {found:?}");
            assert_eq!(found[0].check, "configuration.secret_readable");
            let paths = ["pw", "token"].map(|name| dir.path().join(name).display().to_string());
            assert_eq!(
                found[0].what,
                format!("other users can read {}", paths.join(", "))
            );
        }
    }
}
