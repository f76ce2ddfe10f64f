//! Probes a repository: whether issues and labels can be made there, and who can read them. It uses "Get a repository"
//! and "List repository issues" of the REST API. `permissions` are those of the token's user, and a fine-grained token
//! with Metadata alone can read the repository as well. Only a real issue shows what the token may write.

use nightshift_engine::doctor::HealthReport;
use serde_json::Value;

use super::super::rest::Call;
use super::GitHubDestination;
use super::config::split;

impl GitHubDestination {
    pub(super) async fn look_round(&self) -> HealthReport {
        let mut checkup = HealthReport::default();
        let repo = self.config.repo.as_str();
        let Some((owner, name)) = split(repo) else {
            return checkup;
        };
        let path = ["repos", owner, name];
        let Some(told) = self.rest.look(Call::get(&path, &[]), &mut checkup).await else {
            return checkup;
        };
        checkup.add_observation(format!("repository {repo}"));
        if takes_issues(&told, repo, &mut checkup) {
            let issues = ["repos", owner, name, "issues"];
            let one = Call::get(&issues, &[("per_page", "1")]);
            if self.rest.look(one, &mut checkup).await.is_some() {
                checkup.add_observation("the token can read issues; writing was not tried");
            }
        }
        let is = |at: &str| told.pointer(at).and_then(Value::as_bool);
        // One of these rights is enough. A token for which GitHub lists none has its rights elsewhere.
        let rights = [
            "/permissions/triage",
            "/permissions/push",
            "/permissions/admin",
        ];
        if told.get("permissions").is_some() && !rights.iter().any(|at| is(at) == Some(true)) {
            checkup.add_error(
                "destination.scope",
                format!("the token may not set labels in {repo}"),
                "an issue is found again by its label: without one, none is made",
                "give the token's user the role Triage, and the token Issues: read and write",
            );
        }
        if is("/private") == Some(false) {
            checkup.add_warning(
                "destination.public",
                format!("{repo} is public"),
                "reports name weaknesses and affected resources, and everybody can read them there",
                "make it private, or set another repo",
            );
        }
        checkup
    }
}

/// Checks whether the repository accepts issues at all.
fn takes_issues(told: &Value, repo: &str, checkup: &mut HealthReport) -> bool {
    let is = |at: &str| told.pointer(at).and_then(Value::as_bool);
    let takes = is("/archived") != Some(true) && is("/has_issues") != Some(false);
    if !takes {
        checkup.add_error(
            "destination.no_issues",
            format!("{repo} does not accept issues: it is archived, or issues are disabled"),
            "no issue can be made",
            "switch them on (Settings, Features), or set another repo",
        );
    }
    takes
}
