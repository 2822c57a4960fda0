//! The shell: looks, asks the core, performs. It names doors, never what is behind them.

pub mod renew;
pub mod supervise;
