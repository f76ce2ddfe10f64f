//! Caches the prompt parts that requests of all cases with the same tools share: the system text and the tools, made
//! once.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use minijinja::context;
use nightshift_engine::tool::ToolSpec;

use super::prompts::Prompt;
use super::tools::PromptTools;
use super::{ModelSettings, compaction};
use nightshift_llm::chat::ChatText;

/// Maximum number of tool sets whose prompts are cached. A profile has one, and another after a restart with other
/// tools.
const MAX_PROMPTS: usize = 8;

/// Prompt parts that requests of all cases with the same tools share.
#[derive(Debug)]
pub(super) struct CachedPrompt {
    pub(super) tools: PromptTools,
    pub(super) tools_tokens: u64,
    /// System text beside the tools, and its tokens.
    pub(super) system: (ChatText, u64),
    /// System text for models that get some requests without tools, and its tokens. It says what each tool is for.
    pub(super) full_system: (ChatText, u64),
}

impl CachedPrompt {
    fn new(settings: &ModelSettings, specs: &Arc<[ToolSpec]>) -> Result<Self, String> {
        let tools = PromptTools::from_specs(specs);
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
            let listed = context! { tools => tools.describe(whole) };
            let listed = prompts.render(Prompt::Tools, listed)?;
            let text = ChatText::shared(format!("{}\n{listed}", parts.join("\n")));
            let tokens = compaction::fixed_tokens(&text, &[]);
            Ok::<_, String>((text, tokens))
        };
        Ok(Self {
            system: system(false)?,
            full_system: system(true)?,
            tools_tokens: compaction::fixed_tokens("", &tools.chat),
            tools,
        })
    }
}

/// Cache of one analyst.
#[derive(Debug, Default)]
pub(super) struct PromptCache {
    prompts: Vec<Arc<CachedPrompt>>,
    /// Entries of open cases and of the tool lists that entries were made of, by the address of the list.
    by_case: HashMap<usize, CasePrompt>,
}

/// Entry of a case.
#[derive(Debug)]
struct CasePrompt {
    /// Keeps the list's address from being reused, but not its content.
    tools: Weak<[ToolSpec]>,
    prompt: Arc<CachedPrompt>,
}

impl PromptCache {
    /// Returns the entry for these tools. Each case has its own list, mostly equal to all others. The lists are
    /// compared once per case, not for each question.
    pub(super) fn get_or_build(
        &mut self,
        settings: &ModelSettings,
        tools: &Arc<[ToolSpec]>,
    ) -> Result<Arc<CachedPrompt>, String> {
        let at = Arc::as_ptr(tools).addr();
        if let Some(taken) = self.by_case.get(&at).filter(|taken| taken.is_open()) {
            return Ok(Arc::clone(&taken.prompt));
        }
        let desk = self.find_or_build(settings, tools)?;
        self.by_case.retain(|_, taken| taken.is_open());
        let taken = CasePrompt {
            tools: Arc::downgrade(tools),
            prompt: Arc::clone(&desk),
        };
        self.by_case.insert(at, taken);
        Ok(desk)
    }

    fn find_or_build(
        &mut self,
        settings: &ModelSettings,
        tools: &Arc<[ToolSpec]>,
    ) -> Result<Arc<CachedPrompt>, String> {
        if let Some(desk) = self
            .prompts
            .iter()
            .find(|desk| desk.tools.is_built_from(tools))
        {
            return Ok(Arc::clone(desk));
        }
        let desk = Arc::new(CachedPrompt::new(settings, tools)?);
        if self.prompts.len() == MAX_PROMPTS {
            self.prompts.remove(0);
        }
        self.prompts.push(Arc::clone(&desk));
        Ok(desk)
    }
}

impl CasePrompt {
    fn is_open(&self) -> bool {
        self.tools.strong_count() > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tests::case_fixture;

    #[test]
    fn cases_with_equal_tools_share_a_desk_until_they_end() {
        let (settings, mut desks) = (ModelSettings::default(), PromptCache::default());
        let fewer = |count: usize| -> Arc<[ToolSpec]> {
            let mut tools = case_fixture::tools();
            tools.truncate(count);
            tools.into()
        };
        let cases: Vec<_> = (0..20).map(|_| fewer(3)).collect();
        let first = desks.get_or_build(&settings, &cases[0]).unwrap();
        for tools in cases.iter().chain(&cases) {
            assert!(Arc::ptr_eq(
                &first,
                &desks.get_or_build(&settings, tools).unwrap()
            ));
        }
        assert_eq!((desks.prompts.len(), desks.by_case.len()), (1, 20));
        drop(cases);

        let other = fewer(2);
        assert!(!Arc::ptr_eq(
            &first,
            &desks.get_or_build(&settings, &other).unwrap()
        ));
        // Each entry keeps the list that it was made of.
        assert_eq!((desks.prompts.len(), desks.by_case.len()), (2, 2));
    }
}
