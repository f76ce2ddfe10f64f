//! Tests findings about files: a SQLite database, registers, playbooks, spool directories, folders of reports,
//! secrets, and the addresses of the pages.

use nightshift_tests::Sandbox;

use super::{failed_checks, run_doctor};

#[test]
fn a_database_file_is_one_and_can_be_made() {
    let place = Sandbox::new().unwrap();
    assert_eq!(
        failed_checks(&place, "", "store"),
        Vec::<String>::new(),
        "it is made at the first start"
    );
    let ran = place.run(&["migrate"]).unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(failed_checks(&place, "", "store"), Vec::<String>::new());
    place
        .write_file(
            "broken.db",
            "no database, and longer than the head of one would have to be",
        )
        .unwrap();
    let broken = failed_checks(&place, "[store]\nurl = \"sqlite:broken.db\"\n", "store");
    assert_eq!(broken, ["store.broken"]);
    let folder = failed_checks(
        &place,
        "[store]\nurl = \"sqlite:broken.db/below.db\"\n",
        "store",
    );
    assert_eq!(folder, ["store.folder"]);
    let said = run_doctor(&place, "[store]\nurl = \"sqlite:.\"\n", "store");
    assert_eq!(said.only_finding()["check"], "store.folder");
    let mend = said.only_finding()["mend"].as_str().unwrap();
    assert!(mend.starts_with("name a file in [store] url"), "{mend}");
    let secret =
        "[store]\nurl = \"postgres://ana@127.0.0.1/db\"\npassword = \"env:NIGHTSHIFT_NO_SUCH\"\n";
    assert_eq!(failed_checks(&place, secret, "store"), ["store.secret"]);
    let file = secret.replace("env:NIGHTSHIFT_NO_SUCH", "file:secrets/db");
    let said = run_doctor(&place, &file, "store");
    assert_eq!(said.only_finding()["check"], "store.secret");
    let what = said.only_finding()["what"].as_str().unwrap();
    assert!(what.contains("secrets/db"), "{what}");
}

#[test]
fn registers_are_read() {
    let place = Sandbox::new().unwrap();
    let tool = |path: &str| {
        format!("[[tool]]\nname = \"assets\"\nkind = \"asset_lookup\"\npath = \"{path}\"\n")
    };
    place
        .write_file("good.csv", "id,owner\nweb-1,ana@example.com\n")
        .unwrap();
    assert_eq!(
        failed_checks(&place, &tool("good.csv"), "tools"),
        Vec::<String>::new()
    );
    assert_eq!(
        failed_checks(&place, &tool("missing.csv"), "tools"),
        ["tool.register"]
    );
    place.write_file("empty.csv", "id,owner\n").unwrap();
    assert_eq!(
        failed_checks(&place, &tool("empty.csv"), "tools"),
        ["tool.empty"]
    );
    place
        .write_file(
            "rows.csv",
            "id,owner\nweb-1,ana@example.com\n,bo@example.com\n",
        )
        .unwrap();
    assert_eq!(
        failed_checks(&place, &tool("rows.csv"), "tools"),
        ["tool.rows"]
    );
    let twice = format!("{}{}", tool("good.csv"), tool("good.csv"));
    assert_eq!(
        failed_checks(&place, &twice, "tools"),
        ["tool.configuration"]
    );
    let glob = format!(
        "{}[[profile]]\nname = \"default\"\ntools = [\"assets\", \"cloudtrial\"]\n",
        tool("good.csv")
    );
    assert_eq!(failed_checks(&place, &glob, "tools"), ["tool.glob"]);
    let declared = |key: &str| {
        format!("[[tool]]\nname = \"vt\"\nkind = \"virustotal\"\napi_key = \"{key}\"\n")
    };
    assert_eq!(
        failed_checks(&place, &declared("file:no-such-key"), "tools"),
        ["tool.key"]
    );
    place.write_file("key", "0123456789\n").unwrap();
    assert_eq!(
        failed_checks(&place, &declared("file:key"), "tools"),
        Vec::<String>::new()
    );
}

const PLAYBOOK: &str = "name = \"ours\"\nversion = 1\n";

#[test]
fn playbooks_of_ones_own_are_read() {
    let place = Sandbox::new().unwrap();
    let config = "[playbooks]\ndir = \"books\"\n";
    assert_eq!(
        failed_checks(&place, config, "playbooks"),
        ["playbooks.broken"],
        "there is no folder"
    );
    std::fs::create_dir(place.path().join("books")).unwrap();
    assert_eq!(
        failed_checks(&place, config, "playbooks"),
        ["playbooks.none"]
    );
    place.write_file("books/ours.toml", PLAYBOOK).unwrap();
    let said = run_doctor(&place, config, "playbooks");
    assert_eq!(said.failed_checks(), ["playbooks.broken"]);
    assert!(
        said.only_finding()["what"]
            .as_str()
            .unwrap()
            .contains("books/ours.toml"),
        "{said}",
        said = said.object
    );
    let shipped = nightshift_tests::repository_root().join("worker/analyst/playbooks/recon.toml");
    let recon = std::fs::read_to_string(shipped).unwrap();
    place.write_file("books/ours.toml", &recon).unwrap();
    assert_eq!(
        failed_checks(&place, config, "playbooks"),
        Vec::<String>::new()
    );
    let (rules, _) = recon.split_once("[otherwise]").unwrap();
    let silent = format!("{rules}[otherwise]\nactions = []\n");
    place.write_file("books/ours.toml", silent).unwrap();
    assert_eq!(
        failed_checks(&place, config, "playbooks"),
        ["playbooks.doubt"]
    );
    place.write_file("books/ours.toml", &recon).unwrap();
    let list = "[[tool]]\nname = \"list\"\nkind = \"watchlist\"\n";
    let twice = format!("{config}{list}{list}");
    let said = run_doctor(&place, &twice, "playbooks").object.to_string();
    assert!(said.contains("tools were not checked"), "{said}");
}

#[test]
fn folders_that_cannot_be_are_told() {
    let place = Sandbox::new().unwrap();
    place.write_file("file", "").unwrap();
    let spool =
        |dir: &str| format!("[[source]]\nname = \"drop\"\nkind = \"spool\"\ndir = \"{dir}\"\n");
    assert_eq!(
        failed_checks(&place, &spool("spool"), "sources"),
        Vec::<String>::new()
    );
    assert_eq!(
        failed_checks(&place, &spool("file"), "sources"),
        ["source.folder"]
    );
    let files = |path: &str| {
        format!("[[destination]]\nname = \"files\"\nkind = \"file\"\npath = \"{path}\"\n")
    };
    assert_eq!(
        failed_checks(&place, &files("reports"), "destinations"),
        Vec::<String>::new()
    );
    assert_eq!(
        failed_checks(&place, &files("file/below"), "destinations"),
        ["destination.folder"]
    );
    let posted =
        "[[source]]\nname = \"push\"\nkind = \"http\"\ntokens = [\"env:NIGHTSHIFT_NO_SUCH\"]\n";
    assert_eq!(failed_checks(&place, posted, "sources"), ["source.secret"]);
    // The worker would refuse to start with these values.
    place.write_file("token", "0123456789abcdef\n").unwrap();
    place
        .write_file("signing", "6d79207365637265742c206d79206b6579\n")
        .unwrap();
    let none = "[[source]]\nname = \"push\"\nkind = \"http\"\ntokens = [\"file:token\"]\n\
        signing_secrets = [\"file:signing\"]\n";
    assert_eq!(
        failed_checks(&place, none, "sources"),
        ["source.secret", "source.secret"]
    );
}

#[test]
fn addresses_and_tokens_of_the_pages_are_tried() {
    let place = Sandbox::new().unwrap();
    let held = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = held.local_addr().unwrap().port();
    let web = |text: &str| format!("[web]\n{text}\n");
    assert_eq!(
        failed_checks(&place, &web("listen = \"127.0.0.1:0\""), "web"),
        Vec::<String>::new()
    );
    // The listener accepts the connection and never answers.
    let taken = failed_checks(
        &place,
        &web(&format!("listen = \"127.0.0.1:{port}\"")),
        "web",
    );
    assert_eq!(taken, ["web.address"]);
    let token = web("listen = \"0.0.0.0:0\"\ntokens = [\"env:NIGHTSHIFT_NO_SUCH\"]");
    assert_eq!(failed_checks(&place, &token, "web"), ["web.access"]);
    let wide = web(
        "listen = \"0.0.0.0:0\"\ntrusted_proxies = [{ header = \"x-user\", networks = [\"10.0.0.0/8\"] }]",
    );
    assert_eq!(failed_checks(&place, &wide, "web"), ["web.proxy_networks"]);
    let plain = web("listen = \"127.0.0.1:0\"\npublic_url = \"http://nightshift.example.com\"");
    assert_eq!(failed_checks(&place, &plain, "web"), ["web.plain_http"]);
}
