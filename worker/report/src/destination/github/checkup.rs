//! A look at a repository: whether it takes issues and labels of ours, and who else reads them.
//! "Get a repository" of the REST API; `permissions` are those of the token's user.

use nightshift_engine::Checkup;
use serde_json::Value;

use super::super::rest::Call;
use super::GitHubDestination;
use super::config::split;

impl GitHubDestination {
    pub(super) async fn look_round(&self) -> Checkup {
        let mut checkup = Checkup::default();
        let repo = self.config.repo.as_str();
        let Some((owner, name)) = split(repo) else {
            return checkup;
        };
        let path = ["repos", owner, name];
        let Some(told) = self.rest.look(Call::get(&path, &[]), &mut checkup).await else {
            return checkup;
        };
        checkup.saw(format!("repository {repo}"));
        let is = |at: &str| told.pointer(at).and_then(Value::as_bool);
        if is("/archived") == Some(true) || is("/has_issues") == Some(false) {
            checkup.error(
                "destination.no_issues",
                format!("{repo} takes no issues: it is archived, or they are switched off"),
                "no issue can be made",
                "switch them on (Settings, Features), or set another repo",
            );
        }
        // One of them is enough; a token that tells of none has them elsewhere.
        let rights = [
            "/permissions/triage",
            "/permissions/push",
            "/permissions/admin",
        ];
        if told.get("permissions").is_some() && !rights.iter().any(|at| is(at) == Some(true)) {
            checkup.error(
                "destination.scope",
                format!("the token may not set labels in {repo}"),
                "an issue is found again by its label: without one, none is made",
                "give the token's user the role Triage, and the token Issues: read and write",
            );
        }
        if is("/private") == Some(false) {
            checkup.warning(
                "destination.public",
                format!("{repo} is public"),
                "reports say what is weak and what was reached; everybody can read them there",
                "make it private, or set another repo",
            );
        }
        checkup
    }
}
