//! Probes ServiceNow: whether the table can be read with the column that finds incidents again.

use nightshift_engine::doctor::HealthReport;

use super::super::rest::{Call, list, text};
use super::ServiceNowDestination;

impl ServiceNowDestination {
    pub(super) async fn look_round(&self) -> HealthReport {
        let mut checkup = HealthReport::default();
        let table = self.config.table.as_str();
        let path = ["api", "now", "table", table];
        let query = [
            ("sysparm_fields", "sys_id,correlation_id"),
            ("sysparm_limit", "1"),
        ];
        let Some(told) = self.rest.look(Call::get(&path, &query), &mut checkup).await else {
            return checkup;
        };
        checkup.add_observation(format!("reads {table}"));
        let rows = list(&told, "/result");
        if rows
            .iter()
            .any(|row| text(row, "/correlation_id").is_none())
        {
            checkup.add_error(
                "destination.scope",
                format!("the user may not read `correlation_id` of {table}"),
                "the incident of a case cannot be found again, so none is made",
                "give the user a role that reads it: itil for incidents, or an ACL on that column",
            );
        }
        checkup
    }
}
