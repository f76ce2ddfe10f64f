//! `nightshift tools`: lists and shows tools, checks them, and makes one call.

mod declared;

use std::path::Path;
use std::sync::Arc;

use nightshift_alert::{Alert, Indicator, IndicatorRole};
use nightshift_engine::port::Toolbox;
use nightshift_engine::tool::{ArgumentKind, CallContext, Reach, ToolCall, ToolSpec};
use nightshift_pipeline::intake::unreadable_alert;
use serde_json::{Map, Value};

use super::input;
use super::table::{one_line_rows, table};
use crate::args::{JsonFlag, ToolsCommand};
use crate::config::LoadedConfig;
use crate::exit::Exit;
use crate::output::{pluralise, print, print_json, print_stderr, sanitize_line};
use crate::wiring::{App, tools_without_store};

pub(super) async fn run(loaded: &LoadedConfig, command: &ToolsCommand) -> Result<(), Exit> {
    match command {
        ToolsCommand::List { all, json } => {
            list(&tools_without_store(loaded)?, *json)?;
            match all {
                true => declared::list(loaded, *json),
                false => Ok(()),
            }
        }
        ToolsCommand::Show { name, json } => show(loaded, name, *json),
        ToolsCommand::Check {
            file: Some(file),
            json,
        } => declared::check_file(file, *json),
        ToolsCommand::Check { file: None, json } => check(&tools_without_store(loaded)?, *json),
        ToolsCommand::Call {
            name,
            arguments,
            alert,
        } => {
            let app = App::build(loaded).await?;
            call(&app, name, arguments, alert.as_deref()).await
        }
    }
}

fn list(tools: &nightshift_tools::ConfiguredToolbox, json: JsonFlag) -> Result<(), Exit> {
    let specs = tools.specs();
    if json.json {
        return specs.iter().try_for_each(print_json);
    }
    let mut table = table(&["Name", "Kind", "What it finds out", "Arguments"], &[2, 3]);
    for spec in &specs {
        table.add_row([
            spec.name.clone(),
            spec.kind.clone(),
            spec.description.clone(),
            arguments(spec),
        ]);
    }
    print(&table.to_string())
}

/// Shows a configured tool by its name, or a declared one that can be configured.
fn show(loaded: &LoadedConfig, name: &str, json: JsonFlag) -> Result<(), Exit> {
    let tools = tools_without_store(loaded)?;
    let specs = tools.specs();
    let configured = specs.iter().find(|spec| spec.name == name);
    if declared::show(loaded, name, json)? {
        return Ok(());
    }
    let Some(spec) = configured else {
        let mut names: Vec<String> = specs.iter().map(|spec| spec.name.clone()).collect();
        names.extend(declared::names(loaded)?);
        names.sort();
        names.dedup();
        let names = names.join(", ");
        return Err(Exit::usage(format!(
            "there is no tool {name:?}; there are {names}"
        )));
    };
    if json.json {
        return print_json(spec);
    }
    let reach = match spec.reach {
        Reach::Internal => "within the organisation",
        Reach::ThirdParty => "a third party",
    };
    print(&format!(
        "{} ({})\n  {}\n\nArguments   {}\nReach       {reach}\nConfigured  yes",
        spec.name,
        spec.kind,
        spec.description,
        arguments(spec).replace('\n', ", ")
    ))
}

fn arguments(spec: &ToolSpec) -> String {
    let words: Vec<String> = spec
        .arguments
        .iter()
        .map(|argument| {
            let kind = match &argument.kind {
                ArgumentKind::Indicator { types } => types
                    .iter()
                    .map(|kind| kind.as_str())
                    .collect::<Vec<_>>()
                    .join(" or "),
                ArgumentKind::Indicators { types, max } => {
                    let names: Vec<&str> = types.iter().map(|kind| kind.as_str()).collect();
                    format!("1 to {max} of {}", names.join(" or "))
                }
                ArgumentKind::Enum { values } => values.join(" or "),
                ArgumentKind::Time => "time".to_owned(),
                ArgumentKind::Number { min, max } => format!("{min}..{max}"),
                ArgumentKind::Text { .. } => "text".to_owned(),
            };
            let optional = if argument.required { "" } else { "?" };
            format!("{}{optional}: {kind}", argument.name)
        })
        .collect();
    words.join("\n")
}

fn check(tools: &nightshift_tools::ConfiguredToolbox, json: JsonFlag) -> Result<(), Exit> {
    let reports = tools.check_registers();
    if json.json {
        reports.iter().try_for_each(print_json)?;
    } else {
        let rows: Vec<_> = reports
            .iter()
            .map(|report| {
                [
                    report.name.clone(),
                    report.kind.clone(),
                    report.records.to_string(),
                    report.path.clone(),
                ]
            })
            .collect();
        print(&one_line_rows(["Name", "Kind", "Records", "Where"], &rows))?;
        for report in &reports {
            for problem in &report.problems {
                let problem = sanitize_line(&problem.to_string(), 300);
                print(&format!("{}: {problem}", report.name))?;
            }
        }
    }
    let wrong: usize = reports.iter().map(|report| report.problems.len()).sum();
    let unusable = tools.problems();
    for (name, problem) in &unusable {
        print_stderr(&format!("{name}: {problem}"));
    }
    let wrong = wrong + unusable.len();
    if wrong > 0 {
        return Err(Exit::usage(format!(
            "{}; what is right is used",
            pluralise(wrong, "problem", "problems")
        )));
    }
    Ok(())
}

async fn call(app: &App, name: &str, json: &str, alert: Option<&Path>) -> Result<(), Exit> {
    let arguments: Map<String, Value> = serde_json::from_str(json).map_err(|error| {
        Exit::usage(format!(
            "the arguments are no JSON object: {error}; write e.g. '{{\"indicator\": \"185.220.101.42\"}}'"
        ))
    })?;
    let specs = app.tools.specs();
    let Some(spec) = specs.iter().find(|spec| spec.name == name) else {
        let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
        return Err(Exit::usage(format!(
            "there is no tool {name:?}; there are {}",
            names.join(", ")
        )));
    };
    let context = CallContext {
        case_id: String::new(),
        alert: Arc::new(context_alert(app, spec, &arguments, alert)?),
        now: app.clock.now(),
    };
    let output = app
        .tools
        .call(&ToolCall::new(name, arguments), &context)
        .await
        .map_err(|error| Exit::Failed(anyhow::anyhow!("{name}: {error}")))?;
    print_json(&output)
}

/// Returns the alert of a call. The argument becomes an indicator of it, because a person may look up anything.
fn context_alert(
    app: &App,
    spec: &ToolSpec,
    arguments: &Map<String, Value>,
    file: Option<&Path>,
) -> Result<Alert, Exit> {
    let mut alert = match file {
        None => unreadable_alert("tools call", b"", "a call by hand", app.clock.now()),
        Some(path) => {
            let name = path.display().to_string();
            let batch =
                nightshift_alert::read_message(&input::read_input(&name)?, &app.read_options())
                    .map_err(|error| Exit::usage(format!("{name}: {error}")))?;
            let first = batch.alerts.into_iter().next();
            first.ok_or_else(|| Exit::usage(format!("{name}: no alert in it")))?
        }
    };
    for argument in &spec.arguments {
        let (types, texts) = match (&argument.kind, arguments.get(&argument.name)) {
            (ArgumentKind::Indicator { types }, Some(Value::String(text))) => {
                (types, vec![text.as_str()])
            }
            (ArgumentKind::Indicators { types, .. }, Some(Value::Array(values))) => {
                (types, values.iter().filter_map(Value::as_str).collect())
            }
            _ => continue,
        };
        for text in texts {
            let parsed = types
                .iter()
                .find_map(|kind| Indicator::parse(*kind, text, IndicatorRole::Actor));
            alert.indicators.extend(parsed);
        }
    }
    Ok(alert)
}
