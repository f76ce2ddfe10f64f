//! What playbooks say, compiled: expressions and templates of minijinja, strict, with a fuel limit, without files.
//!
//! Each is compiled once in the life of the process. They come from playbooks and the profile alone, so there are few;
//! beyond a bound what was kept begins anew.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, RwLock};

use minijinja::{AutoEscape, Environment, Error, Expression, UndefinedBehavior, Value};

use super::vocabulary;

/// Steps that one expression may take.
const FUEL: u64 = 200_000;

/// Most expressions that are kept, and most templates.
const MOST: usize = 4_096;

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(FUEL));
    environment.set_debug(true);
    environment.set_formatter(|out, state, value| {
        if value.is_none() {
            Ok(())
        } else {
            minijinja::escape_formatter(out, state, value)
        }
    });
    // By default the end of a template's name decides, and here the name is its text.
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    vocabulary::add(&mut environment);
    environment
});

type Compiled = Arc<Expression<'static, 'static>>;
/// Names that a text wants from outside.
pub(super) type Names = Arc<HashSet<String>>;

static EXPRESSIONS: LazyLock<Mutex<HashMap<String, Compiled>>> = LazyLock::new(Mutex::default);
static TEMPLATES: LazyLock<RwLock<Arc<Environment<'static>>>> =
    LazyLock::new(|| RwLock::new(Arc::new(ENVIRONMENT.clone())));
static NAMES: LazyLock<Mutex<HashMap<String, Names>>> = LazyLock::new(Mutex::default);
static NAMES_OF_TEMPLATES: LazyLock<Mutex<HashMap<String, Names>>> = LazyLock::new(Mutex::default);

/// The one environment, for the check of expressions.
pub(super) fn environment() -> &'static Environment<'static> {
    &ENVIRONMENT
}

/// What is kept of this text, made where it is not.
fn kept<T: Clone>(
    all: &Mutex<HashMap<String, T>>,
    text: &str,
    make: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = all.get(text) {
        return Ok(known.clone());
    }
    let new = make()?;
    if all.len() >= MOST {
        all.clear();
    }
    all.insert(text.to_owned(), new.clone());
    Ok(new)
}

/// An expression.
pub(super) fn expression(text: &str) -> Result<Compiled, Error> {
    kept(&EXPRESSIONS, text, || {
        let compiled = ENVIRONMENT.compile_expression_owned(text.to_owned())?;
        Ok(Arc::new(compiled))
    })
}

/// The names that an expression wants from outside.
pub(super) fn names(text: &str) -> Result<Names, Error> {
    kept(&NAMES, text, || {
        let compiled = ENVIRONMENT.compile_expression(text)?;
        Ok(Arc::new(compiled.undeclared_variables(false)))
    })
}

/// The names that a template wants from outside.
pub(super) fn names_of_template(text: &str) -> Result<Names, Error> {
    kept(&NAMES_OF_TEMPLATES, text, || {
        let compiled = ENVIRONMENT.template_from_str(text)?;
        Ok(Arc::new(compiled.undeclared_variables(false)))
    })
}

/// Renders a template. No lock is held meanwhile: functions that a template calls render others.
pub(super) fn render(template: &str, context: Value) -> Result<String, Error> {
    let kept = TEMPLATES.read().unwrap_or_else(PoisonError::into_inner);
    let environment = Arc::clone(&kept);
    drop(kept);
    if let Ok(known) = environment.get_template(template) {
        return known.render(context);
    }
    drop(environment);
    let text = ENVIRONMENT.render_str(template, context)?;
    let mut kept = TEMPLATES.write().unwrap_or_else(PoisonError::into_inner);
    let environment = Arc::make_mut(&mut kept);
    if environment.templates().count() >= MOST {
        environment.clear_templates();
    }
    environment.add_template_owned(template.to_owned(), template.to_owned())?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use minijinja::context;

    use super::*;

    /// A value that renders a new template on another thread while it is rendered itself.
    #[derive(Debug)]
    struct RendersElsewhere;

    impl minijinja::value::Object for RendersElsewhere {
        fn render(self: &Arc<Self>, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            let other = std::thread::spawn(|| render("a template of another case", context! {}));
            f.write_str(&other.join().unwrap().unwrap())
        }
    }

    /// With a lock held while a template is rendered, two cases that ran side by side waited for each other for ever.
    #[test]
    fn template_is_rendered_without_a_lock() {
        let outer = "{{ value }} in the template of one case";
        for _ in 0..2 {
            let value = Value::from_object(RendersElsewhere);
            let text = render(outer, context! { value }).unwrap();
            assert_eq!(
                text,
                "a template of another case in the template of one case"
            );
            TEMPLATES
                .write()
                .map(|mut kept| {
                    Arc::make_mut(&mut kept).remove_template("a template of another case")
                })
                .unwrap();
        }
    }
}
