//! Do no harm.
