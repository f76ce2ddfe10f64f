//! Tests a local repository: each issue is made once whatever is lost, each comment is added once, and limits are
//! waited out.

mod looks;

use nightshift_pipeline::case_workflow::CaseActionKind;
use nightshift_pipeline::port::{DeliveryError, Destination as _};

use super::super::fake::Fake;
use super::super::inert::{has_no_secret, links};
use super::super::trial::{
    self, FrozenClock, Kill, Trial, acted, again, case, read_config, refusal, secret,
};
use super::world::{Limit, Repo};
use super::*;

fn config(url: &str) -> GitHubConfig {
    GitHubConfig {
        links: links(),
        ..read_config(json!({ "name": "issues", "url": url, "token": "env:T", "repo": "acme/soc" }))
    }
}

fn to(config: GitHubConfig) -> GitHubDestination {
    GitHubDestination::new(config, secret("hush"), Arc::new(FrozenClock)).unwrap()
}

async fn repo() -> (Fake<Repo>, GitHubDestination) {
    let fake = Fake::start(Repo::new()).await;
    let to = to(config(&fake.url));
    (fake, to)
}

#[tokio::test]
async fn f26_500_lost_replies_make_no_issue_twice() {
    let (fake, to) = repo().await;
    trial::lose_replies(&fake, &to).await;
    assert_eq!(fake.with(|repo| repo.issues.len()), 500);
}

#[tokio::test]
async fn f26_killed_at_every_boundary_there_is_one_issue() {
    let (fake, to) = repo().await;
    trial::kill_everywhere(&fake, &to).await;
}

#[tokio::test]
async fn a_case_that_its_source_opened_again_opens_its_issue_again() {
    let (fake, to) = repo().await;
    trial::open_again(&fake, &to).await;
}

#[tokio::test]
async fn what_is_never_taken_says_what_to_mend_and_makes_no_issue() {
    let (fake, to) = repo().await;
    let mut said = Vec::new();
    fake.with(|repo| repo.may_label = false);
    said.push(refusal(&fake, &to).await);
    fake.with(|repo| repo.has_issues = false);
    said.push(refusal(&fake, &to).await);
    fake.with(|repo| repo.is_moved = true);
    said.push(refusal(&fake, &to).await);
    fake.with(|repo| *repo = Repo::new());
    let other = super::tests::to(GitHubConfig {
        repo: "acme/other".into(),
        ..config(&fake.url)
    });
    said.push(refusal(&fake, &other).await);
    let mut trial = Trial::default();
    trial.remote_id = Some("7".into());
    let first = case("k3f9-x2mq-7d1w");
    let gone = trial
        .show(&fake, &to, &again(&first), Kill::Never)
        .await
        .unwrap_err();
    said.push(gone.to_string());
    insta::assert_snapshot!(said.join("\n"), @"
    127.0.0.1 answered 403 Forbidden (missing permission: the token needs Issues read and write on `repo`, and its user at least the role Triage to set labels): Resource not accessible by personal access token
    127.0.0.1 answered 410 Gone (issues are switched off in this repository, or this one was deleted): Issues are disabled for this repo
    127.0.0.1 answered 301 Moved Permanently (the repository was renamed: set `repo` to its new name): Moved Permanently
    127.0.0.1 answered 404 Not Found (no such repository or issue for this token: see `repo`, whether the token may reach it, and whether the issue was deleted): Not Found
    127.0.0.1 answered 404 Not Found (no such repository or issue for this token: see `repo`, whether the token may reach it, and whether the issue was deleted): Not Found
    ");
    assert_eq!(fake.with(|repo| repo.issues.len()), 0);
}

#[tokio::test]
async fn limits_are_waited_out_though_they_look_like_refusals() {
    let (fake, to) = repo().await;
    for (limit, wanted) in [(Limit::Primary, 90), (Limit::Secondary, 60)] {
        fake.with(|repo| repo.limit = limit);
        let error = to.deliver(&case("k3f9-busy-busy")).await.unwrap_err();
        let DeliveryError::Transient { after_secs, .. } = error else {
            panic!("{error:?}");
        };
        assert_eq!(after_secs, Some(wanted), "{limit:?}");
    }
}

#[tokio::test]
async fn an_issue_is_closed_for_the_reason_that_people_give() {
    let (fake, to) = repo().await;
    let verdict = nightshift_engine::conclusion::Verdict::FalsePositive;
    let mut reasons = Vec::new();
    for (at, kind) in [
        CaseActionKind::Closed,
        CaseActionKind::Disagreed { verdict },
    ]
    .into_iter()
    .enumerate()
    {
        let first = case(&format!("k3f9-x2mq-{at}"));
        let mut trial = Trial::default();
        trial.show(&fake, &to, &first, Kill::Never).await.unwrap();
        trial
            .show(&fake, &to, &acted(&first, kind), Kill::Never)
            .await
            .unwrap();
        reasons.push(fake.with(|repo| repo.issues[at].state.clone().unwrap()));
    }
    assert_eq!(reasons, ["completed", "not_planned"]);
    let labels = fake.with(|repo| repo.issues[0].labels.clone());
    assert_eq!(labels, ["nightshift-k3f9-x2mq-0", "ai-triage"]);
    assert!(fake.with(|repo| repo.issues[0].title.starts_with("▲ Act now")));
}

/// Configures another repository, in which that number belongs to an unrelated issue.
#[tokio::test]
async fn foreign_issue_is_left_alone_and_the_case_gets_its_own() {
    let (fake, to) = repo().await;
    let other = case("k3f9-x2mq-0th3");
    let mut trial = Trial::default();
    trial.show(&fake, &to, &other, Kill::Never).await.unwrap();
    let first = case("k3f9-x2mq-7d1w");
    let mut trial = Trial::default();
    trial.remote_id = Some("1".into());
    trial
        .show(&fake, &to, &again(&first), Kill::Never)
        .await
        .unwrap();
    assert_eq!(trial.remote_id.as_deref(), Some("2"));
    let labels = fake.with(|repo| {
        let labels = repo.issues.iter().map(|issue| issue.labels[0].clone());
        assert!(repo.issues[0].comments.is_empty());
        labels.collect::<Vec<_>>()
    });
    assert_eq!(
        labels,
        ["nightshift-k3f9-x2mq-0th3", "nightshift-k3f9-x2mq-7d1w"]
    );
}

#[tokio::test]
async fn a_canary_opens_an_issue_and_closes_it() {
    let (fake, to) = repo().await;
    let mut showing = crate::fixture::canary();
    assert!(to.wants(&showing));
    let sent = to.deliver(&showing).await.unwrap();
    crate::fixture::spend(&mut showing, sent.remote_id);
    assert!(to.wants(&showing));
    to.deliver(&showing).await.unwrap();
    let issues = fake.with(|repo| repo.issues.len());
    assert_eq!(issues, 1);
    let (title, state) = fake.with(|repo| {
        let issue = &repo.issues[0];
        (issue.title.clone(), issue.state.clone())
    });
    assert!(title.contains("[CANARY]"), "{title}");
    assert_eq!(state.as_deref(), Some("completed"));
}

#[test]
fn a21_the_token_is_shown_nowhere() {
    let to = to(config("http://127.0.0.1:1"));
    has_no_secret(&format!("{to:?}"));
    has_no_secret(&to.preview(&case("k3f9-x2mq-7d1w")).to_string());
}

#[test]
fn what_is_no_repository_is_refused() {
    for repo in ["", "acme", "acme/", "a/b/c", "../x", "acme/..", "a b/c"] {
        let config = GitHubConfig {
            repo: repo.into(),
            ..config("https://api.github.com")
        };
        assert!(config.check().is_err(), "{repo}");
    }
}
