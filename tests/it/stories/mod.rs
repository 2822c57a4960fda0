//! Stories: a person, CI, an agent and ghswarm, told in order. The laws are checked all the while.

mod happy;
