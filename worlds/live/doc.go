// Package live drives Weir's switches and links in real time, between gates: packet sockets with rings, or
// scripts. Both the lab (worlds/lab) and the switch of real interfaces (worlds/switch) use it.
//
// A Plane has all switches and links of a network as one fabric (core/fabric) and a gate for each host. One locked
// thread drives it:
//
//	clock := &live.Clock{}
//	plane, err := live.NewPlane(live.PlaneConfig{Wiring: w, Network: n, Gates: gates, Clock: clock.Now, …})
//	err = plane.Drive(clock, rings, control, -1, nil) // until control is readable
//
// Packets move from hop to hop in event time, starting at the kernel's arrival stamps. The wall clock counts only
// when they depart through a gate. Departures records how late that is and how long the thread stalled. An
// experiment measures and changes a plane through a Monitor.
//
// A Bridge is a plane of one switch with interfaces of this machine as ports, and a BridgeDriver runs it.
// Scheduling gives threads the processor time that they need to be on time.
package live
