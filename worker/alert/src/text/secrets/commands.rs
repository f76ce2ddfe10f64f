//! Defines patterns of secrets by the words before them: options of programs, and assignments to names of secrets.

use super::SecretPattern;

/// Prefix of a program's name: the start of a word, with the path of the program. The end of a file name or URL does
/// not match.
macro_rules! program {
    () => {
        r#"(?:^|[\s"'`;|&(=,>\[{])(?:[A-Za-z]:)?(?:[^\s"':;|&<>,=]*[/\\])?"#
    };
}

/// Text between a program's name and its option, within one command.
macro_rules! before {
    () => {
        r#"(?i:\.exe)?["']?\s(?:[^\n|;&]{0,200}?\s)?"#
    };
}

/// A password in quotes. A truncated one reaches to the end of the text.
macro_rules! quoted {
    () => {
        r#"\\?"[^"\n]{3,}(?:"|\z)|'[^'\n]{3,}(?:'|\z)"#
    };
}

/// A password as one argument.
macro_rules! word {
    () => {
        concat!("(?P<secret>", quoted!(), r#"|[^\s"'-][^\s"']{2,})"#)
    };
}

/// An assigned value. In quotes (also escaped ones) the whole value matches, else the part before a character that ends
/// a word in any language. A quote before the rest of a list or call closes the value. Within single quotes the match
/// is shorter, because an apostrophe may intervene.
macro_rules! assigned {
    () => {
        concat!(
            r#"["'\\]{0,4}\s{0,3}(?:=>|:=|=|:)\s{0,3}(?:"#,
            r#"\\\\\\"(?P<twice>[^\s"\\,)][^"\n]{5,}?)(?:\\\\\\"|\z)"#,
            r#"|\\"(?P<escaped>[^\s"\\,)](?:[^"\\\n]|\\\\\\"|\\[^"\n]){5,})(?:\\"|\z)"#,
            r#"|"(?P<double>[^\s"\\,)](?:[^"\\\n]|\\[^\n]){5,})(?:"|\z)"#,
            r"|\\{0,3}'(?P<single>[^\s'\x22\\,)][^'\n]{5,127}?)(?:\\{0,3}'|\z)",
            r#"|["'\\]{0,4}(?P<secret>[^\s"'\\,;&<>(){}\[\]]{6,}))"#
        )
    };
}

pub(super) const SECRETS: &[SecretPattern] = &[
    // Names as separate words and joined: `--db-password`, `-ClientSecret`. `token` needs a qualifier, because other
    // tokens are positions in a list. Prompts, empty passwords and expressions do not match.
    (
        "cli_password",
        r"-[0-9a-z_-]*(?:pass|token|secret|key)",
        concat!(
            r#"(?i)(?:^|[\s"'`;|&(=,>\[{])(?:(?P<none>--?(?:(?:no|without|ask|prompt|disabled?|require|allow|show|hide|skip|generate|manage|rotate|expire|delete)[_-]?(?:[\w-]{0,40}[_-])?passw(?:or)?d|[\w-]{0,40}(?:passw(?:or)?d|passphrase|secret|token|key)\s+\(\s?(?:\$|\[|[a-z]{2,16}-[a-z])))"#,
            r"|--?(?:[\w-]{0,40}?(?:passw(?:or)?d|passphrase|secret[_-]?(?:access[_-]?)?key|(?:api|account|shared)[_-]?key|secret[_-]?string",
            r"|(?:api|app|client|consumer|hmac|jwt|oauth|shared|signing|user|webhook)[_-]?secret",
            r"|(?:access|admin|api|app|auth|bearer|bot|deploy|github|gitlab|id|identity|join|jwt|npm|refresh|registration|sas|security|service|session|slack|user|vault)[_-]?token",
            r"|(?:admin|auth|db|ftp|http|ldap|login|mail|proxy|redis|root|service|smtp|sql|svc|user)[_-]?pass)",
            r"|pass|token|secret)(?:\s+|[=:])(?P<secret>",
            quoted!(),
            r#"|["']?[^\s"'-][^\s"']{3,}))"#
        ),
    ),
    // The path of a key is not a secret.
    (
        "cli_password",
        r"-private-key",
        r#"(?:^|[\s"'])--?private-key(?:\s+|=)["']?(?P<secret>(?:0x)?[0-9a-fA-F]{32,})"#,
    ),
    (
        "mysql_password",
        r"mysql|mariadb",
        r"\b(?:mysql(?:admin|dump|import|show)?|mariadb)\b.{0,80}?\s-p(?P<secret>[^\s-][^\s]{3,})",
    ),
    (
        "curl_password",
        r"curl",
        r"\bcurl\b.{0,200}?\s(?:-[uU]|--(?:proxy-)?user)(?:=|\s*)['\x22]?[^\s:'\x22]{1,64}:(?P<secret>[^\s'\x22]{3,})",
    ),
    (
        "sshpass",
        r"sshpass",
        r"\bsshpass\s+-p\s*['\x22]?(?P<secret>[^\s'\x22]{3,})",
    ),
    // `login -p` of docker and similar programs takes the password as a separate argument or joined. `-p` of `docker
    // run` is a port.
    (
        "login_password",
        r"login\s",
        concat!(
            r#"\b(?:docker|podman|nerdctl|buildah|skopeo|oras|helm|az|oc)(?:\.exe)?["']?(?:\s+(?:registry|acr)|\s+-[^\s]+(?:\s+[^\s-][^\s]*)?){0,4}\s+login\s(?:[^\n&|;]{0,200}?\s)?-p(?:\s+|=)?"#,
            word!()
        ),
    ),
    // The following tools take a password in an option that means something else in other tools.
    (
        "command_password",
        r"mongo|crackmapexec|netexec|nxc|evil-winrm|psexec",
        concat!(
            program!(),
            r"(?:mongo(?:sh|dump|restore|export|import)?|crackmapexec|netexec|nxc|evil-winrm|(?i:psexec(?:64)?))",
            before!(),
            r"-p(?:\s+|=)",
            word!()
        ),
    ),
    (
        "command_password",
        r"mysqladmin",
        concat!(r"\bmysqladmin", before!(), r"password\s+", word!()),
    ),
    // Statements that create or change database users. Most need quotes, because a user's name is not a password.
    (
        "sql_password",
        r"identified\s|password[\s=(n\x22\x27\\]",
        concat!(
            r"(?i)\b(?:(?:create|alter|grant|connect)\s[^;]{0,200}?\sidentified\s+(?:with\s+[^\s]{1,64}\s+)?by\s+(?:values\s+|password\s+)?",
            r"|(?:create|alter)\s+(?:user|role|login)\s[^;]{0,200}?\spassword\s{0,3}=?\s{0,3}N?",
            r"|with\s+(?:\w{1,16}\s+){0,3}password\s{1,3}",
            r"|set\s+password\s[^;]{0,100}?=\s{0,3}(?:password\s{0,3}\(\s{0,3})?)(?P<secret>",
            quoted!(),
            r#")|\b(?:create|alter)\s+user\s+[^\s]{1,64}\s+identified\s+by\s+(?P<bare>[^\s"';]{3,})"#
        ),
    ),
    (
        "command_password",
        r"redis-cli",
        concat!(
            r"\bredis-cli",
            before!(),
            r"(?:-a|--pass|(?i:auth))\s+",
            word!()
        ),
    ),
    (
        "command_password",
        r"sqlcmd|osql|bcp",
        concat!(
            program!(),
            r"(?i:sqlcmd|osql|bcp)",
            before!(),
            r"-P\s*",
            word!()
        ),
    ),
    (
        "command_password",
        r"zip",
        concat!(program!(), r"(?:un)?zip", before!(), r"-P\s+", word!()),
    ),
    (
        "command_password",
        r"ldap",
        concat!(
            r"\bldap(?:search|add|modify|delete|passwd|whoami|compare|modrdn)",
            before!(),
            r"-w\s*",
            word!()
        ),
    ),
    (
        "command_password",
        r"7z|rar(?:\.exe)?[\x22\x27]?\s",
        concat!(
            program!(),
            r"(?i:7z[arz]?|rar|unrar|winrar)",
            before!(),
            r"-h?p",
            word!()
        ),
    ),
    // `/p:` of other programs is a property.
    (
        "command_password",
        r"/pass|freerdp",
        concat!(
            r"(?:(?:^|\s)/[pP]ass(?:word)?:|freerdp\w{0,2}",
            before!(),
            r"/p:)",
            word!()
        ),
    ),
    (
        "command_password",
        r"convertto-securestring",
        concat!(
            r"(?i)\bConvertTo-SecureString(?:\s+-(?:String|AsPlainText|Force)){0,3}\s+",
            word!()
        ),
    ),
    // The forms are `net user NAME PASSWORD /add`, `net use SHARE /user:NAME PASSWORD` and `net use SHARE PASSWORD
    // /user:NAME`.
    (
        "command_password",
        r"net1?(?:\.exe)?[\x22\x27]?\s+use",
        r#"(?i)\bnet1?(?:\.exe)?["']?\s+(?:user\s+["']?[^\s"'/]{1,64}["']?|use\s(?:[^\n|;&]{0,200}?\s)?/u(?:ser)?:[^\s]{1,128}|use\s+(?:(?:[a-z0-9]{1,4}:|\*)\s+)?["']?\\\\[^\s]{1,256})\s+(?P<secret>"[^"\n]{3,}"|[^\s"'/|&<>*][^\s"']{2,})(?:\s+/|\s*[\r\n"'|&]|$)"#,
    ),
    // Samba takes `-U NAME%PASSWORD`.
    (
        "command_password",
        r"smb(?:client|map|get)|rpcclient|winexe|pth-",
        concat!(
            r"\b(?:smbclient|smbmap|smbget|rpcclient|winexe|pth-\w{2,16})",
            before!(),
            r#"(?:-U|--user)(?:=|\s*)["']?[^\s%"']{1,64}%(?P<secret>[^\s"']{3,})"#
        ),
    ),
    // Impacket writes `DOMAIN/NAME:PASSWORD@HOST`. An image's tag precedes `@sha256:`.
    (
        "command_password",
        r"\.py|impacket|secretsdump|(?:ps|wmi|smb|at|dcom)exec",
        concat!(
            r"\b(?:impacket-\w{3,24}|\w{3,24}\.py|secretsdump|(?:ps|wmi|smb|at|dcom)exec)",
            before!(),
            r#"["']?(?:[A-Za-z0-9.-]{1,64}/)?[A-Za-z0-9._$-]{1,64}:(?P<secret>[^\s"'/][^\s"']{2,})@[A-Za-z0-9.-]{1,253}(?:[\s"']|$)"#
        ),
    ),
    (
        "command_password",
        r"chpasswd|--stdin|sudo\s",
        r#"\b(?:echo|printf)\s+(?:-\w\s+){0,2}["']?(?:[^\s:"'|]{1,64}:)?(?P<secret>[^"'|\r\n]{3,}?)["']?\s*\|\s*(?:sudo\s[^|\n]{0,32}?-S|(?:sudo\s+)?[a-z/]{0,16}(?:chpasswd|passwd\s[^|\n]{0,64}?--stdin))"#,
    ),
    (
        "command_password",
        r"login\s+[!-~]+\s+password\s",
        r#"\bmachine\s+[!-~]{1,253}\s+login\s+[!-~]{1,253}\s+password\s+(?P<secret>[^\s"']{3,})"#,
    ),
    (
        "password_hash",
        r"\$2[abxy]?\$|\$[156y]\$|\$argon2",
        r"\$(?:2[abxy]?\$\d{2}\$[./A-Za-z0-9]{53}|[156]\$[^\s$]{1,32}\$[./A-Za-z0-9]{20,}|y\$[^\s$]+\$[^\s$]+\$[./A-Za-z0-9]{20,}|argon2i?d?\$[^\s'\x22]{30,})",
    ),
    // The ARN of a Secrets Manager secret is matched whole, with the part and version after its name, so that
    // `secret:NAME` in it is not an assignment: values with `arn:` are harmless. A `=` ends the ARN, because an
    // assignment follows.
    (
        "assigned_secret",
        r"(?:passw(?:or)?d|passphrase|pwd|secret|key|token|credentials?)[\x22\x27\\]{0,4}\s{0,3}[=:]",
        concat!(
            r#"(?i)\barn:aws[a-z-]*:secretsmanager:[\w*-]*:[\w*-]*:secret:[\w/+.@!*-]+(?:(?::[\w.-]+){1,2}:(?:AWS(?:CURRENT|PENDING|PREVIOUS)\b|:[0-9a-f-]{36}))?|\b[\w.-]{0,40}?(?:passw(?:or)?d|passwd|passphrase|pwd|client[_-]?secret|secret[_-]?(?:access[_-]?)?key|secret|api[_-]?key|apikey|auth[_-]?token|access[_-]?token|refresh[_-]?token|id[_-]?token|session[_-]?token|security[_-]?token|token|private[_-]?key|credentials?)"#,
            assigned!()
        ),
    ),
    // Names that only variables have. In prose "pass" assigns nothing.
    (
        "assigned_secret",
        r"pass[\x22\x27\\]{0,4}\s{0,3}[=:]",
        concat!(
            r#"\b(?:[A-Za-z0-9_]{0,40}(?:_|SSH|PG)PASS|(?i:[\w.-]{0,40}?(?:db|smtp|mail|user|admin|root|sql|pg|redis|ftp|ldap|proxy|login|service|svc|http|auth)[_-]?pass))"#,
            assigned!()
        ),
    ),
];
