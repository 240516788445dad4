// Package parallel runs the parts of one simulation on several threads, with a barrier between windows
// (docs/design.md#contracts). It depends on no network, and the simulator on no thread, so that the simulator stays a
// pure state machine.
package parallel
