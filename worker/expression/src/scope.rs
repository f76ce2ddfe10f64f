//! Holds variables, and evaluates expressions and templates over them.
//!
//! A value is rendered once only, so template syntax in the text of an alert is never evaluated. Every error names the
//! expression, and nothing panics.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use minijinja::Value;
use minijinja::value::{Enumerator, Object, ValueKind};

use crate::error::EvaluationError;
use crate::language::Language;
use crate::text::one_line;

/// The variable that holds the current item of a `for_each`.
const ITEM: &str = "item";

/// Maximum number of items that a list expression returns.
const MAX_ITEMS: usize = 256;

/// The variables that an expression sees. Copies share them.
#[derive(Debug, Clone)]
pub struct Scope {
    language: &'static Language,
    variables: Arc<BTreeMap<Cow<'static, str>, Value>>,
    definitions: Option<Arc<Definitions>>,
    /// Number of definitions that may be used.
    visible: usize,
    /// The current item of a `for_each`.
    item: Option<Value>,
}

/// Named expressions. Each is evaluated at its first use, because many serve conclusions alone.
#[derive(Debug)]
struct Definitions {
    all: Vec<Definition>,
    /// The variables at the time of the definition.
    variables: Arc<BTreeMap<Cow<'static, str>, Value>>,
}

#[derive(Debug)]
struct Definition {
    name: String,
    expression: String,
    /// `None` when the expression cannot be evaluated. The name is then undefined, and its user reports that.
    value: OnceLock<Option<Value>>,
}

/// A scope used as a value has a field for each variable.
impl Object for Scope {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let name = key.as_str()?;
        if let Some(item) = self.item.as_ref().filter(|_| name == ITEM) {
            return Some(item.clone());
        }
        match self.visible_definitions().position(|it| it.name == name) {
            Some(index) => self.defined_value(index),
            None => self.variables.get(name).cloned(),
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let item = self.item.iter().map(|_| ITEM);
        let defined = self.visible_definitions().map(|it| it.name.as_str());
        let variables = self.variables.keys().map(AsRef::as_ref);
        let names = item.chain(defined).chain(variables);
        Enumerator::Values(names.map(Value::from).collect())
    }
}

impl Scope {
    /// Returns a scope without variables.
    #[must_use]
    pub fn new(language: &'static Language) -> Self {
        Self {
            language,
            variables: Arc::default(),
            definitions: None,
            visible: 0,
            item: None,
        }
    }

    pub fn set(&mut self, name: impl Into<Cow<'static, str>>, value: Value) {
        Arc::make_mut(&mut self.variables).insert(name.into(), value);
    }

    /// Defines names for expressions. Each may use those before it and the variables that are set now.
    pub fn define<'a>(&mut self, named: impl IntoIterator<Item = (&'a str, &'a str)>) {
        let definitions = named.into_iter().map(|(name, expression)| Definition {
            name: name.to_owned(),
            expression: expression.to_owned(),
            value: OnceLock::new(),
        });
        let definitions = Definitions {
            all: definitions.collect(),
            variables: Arc::clone(&self.variables),
        };
        self.visible = definitions.all.len();
        self.definitions = Some(Arc::new(definitions));
    }

    fn visible_definitions(&self) -> impl Iterator<Item = &Definition> {
        let all = self.definitions.iter().flat_map(|it| &it.all);
        all.take(self.visible)
    }

    fn defined_value(&self, index: usize) -> Option<Value> {
        let definitions = self.definitions.as_ref()?;
        let definition = definitions.all.get(index)?;
        let value = || {
            let before = Self {
                language: self.language,
                variables: Arc::clone(&definitions.variables),
                definitions: Some(Arc::clone(definitions)),
                visible: index,
                item: None,
            };
            before.evaluate(&definition.expression).ok()
        };
        definition.value.get_or_init(value).clone()
    }

    /// Returns a copy of the scope with the current item of a `for_each`.
    #[must_use]
    pub fn with_item(&self, item: Option<&Value>) -> Self {
        Self {
            item: item.or(self.item.as_ref()).cloned(),
            ..self.clone()
        }
    }

    /// Returns the variables as one minijinja value.
    #[must_use]
    pub fn context(&self) -> Value {
        Value::from_object(self.clone())
    }

    /// Returns the value of an expression; an undefined one is an error.
    pub fn evaluate(&self, expression: &str) -> Result<Value, EvaluationError> {
        let failed = |error| EvaluationError::from_minijinja(expression, &error);
        let compiled = self.language.compile(expression).map_err(failed)?;
        let value = compiled.eval(self.context()).map_err(failed)?;
        if value.is_undefined() {
            return Err(EvaluationError::new(expression, "expression has no value"));
        }
        Ok(value)
    }

    /// Returns whether the expression holds. A missing expression always holds.
    pub fn holds(&self, expression: Option<&str>) -> Result<bool, EvaluationError> {
        expression.map_or(Ok(true), |expression| {
            Ok(self.evaluate(expression)?.is_true())
        })
    }

    /// Returns the items of a list expression. A missing expression gives one empty item.
    pub fn items(&self, expression: Option<&str>) -> Result<Vec<Option<Value>>, EvaluationError> {
        let Some(expression) = expression else {
            return Ok(vec![None]);
        };
        Ok(self.list(expression)?.into_iter().map(Some).collect())
    }

    /// Returns the items of a list expression, up to the maximum number.
    pub fn list(&self, expression: &str) -> Result<Vec<Value>, EvaluationError> {
        let value = self.evaluate(expression)?;
        if !matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable) {
            return Err(EvaluationError::new(
                expression,
                format!("it gives a {}, not a list", value.kind()),
            ));
        }
        let items = value
            .try_iter()
            .map_err(|error| EvaluationError::from_minijinja(expression, &error))?;
        Ok(items.take(MAX_ITEMS).collect())
    }

    pub fn render(&self, template: &str) -> Result<String, EvaluationError> {
        self.language
            .render(template, self.context())
            .map_err(|error| EvaluationError::from_minijinja(template, &error))
    }

    /// Renders a template on one line of bounded length, for people.
    pub fn render_line(&self, template: &str) -> Result<String, EvaluationError> {
        Ok(one_line(&self.render(template)?))
    }

    /// Renders templates on one line each and drops empty lines.
    pub fn render_lines<'a>(
        &self,
        templates: impl IntoIterator<Item = &'a String>,
    ) -> Result<Vec<String>, EvaluationError> {
        let mut lines = Vec::new();
        for template in templates {
            let line = self.render_line(template)?;
            if !line.is_empty() {
                lines.push(line);
            }
        }
        Ok(lines)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;

    static LANGUAGE: LazyLock<Language> = LazyLock::new(|| Language::new(|_| {}));

    fn scope() -> Scope {
        let mut scope = Scope::new(&LANGUAGE);
        scope.set("count", Value::from(2));
        scope
    }

    #[test]
    fn definition_sees_only_those_before_it() {
        let mut scope = scope();
        scope.define([("early", "late"), ("double", "count * 2"), ("late", "1")]);
        assert_eq!(scope.render("{{ double }}").unwrap(), "4");
        assert!(scope.render("{{ early }}").is_err());
    }

    #[test]
    fn undefined_value_is_an_error_that_names_the_expression() {
        let error = scope().holds(Some("absent.field\n  == 1")).unwrap_err();
        assert_eq!(error.expression, "absent.field == 1");
    }

    #[test]
    fn rendered_text_is_not_rendered_again() {
        let mut scope = scope();
        scope.set("title", Value::from("{{ count }}"));
        assert_eq!(scope.render("{{ title }}").unwrap(), "{{ count }}");
    }

    #[test]
    fn list_expression_that_gives_no_list_is_an_error() {
        let error = scope().items(Some("count")).unwrap_err();
        assert_eq!(error.problem, "it gives a number, not a list");
    }
}
