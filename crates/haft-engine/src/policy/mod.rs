//! May this call run?
