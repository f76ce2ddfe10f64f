//! Defines patterns of secrets, by kind.
//!
//! The formats come from vendors' pages and the patterns that public secret scanners share. In a pattern with groups,
//! the group that matched is redacted, or nothing if it is called `none`. Without groups the whole match is redacted.
//! Ids that are not secrets (access key ids, hashes, UUIDs, ARNs) have no pattern here.

use std::sync::LazyLock;

mod commands;

/// A kind of secret: name of the mark, trigger, and pattern. The trigger is a short part of every such secret,
/// ignoring case, by which one cheap search selects the patterns for a text (a test compares both). Order matters
/// only for overlaps: the first kind names the mark.
pub(super) type SecretPattern = (&'static str, &'static str, &'static str);

/// All kinds.
pub(super) static SECRETS: LazyLock<Vec<SecretPattern>> =
    LazyLock::new(|| [TOKENS, commands::SECRETS].concat());

/// Vendors' tokens, and secrets in URLs and headers.
const TOKENS: &[SecretPattern] = &[
    // Keys in blocks.
    (
        "private_key",
        r"private key",
        r"-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----|\z)",
    ),
    (
        "putty_key",
        r"putty-user-key",
        r"PuTTY-User-Key-File-[23]:[\s\S]*?(?:Private-MAC: [0-9a-fA-F]+|\z)",
    ),
    (
        "age_key",
        r"age-secret-key-1",
        r"\bAGE-SECRET-KEY-1[0-9A-Z]{50,64}",
    ),
    // Keys of clouds.
    (
        "aws_secret_key",
        r"key[\x22\x27\s]{0,4}[=:\s]",
        r#"(?i)(?:aws|secret|access).{0,24}?key["'\s]{0,4}(?:=>|=|:|\s)["'\s]{0,4}(?P<secret>[A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)"#,
    ),
    (
        "aws_session_token",
        r"fwogzx|iqojb3|fqogzx|fqodyx",
        r"\b(?:FwoGZXIvYXdzE|IQoJb3JpZ2luX2Vj|FQoGZXIvYXdzE|FQoDYXdzE)[A-Za-z0-9+/=_%-]{60,}",
    ),
    (
        "aws_presigned_signature",
        r"x-amz-",
        r"(?i)X-Amz-(?:Signature|Security-Token|Credential)=(?P<secret>[^&\s]{16,})",
    ),
    (
        "aws_bedrock_key",
        r"absk|bedrock-api-key-",
        r"\b(?:ABSK[A-Za-z0-9+/]{60,}={0,2}|bedrock-api-key-[A-Za-z0-9+/=]{20,})",
    ),
    ("aws_mws_key", r"amzn\.mws\.", r"\bamzn\.mws\.[0-9a-f-]{36}"),
    ("google_api_key", r"aiza", r"\bAIza[0-9A-Za-z_-]{35}"),
    (
        "google_oauth_token",
        r"ya29\.",
        r"\bya29\.[0-9A-Za-z_.-]{20,}",
    ),
    ("google_refresh_token", r"1//0", r"\b1//0[0-9A-Za-z_-]{30,}"),
    (
        "google_oauth_secret",
        r"gocspx-",
        r"\bGOCSPX-[0-9A-Za-z_-]{20,}",
    ),
    (
        "azure_storage_key",
        r"accountkey=",
        r"(?i)AccountKey=(?P<secret>[A-Za-z0-9+/]{40,}={0,2})",
    ),
    (
        "azure_sas_signature",
        r"sig=",
        r"(?i)[?&;]sig=(?P<secret>[A-Za-z0-9%+/=]{20,})",
    ),
    (
        "azure_shared_access_key",
        r"sharedaccess",
        r"(?i)SharedAccess(?:Key|Signature)=(?P<secret>[A-Za-z0-9+/%=&]{20,})",
    ),
    (
        "azure_client_secret",
        r"[0-9]q~",
        r"\b[a-zA-Z0-9_~.]{3}\dQ~[a-zA-Z0-9_~.-]{31,34}",
    ),
    (
        "azure_devops_token",
        r"azdo",
        r"\b[a-zA-Z0-9]{76}AZDO[a-zA-Z0-9]{4}",
    ),
    (
        "alibaba_key",
        r"aliyun|alibaba",
        r#"(?i)(?:aliyun|alibaba).{0,40}?["'=:\s](?P<secret>[a-z0-9]{30})\b"#,
    ),
    (
        "digitalocean_token",
        r"do[opr]_v1_",
        r"\bdo[opr]_v1_[a-f0-9]{64}",
    ),
    ("heroku_key", r"hrku-", r"\bHRKU-[A-Za-z0-9_-]{36,70}"),
    (
        "fly_token",
        r"fo1_|fm[12]",
        r"\b(?:fo1_[A-Za-z0-9_-]{43}|fm[12][ar]?_[A-Za-z0-9+/=_-]{60,})",
    ),
    (
        "cloudflare_key",
        r"v1\.0-|cf(?:ut|at|k)_",
        r"\bv1\.0-[a-f0-9]{24}-[a-f0-9]{146}\b|\bcf(?:ut|at|k)_[A-Za-z0-9_-]{40,}",
    ),
    // Code and packages.
    (
        "github_token",
        r"gh[pousr]_|github_pat_",
        r"\b(?:gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_[A-Za-z0-9_]{50,255})",
    ),
    (
        "gitlab_token",
        r"gl[a-z]{2,5}-",
        r"\b(?:glpat|gldt|glrt|glcbt|glptt|glft|glimt|glagent|gloas|glsoat)-[A-Za-z0-9_=-]{20,64}",
    ),
    (
        "bitbucket_token",
        r"atbb|atctt3",
        r"\b(?:ATBB[A-Za-z0-9]{24,}|ATCTT3[A-Za-z0-9_=-]{60,})",
    ),
    ("atlassian_token", r"atatt3", r"\bATATT3[A-Za-z0-9_=-]{60,}"),
    ("npm_token", r"npm_", r"\bnpm_[A-Za-z0-9]{36}"),
    ("pypi_token", r"pypi-", r"\bpypi-[A-Za-z0-9_-]{40,}"),
    (
        "crates_token",
        r"cio[a-z0-9]{12}",
        r"\bcio[A-Za-z0-9]{32}\b",
    ),
    ("rubygems_token", r"rubygems_", r"\brubygems_[a-f0-9]{48}"),
    ("nuget_key", r"oy2[a-z0-9]{8}", r"\boy2[a-z0-9]{43}\b"),
    (
        "docker_token",
        r"dckr_",
        r"\b(?:dckr_pat|dckr_oat|dckr_oci)_[A-Za-z0-9_-]{27,}",
    ),
    (
        "docker_auth",
        r"\x22auth\x22",
        r#""auth"\s*:\s*"(?P<secret>[A-Za-z0-9+/]{12,}={0,2})""#,
    ),
    (
        "terraform_token",
        r"\.atlasv1\.",
        r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}",
    ),
    (
        "vault_token",
        r"hv[sbr]\.",
        r"\b(?:hv[sbr]\.[A-Za-z0-9_-]{24,})",
    ),
    ("pulumi_token", r"pul-", r"\bpul-[a-f0-9]{40}"),
    ("sonar_token", r"sq[apu]_", r"\bsq[apu]_[a-f0-9]{40}"),
    (
        "artifactory_token",
        r"akcp|cmvmd",
        r"\b(?:AKCp[A-Za-z0-9]{69}|cmVmd[A-Za-z0-9]{59})",
    ),
    ("circleci_token", r"ccipat_", r"\bCCIPAT_[A-Za-z0-9_]{20,}"),
    ("buildkite_token", r"bkua_", r"\bbkua_[a-z0-9]{40}"),
    // Keys of model providers.
    ("openrouter_key", r"sk-or-", r"\bsk-or-v1-[a-f0-9]{64}"),
    ("anthropic_key", r"sk-ant-", r"\bsk-ant-[A-Za-z0-9_-]{20,}"),
    (
        "openai_key",
        r"sk-",
        r"\bsk-(?:proj-|svcacct-|admin-|None-)?[A-Za-z0-9_-]{20,}",
    ),
    (
        "huggingface_token",
        r"hf_|api_org_",
        r"\b(?:hf|api_org)_[A-Za-z0-9]{30,}",
    ),
    ("groq_key", r"gsk_", r"\bgsk_[A-Za-z0-9]{40,}"),
    ("replicate_token", r"r8_", r"\br8_[A-Za-z0-9]{36,}"),
    ("xai_key", r"xai-", r"\bxai-[A-Za-z0-9]{60,}"),
    // Chat, mail, pages.
    (
        "slack_token",
        r"xox[a-z]|xapp-",
        r"\bxox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}|\bxapp-\d-[A-Z0-9]+-\d+-[a-z0-9]+",
    ),
    (
        "slack_webhook",
        r"hooks\.slack",
        r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9/_+-]{20,})",
    ),
    (
        "discord_webhook",
        r"discord",
        r"discord(?:app)?\.com/api(?:/v\d{1,2})?/webhooks/(?P<secret>\d{16,20}/[A-Za-z0-9_-]{40,})",
    ),
    (
        "teams_webhook",
        r"webhook\.office",
        r"webhook\.office\.com/webhookb2/(?P<secret>[A-Za-z0-9@/-]{40,})",
    ),
    (
        "telegram_token",
        r"[0-9]:aa[a-z0-9_-]{8}",
        r"\b(?:bot)?(?P<secret>\d{8,10}:AA[A-Za-z0-9_-]{33})",
    ),
    ("twilio_key", r"sk[0-9a-f]{8}", r"\bSK[0-9a-f]{32}\b"),
    (
        "sendgrid_key",
        r"sg\.",
        r"\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}",
    ),
    ("mailgun_key", r"key-[0-9a-f]{8}", r"\bkey-[0-9a-f]{32}\b"),
    (
        "mailchimp_key",
        r"[0-9a-f]{8}-us[0-9]",
        r"\b[0-9a-f]{32}-us\d{1,2}\b",
    ),
    (
        "postmark_token",
        r"x-postmark",
        r"(?i)X-Postmark-(?:Server|Account)-Token\s*[:=]\s*(?P<secret>[0-9a-f-]{36})",
    ),
    (
        "pagerduty_key",
        r"pagerduty",
        r#"(?i)pagerduty.{0,24}?(?:token|key)["'\s:=]{1,6}(?P<secret>[A-Za-z0-9+_-]{20,32})"#,
    ),
    // Keys of payment and commerce services.
    (
        "stripe_key",
        r"(?:sk|rk|whsec)_",
        r"\b(?:sk|rk|whsec)_(?:(?:live|test|prod)_)?[A-Za-z0-9]{16,}",
    ),
    (
        "square_token",
        r"sq0|eaaa[a-z0-9_-]{8}",
        r"\b(?:sq0(?:atp|csp)-[A-Za-z0-9_-]{22,43}|EAAA[A-Za-z0-9_-]{56,})",
    ),
    (
        "paypal_token",
        r"access_token\$",
        r"\baccess_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}",
    ),
    (
        "shopify_token",
        r"shp(?:at|ca|pa|ss)_",
        r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}",
    ),
    (
        "facebook_token",
        r"eaa[a-z0-9]{8}",
        r"\bEAA(?:CEdEose0cBA|[A-Za-z0-9]{60,})[A-Za-z0-9]*",
    ),
    // Keys of services for operations.
    (
        "datadog_key",
        r"(?:datadog|dd)[_-]?ap[ip]",
        r#"(?i)(?:datadog|dd)[_-]?(?:api|app|application)[_-]?key["'\s:=]{1,6}(?P<secret>[a-f0-9]{32,40})"#,
    ),
    (
        "newrelic_key",
        r"nr(?:ak|js|aa|ii|br)-",
        r"\bNR(?:AK|JS|AA|II|BR)-[A-Za-z0-9]{18,40}",
    ),
    (
        "grafana_token",
        r"glsa_|glc_|eyjrijoi",
        r"\b(?:glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}|glc_[A-Za-z0-9+/=]{32,}|eyJrIjoi[A-Za-z0-9+/=]{60,})",
    ),
    (
        "sentry_token",
        r"sntry|sentry",
        r"\bsntry[su]_[A-Za-z0-9+/=_-]{40,}|https://(?P<secret>[0-9a-f]{32})(?::[0-9a-f]{32})?@[a-z0-9.-]*sentry",
    ),
    (
        "dynatrace_token",
        r"dt0[a-z]",
        r"\bdt0[a-z]\d{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}",
    ),
    (
        "databricks_token",
        r"dapi[a-f0-9]{8}",
        r"\bdapi[a-f0-9]{32}(?:-\d)?\b",
    ),
    (
        "planetscale_token",
        r"pscale_",
        r"\bpscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,}",
    ),
    (
        "supabase_key",
        r"sb[ps]_",
        r"\bsb[ps]_(?:secret_)?[A-Za-z0-9_]{30,}",
    ),
    (
        "doppler_token",
        r"dp\.",
        r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{40,}",
    ),
    (
        "onepassword_token",
        r"ops_eyj",
        r"\bops_eyJ[A-Za-z0-9+/=_-]{60,}",
    ),
    (
        "tailscale_key",
        r"tskey-",
        r"\btskey-[a-z]+-[A-Za-z0-9-]{16,}",
    ),
    (
        "linear_key",
        r"lin_",
        r"\blin_(?:api|oauth)_[A-Za-z0-9]{32,}",
    ),
    (
        "notion_token",
        r"ntn_|secret_",
        r"\b(?:ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43})",
    ),
    (
        "airtable_token",
        r"pat[a-z0-9]{14}\.",
        r"\bpat[A-Za-z0-9]{14}\.[a-f0-9]{64}",
    ),
    (
        "figma_token",
        r"fig[dor]_",
        r"\bfig[dor]_[A-Za-z0-9_-]{36,}",
    ),
    ("postman_key", r"pmak-", r"\bPMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    // Secrets of no particular vendor.
    (
        "jwt",
        r"eyj",
        r"\beyJ[A-Za-z0-9_-]{8,}\.(?:eyJ)?[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",
    ),
    (
        "url_password",
        r"://(?u:[^\t\n\r /:@\x27\x22]*):",
        r"\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s/:@\['\x22]{0,128}:(?P<secret>[^\s/@'\x22]{1,256})@",
    ),
    // A clone URL may have a token as its user.
    (
        "url_password",
        r"://[0-9a-f]{32}",
        r"://(?P<secret>[0-9a-fA-F]{32,64})(?::[^\s/@'\x22]{0,256})?@",
    ),
    (
        "url_parameter",
        r"signature=|samlresponse=",
        r"(?i)(?:[?&;](?:X-Goog-)?Signature|\bSAMLResponse)=(?P<secret>[^&\s'\x22<>#;,]{16,})",
    ),
    // Attack commands with these names are not secrets: a call has brackets and spaces, a path begins with a dot or a
    // slash.
    (
        "url_parameter",
        r"[?&;](?:code|auth)=",
        r"(?i)[?&;](?:code|auth)=(?P<secret>[A-Z0-9_~+-](?:[A-Z0-9._~/+=!*$-]|%2[BF]|%3D){15,})",
    ),
    (
        "bearer_token",
        r"bearer",
        r"(?i)\bbearer\s+(?P<secret>[A-Za-z0-9_.~+/=-]{12,})",
    ),
    (
        "basic_auth",
        r"basic",
        r"(?i)\bbasic\s+(?P<secret>[A-Za-z0-9+/]{12,}={0,2})(?:[\s'\x22,;)]|$)",
    ),
    // A cookie header is secret to the end of its line, an authorization with a usual scheme to the end of its token.
    // In JSON as text both end with their string.
    (
        "authorization",
        r"authorization|cookie",
        r"(?i)\b(?:authorization|cookie|set-cookie)(?:\s*[:=]\s*|\\?['\x22]\s*:\s*\\?['\x22])(?P<secret>(?:bearer|basic|token)\s+[^\s'\x22]{8,}|[^\r\n'\x22]{8,})",
    ),
    // Cookies as names and values in JSON as text.
    (
        "cookies",
        r"cookies?[\x22\x27\\]{0,3}\s{0,3}[:=]\s{0,3}[\[{]",
        r#"(?i)\bcookies?["'\\]{0,3}\s{0,3}[:=]\s{0,3}(?P<secret>\{(?:[^{}]|\{[^{}]*\}){4,}\}?|\[[^\[\]]{4,}\]?)"#,
    ),
    // Also in a presigned URL, whose other parameters are evidence.
    (
        "authorization",
        r"x-api-key|x-auth-token|x-auth-key|x-amz-security-token",
        r"(?i)\b(?:x-api-key|x-auth-token|x-auth-key|x-amz-security-token)\s*[:=]\s*(?P<secret>[^\s'\x22&]{8,})",
    ),
];

/// Matches the JSON keys whose string value is always a secret.
pub(super) const SECRET_KEY: &str = r"(?i)^(?:.*[._-])?(?:passwd|password|passphrase|pwd|secret|clientsecret|client[_-]secret|secret[_-]?access[_-]?key|secret[_-]?key|session[_-]?token|access[_-]?token|refresh[_-]?token|id[_-]?token|auth[_-]?token|bearer[_-]?token|security[_-]?token|api[_-]?key|apikey|api[_-]?token|private[_-]?key|encryption[_-]?key|signing[_-]?key|signing[_-]?secret|webhook[_-]?secret|authorization|cookies?|connection[_-]?string|master[_-]?user[_-]?password|user[_-]?password|db[_-]?password|x-amz-security-token)$";
