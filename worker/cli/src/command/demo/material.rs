//! What the demo runs on, compiled in: messages as feeds deliver them, and the registers, lists and logs around them.

use nightshift_tools::ToolConfig;

use crate::exit::Exit;

/// The messages by name, in the order in which they come.
pub(super) const MESSAGES: &[(&str, &[u8])] = &[];

/// The tools over the demo's registers, lists and logs.
pub(super) fn tools() -> Result<Vec<ToolConfig>, Exit> {
    Ok(Vec::new())
}
