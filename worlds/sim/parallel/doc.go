// Package parallel runs the parts of one simulation on several threads, with a barrier between windows
// (docs/design.md#contracts). It does not depend on a network, and the simulator does not depend on threads, so that
// the simulator stays a pure state machine.
package parallel
