//! Writes the findings of scenarios in the formats and spellings of their feeds.

use chrono::{DateTime, Utc};
use nightshift_alert::ReadOptions;
use nightshift_alert::feed::GenericFeed;
use serde_json::{Value, json};

use super::scenario::{Actor, Dice, Scenario};

/// The format of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Feed {
    GuardDuty,
    Sequence,
    Probe,
    Outbound,
    Dns,
    Runtime,
    Asff,
    AsffOther,
    OcsfGuardDuty,
    OcsfVendor,
    OcsfOutbound,
    Scc,
    SccPosture,
    Generic,
}

use Feed::{
    Asff, AsffOther, Dns, Generic, GuardDuty, OcsfGuardDuty, OcsfOutbound, OcsfVendor, Outbound,
    Probe, Runtime, Scc, SccPosture, Sequence,
};

/// Each format with its finding type, if fixed, and its maximum number of actors or far ends.
const ALL: [(Feed, &str, usize); 14] = [
    (GuardDuty, "", 1),
    (Sequence, "AttackSequence:IAM/CompromisedCredentials", 12),
    (Probe, "Recon:EC2/PortProbeUnprotectedPort", 40),
    (Outbound, "UnauthorizedAccess:EC2/SSHBruteForce", 1),
    (Dns, "CryptoCurrency:EC2/BitcoinTool.B!DNS", 1),
    (Runtime, "Execution:Runtime/NewBinaryExecuted", 1),
    (Asff, "", 1),
    (AsffOther, "TTPs/Discovery/Suspicious Call", 1),
    (OcsfGuardDuty, "", 40),
    (OcsfVendor, "Suspicious activity", 40),
    (OcsfOutbound, "Suspicious connection", 40),
    (Scc, "Persistence: IAM Anomalous Grant", 1),
    (SccPosture, "PUBLIC_IP_ADDRESS", 1),
    (Generic, "", 40),
];

impl Feed {
    pub(super) fn draw(dice: &mut Dice) -> Self {
        dice.pick(&ALL).0
    }

    fn row(self) -> (Self, &'static str, usize) {
        ALL.into_iter().find(|(feed, ..)| *feed == self).unwrap()
    }

    pub(super) fn kind(self) -> Option<&'static str> {
        Some(self.row().1).filter(|kind| !kind.is_empty())
    }

    pub(super) fn most(self) -> usize {
        self.row().2
    }

    pub(super) const fn is_google(self) -> bool {
        matches!(self, Scc | SccPosture)
    }

    pub(super) const fn has_actors(self) -> bool {
        !matches!(self, Outbound | Dns | Runtime | OcsfOutbound | SccPosture)
    }

    /// Returns whether a finding with this number of actors says which keys and addresses belong to whom.
    pub(super) const fn ties(self, actors: usize) -> bool {
        !matches!(self, Generic) || actors == 1
    }

    /// Returns whether the finding distinguishes users from roles.
    pub(super) const fn tells_kinds(self) -> bool {
        matches!(self, GuardDuty | Sequence | Asff | OcsfGuardDuty)
    }

    pub(super) fn resource(self, dice: &mut Dice, account: &str) -> String {
        let number = dice.below(10);
        match self {
            Scc => format!("//cloudresourcemanager.googleapis.com/projects/{account}"),
            SccPosture => format!("web-{number}"),
            AsffOther | Probe => format!("i-0a1b2c3d4e5f6071{number}"),
            // Bucket names can be chosen by anybody and equal other names.
            _ if self.has_actors() => {
                dice.pick(&[format!("ledger-{number}"), "deploy-0".to_owned()])
            }
            _ => format!("i-0a1b2c3d4e5f6071{number}"),
        }
    }

    /// Returns what a machine contacts or runs, by the column of its row.
    pub(super) fn beside(self, dice: &mut Dice, column: &str, many: usize) -> Vec<String> {
        let address = |dice: &mut Dice, number| format!("198.51.{number}.{}", 1 + dice.below(250));
        match (self, column) {
            (Runtime, "processes") => vec!["xmrig".to_owned(), "/tmp/.x/xmrig".to_owned()],
            (Runtime, "hashes") => vec![format!("{:064x}", dice.below(1_000))],
            (Outbound, "targets") => vec![address(dice, 0)],
            (Dns, "targets") => vec!["pool.miner.example".to_owned()],
            (OcsfOutbound, "targets") => (0..many)
                .map(|number| match dice.one_in(2) {
                    true => format!("pool-{number}.miner.example"),
                    false => address(dice, number),
                })
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Returns an actor of such a finding.
    pub(super) fn actor(self, dice: &mut Dice, number: usize, account: &str) -> Actor {
        let base = dice.pick(&["ci-inventory", "deploy", "audit.reader", "Backup_Agent"]);
        let key = dice.pick(&["ASIAEXAMPLE", "AKIAEXAMPLE"]);
        let mut actor = Actor {
            name: Some(format!("{base}-{number}")),
            is_user: dice.one_in(3),
            account: account.to_owned(),
            key: Some(format!("{key}{number:09}")),
            ..Actor::default()
        };
        let mut many = 1;
        match self {
            Probe | AsffOther => (actor.name, actor.key) = (None, None),
            Scc => {
                let mail = format!("{}-{number}@{account}.iam.gserviceaccount.com", base.len());
                actor.name = Some(dice.pick(&[mail, format!("ana.{number}@corp.example")]));
                actor.person = dice.one_in(4).then(|| "ben@corp.example".to_owned());
                let is_keyed = actor.person.is_none() && dice.one_in(3);
                actor.key = is_keyed.then(|| format!("{number:040x}"));
            }
            GuardDuty | Asff => {}
            _ => {
                match dice.below(9) {
                    0 if self == OcsfVendor => {
                        actor.name = Some(format!("cy.{number}@corp.example"))
                    }
                    1 if self == OcsfVendor => actor.name = None,
                    // For another account the finding contains the ARN.
                    2 if matches!(self, OcsfVendor | Generic) => {
                        actor.account = "555566667777".to_owned();
                    }
                    _ => {}
                }
                actor.key = actor.key.filter(|_| dice.one_in(2));
                many = if self == Generic {
                    dice.below(2)
                } else {
                    dice.pick(&[0, 1, 1, 2, 3])
                };
                let is_nobody = actor.name.is_none() && actor.key.is_none();
                many = many.max(usize::from(is_nobody));
            }
        }
        actor.addresses = (1..=many)
            .map(|index| match dice.below(8) {
                0 | 1 => format!("2001:db8:{}::{index}", number + 1),
                2 => format!("10.0.{number}.{index}"),
                _ => format!("198.51.{number}.{index}"),
            })
            .collect();
        actor
    }
}

/// Returns the options for reading the messages: a feed of the configuration.
pub(super) fn options() -> ReadOptions {
    let fields = [
        ["id", "/ref"],
        ["type", "/rule"],
        ["title", "/title"],
        ["provider", "/cloud"],
        ["account", "/account"],
        ["region", "/region"],
        ["first_seen", "/first"],
        ["last_seen", "/last"],
        ["principal", "/who"],
        ["access_key", "/key"],
        ["actor_ip", "/from"],
        ["bucket", "/bucket"],
    ];
    let feed = GenericFeed {
        name: "siem".to_owned(),
        matches: "/rule".to_owned(),
        fields: fields.map(|pair| pair.map(str::to_owned).into()).into(),
        ..GenericFeed::default()
    };
    ReadOptions {
        generic: vec![feed],
        ..ReadOptions::default()
    }
}

/// Returns the value where an address is expected, in a spelling that feeds use.
fn from(dice: &mut Dice, actor: &Actor, index: usize) -> Value {
    if let Some(odd) = &actor.unreadable {
        return odd.clone();
    }
    let Some(address) = actor.addresses.get(index) else {
        return Value::Null;
    };
    let is_v4 = !address.contains(':');
    json!(match dice.below(8) {
        0 if is_v4 => format!("{address}:49152"),
        0 => format!("[{address}]:443"),
        1 if is_v4 => format!("::ffff:{address}"),
        1 => address.to_uppercase(),
        2 if !is_v4 => format!("[{address}]"),
        3 => format!(" {address} "),
        _ => address.clone(),
    })
}

pub(super) fn session(actor: &Actor) -> String {
    format!("{}-run", actor.name.as_deref().unwrap_or("some").len())
}

/// Returns the ARN of a principal on the platform.
pub(super) fn arn(actor: &Actor) -> String {
    let (name, account) = (actor.name.as_deref().unwrap_or("somebody"), &actor.account);
    match actor.is_user {
        true => format!("arn:aws:iam::{account}:user/{name}"),
        false => format!(
            "arn:aws:sts::{account}:assumed-role/{name}/{}",
            session(actor)
        ),
    }
}

pub(super) fn message(world: &mut Scenario) -> Value {
    let (finding, source) = match world.feed {
        Scc | SccPosture => return scc(world),
        Generic => return generic(world),
        OcsfVendor | OcsfOutbound => return ocsf(world),
        Asff | AsffOther => (asff(world), "aws.securityhub"),
        OcsfGuardDuty => (ocsf(world), "aws.securityhub"),
        _ => (guardduty(world), "aws.guardduty"),
    };
    let findings = json!({"findings": [finding]});
    let detail = if source == "aws.guardduty" {
        finding.clone()
    } else {
        findings.clone()
    };
    let event = json!({"version": "0", "id": "e", "source": source, "detail-type": "Finding", "detail": detail});
    let note = json!({"Type": "Notification", "MessageId": "m", "TopicArn": "arn:aws:sns:eu-west-1:1:t", "Message": event.to_string()});
    world.dice.pick(&[finding, findings, event, note])
}

fn access_key(actor: &Actor) -> Value {
    let (id, word) = match actor.is_user {
        true => ("AIDAEXAMPLE1".to_owned(), "IAMUser"),
        false => (format!("AROAEXAMPLE1:{}", session(actor)), "AssumedRole"),
    };
    json!({"accessKeyId": actor.key, "principalId": id, "userName": actor.name, "userType": word})
}

fn guardduty(world: &mut Scenario) -> Value {
    let actors = world.actors.clone();
    let dice = &mut world.dice;
    let end = world.far_ends.first();
    let mut service = json!({"serviceName": "guardduty", "detectorId": "12abc", "count": 3,
        "eventFirstSeen": world.first, "eventLastSeen": world.last});
    let mut resource = match world.feed.has_actors() && world.feed != Probe {
        true => bucket(&world.resource, world.many),
        false => {
            json!({"resourceType": "Instance", "instanceDetails": {"instanceId": world.resource}})
        }
    };
    match world.feed {
        Sequence => service["detection"] = sequence(dice, &actors, world.first, world.last),
        Runtime => {
            service["runtimeDetails"] = json!({"process": {"name": world.far_ends[0], "executablePath": world.far_ends[1],
                "executableSha256": world.far_ends[2]}});
        }
        Probe => {
            let probe = |actor| json!({"localPortDetails": {"port": 22}, "remoteIpDetails": {"ipAddressV4": from(dice, actor, 0)}});
            let probes: Vec<Value> = actors.iter().map(probe).collect();
            service["action"] = json!({"actionType": "PORT_PROBE", "portProbeAction": {"portProbeDetails": probes}});
            service["resourceRole"] = json!("TARGET");
        }
        Outbound => {
            service["resourceRole"] = json!("ACTOR");
            service["action"] = json!({"actionType": "NETWORK_CONNECTION", "networkConnectionAction":
                {"connectionDirection": "OUTBOUND", "remoteIpDetails": {"ipAddressV4": end}}});
        }
        Dns => {
            service["action"] =
                json!({"actionType": "DNS_REQUEST", "dnsRequestAction": {"domain": end}})
        }
        _ => {
            resource["accessKeyDetails"] = access_key(&actors[0]);
            service["action"] = json!({"actionType": "AWS_API_CALL", "awsApiCallAction": {"api": "ListUsers", "serviceName":
                "iam.amazonaws.com", "callerType": "Remote IP", "remoteIpDetails": {"ipAddressV4": from(dice, &actors[0], 0)}}});
        }
    }
    json!({"type": world.kind, "id": "f1", "accountId": world.account, "region": world.region, "severity": 5,
        "createdAt": world.first, "updatedAt": world.last, "title": "t", "description": "d",
        "resource": resource, "service": service})
}

fn bucket(name: &str, objects: usize) -> Value {
    let object = |index| json!({"objectArn": format!("arn:aws:s3:::{name}/{index}"), "key": format!("k{index}")});
    let objects: Vec<Value> = (0..objects).map(object).collect();
    json!({"resourceType": "AccessKey", "s3BucketDetails":
        [{"name": name, "arn": format!("arn:aws:s3:::{name}"), "s3ObjectDetails": objects}]})
}

fn sequence(dice: &mut Dice, actors: &[Actor], first: DateTime<Utc>, last: DateTime<Utc>) -> Value {
    let (mut people, mut endpoints, mut signals) = (Vec::new(), Vec::new(), Vec::new());
    for (number, actor) in actors.iter().enumerate() {
        let (id, details) = (format!("a{number}"), access_key(actor));
        people.push(json!({"id": id, "user": {"name": actor.name, "uid": details["principalId"], "type": details["userType"],
            "credentialUid": actor.key, "account": {"uid": actor.account}}}));
        let ends = actor
            .addresses
            .len()
            .max(usize::from(actor.unreadable.is_some()));
        for index in 0..ends {
            let end = format!("e{number}-{index}");
            endpoints.push(json!({"id": end, "ip": from(dice, actor, index)}));
            signals.push(
                json!({"uid": end, "type": "CLOUD_TRAIL", "actorIds": [id], "endpointIds": [end],
                "firstSeenAt": first, "lastSeenAt": last}),
            );
        }
    }
    json!({"sequence": {"uid": "s", "description": "d", "actors": people, "endpoints": endpoints, "signals": signals}})
}

fn asff(world: &mut Scenario) -> Value {
    let (actor, region) = (world.actors[0].clone(), world.region.unwrap_or("eu-west-1"));
    let (account, details) = (&world.account, access_key(&actor));
    let call = json!({"ActionType": "AWS_API_CALL", "AwsApiCallAction": {"Api": "ListUsers", "ServiceName": "iam.amazonaws.com",
        "CallerType": "remoteIp", "RemoteIpDetails": {"IpAddressV4": from(&mut world.dice, &actor, 0)}}});
    let (product, kind, resource) = match world.feed {
        Asff => (
            "aws/guardduty",
            format!("TTPs/{}", world.kind),
            json!({"Type": "AwsIamAccessKey",
            "Id": format!("AWS::IAM::AccessKey:{}", actor.key.as_deref().unwrap_or_default()),
            "Details": {"AwsIamAccessKey": {"PrincipalId": details["principalId"], "PrincipalType": details["userType"],
                "PrincipalName": actor.name}}}),
        ),
        _ => (
            "acme/edr",
            world.kind.to_owned(),
            json!({"Type": "AwsEc2Instance",
            "Id": format!("arn:aws:ec2:{region}:{account}:instance/{}", world.resource)}),
        ),
    };
    json!({"SchemaVersion": "2018-10-08", "AwsAccountId": account, "GeneratorId": "g", "Region": world.region,
        "Id": format!("arn:aws:guardduty:{region}:{account}:detector/12abc/finding/f1"), "Title": "t", "Description": "d",
        "ProductArn": format!("arn:aws:securityhub:{region}::product/{product}"), "Types": [kind], "Resources": [resource],
        "CreatedAt": world.first, "UpdatedAt": world.last, "FirstObservedAt": world.first, "LastObservedAt": world.last,
        "Severity": {"Label": "MEDIUM"}, "Action": call})
}

fn ocsf(world: &mut Scenario) -> Value {
    let mut evidences: Vec<Value> = Vec::new();
    for actor in world.actors.clone() {
        let who = ocsf_actor(world, &actor);
        for index in 0..actor.addresses.len().max(1) {
            let mut evidence = json!({"actor": who, "api": {"operation": "ListUsers", "service": {"name": "iam.amazonaws.com"}}});
            let address = from(&mut world.dice, &actor, index);
            if !address.is_null() {
                evidence["src_endpoint"] = json!({"ip": address});
            }
            evidences.push(evidence);
        }
    }
    evidences.extend(world.far_ends.iter().map(|end| {
        let key = if end.contains("miner") {
            "hostname"
        } else {
            "ip"
        };
        json!({"connection_info": {"direction_id": 2}, "dst_endpoint": {key: end}})
    }));
    let product = match world.feed {
        OcsfGuardDuty => {
            json!({"name": "GuardDuty", "vendor_name": "AWS", "uid": "arn:aws:securityhub:eu-west-1::productv2/aws/guardduty"})
        }
        _ => json!({"name": "E", "vendor_name": "A"}),
    };
    let mut resources = match world.feed {
        OcsfOutbound => vec![json!({"type": "AWS::EC2::Instance", "uid": world.resource})],
        _ => vec![
            json!({"type": "AWS::S3::Bucket", "uid": format!("arn:aws:s3:::{}", world.resource)}),
        ],
    };
    let object =
        |index| json!({"type": "AWS::S3::Object", "uid": format!("arn:aws:s3:::ledger/{index}")});
    let objects = if world.feed == OcsfOutbound {
        0
    } else {
        world.many
    };
    resources.extend((0..objects).map(object));
    let (first, last) = (
        world.first.timestamp_millis(),
        world.last.timestamp_millis(),
    );
    json!({"class_uid": 2004, "severity_id": 4, "time": last, "metadata": {"product": product},
        "finding_info": {"uid": "f1", "title": "t", "types": [world.kind], "analytic": {"name": world.kind},
            "first_seen_time": first, "last_seen_time": last},
        "cloud": {"provider": "AWS", "account": {"uid": world.account}, "region": world.region},
        "resources": resources, "evidences": evidences})
}

fn ocsf_actor(world: &mut Scenario, actor: &Actor) -> Value {
    let details = access_key(actor);
    let mut user = json!({});
    if let Some(key) = &actor.key {
        user["credential_uid"] = json!(key);
    }
    let is_foreign = actor.account != world.account;
    let is_vendor = world.feed == OcsfVendor;
    let mut is_told = false;
    match &actor.name {
        None => {}
        Some(name) if name.contains('@') => user["email_addr"] = json!(name),
        Some(_) if is_vendor && (is_foreign || world.dice.one_in(3)) => {
            user["uid"] = json!(arn(actor))
        }
        Some(name) => {
            is_told = true;
            user["name"] = json!(name);
            user["type"] = details["userType"].clone();
            if world.dice.one_in(2) {
                user["uid"] = details["principalId"].clone();
            }
        }
    }
    if actor.unreadable.is_some() && world.dice.one_in(2) {
        user["name"] = json!({"first": {"x": [1]}});
    }
    let mut who = json!({"user": user});
    if let Some(name) = actor
        .name
        .as_ref()
        .filter(|_| is_told && !actor.is_user && world.dice.one_in(3))
    {
        who["session"] = json!({"issuer": format!("arn:aws:iam::{}:role/{name}", actor.account)});
    }
    who
}

fn scc(world: &mut Scenario) -> Value {
    let account = &world.account;
    let mut finding = json!({"name": "organizations/1/sources/2/findings/f1", "parent": "organizations/1/sources/2",
        "category": world.kind, "state": "ACTIVE", "severity": "HIGH", "findingClass": "THREAT",
        "createTime": world.first, "eventTime": world.last, "resourceName": world.resource});
    if let Some(actor) = world.actors.first() {
        let name = actor.name.as_deref().unwrap_or_default();
        let mut access = json!({"principalEmail": name, "callerIp": from(&mut world.dice, actor, 0), "methodName": "SetIamPolicy",
            "serviceName": "cloudresourcemanager.googleapis.com"});
        if let Some(key) = &actor.key {
            access["serviceAccountKeyName"] = json!(format!(
                "//iam.googleapis.com/projects/{account}/serviceAccounts/{name}/keys/{key}"
            ));
        }
        if let Some(person) = &actor.person {
            let first_party = json!([{"firstPartyPrincipal": {"principalEmail": person}}]);
            let forms = [
                json!([{"principalEmail": person}]),
                first_party,
                json!([{"principalSubject": format!("user:{person}")}]),
            ];
            access["serviceAccountDelegationInfo"] = world.dice.pick(&forms);
        }
        finding["access"] = access;
    } else {
        let name = format!(
            "//compute.googleapis.com/projects/{account}/zones/europe-west1-b/instances/{}",
            world.resource
        );
        finding["findingClass"] = json!("MISCONFIGURATION");
        finding["resourceName"] = json!(name);
    }
    let resource = json!({"name": finding["resourceName"], "projectDisplayName": account, "location": world.region});
    json!({"notificationConfigName": "n", "finding": finding, "resource": resource})
}

fn generic(world: &mut Scenario) -> Value {
    // A feed writes one value without a list and several values as a list.
    let list = |mut values: Vec<Value>| match values.len() {
        1 => values.remove(0),
        _ => Value::Array(values),
    };
    let (mut names, mut keys, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    for actor in &world.actors {
        let is_arn = actor.account != world.account || world.dice.one_in(3);
        names.push(if is_arn {
            json!(arn(actor))
        } else {
            json!(actor.name)
        });
        keys.extend(actor.key.iter().map(|key| json!(key)));
        ends.extend(Some(from(&mut world.dice, actor, 0)).filter(|end| !end.is_null()));
    }
    json!({"ref": "f1", "rule": world.kind, "title": "t", "cloud": "aws", "account": world.account, "region": world.region,
        "first": world.first, "last": world.last, "who": list(names), "key": list(keys), "from": list(ends), "bucket": world.resource})
}
