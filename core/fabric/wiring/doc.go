// Package wiring makes the links and switches of a topology for a fabric, tells what happens
// to links, and reads what ports and links have counted. It is what the simulator and the
// lab have in common: they differ in their hosts and in what time it is
// (docs/design.md#the-one-idea).
package wiring
