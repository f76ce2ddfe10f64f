//! Tests situations that once got a wrong benign verdict, and honest ones that must clear: `nightshift run` in a
//! folder with registers and a log. Each test is named after its kind in `docs/guarantees.md`.

use nightshift_tests::Sandbox;
use serde_json::{Value, json};

const ACCOUNT: &str = "444455556666";
const KEY: &str = "ASIAEXAMPLE00000001";
const OURS: &str = "198.51.100.23";
const STRANGER: &str = "203.0.113.66";
/// The register row of the role that calls in most tests, with its networks.
const ROLE: &str = "subject,account,networks,expected_findings,approved_by,valid_from,valid_until\n\
    ci-inventory,444455556666,198.51.100.0/24,Discovery:*; Suspicious*,grace,2026-01-01,2026-12-31\n";

/// A folder with registers, lists and logs.
struct VerdictFixture {
    place: Sandbox,
    tools: String,
}

impl VerdictFixture {
    /// Creates a folder with these registers: kind and rows.
    fn with_registers(registers: &[(&str, &str)]) -> Self {
        let mut world = Self {
            place: Sandbox::new().unwrap(),
            tools: String::new(),
        };
        for (kind, rows) in registers {
            world.write(&format!("{kind}.csv"), rows.as_bytes());
            let tool =
                format!("[[tool]]\nname = \"{kind}\"\nkind = \"{kind}\"\npath = \"{kind}.csv\"\n");
            world.tools.push_str(&tool);
        }
        world
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.place.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    /// Adds a trail at this path; `write` fills it.
    fn with_trail(mut self, path: &str) -> Self {
        let tool = format!(
            "[[tool]]\nname = \"trail\"\nkind = \"log_search\"\nformat = \"cloudtrail\"\npath = \"{path}\"\n"
        );
        self.tools.push_str(&tool);
        self
    }

    fn with_trail_records(self, records: &[Value]) -> Self {
        let world = self.with_trail("trail.jsonl");
        world.write("trail.jsonl", lines(records).as_bytes());
        world
    }

    /// Returns the report; panics when there is not exactly one.
    fn report(&self, alert: &Value) -> Value {
        let reports = self.reports(alert);
        assert_eq!(reports.len(), 1, "{reports:?}");
        reports.into_iter().next().unwrap()
    }

    fn reports(&self, alert: &Value) -> Vec<Value> {
        self.write("nightshift.toml", self.tools.as_bytes());
        let ran = self
            .place
            .run_with_input(
                &["run", "-", "--format", "json", "--quiet"],
                alert.to_string().as_bytes(),
            )
            .unwrap();
        let lines = ran.stdout.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Returns the uncovered rows of the ledger when the verdict is not benign, else `None`.
    fn missing(&self, alert: &Value) -> Option<Vec<String>> {
        let report = self.report(alert);
        let verdict = report["verdict"].as_str().unwrap();
        let is_benign = verdict.starts_with("benign") || verdict == "false_positive";
        let rows = report["ledger"].as_array().unwrap().iter();
        let missing = rows.filter(|row| !row["missing"].is_null());
        let named = |row: &Value| {
            let text = |key: &str| row[key].as_str().unwrap().to_owned();
            format!("{} {}", text("subject_type"), text("subject"))
        };
        let missing: Vec<String> = missing.map(named).collect();
        assert!(!is_benign || missing.is_empty(), "{report}");
        (!is_benign).then_some(missing)
    }

    fn is_cleared(&self, alert: &Value) -> bool {
        self.missing(alert).is_none()
    }
}

fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

/// Returns a call of the role in the trail.
fn call(at: &str, name: &str, key: &str, source: &str) -> Value {
    let reads = name.starts_with("List");
    json!({"eventTime": format!("2026-11-25T{at}Z"), "eventName": name, "eventSource": "iam.amazonaws.com",
        "readOnly": reads, "sourceIPAddress": source, "awsRegion": "eu-west-1", "recipientAccountId": ACCOUNT,
        "userIdentity": {"type": "AssumedRole", "accessKeyId": key,
            "arn": "arn:aws:sts::444455556666:assumed-role/ci-inventory/run-1",
            "sessionContext": {"sessionIssuer": {"userName": "ci-inventory"}}}})
}

/// Returns harmless calls before the alert, at its time and after it.
fn quiet_trail() -> Vec<Value> {
    ["09:00:00", "10:05:00", "11:30:00"]
        .iter()
        .map(|at| call(at, "ListUsers", KEY, OURS))
        .collect()
}

/// Returns an alert about a role that lists users from 10:00 to 10:20.
fn discovery() -> Value {
    json!({"type": "Discovery:IAMUser/AnomalousBehavior", "id": "f1", "accountId": ACCOUNT, "region": "eu-west-1",
        "severity": 5, "createdAt": "2026-11-25T10:00:00Z", "updatedAt": "2026-11-25T10:30:00Z", "title": "t", "description": "d",
        "resource": {"resourceType": "AccessKey", "accessKeyDetails": {"accessKeyId": KEY, "principalId": "AROAEXAMPLE1:run-1",
            "userName": "ci-inventory", "userType": "AssumedRole"}},
        "service": {"serviceName": "guardduty", "detectorId": "12abc", "eventFirstSeen": "2026-11-25T10:00:00Z",
            "eventLastSeen": "2026-11-25T10:20:00Z", "count": 3,
            "action": {"actionType": "AWS_API_CALL", "awsApiCallAction": {"api": "ListUsers", "serviceName": "iam.amazonaws.com",
                "callerType": "Remote IP", "remoteIpDetails": {"ipAddressV4": OURS}}}}})
}

/// Returns an OCSF finding of another product.
fn ocsf(evidences: Value) -> Value {
    json!({"class_uid": 2004, "severity_id": 4, "time": 1_795_600_800_000_u64,
        "metadata": {"product": {"name": "E", "vendor_name": "A"}},
        "finding_info": {"uid": "o1", "title": "t", "analytic": {"name": "Suspicious IAM"}},
        "cloud": {"provider": "AWS", "account": {"uid": ACCOUNT}}, "evidences": evidences})
}

fn user(name: &str) -> Value {
    json!({"actor": {"user": {"name": name}}})
}

#[test]
fn honest_role_with_a_quiet_trail_is_cleared() {
    let world = VerdictFixture::with_registers(&[("identity_lookup", ROLE)])
        .with_trail_records(&quiet_trail());
    assert_eq!(world.missing(&discovery()), None);
    let nobody = VerdictFixture::with_registers(&[("identity_lookup", ROLE)]);
    assert!(nobody.is_cleared(&discovery()), "a site without a trail");
}

#[test]
fn x01_record_of_one_actor_covers_no_other() {
    let with_key = ROLE
        .replace("networks", "keys")
        .replace("198.51.100.0/24", "AKIACI00000000000001");
    let world = VerdictFixture::with_registers(&[("identity_lookup", &with_key)]);
    let known = json!({"actor": {"user": {"name": "ci-inventory", "credential_uid": "AKIACI00000000000001"}}});
    assert!(world.is_cleared(&ocsf(json!([known]))));
    let missing = world.missing(&ocsf(json!([known, user("mallory")])));
    assert_eq!(missing.unwrap(), ["principal mallory"]);
    let scanner = "id,subject,approved_by,valid_from,valid_until,expected_findings\n\
        PT-7,198.51.100.23,ciso,2026-11-01,2026-12-31,Discovery:*\n";
    let world = VerdictFixture::with_registers(&[("authorised_scanners", scanner)]);
    assert!(!world.is_cleared(&discovery()));
}

#[test]
fn x02_actor_by_mail_address_is_somebody() {
    let world = VerdictFixture::with_registers(&[("identity_lookup", ROLE)]);
    let by_mail = json!({"actor": {"user": {"email_addr": "mallory@evil.example"}}});
    assert!(!world.is_cleared(&ocsf(json!([user("ci-inventory"), by_mail]))));
    let mut zoned = discovery();
    zoned["service"]["action"]["awsApiCallAction"]["remoteIpDetails"]["ipAddressV4"] =
        json!({"address": STRANGER});
    assert!(!world.is_cleared(&zoned));
}

#[test]
fn x03_row_of_another_account_covers_nothing() {
    let scanner = "id,subject,account,approved_by,valid_until,expected_findings\n\
        PT-7,ci-inventory,111122223333,ciso,2026-12-31,Discovery:*\n";
    let world = VerdictFixture::with_registers(&[("authorised_scanners", scanner)]);
    assert!(!world.is_cleared(&discovery()));
    for account in ["111122223333", ""] {
        let row = ROLE.replace(ACCOUNT, account);
        assert!(
            !VerdictFixture::with_registers(&[("identity_lookup", &row)]).is_cleared(&discovery()),
            "{account}"
        );
    }
}

#[test]
fn x04_container_is_not_the_instance_of_its_name() {
    let assets = "id,type,account,processes,expected_findings,approved_by,valid_until\n\
        i-0a1b2c3d4e5f60718,instance,444455556666,any,Execution:Runtime/*,ciso,2026-12-31\n";
    let alert = json!({"type": "Execution:Runtime/NewBinaryExecuted", "id": "b18", "accountId": ACCOUNT, "severity": 8,
        "createdAt": "2026-11-25T10:00:00Z",
        "resource": {"resourceType": "ECSCluster", "ecsClusterDetails": {"name": "prod", "taskDetails": {"containers":
            [{"name": "i-0a1b2c3d4e5f60718", "image": "evil:1"}]}}},
        "service": {"detectorId": "1", "runtimeDetails": {"process": {"name": "xmrig"}}}});
    assert!(!VerdictFixture::with_registers(&[("asset_lookup", assets)]).is_cleared(&alert));
}

#[test]
fn x05_title_chooses_no_lesser_look() {
    let assets = "id,account,expected_findings,approved_by,valid_until\n\
        i-0a1b2c3d4e5f60718,444455556666,Suspicious*,ciso,2026-12-31\n";
    let mallory = |at: &str, name: &str| {
        json!({"eventTime": format!("2026-11-25T{at}Z"), "eventName": name, "eventSource": "iam.amazonaws.com",
            "readOnly": name.starts_with("List"), "sourceIPAddress": STRANGER,
            "userIdentity": {"type": "IAMUser", "userName": "mallory", "accessKeyId": "AKIAX000000000000001"}})
    };
    let trail = [
        mallory("09:00:00", "ListUsers"),
        mallory("10:12:00", "StopLogging"),
        mallory("11:30:00", "ListUsers"),
    ];
    let world =
        VerdictFixture::with_registers(&[("asset_lookup", assets)]).with_trail_records(&trail);
    for title in [
        "report.xls",
        "port scan.xls",
        "malware.xls",
        "brute force.xls",
    ] {
        let alert = json!({"class_uid": 2004, "severity_id": 4, "time": 1_795_600_800_000_u64,
            "metadata": {"product": {"name": "E", "vendor_name": "A"}},
            "finding_info": {"uid": title, "title": format!("Suspicious download of {title}"), "analytic": {"name": "Suspicious download"}},
            "cloud": {"provider": "AWS", "account": {"uid": ACCOUNT}},
            "resources": [{"type": "AWS::EC2::Instance", "uid": "i-0a1b2c3d4e5f60718"}],
            "evidences": [{"actor": {"user": {"name": "mallory", "credential_uid": "AKIAX000000000000001"}}, "src_endpoint": {"ip": STRANGER}}]});
        assert!(!world.is_cleared(&alert), "{title}");
    }
}

#[test]
fn x06_deed_that_only_a_search_by_principal_shows_is_found() {
    let mut trail = quiet_trail();
    trail.push(call(
        "10:10:00",
        "StopLogging",
        "ASIAOTHER00000000001",
        STRANGER,
    ));
    let world =
        VerdictFixture::with_registers(&[("identity_lookup", ROLE)]).with_trail_records(&trail);
    let missing = world.missing(&ocsf(json!([user("ci-inventory")]))).unwrap();
    assert!(missing.contains(&format!("ip {STRANGER}")), "{missing:?}");
    assert!(
        missing.contains(&"call iam:StopLogging".to_owned()),
        "{missing:?}"
    );
    assert!(!world.is_cleared(&discovery()));
}

#[test]
fn x07_addresses_beyond_the_calls_of_a_step_are_subjects() {
    let row = ROLE.replace("198.51.100.0/24", "any");
    let world = VerdictFixture::with_registers(&[("identity_lookup", &row)]);
    let from = |last: u32| json!({"actor": {"user": {"name": "ci-inventory"}}, "src_endpoint": {"ip": format!("203.0.113.{last}")}});
    let many: Vec<Value> = (1..=29).map(from).collect();
    assert!(world.is_cleared(&ocsf(json!(many))), "the keeper wrote any");
    let some = ROLE.replace("198.51.100.0/24", "203.0.113.0/28");
    let missing =
        VerdictFixture::with_registers(&[("identity_lookup", &some)]).missing(&ocsf(json!(many)));
    assert_eq!(missing.unwrap().len(), 14);
    let empty = VerdictFixture::with_registers(&[
        ("identity_lookup", ROLE),
        ("change_lookup", "id,subject,from,until\n"),
    ]);
    assert!(!empty.is_cleared(&discovery()), "a register without a row");
}

#[test]
fn x08_caller_behind_thousands_of_objects_is_read() {
    let objects: Vec<Value> = (0..2_200)
        .map(|number| json!({"objectArn": format!("arn:aws:s3:::b/{number}"), "key": format!("{number}")}))
        .collect();
    let mut alert = discovery();
    alert["resource"]["s3BucketDetails"] =
        json!([{"name": "b", "arn": "arn:aws:s3:::b", "s3ObjectDetails": objects}]);
    alert["service"]["action"]["awsApiCallAction"]["remoteIpDetails"]["ipAddressV4"] =
        json!(STRANGER);
    let world = VerdictFixture::with_registers(&[("identity_lookup", ROLE)]);
    assert!(!world.is_cleared(&alert));
}

#[test]
fn x09_log_that_was_not_read_whole_clears_nobody() {
    let world = VerdictFixture::with_registers(&[("identity_lookup", ROLE)]).with_trail("ct");
    world.write(
        "ct/a.json",
        json!({"Records": quiet_trail()}).to_string().as_bytes(),
    );
    assert!(world.is_cleared(&discovery()));
    world.write("ct/b.json.lz4", b"\x04\x22\x4d\x18rest");
    assert!(!world.is_cleared(&discovery()));
    let without_its_call: Vec<Value> = ["02:00:00", "20:00:00"]
        .iter()
        .map(|at| call(at, "ListUsers", KEY, OURS))
        .collect();
    let world = VerdictFixture::with_registers(&[("identity_lookup", ROLE)])
        .with_trail_records(&without_its_call);
    assert!(!world.is_cleared(&discovery()));
}

#[test]
fn x09_gzip_as_cloudtrail_delivers_it_is_read() {
    use std::io::Write as _;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed
        .write_all(json!({"Records": quiet_trail()}).to_string().as_bytes())
        .unwrap();
    let world = VerdictFixture::with_registers(&[("identity_lookup", ROLE)]).with_trail("ct");
    world.write("ct/2026/11/25/a.json.gz", &packed.finish().unwrap());
    assert!(world.is_cleared(&discovery()));
}

#[test]
fn x11_key_used_from_the_far_end_of_the_alert_is_not_covered() {
    let mut trail = quiet_trail();
    trail.push(call("10:15:00", "ListUsers", KEY, STRANGER));
    let world =
        VerdictFixture::with_registers(&[("identity_lookup", ROLE)]).with_trail_records(&trail);
    assert_eq!(
        world.missing(&discovery()).unwrap(),
        [format!("ip {STRANGER}")]
    );
}

#[test]
fn x12_own_guessing_machine_is_not_cleared_by_its_victim() {
    let scanner = "id,subject,approved_by,valid_from,valid_until,expected_findings\n\
        PT-7,203.0.113.42,ciso,2026-11-01,2026-12-31,*SSHBruteForce\n";
    let world = VerdictFixture::with_registers(&[("authorised_scanners", scanner)]);
    let native = json!({"type": "UnauthorizedAccess:EC2/SSHBruteForce", "id": "k15", "accountId": ACCOUNT, "region": "eu-west-1",
        "severity": 8, "createdAt": "2026-11-25T10:00:00Z",
        "resource": {"resourceType": "Instance", "instanceDetails": {"instanceId": "i-0a1b2c3d4e5f60718"}},
        "service": {"detectorId": "1", "resourceRole": "ACTOR", "action": {"actionType": "NETWORK_CONNECTION",
            "networkConnectionAction": {"connectionDirection": "UNKNOWN", "remoteIpDetails": {"ipAddressV4": "203.0.113.42"}}}}});
    let wrapped = json!({"SchemaVersion": "2018-10-08", "Id": "arn:aws:guardduty:eu-west-1:444455556666:detector/1/finding/k28",
        "ProductArn": "arn:aws:securityhub:eu-west-1::product/aws/guardduty", "GeneratorId": "arn:aws:guardduty:eu-west-1:444455556666:detector/1",
        "AwsAccountId": ACCOUNT, "Region": "eu-west-1", "Types": ["TTPs/UnauthorizedAccess:EC2-SSHBruteForce"],
        "CreatedAt": "2026-11-25T10:00:00Z", "UpdatedAt": "2026-11-25T10:00:00Z", "Severity": {"Label": "HIGH"}, "Title": "t", "Description": "d",
        "Resources": [{"Type": "AwsEc2Instance", "Id": "arn:aws:ec2:eu-west-1:444455556666:instance/i-0a1b2c3d4e5f60718"}],
        "ProductFields": {"aws/guardduty/service/resourceRole": "ACTOR",
            "aws/guardduty/service/action/networkConnectionAction/connectionDirection": "UNKNOWN",
            "aws/guardduty/service/action/networkConnectionAction/remoteIpDetails/ipAddressV4": "203.0.113.42"}});
    for alert in [native, wrapped] {
        let missing = world.missing(&alert).unwrap();
        assert!(
            missing.iter().any(|one| one.starts_with("instance ")),
            "{missing:?}"
        );
    }
}

#[test]
fn x13_who_impersonates_a_service_account_is_an_actor() {
    let identities = "principal,account,networks,expected_findings,approved_by,valid_until\n\
        deploy@proj-alpha-1.iam.gserviceaccount.com,proj-alpha-1,any,Privilege Escalation*,grace,2026-12-31\n";
    let alert = json!({"finding": {"name": "organizations/1/sources/2/findings/d1",
        "resourceName": "//cloudresourcemanager.googleapis.com/projects/proj-alpha-1", "state": "ACTIVE",
        "category": "Privilege Escalation: Anomalous Impersonation of Service Account for Admin Activity", "severity": "MEDIUM",
        "findingClass": "THREAT", "eventTime": "2026-11-25T10:00:00Z",
        "access": {"principalEmail": "deploy@proj-alpha-1.iam.gserviceaccount.com", "callerIp": STRANGER,
            "serviceAccountDelegationInfo": [{"principalEmail": "mallory@evil.example"}]}}});
    let missing = VerdictFixture::with_registers(&[("identity_lookup", identities)])
        .missing(&alert)
        .unwrap();
    assert!(
        missing
            .iter()
            .any(|one| one.ends_with("mallory@evil.example")),
        "{missing:?}"
    );
}

#[test]
fn x14_finding_that_holds_a_list_of_findings_is_a_case() {
    let mut odd = discovery();
    odd["findings"] = json!([]);
    let world = VerdictFixture::with_registers(&[]);
    assert_eq!(
        world.report(&odd)["alert"]["type"],
        "Discovery:IAMUser/AnomalousBehavior"
    );
    let mut second = discovery();
    second["id"] = json!("f2");
    let list = json!({"findings": [odd, second]});
    assert_eq!(world.reports(&list).len(), 2);
}

#[test]
fn explain_names_the_row_that_covers_or_comes_nearest() {
    let explained = |row: &str| {
        let world = VerdictFixture::with_registers(&[("identity_lookup", row)]);
        world.write("nightshift.toml", world.tools.as_bytes());
        let alert = discovery().to_string();
        let arguments = ["registers", "explain", "-"];
        let ran = world
            .place
            .run_with_input(&arguments, alert.as_bytes())
            .unwrap();
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.stdout
    };
    insta::assert_snapshot!(explained(ROLE), @"
     Type        Subject              Covered by
     ip          198.51.100[.]23      identity ci-inventory, until 2026-12-31 23:59 UTC
     principal   ci-inventory         identity ci-inventory, until 2026-12-31 23:59 UTC
     access_key  ASIAEXAMPLE00000001  identity ci-inventory, until 2026-12-31 23:59 UTC
    All of it is covered; triage also asks the audit logs.
    ");
    insta::assert_snapshot!(explained(&ROLE.replace(ACCOUNT, "111122223333")), @"
     Type        Subject              Covered by
     ip          198.51.100[.]23      nothing. It is covered with ci-inventory, which is not covered itself
     principal   ci-inventory         nothing. identity ci-inventory, about ci-inventory: it holds in account 111122223333, and this is of account 444455556666
     access_key  ASIAEXAMPLE00000001  nothing. It is covered with ci-inventory, which is not covered itself
    Not all of it is covered: no verdict is benign.
    ");
}

#[test]
fn explain_tells_when_an_alert_needs_too_many_lookups() {
    let mut world = VerdictFixture::with_registers(&[("identity_lookup", ROLE)]);
    for number in 0..128 {
        let tool = format!(
            "[[tool]]\nname = \"identities_{number}\"\nkind = \"identity_lookup\"\npath = \"identity_lookup.csv\"\n"
        );
        world.tools.push_str(&tool);
    }
    world.write("nightshift.toml", world.tools.as_bytes());
    let alert = discovery().to_string();
    let ran = world
        .place
        .run_with_input(&["registers", "explain", "-"], alert.as_bytes())
        .unwrap();
    let last = ran.stdout.lines().last();
    let limit =
        "The alert needs more than the 256 look-ups that a case makes: no verdict is benign.";
    assert_eq!(last.map(str::trim), Some(limit), "{ran:?}");
}

#[test]
fn x17_slip_of_the_keeper_clears_nobody() {
    for (from, to) in [
        ("2026-01-01", "26-11-28"),
        (",grace,", ",pending,"),
        (",grace,", ",-,"),
        ("198.51.100.0/24", "0.0.0.0/0"),
    ] {
        let row = ROLE.replace(from, to);
        assert_ne!(row, ROLE);
        let world = VerdictFixture::with_registers(&[("identity_lookup", &row)]);
        assert!(!world.is_cleared(&discovery()), "{to}");
    }
    let both = format!(
        "{}{}",
        ROLE.replace("valid_until\n", "valid_until,status\n")
            .replace("12-31\n", "12-31,active\n"),
        "ci-inventory,444455556666,198.51.100.0/24,Discovery:*,grace,2026-01-01,2026-12-31,terminated\n"
    );
    assert!(
        !VerdictFixture::with_registers(&[("identity_lookup", &both)]).is_cleared(&discovery()),
        "terminated"
    );
}
