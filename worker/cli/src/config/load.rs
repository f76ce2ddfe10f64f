//! Loads the configuration. Errors name the file, the line, and the nearest known key.

mod bounds;
mod error_text;
mod redaction;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use nightshift_store::{StoreUrl, redact_password};
use toml::{Table, Value};

use super::environment::{names, overlay, settings, suggest_nearest, variable};
use super::otel::{OtelUse, OtelVariables};
use super::{Config, DEFAULTS, feed_names, secret};

/// The default configuration file.
const DEFAULT_FILE: &str = "nightshift.toml";

/// A configuration with its origins.
#[derive(Debug, Clone)]
pub(crate) struct LoadedConfig {
    /// The effective configuration.
    pub(crate) config: Config,
    /// The effective configuration as a table, for `config show`.
    pub(crate) table: Table,
    /// The configuration file, if there is one.
    pub(crate) file: Option<PathBuf>,
    /// The text of the file when it was read.
    pub(crate) text: Option<String>,
    /// The names of the environment variables that apply.
    pub(crate) environment: Vec<String>,
    /// The result of reading the standard variables of OpenTelemetry.
    pub(crate) otel: OtelUse,
}

impl LoadedConfig {
    /// Returns the compiled-in defaults without file and environment.
    pub(crate) fn defaults() -> anyhow::Result<Self> {
        let table: Table = DEFAULTS.parse().context("the compiled-in defaults")?;
        Self::from_table(table, None, Vec::new())
    }

    /// Validates a table.
    fn from_table(
        table: Table,
        file: Option<PathBuf>,
        environment: Vec<String>,
    ) -> anyhow::Result<Self> {
        let config = config(&table)?;
        check(&config)?;
        let mut loaded = Self {
            config,
            table,
            file,
            text: None,
            environment,
            otel: OtelUse::default(),
        };
        loaded.config = loaded.config.clone().resolve_paths(loaded.base());
        Ok(loaded)
    }

    /// Returns the files and folders that the configuration depends on: itself, playbooks, prompts, tokens of the
    /// pages, certificate authorities. Other secrets are excluded, because they are read at each use.
    pub(crate) fn watched_files(&self) -> Vec<PathBuf> {
        let profiles = &self.config.profiles;
        let mut files: Vec<PathBuf> = self.file.iter().cloned().collect();
        files.push(self.config.playbooks.dir.clone());
        files.push(self.config.tool_settings.dir.clone());
        files.extend(profiles.iter().map(|one| one.prompts.clone()));
        files.extend(profiles.iter().filter_map(|one| one.replan_file()));
        let tokens = self.config.web.tokens.iter().map(String::as_str);
        files.extend(tokens.filter_map(|token| secret::secret_file(token, self.base())));
        // The file in the store's address is relative to the working directory.
        files.extend(self.config.store.root_certificate_file());
        collect_ca_files(&self.table, &mut |path| files.push(self.base().join(path)));
        files.retain(|path| !path.as_os_str().is_empty());
        files
    }

    /// Returns the folder that relative paths start from.
    pub(crate) fn base(&self) -> &Path {
        self.file
            .as_deref()
            .and_then(Path::parent)
            .unwrap_or_else(|| Path::new(""))
    }
}

/// Finds each `ca_file`, because clients are built from its contents.
fn collect_ca_files(table: &Table, found: &mut impl FnMut(&str)) {
    for (key, value) in table {
        match value {
            // An empty path means none, not the folder of the configuration.
            Value::String(path) if key == "ca_file" && !path.is_empty() => found(path),
            Value::Table(table) => collect_ca_files(table, found),
            Value::Array(all) => {
                let tables = all.iter().filter_map(Value::as_table);
                tables.for_each(|table| collect_ca_files(table, found));
            }
            _ => {}
        }
    }
}

pub(crate) fn load(named: Option<&Path>) -> anyhow::Result<LoadedConfig> {
    let defaults: Table = DEFAULTS.parse().context("the compiled-in defaults")?;
    let mut table = defaults.clone();
    let default_file = Path::new(DEFAULT_FILE);
    let file = named.or_else(|| default_file.is_file().then_some(default_file));
    let read = |path: &Path| {
        std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the configuration {}", path.display()))
    };
    let text = file.map(read).transpose()?;
    let standard = OtelVariables::read(variable);
    standard.remove_defaults(&mut table);
    if let (Some(path), Some(text)) = (file, &text) {
        merge(&mut table, parse(path, text)?);
    }
    let settings = settings().map_err(|problem| anyhow!(problem))?;
    let mut environment = apply_environment(&mut table, &defaults, settings)?;
    let otel = standard.fill(&mut table, &defaults);
    environment.extend(otel.names.iter().cloned());
    let loaded = LoadedConfig::from_table(table, file.map(Path::to_owned), environment)?;
    Ok(LoadedConfig {
        text,
        otel,
        ..loaded
    })
}

/// Returns the default configuration file and the variables, if they exist.
pub(crate) fn detected_settings() -> Vec<String> {
    let file = Path::new(DEFAULT_FILE)
        .is_file()
        .then(|| DEFAULT_FILE.to_owned());
    file.into_iter().chain(names()).collect()
}

/// Applies settings of the environment to the table. Errors name the variable.
fn apply_environment(
    table: &mut Table,
    defaults: &Table,
    settings: Vec<(String, String)>,
) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for (name, text) in settings {
        overlay(table, defaults, &name, &text).map_err(|problem| anyhow!(problem))?;
        config(table).map_err(|error| anyhow!("{name}: {error}"))?;
        names.push(name);
    }
    Ok(names)
}

fn config(table: &Table) -> anyhow::Result<Config> {
    let read = Value::Table(table.clone())
        .try_into()
        .map(Config::set_links);
    read.map_err(|error: toml::de::Error| anyhow!(error_text::message_text(error.message())))
}

/// Parses the file into a table and checks each key, so that errors have a position.
fn parse(path: &Path, text: &str) -> anyhow::Result<Table> {
    let no_toml = |error| anyhow!(error_text::syntax_error(path, text, &error));
    let file = toml::Deserializer::parse(text).map_err(no_toml)?;
    serde_path_to_error::deserialize::<_, Config>(file)
        .map_err(|error| anyhow!(error_text::file_error(path, text, &error)))?;
    text.parse().map_err(no_toml)
}

/// Merges one table over another. Lists are replaced whole.
fn merge(below: &mut Table, above: Table) {
    for (key, value) in above {
        match (below.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => merge(below, above),
            (_, value) => {
                below.insert(key, value);
            }
        }
    }
}

/// Validates what types cannot express.
fn check(config: &Config) -> anyhow::Result<()> {
    refuse_if(
        StoreUrl::parse(&config.store.url).is_none(),
        format!(
            "[store] url = {:?}: write sqlite:PATH, the path of a file, or postgres://USER@HOST/DATABASE",
            redact_password(&config.store.url)
        ),
    )?;
    let direct = &config.store.notify_url;
    refuse_if(
        !direct.is_empty() && !matches!(StoreUrl::parse(direct), Some(StoreUrl::Postgres(_))),
        format!(
            "[store] notify_url = {:?}: write postgres://USER@HOST/DATABASE, or leave it empty",
            redact_password(direct)
        ),
    )?;
    config.blobs.check().map_err(|problem| anyhow!(problem))?;
    bounds::check(config)?;
    config
        .tool_settings
        .check()
        .map_err(|problem| anyhow!(problem))?;
    for feed in &config.feeds {
        feed.check().map_err(|problem| anyhow!(problem))?;
    }
    for source in &config.sources {
        source.check().map_err(|problem| anyhow!(problem))?;
    }
    feed_names::check(config).map_err(|problem| anyhow!(problem))?;
    config.traces.check().map_err(|problem| anyhow!(problem))?;
    config.web.check()?;
    for destination in &config.destinations {
        destination.check()?;
    }
    check_names(
        "destination",
        config.destinations.iter().map(|one| one.name()),
    )?;
    check_names(
        "profile",
        config.profiles.iter().map(|one| one.name.as_str()),
    )?;
    if let Some(digest) = &config.digest {
        let able = config
            .destinations
            .iter()
            .filter(|one| one.accepts_digests());
        let names: Vec<&str> = able.map(|one| one.name()).collect();
        digest.check(&names).map_err(|problem| anyhow!(problem))?;
    }
    config
        .canary
        .check(config)
        .map_err(|problem| anyhow!(problem))?;
    check_mutes(config)?;
    check_routes(config)
}

/// Checks that mutes are valid and have distinct names, because hits are counted by name.
fn check_mutes(config: &Config) -> anyhow::Result<()> {
    let admission = config
        .admission_policy()
        .map_err(|problem| anyhow!(problem))?;
    check_names(
        "mute",
        admission.mutes.iter().map(|mute| mute.name.as_str()),
    )
}

/// Checks that names are unique.
fn check_names<'a>(kind: &str, names: impl Iterator<Item = &'a str>) -> anyhow::Result<()> {
    let mut known = BTreeSet::new();
    for name in names {
        refuse_if(
            !known.insert(name),
            format!("[[{kind}]] {name:?} stands there twice; give each a name of its own"),
        )?;
    }
    Ok(())
}

/// Checks that routes name existing destinations and profiles.
fn check_routes(config: &Config) -> anyhow::Result<()> {
    let names: Vec<&str> = config.destinations.iter().map(|one| one.name()).collect();
    let profiles: Vec<&str> = config
        .profiles
        .iter()
        .map(|one| one.name.as_str())
        .chain(["default"])
        .collect();
    for (index, route) in config.routes.iter().enumerate() {
        let destinations = route.destinations.iter().chain(&route.otherwise).flatten();
        let wanted = destinations.map(|name| (name, "destination", &names));
        let profile = route
            .profile
            .iter()
            .map(|name| (name, "profile", &profiles));
        refuse_if(
            route.profile.is_some() && route.when.picks_destinations_only(),
            format!(
                "[[route]] {}: `verdict` and `label` pick destinations only; name its profile in a route without them",
                index + 1
            ),
        )?;
        for (name, kind, known) in wanted.chain(profile) {
            refuse_if(
                !known.contains(&name.as_str()),
                format!(
                    "[[route]] {}: there is no [[{kind}]] {name:?}; {}",
                    index + 1,
                    suggest_nearest(name, known)
                ),
            )?;
        }
    }
    Ok(())
}

fn refuse_if(condition: bool, text: String) -> anyhow::Result<()> {
    if condition {
        Err(anyhow!(text))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_the_engines_and_pass_their_own_check() {
        let config: Config = toml::from_str(DEFAULTS).unwrap();
        check(&config).unwrap();
        assert_eq!(
            config.limits.to_triage_limits(),
            nightshift_engine::limits::TriageLimits::default()
        );
        assert_eq!(
            config.admission_policy().unwrap(),
            nightshift_pipeline::admission::AdmissionPolicy::default()
        );
    }

    #[test]
    fn a_variable_of_the_wrong_kind_is_named_and_not_shown() {
        let defaults: Table = DEFAULTS.parse().unwrap();
        let refused = |name: &str, text: &str| {
            let settings = vec![(name.to_owned(), text.to_owned())];
            apply_environment(&mut defaults.clone(), &defaults, settings).unwrap_err()
        };
        insta::assert_snapshot!(refused("NIGHTSHIFT__WEB__TOKENS", "[7770777]"), @"NIGHTSHIFT__WEB__TOKENS: an integer stands here, a string is wanted");
        insta::assert_snapshot!(refused("NIGHTSHIFT__TRACES__HEADERS", "{ a = [\"hunter2\"] }"), @"NIGHTSHIFT__TRACES__HEADERS: an array stands here, a string is wanted");
        insta::assert_snapshot!(refused("NIGHTSHIFT__WORKER__MAX_CASES", "-1"), @"NIGHTSHIFT__WORKER__MAX_CASES: an integer of 0 or more is wanted");
    }

    #[test]
    fn f33_rules_authorities_and_tokens_are_watched_everywhere() {
        let text = format!(
            "{DEFAULTS}\n[[model]]\nname = \"main\"\nprovider = \"openai\"\nmodel = \"m\"\nca_file = \"model.pem\"\n\
             [[source]]\nname = \"mq\"\nkind = \"rabbitmq\"\nurl = \"amqps://h\"\nqueue = \"q\"\nca_file = \"/etc/mq.pem\"\n\
             [[profile]]\nname = \"quick\"\nprompts = \"ours/\"\nreplan_when = \"when.json\"\n"
        );
        let mut table: Table = text.parse().unwrap();
        for (part, key, value) in [
            ("store", "ca_file", "db.pem"),
            ("web", "tokens", "file:token"),
            ("playbooks", "dir", "books"),
        ] {
            let value = match key {
                "tokens" => Value::Array(vec![value.into()]),
                _ => value.into(),
            };
            let table = table[part].as_table_mut().unwrap();
            table.insert(key.to_owned(), value);
        }
        let file = PathBuf::from("/etc/nightshift/nightshift.toml");
        let loaded = LoadedConfig::from_table(table, Some(file), Vec::new()).unwrap();
        let files = loaded.watched_files();
        for name in [
            "model.pem",
            "/etc/mq.pem",
            "db.pem",
            "token",
            "books",
            "ours",
            "when.json",
        ] {
            let path = Path::new("/etc/nightshift").join(name);
            assert!(files.contains(&path), "{name}: {files:?}");
        }
        let folder = Path::new("/etc/nightshift");
        let is_folder = |path: &PathBuf| path.components().eq(folder.components());
        let defaults = LoadedConfig::defaults().unwrap().watched_files();
        assert!(!files.iter().any(is_folder), "{files:?}");
        assert_eq!(defaults, Vec::<PathBuf>::new());
    }

    #[test]
    fn f33_authorities_in_the_store_url_are_watched() {
        let mut table: Table = DEFAULTS.parse().unwrap();
        let store = table["store"].as_table_mut().unwrap();
        let url = "postgres://h/d?sslmode=verify-full&sslrootcert=db.pem";
        store.insert("url".to_owned(), url.into());
        let named = LoadedConfig::from_table(table, None, Vec::new())
            .unwrap()
            .watched_files();
        assert_eq!(named, [Path::new("db.pem")]);
    }

    /// Checks that equal names are refused. Each of two equal names would take the other's reports and use the other's
    /// remote ids.
    #[test]
    fn two_destinations_or_profiles_of_one_name_are_refused() {
        let refused = |two: &str| {
            let config: Config = toml::from_str(&format!("{DEFAULTS}\n{two}{two}")).unwrap();
            check(&config).unwrap_err().to_string()
        };
        insta::assert_snapshot!(refused("[[destination]]\nname = \"archive\"\nkind = \"file\"\npath = \"x\"\n"), @r#"[[destination]] "archive" stands there twice; give each a name of its own"#);
        insta::assert_snapshot!(refused("[[profile]]\nname = \"quick\"\nanalyst = \"playbook\"\n"), @r#"[[profile]] "quick" stands there twice; give each a name of its own"#);
    }

    #[test]
    fn a_route_to_nowhere_is_refused() {
        let text = format!(
            "{DEFAULTS}\n[[route]]\ndestinations = [\"arhive\"]\n[[destination]]\nname = \"archive\"\nkind = \"file\"\npath = \"x\"\n"
        );
        let config: Config = toml::from_str(&text).unwrap();
        insta::assert_snapshot!(check(&config).unwrap_err(), @r#"[[route]] 1: there is no [[destination]] "arhive"; did you mean "archive"?"#);
    }
}
