// Package guard holds what a simulation costs: instructions and events a packet-hop, allocations a packet, bytes a
// flow and a host, of a short workload for each scheme that is run often. Times depend on the machine and on who else
// uses it; these do not, so each has a recorded bound. What costs more fails, and so does what costs clearly less, for
// a gain that no bound holds is soon lost. A bound moves only by a record that says why: see CONTRIBUTING.md.
package guard
