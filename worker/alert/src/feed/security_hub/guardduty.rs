//! Converts GuardDuty findings from ASFF back to GuardDuty's own shape.
//!
//! `ProductFields` holds GuardDuty's fields by path (`aws/guardduty/service/action/…`). `Action` and `Resources` hold
//! the fields that ASFF has names for.

use serde_json::{Map, Value, json};

use super::super::guardduty::{finding_of_arn, read_finding_as};
use super::super::{Draft, Node};
use super::location::region_in_arn;
use super::native_type;
use super::product_fields::restore_finding;
use crate::{ReadError, Severity, short_name};

pub(super) fn read_guardduty(node: Node<'_>, id: &str) -> Result<Draft, ReadError> {
    let (resource, beside) = resource(node);
    let native = to_guardduty_shape(node, id, resource);
    let mut draft = read_finding_as(Node::new(&native), "security_hub")?;
    draft.locate_unread_fields(&native);
    for item in beside {
        super::asff::read_resource(&mut draft, item);
    }
    let by_label = match node.path("Severity/Product").number() {
        None => Some(super::severity(node, "guardduty")),
        Some(_) => raised_severity(node)
            .filter(|raised| *raised > draft.severity)
            .map(|raised| (raised, false)),
    };
    draft.remediation = node.path("Remediation/Recommendation/Text").text();
    if let Some(by_label) = by_label {
        (draft.severity, draft.unknown_severity) = by_label;
        draft.severity_sent = ["Label", "Original", "Product", "Normalized"]
            .iter()
            .find_map(|key| node.at("Severity").at(key).text())
            .unwrap_or_default();
    }
    // Fields outside GuardDuty's shape are read as for any other product.
    super::asff::read_entities(&mut draft, node);
    Ok(draft)
}

/// Returns the severity label that was set in Security Hub, where it differs from GuardDuty's.
fn raised_severity(node: Node<'_>) -> Option<Severity> {
    let label = node.path("Severity/Label").str()?;
    let given = node.path("FindingProviderFields/Severity/Label");
    label.parse().ok().filter(|_| !given.is(label))
}

fn to_guardduty_shape(node: Node<'_>, id: &str, resource: Value) -> Value {
    let mut native = restore_finding(node);
    let mut service = take_object(&mut native, "service");
    if let Value::Object(service) = &mut service {
        // Fields of an attack sequence,
        // <https://docs.aws.amazon.com/securityhub/1.0/APIReference/API_Detection.html>.
        for (key, value) in [
            ("action", action(node.at("Action"))),
            ("detection", copy(node.at("Detection"))),
        ] {
            if value.as_object().is_some_and(|value| !value.is_empty()) {
                merge(service.entry(key).or_insert(Value::Null), value);
            }
        }
        service.insert("serviceName".to_owned(), json!("guardduty"));
        for (key, from) in [
            ("eventFirstSeen", "FirstObservedAt"),
            ("eventLastSeen", "LastObservedAt"),
        ] {
            if !service.contains_key(key) {
                service.insert(key.to_owned(), copy(node.at(from)));
            }
        }
    }
    let mut resource = resource;
    merge(&mut resource, take_object(&mut native, "resource"));
    let told = json!({
        "id": finding_of_arn(id).unwrap_or(id),
        "arn": finding_of_arn(id).map(|_| id),
        "type": kind(node),
        "accountId": copy(node.at("AwsAccountId")),
        "region": finding_region(node),
        "title": copy(node.at("Title")),
        "description": copy(node.at("Description")),
        "severity": copy(node.path("Severity/Product")),
        "createdAt": copy(node.at("CreatedAt")),
        "updatedAt": copy(node.at("UpdatedAt")),
        "resource": resource,
        "service": service,
    });
    // Security Hub's own fields have precedence.
    if let (Value::Object(native), Value::Object(told)) = (&mut native, told) {
        native.extend(told);
    }
    native
}

/// Returns the region of the finding, else that of its resource.
fn finding_region(node: Node<'_>) -> Option<&str> {
    let own = node.at("Region").str();
    own.or_else(|| region_in_arn(node.at("Id"))).or_else(|| {
        let resource = node.at("Resources").items().next()?;
        resource.at("Region").str()
    })
}

/// Takes an object out of another one, or returns an empty one.
fn take_object(from: &mut Value, key: &str) -> Value {
    let taken = from.get_mut(key).map(Value::take);
    taken.filter(Value::is_object).unwrap_or_else(|| json!({}))
}

fn copy(node: Node<'_>) -> Value {
    node.value().cloned().unwrap_or(Value::Null)
}

fn kind(node: Node<'_>) -> Value {
    let own = node
        .at("Types")
        .items()
        .chain(node.path("FindingProviderFields/Types").items());
    let first = own.filter_map(Node::str).next();
    first.map_or(Value::Null, |name| json!(native_type(name)))
}

/// Converts ASFF's `Action`, which differs from GuardDuty's only in the names of the outer objects.
fn action(action: Node<'_>) -> Value {
    let mut map = Map::new();
    if action.at("ActionType").exists() {
        map.insert("actionType".to_owned(), copy(action.at("ActionType")));
    }
    for (to, from) in [
        ("awsApiCallAction", "AwsApiCallAction"),
        ("networkConnectionAction", "NetworkConnectionAction"),
        ("portProbeAction", "PortProbeAction"),
        ("dnsRequestAction", "DnsRequestAction"),
    ] {
        if action.at(from).is_object() {
            map.insert(to.to_owned(), copy(action.at(from)));
        }
    }
    Value::Object(map)
}

/// Merges `from` into `into`. Known values stay, and lists are concatenated.
fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                let spelled = into
                    .keys()
                    .find(|known| known.eq_ignore_ascii_case(&key))
                    .cloned();
                merge(
                    into.entry(spelled.unwrap_or(key)).or_insert(Value::Null),
                    value,
                );
            }
        }
        (Value::Array(into), Value::Array(from)) => into.extend(from),
        (into @ Value::Null, from) => *into = from,
        _ => {}
    }
}

/// Returns GuardDuty's `resource` from ASFF's list, and the resources that have no place in it.
///
/// GuardDuty's shape has one resource of each kind, but a list of buckets.
fn resource(node: Node<'_>) -> (Value, Vec<Node<'_>>) {
    let mut resource = Map::new();
    let mut beside = Vec::new();
    for item in node.at("Resources").items() {
        let Some((name, key, value)) = details(item) else {
            beside.push(item);
            continue;
        };
        resource
            .entry("resourceType")
            .or_insert_with(|| json!(name));
        match (resource.get_mut(key), value) {
            (None, value) => {
                resource.insert(key.to_owned(), value);
            }
            (Some(Value::Array(known)), Value::Array(more)) => known.extend(more),
            (Some(_), _) => beside.push(item),
        }
    }
    (Value::Object(resource), beside)
}

/// Returns GuardDuty's name of a resource type, the key of its details, and the details.
fn details(item: Node<'_>) -> Option<(&'static str, &'static str, Value)> {
    let kind = item.at("Type").str()?;
    let id = item.at("Id").str()?;
    let details = item.at("Details").at(kind);
    let last = short_name(id);
    let tags = copy(item.at("Tags"));
    let named = |key: &str| json!({ "name": last, key: id, "tags": tags });
    Some(match kind {
        "AwsIamAccessKey" => ("AccessKey", "accessKeyDetails", access_key(last, details)),
        "AwsEc2Instance" => {
            let mut instance = instance(last, details);
            merge(&mut instance, json!({ "tags": tags }));
            ("Instance", "instanceDetails", instance)
        }
        "AwsS3Bucket" => ("S3Bucket", "s3BucketDetails", json!([named("arn")])),
        "AwsEksCluster" => {
            let mut cluster = named("arn");
            merge(&mut cluster, copy(details.at("ResourcesVpcConfig")));
            ("EKSCluster", "eksClusterDetails", cluster)
        }
        "AwsEcsCluster" => ("ECSCluster", "ecsClusterDetails", named("arn")),
        "AwsLambdaFunction" => {
            let function = json!({
                "functionName": last,
                "functionArn": id,
                "role": copy(details.at("Role")),
                "vpcConfig": copy(details.at("VpcConfig")),
                "tags": tags,
            });
            ("Lambda", "lambdaDetails", function)
        }
        "AwsRdsDbInstance" => {
            let database =
                json!({ "dbInstanceIdentifier": last, "dbInstanceArn": id, "tags": tags });
            ("RDSDBInstance", "rdsDbInstanceDetails", database)
        }
        "Container" => {
            let (name, image) = (copy(details.at("Name")), copy(details.at("ImageName")));
            let container = json!({ "id": id, "name": name, "image": image });
            ("Container", "containerDetails", container)
        }
        _ => return None,
    })
}

fn access_key(id: &str, details: Node<'_>) -> Value {
    json!({
        "accessKeyId": id,
        "principalId": copy(details.at("PrincipalId")),
        "userName": copy(details.at("PrincipalName")),
        "userType": copy(details.at("PrincipalType")),
    })
}

/// Returns an instance, whose addresses and network belong to one interface.
fn instance(id: &str, details: Node<'_>) -> Value {
    let addresses = details.at("IpV4Addresses").items();
    let addresses: Vec<Value> = addresses
        .map(|address| json!({ "privateIpAddress": copy(address) }))
        .collect();
    json!({
        "instanceId": id,
        "imageId": copy(details.at("ImageId")),
        "iamInstanceProfile": { "arn": copy(details.at("IamInstanceProfileArn")) },
        "networkInterfaces": [{
            "privateIpAddresses": addresses,
            "ipv6Addresses": copy(details.at("IpV6Addresses")),
            "vpcId": copy(details.at("VpcId")),
            "subnetId": copy(details.at("SubnetId")),
            "securityGroups": copy(details.at("SecurityGroups")),
        }],
    })
}
