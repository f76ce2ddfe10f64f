//! Tests rows and values in all spellings: a row matches a value only when both mean one resource.

use nightshift_alert::{Indicator, IndicatorKind, IndicatorRole, Principal, PrincipalKind};
use nightshift_engine::exoneration::Exoneration;
use proptest::prelude::*;
use serde_json::json;

use crate::change_lookup::{ChangeLookup, ChangeLookupConfig};
use crate::content::ContentSource;
use crate::testing;

/// Kinds of resources in this test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResourceKind {
    Role,
    User,
    ClusterUser,
    Instance,
    Bucket,
    Function,
    Container,
}

const RESOURCE_KINDS: [ResourceKind; 7] = [
    ResourceKind::Role,
    ResourceKind::User,
    ResourceKind::ClusterUser,
    ResourceKind::Instance,
    ResourceKind::Bucket,
    ResourceKind::Function,
    ResourceKind::Container,
];
const NAMES: [&str; 3] = ["web", "ops-1", "i-0fffffffffffffff1"];
const ACCOUNTS: [&str; 2] = ["444455556666", "011122223333"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TestResource {
    kind: ResourceKind,
    name: &'static str,
    account: &'static str,
}

fn resources() -> impl Strategy<Value = TestResource> {
    let sorts = prop::sample::select(RESOURCE_KINDS.to_vec());
    let names = prop::sample::select(NAMES.to_vec());
    let accounts = prop::sample::select(ACCOUNTS.to_vec());
    (sorts, names, accounts).prop_map(|(sort, name, account)| TestResource {
        kind: sort,
        name,
        account,
    })
}

impl TestResource {
    /// Returns the qualified names, which contain the kind and, except for buckets, the account.
    fn whole_names(self) -> Vec<String> {
        let Self { name, account, .. } = self;
        match self.kind {
            ResourceKind::Role => vec![
                format!("arn:aws:iam::{account}:role/{name}"),
                format!("arn:aws-cn:iam::{account}:role/teams/a/{name}"),
                format!("arn:aws:sts::{account}:assumed-role/{name}/*"),
            ],
            ResourceKind::User => vec![format!("arn:aws:iam::{account}:user/ops/{name}")],
            ResourceKind::Instance => {
                vec![format!("arn:aws:ec2:eu-west-1:{account}:instance/{name}")]
            }
            ResourceKind::Bucket => vec![format!("arn:aws:s3:::{name}")],
            ResourceKind::Function => vec![format!(
                "arn:aws:lambda:eu-west-1:{account}:function:{name}"
            )],
            ResourceKind::ClusterUser | ResourceKind::Container => Vec::new(),
        }
    }

    const fn word(self) -> &'static str {
        match self.kind {
            ResourceKind::Role => "role",
            ResourceKind::User => "IAM user",
            ResourceKind::ClusterUser => "kubernetes",
            ResourceKind::Instance => "EC2 instance",
            ResourceKind::Bucket => "bucket",
            ResourceKind::Function => "lambda",
            ResourceKind::Container => "container",
        }
    }

    /// Returns `subject,kind,account` in one of the ways in which keepers write such a row.
    fn row(self, way: usize) -> String {
        let whole = self.whole_names();
        let is_bucket = self.kind == ResourceKind::Bucket;
        match whole.get(way.checked_rem(whole.len() + 1).unwrap_or_default()) {
            Some(whole) if is_bucket => format!("{whole},,{}", self.account),
            Some(whole) => format!("{whole},,"),
            None => {
                let account = self.account.trim_start_matches('0');
                format!("{},{},{account}", self.name.to_uppercase(), self.word())
            }
        }
    }

    /// Returns the value in an alert, and the principal kind that the feed reports.
    fn value(self, is_whole: bool) -> (IndicatorKind, String, Option<PrincipalKind>) {
        let name = self.name.to_owned();
        let told = match self.kind {
            ResourceKind::Role => Some(PrincipalKind::Role),
            ResourceKind::User => Some(PrincipalKind::User),
            ResourceKind::ClusterUser => Some(PrincipalKind::Other),
            _ => None,
        };
        let whole = self.whole_names().pop().filter(|_| is_whole);
        let whole = whole.map(|whole| whole.replace("/*", "/run-1"));
        let kind = match (self.kind, &whole) {
            (ResourceKind::Role | ResourceKind::User | ResourceKind::ClusterUser, _) => {
                IndicatorKind::Principal
            }
            (_, Some(_)) => IndicatorKind::Arn,
            (ResourceKind::Instance, _) => IndicatorKind::Instance,
            (ResourceKind::Bucket, _) => IndicatorKind::Bucket,
            (ResourceKind::Function, _) => IndicatorKind::Function,
            (ResourceKind::Container, _) => IndicatorKind::Container,
        };
        (kind, whole.unwrap_or(name), told)
    }
}

/// Returns the exonerations that a change about `row` makes for an alert that names only `value`.
fn exonerations(
    row: TestResource,
    way: usize,
    value: TestResource,
    is_whole: bool,
) -> Vec<Exoneration> {
    let text = format!(
        "id,subject,kind,account,from,until,status,approved_by,expected_findings\nC-1,{},2026-03-02,2026-03-02,approved,ana,Discovery:*\n",
        row.row(way)
    );
    let tool = ChangeLookup::new(ChangeLookupConfig {
        name: "changes".to_owned(),
        path: ContentSource::Text {
            name: "changes.csv".into(),
            text: text.into(),
        },
        slack_mins: crate::SlackMins::default(),
    });
    let (kind, name, told) = value.value(is_whole);
    let mut alert = testing::alert();
    alert.account = Some(value.account.to_owned());
    alert.indicators = vec![Indicator::new(kind, name.clone(), IndicatorRole::Actor)];
    alert.principals = told
        .map(|kind| Principal {
            name: name.clone(),
            kind,
            id: None,
        })
        .into_iter()
        .collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let asked = json!({ "indicator": name });
    let output = runtime.block_on(testing::call_about(alert, &tool, asked));
    output.unwrap().exonerations
}

proptest! {
    #[test]
    fn a_row_stands_for_its_own_thing_alone(
        row in resources(), way in 0_usize..4, value in resources(), is_whole: bool,
    ) {
        let made = exonerations(row, way, value, is_whole);
        let is_named = (row.kind, row.name) == (value.kind, value.name);
        for one in &made {
            prop_assert!(is_named, "{} clears {value:?}", row.row(way));
            prop_assert_eq!(one.scope.account.as_deref(), Some(row.account));
        }
    }

    #[test]
    fn a_row_is_found_in_each_spelling_of_its_thing(row in resources(), way in 0_usize..4, is_whole: bool) {
        let made = exonerations(row, way, row, is_whole);
        prop_assert_eq!(made.len(), 1, "{} {:?}", row.row(way), row.value(is_whole));
    }
}
