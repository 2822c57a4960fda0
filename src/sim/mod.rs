//! The world, simulated: what `ghswarm demo` and the tests run against. It never names the core's
//! logic, since a fake that shares it would agree with its mistakes.

pub mod github;
pub mod local;
