//! Checks the Google Cloud resources without an account: with HashiCorp's parser, and with a fake `gcloud` that
//! remembers what it created.

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use nightshift_tests::{Sandbox, repository_root};
use regex::Regex;

use super::{named, text};

#[test]
fn terraform_finds_its_files_formatted_where_it_is_installed() {
    let run = Command::new("terraform")
        .args(["fmt", "-check", "-diff", "deploy/gcp"])
        .current_dir(repository_root())
        .output();
    let Ok(run) = run else {
        println!("skipped: terraform is not installed");
        return;
    };
    assert!(run.status.success(), "{run:?}");
}

/// Checks with HashiCorp's own parser that each reference in the file is declared there.
#[test]
#[cfg_attr(not(has_hcl), ignore = "tests/services installs @cdktf/hcl2json")]
fn terraforms_language_is_read_and_refers_to_what_is_declared() {
    let read = |name: &str, text: &str| {
        let file = tempfile::Builder::new().suffix(name).tempfile().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let script = "const {parse} = require('@cdktf/hcl2json');\
             parse('scc.tf', require('fs').readFileSync(process.argv[1], 'utf8'))\
             .then((read) => console.log(JSON.stringify(read)), (error) => { console.error(`${error}`); process.exit(1) })";
        let output = Command::new("node")
            .args(["-e", script])
            .arg(file.path())
            .env(
                "NODE_PATH",
                named("NIGHTSHIFT_TEST_HCL").join("node_modules"),
            )
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() {
            Ok(serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap())
        } else {
            Err(said)
        }
    };
    let read_as_is = read(".tf", &text("deploy/gcp/scc.tf")).unwrap();
    let mut declared = BTreeSet::new();
    for (kind, prefix) in [("resource", ""), ("data", "data.")] {
        for (of, named) in read_as_is[kind].as_object().unwrap() {
            let names = named.as_object().unwrap().keys();
            declared.extend(names.map(|name| format!("{prefix}{of}.{name}")));
        }
    }
    for name in read_as_is["variable"].as_object().unwrap().keys() {
        declared.insert(format!("var.{name}"));
    }
    for block in read_as_is["locals"].as_array().unwrap() {
        let names = block.as_object().unwrap().keys();
        declared.extend(names.map(|name| format!("local.{name}")));
    }
    let reference =
        Regex::new(r"(?:data\.)?google_[a-z_]+\.[a-z_]+|\b(?:var|local)\.[a-z_]+").unwrap();
    let expression = Regex::new(r"\$\{[^}]*\}").unwrap();
    let all = read_as_is.to_string();
    let used: BTreeSet<String> = expression
        .find_iter(&all)
        .flat_map(|one| reference.find_iter(one.as_str()))
        .map(|one| one.as_str().to_owned())
        .collect();
    assert!(used.len() > 8, "{used:?}");
    let strange: Vec<_> = used.difference(&declared).collect();
    assert!(strange.is_empty(), "not declared: {strange:?}");
    let refused = read(".tf", "resource \"a\" \"b\" {\n  x =\n}\n").unwrap_err();
    assert!(refused.contains("Invalid expression"), "{refused}");
}

#[test]
fn the_script_for_google_cloud_makes_what_terraform_makes() {
    let endpoint = "https://nightshift.example.com/v1/alerts/pubsub";
    let ran = Command::new("bash")
        .arg(repository_root().join("deploy/gcp/scc.sh"))
        .args(["123456789012", "security-tools", endpoint])
        .env("DRY_RUN", "1")
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let said = String::from_utf8(ran.stdout).unwrap();
    for what in [
        "topics create nightshift-scc ",
        "topics create nightshift-scc-dead-letters ",
        "subscriptions create nightshift-scc ",
        "--max-delivery-attempts 100 ",
        &format!("--push-auth-token-audience {endpoint}"),
        "scc notifications create nightshift ",
        "--role roles/pubsub.publisher",
        "--role roles/pubsub.subscriber",
    ] {
        assert!(said.contains(what), "{what}: {said}");
    }
    let refused = Command::new("bash")
        .arg(repository_root().join("deploy/gcp/scc.sh"))
        .args(["organizations/1", "p"])
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
}

/// Returns the output of a dry run of the Google Cloud script with these arguments after organisation and project.
fn scc(arguments: &[&str], puller: &str) -> String {
    let ran = Command::new("bash")
        .arg(repository_root().join("deploy/gcp/scc.sh"))
        .args(["123456789012", "security-tools"])
        .args(arguments)
        .env("DRY_RUN", "1")
        .env("PULLER", puller)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn google_cloud_script_allows_pull_or_names_the_push_sender() {
    let may_pull = |said: &str, member: &str| {
        let binding = format!("--member {member} --role roles/pubsub.subscriber");
        let of = "subscriptions add-iam-policy-binding nightshift-scc ";
        said.lines()
            .any(|line| line.contains(of) && line.contains(&binding))
    };
    let agent = "serviceAccount:service-UNKNOWN@gcp-sa-pubsub.iam.gserviceaccount.com";
    let puller = "serviceAccount:nightshift@security-tools.iam.gserviceaccount.com";
    let pulled = scc(&[], puller);
    assert!(may_pull(&pulled, agent), "{pulled}");
    assert!(may_pull(&pulled, puller), "{pulled}");
    assert!(!pulled.contains("pushed as"), "{pulled}");
    let by_nobody = scc(&[], "");
    assert!(
        by_nobody.contains("nobody was named who may pull"),
        "{by_nobody}"
    );
    let pushed = scc(&["https://nightshift.example.com/v1/alerts/pubsub"], "");
    assert!(
        pushed.contains("pushed as nightshift-push@security-tools.iam.gserviceaccount.com:"),
        "{pushed}"
    );
    assert!(!pushed.contains("nobody was named"), "{pushed}");
}

#[test]
fn pull_subscription_has_the_settings_the_doctor_demands() {
    let puller = "serviceAccount:nightshift@security-tools.iam.gserviceaccount.com";
    let said = scc(&[], puller);
    let made = |what: &str| said.lines().find(|line| line.contains(what)).unwrap();
    for option in [
        "--message-retention-duration 7d ",
        "--expiration-period never ",
        "--dead-letter-topic nightshift-scc-dead-letters ",
    ] {
        let made = made("subscriptions create nightshift-scc ");
        assert!(made.contains(option), "{option}: {made}");
    }
    assert!(made("roles/pubsub.viewer").contains(puller), "{said}");
    assert!(!scc(&[], "").contains("pubsub.viewer"));
    let terraform = text("deploy/gcp/scc.tf");
    let block = |of: &str| {
        let (_, block) = terraform
            .split_once(&format!("resource {of} {{\n"))
            .unwrap();
        block.split_once("\n}\n").unwrap().0
    };
    for (of, what) in [
        (
            "\"google_pubsub_subscription\" \"findings\"",
            "message_retention_duration = \"604800s\"",
        ),
        (
            "\"google_pubsub_subscription\" \"findings\"",
            "expiration_policy {\n    ttl = \"\"",
        ),
        (
            "\"google_pubsub_subscription\" \"findings\"",
            "dead_letter_topic     = google_pubsub_topic.dead_letters.id",
        ),
        (
            "\"google_pubsub_subscription_iam_member\" \"puller_looks\"",
            "\"roles/pubsub.viewer\"",
        ),
    ] {
        assert!(block(of).contains(what), "{what}");
    }
}

/// Returns the retry policy of the subscription in a file: minimum and maximum delay in seconds, and attempts.
fn tries(file: &str, patterns: [&str; 3]) -> [u64; 3] {
    let file = text(file);
    patterns.map(|pattern| {
        let found = Regex::new(pattern).unwrap().captures(&file).unwrap();
        found[1].parse().unwrap()
    })
}

#[test]
fn pubsub_pushes_for_maximum_time_and_docs_name_it() {
    let terraform = [
        r#"minimum_backoff = "(\d+)s""#,
        r#"maximum_backoff = "(\d+)s""#,
        r"max_delivery_attempts = (\d+)",
    ];
    let script = [
        r"--min-retry-delay (\d+)s ",
        r"--max-retry-delay (\d+)s ",
        r"--max-delivery-attempts (\d+) ",
    ];
    let made = tries("deploy/gcp/scc.tf", terraform);
    assert_eq!(made, tries("deploy/gcp/scc.sh", script));
    let [least, most, attempts] = made;
    // Pub/Sub refuses higher values.
    assert_eq!([most, attempts], [600, 100]);
    let waits = std::iter::successors(Some(least), |wait| Some((wait * 2).min(most)));
    let between = usize::try_from(attempts).unwrap() - 1;
    let secs: u64 = waits.take(between).sum();
    let told = text("docs/http.md");
    for what in [
        format!("{},{:03} seconds", secs / 1000, secs % 1000),
        format!("{} hours", secs / 3600),
        "`subscription/num_undelivered_messages`".to_owned(),
        "modify-push-config nightshift-scc-dead-letters".to_owned(),
    ] {
        assert!(told.contains(&what), "{what}");
    }
}

fn filter(file: &str, pattern: &str) -> String {
    let file = text(file);
    let found = Regex::new(pattern).unwrap().captures(&file).unwrap();
    found[1].replace('\\', "")
}

#[test]
fn findings_are_sent_in_any_state_as_changes_update_their_case() {
    let script = filter("deploy/gcp/scc.sh", "(?m)^readonly FILTER='(.*)'$");
    let terraform = filter(
        "deploy/gcp/scc.tf",
        r#"(?m)^  default     = "(finding.*)"$"#,
    );
    assert_eq!(script, terraform);
    let classes = r#"finding_class = "THREAT" OR finding_class = "TOXIC_COMBINATION""#;
    assert_eq!(script, classes);
    let told = text("docs/admission.md");
    let noted = "| is a check that passed, is archived, inactive, resolved or suppressed at the feed, or of a class that is set aside;";
    assert!(told.contains(noted), "{told}");
}

#[test]
fn pubsub_may_sign_as_the_account_that_it_pushes_as() {
    let terraform = text("deploy/gcp/scc.tf");
    let (_, binding) = terraform
        .split_once("resource \"google_service_account_iam_member\" ")
        .unwrap();
    let (binding, _) = binding.split_once("\n}\n").unwrap();
    for what in [
        "local.pushes ? 1 : 0",
        "google_service_account.push[0].name",
        "\"roles/iam.serviceAccountTokenCreator\"",
        "local.pubsub",
    ] {
        assert!(binding.contains(what), "{what}: {binding}");
    }
    let said = scc(&["https://nightshift.example.com/v1/alerts/pubsub"], "");
    let bound = "iam service-accounts add-iam-policy-binding nightshift-push@security-tools.iam.gserviceaccount.com \
        --project security-tools --member serviceAccount:service-UNKNOWN@gcp-sa-pubsub.iam.gserviceaccount.com \
        --role roles/iam.serviceAccountTokenCreator ";
    assert!(said.contains(bound), "{said}");
    let pulled = scc(&[], "");
    assert!(!pulled.contains("TokenCreator"), "{pulled}");
}

/// A `gcloud` with one file per created resource. The file of a subscription holds its push endpoint. It records
/// changes, refuses to create what exists, and refuses to change what does not.
const GCLOUD: &str = r#"#!/usr/bin/env bash
set -euo pipefail
cd "$(dirname "$0")"
[[ $1 == projects ]] && echo 4711 && exit
said=$* thing=$2.${4%@*} verb=$3 endpoint='' format=''
while [[ $# -gt 1 ]]; do
    [[ $1 != --push-endpoint ]] || endpoint=$2
    [[ $1 != --format ]] || format=$2
    shift
done
[[ $verb == create || -e $thing ]]
case $verb in
    describe)
        case $format in
            *pushEndpoint*) cat "$thing" ;;
            *serviceAccount*) echo scc@example.iam.gserviceaccount.com ;;
        esac
        exit
        ;;
    create) set -o noclobber && printf %s "$endpoint" >"$thing" ;;
    modify-push-config) printf %s "$endpoint" >"$thing" ;;
    add-iam-policy-binding) ;;
    *) exit 2 ;;
esac
set +o noclobber
echo "$said" >>changes
"#;

/// Runs the script with the fake `gcloud` and returns the output and the recorded changes.
fn made(place: &Sandbox, arguments: &[&str], puller: &str) -> (String, String) {
    let gcloud = place.write_file("gcloud", GCLOUD).unwrap();
    std::fs::set_permissions(&gcloud, Permissions::from_mode(0o755)).unwrap();
    let changes = place.write_file("changes", "").unwrap();
    let ran = Command::new("bash")
        .arg(repository_root().join("deploy/gcp/scc.sh"))
        .args(["123456789012", "security-tools"])
        .args(arguments)
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", place.path().display()))
        .env("PULLER", puller)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let said = String::from_utf8(ran.stdout).unwrap();
    (said, std::fs::read_to_string(changes).unwrap())
}

#[test]
fn existing_subscription_pushes_to_the_given_address() {
    let place = Sandbox::new().unwrap();
    let pushes_to = || std::fs::read_to_string(place.path().join("subscriptions.nightshift-scc"));
    let (said, changes) = made(&place, &[], "serviceAccount:nightshift@x");
    assert!(!said.contains("push"), "{said}");
    assert!(changes.contains("subscriptions create nightshift-scc "));
    assert_eq!(pushes_to().unwrap(), "");
    let account = "nightshift-push@security-tools.iam.gserviceaccount.com";
    // The third run changes nothing.
    for host in ["night", "other", "other"] {
        let endpoint = format!("https://{host}.example.com/v1/alerts/pubsub");
        let (said, changes) = made(&place, &[&endpoint], "");
        let config = format!(
            "pubsub subscriptions modify-push-config nightshift-scc --project security-tools --push-endpoint {endpoint} \
             --push-auth-service-account {account} --push-auth-token-audience {endpoint}\n"
        );
        assert!(changes.contains(&config), "{changes}");
        assert!(!changes.contains("subscriptions create "), "{changes}");
        assert!(said.contains(&format!("pushed as {account}: ")), "{said}");
        assert_eq!(pushes_to().unwrap(), endpoint);
    }
    // Alerts arrive by push. A run without an endpoint must not remove the push.
    let (said, changes) = made(&place, &[], "");
    let kept = "https://other.example.com/v1/alerts/pubsub";
    assert_eq!(pushes_to().unwrap(), kept);
    assert!(!changes.contains("modify-push-config"), "{changes}");
    for what in [
        &format!("it pushes to {kept}, as before"),
        "gcloud pubsub subscriptions modify-push-config nightshift-scc --project security-tools --push-endpoint ''\n",
    ] {
        assert!(said.contains(what), "{what}: {said}");
    }
}
