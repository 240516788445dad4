// Package crew is the threads that carry out one run of the simulator together, and the barrier between its windows
// (docs/design.md#contracts). It knows nothing of networks, and the simulator nothing of threads: so
// what is a pure state machine stays one.
package crew
