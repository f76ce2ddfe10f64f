//! Checks the expressions and templates of a playbook: whether they compile, and whether every name in them is known.

use minijinja::value::ValueKind;
use nightshift_expression::scope::Scope;
use serde_json::Value as Json;
use toml::Spanned;

use super::fields;
use super::report::{ProblemReport, unknown_name_message};
use super::scan::{self, Token};
use crate::playbook::facts::{FACTS, blank_alert};
use crate::playbook::language::{LANGUAGE, functions};
use crate::playbook::playbook_file::{
    ArgumentForm, Playbook, SpannedText, VerdictForm, action_parts,
};
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
const MAX_LETS: usize = 128;

/// The kind of a text in a playbook.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextKind {
    Expression,
    List,
    Template,
}

/// Checks all expressions and templates.
pub(super) fn check_expressions(playbook: &Playbook, report: &mut ProblemReport<'_>) {
    let mut check = ExpressionChecker {
        playbook,
        report,
        empty_scope: scope::blank(playbook),
        alert: blank_alert(),
    };
    for (index, (name, expression)) in playbook.lets().into_iter().enumerate() {
        check.check_let_name(name, index, expression.span().start);
        check.check_text(expression, TextKind::Expression, false);
        check.check_let_order(expression);
    }
    check.check_text(&playbook.objective, TextKind::Template, false);
    for step in &playbook.steps {
        check.check_text(&step.description, TextKind::Template, false);
        check.check_optional(&step.when, TextKind::Expression, false);
        check.check_optional(&step.because, TextKind::Template, false);
        check.check_optional(&step.met, TextKind::Expression, false);
        check.check_optional(&step.summary, TextKind::Template, false);
        for call in &step.calls {
            let has_item = call.for_each.is_some();
            check.check_optional(&call.when, TextKind::Expression, false);
            check.check_optional(&call.for_each, TextKind::List, false);
            for argument in call.arguments.values() {
                if let ArgumentForm::Template(text) = argument.get_ref() {
                    let text = Spanned::new(argument.span(), text.clone());
                    check.check_text(&text, TextKind::Template, has_item);
                }
            }
        }
    }
    for finding in &playbook.findings {
        let has_item = finding.for_each.is_some();
        check.check_optional(&finding.for_each, TextKind::List, false);
        check.check_optional(&finding.when, TextKind::Expression, has_item);
        check.check_text(&finding.claim, TextKind::Template, has_item);
        check.check_all(&finding.cite, has_item);
        check.check_all(&finding.techniques, has_item);
    }
    for rule in &playbook.benign {
        let has_item = rule.for_each.is_some();
        check.check_optional(&rule.for_each, TextKind::List, false);
        check.check_text(&rule.when, TextKind::Expression, has_item);
        check.check_text(&rule.subject, TextKind::Template, has_item);
        check.check_text(&rule.reference, TextKind::Template, has_item);
        check.check_text(&rule.statement, TextKind::Template, has_item);
        check.check_optional(&rule.approved_by, TextKind::Template, has_item);
    }
    let rules = playbook.verdicts.iter().chain(&playbook.otherwise);
    for rule in rules {
        check.check_verdict(rule.get_ref());
    }
}

struct ExpressionChecker<'c, 's> {
    playbook: &'c Playbook,
    report: &'c mut ProblemReport<'s>,
    /// The scope of a case without results.
    empty_scope: Scope,
    /// An alert with every field of an alert.
    alert: Json,
}

impl ExpressionChecker<'_, '_> {
    fn check_verdict(&mut self, rule: &VerdictForm) {
        self.check_optional(&rule.when, TextKind::Expression, false);
        self.check_optional(&rule.about, TextKind::List, false);
        self.check_optional(&rule.advises, TextKind::List, false);
        for text in &rule.actions {
            if let (_, Some(when)) = action_parts(text.get_ref()) {
                let when = Spanned::new(text.span(), when.to_owned());
                self.check_text(&when, TextKind::Expression, false);
            }
        }
        self.check_all(&rule.gaps, false);
        self.check_all(&rule.would_decide, false);
    }

    fn check_all(&mut self, texts: &[SpannedText], has_item: bool) {
        for text in texts {
            self.check_text(text, TextKind::Template, has_item);
        }
    }

    fn check_optional(&mut self, text: &Option<SpannedText>, kind: TextKind, has_item: bool) {
        if let Some(text) = text {
            self.check_text(text, kind, has_item);
        }
    }

    fn check_text(&mut self, text: &SpannedText, kind: TextKind, has_item: bool) {
        let source = text.get_ref().as_str();
        let (result, tokens) = if kind == TextKind::Template {
            let names = LANGUAGE
                .environment()
                .template_from_str(source)
                .map(|template| template.undeclared_variables(false));
            (names, scan::scan_template(source))
        } else {
            let names = LANGUAGE
                .environment()
                .compile_expression(source)
                .map(|expression| expression.undeclared_variables(false));
            (names, scan::scan_expression(source))
        };
        match result {
            Err(error) => {
                let offset = error.range().map_or(0, |range| range.start);
                let at = self.report.offset_inside(text, offset);
                let detail = error.detail().unwrap_or("syntax error");
                self.report
                    .error(at, format!("not an expression: {detail}"));
            }
            Ok(names) => {
                if names.contains("alert") {
                    self.check_fields(text, &tokens);
                }
                self.check_variables(text, &tokens, names, has_item);
                self.check_references(text, &tokens);
                self.check_filters_and_tests(text, &tokens);
                if kind == TextKind::List {
                    self.check_list(text);
                }
            }
        }
    }

    fn add_error(&mut self, text: &SpannedText, offset: usize, message: String) {
        let at = self.report.offset_inside(text, offset);
        self.report.error(at, message);
    }

    fn check_fields(&mut self, text: &SpannedText, tokens: &[(usize, Token<'_>)]) {
        for field in fields::unknown_fields(tokens, &self.alert) {
            let at = self.report.offset_inside(text, field.offset);
            if field.has_default {
                self.report.warning(at, field.message);
            } else {
                self.report.error(at, field.message);
            }
        }
    }

    fn check_variables(
        &mut self,
        text: &SpannedText,
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
                self.add_error(
                    text,
                    *offset,
                    "`item` is available only with `for_each`".to_owned(),
                );
            } else if self.is_known(text, word) {
                continue;
            } else if self.playbook.lets.contains_key(*word) {
                let message = format!("`{word}` is defined later in [let]; use only names above");
                self.add_error(text, *offset, message);
            } else {
                let lets = self.playbook.lets.keys().map(String::as_str);
                let functions: Vec<&str> = functions().collect();
                let known = VARIABLES.iter().chain(&functions).copied().chain(lets);
                self.add_error(text, *offset, unknown_name_message("name", word, known));
            }
        }
    }

    /// Checks that a named expression has a free name and is within the limit.
    fn check_let_name(&mut self, name: &str, index: usize, at: usize) {
        if VARIABLES.contains(&name) || is_function(name) || name == FACTS {
            let message = format!("`{name}` is a built-in name; choose another name");
            self.report.error(at, message);
        }
        if index == MAX_LETS {
            let message = format!("[let] has at most {MAX_LETS} names");
            self.report.error(at, message);
        }
    }

    /// Reports names that a named expression cannot use, because it is evaluated before findings and exonerations.
    fn check_let_order(&mut self, text: &SpannedText) {
        for (offset, token) in scan::scan_expression(text.get_ref()) {
            if let Token::Word(
                word @ ("finding" | "findings" | "cleared" | "cleared_by" | "exonerations"
                | "unattributed" | "whole"),
            ) = token
            {
                let message = format!("`{word}` is not available in [let]; use it in the rule");
                self.add_error(text, offset, message);
            }
        }
    }

    /// Returns whether the word is a variable, a function, or a named expression above this text.
    fn is_known(&self, text: &SpannedText, word: &str) -> bool {
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
    fn check_references(&mut self, text: &SpannedText, tokens: &[(usize, Token<'_>)]) {
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
                self.add_error(text, *offset, unknown_name_message(what, name, known));
            }
        }
    }

    /// Checks filters and tests, which minijinja looks up only at evaluation.
    fn check_filters_and_tests(&mut self, text: &SpannedText, tokens: &[(usize, Token<'_>)]) {
        let mut before: Option<Token<'_>> = None;
        let mut before_that: Option<Token<'_>> = None;
        for (offset, token) in tokens {
            let after_is = before == Some(Token::Word("is"))
                || (before == Some(Token::Word("not")) && before_that == Some(Token::Word("is")));
            if let Token::Word(word) = token {
                if before == Some(Token::Sign('|')) && !has_filter_or_test(word, "filter") {
                    self.add_error(text, *offset, format!("unknown filter `{word}`"));
                } else if after_is && *word != "not" && !has_filter_or_test(word, "test") {
                    self.add_error(text, *offset, format!("unknown test `{word}`"));
                }
            }
            before_that = before;
            before = Some(*token);
        }
    }

    /// Checks that a `for_each` gives a list, by evaluation on a case without results. A value that is not a list
    /// there never is.
    fn check_list(&mut self, text: &SpannedText) {
        let value = LANGUAGE
            .environment()
            .compile_expression(text.get_ref())
            .and_then(|expression| expression.eval(self.empty_scope.context()));
        if let Ok(value) = value
            && !matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable)
            && !value.is_undefined()
        {
            let kind = value.kind();
            self.add_error(text, 0, format!("expected a list, found a {kind}"));
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
fn has_filter_or_test(word: &str, category: &str) -> bool {
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
