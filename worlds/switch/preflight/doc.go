// Package preflight examines the environment of a switch without changing it: its user, its interfaces with their
// offloads, local senders to them, their bridge, and the records of other switches.
//
// CheckFile is weir switch --check. A start (package supervisor) begins with NewPlan and records its changes in a
// Record, from which RestoreDead undoes the changes of a dead switch.
package preflight
