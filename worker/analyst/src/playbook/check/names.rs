//! Checks the expressions and templates of a playbook: whether they compile, and whether every name in them is known.

use minijinja::value::ValueKind;
use nightshift_expression::scope::Scope;
use serde_json::Value as Json;
use toml::Spanned;

use super::fields;
use super::place::{Report, unknown};
use super::scan::{self, Token};
use crate::playbook::facts::{FACTS, blank_alert};
use crate::playbook::form::{ArgumentForm, Playbook, Text, VerdictForm, action_parts};
use crate::playbook::language::{LANGUAGE, functions};
use crate::playbook::scope;

/// Variables that every expression sees.
const VARIABLES: [&str; 8] = [
    "alert",
    "subject",
    "results",
    "past",
    "cleared",
    "exonerations",
    "findings",
    "item",
];

/// Maximum number of named expressions. An expression that uses an earlier one is evaluated recursively.
const MOST_LETS: usize = 128;

/// The kind of a text in a playbook.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextKind {
    Expression,
    List,
    Template,
}

/// Checks all expressions and templates.
pub(super) fn expressions(playbook: &Playbook, report: &mut Report<'_>) {
    let mut check = Check {
        playbook,
        report,
        nothing: scope::blank(playbook),
        alert: blank_alert(),
    };
    for (index, (name, expression)) in playbook.lets().into_iter().enumerate() {
        check.is_free(name, index, expression.span().start);
        check.text(expression, TextKind::Expression, false);
        check.too_early(expression);
    }
    check.text(&playbook.objective, TextKind::Template, false);
    for step in &playbook.steps {
        check.text(&step.description, TextKind::Template, false);
        check.option(&step.when, TextKind::Expression, false);
        check.option(&step.because, TextKind::Template, false);
        check.option(&step.met, TextKind::Expression, false);
        check.option(&step.summary, TextKind::Template, false);
        for call in &step.calls {
            let has_item = call.for_each.is_some();
            check.option(&call.when, TextKind::Expression, false);
            check.option(&call.for_each, TextKind::List, false);
            for argument in call.arguments.values() {
                if let ArgumentForm::Template(text) = argument.get_ref() {
                    let text = Spanned::new(argument.span(), text.clone());
                    check.text(&text, TextKind::Template, has_item);
                }
            }
        }
    }
    for finding in &playbook.findings {
        let has_item = finding.for_each.is_some();
        check.option(&finding.for_each, TextKind::List, false);
        check.option(&finding.when, TextKind::Expression, has_item);
        check.text(&finding.claim, TextKind::Template, has_item);
        check.all(&finding.cite, has_item);
        check.all(&finding.techniques, has_item);
    }
    for rule in &playbook.benign {
        let has_item = rule.for_each.is_some();
        check.option(&rule.for_each, TextKind::List, false);
        check.text(&rule.when, TextKind::Expression, has_item);
        check.text(&rule.subject, TextKind::Template, has_item);
        check.text(&rule.reference, TextKind::Template, has_item);
        check.text(&rule.statement, TextKind::Template, has_item);
        check.option(&rule.approved_by, TextKind::Template, has_item);
    }
    let rules = playbook.verdicts.iter().chain(&playbook.otherwise);
    for rule in rules {
        check.verdict(rule.get_ref());
    }
}

struct Check<'c, 's> {
    playbook: &'c Playbook,
    report: &'c mut Report<'s>,
    /// The scope of a case without results.
    nothing: Scope,
    /// An alert with every field of an alert.
    alert: Json,
}

impl Check<'_, '_> {
    fn verdict(&mut self, rule: &VerdictForm) {
        self.option(&rule.when, TextKind::Expression, false);
        self.option(&rule.about, TextKind::List, false);
        self.option(&rule.advises, TextKind::List, false);
        for text in &rule.actions {
            if let (_, Some(when)) = action_parts(text.get_ref()) {
                let when = Spanned::new(text.span(), when.to_owned());
                self.text(&when, TextKind::Expression, false);
            }
        }
        self.all(&rule.gaps, false);
        self.all(&rule.would_decide, false);
    }

    fn all(&mut self, texts: &[Text], has_item: bool) {
        for text in texts {
            self.text(text, TextKind::Template, has_item);
        }
    }

    fn option(&mut self, text: &Option<Text>, kind: TextKind, has_item: bool) {
        if let Some(text) = text {
            self.text(text, kind, has_item);
        }
    }

    fn text(&mut self, text: &Text, kind: TextKind, has_item: bool) {
        let source = text.get_ref().as_str();
        let (result, tokens) = if kind == TextKind::Template {
            let names = LANGUAGE
                .environment()
                .template_from_str(source)
                .map(|template| template.undeclared_variables(false));
            (names, scan::template(source))
        } else {
            let names = LANGUAGE
                .environment()
                .compile_expression(source)
                .map(|expression| expression.undeclared_variables(false));
            (names, scan::expression(source))
        };
        match result {
            Err(error) => {
                let offset = error.range().map_or(0, |range| range.start);
                let at = self.report.inside(text, offset);
                let detail = error.detail().unwrap_or("it cannot be read");
                self.report
                    .error(at, format!("not an expression: {detail}"));
            }
            Ok(names) => {
                if names.contains("alert") {
                    self.fields(text, &tokens);
                }
                self.variables(text, &tokens, names, has_item);
                self.references(text, &tokens);
                self.filters_and_tests(text, &tokens);
                if kind == TextKind::List {
                    self.list(text);
                }
            }
        }
    }

    fn error(&mut self, text: &Text, offset: usize, message: String) {
        let at = self.report.inside(text, offset);
        self.report.error(at, message);
    }

    fn fields(&mut self, text: &Text, tokens: &[(usize, Token<'_>)]) {
        for field in fields::missing(tokens, &self.alert) {
            let at = self.report.inside(text, field.offset);
            if field.has_default {
                self.report.warning(at, field.message);
            } else {
                self.report.error(at, field.message);
            }
        }
    }

    fn variables(
        &mut self,
        text: &Text,
        tokens: &[(usize, Token<'_>)],
        names: std::collections::HashSet<String>,
        has_item: bool,
    ) {
        for (offset, token) in tokens {
            let Token::Word(word) = token else { continue };
            if !names.contains(*word) || is_attribute(tokens, *offset) {
                continue;
            }
            if *word == "item" && !has_item {
                self.error(
                    text,
                    *offset,
                    "`item` is known only beside `for_each`".to_owned(),
                );
            } else if self.is_known(text, word) {
                continue;
            } else if self.playbook.lets.contains_key(*word) {
                let message = format!("`{word}` stands further down in [let]; use what is above");
                self.error(text, *offset, message);
            } else {
                let lets = self.playbook.lets.keys().map(String::as_str);
                let functions: Vec<&str> = functions().collect();
                let known = VARIABLES.iter().chain(&functions).copied().chain(lets);
                self.error(text, *offset, unknown("name", word, known));
            }
        }
    }

    /// Checks that a named expression has a free name and is within the limit.
    fn is_free(&mut self, name: &str, index: usize, at: usize) {
        if VARIABLES.contains(&name) || is_function(name) || name == FACTS {
            let message = format!("`{name}` is something already: give this another name");
            self.report.error(at, message);
        }
        if index == MOST_LETS {
            let message = format!("[let] has at most {MOST_LETS} names");
            self.report.error(at, message);
        }
    }

    /// Reports names that a named expression cannot use, because it is evaluated before findings and exonerations.
    fn too_early(&mut self, text: &Text) {
        for (offset, token) in scan::expression(text.get_ref()) {
            if let Token::Word(
                word @ ("finding" | "findings" | "cleared" | "cleared_by" | "exonerations"
                | "unattributed" | "whole"),
            ) = token
            {
                let message =
                    format!("`{word}` is not known yet in [let]; use it in the rule itself");
                self.error(text, offset, message);
            }
        }
    }

    /// Returns whether the word is a variable, a function, or a named expression above this text.
    fn is_known(&self, text: &Text, word: &str) -> bool {
        let is_let = self.playbook.lets.iter().any(|(name, expression)| {
            name == word
                && (expression.span().start < text.span().start
                    || !self
                        .playbook
                        .lets
                        .values()
                        .any(|one| one.span() == text.span()))
                && expression.span() != text.span()
        });
        is_let || VARIABLES.contains(&word) || is_function(word) || is_global(word)
    }

    /// Checks the steps and findings that an expression names.
    fn references(&mut self, text: &Text, tokens: &[(usize, Token<'_>)]) {
        for window in tokens.windows(3) {
            let [
                (_, Token::Word(word)),
                (_, Token::Sign(sign)),
                (offset, third),
            ] = window
            else {
                continue;
            };
            let (name, is_step) = match (*word, *sign, third) {
                ("each" | "answered" | "whole" | "rows", '(', Token::Text(name)) => (*name, true),
                ("results", '.', Token::Word(name)) | ("results", '[', Token::Text(name)) => {
                    (*name, true)
                }
                ("finding", '(', Token::Text(name)) => (*name, false),
                _ => continue,
            };
            let (what, known): (_, Vec<&str>) = if is_step {
                let ids = self
                    .playbook
                    .steps
                    .iter()
                    .map(|step| step.id.get_ref().as_str());
                ("step", ids.collect())
            } else {
                let ids = self
                    .playbook
                    .findings
                    .iter()
                    .map(|one| one.id.get_ref().as_str());
                ("finding", ids.collect())
            };
            if !known.contains(&name) {
                self.error(text, *offset, unknown(what, name, known));
            }
        }
    }

    /// Checks filters and tests, which minijinja looks up only at evaluation.
    fn filters_and_tests(&mut self, text: &Text, tokens: &[(usize, Token<'_>)]) {
        let mut before: Option<Token<'_>> = None;
        let mut before_that: Option<Token<'_>> = None;
        for (offset, token) in tokens {
            let after_is = before == Some(Token::Word("is"))
                || (before == Some(Token::Word("not")) && before_that == Some(Token::Word("is")));
            if let Token::Word(word) = token {
                if before == Some(Token::Sign('|')) && !is_named(word, "filter") {
                    self.error(text, *offset, format!("unknown filter `{word}`"));
                } else if after_is && *word != "not" && !is_named(word, "test") {
                    self.error(text, *offset, format!("unknown test `{word}`"));
                }
            }
            before_that = before;
            before = Some(*token);
        }
    }

    /// Checks that a `for_each` gives a list, by evaluation on a case without results. A value that is not a list
    /// there never is.
    fn list(&mut self, text: &Text) {
        let value = LANGUAGE
            .environment()
            .compile_expression(text.get_ref())
            .and_then(|expression| expression.eval(self.nothing.context()));
        if let Ok(value) = value
            && !matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable)
            && !value.is_undefined()
        {
            let kind = value.kind();
            self.error(text, 0, format!("a list is wanted; this gives a {kind}"));
        }
    }
}

/// Returns whether the word at this offset follows a dot.
fn is_attribute(tokens: &[(usize, Token<'_>)], offset: usize) -> bool {
    let before = tokens.iter().take_while(|(at, _)| *at < offset).last();
    before.is_some_and(|(_, token)| *token == Token::Sign('.'))
}

fn is_function(word: &str) -> bool {
    functions().any(|name| name == word)
}

fn is_global(word: &str) -> bool {
    word != FACTS
        && LANGUAGE
            .environment()
            .globals()
            .any(|(name, _)| name == word)
}

/// Returns whether the environment has a filter or test of this name.
fn is_named(word: &str, category: &str) -> bool {
    LANGUAGE
        .environment()
        .compile_expression_owned(format!("name is {category}"))
        .and_then(|expression| {
            expression.eval(minijinja::Value::from_pairs([(
                "name",
                minijinja::Value::from(word),
            )]))
        })
        .is_ok_and(|value| value.is_true())
}
