//! Tests logins to databases.

use super::*;
use crate::Outcome;

const PROBE: &str = include_str!(
    "../../../../../../tests/fixtures/cases/44-guardduty-rds-probe-without-login.json"
);
const BRUTE_FORCE: &str =
    include_str!("../../../../../../tests/fixtures/playbooks/guardduty-rds-brute-force.json");

fn database(arn: &str) -> Value {
    json!([{"Type": "AwsRdsDbInstance", "Id": arn}])
}

#[test]
fn a_probe_without_a_login_is_no_attempt() {
    let orders = database("arn:aws:rds:eu-west-1:111122223333:db:orders-db");
    let alert = one_in_both(&value(PROBE), orders);
    insta::assert_snapshot!(told(&alert), @"
    threat | RDS_LOGIN_ATTEMPT | not_attempted
    RDSDBInstance arn:aws:rds:eu-west-1:111122223333:db:orders-db orders-db
    actor ip 198.51.100.9
    related arn arn:aws:rds:eu-west-1:111122223333:db:orders-db
    target database orders-db
    ");
}

#[test]
fn a_brute_force_that_got_in_is_told_with_its_counts() {
    let orders = database("arn:aws:rds:eu-west-1:444455556666:db:orders-prod");
    let alert = one_in_both(&value(BRUTE_FORCE), orders);
    insta::assert_snapshot!(told(&alert), @"
    threat | RDS_LOGIN_ATTEMPT | succeeded
    RDSDBInstance arn:aws:rds:eu-west-1:444455556666:db:orders-prod orders-prod
    actor ip 203.0.113.201
    actor principal reporting
    related arn arn:aws:rds:eu-west-1:444455556666:db:orders-prod
    target database orders-prod
    application: psql (reporting)
    database_name: orders (reporting)
    protocol: TLSv1.3 (reporting)
    country: Netherlands (203.0.113.201)
    asn: AS64500 (203.0.113.201)
    organisation: Example Hosting (203.0.113.201)
    logon_type: password (reporting)
    auth_result: SUCCESS (203.0.113.201)
    auth_result: log-in attempts that failed: 418 (reporting)
    auth_result: log-in attempts that succeeded: 1 (reporting)
    event_count: 419 (reporting)
    ");
}

#[test]
fn outcomes_of_logins_follow_counts_and_types() {
    let outcome = |kind: &str, attributes: Value, user: Value| {
        let action = json!({"actionType": "RDS_LOGIN_ATTEMPT",
            "rdsLoginAttemptAction": {"LoginAttributes": attributes}});
        let resource = json!({"resourceType": "RDSDBInstance", "rdsDbUserDetails": user});
        one_of(&finding(kind, resource, json!({"action": action}))).outcome
    };
    let tried = |failed: u64, succeeded: u64| json!([{"user": "root", "failedLoginAttempts": failed, "successfulLoginAttempts": succeeded}]);
    let (probe, failed, got_in) = (
        "Discovery:RDS/MaliciousIPCaller",
        "CredentialAccess:RDS/MaliciousIPCaller.FailedLogin",
        "CredentialAccess:RDS/MaliciousIPCaller.SuccessfulLogin",
    );
    for (kind, attributes, user, told) in [
        (probe, json!([]), json!({}), Some(Outcome::NotAttempted)),
        (probe, Value::Null, Value::Null, Some(Outcome::NotAttempted)),
        (probe, tried(3, 0), json!({}), Some(Outcome::Failed)),
        (probe, json!([]), json!({"user": "root"}), None),
        (failed, json!([]), json!({}), Some(Outcome::Failed)),
        (failed, tried(3, 1), json!({}), Some(Outcome::Succeeded)),
        (got_in, json!([]), json!({}), Some(Outcome::Succeeded)),
        (got_in, tried(3, 0), json!({}), Some(Outcome::Succeeded)),
    ] {
        assert_eq!(
            outcome(kind, attributes.clone(), user.clone()),
            told,
            "{kind} {attributes} {user}"
        );
    }
}
