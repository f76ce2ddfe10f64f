//! The prompt parts that requests of all cases with the same tools share: the system text and the tools, made once.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use minijinja::context;
use nightshift_engine::tool::ToolSpec;

use super::prompts::Prompt;
use super::tools::Tools;
use super::{Settings, compaction};
use nightshift_llm::chat::Text;

/// Maximum number of tool sets whose prompts are cached. A profile has one, and another after a restart with other
/// tools.
const MOST: usize = 8;

/// Prompt parts that requests of all cases with the same tools share.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) tools: Tools,
    pub(super) tools_tokens: u64,
    /// System text beside the tools, and its tokens.
    pub(super) system: (Text, u64),
    /// System text for models that get some requests without tools, and its tokens. It says what each tool is for.
    pub(super) whole_system: (Text, u64),
}

impl Desk {
    fn new(settings: &Settings, specs: &Arc<[ToolSpec]>) -> Result<Self, String> {
        let tools = Tools::of(specs);
        let prompts = &settings.prompts;
        let parts = [
            prompts.render(Prompt::Role, context! {})?,
            prompts.render(
                Prompt::Policies,
                context! { language => settings.language_name() },
            )?,
            prompts.render(
                Prompt::Environment,
                context! {
                    environment => settings.environment.as_str(),
                    data_sources => settings.data_sources.as_str(),
                    instructions => settings.instructions.as_str(),
                },
            )?,
        ];
        let system = |whole| {
            let listed = context! { tools => tools.listed(whole) };
            let listed = prompts.render(Prompt::Tools, listed)?;
            let text = Text::shared(format!("{}\n{listed}", parts.join("\n")));
            let tokens = compaction::fixed(&text, &[]);
            Ok::<_, String>((text, tokens))
        };
        Ok(Self {
            system: system(false)?,
            whole_system: system(true)?,
            tools_tokens: compaction::fixed("", &tools.chat),
            tools,
        })
    }
}

/// Cache of one analyst.
#[derive(Debug, Default)]
pub(super) struct Desks {
    made: Vec<Arc<Desk>>,
    /// Entries of open cases and of the tool lists that entries were made of, by the address of the list.
    taken: HashMap<usize, Taken>,
}

/// Entry of a case.
#[derive(Debug)]
struct Taken {
    /// Keeps the list's address from being reused, but not its content.
    tools: Weak<[ToolSpec]>,
    desk: Arc<Desk>,
}

impl Desks {
    /// Returns the entry for these tools. Each case has its own list, mostly equal to all others. The lists are
    /// compared once per case, not for each question.
    pub(super) fn of(
        &mut self,
        settings: &Settings,
        tools: &Arc<[ToolSpec]>,
    ) -> Result<Arc<Desk>, String> {
        let at = Arc::as_ptr(tools).addr();
        if let Some(taken) = self.taken.get(&at).filter(|taken| taken.is_open()) {
            return Ok(Arc::clone(&taken.desk));
        }
        let desk = self.equal(settings, tools)?;
        self.taken.retain(|_, taken| taken.is_open());
        let taken = Taken {
            tools: Arc::downgrade(tools),
            desk: Arc::clone(&desk),
        };
        self.taken.insert(at, taken);
        Ok(desk)
    }

    fn equal(&mut self, settings: &Settings, tools: &Arc<[ToolSpec]>) -> Result<Arc<Desk>, String> {
        if let Some(desk) = self.made.iter().find(|desk| desk.tools.is_of(tools)) {
            return Ok(Arc::clone(desk));
        }
        let desk = Arc::new(Desk::new(settings, tools)?);
        if self.made.len() == MOST {
            self.made.remove(0);
        }
        self.made.push(Arc::clone(&desk));
        Ok(desk)
    }
}

impl Taken {
    fn is_open(&self) -> bool {
        self.tools.strong_count() > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tests::world;

    #[test]
    fn cases_with_equal_tools_share_a_desk_until_they_end() {
        let (settings, mut desks) = (Settings::default(), Desks::default());
        let fewer = |count: usize| -> Arc<[ToolSpec]> {
            let mut tools = world::tools();
            tools.truncate(count);
            tools.into()
        };
        let cases: Vec<_> = (0..20).map(|_| fewer(3)).collect();
        let first = desks.of(&settings, &cases[0]).unwrap();
        for tools in cases.iter().chain(&cases) {
            assert!(Arc::ptr_eq(&first, &desks.of(&settings, tools).unwrap()));
        }
        assert_eq!((desks.made.len(), desks.taken.len()), (1, 20));
        drop(cases);

        let other = fewer(2);
        assert!(!Arc::ptr_eq(&first, &desks.of(&settings, &other).unwrap()));
        // Each entry keeps the list that it was made of.
        assert_eq!((desks.made.len(), desks.taken.len()), (2, 2));
    }
}
