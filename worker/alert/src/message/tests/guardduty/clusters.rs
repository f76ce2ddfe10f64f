//! Tests clusters: the person behind a shared user, requests, and workloads.

use super::*;
use crate::{Outcome, PrincipalKind};

const SESSION: &str =
    include_str!("../../../../../../tests/fixtures/cases/23-guardduty-eks-session-name.json");

fn eks() -> Value {
    json!([{"Type": "AwsEksCluster", "Id": "arn:aws:eks:eu-west-1:111122223333:cluster/field-eks"}])
}

#[test]
fn the_person_behind_a_shared_user_is_told_and_acted() {
    let alert = one_in_both(&value(SESSION), eks());
    insta::assert_snapshot!(told(&alert), @"
    threat | KUBERNETES_API_CALL create /api/v1/namespaces/default/pods | succeeded
    EKSCluster arn:aws:eks:eu-west-1:111122223333:cluster/field-eks field-eks
    pods default/debug-shell debug-shell
    Container shell shell
    actor ip 198.51.100.70
    related principal AROAEXAMPLEEXAMPLE023
    actor principal ana@field.example
    actor principal platform-admins
    related arn arn:aws:eks:eu-west-1:111122223333:cluster/field-eks
    target cluster field-eks
    target container default/debug-shell
    target container shell
    related image registry.example.com/tools:1
    session: ana@field.example (platform-admins)
    group: system:authenticated (platform-admins)
    group: system:masters (platform-admins)
    user_agent: kubectl/v1.31 (198.51.100.70)
    vpc: vpc-1 (arn:aws:eks:eu-west-1:111122223333:cluster/field-eks)
    http_request: create /api/v1/namespaces/default/pods (198.51.100.70)
    trait: privileged container (shell)
    trait: user id aws-iam-authenticator:111122223333:AROAEXAMPLEEXAMPLE023 (platform-admins)
    ");
    for name in ["platform-admins", "ana@field.example"] {
        let principal = alert.principals.iter().find(|one| one.name == name);
        assert_eq!(
            principal.map(|one| one.kind),
            Some(PrincipalKind::Other),
            "{name}"
        );
    }
}

#[test]
fn impersonated_user_and_who_impersonates_acted() {
    let mut finding = value(SESSION);
    let user = &mut finding["resource"]["kubernetesDetails"]["kubernetesUserDetails"];
    *user = json!({"username": "eve", "uid": "aws-iam-authenticator:999988887777:AROAOTHER", "groups": ["dev"],
        "impersonatedUser": {"username": "admin", "groups": ["system:masters"]}});
    let alert = one_in_both(&finding, eks());
    assert!(has(
        &alert,
        IndicatorKind::Principal,
        IndicatorRole::Actor,
        "eve"
    ));
    assert!(has(
        &alert,
        IndicatorKind::Principal,
        IndicatorRole::Actor,
        "admin"
    ));
    assert_eq!(values(&alert, DetailKind::Session), ["admin"]);
    assert_eq!(values(&alert, DetailKind::Group), ["dev", "system:masters"]);
    assert_eq!(values(&alert, DetailKind::OtherAccount), ["999988887777"]);
}

#[test]
fn the_answer_of_a_cluster_tells_the_outcome() {
    for (status, outcome) in [
        (json!(201), Some(Outcome::Succeeded)),
        (json!(403), Some(Outcome::Denied)),
        (json!("404"), Some(Outcome::Failed)),
        (Value::Null, None),
    ] {
        let mut finding = value(SESSION);
        finding["service"]["action"]["kubernetesApiCallAction"]["statusCode"] = status.clone();
        let alert = one_in_both(&finding, eks());
        assert_eq!(alert.outcome, outcome, "{status}");
        let is_error = matches!(outcome, Some(Outcome::Denied | Outcome::Failed));
        assert_eq!(
            values(&alert, DetailKind::ErrorCode).len(),
            usize::from(is_error)
        );
    }
}

#[test]
fn permissions_and_bindings_are_told() {
    let of = |action: Value| {
        let alert = one_of(&finding(
            "Discovery:Kubernetes/AnomalousBehavior.PermissionChecked",
            json!({}),
            json!({"action": action}),
        ));
        values(&alert, DetailKind::Permission).join("; ")
    };
    let check = |allowed: bool| json!({"kubernetesPermissionCheckedDetails": {"verb": "get", "resource": "secrets", "allowed": allowed}});
    assert_eq!(of(check(true)), "get secrets: allowed");
    assert_eq!(of(check(false)), "get secrets: not allowed");
    let binding = json!({"kubernetesRoleBindingDetails": {"kind": "ClusterRoleBinding", "name": "b",
        "roleRefName": "cluster-admin", "roleRefKind": "ClusterRole"}});
    assert_eq!(of(binding), "cluster-admin");
    assert_eq!(
        of(json!({"kubernetesRoleDetails": {"kind": "Role", "name": "reader"}})),
        "reader"
    );
}

#[test]
fn ways_out_of_a_container_are_told() {
    let workload = json!({"name": "debug", "type": "pods", "namespace": "default", "hostNetwork": true, "hostPID": true,
        "volumes": [{"name": "root", "hostPath": {"path": "/"}}],
        "containers": [{"name": "shell", "securityContext": {"privileged": true}}]});
    let resource = json!({"resourceType": "EKSCluster", "kubernetesDetails": {"kubernetesWorkloadDetails": workload}});
    let alert = one_of(&finding(
        "PrivilegeEscalation:Kubernetes/PrivilegedContainer",
        resource,
        json!({}),
    ));
    insta::assert_snapshot!(details(&alert), @"
    trait: mounts / of its host (default/debug)
    trait: privileged container (shell)
    trait: sees the processes of its host (default/debug)
    trait: uses the network of its host (default/debug)
    ");
}

#[test]
fn two_containers_of_a_task_are_two_resources() {
    let task = json!({"arn": "arn:aws:ecs:eu-west-1:111122223333:task/c/9", "startedBy": "deploy", "containers": [
        {"id": "c-1", "name": "app", "image": "nginx"}, {"id": "c-2", "name": "app", "image": "nginx"}]});
    let resource = json!({"resourceType": "ECSCluster", "ecsClusterDetails": {"name": "c",
        "arn": "arn:aws:ecs:eu-west-1:111122223333:cluster/c", "taskDetails": task}});
    let both = finding("Execution:ECS/MaliciousFile", resource, json!({}));
    let mut first = both.clone();
    first["resource"]["ecsClusterDetails"]["taskDetails"]["containers"]
        .as_array_mut()
        .unwrap()
        .pop();
    let (both, first) = (one_of(&both), one_of(&first));
    assert_eq!(both.key, first.key);
    assert_ne!(both.content, first.content);
    let ids = |alert: &Alert| {
        alert
            .resources
            .iter()
            .map(|one| one.id.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(&both).last().map(String::as_str), Some("c-2"));
    assert_eq!(ids(&both).len(), ids(&first).len() + 1);
}

#[test]
fn object_of_a_kubernetes_call_is_named() {
    let of = |call: Value| {
        let resource = json!({"resourceType": "EKSCluster",
            "eksClusterDetails": {"name": "prod", "arn": "arn:aws:eks:eu-west-1:111122223333:cluster/prod"},
            "kubernetesDetails": {"kubernetesUserDetails": {"username": "bob"}}});
        let action = json!({"action": {"actionType": "KUBERNETES_API_CALL", "kubernetesApiCallAction": call}});
        one_of(&finding(
            "CredentialAccess:Kubernetes/MaliciousIPCaller",
            resource,
            action,
        ))
    };
    let secret = |name: &str| {
        of(
            json!({"verb": "get", "resource": "secrets", "resourceName": name, "namespace": "pay",
            "requestUri": "/api/v1/namespaces/pay/secrets/x", "statusCode": 200}),
        )
    };
    let password = secret("db-password");
    assert_eq!(
        password.action.as_deref(),
        Some("KUBERNETES_API_CALL get secrets db-password in pay")
    );
    insta::assert_snapshot!(password.what_happened(), @r#"bob ran "get secrets db-password in pay" on Kubernetes cluster prod, reported as an address known as malicious."#);
    assert!(
        password
            .resources
            .iter()
            .any(|one| one.id == "pay/db-password")
    );
    assert_ne!(password.content, secret("api-token").content);

    let shell = of(
        json!({"verb": "create", "resource": "pods", "subresource": "exec",
        "resourceName": "coredns-1", "namespace": "kube-system", "statusCode": 101}),
    );
    assert_eq!(
        shell.action.as_deref(),
        Some("KUBERNETES_API_CALL create pods/exec coredns-1 in kube-system")
    );
    assert!(has(
        &shell,
        IndicatorKind::Container,
        IndicatorRole::Target,
        "kube-system/coredns-1"
    ));
}

#[test]
fn what_started_a_task_is_no_person() {
    let task = json!({"arn": "arn:aws:ecs:eu-west-1:111122223333:task/c/9", "startedBy": "ecs-svc/1234567890123456789"});
    let resource = json!({"resourceType": "ECSCluster", "ecsClusterDetails": {"name": "c",
        "arn": "arn:aws:ecs:eu-west-1:111122223333:cluster/c", "taskDetails": task}});
    let alert = one_of(&finding(
        "Execution:Runtime/NewBinaryExecuted",
        resource,
        json!({}),
    ));
    insta::assert_snapshot!(alert.what_happened(), @r#"GuardDuty reports: "What happened" on c."#);
    insta::assert_snapshot!(details(&alert), @"trait: started by ecs-svc/1234567890123456789 (arn:aws:ecs:eu-west-1:111122223333:task/c/9)");
}
