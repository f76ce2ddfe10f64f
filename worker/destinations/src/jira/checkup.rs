//! Probes Jira: the user of the token, the user's permissions in the project, and the issue type. It uses "Get current
//! user", "Get my permissions" and "Get create metadata issue types for a project" of the REST API.

use nightshift_engine::doctor::HealthReport;

use super::super::rest::{Call, list, text};
use super::JiraDestination;

/// The permissions for making an issue and commenting on it.
const NEEDED: [&str; 4] = [
    "BROWSE_PROJECTS",
    "CREATE_ISSUES",
    "EDIT_ISSUES",
    "ADD_COMMENTS",
];
/// The permission for moving an issue to done.
const MOVES: &str = "TRANSITION_ISSUES";

impl JiraDestination {
    pub(super) async fn look_round(&self) -> HealthReport {
        let mut checkup = HealthReport::default();
        let path = ["rest", "api", "3", "myself"];
        let Some(me) = self.rest.look(Call::get(&path, &[]), &mut checkup).await else {
            return checkup;
        };
        let name = text(&me, "/displayName").unwrap_or("an account without a name");
        checkup.add_observation(format!("as {}", super::super::http::clean(name)));
        self.permissions(&mut checkup).await;
        if checkup.failed_checks.is_empty() {
            self.issue_type(&mut checkup).await;
        }
        checkup
    }

    async fn permissions(&self, checkup: &mut HealthReport) {
        let mut needed = NEEDED.to_vec();
        let moves = [&self.config.done_transition, &self.config.reopen_transition];
        needed.extend(moves.iter().any(|one| one.is_some()).then_some(MOVES));
        let names = needed.join(",");
        let query = [
            ("projectKey", self.config.project.as_str()),
            ("permissions", &names),
        ];
        let path = ["rest", "api", "3", "mypermissions"];
        let Some(told) = self.rest.look(Call::get(&path, &query), checkup).await else {
            return;
        };
        let has = |name: &str| {
            let at = format!("/permissions/{name}/havePermission");
            told.pointer(&at)
                .and_then(serde_json::Value::as_bool)
                .unwrap_or(false)
        };
        let missing: Vec<&str> = needed.into_iter().filter(|name| !has(name)).collect();
        if !missing.is_empty() {
            checkup.add_error(
                "destination.scope",
                format!("the user lacks {} in the project {}", missing.join(", "), self.config.project),
                "issues cannot be created, found or updated",
                "give the user a role of the project that has them (project settings, People or Permissions)",
            );
        }
    }

    async fn issue_type(&self, checkup: &mut HealthReport) {
        let path = [
            "rest",
            "api",
            "3",
            "issue",
            "createmeta",
            &self.config.project,
            "issuetypes",
        ];
        let query = [("maxResults", "200")];
        let Some(told) = self.rest.look(Call::get(&path, &query), checkup).await else {
            return;
        };
        let types = list(&told, "/issueTypes")
            .iter()
            .chain(list(&told, "/values"));
        let names: Vec<&str> = types.filter_map(|one| text(one, "/name")).collect();
        if names.contains(&self.config.issue_type.as_str()) {
            checkup.add_observation(format!(
                "makes {} in {}",
                self.config.issue_type, self.config.project
            ));
        } else {
            let names: Vec<String> = names.into_iter().map(super::super::http::clean).collect();
            checkup.add_error(
                "destination.issue_type",
                format!(
                    "the project {} has no issue type {:?}",
                    self.config.project, self.config.issue_type
                ),
                "no issue can be made",
                format!("set issue_type to one of {}", names.join(", ")),
            );
        }
    }
}
