// Package sim runs experiments in virtual time: the fabric's network, with dataplane switches, and hosts with
// transports that are state machines of this project. The same configuration and seed give the same result, to the last
// bit.
package sim
