//! Tests a local site: each issue is made once whatever is lost, each comment is added once, and refusals have the
//! right meaning.

mod looks;
mod with_adf_schema;

use nightshift_pipeline::case_workflow::CaseActionKind;
use nightshift_pipeline::port::{DeliveryError, Destination as _};
use nightshift_render::Language;
use nightshift_render::adf;
use serde_json::json;

use super::super::fake::{Fake, Fault};
use super::super::inert::{has_no_secret, links};
use super::super::trial::{
    self, FrozenClock, Kill, Ticket, Tickets as _, Trial, acted, again, case, read_config, refusal,
    secret,
};
use super::world::Site;
use super::*;

/// The lag of the search in seconds. Atlassian says seconds to minutes.
const LAG: u64 = 120;

fn config(url: &str) -> JiraConfig {
    JiraConfig {
        links: links(),
        ..read_config(json!({
            "name": "tickets", "url": url, "email": "maria@example.com", "token": "env:T",
            "project": "SEC", "done_transition": "done", "reopen_transition": "to do",
        }))
    }
}

fn to(config: JiraConfig) -> JiraDestination {
    JiraDestination::new(config, secret("hush"), Arc::new(FrozenClock)).unwrap()
}

async fn site(lag: u64) -> (Fake<Site>, JiraDestination) {
    let fake = Fake::start(Site::new(lag)).await;
    let to = to(config(&fake.url));
    (fake, to)
}

fn tickets(fake: &Fake<Site>, case: &str) -> Vec<Ticket> {
    fake.with(|site| site.tickets_of(case))
}

#[tokio::test]
async fn f26_f27_errors_lost_replies_and_stale_search_make_one_issue() {
    let (fake, to) = site(LAG).await;
    trial::lose_replies(&fake, &to).await;
    assert_eq!(fake.with(|site| site.issues.len()), 500);
}

#[tokio::test]
async fn f26_killed_at_every_boundary_there_is_one_issue() {
    let (fake, to) = site(LAG).await;
    trial::kill_everywhere(&fake, &to).await;
}

#[tokio::test]
async fn a_case_that_its_source_opened_again_opens_its_issue_again() {
    let (fake, to) = site(LAG).await;
    trial::open_again(&fake, &to).await;
}

#[tokio::test]
async fn f27_label_is_looked_up_at_growing_intervals_after_lost_reply() {
    let (fake, to) = site(LAG).await;
    let first = case("k3f9-lags-lags");
    fake.breaks([Fault::Done]);
    let mut trial = Trial::default();
    assert!(trial.show(&fake, &to, &first, Kill::Never).await.unwrap());
    assert_eq!(trial.remote_id.as_deref(), Some("SEC-1"));
    assert!(
        fake.with(|site| site.searches) < 12,
        "not more often than needed"
    );
    // The call was not done: the destination waits out the lag and then makes the issue.
    let second = case("k3f9-gone-gone");
    fake.breaks([Fault::NotDone]);
    let began = fake.now();
    let mut trial = Trial::default();
    assert!(trial.show(&fake, &to, &second, Kill::Never).await.unwrap());
    assert!(fake.now() - began >= SETTLE.as_secs());
    assert_eq!(trial.remote_id.as_deref(), Some("SEC-2"));
}

#[tokio::test]
async fn later_triage_comments_and_moves_label_and_end_is_applied() {
    let (fake, to) = site(0).await;
    let first = case("k3f9-more-more");
    let mut trial = Trial::default();
    trial.show(&fake, &to, &first, Kill::Never).await.unwrap();
    let counted = acted(&first, CaseActionKind::Agreed);
    fake.asks();
    trial.show(&fake, &to, &counted, Kill::Never).await.unwrap();
    assert!(fake.asks().is_empty(), "who is told once needs no counts");
    let second = again(&first);
    trial.show(&fake, &to, &second, Kill::Never).await.unwrap();
    let labels = fake.with(|site| site.issues[0].fields["labels"].clone());
    assert_eq!(
        labels,
        json!([
            "nightshift-k3f9-more-more",
            "ai-triage",
            "account-production-project-12345",
            "benign-true-positive"
        ])
    );
    let closed = acted(&second, CaseActionKind::Closed);
    trial.show(&fake, &to, &closed, Kill::Never).await.unwrap();
    trial.show(&fake, &to, &closed, Kill::Never).await.unwrap();
    let [ticket] = tickets(&fake, "k3f9-more-more").try_into().unwrap();
    assert!(!ticket.is_open);
    let [run, end] = &ticket.comments[..] else {
        panic!("{ticket:?}");
    };
    assert!(
        run.contains("Triage 2: Benign true positive · Low. Before: True positive · Critical.")
    );
    assert!(end.contains("Closed by maria: known"), "{end}");
}

#[tokio::test]
async fn what_is_never_taken_says_what_to_mend() {
    let (fake, to) = site(0).await;
    let mut said = Vec::new();
    fake.with(|site| site.priorities = vec!["P1"]);
    said.push(refusal(&fake, &to).await);
    fake.with(|site| site.may_browse = false);
    said.push(refusal(&fake, &to).await);
    let other = super::tests::to(JiraConfig {
        email: None,
        ..config(&fake.url)
    });
    said.push(refusal(&fake, &other).await);
    let elsewhere = super::tests::to(JiraConfig {
        url: format!("{}/jira", fake.url),
        ..config(&fake.url)
    });
    said.push(refusal(&fake, &elsewhere).await);
    insta::assert_snapshot!(said.join("\n"), @r#"
    127.0.0.1 answered 400 Bad Request (see which field it names: `project`, `issue_type`, `priorities`, or what it requires in `fields`): priority: Specify the Priority (name) in string format
    127.0.0.1 answered 403 Forbidden (missing permission: the user needs Browse projects, Create issues, Edit issues, Add comments and Transition issues): Forbidden
    127.0.0.1 answered 401 Unauthorized (the token is not accepted: an API token needs `email` and expires after at most a year): "Client must be authenticated to access this resource."
    127.0.0.1 answered 404 Not Found (no such site, project or issue for this user: see `url`, `project`, and whether the issue was deleted): "no such page"
    "#);
}

#[tokio::test]
async fn missing_transition_and_deleted_issue_are_reported() {
    let (fake, to) = site(0).await;
    fake.with(|site| site.may_transition = false);
    let first = case("k3f9-stay-stay");
    let mut trial = Trial::default();
    trial.show(&fake, &to, &first, Kill::Never).await.unwrap();
    let closed = acted(&first, CaseActionKind::Closed);
    let stuck = trial
        .show(&fake, &to, &closed, Kill::Never)
        .await
        .unwrap_err();
    trial.remote_id = Some("SEC-99".into());
    let gone = trial
        .show(&fake, &to, &again(&first), Kill::Never)
        .await
        .unwrap_err();
    insta::assert_snapshot!(format!("{stuck}\n{gone}"), @r#"
    issue SEC-1 has no transition "done" from its current status: set `done_transition` to one of [], or grant the user Transition issues
    127.0.0.1 answered 404 Not Found (no such site, project or issue for this user: see `url`, `project`, and whether the issue was deleted): Issue does not exist or you do not have permission to see it.
    "#);
}

#[tokio::test]
async fn who_is_busy_is_left_alone_for_as_long_as_it_says() {
    let (fake, to) = site(0).await;
    fake.breaks([Fault::Busy]);
    let error = to.deliver(&case("k3f9-busy-busy")).await.unwrap_err();
    let DeliveryError::Transient { after_secs, .. } = error else {
        panic!("{error:?}");
    };
    assert_eq!(after_secs, Some(7));
    // A server that names no wait may have done the work.
    for fault in [Fault::Down, Fault::Gateway] {
        fake.breaks([fault]);
        let error = to.deliver(&case("k3f9-busy-busy")).await.unwrap_err();
        assert!(
            matches!(error, DeliveryError::Ambiguous { .. }),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn a_page_of_comments_is_not_all_of_them() {
    let (fake, to) = site(0).await;
    let first = case("k3f9-talk-talk");
    let second = again(&first);
    let mut trial = Trial::default();
    trial.show(&fake, &to, &first, Kill::Never).await.unwrap();
    trial
        .show(&fake, &to, &second, Kill::BeforeMark)
        .await
        .unwrap();
    fake.with(|site| {
        let talk = adf::paragraph([adf::text("I see")]);
        let comments = &mut site.issues[0].comments;
        comments
            .extend((0..120).map(|_| json!({ "type": "doc", "version": 1, "content": [talk] })));
    });
    trial.show(&fake, &to, &second, Kill::Never).await.unwrap();
    assert_eq!(fake.with(|site| site.issues[0].comments.len()), 121);
}

#[test]
fn a21_the_token_is_shown_nowhere() {
    let to = to(config("http://127.0.0.1:1"));
    has_no_secret(&format!("{to:?}"));
    has_no_secret(&to.preview(&case("k3f9-x2mq-7d1w")).to_string());
    assert_eq!(Language::default(), to.config.language);
}
