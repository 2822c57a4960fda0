//! The real things behind the doors.
