//! `nightshift doctor`: looks at everything that the configuration names, and says what will not do what it should.
//!
//! Each crate looks at what it owns; here they are asked side by side, each within a time of its own, and shown together.
//! Nothing is stored, taken from a queue or posted, and no secret is printed.

mod clock;
mod configuration;
mod look;
mod playbooks;
mod show;
mod sources;
mod things;
mod tls;

use crate::args::{Area, Doctor};
use crate::config::Loaded;
use crate::exit::Exit;
use crate::output::{print, print_json, table_width};

use nightshift_engine::Gravity;

/// Looks, and shows what was seen; exit code 1 where something does not work.
pub(super) async fn run(loaded: &Loaded, options: &Doctor) -> Result<(), Exit> {
    let wanted = |area: Area| options.only.is_empty() || options.only.contains(&area);
    let things = things::of(loaded, &wanted);
    let mut looked = look::side_by_side(things).await;
    if wanted(Area::Clock) {
        looked.push(clock::compared(&looked));
    }
    looked.sort_by_key(|one| one.area);
    if options.json.json {
        print_json(&show::object(&looked))?;
    } else {
        print(&show::text(&looked, table_width().min(120)))?;
    }
    let bad = if options.strict {
        Gravity::Warning
    } else {
        Gravity::Error
    };
    if looked
        .iter()
        .flat_map(|one| &one.checkup.found)
        .any(|one| one.severity >= bad)
    {
        return Err(Exit::Said);
    }
    Ok(())
}
