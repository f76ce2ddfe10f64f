//! Parses a message of SNS and checks its signature.

use aws_lc_rs::signature::{
    RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::super::response::IntakeError;
use super::certificate::SigningCertificate;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
pub(super) enum SnsMessageType {
    Notification,
    SubscriptionConfirmation,
    UnsubscribeConfirmation,
}

impl SnsMessageType {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Notification => "Notification",
            Self::SubscriptionConfirmation => "SubscriptionConfirmation",
            Self::UnsubscribeConfirmation => "UnsubscribeConfirmation",
        }
    }
}

/// A message (<https://docs.aws.amazon.com/sns/latest/dg/sns-message-and-json-formats.html>). Serde refuses a
/// repeated key, so that no reader sees another value than the checked one.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct SnsMessage {
    #[serde(rename = "Type")]
    pub(super) kind: SnsMessageType,
    message_id: String,
    pub(super) topic_arn: String,
    #[serde(default)]
    subject: Option<String>,
    message: String,
    timestamp: String,
    signature_version: String,
    signature: String,
    #[serde(rename = "SigningCertURL")]
    pub(super) signing_cert_url: String,
    #[serde(default, rename = "SubscribeURL")]
    subscribe_url: Option<String>,
    #[serde(default)]
    pub(super) token: Option<String>,
}

impl SnsMessage {
    pub(super) fn parse(body: &[u8]) -> Result<Self, IntakeError> {
        serde_json::from_slice(body).map_err(|_| {
            IntakeError::NotSns(
                "Type, TopicArn, Message, Signature, SigningCertURL… are wanted, each once",
            )
        })
    }

    /// Checks that the key of this certificate signed the message.
    pub(super) fn verify(&self, certificate: &SigningCertificate) -> Result<(), IntakeError> {
        let signature = STANDARD.decode(&self.signature);
        let signature = signature.map_err(|_| IntakeError::NotBySns("it is no base64"))?;
        let algorithm = match self.signature_version.as_str() {
            "1" => &RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY,
            "2" => &RSA_PKCS1_2048_8192_SHA256,
            _ => return Err(IntakeError::NotBySns("SignatureVersion is neither 1 nor 2")),
        };
        UnparsedPublicKey::new(algorithm, certificate.key())
            .verify(self.string_to_sign().as_bytes(), &signature)
            .map_err(|_| IntakeError::NotBySns("it was made with another key, or over other words"))
    }

    /// Returns the signed text: names and values, one per line, in the order of names.
    fn string_to_sign(&self) -> String {
        let (kind, subscribe, token) = (
            self.kind.as_str(),
            self.subscribe_url.as_deref(),
            self.token.as_deref(),
        );
        let is_notification = self.kind == SnsMessageType::Notification;
        let subject = self.subject.as_deref().filter(|_| is_notification);
        let pairs = [
            ("Message", Some(self.message.as_str())),
            ("MessageId", Some(self.message_id.as_str())),
            ("Subject", subject),
            ("SubscribeURL", subscribe.filter(|_| !is_notification)),
            ("Timestamp", Some(self.timestamp.as_str())),
            ("Token", token.filter(|_| !is_notification)),
            ("TopicArn", Some(self.topic_arn.as_str())),
            ("Type", Some(kind)),
        ];
        let lines = pairs
            .iter()
            .filter_map(|(name, value)| Some((name, (*value)?)));
        lines
            .map(|(name, value)| format!("{name}\n{value}\n"))
            .collect()
    }

    /// Returns the message with only its signed fields.
    pub(super) fn signed_fields(&self) -> Vec<u8> {
        #[derive(Serialize)]
        #[serde(rename_all = "PascalCase")]
        struct SignedFields<'a> {
            #[serde(rename = "Type")]
            kind: SnsMessageType,
            message_id: &'a str,
            topic_arn: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            subject: Option<&'a str>,
            message: &'a str,
            timestamp: &'a str,
        }
        let signed = SignedFields {
            kind: self.kind,
            message_id: &self.message_id,
            topic_arn: &self.topic_arn,
            subject: self.subject.as_deref(),
            message: &self.message,
            timestamp: &self.timestamp,
        };
        serde_json::to_vec(&signed).unwrap_or_default()
    }
}
