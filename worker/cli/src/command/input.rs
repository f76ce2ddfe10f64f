//! Reads input files as a whole, up to a bound. Errors name the file and the problem.

use std::io::Read;
use std::path::Path;

use nightshift_alert::MAX_MESSAGE_BYTES;

use crate::exit::Exit;

/// Reads a message from a file, or from standard input for `-`.
pub(super) fn read_input(file: &str) -> Result<Vec<u8>, Exit> {
    read_up_to(file, MAX_MESSAGE_BYTES)
}

/// Reads at most this many bytes from a file, or from standard input for `-`.
pub(super) fn read_up_to(file: &str, most_bytes: usize) -> Result<Vec<u8>, Exit> {
    let refuse = |problem: String| Exit::usage(format!("{file}: {problem}"));
    let reader: Box<dyn Read> = if file == "-" {
        Box::new(std::io::stdin())
    } else {
        let path = Path::new(file);
        if path.is_dir() {
            return Err(refuse(
                "is a folder; name a file, or `-` for standard input".to_owned(),
            ));
        }
        let opened = std::fs::File::open(path).map_err(|error| refuse(error.to_string()))?;
        Box::new(opened)
    };
    let most = most_bytes + 1;
    let mut bytes = Vec::new();
    reader
        .take(u64::try_from(most).unwrap_or(u64::MAX))
        .read_to_end(&mut bytes)
        .map_err(|error| refuse(error.to_string()))?;
    if bytes.len() == most {
        return Err(refuse(format!(
            "is larger than it may be ({most_bytes} bytes); split it"
        )));
    }
    Ok(bytes)
}
