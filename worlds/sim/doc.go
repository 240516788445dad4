// Package sim runs experiments in virtual time: the fabric's network, with
// dataplane switches and with hosts whose transports are state machines of this
// project. Same configuration and seed give the same result, to the last bit.
package sim
