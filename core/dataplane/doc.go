// Package dataplane is the switch: parser → ingress → traffic manager → egress → deparser, as a pure state machine. To
// write a program of a switch:
//
//  1. Declare a configuration with a method Params, which binds its fields to parameters with defaults and bounds.
//  2. Write a type with Name and any of the hooks: Ingress, Admit, Book, Unbook, Release, Egress, OnDrop, Tick. A hook
//     returns a Verdict, and reads ports and makes packets by its Env.
//  3. Define makes a Scheme of both, which files name. It goes into the registry (package app) as one line.
//
// The package has match tables, registers, meters, clone and recirculation, as in P4. A switch runs a list of
// programs in its order, each with the hooks that it needs; dataplanetest drives one in a test.
package dataplane
