// Package transporttest has the contract that every transport keeps: Contract runs a transport over paths with scripted
// losses, queues, pauses and reordering, and reports its faults. Transports with a deliberate fault (mutants) must not
// pass.
package transporttest
