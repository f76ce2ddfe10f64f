//! Tests an example of every kind of secret.

/// Returns random-looking letters and digits, so that formats are filled in without a real secret.
pub(super) fn noise(length: usize) -> String {
    "q7Zk2Vx9Lm4Tb8Rw3Yd6Nc1Hf5Gs0Jp"
        .chars()
        .cycle()
        .take(length)
        .collect()
}

pub(super) fn hex_noise(length: usize) -> String {
    "a3f09c71be52d846".chars().cycle().take(length).collect()
}

/// Returns a sample text of each kind with the kind's name.
#[expect(clippy::too_many_lines, reason = "a table, one line per secret")]
pub(super) fn secrets() -> Vec<(&'static str, String)> {
    let (n, h) = (noise, hex_noise);
    vec![
        (
            "private_key",
            format!(
                "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
                n(64)
            ),
        ),
        (
            "private_key",
            format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{}", n(64)),
        ),
        (
            "putty_key",
            format!(
                "PuTTY-User-Key-File-2: ssh-rsa\n{}\nPrivate-MAC: {}",
                n(64),
                h(40)
            ),
        ),
        (
            "age_key",
            format!("AGE-SECRET-KEY-1{}", n(58).to_uppercase()),
        ),
        (
            "aws_secret_key",
            format!("aws_secret_access_key = {}", n(40)),
        ),
        ("aws_session_token", format!("IQoJb3JpZ2luX2Vj{}", n(120))),
        (
            "aws_presigned_signature",
            format!("https://b.s3.amazonaws.com/k?X-Amz-Signature={}", h(64)),
        ),
        ("aws_bedrock_key", format!("ABSK{}", n(120))),
        (
            "aws_mws_key",
            format!("amzn.mws.{}-{}-{}-{}-{}", h(8), h(4), h(4), h(4), h(12)),
        ),
        ("google_api_key", format!("AIza{}", n(35))),
        ("google_oauth_token", format!("ya29.{}", n(60))),
        ("google_refresh_token", format!("1//0{}", n(40))),
        ("google_oauth_secret", format!("GOCSPX-{}", n(28))),
        (
            "azure_storage_key",
            format!("AccountName=x;AccountKey={}==", n(86)),
        ),
        (
            "azure_sas_signature",
            format!("https://x.blob.core.windows.net/c?sv=2020&sig={}%3D", n(43)),
        ),
        (
            "azure_shared_access_key",
            format!("Endpoint=sb://x/;SharedAccessKey={}=", n(43)),
        ),
        ("azure_client_secret", format!("abc8Q~{}", n(33))),
        ("azure_devops_token", format!("{}AZDO{}", n(76), n(4))),
        ("digitalocean_token", format!("dop_v1_{}", h(64))),
        ("heroku_key", format!("HRKU-{}", n(60))),
        ("fly_token", format!("fo1_{}", n(43))),
        ("github_token", format!("ghp_{}", n(36))),
        ("github_token", format!("github_pat_{}", n(82))),
        ("gitlab_token", format!("glpat-{}", n(20))),
        ("bitbucket_token", format!("ATBB{}", n(32))),
        ("atlassian_token", format!("ATATT3{}", n(180))),
        ("npm_token", format!("npm_{}", n(36))),
        ("pypi_token", format!("pypi-{}", n(80))),
        ("crates_token", format!("cio{}", n(32))),
        ("rubygems_token", format!("rubygems_{}", h(48))),
        ("nuget_key", format!("oy2{}", n(43).to_lowercase())),
        ("docker_token", format!("dckr_pat_{}", n(27))),
        ("docker_auth", format!("{{\"auth\": \"{}\"}}", n(24))),
        ("terraform_token", format!("{}.atlasv1.{}", n(14), n(67))),
        ("vault_token", format!("hvs.{}", n(90))),
        ("pulumi_token", format!("pul-{}", h(40))),
        ("sonar_token", format!("squ_{}", h(40))),
        ("circleci_token", format!("CCIPAT_{}", n(40))),
        ("anthropic_key", format!("sk-ant-api03-{}", n(90))),
        ("openai_key", format!("sk-proj-{}", n(90))),
        ("huggingface_token", format!("hf_{}", n(34))),
        ("groq_key", format!("gsk_{}", n(52))),
        (
            "slack_token",
            format!("xoxb-123456789012-123456789012-{}", n(24)),
        ),
        (
            "slack_webhook",
            format!(
                "https://hooks.slack.com/services/T00000000/B00000000/{}",
                n(24)
            ),
        ),
        (
            "discord_webhook",
            format!(
                "https://discord.com/api/webhooks/123456789012345678/{}",
                n(68)
            ),
        ),
        ("telegram_token", format!("123456789:AA{}", n(33))),
        ("twilio_key", format!("SK{}", h(32))),
        ("sendgrid_key", format!("SG.{}.{}", n(22), n(43))),
        ("mailgun_key", format!("key-{}", h(32))),
        ("mailchimp_key", format!("{}-us12", h(32))),
        ("stripe_key", format!("sk_live_{}", n(24))),
        ("square_token", format!("sq0atp-{}", n(22))),
        ("shopify_token", format!("shpat_{}", h(32))),
        ("datadog_key", format!("DD_API_KEY={}", h(32))),
        ("newrelic_key", format!("NRAK-{}", n(27).to_uppercase())),
        ("grafana_token", format!("glsa_{}_{}", n(32), h(8))),
        (
            "dynatrace_token",
            format!("dt0c01.{}.{}", n(24).to_uppercase(), n(64).to_uppercase()),
        ),
        ("databricks_token", format!("dapi{}", h(32))),
        ("doppler_token", format!("dp.pt.{}", n(43))),
        ("tailscale_key", format!("tskey-auth-{}", n(32))),
        ("notion_token", format!("ntn_{}", n(46))),
        ("airtable_token", format!("pat{}.{}", n(14), h(64))),
        ("postman_key", format!("PMAK-{}-{}", h(24), h(34))),
        (
            "alibaba_key",
            format!("aliyun_key={}", n(30).to_lowercase()),
        ),
        ("cloudflare_key", format!("cfut_{}", n(40))),
        ("artifactory_token", format!("AKCp{}", n(69))),
        ("buildkite_token", format!("bkua_{}", h(40))),
        ("openrouter_key", format!("sk-or-v1-{}", h(64))),
        ("replicate_token", format!("r8_{}", n(37))),
        ("xai_key", format!("xai-{}", n(80))),
        (
            "teams_webhook",
            format!("https://x.webhook.office.com/webhookb2/{}", n(60)),
        ),
        (
            "postmark_token",
            format!("X-Postmark-Server-Token: {}", h(36)),
        ),
        ("pagerduty_key", format!("pagerduty_key: {}", n(20))),
        (
            "paypal_token",
            format!("access_token$production${}${}", h(16), h(32)),
        ),
        ("facebook_token", format!("EAA{}", n(80))),
        ("sentry_token", format!("sntrys_{}", n(60))),
        ("planetscale_token", format!("pscale_tkn_{}", n(43))),
        ("supabase_key", format!("sbp_{}", h(40))),
        ("onepassword_token", format!("ops_eyJ{}", n(80))),
        ("linear_key", format!("lin_api_{}", n(40))),
        ("figma_token", format!("figd_{}", n(40))),
        (
            "jwt",
            format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{}", n(43)),
        ),
        (
            "url_password",
            "postgres://app:Tr0ub4dor@db.internal/prod".to_owned(),
        ),
        ("bearer_token", format!("Bearer {}", n(32))),
        ("basic_auth", "Basic dXNlcjpwYXNzd29yZA==".to_owned()),
        (
            "authorization",
            format!("Cookie: session={}; path=/", n(12)),
        ),
        (
            "cli_password",
            "app --password hunter2secret --verbose".to_owned(),
        ),
        ("mysql_password", "mysql -u root -pS3cretPw db".to_owned()),
        (
            "curl_password",
            "curl -s -u admin:S3cretPw https://x".to_owned(),
        ),
        ("sshpass", "sshpass -p S3cretPw ssh host".to_owned()),
        (
            "login_password",
            "docker login -u x -p S3cretPw registry.io".to_owned(),
        ),
        (
            "command_password",
            "redis-cli -h r1 -a S3cretPw KEYS x".to_owned(),
        ),
        (
            "sql_password",
            "CREATE USER a IDENTIFIED BY 'S3cretPw'".to_owned(),
        ),
        (
            "url_parameter",
            format!(
                "https://x.cloudfront.net/y?Signature={}~&Key-Pair-Id=K2",
                n(40)
            ),
        ),
        (
            "url_password",
            format!("https://{}@github.com/x/y.git", h(40)),
        ),
        (
            "telegram_token",
            format!("https://api.telegram.org/bot123456789:AA{}/getMe", n(33)),
        ),
        (
            "discord_webhook",
            format!(
                "https://discord.com/api/v10/webhooks/123456789012345678/{}",
                n(68)
            ),
        ),
        (
            "slack_webhook",
            format!(
                "https://hooks.slack-gov.com/services/T00000000/B00000000/{}",
                n(24)
            ),
        ),
        (
            "cookies",
            format!(r#"{{\"cookies\": {{\"session\": \"{}\"}}}}"#, n(24)),
        ),
        ("password_hash", format!("$2b$12${}", n(53))),
        (
            "assigned_secret",
            "export DB_PASSWORD=correct-horse".to_owned(),
        ),
        (
            "assigned_secret",
            r#"{\"client_secret\": \"abcdef123\"}"#.to_owned(),
        ),
        ("high_entropy", format!("found {} in a file", n(40))),
        (
            "high_entropy",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(),
        ),
        (
            "high_entropy",
            "id 8kq2m5z9x1c7v3b0n4l6j8h2g5f9d1s3 end".to_owned(),
        ),
    ]
}
