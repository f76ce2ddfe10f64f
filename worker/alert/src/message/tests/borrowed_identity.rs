//! Tests that the identity behind a borrowed identity is an actor too.

use super::bases::{guardduty, guardduty_service, ocsf, scc, with_roles};
use super::*;

fn actors(alert: &Alert) -> Vec<&str> {
    let all = alert.with_role(IndicatorRole::Actor);
    let all = all.filter(|one| one.kind == IndicatorKind::Principal);
    all.map(|one| one.value.as_str()).collect()
}

#[test]
fn whoever_uses_a_service_account_acted() {
    let account = "deploy@proj-alpha-1.iam.gserviceaccount.com";
    for delegation in [
        json!([{"principalEmail": "mallory@evil.example"}]),
        json!([{"principalSubject": "user:mallory@evil.example"}]),
        json!([{"firstPartyPrincipal": {"principalEmail": "mallory@evil.example"}}]),
        json!({"principal_email": "mallory@evil.example"}),
    ] {
        let alert = one_of(&scc(
            json!({"access": {"principalEmail": account, "callerIp": "203.0.113.66",
            "serviceAccountDelegationInfo": delegation}}),
        ));
        assert_eq!(
            actors(&alert),
            [account, "mallory@evil.example"],
            "{delegation}"
        );
        assert_eq!(alert.callers.len(), 2, "{delegation}");
    }
    let federated = "principal://iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/subject/repo:x";
    let alert = one_of(&scc(
        json!({"access": {"principalEmail": account, "principalSubject": federated}}),
    ));
    assert_eq!(actors(&alert), [account, federated]);
}

#[test]
fn grantee_of_a_database_acted() {
    let database =
        json!({"displayName": "ledger", "userName": "postgres", "grantees": ["mallory"]});
    let alert = one_of(&scc(json!({"database": database})));
    assert_eq!(actors(&alert), ["mallory", "postgres"]);
    assert_eq!(
        alert.what_happened(),
        r#"Security Command Center reports: "Anomalous grant" by postgres on proj-alpha-1, granted to mallory."#
    );
}

#[test]
fn whoever_grants_a_right_to_themselves_did_it() {
    let database = json!({"displayName": "ledger", "userName": "mallory", "grantees": ["mallory"]});
    let alert = one_of(&scc(json!({"database": database})));
    assert_eq!(
        alert.what_happened(),
        r#"Security Command Center reports: "Anomalous grant" by mallory on proj-alpha-1."#
    );
}

#[test]
fn chain_of_delegations_that_is_written_as_text_is_read() {
    let account = "deploy@proj-alpha-1.iam.gserviceaccount.com";
    let hop = "hop@proj-alpha-1.iam.gserviceaccount.com";
    let both = "mallory@evil.example";
    for chain in [
        json!(format!("{both} -> {hop}")),
        json!(format!("user:{both}, serviceAccount:{hop}")),
        json!([format!("user:{both}"), hop]),
        json!(json!([{"principalEmail": both}, {"principalSubject": format!("serviceAccount:{hop}")}]).to_string()),
        json!(json!([both, hop]).to_string()),
    ] {
        let access = json!({"principalEmail": account, "callerIp": "203.0.113.66", "serviceAccountDelegationInfo": chain});
        let alert = one_of(&scc(json!({ "access": access })));
        assert_eq!(actors(&alert), [account, hop, both], "{chain}");
        assert_eq!(alert.callers.len(), 3, "{chain}");
        assert_eq!(alert.unreadable, [""; 0], "{chain}");
        let grant = json!({"principalEmail": account, "serviceAccountDelegationInfo": chain});
        let source = json!({"properties": {"anomalousImpersonation": grant}});
        let alert = one_of(&scc(json!({ "sourceProperties": source })));
        assert_eq!(actors(&alert), [account, hop, both], "{chain}");
    }
    let junk = json!({"principalEmail": account, "serviceAccountDelegationInfo": [true]});
    let alert = one_of(&scc(json!({ "access": junk })));
    assert_eq!(alert.unreadable, ["/access/serviceAccountDelegationInfo/0"]);
}

#[test]
fn whoever_is_given_a_right_counts_as_who_acted() {
    let account = "deploy@proj-alpha-1.iam.gserviceaccount.com";
    let binding = |action: &str, member: &str| json!({"action": action, "role": "roles/owner", "member": member});
    let of = |binding: Value| {
        let alert = one_of(&scc(
            json!({"access": {"principalEmail": account}, "iamBindings": [binding.clone()]}),
        ));
        let deltas = json!({"properties": {"sensitiveRoleGrant": {"principalEmail": account, "bindingDeltas": [binding]}}});
        let same = one_of(&scc(json!({ "sourceProperties": deltas })));
        assert_eq!(actors(&same), actors(&alert));
        actors(&alert).join(" ")
    };
    assert_eq!(
        of(binding("ADD", "user:mallory@evil.example")),
        format!("{account} mallory@evil.example")
    );
    assert_eq!(of(binding("REMOVE", "user:mallory@evil.example")), account);
    assert_eq!(of(binding("ADD", "allUsers")), account);
    let bound = json!({"bindings": [{"name": "b", "role": {"name": "cluster-admin", "kind": "CLUSTER_ROLE"},
        "subjects": [{"kind": "USER", "name": "mallory"}, {"kind": "GROUP", "name": "system:authenticated"}]}]});
    let alert = one_of(&scc(
        json!({"access": {"principalEmail": account}, "kubernetes": bound}),
    ));
    assert_eq!(actors(&alert), [account, "mallory"]);
    let check = one_of(&scc(json!({"findingClass": "MISCONFIGURATION",
        "iamBindings": [binding("ADD", "user:mallory@evil.example")]})));
    assert_eq!(actors(&check), [""; 0]);
}

fn cluster_user(user: Value) -> Alert {
    let resource = json!({"resourceType": "EKSCluster", "eksClusterDetails": {"name": "pay"},
        "kubernetesDetails": {"kubernetesUserDetails": user}});
    let call = json!({"action": {"kubernetesApiCallAction": {"verb": "list", "remoteIpDetails": {"ipAddressV4": "198.51.100.70"}}}});
    let kind = "Discovery:Kubernetes/AnomalousBehavior.PermissionChecked";
    one_of(&guardduty_service(kind, resource, call))
}

#[test]
fn impersonated_user_and_person_of_a_session_acted() {
    let alert =
        cluster_user(json!({"username": "eve", "impersonatedUser": {"username": "system:admin"}}));
    assert_eq!(actors(&alert), ["eve", "system:admin"]);
    assert_eq!(alert.callers.len(), 2);
    for (username, session, names) in [
        (
            "arn:aws:sts::1:assumed-role/AWSReservedSSO_Ops_1/x",
            "alice",
            2,
        ),
        ("platform-admins", "alice@corp.example", 2),
        ("platform-admins", "botocore-session-17", 1),
    ] {
        let alert = cluster_user(json!({"username": username, "sessionName": [session]}));
        let found = actors(&alert);
        assert_eq!(found.len(), names, "{found:?}");
        assert_eq!(found.contains(&session), names == 2, "{found:?}");
    }
}

#[test]
fn person_of_a_single_sign_on_session_acted() {
    let of = |name: &str, session: &str| {
        let mut finding = guardduty(json!({}));
        finding["resource"]["accessKeyDetails"]["userName"] = json!(name);
        finding["resource"]["accessKeyDetails"]["principalId"] =
            json!(format!("AROAEXAMPLE1:{session}"));
        one_of(&finding)
    };
    let sso = of("AWSReservedSSO_Admin_0123456789abcdef", "mallory");
    assert_eq!(
        actors(&sso),
        ["AWSReservedSSO_Admin_0123456789abcdef", "mallory"]
    );
    let tied: Vec<_> = sso
        .callers
        .iter()
        .map(|one| one.principal.as_deref())
        .collect();
    assert_eq!(
        tied,
        [
            Some("AWSReservedSSO_Admin_0123456789abcdef"),
            Some("mallory")
        ]
    );
    assert!(
        sso.callers
            .iter()
            .all(|one| one.access_key.is_some() && one.address.is_some())
    );
    assert_eq!(
        actors(&of("okta-admins", "mallory@evil.example")),
        ["mallory@evil.example", "okta-admins"]
    );
    assert_eq!(actors(&of("ci-inventory", "mallory")), ["ci-inventory"]);
}

#[test]
fn session_with_the_name_of_a_user_is_its_role() {
    let of = |actor: Value| {
        let alert = one_of(&ocsf(json!({"evidences": [{"actor": actor}]})));
        with_roles(&alert, &[IndicatorRole::Actor])
    };
    let named = |uid: &str, session: Value| {
        of(
            json!({"user": {"name": "ci-inventory", "uid": uid, "type": "AssumedRole"}, "session": session}),
        )
    };
    let issued = |role: &str| json!({"uid": "ci-inventory", "issuer": format!("arn:aws:iam::444455556666:role/{role}")});
    assert_eq!(
        named("AROAEXAMPLE66:ci-inventory", issued("mallory")),
        "actor principal mallory"
    );
    assert_eq!(named("1000", issued("mallory")), "actor principal mallory");
    assert_eq!(
        named("AROAEXAMPLE66:ci-inventory", Value::Null),
        "actor principal AROAEXAMPLE66:ci-inventory"
    );
    assert_eq!(
        named("AROAEXAMPLE66:ci-inventory", issued("ci-inventory")),
        "actor principal ci-inventory"
    );
    assert_eq!(
        named("AROAEXAMPLE66:run-1", Value::Null),
        "actor principal ci-inventory"
    );
    insta::assert_snapshot!(named("AIDAEXAMPLE1", json!({"issuer": "arn:aws:iam::444455556666:role/path/mallory"})), @"
    actor principal ci-inventory
    actor principal mallory
    ");
    insta::assert_snapshot!(of(json!({"user": {"email_addr": "mallory@evil.example"}, "session": issued("ops")})), @"
    actor principal mallory@evil.example
    actor principal ops
    ");
}

#[test]
fn account_of_a_cloud_in_other_words_is_another_one() {
    let of = |provider: Value| {
        let user = json!({"name": "payments", "uid": "AIDAEXAMPLE", "type": "IAMUser", "account": {"uid": "999988887777"}});
        let cloud = json!({"provider": provider, "account": {"uid": "444455556666"}});
        let finding = ocsf(json!({"cloud": cloud, "evidences": [{"actor": {"user": user}}]}));
        with_roles(&one_of(&finding), &[IndicatorRole::Actor])
    };
    for provider in [
        json!("AWS"),
        json!("Amazon Web Services"),
        json!("Cloud (AWS)"),
        json!("public cloud"),
        Value::Null,
    ] {
        let arn = "actor principal arn:aws:iam::999988887777:user/payments";
        assert_eq!(of(provider.clone()), arn, "{provider}");
    }
}
