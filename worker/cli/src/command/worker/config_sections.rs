//! Detects a configuration file that was cut off. A file that is overwritten in place may be read half, and half a
//! file may be valid.

use anyhow::anyhow;

use super::config_watcher::ReloadTrigger;
use crate::config::{DEFAULTS, LoadedConfig};
use crate::exit::Exit;

/// The sections whose loss is suspicious.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConfigSections {
    /// True if the file has any setting.
    has_content: bool,
    store: String,
    /// The names of the sections, and whether each has content.
    sections: [(&'static str, bool); 4],
}

impl ConfigSections {
    pub(super) fn from_loaded(loaded: &LoadedConfig) -> Self {
        let config = &loaded.config;
        let text = loaded.text.as_deref().unwrap_or_default();
        let is_said = |line: &str| !line.is_empty() && !line.starts_with('#');
        let store = config.store.url.clone();
        let has_store = !DEFAULTS.contains(&format!("url = {store:?}\n"));
        let mut sent_to = config.routes.iter().flat_map(|route| {
            let all = route.destinations.iter().chain(&route.otherwise);
            all.flatten()
        });
        let sends = sent_to.next().is_some();
        Self {
            has_content: text.lines().map(str::trim).any(is_said),
            store,
            sections: [
                ("[store] url", has_store),
                ("any [[destination]]", !config.destinations.is_empty()),
                ("any [[route]] with destinations", sends),
                ("[web] tokens", !config.web.tokens.is_empty()),
            ],
        }
    }

    /// Refuses a configuration that lacks what this one contains. After SIGHUP, the loss is only logged.
    pub(super) fn check(&self, new: &Self, why: ReloadTrigger) -> Result<(), Exit> {
        if self.has_content && !new.has_content {
            return Err(Exit::Config(anyhow!("the file is empty")));
        }
        let gone = self.gone(new);
        if !gone.is_empty() {
            let gone = gone.join(", ");
            if why != ReloadTrigger::Signal {
                return Err(Exit::Config(anyhow!(
                    "the file no longer contains {gone} and may be cut off; if intended, send \
                     SIGHUP or restart the worker"
                )));
            }
            tracing::warn!(gone, "sections were removed from the configuration");
        }
        if self.store != new.store {
            tracing::warn!(
                "[store] url has changed: only workers that still use the previous database \
                 process its waiting cases and reports"
            );
        }
        Ok(())
    }

    fn gone(&self, new: &Self) -> Vec<&'static str> {
        let pairs = self.sections.iter().zip(&new.sections);
        let gone = pairs.filter(|((_, had), (_, has))| *had && !has);
        gone.map(|((name, _), _)| *name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load;

    const WHOLE: &str = r#"
[store]
url = "sqlite:ours.db"
[web]
tokens = ["file:token"]
[[destination]]
name = "soc"
kind = "file"
path = "reports"
[[route]]
destinations = ["soc"]
"#;

    fn holds(text: &str) -> ConfigSections {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("nightshift.toml");
        std::fs::write(&file, text).unwrap();
        ConfigSections::from_loaded(&load(Some(&file)).unwrap())
    }

    #[test]
    fn a_file_that_was_cut_off_anywhere_is_not_taken_up_by_itself() {
        let whole = holds(WHOLE);
        whole.check(&whole, ReloadTrigger::Files).unwrap();
        let refused = |end: &str| {
            let cut = WHOLE.split(end).next().unwrap();
            whole
                .check(&holds(cut), ReloadTrigger::Files)
                .unwrap_err()
                .message()
        };
        insta::assert_snapshot!(refused("[store]"), @"the file is empty");
        insta::assert_snapshot!(refused("[web]"), @"the file no longer contains any [[destination]], any [[route]] with destinations, [web] tokens and may be cut off; if intended, send SIGHUP or restart the worker");
        insta::assert_snapshot!(refused("[[route]]"), @"the file no longer contains any [[route]] with destinations and may be cut off; if intended, send SIGHUP or restart the worker");
        let moved = WHOLE.replace("url = \"sqlite:ours.db\"", "");
        let refused = whole
            .check(&holds(&moved), ReloadTrigger::Retry)
            .unwrap_err();
        assert!(refused.message().contains("[store] url"), "{refused:?}");
    }

    #[test]
    fn signal_reload_may_remove_sections_but_not_empty_the_file() {
        let whole = holds(WHOLE);
        let without = holds(WHOLE.split("[[destination]]").next().unwrap());
        whole.check(&without, ReloadTrigger::Signal).unwrap();
        without.check(&whole, ReloadTrigger::Files).unwrap();
        let nothing = whole.check(&holds("# nothing\n\n"), ReloadTrigger::Signal);
        assert_eq!(nothing.unwrap_err().message(), "the file is empty");
    }
}
