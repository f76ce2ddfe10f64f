//! Provides the tools of a configuration, as the engine's `Toolbox`.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use nightshift_engine::doctor::HealthReport;
use nightshift_engine::port::{PastCases, Toolbox};
use nightshift_engine::tool::{CallContext, ToolCall, ToolError, ToolOutput, ToolSpec};

use crate::arguments::Arguments;
use crate::config::{ToolConfig, ToolConfigError};
use crate::declared_config::{DeclaredToolConfig, KeyResolver, ToolSettings};
use crate::register::{RegisterGroup, RegisterReport};
use crate::tool::Tool;
use crate::{
    asset_lookup, authorised_scanners, change_lookup, identity_lookup, indicator_facts, log_search,
    output_guard, past_cases, watchlist,
};

/// The tools of a configuration.
pub struct ConfiguredToolbox {
    tools: Vec<Box<dyn Tool>>,
}

impl std::fmt::Debug for ConfiguredToolbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.tools.iter().map(|tool| &tool.spec().name))
            .finish()
    }
}

impl ConfiguredToolbox {
    /// Builds the tools of `configs` in that order; relative paths start at `base`. No file is read: a missing
    /// register is no error here, see [`ConfiguredToolbox::check_registers`].
    ///
    /// # Errors
    ///
    /// Fails for duplicate or invalid names and for values that are not allowed.
    pub fn build(
        configs: &[ToolConfig],
        past: Arc<dyn PastCases>,
        base: &Path,
    ) -> Result<Self, ToolConfigError> {
        let mut toolbox = Self { tools: Vec::new() };
        let families = RegisterGroups::default();
        for config in configs {
            toolbox.check_name(config.name())?;
            toolbox.tools.push(build_tool(
                config.clone().resolve_paths(base),
                &past,
                &families,
            )?);
        }
        Ok(toolbox)
    }

    /// Adds the declared tools of `configs`.
    ///
    /// # Errors
    ///
    /// Fails for duplicate or invalid names, unknown kinds, missing keys, and files with mistakes.
    #[cfg(feature = "declared")]
    pub fn with_declared(
        mut self,
        configs: &[DeclaredToolConfig],
        settings: &ToolSettings,
        keys: KeyResolver<'_>,
    ) -> Result<Self, ToolConfigError> {
        for tool in crate::declared::build_declared(configs, settings, keys)? {
            self.check_name(&tool.spec().name)?;
            self.tools.push(tool);
        }
        Ok(self)
    }

    /// Refuses declared tools, which this program was built without.
    ///
    /// # Errors
    ///
    /// Fails if there is one.
    #[cfg(not(feature = "declared"))]
    pub fn with_declared(
        self,
        configs: &[DeclaredToolConfig],
        _: &ToolSettings,
        _: KeyResolver<'_>,
    ) -> Result<Self, ToolConfigError> {
        match configs.first() {
            None => Ok(self),
            Some(DeclaredToolConfig { name, kind, .. }) => Err(ToolConfigError::WithoutDeclared {
                name: name.clone(),
                kind: kind.clone(),
            }),
        }
    }

    /// Checks the name of a further tool.
    fn check_name(&self, name: &str) -> Result<(), ToolConfigError> {
        let owned = || name.to_owned();
        if !is_callable_name(name) {
            return Err(ToolConfigError::InvalidName { name: owned() });
        }
        if self.tools.iter().any(|tool| tool.spec().name == name) {
            return Err(ToolConfigError::DuplicateName { name: owned() });
        }
        Ok(())
    }

    /// Returns the tools that need no configuration, each named as its kind: `indicator_facts`, `watchlist` with the
    /// built-in list, `past_cases`.
    #[must_use]
    pub fn defaults(past: Arc<dyn PastCases>) -> Self {
        Self {
            tools: vec![
                Box::new(indicator_facts::IndicatorFacts::new(
                    indicator_facts::IndicatorFactsConfig::named("indicator_facts"),
                )),
                Box::new(watchlist::Watchlist::new(
                    watchlist::WatchlistConfig::named("watchlist"),
                )),
                Box::new(past_cases::PastCasesTool::new(
                    &past_cases::PastCasesConfig::named("past_cases"),
                    past,
                )),
            ],
        }
    }

    /// Reads every register, list and log, and reports their problems. The call blocks.
    #[must_use]
    pub fn check_registers(&self) -> Vec<RegisterReport> {
        self.tools.iter().flat_map(|tool| tool.reports()).collect()
    }

    /// Returns why calls of a tool would fail, such as a key that is not there, each with the tool's name. The call
    /// blocks.
    #[must_use]
    pub fn problems(&self) -> Vec<(String, String)> {
        let mut problems = Vec::new();
        for tool in &self.tools {
            let name = &tool.spec().name;
            problems.extend(tool.problems().into_iter().map(|one| (name.clone(), one)));
        }
        problems
    }

    /// Runs the same checks for the doctor. The call blocks.
    #[must_use]
    pub fn probe(&self) -> HealthReport {
        let mut checkup = HealthReport::default();
        let reports = self.check_registers();
        let records: usize = reports.iter().map(|one| one.records).sum();
        let tools = self.tools.len();
        checkup.add_observation(format!(
            "{tools} tools; {records} records in registers, lists and logs"
        ));
        for report in &reports {
            report_problems(report, &mut checkup);
        }
        for (name, problem) in self.problems() {
            checkup.add_error(
                "tool.key",
                format!("[[tool]] {name:?}: {problem}"),
                "every call of it is refused, which the report shows as a gap",
                "set the variable or the file that the table names",
            );
        }
        checkup
    }
}

/// Adds the problems of one register, list or log.
fn report_problems(report: &RegisterReport, checkup: &mut HealthReport) {
    let RegisterReport {
        name,
        path,
        records,
        problems,
        ..
    } = report;
    let mend = "correct the file; `nightshift tools check` lists all problems";
    match problems.as_slice() {
        [] if *records == 0 => checkup.add_warning(
            "tool.empty",
            format!("{name}: {path} has no records"),
            "every look-up finds nothing, which looks like an answer",
            "add records, or remove the tool",
        ),
        [] => {}
        [first, ..] if *records == 0 => checkup.add_error(
            "tool.register",
            format!("{name}: {path}: {first}"),
            "every look-up fails, so its records can neither clear nor confirm an alert",
            mend,
        ),
        [first, more @ ..] => {
            let more = match more.len() {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            checkup.add_warning(
                "tool.rows",
                format!("{name}: {path}: {first}{more}"),
                "invalid rows are left out: an asset or a change may not be found",
                mend,
            );
        }
    }
}

/// Groups of registers of the same kind.
#[derive(Default)]
struct RegisterGroups {
    assets: RegisterGroup<asset_lookup::Asset>,
    identities: RegisterGroup<identity_lookup::Identity>,
}

fn build_tool(
    config: ToolConfig,
    past: &Arc<dyn PastCases>,
    families: &RegisterGroups,
) -> Result<Box<dyn Tool>, ToolConfigError> {
    Ok(match config {
        ToolConfig::IndicatorFacts(config) => {
            Box::new(indicator_facts::IndicatorFacts::new(config))
        }
        ToolConfig::Watchlist(config) => {
            config.check()?;
            Box::new(watchlist::Watchlist::new(config))
        }
        ToolConfig::AssetLookup(config) => {
            Box::new(asset_lookup::AssetLookup::new(config, &families.assets))
        }
        ToolConfig::IdentityLookup(config) => Box::new(identity_lookup::IdentityLookup::new(
            config,
            &families.identities,
        )),
        ToolConfig::ChangeLookup(config) => Box::new(change_lookup::ChangeLookup::new(config)),
        ToolConfig::AuthorisedScanners(config) => {
            Box::new(authorised_scanners::AuthorisedScanners::new(config))
        }
        ToolConfig::LogSearch(config) => {
            config.check()?;
            Box::new(log_search::LogSearch::new(config))
        }
        ToolConfig::PastCases(config) => {
            config.check()?;
            Box::new(past_cases::PastCasesTool::new(&config, Arc::clone(past)))
        }
    })
}

/// Returns whether models accept the name.
fn is_callable_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

#[async_trait]
impl Toolbox for ConfiguredToolbox {
    fn specs(&self) -> Vec<ToolSpec> {
        self.tools.iter().map(|tool| tool.spec().clone()).collect()
    }

    async fn call(&self, call: &ToolCall, context: &CallContext) -> Result<ToolOutput, ToolError> {
        let tool = self
            .tools
            .iter()
            .find(|tool| tool.spec().name == call.tool)
            .ok_or_else(|| ToolError::Unknown {
                name: call.tool.clone(),
            })?;
        let arguments = Arguments {
            map: &call.arguments,
            alert: &context.alert,
        };
        let output = tool.call(arguments, context).await?;
        Ok(output_guard::clean_output(
            output,
            &call.arguments,
            &context.alert,
            tool.answers_typed_fields(),
        ))
    }
}

#[cfg(test)]
mod tests;
