//! Expressions and templates, evaluated over what a case knows.
//!
//! A value is rendered once and never again, so text of an alert stays text whatever it looks like. Every failure names
//! the expression, and none panics.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use minijinja::Value;
use minijinja::value::{Enumerator, Object, ValueKind};

use super::compiled;

/// The variable that holds the item of a `for_each`.
const ITEM: &str = "item";

/// Items that a list expression may give.
const MAX_ITEMS: usize = 256;

/// An expression or template that could not be evaluated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{expression}`: {problem}")]
pub(super) struct Broken {
    /// What was evaluated.
    pub(super) expression: String,
    /// What went wrong.
    pub(super) problem: String,
}

impl Broken {
    fn new(expression: &str, error: &minijinja::Error) -> Self {
        let problem = match error.detail() {
            Some(detail) => format!("{}: {detail}", error.kind()),
            None => error.kind().to_string(),
        };
        Self::because(expression, problem)
    }

    fn because(expression: &str, problem: impl Into<String>) -> Self {
        Self {
            expression: expression.split_whitespace().collect::<Vec<_>>().join(" "),
            problem: problem.into(),
        }
    }
}

/// The variables that an expression sees. Copies share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    variables: Arc<BTreeMap<&'static str, Value>>,
    named: Option<Arc<Named>>,
    /// How many of the named expressions may be used.
    visible: usize,
    /// The item of a `for_each`.
    item: Option<Value>,
}

/// Expressions with names, each evaluated when it is first used: many of them are for conclusions alone.
#[derive(Debug)]
struct Named {
    all: Vec<NamedExpression>,
    /// The variables when they were named.
    variables: Arc<BTreeMap<&'static str, Value>>,
}

#[derive(Debug)]
struct NamedExpression {
    name: String,
    expression: String,
    /// None where it cannot be evaluated: it stays unnamed, and what uses it says so.
    value: OnceLock<Option<Value>>,
}

/// As a value it has a field for each variable.
impl Object for Scope {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let name = key.as_str()?;
        if let Some(item) = self.item.as_ref().filter(|_| name == ITEM) {
            return Some(item.clone());
        }
        match self.visible_names().position(|one| one.name == name) {
            Some(index) => self.named_value(index),
            None => self.variables.get(name).cloned(),
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let item = self.item.iter().map(|_| ITEM);
        let named = self.visible_names().map(|one| one.name.as_str());
        let names = item.chain(named).chain(self.variables.keys().copied());
        Enumerator::Values(names.map(Value::from).collect())
    }
}

impl Scope {
    /// Sets a variable.
    pub(super) fn set(&mut self, name: &'static str, value: Value) {
        Arc::make_mut(&mut self.variables).insert(name, value);
    }

    /// Names the values of expressions, each of which may use those before it and the variables as they are now.
    pub(super) fn name<'a>(&mut self, all: impl IntoIterator<Item = (&'a str, &'a str)>) {
        let all = all.into_iter().map(|(name, expression)| NamedExpression {
            name: name.to_owned(),
            expression: expression.to_owned(),
            value: OnceLock::new(),
        });
        let named = Named {
            all: all.collect(),
            variables: Arc::clone(&self.variables),
        };
        self.visible = named.all.len();
        self.named = Some(Arc::new(named));
    }

    fn visible_names(&self) -> impl Iterator<Item = &NamedExpression> {
        let all = self.named.iter().flat_map(|named| &named.all);
        all.take(self.visible)
    }

    fn named_value(&self, index: usize) -> Option<Value> {
        let named = self.named.as_ref()?;
        let one = named.all.get(index)?;
        let value = || {
            let before = Self {
                variables: Arc::clone(&named.variables),
                named: Some(Arc::clone(named)),
                visible: index,
                item: None,
            };
            before.value(&one.expression).ok()
        };
        one.value.get_or_init(value).clone()
    }

    /// The same with the item of a `for_each`.
    pub(super) fn with_item(&self, item: Option<&Value>) -> Self {
        Self {
            item: item.or(self.item.as_ref()).cloned(),
            ..self.clone()
        }
    }

    /// The variables as minijinja wants them.
    pub(super) fn context(&self) -> Value {
        Value::from_object(self.clone())
    }

    fn value(&self, expression: &str) -> Result<Value, Broken> {
        let broken = |error| Broken::new(expression, &error);
        let compiled = compiled::expression(expression).map_err(broken)?;
        let value = compiled.eval(self.context()).map_err(broken)?;
        if value.is_undefined() {
            return Err(Broken::because(expression, "it gives no value"));
        }
        Ok(value)
    }

    /// Whether the expression holds; one that is not given does.
    pub(super) fn holds(&self, expression: Option<&str>) -> Result<bool, Broken> {
        expression.map_or(Ok(true), |expression| Ok(self.value(expression)?.is_true()))
    }

    /// The items of a list expression; one nameless item where none is given.
    pub(super) fn items(&self, expression: Option<&str>) -> Result<Vec<Option<Value>>, Broken> {
        let Some(expression) = expression else {
            return Ok(vec![None]);
        };
        Ok(self.list(expression)?.into_iter().map(Some).collect())
    }

    /// The items of a list expression, a bounded number of them.
    pub(super) fn list(&self, expression: &str) -> Result<Vec<Value>, Broken> {
        let value = self.value(expression)?;
        if !matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable) {
            return Err(Broken::because(
                expression,
                format!("it gives a {}, not a list", value.kind()),
            ));
        }
        let items = value
            .try_iter()
            .map_err(|error| Broken::new(expression, &error))?;
        Ok(items.take(MAX_ITEMS).collect())
    }

    /// The rendered template.
    pub(super) fn text(&self, template: &str) -> Result<String, Broken> {
        compiled::render(template, self.context()).map_err(|error| Broken::new(template, &error))
    }

    /// The rendered template on one line, bounded: for people.
    pub(super) fn line(&self, template: &str) -> Result<String, Broken> {
        Ok(one_line(&self.text(template)?))
    }

    /// The rendered templates that gave any text.
    pub(super) fn lines<'a>(
        &self,
        templates: impl IntoIterator<Item = &'a String>,
    ) -> Result<Vec<String>, Broken> {
        let mut lines = Vec::new();
        for template in templates {
            let line = self.line(template)?;
            if !line.is_empty() {
                lines.push(line);
            }
        }
        Ok(lines)
    }
}

/// Greatest length of a rendered line, in characters.
const MAX_LINE_CHARS: usize = 600;

/// Text without line breaks and double blanks, cut between words, so that no address loses its last digits.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::new();
    let mut chars = 0;
    for word in text.split_whitespace() {
        chars += word.chars().count() + 1;
        if chars > MAX_LINE_CHARS {
            line.push_str(" …");
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}
