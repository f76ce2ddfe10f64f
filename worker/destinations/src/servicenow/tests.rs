//! Tests a local instance: each incident is made once whatever is lost, each note is added once, and text is plain and
//! bounded.

mod looks;

use nightshift_pipeline::case_workflow::CaseActionKind;
use nightshift_pipeline::port::{DeliveryError, Destination as _};

use super::super::fake::{Fake, Fault};
use super::super::inert::{has_no_secret, links};
use super::super::trial::{
    self, FrozenClock, Kill, Trial, acted, again, case, read_config, refusal, secret, triaged_again,
};
use super::world::Instance;
use super::*;

fn config(url: &str) -> ServiceNowConfig {
    ServiceNowConfig {
        links: links(),
        ..read_config(json!({
            "name": "desk", "url": url, "user": "maria@example.com", "secret": "env:P",
            "fields": { "assignment_group": "SOC" },
            "resolve": { "state": "6", "close_code": "Solution provided", "reopen_state": "2" },
        }))
    }
}

fn to(config: ServiceNowConfig) -> ServiceNowDestination {
    ServiceNowDestination::new(config, secret("hush"), Arc::new(FrozenClock)).unwrap()
}

async fn instance() -> (Fake<Instance>, ServiceNowDestination) {
    let fake = Fake::start(Instance::new()).await;
    let to = to(config(&fake.url));
    (fake, to)
}

#[tokio::test]
async fn f26_500_lost_replies_make_no_incident_twice() {
    let (fake, to) = instance().await;
    trial::lose_replies(&fake, &to).await;
    assert_eq!(fake.with(|instance| instance.incidents.len()), 500);
}

#[tokio::test]
async fn f26_killed_at_every_boundary_there_is_one_incident() {
    let (fake, to) = instance().await;
    trial::kill_everywhere(&fake, &to).await;
}

#[tokio::test]
async fn a_case_that_its_source_opened_again_opens_its_incident_again() {
    let (fake, to) = instance().await;
    trial::open_again(&fake, &to).await;
}

#[tokio::test]
async fn an_incident_that_the_instance_closed_since_is_done_too() {
    let (fake, to) = instance().await;
    let first = case("k3f9-auto-done");
    let closed = acted(&first, CaseActionKind::Closed);
    let mut trial = Trial::default();
    for showing in [&first, &closed] {
        assert!(trial.show(&fake, &to, showing, Kill::Never).await.unwrap());
    }
    let state = |fake: &Fake<Instance>| fake.with(|one| one.incidents[0].fields["state"].clone());
    fake.with(|one| one.incidents[0].fields.insert("state".into(), json!("7")));
    let again = acted(&closed, CaseActionKind::Closed);
    trial.show(&fake, &to, &again, Kill::Never).await.unwrap();
    assert_eq!(state(&fake), "7", "it is not resolved once more");
    let open = triaged_again(&acted(&again, CaseActionKind::Reopened));
    trial.show(&fake, &to, &open, Kill::Never).await.unwrap();
    assert_eq!(state(&fake), "2");
}

#[tokio::test]
async fn what_is_never_taken_says_what_to_mend() {
    let (fake, to) = instance().await;
    let mut said = Vec::new();
    fake.with(|instance| instance.mandatory = Some("caller_id"));
    said.push(refusal(&fake, &to).await);
    fake.with(|instance| instance.may_write = false);
    said.push(refusal(&fake, &to).await);
    fake.with(|instance| *instance = Instance::new());
    let first = case("k3f9-x2mq-7d1w");
    let mut trial = Trial::default();
    trial.show(&fake, &to, &first, Kill::Never).await.unwrap();
    fake.with(|instance| instance.shows_correlation = false);
    said.push(refusal(&fake, &to).await);
    trial.remote_id = Some("0".repeat(32));
    let gone = trial
        .show(&fake, &to, &again(&first), Kill::Never)
        .await
        .unwrap_err();
    said.push(gone.to_string());
    let nobody = super::tests::to(ServiceNowConfig {
        user: None,
        ..config(&fake.url)
    });
    said.push(refusal(&fake, &nobody).await);
    insta::assert_snapshot!(said.join("\n"), @"
    127.0.0.1 answered 403 Forbidden (missing permission: the user must create, read and write the table, for example with the role itil; set required columns in `fields`): Operation Failed; Data Policy Exception: The following fields are mandatory: caller_id
    127.0.0.1 answered 403 Forbidden (missing permission: the user must create, read and write the table, for example with the role itil; set required columns in `fields`): Insufficient rights; ACL Exception Insert Failed due to security constraints
    127.0.0.1 hides `correlation_id` of incident: grant the user read access, because incidents are found by it
    127.0.0.1 answered 404 Not Found (no such table or record for this user: see `url` and `table`, and whether the incident was deleted): No Record found; Record doesn't exist or ACL restricts the record retrieval
    127.0.0.1 answered 401 Unauthorized (`user` and `secret` are not accepted, or the token has expired): User Not Authenticated; Required to provide Auth information
    ");
}

#[tokio::test]
async fn a_limit_is_waited_out() {
    let (fake, to) = instance().await;
    fake.breaks([Fault::Busy]);
    let error = to.deliver(&case("k3f9-busy-busy")).await.unwrap_err();
    let DeliveryError::Transient { after_secs, .. } = error else {
        panic!("{error:?}");
    };
    assert_eq!(after_secs, Some(7));
}

#[tokio::test]
async fn who_called_it_wrong_is_noted_and_the_incident_resolved() {
    let (fake, to) = instance().await;
    let first = case("k3f9-x2mq-7d1w");
    let verdict = nightshift_engine::conclusion::Verdict::FalsePositive;
    let settled = acted(&first, CaseActionKind::Disagreed { verdict });
    let mut trial = Trial::default();
    trial.show(&fake, &to, &first, Kill::Never).await.unwrap();
    trial.show(&fake, &to, &settled, Kill::Never).await.unwrap();
    let said = fake.with(|instance| {
        let incident = &instance.incidents[0];
        let close =
            ["state", "close_code", "close_notes"].map(|name| incident.fields[name].clone());
        format!("{:?}\n{}", close, incident.notes.join("\n--\n"))
    });
    insta::assert_snapshot!(said, @r#"
    [String("6"), String("Solution provided"), String("Called a false positive by maria: known")]
    Called a false positive by maria: known

    nightshift:k3f9-x2mq-7d1w:closed
    "#);
}

#[test]
fn a21_the_password_is_shown_nowhere() {
    let to = to(config("http://127.0.0.1:1"));
    has_no_secret(&format!("{to:?}"));
    has_no_secret(&to.preview(&case("k3f9-x2mq-7d1w")).to_string());
}
