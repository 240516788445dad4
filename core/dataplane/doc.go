// Package dataplane is the switch: parser → ingress → traffic manager → egress →
// deparser, as a pure state machine, with what a P4 author expects of it: match
// tables, registers, meters, clone, recirculation, digests. What a switch does is
// a list of programs, each with the hooks that it needs.
package dataplane
