// Package wiring makes the links and switches of a topology for a fabric, applies events to links, and reads the
// counters of ports and links. Simulator and lab share it: they differ in their hosts and in the time that they run on
// (docs/design.md#the-one-idea).
package wiring
