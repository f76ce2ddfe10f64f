//! Signs posts according to Standard Webhooks: `v1,` and the base64 of an HMAC-SHA256 over `id.timestamp.body`.

use base64::Engine as _;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret as _, SecretSlice, SecretString};
use sha2::Sha256;

/// The prefix of a symmetric secret.
const PREFIX: &str = "whsec_";
/// The allowed length of a key in bytes, from the specification.
const BYTES: std::ops::RangeInclusive<usize> = 24..=64;
/// Base64 with or without padding, which people lose when they copy.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &ALPHABET,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The keys, each of which signs. During an exchange of the secret, receivers may know the old key or the new one.
pub(super) struct Keys(Vec<SecretSlice<u8>>);

impl Keys {
    /// Parses one secret, or several separated by spaces. Errors never contain any of it.
    pub(super) fn parse(secret: &SecretString) -> Result<Self, String> {
        let words = secret.expose_secret().split_whitespace();
        let keys: Vec<_> = words.map(key).collect::<Result<_, _>>()?;
        if keys.is_empty() {
            return Err(format!("is empty; {HOW}"));
        }
        Ok(Self(keys))
    }

    /// Returns the value of the header `webhook-signature`.
    pub(super) fn sign(&self, id: &str, timestamp: i64, body: &str) -> String {
        let signatures: Vec<String> = self
            .0
            .iter()
            .filter_map(|key| {
                let mut mac = Hmac::<Sha256>::new_from_slice(key.expose_secret()).ok()?;
                for part in [id, ".", &timestamp.to_string(), ".", body] {
                    mac.update(part.as_bytes());
                }
                let code = BASE64.encode(mac.finalize().into_bytes());
                Some(format!("v1,{code}"))
            })
            .collect();
        signatures.join(" ")
    }
}

/// The advice on how to make a secret.
const HOW: &str = "make one with: echo \"whsec_$(openssl rand -base64 32)\"";

fn key(word: &str) -> Result<SecretSlice<u8>, String> {
    let code = word
        .strip_prefix(PREFIX)
        .ok_or_else(|| format!("does not begin with {PREFIX}; {HOW}"))?;
    let key = BASE64
        .decode(code)
        .map_err(|_| format!("is no base64 after {PREFIX}; {HOW}"))?;
    if !BYTES.contains(&key.len()) {
        return Err(format!(
            "has {} bytes, not {} to {}; {HOW}",
            key.len(),
            BYTES.start(),
            BYTES.end()
        ));
    }
    Ok(key.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The secret of the example in the reference implementations.
    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    fn keys(secret: &str) -> Result<Keys, String> {
        Keys::parse(&SecretString::from(secret))
    }

    fn sign(secret: &str) -> String {
        let body = r#"{"test": 2432232314}"#;
        let keys = keys(secret).ok().unwrap();
        keys.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body)
    }

    #[test]
    fn reference_example_is_signed_as_documented() {
        let signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        assert_eq!(sign(SECRET), signature);
        assert_eq!(sign(&format!("  {SECRET}\n")), signature);
    }

    #[test]
    fn of_two_secrets_each_signs() {
        let other = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";
        let both = sign(&format!("{other} {SECRET}"));
        assert_eq!(both, format!("{} {}", sign(other), sign(SECRET)));
    }

    #[test]
    fn a_secret_that_cannot_sign_is_refused_and_not_shown() {
        let mut said = Vec::new();
        for wrong in [
            "",
            "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "whsec_!!hush!!",
            "whsec_aHVzaA==",
            &format!("{SECRET} whsec_hush"),
            &format!("whsec_{}", "MfKQ".repeat(22)),
        ] {
            said.push(keys(wrong).err().unwrap());
        }
        let said = said.join("\n");
        assert!(!said.contains("MfKQ") && !said.contains("hush"), "{said}");
        insta::assert_snapshot!(said, @r#"
        is empty; make one with: echo "whsec_$(openssl rand -base64 32)"
        does not begin with whsec_; make one with: echo "whsec_$(openssl rand -base64 32)"
        is no base64 after whsec_; make one with: echo "whsec_$(openssl rand -base64 32)"
        has 4 bytes, not 24 to 64; make one with: echo "whsec_$(openssl rand -base64 32)"
        has 3 bytes, not 24 to 64; make one with: echo "whsec_$(openssl rand -base64 32)"
        has 66 bytes, not 24 to 64; make one with: echo "whsec_$(openssl rand -base64 32)"
        "#);
    }
}
