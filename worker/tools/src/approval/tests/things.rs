//! Property tests that compare rows and values in all spellings: a row matches a value only when both mean one
//! resource.

use nightshift_alert::{Indicator, IndicatorKind, Principal, PrincipalKind, Role};
use nightshift_engine::exoneration::Exoneration;
use proptest::prelude::*;
use serde_json::json;

use crate::change_lookup::{ChangeLookup, Config};
use crate::content::Content;
use crate::testing;

/// Kinds of resources in this test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Role,
    User,
    ClusterUser,
    Instance,
    Bucket,
    Function,
    Container,
}

const SORTS: [Sort; 7] = [
    Sort::Role,
    Sort::User,
    Sort::ClusterUser,
    Sort::Instance,
    Sort::Bucket,
    Sort::Function,
    Sort::Container,
];
const NAMES: [&str; 3] = ["web", "ops-1", "i-0fffffffffffffff1"];
const ACCOUNTS: [&str; 2] = ["444455556666", "011122223333"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Thing {
    sort: Sort,
    name: &'static str,
    account: &'static str,
}

fn things() -> impl Strategy<Value = Thing> {
    let sorts = prop::sample::select(SORTS.to_vec());
    let names = prop::sample::select(NAMES.to_vec());
    let accounts = prop::sample::select(ACCOUNTS.to_vec());
    (sorts, names, accounts).prop_map(|(sort, name, account)| Thing {
        sort,
        name,
        account,
    })
}

impl Thing {
    /// Returns the qualified names, which contain the kind and, except for buckets, the account.
    fn whole_names(self) -> Vec<String> {
        let Self { name, account, .. } = self;
        match self.sort {
            Sort::Role => vec![
                format!("arn:aws:iam::{account}:role/{name}"),
                format!("arn:aws-cn:iam::{account}:role/teams/a/{name}"),
                format!("arn:aws:sts::{account}:assumed-role/{name}/*"),
            ],
            Sort::User => vec![format!("arn:aws:iam::{account}:user/ops/{name}")],
            Sort::Instance => vec![format!("arn:aws:ec2:eu-west-1:{account}:instance/{name}")],
            Sort::Bucket => vec![format!("arn:aws:s3:::{name}")],
            Sort::Function => vec![format!(
                "arn:aws:lambda:eu-west-1:{account}:function:{name}"
            )],
            Sort::ClusterUser | Sort::Container => Vec::new(),
        }
    }

    const fn word(self) -> &'static str {
        match self.sort {
            Sort::Role => "role",
            Sort::User => "IAM user",
            Sort::ClusterUser => "kubernetes",
            Sort::Instance => "EC2 instance",
            Sort::Bucket => "bucket",
            Sort::Function => "lambda",
            Sort::Container => "container",
        }
    }

    /// Returns `subject,kind,account` in one of the ways in which keepers write such a row.
    fn row(self, way: usize) -> String {
        let whole = self.whole_names();
        let is_bucket = self.sort == Sort::Bucket;
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
        let told = match self.sort {
            Sort::Role => Some(PrincipalKind::Role),
            Sort::User => Some(PrincipalKind::User),
            Sort::ClusterUser => Some(PrincipalKind::Other),
            _ => None,
        };
        let whole = self.whole_names().pop().filter(|_| is_whole);
        let whole = whole.map(|whole| whole.replace("/*", "/run-1"));
        let kind = match (self.sort, &whole) {
            (Sort::Role | Sort::User | Sort::ClusterUser, _) => IndicatorKind::Principal,
            (_, Some(_)) => IndicatorKind::Arn,
            (Sort::Instance, _) => IndicatorKind::Instance,
            (Sort::Bucket, _) => IndicatorKind::Bucket,
            (Sort::Function, _) => IndicatorKind::Function,
            (Sort::Container, _) => IndicatorKind::Container,
        };
        (kind, whole.unwrap_or(name), told)
    }
}

/// Returns the exonerations that a change about `row` makes for an alert that names only `value`.
fn made(row: Thing, way: usize, value: Thing, is_whole: bool) -> Vec<Exoneration> {
    let text = format!(
        "id,subject,kind,account,from,until,status,approved_by,expected_findings\nC-1,{},2026-03-02,2026-03-02,approved,ana,Discovery:*\n",
        row.row(way)
    );
    let tool = ChangeLookup::new(Config {
        name: "changes".to_owned(),
        path: Content::Text {
            name: "changes.csv".into(),
            text: text.into(),
        },
        slack_mins: crate::SlackMins::default(),
    });
    let (kind, name, told) = value.value(is_whole);
    let mut alert = testing::alert();
    alert.account = Some(value.account.to_owned());
    alert.indicators = vec![Indicator::new(kind, name.clone(), Role::Actor)];
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
        row in things(), way in 0_usize..4, value in things(), is_whole: bool,
    ) {
        let made = made(row, way, value, is_whole);
        let is_named = (row.sort, row.name) == (value.sort, value.name);
        for one in &made {
            prop_assert!(is_named, "{} clears {value:?}", row.row(way));
            prop_assert_eq!(one.scope.account.as_deref(), Some(row.account));
        }
    }

    #[test]
    fn a_row_is_found_in_each_spelling_of_its_thing(row in things(), way in 0_usize..4, is_whole: bool) {
        let made = made(row, way, row, is_whole);
        prop_assert_eq!(made.len(), 1, "{} {:?}", row.row(way), row.value(is_whole));
    }
}
