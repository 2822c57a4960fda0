//! The command line: arguments, what a command prints, how errors read. It wires doors to what is
//! behind them and decides nothing.

pub mod supervise;
