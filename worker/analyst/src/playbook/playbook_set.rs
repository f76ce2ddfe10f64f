//! Loads a set of playbooks: the compiled-in ones, and those of a directory.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nightshift_alert::Alert;
use nightshift_engine::catalogue::ActionTemplate;
use nightshift_engine::question::{PlanAnswer, PlanQuestion};

use super::catalogue::catalogue;
use super::check::{Level, Problem, parse_and_check};
use super::patterns::MatchedPattern;
use super::plan::make_plan;
use super::playbook_file::{MatchFit, Playbook};

/// The compiled-in playbooks, by file name. The generic one is the last resort for every alert.
pub(super) const SHIPPED: [(&str, &str); 26] = [
    (
        "crypto-mining.toml",
        include_str!("../../playbooks/crypto-mining.toml"),
    ),
    (
        "instance-credential-exfiltration.toml",
        include_str!("../../playbooks/instance-credential-exfiltration.toml"),
    ),
    (
        "command-and-control.toml",
        include_str!("../../playbooks/command-and-control.toml"),
    ),
    (
        "iam-discovery.toml",
        include_str!("../../playbooks/iam-discovery.toml"),
    ),
    (
        "attack-sequence.toml",
        include_str!("../../playbooks/attack-sequence.toml"),
    ),
    (
        "iam-privilege-escalation.toml",
        include_str!("../../playbooks/iam-privilege-escalation.toml"),
    ),
    (
        "s3-exposure.toml",
        include_str!("../../playbooks/s3-exposure.toml"),
    ),
    (
        "brute-force.toml",
        include_str!("../../playbooks/brute-force.toml"),
    ),
    (
        "kubernetes-access.toml",
        include_str!("../../playbooks/kubernetes-access.toml"),
    ),
    (
        "runtime-malware.toml",
        include_str!("../../playbooks/runtime-malware.toml"),
    ),
    ("recon.toml", include_str!("../../playbooks/recon.toml")),
    (
        "outward-abuse.toml",
        include_str!("../../playbooks/outward-abuse.toml"),
    ),
    (
        "impossible-travel.toml",
        include_str!("../../playbooks/impossible-travel.toml"),
    ),
    (
        "logging-disabled.toml",
        include_str!("../../playbooks/logging-disabled.toml"),
    ),
    (
        "root-use.toml",
        include_str!("../../playbooks/root-use.toml"),
    ),
    (
        "password-policy.toml",
        include_str!("../../playbooks/password-policy.toml"),
    ),
    (
        "metadata-dns-rebind.toml",
        include_str!("../../playbooks/metadata-dns-rebind.toml"),
    ),
    (
        "data-destruction.toml",
        include_str!("../../playbooks/data-destruction.toml"),
    ),
    (
        "ai-abuse.toml",
        include_str!("../../playbooks/ai-abuse.toml"),
    ),
    ("posture.toml", include_str!("../../playbooks/posture.toml")),
    (
        "vulnerability.toml",
        include_str!("../../playbooks/vulnerability.toml"),
    ),
    (
        "sensitive-data.toml",
        include_str!("../../playbooks/sensitive-data.toml"),
    ),
    ("canary.toml", include_str!("../../playbooks/canary.toml")),
    (
        "unreadable-message.toml",
        include_str!("../../playbooks/unreadable-message.toml"),
    ),
    (
        "known-technique.toml",
        include_str!("../../playbooks/known-technique.toml"),
    ),
    ("generic.toml", include_str!("../../playbooks/generic.toml")),
];

/// Maximum size of a playbook file in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

#[derive(Debug, Clone)]
pub struct PlaybookSet {
    /// The playbook for an alert that no other playbook matches.
    generic: Arc<Playbook>,
    others: Vec<Arc<Playbook>>,
}

/// Reasons why playbooks of a directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PlaybookLoadError {
    /// The directory or a file in it cannot be read.
    #[error("cannot read playbooks from {}", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// A file is larger than the limit.
    #[error("playbook file {} is larger than 1 MiB", path.display())]
    TooLarge { path: PathBuf },
    /// Some playbooks are wrong. Each problem names file, line and column.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Wrong(Vec<Problem>),
}

impl PlaybookSet {
    /// Returns the compiled-in playbooks.
    ///
    /// A shipped file that cannot be read is left out. The tests of this crate ensure that there is none.
    #[must_use]
    pub fn shipped() -> Self {
        let mut set = Self {
            generic: Arc::new(Playbook::last_resort()),
            others: Vec::new(),
        };
        for (_, text) in SHIPPED {
            if let Ok(playbook) = toml::from_str(text) {
                set.insert(playbook);
            }
        }
        set
    }

    /// Returns the shipped playbooks and those of a directory. A file there replaces a shipped playbook of the same
    /// name.
    ///
    /// # Errors
    ///
    /// Fails if the directory cannot be read, or with all problems of all files if a playbook is wrong.
    pub fn load(dir: Option<&Path>) -> Result<Self, PlaybookLoadError> {
        let mut set = Self::shipped();
        let Some(dir) = dir else {
            return Ok(set);
        };
        let mut problems = Vec::new();
        let mut names: Vec<(String, String)> = Vec::new();
        for path in playbook_files(dir)? {
            let text = read_playbook_file(&path)?;
            let file = path.display().to_string();
            let (playbook, found) = parse_and_check(&file, &text);
            problems.extend(found.into_iter().filter(|one| one.severity == Level::Error));
            let Some(playbook) = playbook else { continue };
            if let Some((_, other)) = names.iter().find(|(name, _)| *name == playbook.name) {
                problems.push(Problem {
                    file,
                    line: 1,
                    column: 1,
                    severity: Level::Error,
                    message: format!(
                        "playbook name \"{}\" is already used by {other}",
                        playbook.name
                    ),
                });
                continue;
            }
            names.push((playbook.name.clone(), file));
            set.insert(playbook);
        }
        if problems.is_empty() {
            Ok(set)
        } else {
            Err(PlaybookLoadError::Wrong(problems))
        }
    }

    fn insert(&mut self, playbook: Playbook) {
        let playbook = Arc::new(playbook);
        if playbook.name == self.generic.name {
            self.generic = playbook;
            return;
        }
        match self.others.iter_mut().find(|one| one.name == playbook.name) {
            Some(one) => *one = playbook,
            None => self.others.push(playbook),
        }
    }

    /// Returns all playbooks, the generic one last.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Playbook>> {
        self.others.iter().chain(std::iter::once(&self.generic))
    }

    /// Returns the playbook that fits the alert most closely, or the generic one when no other fits.
    #[must_use]
    pub fn find(&self, alert: &Alert) -> &Arc<Playbook> {
        self.closest(alert, |_| true)
            .map_or(&self.generic, |(playbook, _)| playbook)
    }

    /// Returns the plan of this alert's playbook as a hint for another planner. The generic playbook is not specific
    /// to the alert, so only its key steps are returned, or `None` when it has none.
    #[must_use]
    pub fn hint(&self, question: &PlanQuestion) -> Option<PlanAnswer> {
        if let Some((playbook, _)) = self.closest(&question.alert, |_| true) {
            return make_plan(playbook, question).ok();
        }
        let mut plan = make_plan(&self.generic, question).ok()?;
        plan.steps.retain(|step| step.key);
        (!plan.steps.is_empty()).then_some(plan)
    }

    /// Returns the closest fit among the playbooks that `asked` accepts, without the generic one. The first of equal
    /// fits wins.
    pub(super) fn closest(
        &self,
        alert: &Alert,
        asked: impl Fn(&Playbook) -> bool,
    ) -> Option<(&Arc<Playbook>, MatchFit<'_>)> {
        // Matching the patterns of techniques takes long, and seldom decides for feeds with known types.
        let named = self.closest_with(alert, &asked, None);
        match named {
            Some((_, fit)) if fit.outranks_techniques(alert) => named,
            _ => self.closest_with(alert, &asked, Some(&OnceCell::new())),
        }
    }

    fn closest_with(
        &self,
        alert: &Alert,
        asked: impl Fn(&Playbook) -> bool,
        shown: Option<&OnceCell<Vec<MatchedPattern>>>,
    ) -> Option<(&Arc<Playbook>, MatchFit<'_>)> {
        let mut best: Option<(&Arc<Playbook>, MatchFit<'_>)> = None;
        for playbook in self.others.iter().filter(|one| asked(one)) {
            if let Some(fit) = playbook.matches.best_fit_with(alert, shown)
                && best.is_none_or(|(_, closest)| fit.is_closer_than(&closest))
            {
                best = Some((playbook, fit));
            }
        }
        best
    }

    /// Returns the actions that reports may advise: those of these playbooks, then the shipped ones.
    #[must_use]
    pub fn catalogue(&self) -> Vec<Arc<ActionTemplate>> {
        let mut actions: Vec<_> = self
            .iter()
            .flat_map(|playbook| &playbook.actions)
            .map(|action| Arc::new(action.get_ref().clone()))
            .collect();
        actions.extend(catalogue());
        actions
    }
}

/// Returns the `*.toml` files of a directory, sorted.
fn playbook_files(dir: &Path) -> Result<Vec<PathBuf>, PlaybookLoadError> {
    let unreadable = |source| PlaybookLoadError::Unreadable {
        path: dir.to_owned(),
        source,
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn read_playbook_file(path: &Path) -> Result<String, PlaybookLoadError> {
    let unreadable = |source| PlaybookLoadError::Unreadable {
        path: path.to_owned(),
        source,
    };
    if std::fs::metadata(path).map_err(unreadable)?.len() > MAX_FILE_BYTES {
        return Err(PlaybookLoadError::TooLarge {
            path: path.to_owned(),
        });
    }
    std::fs::read_to_string(path).map_err(unreadable)
}
