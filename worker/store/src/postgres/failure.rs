//! Names the failures of the repositories that are not shared yet.

pub(super) use crate::failure::{Failure as PostgresFailure, Remedy};
