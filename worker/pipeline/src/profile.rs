//! Profiles: a named set of analyst, tools and limits that cases are triaged with.

use std::collections::BTreeMap;
use std::sync::Arc;

use nightshift_alert::Alert;
use nightshift_engine::{
    ActionTemplate, Analyst, AnalystKind, Conduct, Cost, Exonerator, JOURNAL_VERSION, Limits,
    Opened, Toolbox, evidence_read,
};

use crate::CaseId;

/// What cases are triaged with.
#[derive(Clone)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// Who thinks.
    pub analyst: Arc<dyn Analyst>,
    /// Who takes over when they give no answer; none where nobody is left.
    pub fallback: Option<Arc<dyn Analyst>>,
    /// Which kind of analyst that is.
    pub analyst_kind: AnalystKind,
    /// The models it may use, `provider/name`.
    pub models: Vec<String>,
    /// What is charged for a question before it is asked.
    pub reserve: Cost,
    /// The tools.
    pub toolbox: Arc<dyn Toolbox>,
    /// The rules that may clear an alert.
    pub exonerator: Arc<dyn Exonerator>,
    /// The actions that a report may advise.
    pub actions: Arc<[Arc<ActionTemplate>]>,
    /// The caps.
    pub limits: Limits,
    /// How its cases are worked on.
    pub conduct: Conduct,
    /// Hash of the prompts in use; empty where no model is asked.
    pub prompts: String,
}

impl Profile {
    /// What the journal of a case is opened with.
    #[must_use]
    pub fn open(&self, case_id: &CaseId, revision: u32, alert: Arc<Alert>) -> Opened {
        let actions: Vec<Arc<ActionTemplate>> = self
            .actions
            .iter()
            .filter(|action| action.provider.is_none_or(|cloud| cloud == alert.provider))
            .cloned()
            .collect();
        let mut tools = self.toolbox.specs();
        if self.analyst_kind == AnalystKind::Model {
            tools.push(evidence_read::spec());
        }
        Opened {
            version: JOURNAL_VERSION,
            case_id: case_id.0.clone(),
            revision,
            alert,
            profile: self.name.clone(),
            analyst: self.analyst_kind,
            models: self.models.clone(),
            limits: self.limits,
            reserve: self.reserve,
            tools: tools.into(),
            actions: actions.into(),
            conduct: self.conduct.clone(),
            delimiter: drawn(),
            pseudonym_key: format!("{}{}", drawn(), drawn()),
            prompts: self.prompts.clone(),
            again: None,
        }
    }
}

/// 60 random bits, as hex digits, that no text from outside can know.
fn drawn() -> String {
    format!("{:016x}", uuid::Uuid::new_v4().as_u64_pair().0)
}

/// All profiles by name; `default` is always among them.
#[derive(Clone)]
pub struct Profiles {
    default: Arc<Profile>,
    others: BTreeMap<String, Arc<Profile>>,
}

impl Profiles {
    /// These profiles; none where no `default` is among them.
    #[must_use]
    pub fn new(profiles: impl IntoIterator<Item = Profile>) -> Option<Self> {
        let others: BTreeMap<_, _> = profiles
            .into_iter()
            .map(|profile| (profile.name.clone(), Arc::new(profile)))
            .collect();
        let default = Arc::clone(others.get("default")?);
        Some(Self { default, others })
    }

    /// The profile of this name; the default one where there is none, for a case must not wait for a configuration.
    #[must_use]
    pub fn named(&self, name: &str) -> Arc<Profile> {
        Arc::clone(self.others.get(name).unwrap_or(&self.default))
    }
}
