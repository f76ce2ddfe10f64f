//! Makes the calls of one declared tool.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minijinja::Value;
use nightshift_alert::{Alert, IndicatorKind};
use nightshift_engine::tool::{
    Argument, ArgumentKind, CallContext, Reach, ToolError, ToolOutput, ToolSpec, TrustedPath,
};
use nightshift_expression::scope::Scope;
use serde_json::{Map, Value as Json};

use super::answer::CallFacts;
use super::cache::AnswerCache;
use super::language::LANGUAGE;
use super::manifest::{ArgumentTable, ArgumentWord, INDICATOR, LimitsTable, Manifest};
use super::private_names;
use super::rate::RateLimits;
use super::request;
use super::transport::{Credentials, Transport};
use crate::arguments::Arguments;
use crate::register::RegisterReport;
use crate::tool::Tool;

/// A configured declared tool.
pub(super) struct DeclaredTool {
    pub(super) spec: ToolSpec,
    pub(super) manifest: Arc<Manifest>,
    pub(super) transport: Transport,
    pub(super) credentials: Option<Credentials>,
    pub(super) timeout: Duration,
    rate: RateLimits,
    cache: AnswerCache,
    never_send: Arc<[String]>,
}

/// The arguments of one call, checked and in canonical form.
#[derive(Debug, Clone, Default)]
pub(super) struct TypedArguments {
    values: Map<String, Json>,
    indicators: Vec<(IndicatorKind, String)>,
}

impl DeclaredTool {
    pub(super) fn new(
        name: &str,
        manifest: Arc<Manifest>,
        limits: &LimitsTable,
        transport: Transport,
        credentials: Option<Credentials>,
        never_send: Arc<[String]>,
    ) -> Self {
        Self {
            spec: write_spec(name, &manifest),
            timeout: Duration::from_secs(limits.timeout_secs),
            rate: RateLimits::new(limits),
            cache: AnswerCache::new(limits.cache_secs),
            manifest,
            transport,
            credentials,
            never_send,
        }
    }

    /// Returns whether the tool answers questions about reputation of this type by the indicator alone.
    pub(super) fn is_intelligence(&self) -> bool {
        let is_intel = |family: &String| family.starts_with("intel.");
        let required = self.spec.arguments.iter().filter(|one| one.required);
        self.spec.families.iter().any(is_intel) && required.count() == 1
    }

    /// Returns the types of the tool's indicator.
    pub(super) fn types(&self) -> &[IndicatorKind] {
        self.spec
            .arguments
            .iter()
            .find_map(|argument| match &argument.kind {
                ArgumentKind::Indicator { types } => Some(types.as_slice()),
                _ => None,
            })
            .unwrap_or_default()
    }

    /// Looks up one indicator, with the other arguments left out.
    pub(super) async fn ask_about(
        &self,
        kind: IndicatorKind,
        value: &str,
        now: DateTime<Utc>,
    ) -> Result<ToolOutput, ToolError> {
        let arguments = self.spec.arguments.iter();
        let name = arguments
            .filter(|argument| matches!(argument.kind, ArgumentKind::Indicator { .. }))
            .map(|argument| argument.name.clone())
            .next()
            .unwrap_or_else(|| INDICATOR.to_owned());
        let mut typed = TypedArguments::default();
        typed.values.insert(name, value.into());
        typed.indicators.push((kind, value.to_owned()));
        self.ask(typed, now).await
    }

    async fn ask(
        &self,
        arguments: TypedArguments,
        now: DateTime<Utc>,
    ) -> Result<ToolOutput, ToolError> {
        if self.spec.reach == Reach::ThirdParty {
            for (kind, value) in &arguments.indicators {
                private_names::check(*kind, value, &self.never_send)?;
            }
        }
        let call = Json::Object(arguments.values.clone()).to_string();
        if let Some(mut known) = self.cache.get(&call, now) {
            if let Some(body) = known.body.as_object_mut() {
                body.insert("cached".to_owned(), true.into());
            }
            return Ok(known);
        }
        let kind = arguments.indicators.first().map(|(kind, _)| *kind);
        let scope = self.scope(&arguments, kind);
        let requests = self.manifest.requests.iter().map(toml::Spanned::get_ref);
        let table = request::choose(requests, kind, &scope).ok_or_else(|| {
            let name = arguments.values.keys().next();
            ToolError::Argument {
                argument: name.map_or_else(|| INDICATOR.to_owned(), Clone::clone),
                problem: format!("{} cannot look up such a value", self.manifest.title),
            }
        })?;
        let written = request::write(table, &self.transport.endpoint.url, &scope)?;
        let credentials = self.credentials.as_ref();
        let sent = self.transport.send(&written, credentials, &self.rate, now);
        let (raw, hidden) =
            tokio::time::timeout(self.timeout, sent)
                .await
                .map_err(|_elapsed| ToolError::Timeout {
                    secs: self.timeout.as_secs(),
                })??;
        let facts = CallFacts {
            manifest: &self.manifest,
            request: table,
            arguments: &arguments.values,
            kind: kind.map(IndicatorKind::as_str),
            scope,
            now,
        };
        let mut output = facts
            .read(&raw)
            .map_err(|error| hidden.remove_from_error(error))?;
        hidden.remove_from(&mut output.body);
        // A partial answer may be whole the next time.
        if !output.truncated {
            self.cache.insert(call, output.clone(), now);
        }
        Ok(output)
    }

    /// Returns the variables of templates and expressions. An argument that is left out is nothing.
    fn scope(&self, arguments: &TypedArguments, kind: Option<IndicatorKind>) -> Scope {
        let mut scope = Scope::new(&LANGUAGE);
        for argument in &self.spec.arguments {
            let value = arguments.values.get(&argument.name);
            scope.set(argument.name.clone(), request::variable(value));
        }
        let kind = kind.map_or_else(|| Value::from(()), |kind| Value::from(kind.as_str()));
        scope.set("type", kind);
        scope
    }

    /// Gives each argument its canonical form. The engine has checked them against the spec.
    fn read_arguments(&self, arguments: Arguments<'_>) -> Result<TypedArguments, ToolError> {
        let mut typed = TypedArguments::default();
        for argument in &self.spec.arguments {
            let name = &argument.name;
            if let ArgumentKind::Indicator { types } = &argument.kind {
                let subject = match argument.required {
                    true => Some(arguments.required_indicator(name, types)?),
                    false => arguments.optional_indicator(name, types)?,
                };
                if let Some(subject) = subject {
                    typed
                        .values
                        .insert(name.clone(), subject.value.clone().into());
                    typed.indicators.push((subject.kind, subject.value));
                }
                continue;
            }
            match arguments.map.get(name) {
                None | Some(Json::Null) if argument.required => {
                    return Err(ToolError::Argument {
                        argument: name.clone(),
                        problem: "is missing".to_owned(),
                    });
                }
                None | Some(Json::Null) => {}
                Some(value) => {
                    typed.values.insert(name.clone(), value.clone());
                }
            }
        }
        Ok(typed)
    }
}

#[async_trait]
impl Tool for Arc<DeclaredTool> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(
        &self,
        arguments: Arguments<'_>,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolError> {
        let typed = self.read_arguments(arguments)?;
        self.ask(typed, context.now).await
    }

    fn reports(&self) -> Vec<RegisterReport> {
        Vec::new()
    }

    fn problems(&self) -> Vec<String> {
        self.credentials
            .iter()
            .flat_map(Credentials::problems)
            .collect()
    }
}

impl Manifest {
    /// Returns the tool as the analyst sees it, under its own name.
    #[must_use]
    pub fn spec(&self) -> ToolSpec {
        write_spec(self.name(), self)
    }
}

/// Reads one indicator of these types, by what the alert says of it or by its form.
pub(super) fn read_indicator(
    value: &str,
    types: &[IndicatorKind],
    alert: &Alert,
) -> Result<(IndicatorKind, String), ToolError> {
    let map = Map::from_iter([(INDICATOR.to_owned(), Json::from(value))]);
    let arguments = Arguments { map: &map, alert };
    let subject = arguments.required_indicator(INDICATOR, types)?;
    Ok((subject.kind, subject.value))
}

fn write_spec(name: &str, manifest: &Manifest) -> ToolSpec {
    let arguments = match manifest.arguments.as_slice() {
        [] => {
            let types = manifest.types();
            let names: Vec<&str> = types.iter().map(|kind| kind.as_str()).collect();
            let description = format!("the {} to look up", names.join(", "));
            vec![crate::arguments::indicator_argument(
                INDICATOR,
                &description,
                &types,
            )]
        }
        tables => tables.iter().map(write_argument).collect(),
    };
    let trust = manifest.trust.iter();
    ToolSpec {
        name: name.to_owned(),
        kind: manifest.name().to_owned(),
        description: manifest.description.clone(),
        arguments,
        reach: manifest.reach,
        trust: trust
            .map(|(path, trust)| TrustedPath {
                path: path.clone(),
                trust: *trust,
            })
            .collect(),
        needs: None,
        families: manifest.families(),
    }
}

fn write_argument(table: &ArgumentTable) -> Argument {
    let kind = match table.kind.get_ref() {
        ArgumentWord::Indicator => ArgumentKind::Indicator {
            types: table.types.clone(),
        },
        ArgumentWord::Enum => ArgumentKind::Enum {
            values: table.values.clone(),
        },
        ArgumentWord::Time => ArgumentKind::Time,
        ArgumentWord::Number => ArgumentKind::Number {
            min: table.min.unwrap_or(0),
            max: table.max.unwrap_or(i64::MAX),
        },
        ArgumentWord::Text => ArgumentKind::Text {
            max_chars: table.max_chars.unwrap_or(0),
        },
    };
    Argument {
        name: table.name.get_ref().clone(),
        description: table.description.clone(),
        kind,
        required: table.required,
    }
}
