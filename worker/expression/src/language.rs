//! Compiles expressions and templates, with strict undefined values, a fuel limit and no file access.
//!
//! Each text is compiled once in the life of the process. Texts come from playbooks and configuration alone, so there
//! are few. A full cache is emptied.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use minijinja::{AutoEscape, Environment, Error, Expression, UndefinedBehavior, Value};
use parking_lot::{Mutex, RwLock};

/// Maximum number of instructions of one evaluation.
const FUEL: u64 = 200_000;

/// Maximum number of texts in each cache.
const MAX_CACHED: usize = 4_096;

type Compiled = Arc<Expression<'static, 'static>>;

/// The variables that a text reads and does not set itself.
pub type Names = Arc<HashSet<String>>;

/// The language with the functions and filters of its owner, built once per process.
pub struct Language {
    environment: Environment<'static>,
    expressions: Mutex<HashMap<String, Compiled>>,
    templates: RwLock<Arc<Environment<'static>>>,
    expression_names: Mutex<HashMap<String, Names>>,
    template_names: Mutex<HashMap<String, Names>>,
}

impl fmt::Debug for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Language").finish_non_exhaustive()
    }
}

impl Language {
    /// Builds the language; `register` adds functions and filters.
    #[must_use]
    pub fn new(register: impl FnOnce(&mut Environment<'static>)) -> Self {
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
        // By default minijinja decides by the end of the template's name. Here the name is the template's text.
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        register(&mut environment);
        Self {
            expressions: Mutex::default(),
            templates: RwLock::new(Arc::new(environment.clone())),
            expression_names: Mutex::default(),
            template_names: Mutex::default(),
            environment,
        }
    }

    /// Returns the environment, for checks that need the parser's own errors.
    pub const fn environment(&self) -> &Environment<'static> {
        &self.environment
    }

    /// Returns the variables that an expression reads.
    pub fn names_of_expression(&self, text: &str) -> Result<Names, Error> {
        cached(&self.expression_names, text, || {
            let compiled = self.environment.compile_expression(text)?;
            Ok(Arc::new(compiled.undeclared_variables(false)))
        })
    }

    /// Returns the variables that a template reads.
    pub fn names_of_template(&self, text: &str) -> Result<Names, Error> {
        cached(&self.template_names, text, || {
            let compiled = self.environment.template_from_str(text)?;
            Ok(Arc::new(compiled.undeclared_variables(false)))
        })
    }

    /// Returns the compiled expression.
    pub(crate) fn compile(&'static self, text: &str) -> Result<Compiled, Error> {
        cached(&self.expressions, text, || {
            let compiled = self.environment.compile_expression_owned(text.to_owned())?;
            Ok(Arc::new(compiled))
        })
    }

    /// Renders a template. The function holds no lock meanwhile, because functions that a template calls render other
    /// templates.
    pub(crate) fn render(&self, template: &str, context: Value) -> Result<String, Error> {
        let templates = self.templates.read();
        let environment = Arc::clone(&templates);
        drop(templates);
        if let Ok(known) = environment.get_template(template) {
            return known.render(context);
        }
        drop(environment);
        let text = self.environment.render_str(template, context)?;
        let mut templates = self.templates.write();
        let environment = Arc::make_mut(&mut templates);
        if environment.templates().count() >= MAX_CACHED {
            environment.clear_templates();
        }
        environment.add_template_owned(template.to_owned(), template.to_owned())?;
        Ok(text)
    }
}

/// Returns the cached value of a text. If there is none, the value is made and cached first.
fn cached<T: Clone>(
    cache: &Mutex<HashMap<String, T>>,
    text: &str,
    make: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    let mut cache = cache.lock();
    if let Some(known) = cache.get(text) {
        return Ok(known.clone());
    }
    let new = make()?;
    if cache.len() >= MAX_CACHED {
        cache.clear();
    }
    cache.insert(text.to_owned(), new.clone());
    Ok(new)
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use minijinja::context;

    use super::*;

    static LANGUAGE: LazyLock<Language> = LazyLock::new(|| Language::new(|_| {}));

    /// A value that, while it is rendered, renders a new template on another thread.
    #[derive(Debug)]
    struct RendersElsewhere;

    impl minijinja::value::Object for RendersElsewhere {
        fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            let other =
                std::thread::spawn(|| LANGUAGE.render("a template of another case", context! {}));
            f.write_str(&other.join().unwrap().unwrap())
        }
    }

    /// Checks that rendering holds no lock. With a lock, two concurrent cases waited for each other indefinitely.
    #[test]
    fn template_is_rendered_without_a_lock() {
        let outer = "{{ value }} in the template of one case";
        for _ in 0..2 {
            let value = Value::from_object(RendersElsewhere);
            let text = LANGUAGE.render(outer, context! { value }).unwrap();
            assert_eq!(
                text,
                "a template of another case in the template of one case"
            );
            Arc::make_mut(&mut LANGUAGE.templates.write())
                .remove_template("a template of another case");
        }
    }

    #[test]
    fn endless_expression_runs_out_of_fuel() {
        let text = "{% for i in range(1000) %}{% for j in range(1000) %}x{% endfor %}{% endfor %}";
        let error = LANGUAGE.render(text, context! {}).unwrap_err();
        assert_eq!(error.kind(), minijinja::ErrorKind::OutOfFuel);
    }
}
