//! Expressions and templates, evaluated over what a case knows.
//!
//! A value is rendered once and never again, so text of an alert stays text whatever it looks like. Every failure names
//! the expression, and none panics.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use minijinja::Value;
use minijinja::value::ValueKind;

use super::compiled;

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

/// The variables that an expression sees.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    variables: BTreeMap<String, Value>,
    /// The same as one value, made when it is first asked for.
    context: OnceLock<Value>,
}

impl Scope {
    /// Sets a variable.
    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.variables.insert(name.to_owned(), value);
        self.context = OnceLock::new();
    }

    /// Names the value of an expression. One that cannot be evaluated stays unnamed: what uses it then says so.
    pub(super) fn name(&mut self, name: &str, expression: &str) {
        if let Ok(value) = self.value(expression) {
            self.set(name, value);
        }
    }

    /// The same with the item of a `for_each`.
    pub(super) fn with_item(&self, item: Option<&Value>) -> Self {
        let mut scope = self.clone();
        if let Some(item) = item {
            scope.set("item", item.clone());
        }
        scope
    }

    /// The variables as minijinja wants them.
    pub(super) fn context(&self) -> Value {
        let pairs = || {
            let all = self.variables.iter();
            Value::from_pairs(all.map(|(name, value)| (name.clone(), value.clone())))
        };
        self.context.get_or_init(pairs).clone()
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
