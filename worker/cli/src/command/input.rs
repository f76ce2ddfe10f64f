//! Input files: read whole, bounded, with errors that say what is wrong with them.

use std::io::Read;
use std::path::Path;

use nightshift_alert::MAX_MESSAGE_BYTES;

use crate::exit::Exit;

/// The bytes of a message: of a file, or of standard input for `-`.
pub(super) fn read(file: &str) -> Result<Vec<u8>, Exit> {
    read_up_to(file, MAX_MESSAGE_BYTES)
}

/// The bytes of a file, or of standard input for `-`, up to this many.
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
