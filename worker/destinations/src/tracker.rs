//! Implements the common part of ticket trackers: each case has one ticket, which is looked up before it is made, gets
//! each report once, and is closed when people close the case.
//!
//! The module of each vendor has its calls and the layout of its tickets.

use std::time::Duration;

use async_trait::async_trait;
use nightshift_engine::conclusion::Verdict;
use nightshift_pipeline::case_workflow::CaseWorkflow;
use nightshift_pipeline::delivery_payload::DeliveryPayload;
use nightshift_pipeline::port::{DeliveryError, DeliveryReceipt};
use nightshift_pipeline::report::Report;
use nightshift_render::Language;
use nightshift_render::line::Line;
use serde_json::{Value, json};
use url::Url;

use super::{mark, ticket};

/// The contents of an existing ticket.
pub(super) struct TicketContents {
    /// The texts of the ticket, with the function that finds a key in one.
    pub(super) texts: Vec<String>,
    pub(super) keeps: fn(text: &str, key: &str) -> bool,
    pub(super) is_done: bool,
}

impl TicketContents {
    fn has(&self, key: &str) -> bool {
        self.texts.iter().any(|text| (self.keeps)(text, key))
    }
}

/// A vendor's ticket system.
#[async_trait]
pub(super) trait Tracker: Send + Sync {
    /// The vendor's word for a ticket, for use in a sentence.
    const TICKET: &'static str;
    /// The time after an attempt without an answer for which an empty look-up proves nothing.
    const SETTLE: Duration;
    /// Returns the language of the tickets.
    fn language(&self) -> Language;

    /// Builds the ticket of a case.
    fn ticket(&self, showing: &DeliveryPayload) -> Result<Value, DeliveryError>;

    /// Builds the comment for a later report.
    fn addition(&self, showing: &DeliveryPayload) -> Result<Value, DeliveryError>;

    /// Builds the comment with this key for a case that was closed or reopened.
    fn ending(&self, end: &Line, key: &str) -> Value;

    /// Looks up the ticket of a case.
    async fn look(&self, report: &Report) -> Result<Option<String>, DeliveryError>;

    /// Creates the ticket of a case and returns its id.
    async fn open(&self, report: &Report, ticket: &Value) -> Result<String, DeliveryError>;

    /// Reads the ticket of a case. Returns `None` when the id belongs to another ticket, for example because another
    /// project was configured before.
    async fn told(
        &self,
        id: &str,
        report: &Report,
    ) -> Result<Option<TicketContents>, DeliveryError>;

    /// Adds a comment.
    async fn add(&self, id: &str, addition: &Value) -> Result<(), DeliveryError>;

    /// Sets the verdict of a ticket. Repeating this changes nothing.
    async fn mark(&self, id: &str, verdict: Verdict) -> Result<(), DeliveryError> {
        let _ = (id, verdict);
        Ok(())
    }

    /// Closes an open ticket if the configuration says so.
    async fn close(&self, id: &str, desk: &CaseWorkflow, end: &Line) -> Result<(), DeliveryError>;

    /// Reopens a closed ticket if the configuration says so.
    async fn reopen(&self, id: &str) -> Result<(), DeliveryError>;

    /// Returns the web address of a ticket.
    fn address(&self, id: &str) -> Option<String>;
}

/// Returns what would be sent.
pub(super) fn preview(to: &impl Tracker, showing: &DeliveryPayload) -> Value {
    let sent = match showing.remote_id {
        None => to.ticket(showing),
        Some(_) => to.addition(showing),
    };
    sent.unwrap_or_else(|error| json!({ "error": error.to_string() }))
}

/// Finds the ticket of a case after an attempt without an answer.
pub(super) async fn find<T: Tracker>(
    to: &T,
    showing: &DeliveryPayload,
    begun_ago: Duration,
) -> Result<Option<String>, DeliveryError> {
    let found = to.look(&showing.report).await?;
    if found.is_none() {
        ticket::not_yet(T::TICKET, begun_ago, T::SETTLE)?;
    }
    Ok(found)
}

/// Creates the ticket of a case, or updates the existing one. `opens` says whether the policy opens a ticket for this
/// report.
pub(super) async fn deliver<T: Tracker>(
    to: &T,
    showing: &DeliveryPayload,
    opens: bool,
) -> Result<DeliveryReceipt, DeliveryError> {
    let report = &showing.report;
    let id = match known(to, showing).await? {
        Some((id, told)) => {
            tell(to, (&id, &told), showing, opens).await?;
            id
        }
        None => to.open(report, &to.ticket(showing)?).await?,
    };
    Ok(DeliveryReceipt {
        remote_id: Some(id),
    })
}

/// Returns the id and contents of the case's ticket, by its remote id or by a look-up.
async fn known(
    to: &impl Tracker,
    showing: &DeliveryPayload,
) -> Result<Option<(String, TicketContents)>, DeliveryError> {
    let report = &showing.report;
    if let Some(id) = &showing.remote_id
        && let Some(told) = to.told(id, report).await?
    {
        return Ok(Some((id.clone(), told)));
    }
    let Some(id) = to.look(report).await? else {
        return Ok(None);
    };
    let told = to.told(&id, report).await?;
    Ok(told.map(|told| (id, told)))
}

/// Adds to a ticket what it does not contain yet.
async fn tell<T: Tracker>(
    to: &T,
    (id, told): (&str, &TicketContents),
    showing: &DeliveryPayload,
    opens: bool,
) -> Result<(), DeliveryError> {
    let report = &showing.report;
    if !showing.is_minor {
        if !told.has(&mark::told(report)?) {
            to.add(id, &to.addition(showing)?).await?;
        }
        to.mark(id, report.verdict).await?;
        let times = showing.workflow.reopenings();
        let key = mark::reopened(report, times)?;
        if opens && times > 0 && !told.has(&key) {
            if told.is_done {
                to.reopen(id).await?;
            }
            let line = ticket::reopened(to.language());
            to.add(id, &to.ending(&line, &key)).await?;
        }
    }
    if showing.workflow.is_settled() {
        let end = ticket::settled(&showing.workflow, to.language());
        let key = mark::closed(report, &showing.workflow)?;
        if !told.has(&key) {
            to.add(id, &to.ending(&end, &key)).await?;
        }
        if !told.is_done {
            to.close(id, &showing.workflow, &end).await?;
        }
    }
    Ok(())
}

/// Returns the address of these path segments below another. They are escaped, so an id of a vendor leads nowhere
/// else.
pub(super) fn below(base: &Url, parts: &[&str]) -> Option<Url> {
    let mut url = base.clone();
    url.path_segments_mut().ok()?.pop_if_empty().extend(parts);
    Some(url)
}

/// Implements `Destination` for a tracker with a `config` and a `rest`. The second argument is the configuration
/// field that names the place of its tickets.
macro_rules! destination {
    ($tracker:ident, $place:ident) => {
        impl $tracker {
            /// Returns what would be sent: the ticket, or the comment if a ticket exists.
            #[must_use]
            pub fn preview(&self, showing: &DeliveryPayload) -> Value {
                $crate::tracker::preview(self, showing)
            }
        }

        #[async_trait]
        impl nightshift_pipeline::port::Destination for $tracker {
            fn name(&self) -> &str {
                self.rest.caller.name()
            }

            fn wants(&self, showing: &DeliveryPayload) -> bool {
                self.config.policy().wants(showing)
            }

            fn send_interval(&self) -> Duration {
                PACE
            }

            fn preview(&self, showing: &DeliveryPayload) -> Option<Value> {
                Some(Self::preview(self, showing))
            }

            fn link(&self, remote_id: &str) -> Option<String> {
                self.address(remote_id)
            }

            async fn probe(&self) -> nightshift_engine::doctor::HealthReport {
                self.look_round().await
            }

            async fn find(
                &self,
                showing: &DeliveryPayload,
                begun_ago: Duration,
            ) -> Result<Option<String>, DeliveryError> {
                $crate::tracker::find(self, showing, begun_ago).await
            }

            async fn deliver(
                &self,
                showing: &DeliveryPayload,
            ) -> Result<nightshift_pipeline::port::DeliveryReceipt, DeliveryError> {
                let opens = self.config.policy().opens(showing);
                $crate::tracker::deliver(self, showing, opens).await
            }
        }

        impl std::fmt::Debug for $tracker {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.debug_struct(stringify!($tracker))
                    .field("name", &self.rest.caller.name())
                    .field("host", &self.rest.caller.host())
                    .field(stringify!($place), &self.config.$place)
                    .finish_non_exhaustive()
            }
        }
    };
}
pub(super) use destination;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use nightshift_pipeline::port::Destination;
    use serde_json::json;

    use super::super::trial::{FrozenClock, read_config, secret};
    use crate::{
        GitHubConfig, GitHubDestination, JiraConfig, JiraDestination, ServiceNowConfig,
        ServiceNowDestination,
    };

    fn jira(url: &str) -> JiraDestination {
        let config: JiraConfig = read_config(json!({
            "name": "tickets", "url": url, "token": "env:T", "project": "SEC",
        }));
        JiraDestination::new(config, secret("hush"), Arc::new(FrozenClock)).unwrap()
    }

    fn github(url: &str) -> GitHubDestination {
        let config: GitHubConfig = read_config(json!({
            "name": "tickets", "url": url, "token": "env:T", "repo": "acme/soc",
        }));
        GitHubDestination::new(config, secret("hush"), Arc::new(FrozenClock)).unwrap()
    }

    #[test]
    fn a_ticket_has_an_address_that_its_name_leads_nowhere_else() {
        let config: ServiceNowConfig = read_config(json!({
            "name": "tickets", "url": "https://acme.service-now.com", "secret": "env:P",
        }));
        let servicenow =
            ServiceNowDestination::new(config, secret("hush"), Arc::new(FrozenClock)).unwrap();
        let links = [
            jira("https://acme.atlassian.net").link("SEC-7"),
            jira("https://acme.atlassian.net/").link("../admin?x=1#y"),
            jira("https://api.atlassian.com/ex/jira/1234").link("SEC-7"),
            servicenow.link("ab12&x=1"),
            github("https://api.github.com").link("7"),
            github("https://git.example.com/api/v3").link("7"),
            github("https://git.example.com/other").link("7"),
        ];
        let links = links.map(|link| link.unwrap_or_else(|| "none".to_owned()));
        insta::assert_snapshot!(links.join("\n"), @"
        https://acme.atlassian.net/browse/SEC-7
        https://acme.atlassian.net/browse/..%2Fadmin%3Fx=1%23y
        none
        https://acme.service-now.com/incident.do?sys_id=ab12%26x%3D1
        https://github.com/acme/soc/issues/7
        https://git.example.com/acme/soc/issues/7
        none
        ");
    }
}
