// Package preflight looks at what a switch is to run on, without changing it: its user, its interfaces with their
// offloads, what sends to them from this machine, the bridge that they belong to, and the records of other switches.
//
// Check is weir switch --check. A start (package supervisor) begins with NewPlan, and notes what it will change
// in a Record, from which Restore undoes what a switch that died has left.
package preflight
