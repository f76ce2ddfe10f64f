//! Generates audit logs of scenarios, complete or damaged. The hidden part of a damaged log contains an unauthorised
//! call.

use std::fs;
use std::io::Write;
use std::path::Path;

use chrono::{DateTime, TimeDelta, Utc};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::feeds;
use super::feeds::Feed;
use super::registers::text;
use super::scenario::{Actor, Dice, Scenario};
use crate::{ContentSource, LogFormat, LogSearch, ToolConfig};

#[derive(Debug, Clone, Default)]
struct ApiCall {
    at: DateTime<Utc>,
    who: Actor,
    key: Option<String>,
    source: Option<String>,
    service: &'static str,
    name: &'static str,
    is_read_only: bool,
    is_failure: bool,
}

/// The layout of a log.
#[derive(Debug, Clone, Copy)]
enum LogEncoding {
    Records,
    Lines,
    Events,
    Groups,
    /// Several compressed files in a folder.
    Packed,
}

/// A damage that hides a part of the log.
#[derive(Debug, Clone, Copy)]
enum Damage {
    EndsEarly,
    BeginsLate,
    BrokenPack,
    OtherKind,
    HalfLine,
    OfOthers,
}

impl Damage {
    /// Picks a damage that a search can detect. A log of other callers is recognised by the lack of the alert's own
    /// call, which is not demanded of a mere name.
    fn pick(world: &mut Scenario, own: &ApiCall) -> Self {
        let is_mere_name = own.key.is_none() && world.feed == Feed::Generic;
        match world.dice.pick(&DAMAGES) {
            Self::OfOthers if is_mere_name => Self::EndsEarly,
            damage => damage,
        }
    }
}

const DAMAGES: [Damage; 6] = [
    Damage::EndsEarly,
    Damage::BeginsLate,
    Damage::BrokenPack,
    Damage::OtherKind,
    Damage::HalfLine,
    Damage::OfOthers,
];

/// A service and the action called.
type Operation = (&'static str, &'static str);
const LIST_USERS: Operation = ("iam.amazonaws.com", "ListUsers");
const PUT_OBJECT: Operation = ("s3.amazonaws.com", "PutObject");
const ASSUME_ROLE: Operation = ("sts.amazonaws.com", "AssumeRole");
const STOP_LOGGING: Operation = ("cloudtrail.amazonaws.com", "StopLogging");
const GET_POLICY: Operation = ("cloudresourcemanager.googleapis.com", "GetIamPolicy");
const CREATE_KEY: Operation = (
    "iam.googleapis.com",
    "google.iam.admin.v1.CreateServiceAccountKey",
);

#[derive(Debug)]
pub(super) struct AuditLog {
    is_google: bool,
    encoding: LogEncoding,
    damage: Option<Damage>,
    calls: Vec<ApiCall>,
    /// Calls in the hidden part.
    hidden: Vec<ApiCall>,
}

impl AuditLog {
    pub(super) fn new(dice: &mut Dice, is_google: bool) -> Self {
        use LogEncoding::{Events, Groups, Lines, Packed, Records};
        let form = dice.pick(&[Records, Lines, Events, Groups, Packed]);
        Self {
            is_google,
            encoding: form,
            damage: None,
            calls: Vec::new(),
            hidden: Vec::new(),
        }
    }

    /// Adds the calls of an actor: those of the finding, others that are allowed, and sometimes an unauthorised one.
    pub(super) fn add(
        &mut self,
        world: &mut Scenario,
        actor: &Actor,
        home: Option<String>,
        is_anywhere: bool,
        calls: bool,
    ) {
        let length = (world.last - world.first).num_minutes();
        let minutes = |minutes| world.first + TimeDelta::minutes(minutes);
        let around = minutes(world.dice.below(length as usize + 60) as i64 - 30);
        let mut own = ApiCall {
            at: world.last,
            who: actor.clone(),
            key: actor.key.clone(),
            ..ApiCall::default()
        };
        own = own.with_operation(
            if self.is_google {
                GET_POLICY
            } else {
                LIST_USERS
            },
            true,
        );
        for address in actor.addresses.iter().map(Some).chain([None]) {
            let told = own.with(|act| act.source = address.cloned());
            self.calls.push(told.with(|act| act.at = world.first));
            self.calls.push(told);
        }
        own = own.with(|act| (act.source, act.at) = (home, minutes(length / 2)));
        let repeats = world.dice.pick(&[0, 1, 2, 70]);
        self.calls.extend(std::iter::repeat_n(own.clone(), repeats));
        if calls && !self.is_google {
            self.calls.push(own.with_operation(PUT_OBJECT, false));
            self.calls.push(own.with_operation(ASSUME_ROLE, true));
            // The next key of a session belongs to the same actor.
            let next = Some(format!("ASIANEXT{:012}", world.actors.len()));
            if !actor.is_user && world.feed.ties(world.actors.len()) {
                self.calls.push(own.with(|act| act.key = next));
            }
        }
        self.wrong(world, &own.with(|act| act.at = around), is_anywhere);
    }

    /// Adds calls that only look unauthorised, and unauthorised ones.
    fn wrong(&mut self, world: &mut Scenario, own: &ApiCall, is_anywhere: bool) {
        let bad = own.with_operation(
            if self.is_google {
                CREATE_KEY
            } else {
                STOP_LOGGING
            },
            false,
        );
        let mallory = bad.with(|act| {
            let name = Some("mallory".to_owned());
            act.who = Actor {
                name,
                account: world.account.clone(),
                ..Actor::default()
            };
        });
        // A failed call did nothing, and calls by others do not count.
        self.calls.push(bad.with(|act| act.is_failure = true));
        self.calls.push(mallory.with(|act| act.key = None));
        let name = own.who.name.as_deref();
        if name.is_some_and(|name| !name.contains('@')) {
            let namesake = bad.with(|act| act.key = None);
            self.calls
                .push(namesake.with(|act| act.who.account = "111122223333".to_owned()));
        }
        if name.is_none() && own.key.is_none() {
            return;
        }
        if world.inject_fault("a call that no row expects") {
            self.calls.push(bad.clone());
        }
        if own.key.is_some() && world.inject_fault("a key that somebody else used") {
            self.calls.push(mallory);
        }
        let others = world
            .private
            .first()
            .cloned()
            .map(|of| (of, "an address of somebody else in the log"));
        let strange = ("203.0.113.66".to_owned(), "an address that the log shows");
        for (source, fault) in others.into_iter().chain([strange]) {
            if name.is_some() && !is_anywhere && world.inject_fault(fault) {
                self.calls.push(own.with(|act| act.source = Some(source)));
            }
        }
        if name.is_some() && world.inject_fault("a key that the log shows") {
            let key = if self.is_google {
                "0bad".repeat(10)
            } else {
                "AKIANEXT000000000001".to_owned()
            };
            self.calls.push(own.with(|act| act.key = Some(key)));
        }
        if self.damage.is_none()
            && world.inject_fault("a call in a part of the log that is not read")
        {
            self.damage = Some(Damage::pick(world, own));
            self.hidden.push(bad);
        }
    }

    /// Adds background activity and hides the part that is to be hidden.
    pub(super) fn finish(&mut self, world: &Scenario) {
        let noise = Actor {
            name: Some("noise".to_owned()),
            is_user: true,
            account: world.account.clone(),
            ..Actor::default()
        };
        let own = ApiCall {
            who: noise,
            service: "ec2.amazonaws.com",
            name: "DescribeInstances",
            is_read_only: true,
            ..ApiCall::default()
        };
        let length = world.last - world.first + TimeDelta::hours(4);
        self.calls.extend((0..=12).map(|part| {
            let at = world.first - TimeDelta::hours(2) + length / 12 * part;
            ApiCall { at, ..own.clone() }
        }));
        let (middle, gap) = (
            world.first + (world.last - world.first) / 2,
            TimeDelta::minutes(3),
        );
        match self.damage {
            Some(Damage::EndsEarly) => self.calls.retain(|act| act.at < middle - gap),
            Some(Damage::BeginsLate) => self.calls.retain(|act| act.at > middle + gap),
            Some(Damage::OfOthers) => self
                .calls
                .retain(|act| act.who.is_user && act.who.name.as_deref() == Some("noise")),
            _ => {}
        }
        self.calls.sort_by_key(|act| act.at);
    }

    /// Returns the tool that searches the log. A log that is not kept in memory is written to the folder.
    pub(super) fn tool(&self, folder: &Path) -> ToolConfig {
        let records = |acts: &[ApiCall]| -> Vec<Value> {
            acts.iter().map(|act| act.record(self.is_google)).collect()
        };
        let (shown, hidden) = (records(&self.calls), records(&self.hidden));
        let lines = |records: &[Value]| written(LogEncoding::Lines, records);
        let path = match (self.damage, self.encoding) {
            (Some(Damage::HalfLine), _) => {
                let mut half = lines(&hidden);
                half.truncate(half.len() - 40);
                text("log.jsonl".to_owned(), format!("{half}\n{}", lines(&shown)))
            }
            (Some(Damage::BrokenPack), _) => {
                let broken = packed(&lines(&hidden));
                on_disk(
                    folder,
                    &shown,
                    Some(("z.json.gz", &broken[..broken.len() / 2])),
                )
            }
            (Some(Damage::OtherKind), _) => on_disk(
                folder,
                &shown,
                Some(("z.parquet", lines(&hidden).as_bytes())),
            ),
            (_, LogEncoding::Packed) => on_disk(folder, &shown, None),
            (_, form) => text("log.json".to_owned(), written(form, &shown)),
        };
        let (name, format) = match self.is_google {
            true => ("audit".to_owned(), LogFormat::GcpAudit),
            false => ("trail".to_owned(), LogFormat::Cloudtrail),
        };
        let fields = std::collections::BTreeMap::new();
        ToolConfig::LogSearch(LogSearch {
            name,
            format,
            path,
            fields,
            max_scan_bytes: 1 << 28,
        })
    }
}

fn packed(text: &str) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

/// Writes a folder of files as trails are delivered, with one file that is not read.
fn on_disk(folder: &Path, records: &[Value], beside: Option<(&str, &[u8])>) -> ContentSource {
    let place = folder.join("log");
    _ = fs::remove_dir_all(&place);
    fs::create_dir_all(place.join("2026/11")).unwrap();
    let put =
        |name: &str, bytes: &[u8]| fs::write(place.join("2026/11").join(name), bytes).unwrap();
    let (first, second) = records.split_at(records.len() / 2);
    put("a.json.gz", &packed(&written(LogEncoding::Records, first)));
    put("b", written(LogEncoding::Lines, second).as_bytes());
    if let Some((name, bytes)) = beside {
        put(name, bytes);
    }
    ContentSource::Path(place)
}

fn written(form: LogEncoding, records: &[Value]) -> String {
    let lines =
        |line: &dyn Fn(&Value) -> String| records.iter().map(line).collect::<Vec<_>>().join("\n");
    let message = |record: &Value| json!({"id": "1", "message": record.to_string()});
    match form {
        LogEncoding::Lines => lines(&Value::to_string),
        LogEncoding::Events => lines(&|record| json!({"detail-type": "AWS API Call via CloudTrail", "detail": record}).to_string()),
        LogEncoding::Groups => json!({"messageType": "DATA_MESSAGE", "logEvents": records.iter().map(message).collect::<Vec<_>>()}).to_string(),
        LogEncoding::Records | LogEncoding::Packed => json!({"Records": records}).to_string(),
    }
}

impl ApiCall {
    /// Returns a changed copy.
    fn with(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut other = self.clone();
        change(&mut other);
        other
    }

    fn with_operation(&self, (service, name): Operation, reads: bool) -> Self {
        self.with(|act| (act.service, act.name, act.is_read_only) = (service, name, reads))
    }

    fn record(&self, is_google: bool) -> Value {
        let source = self.source.as_deref().unwrap_or("10.0.0.9");
        if is_google {
            self.google(source)
        } else {
            self.aws(source)
        }
    }

    fn aws(&self, source: &str) -> Value {
        let (name, account) = (
            self.who.name.as_deref().unwrap_or("somebody"),
            &self.who.account,
        );
        let arn = feeds::arn(&self.who);
        let mut identity = match self.who.is_user {
            true => json!({"type": "IAMUser", "userName": name, "arn": arn}),
            false => {
                json!({"type": "AssumedRole", "arn": arn, "principalId": format!("AROAEXAMPLE1:{}", feeds::session(&self.who)),
                "sessionContext": {"sessionIssuer": {"userName": name, "arn": format!("arn:aws:iam::{account}:role/{name}")}}})
            }
        };
        if let Some(key) = &self.key {
            identity["accessKeyId"] = json!(key);
        }
        json!({"eventTime": self.at, "eventName": self.name, "eventSource": self.service, "readOnly": self.is_read_only, "sourceIPAddress": source,
            "userIdentity": identity, "awsRegion": "eu-west-1", "errorCode": self.is_failure.then_some("AccessDenied")})
    }

    fn google(&self, source: &str) -> Value {
        let name = self.who.name.as_deref().unwrap_or_default();
        let mut who = json!({"principalEmail": name});
        if let Some(key) = &self.key {
            who["serviceAccountKeyName"] = json!(format!(
                "//iam.googleapis.com/projects/p/serviceAccounts/{name}/keys/{key}"
            ));
        }
        if let Some(person) = &self.who.person {
            who["serviceAccountDelegationInfo"] =
                json!([{"firstPartyPrincipal": {"principalEmail": person}}]);
        }
        let (log, right) = if self.is_read_only {
            ("data_access", "ADMIN_READ")
        } else {
            ("activity", "ADMIN_WRITE")
        };
        json!({"timestamp": self.at, "logName": format!("projects/p/logs/cloudaudit.googleapis.com%2F{log}"),
            "protoPayload": {"methodName": self.name, "serviceName": self.service, "authenticationInfo": who,
                "requestMetadata": {"callerIp": source}, "status": {"code": if self.is_failure { 7 } else { 0 }},
                "authorizationInfo": [{"permissionType": right, "granted": true}]}})
    }
}
