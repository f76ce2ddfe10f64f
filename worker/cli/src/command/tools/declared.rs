//! Shows the declared tools that can be configured, and checks files of declared tools.

use std::path::Path;

#[cfg(feature = "declared")]
pub(super) use catalogue::{check_file, list, names, show};
#[cfg(not(feature = "declared"))]
pub(super) use without::{check_file, list, names, show};

#[cfg(feature = "declared")]
mod catalogue {
    use nightshift_tools::INDICATOR_LOOKUP;
    use nightshift_tools::declared::{Catalogue, CatalogueError, LimitsTable, Manifest};
    use serde_json::json;

    use super::super::arguments;
    use super::Path;
    use crate::args::JsonFlag;
    use crate::command::table::table;
    use crate::config::LoadedConfig;
    use crate::exit::Exit;
    use crate::output::{pluralise, print, print_json};
    use nightshift_tools::{DeclaredToolConfig, ToolTable};

    fn load(loaded: &LoadedConfig) -> Result<Catalogue, Exit> {
        let folder = loaded.config.tool_settings.folder();
        Catalogue::load(folder).map_err(|error| Exit::Config(error.into()))
    }

    /// Returns the tables of declared tools.
    fn configured(loaded: &LoadedConfig) -> impl Iterator<Item = &DeclaredToolConfig> {
        let tables = loaded.config.tools.iter();
        tables.filter_map(|table| match table {
            ToolTable::Declared(config) => Some(config),
            ToolTable::BuiltIn(_) => None,
        })
    }

    /// Returns the names under which a declared tool is configured.
    fn names_of(loaded: &LoadedConfig, kind: &str) -> Vec<String> {
        configured(loaded)
            .filter(|config| config.kind == kind)
            .map(|config| config.name.clone())
            .collect()
    }

    /// Returns the names of all declared tools.
    pub(in crate::command::tools) fn names(loaded: &LoadedConfig) -> Result<Vec<String>, Exit> {
        let catalogue = load(loaded)?;
        Ok(catalogue
            .iter()
            .map(|one| one.name().to_owned())
            .chain([INDICATOR_LOOKUP.to_owned()])
            .collect())
    }

    /// Lists the declared tools that can be configured.
    pub(in crate::command::tools) fn list(
        loaded: &LoadedConfig,
        json: JsonFlag,
    ) -> Result<(), Exit> {
        let catalogue = load(loaded)?;
        if json.json {
            return catalogue
                .iter()
                .try_for_each(|one| print_json(&description(loaded, &catalogue, one)));
        }
        let mut table = table(&["Kind", "Asks", "About", "Key", "Configured as"], &[1, 2]);
        for one in catalogue.iter() {
            table.add_row([
                one.name().to_owned(),
                one.title.clone(),
                one.families().join(", "),
                if one.secrets().is_empty() {
                    "no"
                } else {
                    "yes"
                }
                .to_owned(),
                names_of(loaded, one.name()).join(", "),
            ]);
        }
        print(&format!(
            "\nDeclared tools that can be configured (`nightshift tools show KIND`):\n{table}"
        ))
    }

    /// Shows a declared tool, by its own name or that of its table. Returns whether there is one.
    pub(in crate::command::tools) fn show(
        loaded: &LoadedConfig,
        name: &str,
        json: JsonFlag,
    ) -> Result<bool, Exit> {
        let table = configured(loaded).find(|config| config.name == name);
        let kind = table.map_or(name, |config| config.kind.as_str());
        if kind == INDICATOR_LOOKUP && table.is_none() {
            if json.json {
                print_json(&json!({ "kind": INDICATOR_LOOKUP, "configured_as": [] }))?;
                return Ok(true);
            }
            print(&format!(
                "{INDICATOR_LOOKUP} asks all configured intelligence about up to 20 indicators at once.\n\n{}",
                how_to_configure(loaded, INDICATOR_LOOKUP, &[])
            ))?;
            return Ok(true);
        }
        let catalogue = load(loaded)?;
        let Some(manifest) = catalogue.get(kind) else {
            return Ok(false);
        };
        if json.json {
            print_json(&description(loaded, &catalogue, manifest))?;
            return Ok(true);
        }
        let reach = match manifest.is_third_party() {
            true => "a third party",
            false => "within the organisation",
        };
        let mut lines = vec![
            format!("{} ({})", manifest.title, manifest.name()),
            format!("  {}", manifest.description),
            String::new(),
            format!(
                "Arguments   {}",
                arguments(&manifest.spec()).replace('\n', ", ")
            ),
            format!("About       {}", manifest.families().join(", ")),
            format!("Reach       {reach}: {}", manifest.host()),
            format!("Limits      {}", limits(&manifest.limits())),
            format!("Key         {}", manifest.auth_text()),
        ];
        lines.extend(
            manifest
                .terms
                .iter()
                .map(|terms| format!("Terms       {terms}")),
        );
        if let Some(page) = manifest.page() {
            let checked = manifest.checked().into_iter();
            let checked: String = checked.map(|date| format!(" (compared {date})")).collect();
            lines.push(format!("Page        {page}{checked}"));
        }
        if let Some(file) = catalogue.file_of(manifest.name()) {
            lines.push(format!("File        {}", file.display()));
        }
        lines.push(how_to_configure(
            loaded,
            manifest.name(),
            &manifest.secrets(),
        ));
        print(&lines.join("\n"))?;
        Ok(true)
    }

    fn limits(limits: &LimitsTable) -> String {
        let rates = [
            (limits.per_second, "second"),
            (limits.per_minute, "minute"),
            (limits.per_day, "day"),
        ];
        let mut words: Vec<String> = rates
            .into_iter()
            .filter_map(|(rate, period)| Some(format!("{} per {period}", rate?)))
            .collect();
        words.push(format!("{} at once", limits.concurrent));
        words.push(format!("{} s", limits.timeout_secs));
        words.push(format!("{} bytes", limits.max_bytes));
        words.push(format!("answers kept {} s", limits.cache_secs));
        words.join(", ")
    }

    /// Says how a tool is configured, or gives the lines that configure it.
    fn how_to_configure(loaded: &LoadedConfig, kind: &str, secrets: &[&str]) -> String {
        let names = names_of(loaded, kind);
        if !names.is_empty() {
            return format!("Configured  as {}", names.join(", "));
        }
        format!(
            "Configured  no; write this into nightshift.toml:\n{}",
            table_text(kind, secrets)
        )
    }

    fn table_text(kind: &str, secrets: &[&str]) -> String {
        let mut text = format!("[[tool]]\nname = \"{kind}\"\nkind = \"{kind}\"");
        for secret in secrets {
            let variable = format!("{kind}_{secret}").to_uppercase();
            match *secret {
                "api_key" => text.push_str(&format!("\napi_key = \"env:{variable}\"")),
                name => text.push_str(&format!("\nsecrets.{name} = \"env:{variable}\"")),
            }
        }
        text
    }

    fn description(
        loaded: &LoadedConfig,
        catalogue: &Catalogue,
        manifest: &Manifest,
    ) -> serde_json::Value {
        json!({
            "kind": manifest.name(),
            "title": manifest.title,
            "description": manifest.description,
            "families": manifest.families(),
            "arguments": manifest.spec().arguments,
            "third_party": manifest.is_third_party(),
            "host": manifest.host(),
            "secrets": manifest.secrets(),
            "terms": manifest.terms,
            "page": manifest.page(),
            "checked": manifest.checked(),
            "file": catalogue.file_of(manifest.name()),
            "configured_as": names_of(loaded, manifest.name()),
        })
    }

    /// Checks one file and prints each mistake with line and column.
    pub(in crate::command::tools) fn check_file(file: &Path, json: JsonFlag) -> Result<(), Exit> {
        let problems = match Manifest::read(file) {
            Ok(manifest) if json.json => {
                return print_json(&json!({"name": manifest.name(), "problems": []}));
            }
            Ok(manifest) => {
                let spec = manifest.spec();
                return print(&format!(
                    "{}: {} is a valid tool with {}; configure it with `[tools] dir` and\n{}",
                    file.display(),
                    manifest.name(),
                    pluralise(spec.arguments.len(), "argument", "arguments"),
                    table_text(manifest.name(), &manifest.secrets())
                ));
            }
            Err(CatalogueError::Invalid(error)) => error,
            Err(error) => return Err(Exit::usage(format!("{:#}", anyhow::Error::from(error)))),
        };
        if json.json {
            let each = problems.problems.iter();
            let each = each
                .map(|one| json!({"line": one.line, "column": one.column, "problem": one.problem}));
            print_json(&json!({"problems": each.collect::<Vec<_>>()}))?;
        } else {
            print(&problems.to_string())?;
        }
        let count = problems.problems.len();
        Err(Exit::usage(format!(
            "{} in {}; docs/tool-author.md has all keys",
            pluralise(count, "mistake", "mistakes"),
            file.display()
        )))
    }
}

#[cfg(not(feature = "declared"))]
mod without {
    use super::Path;
    use crate::args::JsonFlag;
    use crate::config::LoadedConfig;
    use crate::exit::Exit;

    const WITHOUT: &str =
        "this program was built without declared tools; build it with `cargo build --release`";

    pub(in crate::command::tools) fn names(_: &LoadedConfig) -> Result<Vec<String>, Exit> {
        Ok(Vec::new())
    }

    pub(in crate::command::tools) fn list(_: &LoadedConfig, _: JsonFlag) -> Result<(), Exit> {
        Err(Exit::usage(WITHOUT))
    }

    pub(in crate::command::tools) fn show(
        _: &LoadedConfig,
        _: &str,
        _: JsonFlag,
    ) -> Result<bool, Exit> {
        Ok(false)
    }

    pub(in crate::command::tools) fn check_file(_: &Path, _: JsonFlag) -> Result<(), Exit> {
        Err(Exit::usage(WITHOUT))
    }
}
