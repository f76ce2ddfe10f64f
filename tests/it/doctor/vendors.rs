//! Tests findings about vendors that accept reports, that refuse access, and whose clock differs from that of this
//! machine.

use nightshift_tests::Sandbox;
use serde_json::{Value, json};

use super::fake_vendors::FakeVendors;
use super::{failed_checks, run_doctor};

/// Returns every kind of network destination, pointed at this fake.
pub(super) fn destinations(url: &str) -> String {
    [
        format!("name = \"soc\"\nkind = \"slack\"\nchannel = \"C0123ABCD\"\ntoken = \"env:TOKEN\"\napi_url = \"{url}/slack\"\n\
            signing_secret = \"env:TOKEN\"\nanalysts = [\"U1\"]"),
        format!("name = \"tickets\"\nkind = \"jira\"\nurl = \"{url}/jira\"\nemail = \"maria@example.com\"\ntoken = \"env:TOKEN\"\n\
            project = \"SEC\"\ndone_transition = \"Done\""),
        format!("name = \"desk\"\nkind = \"servicenow\"\nurl = \"{url}/snow\"\nuser = \"maria@example.com\"\nsecret = \"env:TOKEN\""),
        format!("name = \"pager\"\nkind = \"pagerduty\"\nurl = \"{url}/pager\"\nrouting_key = \"env:ROUTING_KEY\""),
        format!("name = \"issues\"\nkind = \"github\"\nurl = \"{url}/github\"\nrepo = \"acme/soc\"\ntoken = \"env:TOKEN\""),
        format!("name = \"soar\"\nkind = \"webhook\"\nurl = \"{url}/hook\"\nsecret = \"env:WEBHOOK\""),
    ]
    .map(|one| format!("[[destination]]\n{one}\n"))
    .concat()
}

/// The public address of the pages, which links and buttons need.
pub(super) const WEB: &str =
    "[web]\nlisten = \"127.0.0.1:0\"\npublic_url = \"https://nightshift.example.com\"\n";

/// Returns a place with the secrets of all destinations.
pub(super) fn place() -> Sandbox {
    let mut place = Sandbox::new().unwrap();
    place.set_env("TOKEN", "hush");
    place.set_env("ROUTING_KEY", &"k".repeat(32));
    place.set_env(
        "WEBHOOK",
        "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
    );
    place
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn vendors_in_good_order_have_no_finding_and_nothing_is_changed() {
    let world = FakeVendors::start().await;
    let said = run_doctor(
        &place(),
        &format!("{WEB}{}", destinations(&world.url)),
        "destinations,clock",
    );
    assert_eq!(
        said.failed_checks(),
        Vec::<&str>::new(),
        "{:#}",
        said.object
    );
    assert_eq!(said.code, Some(0));
    let asked = world.requests();
    assert!(
        asked
            .iter()
            .all(|one| one.starts_with("GET ") || one.starts_with("HEAD ")),
        "{asked:?}"
    );
    let issues = "GET /github/repos/acme/soc/issues?per_page=1".to_owned();
    assert!(asked.contains(&issues), "{asked:?}");
    assert!(!said.object.to_string().contains("hush"));
}

/// An expected check, and the answer that triggers it: path, status, body.
type VendorRefusal = (&'static str, &'static str, u16, Value);

/// Returns answers of vendors that refuse what a report needs.
fn refusals() -> Vec<VendorRefusal> {
    let has = json!({ "permissions": { "BROWSE_PROJECTS": { "havePermission": true } } });
    let no = |error: &str| json!({ "ok": false, "error": error });
    let story = json!({ "issueTypes": [{ "name": "Story" }] });
    let types = "/jira/rest/api/3/issue/createmeta/SEC/issuetypes";
    let table = "/snow/api/now/table/incident";
    let (channel, auth) = ("/slack/conversations.history", "/slack/auth.test");
    let (may, myself) = ("/jira/rest/api/3/mypermissions", "/jira/rest/api/3/myself");
    let issues = "/github/repos/acme/soc/issues";
    let metadata = json!({ "message": "Resource not accessible by personal access token" });
    let mut all = repository();
    all.extend([
        // A fine-grained token with only Metadata can still read the repository.
        ("destination.refused", issues, 403, metadata),
        ("destination.refused", channel, 200, no("not_in_channel")),
        ("destination.refused", auth, 200, no("token_revoked")),
        ("destination.scope", may, 200, has),
        ("destination.issue_type", types, 200, story),
        ("destination.refused", myself, 403, json!({})),
        (
            "destination.scope",
            table,
            200,
            json!({ "result": [{ "sys_id": "1" }] }),
        ),
        ("destination.unreachable", table, 503, json!({})),
        ("destination.redirect", "/hook", 302, json!({})),
    ]);
    all
}

fn repository() -> Vec<VendorRefusal> {
    let cannot = json!({ "pull": true, "triage": false });
    [
        (
            "destination.no_issues",
            json!({ "private": true, "has_issues": false }),
        ),
        (
            "destination.public",
            json!({ "private": false, "has_issues": true }),
        ),
        (
            "destination.scope",
            json!({ "private": true, "permissions": cannot }),
        ),
    ]
    .map(|(check, body)| (check, "/github/repos/acme/soc", 200, body))
    .into()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_vendor_does_not_let_us_do_is_told() {
    let world = FakeVendors::start().await;
    let (place, config) = (place(), format!("{WEB}{}", destinations(&world.url)));
    for (check, path, status, body) in refusals() {
        world.set_response(path, status, body);
        assert_eq!(
            failed_checks(&place, &config, "destinations"),
            [check],
            "{path}"
        );
        world.reset();
    }
    for scopes in [
        "channels:history,metadata.message:read",
        "chat:write,channels:history",
    ] {
        world.set_response_headers(
            "/slack/auth.test",
            &[("x-oauth-scopes", scopes)],
            json!({ "ok": true }),
        );
        assert_eq!(
            failed_checks(&place, &config, "destinations"),
            ["destination.scope"],
            "{scopes}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secrets_and_addresses_that_are_not_right_are_told() {
    let world = FakeVendors::start().await;
    let config = format!("{WEB}{}", destinations(&world.url));
    let mut place = place();
    place.set_env("ROUTING_KEY", "an-api-token");
    assert_eq!(
        failed_checks(&place, &config, "destinations"),
        ["destination.key"]
    );
    let mut place = super::vendors::place();
    place.set_env("TOKEN", "wrong");
    let all = failed_checks(&place, &config, "destinations");
    assert_eq!(
        all, ["destination.refused"; 4],
        "Slack, Jira, ServiceNow and GitHub"
    );
    let bare = Sandbox::new().unwrap();
    let all = failed_checks(&bare, &config, "destinations");
    assert_eq!(
        all.iter()
            .filter(|one| *one == "destination.secret")
            .count(),
        6,
        "{all:?}"
    );
    let place = super::vendors::place();
    let soc = "[[destination]]\nname = \"soc\"\nkind = \"slack\"\nchannel = \"C0123ABCD\"\ntoken = \"env:TOKEN\"\n";
    let gone = format!("{WEB}{soc}api_url = \"http://127.0.0.1:1/api\"\n");
    assert_eq!(
        failed_checks(&place, &gone, "destinations"),
        ["destination.unreachable"]
    );
    let buttons = format!(
        "{soc}api_url = \"{}/slack\"\nsigning_secret = \"env:TOKEN\"\nanalysts = [\"U1\"]\n",
        world.url
    );
    assert_eq!(
        failed_checks(&place, &buttons, "destinations"),
        ["destination.buttons"]
    );
    let hook = format!(
        "{WEB}[[destination]]\nname = \"soc\"\nkind = \"slack\"\nwebhook_url = \"env:HOOK\"\n"
    );
    let mut place = super::vendors::place();
    place.set_env("HOOK", &format!("{}/hook", world.url));
    assert_eq!(
        failed_checks(&place, &hook, "destinations"),
        Vec::<String>::new()
    );
    place.set_env("HOOK", "no address");
    assert_eq!(
        failed_checks(&place, &hook, "destinations"),
        ["destination.secret"]
    );
    let ca = format!("{WEB}{soc}ca_file = \"missing.pem\"\n");
    assert_eq!(
        failed_checks(&place, &ca, "destinations"),
        ["destination.configuration"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_differs_is_told() {
    let world = FakeVendors::start().await;
    let hook = format!(
        "[[destination]]\nname = \"soar\"\nkind = \"webhook\"\nurl = \"{}/hook\"\nsecret = \"env:WEBHOOK\"\n",
        world.url
    );
    let place = place();
    assert_eq!(
        failed_checks(&place, &hook, "clock,destinations"),
        Vec::<String>::new()
    );
    let date = ("date", "Fri, 20 Nov 2020 12:00:00 GMT");
    world.set_response_headers("/hook", &[date, ("age", "86400")], json!({}));
    assert_eq!(
        failed_checks(&place, &hook, "clock,destinations"),
        Vec::<String>::new(),
        "a cache tells the time at which it was filled"
    );
    world.set_response_headers("/hook", &[date, ("age", "0")], json!({}));
    let said = run_doctor(&place, &hook, "clock,destinations");
    assert_eq!(said.failed_checks(), ["clock.skew"]);
    let what = said.only_finding()["what"].as_str().unwrap();
    assert!(what.contains("ahead of that of 127.0.0.1"), "{what}");
}
