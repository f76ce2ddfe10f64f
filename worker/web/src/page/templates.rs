//! Renders the templates, which are compiled in, escaped, strict about undefined values, and bounded in work.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Error, UndefinedBehavior};
use nightshift_pipeline::language::Language;
use serde::Serialize;

const TEMPLATES: [(&str, &str); 7] = [
    ("base.html", include_str!("../../templates/base.html")),
    ("parts.html", include_str!("../../templates/parts.html")),
    ("list.html", include_str!("../../templates/list.html")),
    ("case.html", include_str!("../../templates/case.html")),
    ("people.html", include_str!("../../templates/people.html")),
    ("trace.html", include_str!("../../templates/trace.html")),
    ("problem.html", include_str!("../../templates/problem.html")),
];
/// Maximum number of instructions of one page. The longest report needs a tenth of them.
const FUEL: u64 = 10_000_000;

pub(crate) struct Templates(Environment<'static>);

impl Templates {
    /// Compiles the templates. `pick(en, ja)` is the text of these in the language.
    pub(crate) fn new(language: Language) -> Result<Self, Error> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|_| AutoEscape::Html);
        // A block on a line of its own leaves no blank line in the page.
        let syntax = SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()?;
        environment.set_syntax(syntax);
        environment.set_fuel(Some(FUEL));
        environment.add_global("language", language.code());
        environment.add_function("pick", move |en: String, ja: String| match language {
            Language::En => en,
            Language::Ja => ja,
        });
        for (name, source) in TEMPLATES {
            environment.add_template(name, source)?;
        }
        Ok(Self(environment))
    }

    pub(crate) fn render(&self, name: &str, view: impl Serialize) -> Result<String, Error> {
        self.0.get_template(name)?.render(Serde(view))
    }
}
