// Package live drives Weir's switches and links as time goes by, between gates: packet sockets with rings, or scripts.
// The lab (worlds/lab) and the switch of real interfaces (worlds/switch) both run on it.
//
// A Plane has all switches and links of a network as one fabric (core/fabric) and a gate for each host. One locked
// thread drives it:
//
//	clock := &live.Clock{}
//	plane, err := live.NewPlane(live.PlaneConfig{Wiring: w, Network: n, Gates: gates, Clock: clock.Now, …})
//	err = plane.Drive(clock, rings, control, -1, nil) // until control is readable
//
// Packets walk from hop to hop in event time, from the stamps that the kernel gave them on arrival; the wall clock
// counts only when they leave by a gate. Departures counts how late that is, and for how long the thread stalled. What
// an experiment measures at a plane, and what it does to its links, comes in as a Monitor.
//
// A Bridge is a plane of one switch whose ports are interfaces of this machine, and a BridgeDriver runs it. Scheduling
// gives threads the processor time that they need to be punctual.
package live
