//! Defines profiles: named sets of analyst, models, tools and limits with which cases are triaged.

use std::collections::BTreeMap;
use std::sync::Arc;

use nightshift_alert::Alert;
use nightshift_engine::catalogue::ActionTemplate;
use nightshift_engine::event::{AnalystKind, CaseSetup, JOURNAL_VERSION};
use nightshift_engine::evidence_read;
use nightshift_engine::limits::{Cost, TriageLimits};
use nightshift_engine::port::{Analyst, Exonerator, Toolbox};
use nightshift_engine::strategy::TriageOptions;

use crate::case::CaseId;

/// A named set of analyst, models, tools and limits.
#[derive(Clone)]
pub struct Profile {
    pub name: String,
    pub analyst: Arc<dyn Analyst>,
    /// Analyst that takes over when the first gives no answer.
    pub fallback: Option<Arc<dyn Analyst>>,
    pub analyst_kind: AnalystKind,
    /// Models that the analyst may use, `provider/name`.
    pub models: Vec<String>,
    /// Cost that is reserved for a question before it is asked.
    pub reserve: Cost,
    pub toolbox: Arc<dyn Toolbox>,
    /// Rules that may clear an alert.
    pub exonerator: Arc<dyn Exonerator>,
    /// Actions that a report may advise.
    pub actions: Arc<[Arc<ActionTemplate>]>,
    pub limits: TriageLimits,
    /// Settings of how cases are worked on.
    pub conduct: TriageOptions,
    /// Hash of the prompts in use; empty if no model is used.
    pub prompts: String,
}

impl Profile {
    /// Returns the first event of a case's journal.
    #[must_use]
    pub fn open(&self, case_id: &CaseId, revision: u32, alert: Arc<Alert>) -> CaseSetup {
        let actions: Vec<Arc<ActionTemplate>> = self
            .actions
            .iter()
            .filter(|action| action.provider.is_none_or(|cloud| cloud == alert.provider))
            .cloned()
            .collect();
        let mut tools = self.toolbox.specs();
        if self.analyst_kind == AnalystKind::Model {
            tools.push(evidence_read::tool_spec());
        }
        CaseSetup {
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
            options: self.conduct.clone(),
            delimiter: random_token(),
            pseudonym_key: format!("{}{}", random_token(), random_token()),
            prompts_hash: self.prompts.clone(),
            previous_run: None,
        }
    }
}

/// Returns 60 random bits as hex digits, which no text from outside can know.
fn random_token() -> String {
    format!("{:016x}", uuid::Uuid::new_v4().as_u64_pair().0)
}

/// All profiles by name. `default` is always among them.
#[derive(Clone)]
pub struct Profiles {
    default: Arc<Profile>,
    others: BTreeMap<String, Arc<Profile>>,
}

impl Profiles {
    /// Collects profiles; returns `None` if `default` is missing.
    #[must_use]
    pub fn new(profiles: impl IntoIterator<Item = Profile>) -> Option<Self> {
        let others: BTreeMap<_, _> = profiles
            .into_iter()
            .map(|profile| (profile.name.clone(), Arc::new(profile)))
            .collect();
        let default = Arc::clone(others.get("default")?);
        Some(Self { default, others })
    }

    /// Returns the profile of this name, or the default one if there is none, because a case must not wait for a
    /// configuration.
    #[must_use]
    pub fn named(&self, name: &str) -> Arc<Profile> {
        Arc::clone(self.others.get(name).unwrap_or(&self.default))
    }
}
