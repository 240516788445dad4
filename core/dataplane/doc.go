// Package dataplane is the switch: parser → ingress → traffic manager → egress → deparser, as a pure state
// machine, with what a P4 author expects: match tables, registers, meters, clone, recirculation.
// A switch runs a list of programs, each with the hooks that it needs.
package dataplane
